// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-shader-bench [PART-OF-A-NAME] [--least=RATIO] [--processor-time]: times generated shaders beside those written
// by hand. The two alternate and the best run of each counts, so that a busy neighbour hits both alike. One line for
// each case:
//
//     CASE  GENERATED-US  BY-HAND-US  GIGA-OPERATIONS-PER-SECOND  RATIO
//
// where the ratio is of rates, generated to by hand. Where the device is the CPU, processor time is what other work on
// the machine doesn't change. Exit code 1: results differ, or a ratio is below the least.

#include "tests/conformance/shader_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>

#include "compiler/targets/vulkan/CompileShader.h"
#include "compiler/targets/vulkan/VulkanConfig.h"
#include "compiler/targets/vulkan/VulkanTarget.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "tests/conformance/compute_device.h"

using namespace mlir;

namespace heddle::conformance {
namespace {

constexpr size_t kAlignment = 256;
constexpr int kRounds = 15;

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "heddle-shader-bench: %s\n", message.c_str());
  std::exit(1);
}

int64_t evaluate(AffineExpr expr, const std::vector<int64_t> &sizes) {
  SmallVector<AffineExpr> symbols;
  for (int64_t size : sizes)
    symbols.push_back(getAffineConstantExpr(size, expr.getContext()));
  return cast<AffineConstantExpr>(simplifyAffineExpr(expr.replaceSymbols(symbols), 0, 0)).getValue();
}

std::vector<uint32_t> compile(const std::string &glsl, const std::string &name) {
  llvm::Expected<std::vector<uint32_t>> words = vulkan::compileShader(glsl);
  if (!words)
    fail(name + ": " + llvm::toString(words.takeError()));
  return std::move(*words);
}

/// A kernel's operands on the device as its bindings hold them.
class operands {
public:
  operands(const compute_device &device, const vulkan::ShaderPlan &plan, const std::vector<host_tensor> &inputs,
           std::vector<host_tensor> results) {
    std::array<size_t, kBufferCount> sizes = {};
    std::vector<const host_tensor *> tensors;
    for (const host_tensor &input : inputs)
      tensors.push_back(&input);
    for (const host_tensor &result : results)
      tensors.push_back(&result);
    for (size_t i = 0; i < tensors.size(); ++i) {
      size_t &end = sizes[static_cast<size_t>(plan.operandBindings[i])];
      places_.push_back(static_cast<uint32_t>(end / sizeof(uint32_t)));
      end += (tensors[i]->bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
    }
    // Behind the results lies the error record.
    size_t &end = sizes[static_cast<size_t>(ShaderBinding::Results)];
    record_ = static_cast<uint32_t>(end / sizeof(uint32_t));
    end += kAlignment;
    for (unsigned binding = 0; binding < kBufferCount; ++binding)
      buffers_[binding] = device.allocate(std::max(sizes[binding], kAlignment));
    for (size_t i = 0; i < inputs.size(); ++i)
      std::memcpy(buffers_[static_cast<size_t>(plan.operandBindings[i])]->data() + places_[i] * sizeof(uint32_t),
                  inputs[i].bytes.data(), inputs[i].bytes.size());
    results_ = std::move(results);
    first_result_ = inputs.size();
  }

  std::array<VkBuffer, kBufferCount> handles() const {
    return {buffers_[0]->handle(), buffers_[1]->handle(), buffers_[2]->handle(), buffers_[3]->handle()};
  }
  const std::vector<uint32_t> &places() const { return places_; }
  /// Place of the error record among the results.
  uint32_t record() const { return record_; }

  /// The results as they are now.
  const std::vector<host_tensor> &read_results() {
    for (size_t i = 0; i < results_.size(); ++i)
      std::memcpy(results_[i].bytes.data(),
                  buffers_[static_cast<size_t>(ShaderBinding::Results)]->data() + places_[first_result_ + i] * 4,
                  results_[i].bytes.size());
    return results_;
  }

private:
  std::array<std::unique_ptr<shared_buffer>, kBufferCount> buffers_;
  std::vector<uint32_t> places_;
  uint32_t record_ = 0;
  std::vector<host_tensor> results_;
  size_t first_result_ = 0;
};

/// The greatest difference, relative to the greatest number.
double difference(const host_tensor &a, const host_tensor &b) {
  double largest = 1e-30, most = 0;
  bool is_float = isa<FloatType>(a.type);
  for (int64_t i = 0; i < a.size(); ++i) {
    double x = is_float ? a.get_float(i) : static_cast<double>(a.get_int(i));
    double y = is_float ? b.get_float(i) : static_cast<double>(b.get_int(i));
    largest = std::max(largest, std::fabs(y));
    most = std::max(most, std::isnan(x) ? INFINITY : std::fabs(x - y));
  }
  return most / largest;
}

/// A shader, ready to run.
struct workload {
  compute_pipeline pipeline;
  std::vector<uint32_t> push;
  std::array<uint32_t, 3> groups;
  std::unique_ptr<operands> memory;

  double run(compute_device &device, bool is_processor_time = false) const {
    std::clock_t start = std::clock();
    double seconds = device.run(pipeline, memory->handles(), push, groups);
    return is_processor_time ? static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC : seconds;
  }
};

/// The first variant that takes |extents|, fits the device's shared memory and needs no feature but its subgroups.
const vulkan::Variant &choose(const vulkan::ShaderPlan &plan, const std::array<int64_t, 3> &extents,
                              const compute_device &device) {
  for (const vulkan::Variant &variant : plan.variants) {
    bool fits = llvm::all_of(variant.features, [&](const std::string &feature) {
      return feature == "subgroup_of_8" && device.has_subgroups_of_8();
    });
    fits &= variant.sharedBytes <= device.shared_bytes();
    for (unsigned axis = 0; axis < 3; ++axis)
      fits &= variant.most[axis] == 0 || extents[axis] <= variant.most[axis];
    if (fits)
      return variant;
  }
  return plan.variants.back();
}

std::vector<host_tensor> random_inputs(kernel::FuncOp func, const std::vector<int64_t> &sizes) {
  std::mt19937 random(1);
  std::vector<host_tensor> inputs;
  for (unsigned i = 0; i < func.getNumInputs(); ++i) {
    Type type = cast<RankedTensorType>(func.getArgumentTypes()[i]).getElementType();
    host_tensor &tensor = inputs.emplace_back(type, input_dims(func, i, sizes));
    for (int64_t at = 0; at < tensor.size(); ++at)
      if (isa<FloatType>(type))
        tensor.set_float(at, std::uniform_real_distribution<double>(-1, 1)(random));
      else
        tensor.set_int(at, std::uniform_int_distribution<int64_t>(-128, 127)(random));
  }
  return inputs;
}

std::vector<host_tensor> empty_results(kernel::FuncOp func, const std::vector<int64_t> &sizes) {
  std::vector<host_tensor> results;
  for (unsigned i = 0; i < func.getResultTypes().size(); ++i)
    results.emplace_back(cast<RankedTensorType>(func.getResultTypes()[i]).getElementType(),
                         result_dims(func, i, sizes));
  return results;
}

class comparison {
public:
  comparison(compute_device &device, const shader_case &which) : device_(device), which_(which) {
    context_.loadDialect<arith::ArithDialect, math::MathDialect, kernel::KernelDialect>();
    module_ = parseSourceString<ModuleOp>(which.text, &context_);
    kernel::FuncOp func = module_ ? module_->lookupSymbol<kernel::FuncOp>(which.function) : kernel::FuncOp();
    if (!func)
      fail(which.name + ": the kernel doesn't parse");
    for (unsigned input : which.constants)
      func.setArgAttr(input, kernel::kConstantAttrName, UnitAttr::get(&context_));
    func->setAttr(kernel::kConfigAttrName, vulkan::selectConfig(func));
    FailureOr<vulkan::ShaderPlan> plan = vulkan::ShaderPlan::create(func);
    if (failed(plan))
      fail(which.name + ": the kernel has no plan");
    auto inputs = random_inputs(func, which.sizes);
    if (which.prepare)
      which.prepare(inputs);
    make_generated(func, *plan, inputs);
    make_by_hand(*plan, std::move(inputs), empty_results(func, which.sizes));
  }

  /// Prints the line of the case. -> the ratio
  double run(bool is_processor_time) {
    // Pipelines compile at their first run on some drivers.
    generated_.run(device_), by_hand_.run(device_);
    double difference = compare();
    if (!(difference <= which_.tolerance))
      fail(which_.name + ": results differ by " + std::to_string(difference));
    double best = INFINITY, best_by_hand = INFINITY;
    for (int i = 0; i < kRounds; ++i) {
      best = std::min(best, generated_.run(device_, is_processor_time));
      best_by_hand = std::min(best_by_hand, by_hand_.run(device_, is_processor_time));
    }
    double ratio = best_by_hand / best;
    std::printf("%-40s %10.0f %10.0f %8.1f %6.2f\n", which_.name.c_str(), best * 1e6, best_by_hand * 1e6,
                which_.operations / best * 1e-9, ratio);
    return ratio;
  }

private:
  void make_generated(kernel::FuncOp func, const vulkan::ShaderPlan &plan, const std::vector<host_tensor> &inputs) {
    std::array<int64_t, 3> extents;
    for (unsigned axis = 0; axis < 3; ++axis)
      extents[axis] = evaluate(plan.extents[axis], which_.sizes);
    const vulkan::Variant &variant = choose(plan, extents, device_);
    FailureOr<std::vector<vulkan::ShaderText>> texts = vulkan::printShaders(func);
    if (failed(texts))
      fail(which_.name + ": no shader");
    auto text = llvm::find_if(*texts, [&](const vulkan::ShaderText &text) { return text.form == variant.form; });
    std::vector<uint32_t> constants(variant.workgroup.begin(), variant.workgroup.end());
    constants.insert(constants.end(), variant.constants.begin(), variant.constants.end());
    generated_.pipeline = device_.create_pipeline(compile(text->glsl, which_.name), constants);
    for (unsigned axis = 0; axis < 3; ++axis)
      generated_.groups[axis] = static_cast<uint32_t>((extents[axis] + variant.tile[axis] - 1) / variant.tile[axis]);
    generated_.memory = std::make_unique<operands>(device_, plan, inputs, empty_results(func, which_.sizes));
    generated_.push = push_constants(generated_.memory->places());
    if (plan.canFail)
      generated_.push.insert(generated_.push.begin() + 3, generated_.memory->record());
  }

  void make_by_hand(const vulkan::ShaderPlan &plan, std::vector<host_tensor> inputs, std::vector<host_tensor> results) {
    if (which_.arrange)
      which_.arrange(inputs);
    by_hand_.pipeline = device_.create_pipeline(compile(which_.glsl, which_.name + " by hand"), {});
    by_hand_.groups = which_.groups;
    by_hand_.memory = std::make_unique<operands>(device_, plan, inputs, std::move(results));
    by_hand_.push = push_constants(by_hand_.memory->places());
  }

  std::vector<uint32_t> push_constants(const std::vector<uint32_t> &places) const {
    std::vector<uint32_t> push = {0, 0, 0};
    push.insert(push.end(), places.begin(), places.end());
    for (int64_t size : which_.sizes)
      push.push_back(static_cast<uint32_t>(size));
    return push;
  }

  double compare() {
    const auto &a = generated_.memory->read_results(), &b = by_hand_.memory->read_results();
    double most = 0;
    for (size_t i = 0; i < a.size(); ++i)
      most = std::max(most, difference(a[i], b[i]));
    return most;
  }

  compute_device &device_;
  const shader_case &which_;
  MLIRContext context_;
  OwningOpRef<ModuleOp> module_;
  workload generated_, by_hand_;
};

} // namespace
} // namespace heddle::conformance

int main(int argc, char **argv) {
  using namespace heddle::conformance;
  std::string part;
  double least = 0;
  bool is_processor_time = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument(argv[i]);
    if (argument == "--processor-time")
      is_processor_time = true;
    else if (!argument.consume_front("--least="))
      part = argument.str();
    else if (argument.getAsDouble(least))
      fail("--least expects a number, got '" + argument.str() + "'");
  }
  compute_device device;
  std::printf("# %s\n%-40s %10s %10s %8s %6s\n", device.name().c_str(), "case", "us", "by hand", "Gop/s", "ratio");
  bool is_fast = true;
  for (const std::vector<shader_case> &cases : {contract_shader_cases(), attention_shader_cases()})
    for (const shader_case &which : cases)
      if (which.name.find(part) != std::string::npos)
        is_fast &= comparison(device, which).run(is_processor_time) >= least;
  return is_fast ? 0 : 1;
}
