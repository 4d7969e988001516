// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/ChooseTuned.h"

#include "compiler/targets/ConfigJson.h"
#include "compiler/targets/common/KernelSignature.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle {

DictionaryAttr TunedChooser::take(const std::string &signature, StringRef rows, MLIRContext *context,
                                  llvm::function_ref<std::string(DictionaryAttr)> check) {
  const TunedConfig *found = tuned->find(signature, rows);
  if (!found)
    return nullptr;
  DictionaryAttr config = parseConfig(found->config, context);
  TunedUse use{signature, rows.str(), found->file, found->device, ""};
  use.problem = config ? check(config) : "holds something other than integers, words, lists and objects";
  bool isUsed = use.problem.empty();
  uses[{signature, rows.str()}] = std::move(use);
  return isUsed ? config : nullptr;
}

FailureOr<SmallVector<ChosenConfig>> TunedChooser::choose(kernel::FuncOp func,
                                                          llvm::function_ref<std::string(DictionaryAttr)> check) {
  SmallVector<ChosenConfig> chosen;
  if (!tuned || tuned->empty())
    return chosen;
  FailureOr<AffineMap> rows = getKernelRows(func);
  if (failed(rows))
    return failure();
  std::string signature = getKernelSignature(func);
  auto add = [&](StringRef name, const RowBucket *bucket) {
    if (DictionaryAttr config = take(signature, name, func.getContext(), check))
      chosen.push_back({bucket, config});
  };
  auto constant = *rows ? dyn_cast<AffineConstantExpr>(rows->getResult(0)) : AffineConstantExpr();
  if (!*rows)
    add(kAnyRows, nullptr);
  else if (constant)
    add(findRowBucket(constant.getValue()).name, nullptr);
  else
    for (const RowBucket &bucket : getRowBuckets())
      add(bucket.name, &bucket);
  return chosen;
}

void TunedChooser::finish(ModuleOp module) {
  Builder b(module.getContext());
  SmallVector<Attribute> list;
  for (const auto &[key, use] : uses) {
    NamedAttrList entries;
    entries.set("signature", b.getStringAttr(use.signature));
    entries.set("rows", b.getStringAttr(use.rows));
    entries.set("file", b.getStringAttr(use.file));
    entries.set("device", b.getStringAttr(use.device));
    if (!use.problem.empty())
      entries.set("problem", b.getStringAttr(use.problem));
    list.push_back(entries.getDictionary(b.getContext()));
  }
  if (!list.empty())
    module->setAttr(kTunedAttrName, b.getArrayAttr(list));
}

std::vector<TunedUse> getTunedUses(ModuleOp module) {
  std::vector<TunedUse> uses;
  auto list = module->getAttrOfType<ArrayAttr>(kTunedAttrName);
  if (!list)
    return uses;
  for (auto entries : list.getAsRange<DictionaryAttr>()) {
    auto text = [&](StringRef key) {
      auto value = entries.getAs<StringAttr>(key);
      return value ? value.str() : std::string();
    };
    uses.push_back({text("signature"), text("rows"), text("file"), text("device"), text("problem")});
  }
  return uses;
}

} // namespace heddle
