// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries of the report are found by the names of the model's nodes.

#include "compiler/transforms/fusion/AttentionReport.h"

#include "dialects/nn/Locations.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

void heddle::nn::changeReport(ModuleOp module, Location location, llvm::function_ref<void(NamedAttrList &)> change) {
  auto entries = module->getAttrOfType<ArrayAttr>("attn.report");
  if (!entries)
    return;
  llvm::StringSet<> names;
  for (const OnnxNode &node : findOnnxNodes(location))
    names.insert(node.name);
  SmallVector<Attribute> kept;
  bool isFirst = true;
  for (auto entry : entries.getAsRange<DictionaryAttr>()) {
    auto node = entry.getAs<StringAttr>("node");
    if (!node || !names.contains(node.getValue())) {
      kept.push_back(entry);
      continue;
    }
    if (!std::exchange(isFirst, false))
      continue;
    NamedAttrList changed(entry);
    change(changed);
    kept.push_back(changed.getDictionary(module.getContext()));
  }
  module->setAttr("attn.report", ArrayAttr::get(module.getContext(), kept));
}
