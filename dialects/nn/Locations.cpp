// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Locations and names of imported ops.

#include "dialects/nn/Locations.h"

#include "dialects/nn/NnDialect.h"

using namespace mlir;
using namespace heddle::nn;

Location heddle::nn::getNodeLocation(MLIRContext *context, const OnnxNode &node) {
  Location name = NameLoc::get(StringAttr::get(context, node.name));
  return FusedLoc::get({name}, OnnxOpAttr::get(context, node.type, node.domain, node.opset, node.path), context);
}

SmallVector<OnnxNode> heddle::nn::findOnnxNodes(Location location) {
  SmallVector<OnnxNode> nodes;
  // Locations nest once ops are fused or inlined; the walk goes from the outside in.
  location->walk([&](Location inner) {
    auto fused = dyn_cast<FusedLoc>(inner);
    auto op = fused ? dyn_cast_or_null<OnnxOpAttr>(fused.getMetadata()) : OnnxOpAttr();
    if (!op)
      return WalkResult::advance();
    OnnxNode node{"", op.getType(), op.getDomain(), op.getOpset(), op.getPath()};
    if (!fused.getLocations().empty())
      if (auto name = dyn_cast<NameLoc>(fused.getLocations().front()))
        node.name = name.getName();
    nodes.push_back(node);
    return WalkResult::advance();
  });
  return nodes;
}

std::optional<OnnxNode> heddle::nn::findOnnxNode(Location location) {
  SmallVector<OnnxNode> nodes = findOnnxNodes(location);
  return nodes.empty() ? std::nullopt : std::optional(nodes.front());
}

StringRef heddle::nn::getOutputName(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto names = result ? result.getOwner()->getAttrOfType<ArrayAttr>(NnDialect::getOutputsAttrName()) : ArrayAttr();
  // The dialect's verifier has seen to it that there is one a result.
  return names ? cast<StringAttr>(names[result.getResultNumber()]).getValue() : "";
}
