// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A target as the pipelines see it: it decides tiles, says how a kernel's work is shared out, and makes code. Pipelines
// know no target by name; TargetRegistry.h finds them.

#ifndef HEDDLE_COMPILER_TARGETS_TARGET_H
#define HEDDLE_COMPILER_TARGETS_TARGET_H

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/support/Shader.h"
#include "compiler/targets/ConfigCandidate.h"
#include "compiler/targets/TunedConfigs.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class OpPassManager;
}
namespace heddle::kernel {
class FuncOp;
}

namespace heddle {

/// How the runtime shares out one kernel: ()[sizes] -> (n) with the kernel's size arguments as symbols. Maps may
/// multiply and divide symbols (semi-affine); a divisor is never 0.
struct WorkShape {
  mlir::AffineMap grid;    ///< work items; 0 where a result is empty
  mlir::AffineMap grain;   ///< fewest items that are worth a thread of their own, at least 1
  mlir::AffineMap scratch; ///< bytes per thread
  /// Of shaders the extents of the axes x, y, z in units, then for each operand (inputs, then results) the bytes from
  /// one unit to the next along x, y, z, 0 where it is needed whole. Empty on a CPU.
  llvm::SmallVector<mlir::AffineMap> axes = {};
};

/// The code of a set of kernels for one target: an ELF image with |addresses|, or SPIR-V modules one after the other
/// with |modules| and |shaders|.
struct KernelImage {
  std::vector<char> bytes;
  /// Virtual address of each kernel, in the order of the module's functions.
  std::vector<std::pair<std::string, uint64_t>> addresses;
  std::vector<ShaderModule> modules;
  /// One for each kernel, in the order of the module's functions.
  std::vector<Shader> shaders;
};

/// Called after each finished kernel, from any thread but one at a time: |done| of |total|.
using CompileProgress = std::function<void(size_t done, size_t total)>;

/// One target of an artifact. Immutable; may be used from several threads.
class Target {
public:
  virtual ~Target() = default;

  /// As artifacts record it: "cpu:x86-64-v4".
  virtual llvm::StringRef getName() const = 0;
  /// What the machine must have for this code, by the loader's names.
  virtual llvm::ArrayRef<std::string> getFeatures() const = 0;
  /// Whether it stands for the machine that compiles, not for one that was named.
  virtual bool isHost() const { return false; }
  /// Whether a device that can use |features| would get the same code if it were named as the target.
  virtual bool isCodeForFeatures(llvm::ArrayRef<llvm::StringRef> features) const { return false; }
  /// For people: "avx2, fma".
  virtual std::string getSummary() const = 0;

  /// Whether the target's copies of kernels say by kernel.constant which of their inputs are constants.
  virtual bool seesConstants() const { return false; }
  /// Adds the pass that writes kernel.config on each kernel.func of a module: from |tuned|, which must outlive the
  /// pass, where it has a config that checkConfig lets pass, else from the target's table. Null: from the table alone.
  /// What became of |tuned| is left on the module (common/ChooseTuned.h).
  virtual void addSelectionPass(mlir::OpPassManager &pm, const TunedConfigs *tuned = nullptr) const = 0;
  /// Why |config|, as TunedConfig has it, can't be used for |func|: it has a key or a number that code can't be made
  /// of, or that would change results. Empty where it can.
  virtual std::string checkConfig(kernel::FuncOp func, mlir::DictionaryAttr config) const = 0;
  /// Needs kernel.config.
  virtual mlir::FailureOr<WorkShape> getWorkShape(kernel::FuncOp func) const = 0;
  /// Configs of |func| to measure where its size arguments have the values |sizes|, in the order to try them. The first
  /// is the config that |func| has; all of them give its bits. |limits| order them, and rule out what the device can't
  /// run. Needs kernel.config.
  virtual std::vector<ConfigCandidate> enumerateConfigs(kernel::FuncOp func, llvm::ArrayRef<int64_t> sizes,
                                                        const DeviceLimits &limits) const = 0;
  /// `<types>_<root>_<tile>__<isa>_<hash>`; the hash covers all that code depends on. Needs kernel.config.
  virtual std::string getKernelName(kernel::FuncOp func) const = 0;
  /// Code for all kernel.funcs of |kernels|, which stays as it is, on |threads| threads. The same bytes for the same
  /// kernels in the same order, whatever |threads|. Errors are emitted at the kernels.
  virtual mlir::FailureOr<KernelImage> compileKernels(mlir::ModuleOp kernels, unsigned threads,
                                                      const CompileProgress &progress) const = 0;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGETS_TARGET_H
