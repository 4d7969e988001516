// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass cpu-select-lowering-config: writes what CpuConfig.cpp decides, or a tuning file.

#include "compiler/targets/common/ChooseTuned.h"
#include "compiler/targets/cpu/CheckConfig.h"
#include "compiler/targets/cpu/ConfigBuckets.h"
#include "compiler/targets/cpu/CpuConfig.h"
#include "compiler/targets/cpu/Passes.h"

using namespace mlir;

namespace heddle::cpu {

#define GEN_PASS_DEF_SELECTLOWERINGCONFIGPASS
#include "compiler/targets/cpu/Passes.h.inc"

namespace {

/// |chosen| for their rows and |table| for all others.
kernel::LoweringConfigAttr joinWithTable(kernel::LoweringConfigAttr table, ArrayRef<ChosenConfig> chosen) {
  auto toAttr = [&](DictionaryAttr config) { return kernel::LoweringConfigAttr::get(table.getContext(), config); };
  if (chosen.empty())
    return table;
  if (!chosen.front().bucket)
    return toAttr(chosen.front().config);
  SmallVector<ConfigBucket> buckets;
  for (const RowBucket &bucket : getRowBuckets()) {
    const auto *own = llvm::find_if(chosen, [&](const ChosenConfig &config) { return config.bucket == &bucket; });
    buckets.push_back({bucket.most, own == chosen.end() ? table : toAttr(own->config)});
  }
  return joinBuckets(buckets);
}

class SelectLoweringConfigPass : public impl::SelectLoweringConfigPassBase<SelectLoweringConfigPass> {
public:
  using SelectLoweringConfigPassBase::SelectLoweringConfigPassBase;
  SelectLoweringConfigPass(const CpuTarget &target, const TunedConfigs *tuned)
      : given(std::make_shared<CpuTarget>(target)), tuned(tuned) {}

  void runOnOperation() override {
    std::unique_ptr<Target> parsed;
    if (!given) {
      llvm::Expected<std::unique_ptr<Target>> named = CpuTarget::parse(StringRef(target).split(':').second);
      if (!named) {
        getOperation().emitError(llvm::toString(named.takeError()));
        return signalPassFailure();
      }
      parsed = std::move(*named);
    }
    if (failed(select(given ? *given : static_cast<const CpuTarget &>(*parsed))))
      signalPassFailure();
  }

private:
  LogicalResult select(const CpuTarget &cpuTarget) {
    TunedChooser chooser(tuned);
    for (auto func : getOperation().getOps<kernel::FuncOp>()) {
      // An instruction that the CPU lacks would end LLVM, and so the process.
      auto contract = dyn_cast<kernel::ContractOp>(*func.getRoot());
      if (contract && getElementTypeOrSelf(contract.getRhs().getType()).isBF16() && !cpuTarget.hasFeature("avx512bf16"))
        return contract.emitOpError() << "expects a target with avx512bf16 for weights of bf16, got "
                                      << cpuTarget.getName();
      auto chosen = chooser.choose(func, [&](DictionaryAttr config) { return checkConfig(func, config, cpuTarget); });
      if (failed(chosen))
        return failure();
      func->setAttr(kernel::kConfigAttrName, joinWithTable(selectConfig(func, cpuTarget), *chosen));
      ++numConfigs;
    }
    chooser.finish(getOperation());
    return success();
  }

  /// Null where the pass was made by its option, for heddle-opt.
  std::shared_ptr<const CpuTarget> given;
  const TunedConfigs *tuned = nullptr;
};

} // namespace

std::unique_ptr<Pass> createSelectLoweringConfigPass(const CpuTarget &target, const TunedConfigs *tuned) {
  return std::make_unique<SelectLoweringConfigPass>(target, tuned);
}

} // namespace heddle::cpu
