// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/kernel_harness.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <regex>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;

namespace heddle::conformance {

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

guarded_buffer::guarded_buffer(size_t bytes) {
  size_t page = sysconf(_SC_PAGESIZE), used = round_up(bytes, page);
  page_bytes_ = used + page;
  pages_ = mmap(nullptr, page_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto *start = static_cast<std::byte *>(pages_);
  mprotect(start + used, page, PROT_NONE);
  data_ = start + used - bytes;
}

guarded_buffer::~guarded_buffer() { munmap(pages_, page_bytes_); }

/// Maps the only segment of |image| for execution.
static std::byte *map_code(const KernelImage &image, size_t *size) {
  const auto *header = reinterpret_cast<const llvm::ELF::Elf64_Ehdr *>(image.bytes.data());
  const auto *segment = reinterpret_cast<const llvm::ELF::Elf64_Phdr *>(image.bytes.data() + header->e_phoff);
  EXPECT_EQ(segment->p_type, llvm::ELF::PT_LOAD);
  EXPECT_EQ(segment->p_offset, 0u);
  EXPECT_EQ(segment->p_filesz, segment->p_memsz);
  *size = round_up(segment->p_memsz, sysconf(_SC_PAGESIZE));
  void *memory = mmap(nullptr, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(memory, image.bytes.data(), segment->p_filesz);
  mprotect(memory, *size, PROT_READ | PROT_EXEC);
  return static_cast<std::byte *>(memory);
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Between the target whose instructions code may use and the one whose tiles it has.
static constexpr llvm::StringLiteral kWithTilesOf = " with tiles of ";
static constexpr llvm::StringLiteral kVulkan = "vulkan";

std::unique_ptr<kernel_module> kernel_module::compile(const std::string &text, const std::string &target,
                                                      const TunedConfigs *tuned) {
  cpu::registerCpuTarget();
  auto [code_target, tile_target] = llvm::StringRef(target).split(kWithTilesOf);
  auto result = std::make_unique<kernel_module>();
  result->context_.loadDialect<arith::ArithDialect, math::MathDialect, kernel::KernelDialect>();
  result->module_ = parseSourceString<ModuleOp>(text, &result->context_);
  if (result->module_ && target == kVulkan) {
    result->shaders_ = shader_runner::compile(*result->module_, tuned);
    return result->shaders_ ? std::move(result) : nullptr;
  }
  llvm::Expected<std::unique_ptr<Target>> parsed = parseTarget(code_target);
  if (!result->module_ || !parsed) {
    ADD_FAILURE() << "can't parse the kernels or the target: " << (parsed ? "" : llvm::toString(parsed.takeError()));
    return nullptr;
  }
  result->target_ = std::move(*parsed);
  PassManager pm(&result->context_);
  llvm::cantFail(parseTarget(tile_target.empty() ? code_target : tile_target))->addSelectionPass(pm, tuned);
  if (failed(pm.run(*result->module_))) {
    ADD_FAILURE() << "no config was selected";
    return nullptr;
  }
  auto image = result->target_->compileKernels(*result->module_, /*threads=*/2, nullptr);
  if (failed(image)) {
    ADD_FAILURE() << "the kernels don't compile for " << target;
    return nullptr;
  }
  result->image_ = std::move(*image);
  for (auto &[name, address] : result->image_.addresses)
    result->addresses_[name] = address;
  result->code_ = map_code(result->image_, &result->code_bytes_);
  return result;
}

kernel_module::~kernel_module() {
  if (code_)
    munmap(code_, code_bytes_);
}

kernel::FuncOp kernel_module::func(const std::string &name) { return module_->lookupSymbol<kernel::FuncOp>(name); }

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static int64_t evaluate(AffineMap map, const std::vector<int64_t> &sizes) {
  // Semi-affine maps don't fold as maps; with constants for symbols their expressions do.
  SmallVector<AffineExpr> symbols;
  for (int64_t size : sizes)
    symbols.push_back(getAffineConstantExpr(size, map.getContext()));
  AffineExpr value = simplifyAffineExpr(map.getResult(0).replaceSymbols(symbols), 0, 0);
  return cast<AffineConstantExpr>(value).getValue();
}

heddle_kernel_fn_t kernel_module::entry(const std::string &name) {
  return reinterpret_cast<heddle_kernel_fn_t>(code_ + addresses_[name]);
}

work_counts kernel_module::count_work(const std::string &name, const std::vector<int64_t> &sizes) {
  auto shape = target_->getWorkShape(func(name));
  if (failed(shape)) {
    ADD_FAILURE() << "no work shape for " << name;
    return {0, 1, 0};
  }
  return {evaluate(shape->grid, sizes), evaluate(shape->grain, sizes), evaluate(shape->scratch, sizes)};
}

kernel_result kernel_module::run(const std::string &name, const std::vector<host_tensor> &inputs,
                                 const std::vector<int64_t> &sizes, int64_t items_per_call) {
  kernel::FuncOp function = func(name);
  if (shaders_)
    return shaders_->run(function, inputs, sizes, /*is_sliced=*/items_per_call > 0);
  kernel_result result;
  std::vector<std::unique_ptr<guarded_buffer>> buffers;
  std::vector<void *> bindings;
  for (const host_tensor &input : inputs) {
    buffers.push_back(std::make_unique<guarded_buffer>(input.bytes.size()));
    std::copy(input.bytes.begin(), input.bytes.end(), buffers.back()->data());
    bindings.push_back(buffers.back()->data());
  }
  for (unsigned i = 0; i < function.getResultTypes().size(); ++i) {
    result.outputs.emplace_back(cast<RankedTensorType>(function.getResultTypes()[i]).getElementType(),
                                result_dims(function, i, sizes));
    buffers.push_back(std::make_unique<guarded_buffer>(result.outputs.back().bytes.size()));
    std::fill_n(buffers.back()->data(), result.outputs.back().bytes.size(), std::byte(0x7f));
    bindings.push_back(buffers.back()->data());
  }
  work_counts work = count_work(name, sizes);
  EXPECT_GE(work.grain, 1);
  guarded_buffer scratch(round_up(work.scratch_bytes, HEDDLE_BUFFER_ALIGNMENT));
  heddle_error_record_t record = {-1, -1, -1};
  heddle_dispatch_t dispatch = {bindings.data(), sizes.data(), &record};
  heddle_kernel_fn_t kernel = entry(name);
  int64_t step = items_per_call > 0 ? items_per_call : std::max<int64_t>(work.items, 1);
  for (int64_t end = work.items; end > 0; end -= step) {
    std::fill_n(scratch.data(), work.scratch_bytes, std::byte(0xff));
    int32_t code = kernel(&dispatch, std::max<int64_t>(0, end - step), end, scratch.data());
    if (code == HEDDLE_KERNEL_OK)
      continue;
    result.error = kernel_error{code, record.value, record.limit};
    return result;
  }
  for (size_t i = 0; i < result.outputs.size(); ++i)
    std::copy_n(static_cast<std::byte *>(bindings[inputs.size() + i]), result.outputs[i].bytes.size(),
                result.outputs[i].bytes.begin());
  return result;
}

std::vector<std::string> runnable_targets() {
  if (const char *tiles = std::getenv("HEDDLE_TEST_TILES"))
    return {"cpu:x86-64-v3" + kWithTilesOf.str() + tiles};
  if (const char *target = std::getenv("HEDDLE_TEST_TARGET"))
    return {target};
  std::vector<std::string> targets = {"cpu:x86-64-v3"};
  if (llvm::sys::getHostCPUFeatures().lookup("avx512vl"))
    targets.push_back("cpu:x86-64-v4");
  return targets;
}

std::vector<std::string> byte_targets() {
  if (const char *target = std::getenv("HEDDLE_TEST_TARGET"))
    return {target};
  std::vector<std::string> targets = {"cpu:x86-64-v3"};
  auto features = llvm::sys::getHostCPUFeatures();
  if (features.lookup("avx512vl"))
    targets.push_back("cpu:x86-64-v4");
  if (features.lookup("avx512vl") && features.lookup("avx512vnni"))
    targets.push_back("cpu:cascadelake");
  return targets;
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

bool is_refused(const std::string &text, const std::string &target) {
  // Doubles in memory, or accumulated; those within a region are pairs of floats.
  static const std::regex doubles("xf64>|tensor<f64>|yield [^\n]*f64|kernel.gather [^\n]*f64");
  return target == kVulkan && std::regex_search(text, doubles);
}

kernel_result expected_on(const std::string &target, kernel_result expected) {
  if (target != kVulkan)
    return expected;
  for (host_tensor &output : expected.outputs)
    for (int64_t i = 0; output.type.isInteger(64) && i < output.size(); ++i)
      output.set_int(i, std::clamp<int64_t>(output.get_int(i), INT32_MIN, INT32_MAX));
  return expected;
}

std::vector<host_tensor> random_inputs(kernel::FuncOp func, const std::vector<int64_t> &sizes, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<host_tensor> inputs;
  for (unsigned i = 0; i < func.getNumInputs(); ++i) {
    Type element = cast<RankedTensorType>(func.getArgumentTypes()[i]).getElementType();
    host_tensor tensor(element, input_dims(func, i, sizes));
    for (int64_t at = 0; at < tensor.size(); ++at) {
      if (isa<FloatType>(element))
        tensor.set_float(at, std::uniform_real_distribution<double>(-2, 2)(random));
      else
        tensor.set_int(at, element.isInteger(1) ? static_cast<int64_t>(random() & 1)
                                                : std::uniform_int_distribution<int64_t>(-9, 9)(random));
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

static void expect_floats_near(const host_tensor &actual, const host_tensor &expected, double tolerance,
                               const std::string &where) {
  double largest = 1e-30;
  for (int64_t i = 0; i < expected.size(); ++i)
    if (std::isfinite(expected.get_float(i)))
      largest = std::max(largest, std::fabs(expected.get_float(i)));
  for (int64_t i = 0; i < expected.size(); ++i) {
    double a = actual.get_float(i), b = expected.get_float(i);
    if (std::isnan(b) || std::isinf(b)) {
      ASSERT_TRUE(std::isnan(b) ? std::isnan(a) : a == b) << where << " at " << i << ": " << a << ", expected " << b;
      continue;
    }
    ASSERT_LE(std::fabs(a - b), tolerance * largest) << where << " at " << i << ": " << a << ", expected " << b;
  }
}

void expect_near(const kernel_result &actual, const kernel_result &expected, double tolerance,
                 const std::string &where) {
  ASSERT_EQ(actual.error.has_value(), expected.error.has_value()) << where;
  if (expected.error) {
    EXPECT_EQ(actual.error->code, expected.error->code) << where;
    return;
  }
  ASSERT_EQ(actual.outputs.size(), expected.outputs.size()) << where;
  for (size_t i = 0; i < expected.outputs.size(); ++i) {
    if (isa<FloatType>(expected.outputs[i].type)) {
      expect_floats_near(actual.outputs[i], expected.outputs[i], tolerance, where);
      continue;
    }
    for (int64_t at = 0; at < expected.outputs[i].size(); ++at)
      ASSERT_EQ(actual.outputs[i].get_int(at), expected.outputs[i].get_int(at)) << where << " at " << at;
  }
}

void check_kernel_on(const std::string &target, const std::string &text, const std::string &name,
                     const std::vector<std::vector<int64_t>> &shapes, double tolerance) {
  auto module = kernel_module::compile(text, target);
  ASSERT_TRUE(module);
  unsigned seed = 1;
  for (const std::vector<int64_t> &sizes : shapes) {
    std::string where = name + " on " + target + " with sizes";
    for (int64_t size : sizes)
      where += " " + std::to_string(size);
    auto inputs = random_inputs(module->func(name), sizes, seed++);
    kernel_result expected = expected_on(target, interpret(module->func(name), inputs, sizes));
    kernel_result whole = module->run(name, inputs, sizes), single = module->run(name, inputs, sizes, 1);
    expect_near(whole, expected, tolerance, where);
    if (expected.error)
      continue;
    ASSERT_EQ(whole.outputs.size(), single.outputs.size()) << where << ", in parts";
    for (size_t i = 0; i < whole.outputs.size(); ++i)
      EXPECT_EQ(whole.outputs[i].bytes, single.outputs[i].bytes) << where << ": items depend on each other";
  }
}

void check_kernel(const std::string &text, const std::string &name, const std::vector<std::vector<int64_t>> &shapes,
                  double tolerance) {
  for (const std::string &target : runnable_targets())
    if (!is_refused(text, target))
      check_kernel_on(target, text, name, shapes, tolerance);
}

} // namespace heddle::conformance
