// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer harness of tuning files: lines, fingerprints, and configs as targets check them for kernels of every root
// with rules of its own. A config that passes must make a plan: its numbers are what code generation unrolls and
// divides by.

#include "compiler/targets/ConfigJson.h"
#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/common/ChooseTuned.h"
#include "compiler/targets/common/KernelSignature.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/vulkan/VulkanTarget.h"
#include "compiler/tuning/MatchTuning.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tests/conformance/attention_text.h"
#include "tests/conformance/contract_text.h"

#include <cstdlib>

using namespace mlir;
using namespace heddle;

namespace {

/// Kernels and a target.
struct Case {
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Target> target;
};

class Fixture {
public:
  Fixture() {
    cpu::registerCpuTarget();
    vulkan::registerVulkanTarget();
    context.loadDialect<arith::ArithDialect, math::MathDialect, kernel::KernelDialect>();
    context.disableMultithreading();
    for (const char *spec : {"cpu:x86-64-v3", "cpu:znver4", "vulkan"})
      for (const std::string &text : {conformance::packed_product(64, 48), conformance::byte_product(64, 48),
                                      conformance::attention_text().build()})
        cases.push_back({parseSourceString<ModuleOp>(text, &context), llvm::cantFail(parseTarget(spec))});
  }

  /// Selects for all kernels from |entries|, as if they were for each of them.
  void select(ArrayRef<TuningEntry> entries) {
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); });
    for (Case &one : cases) {
      TunedConfigs tuned;
      auto func = *one.module->getOps<kernel::FuncOp>().begin();
      for (const TuningEntry &entry : entries)
        tuned.set(getKernelSignature(func), entry.rows, {entry.config, "fuzzed", "this device"});
      OwningOpRef<ModuleOp> copy(one.module->clone());
      PassManager pm(&context);
      one.target->addSelectionPass(pm, &tuned);
      // A config that was let pass and can't be planned, or a shape that can't be shared out, is a bug.
      if (failed(pm.run(*copy)) || failed(one.target->getWorkShape(*copy->getOps<kernel::FuncOp>().begin())))
        std::abort();
    }
  }

  MLIRContext context;
  std::vector<Case> cases;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static auto *fixture = new Fixture;
  TuningSources sources;
  sources.files.push_back(parseTuningFile("fuzzed", StringRef(reinterpret_cast<const char *>(data), size)));
  const TuningFile &file = sources.files.front();
  if (!file.entries.empty())
    sources.devices.push_back(file.entries.front().device);
  for (Case &one : fixture->cases)
    (void)matchTuning(sources, *one.target);
  for (const TuningEntry &entry : file.entries)
    if (DictionaryAttr config = parseConfig(entry.config, &fixture->context))
      (void)formatConfig(config);
  // A context keeps every attribute that it has seen: few lines at a time, and a new context now and then.
  fixture->select(ArrayRef(file.entries).take_front(4));
  static size_t runs = 0;
  if (++runs % 2000 == 0) {
    delete fixture;
    fixture = new Fixture;
  }
  return 0;
}
