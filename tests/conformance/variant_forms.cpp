// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/variant_forms.h"

#include <cstdlib>

#include "compiler/targets/vulkan/ShaderPlan.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle::conformance {

/// What |variant| can't do without.
static std::vector<std::string> needed_features(const vulkan::Variant &variant) {
  std::vector<std::string> needed;
  for (llvm::StringRef feature : variant.features)
    if (feature != "shared_tiles") {
      feature.consume_back("_accelerated");
      needed.push_back(feature.str());
    }
  return needed;
}

void keep_wanted_forms(ModuleOp module) {
  const char *variable = std::getenv("HEDDLE_TEST_FORMS");
  if (!variable)
    return;
  SmallVector<StringRef> wanted;
  StringRef(variable).split(wanted, ',');
  Builder b(module.getContext());
  for (auto func : module.getOps<kernel::FuncOp>()) {
    auto config = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
    auto variants = config.getEntries().getAs<ArrayAttr>(vulkan::kVariantsKey);
    SmallVector<Attribute> kept;
    for (auto attr : variants.getAsRange<DictionaryAttr>()) {
      vulkan::Variant variant = vulkan::Variant::fromAttr(attr);
      if (!llvm::is_contained(wanted, variant.form))
        continue;
      variant.features = needed_features(variant);
      kept.push_back(variant.toAttr(module.getContext()));
    }
    if (kept.empty())
      continue;
    // Artifacts need one that every device runs, though this device never comes to it.
    kept.push_back(variants.getValue().back());
    NamedAttribute entry = b.getNamedAttr(vulkan::kVariantsKey, b.getArrayAttr(kept));
    func->setAttr(kernel::kConfigAttrName,
                  kernel::LoweringConfigAttr::get(module.getContext(), b.getDictionaryAttr(entry)));
  }
}

} // namespace heddle::conformance
