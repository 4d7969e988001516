// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles kernels for a target and runs them beside the interpreter. On a CPU the image is mapped, every buffer ends
// at an inaccessible page, so a read or write past an operand is a crash, and scratch starts as signalling garbage. On
// Vulkan the runtime runs them (shader_runner.h).

#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>

#include "compiler/targets/Target.h"
#include "heddle/executable_abi.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "tests/conformance/kernel_interpreter.h"
#include "tests/conformance/shader_runner.h"

namespace heddle::conformance {

/// Pages that end at an inaccessible one.
class guarded_buffer {
public:
  explicit guarded_buffer(size_t bytes);
  guarded_buffer(const guarded_buffer &) = delete;
  guarded_buffer &operator=(const guarded_buffer &) = delete;
  ~guarded_buffer();
  std::byte *data() const { return data_; }

private:
  std::byte *data_ = nullptr;
  void *pages_ = nullptr;
  size_t page_bytes_ = 0;
};

/// A WorkShape at given sizes.
struct work_counts {
  int64_t items, grain, scratch_bytes;
};

class kernel_module {
public:
  /// Compiles all kernels in |text| for |target|: "cpu:x86-64-v3", or "cpu:x86-64-v3 with tiles of cpu:x86-64-v4" for
  /// the instructions of one with the config of the other, or "vulkan"; with the configs that |tuned| has. Fails the
  /// test and returns null on error.
  static std::unique_ptr<kernel_module> compile(const std::string &text, const std::string &target,
                                                const TunedConfigs *tuned = nullptr);
  ~kernel_module();

  kernel::FuncOp func(const std::string &name);
  /// Runs a kernel; on a CPU |items_per_call| items at a time, last items first (0: all at once), on Vulkan one
  /// workgroup at a time (0: all at once).
  kernel_result run(const std::string &name, const std::vector<host_tensor> &inputs, const std::vector<int64_t> &sizes,
                    int64_t items_per_call = 0);
  /// Entry of a kernel on a CPU, valid while this lives.
  heddle_kernel_fn_t entry(const std::string &name);
  /// How its work is shared out under |sizes|.
  work_counts count_work(const std::string &name, const std::vector<int64_t> &sizes);
  const KernelImage &image() const { return image_; }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::unique_ptr<Target> target_;
  KernelImage image_;
  std::map<std::string, uint64_t> addresses_;
  std::byte *code_ = nullptr;
  size_t code_bytes_ = 0;
  std::unique_ptr<shader_runner> shaders_; ///< null on a CPU
};

/// Targets that this machine can run, of those whose code differs: x86-64-v3 always, x86-64-v4 where there is AVX-512.
/// With HEDDLE_TEST_TILES=cpu:x86-64-v4 in the environment it is x86-64-v3 with those tiles alone, with
/// HEDDLE_TEST_TARGET=vulkan that one.
std::vector<std::string> runnable_targets();

/// The same for products of bytes, which have instructions of their own: vpmaddubsw or vpmaddwd of 256 bits, of 512
/// bits, vpdpbusd.
std::vector<std::string> byte_targets();

/// Whether kernels in |text| have numbers that |target| doesn't compute with: doubles on Vulkan.
bool is_refused(const std::string &text, const std::string &target);

/// |expected| as |target| can give it: on Vulkan 64-bit integers are 32 bits and saturate.
kernel_result expected_on(const std::string &target, kernel_result expected);

/// Inputs of |func|: floats in [-2, 2], integers in [-9, 9], i1 at random.
std::vector<host_tensor> random_inputs(kernel::FuncOp func, const std::vector<int64_t> &sizes, unsigned seed);

/// Expects |actual| to equal |expected|: integers exactly, floats within |tolerance| of each output's largest
/// magnitude, NaN and infinities in the same places.
void expect_near(const kernel_result &actual, const kernel_result &expected, double tolerance,
                 const std::string &where);

/// Compiles |text| for every runnable target that takes it and compares kernel |name| with the interpreter for each of
/// |shapes|, in one call and item by item, which must agree to the bit.
void check_kernel(const std::string &text, const std::string &name, const std::vector<std::vector<int64_t>> &shapes,
                  double tolerance = 2e-6);

/// The same for one target.
void check_kernel_on(const std::string &target, const std::string &text, const std::string &name,
                     const std::vector<std::vector<int64_t>> &shapes, double tolerance = 2e-6);

} // namespace heddle::conformance
