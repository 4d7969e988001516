// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries of `nn.quantization`, in the order of the passes and of their places.

#include "compiler/transforms/quantization/PlaceReport.h"

#include "dialects/nn/NnDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace heddle;

void nn::addPlaceReport(ModuleOp module, StringRef kind, ArrayRef<StringRef> nodes, StringRef reason) {
  Builder builder(module.getContext());
  NamedAttrList entry;
  entry.set("kind", builder.getStringAttr(kind));
  entry.set("nodes", builder.getStrArrayAttr(nodes));
  if (!reason.empty())
    entry.set("reason", builder.getStringAttr(reason));
  SmallVector<Attribute> entries;
  if (auto before = module->getAttrOfType<ArrayAttr>(NnDialect::getQuantizationAttrName()))
    llvm::append_range(entries, before);
  entries.push_back(entry.getDictionary(module.getContext()));
  module->setAttr(NnDialect::getQuantizationAttrName(), builder.getArrayAttr(entries));
}
