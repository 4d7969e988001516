// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/shader_runner.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>
#include <heddle/executable_abi.h>
#include <heddle/heddle.hpp>
#include <unistd.h>

#include "compiler/artifact/ArtifactWriter.h"
#include "compiler/pipelines/AddSelfTests.h"
#include "compiler/pipelines/AddWorkShapes.h"
#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/vulkan/VulkanTarget.h"
#include "dialects/kernel/KernelOps.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "tests/conformance/spirv_memory.h"
#include "tests/conformance/variant_forms.h"

using namespace mlir;

namespace heddle::conformance {

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Numbers of the function's inputs that a program has as constants: those marked so in the text, packed weights and
/// the scales of their blocks.
static std::vector<unsigned> constant_inputs(kernel::FuncOp func) {
  auto contract = dyn_cast<kernel::ContractOp>(*func.getRoot());
  std::vector<unsigned> numbers;
  if (!contract || !contract.getPackedRhs()) {
    for (unsigned i = 0; i < func.getNumInputs(); ++i)
      if (func.isConstantInput(i))
        numbers.push_back(i);
    return numbers;
  }
  numbers = {cast<BlockArgument>(contract.getRhs()).getArgNumber()};
  if (auto scales = contract.getScalesInput())
    numbers.push_back(cast<BlockArgument>(contract.getInputs()[*scales]).getArgNumber());
  return numbers;
}

std::unique_ptr<shader_runner> shader_runner::compile(ModuleOp module, const TunedConfigs *tuned) {
  vulkan::registerVulkanTarget();
  for (auto func : module.getOps<kernel::FuncOp>())
    for (unsigned number : constant_inputs(func))
      func.setArgAttr(number, kernel::kConstantAttrName, UnitAttr::get(module.getContext()));
  auto result = std::make_unique<shader_runner>();
  CompiledTarget &compiled = result->targets_.emplace_back();
  compiled.target = llvm::cantFail(parseTarget("vulkan"));
  PassManager pm(module.getContext());
  compiled.target->addSelectionPass(pm, tuned);
  if (failed(pm.run(module))) {
    ADD_FAILURE() << "no config was selected";
    return nullptr;
  }
  keep_wanted_forms(module);
  auto image = compiled.target->compileKernels(module, /*threads=*/2, nullptr);
  if (failed(image)) {
    ADD_FAILURE() << "the kernels don't compile for Vulkan";
    return nullptr;
  }
  expect_stated_memory(*image);
  compiled.image = std::move(*image);
  compiled.kernels = module.clone();
  return result;
}

//===----------------------------------------------------------------------===//
// The program around a kernel
//===----------------------------------------------------------------------===//

static std::string type_text(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

static std::string dims_text(const std::vector<int64_t> &dims, llvm::StringRef prefix = "") {
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : ", ") + prefix.str() + std::to_string(dim);
  return text;
}

/// One dictionary {name, type, dims} of an input or output.
static std::string port_text(const std::string &name, const host_tensor &tensor) {
  return "{name = \"" + name + "\", type = " + type_text(tensor.type) + ", dims = [" + dims_text(tensor.dims) + "]}";
}

/// As many error sites as |func| counts.
static std::string error_sites(kernel::FuncOp func) {
  int64_t sites = 1;
  func->walk([&](Operation *op) {
    if (auto site = op->getAttrOfType<IntegerAttr>("site"))
      sites = std::max(sites, site.getInt() + 1);
  });
  std::string text;
  for (int64_t i = 0; i < sites; ++i)
    text += std::string(i ? ", " : "") + "[\"node\", \"Op\", \"index\"]";
  return text;
}

namespace {
/// Text of an rt.func that dispatches one kernel, whose every size is a number.
class program_text {
public:
  explicit program_text(const std::vector<int64_t> &sizes) : slots_(sizes) {
    for (size_t i = 0; i < sizes.size(); ++i)
      append(sizes_, "%s#" + std::to_string(i));
  }

  void add_constant(unsigned number) {
    std::string name = "%i" + std::to_string(number);
    steps_ += name + " = rt.constant_buffer @w" + std::to_string(number) + "\n";
    append(ins_, name);
  }

  void add_input(unsigned number, const host_tensor &tensor) {
    std::string name = "%i" + std::to_string(number);
    steps_ += name + " = rt.input " + std::to_string(input_count_++) + "\n";
    append(input_ports_, port_text("i" + std::to_string(number), tensor));
    append(ins_, name);
  }

  void add_output(unsigned number, const host_tensor &tensor) {
    std::string name = "o" + std::to_string(number), dims, permutation;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      append(dims, slot(tensor.dims[d]));
      append(permutation, std::to_string(d));
    }
    if (!dims.empty())
      append(result_sizes_, dims);
    steps_ += "%" + name + " = rt.output " + std::to_string(number) + " sizes(" + dims + ")\n";
    append(output_ports_, port_text(name, tensor));
    append(outs_, "%" + name);
    append(infos_, "{name = \"\", type = " + type_text(tensor.type) + ", permutation = array<i64" +
                       (permutation.empty() ? "" : ": " + permutation) + ">}");
  }

  std::string finish(kernel::FuncOp func) {
    std::string work = slot(1), shape, yielded, types;
    for (size_t i = 0; i < slots_.size(); ++i) {
      shape += "%c" + std::to_string(i) + " = rt.shape_constant " + std::to_string(slots_[i]) + "\n";
      append(yielded, "%c" + std::to_string(i));
      append(types, "index");
    }
    return "rt.func @main attributes {inputs = [" + input_ports_ + "], outputs = [" + output_ports_ +
           "]} {\n%s:" + std::to_string(slots_.size()) + " = rt.shape_func {\n" + shape + "rt.yield " + yielded +
           " : " + types + "\n} : " + types + "\n" + steps_ + "rt.dispatch @" + func.getSymName().str() + " ins(" +
           ins_ + ") outs(" + outs_ + ") sizes(" + sizes_ + ")" +
           (result_sizes_.empty() ? "" : " result_sizes(" + result_sizes_ + ")") + " flops(" + work + ") bytes(" +
           work + ") {nodes = [\"node\"], results_info = [" + infos_ + "], error_sites = [" + error_sites(func) +
           "]}\n}\n";
  }

private:
  static void append(std::string &list, const std::string &item) { list += (list.empty() ? "" : ", ") + item; }
  std::string slot(int64_t value) {
    slots_.push_back(value);
    return "%s#" + std::to_string(slots_.size() - 1);
  }

  std::vector<int64_t> slots_;
  unsigned input_count_ = 0;
  std::string input_ports_, output_ports_, steps_, ins_, outs_, sizes_, result_sizes_, infos_;
};
} // namespace

OwningOpRef<ModuleOp> shader_runner::make_program(kernel::FuncOp func, const std::vector<host_tensor> &inputs,
                                                  const std::vector<int64_t> &sizes) {
  std::vector<unsigned> constants = constant_inputs(func);
  program_text text(sizes);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (llvm::is_contained(constants, i))
      text.add_constant(i);
    else
      text.add_input(i, inputs[i]);
  }
  for (unsigned i = 0; i < func.getResultTypes().size(); ++i)
    text.add_output(i,
                    {cast<RankedTensorType>(func.getResultTypes()[i]).getElementType(), result_dims(func, i, sizes)});
  MLIRContext *context = func.getContext();
  context->loadDialect<rt::RtDialect>();
  OwningOpRef<ModuleOp> program = parseSourceString<ModuleOp>(text.finish(func), context);
  if (!program)
    return nullptr;
  OpBuilder b(context);
  b.setInsertionPointToStart(program->getBody());
  for (unsigned i : constants) {
    auto type = RankedTensorType::get(inputs[i].dims, inputs[i].type);
    auto bytes = llvm::ArrayRef(reinterpret_cast<const char *>(inputs[i].bytes.data()), inputs[i].bytes.size());
    b.create<rt::ConstantOp>(func.getLoc(), b.getStringAttr("w" + std::to_string(i)),
                             DenseElementsAttr::getFromRawBuffer(type, bytes), TypeAttr::get(type), b.getArrayAttr({}),
                             TypeAttr::get(type));
  }
  // All that the image has code for, in its order.
  for (auto kernel : targets_.front().kernels->getOps<kernel::FuncOp>())
    b.clone(*kernel);
  return program;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static heddle_element_type_t element_type(Type type) {
  if (type.isF32())
    return HEDDLE_ELEMENT_F32;
  if (type.isF64())
    return HEDDLE_ELEMENT_F64;
  if (type.isF16())
    return HEDDLE_ELEMENT_F16;
  if (type.isBF16())
    return HEDDLE_ELEMENT_BF16;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return HEDDLE_ELEMENT_BOOL;
  case 8:
    return HEDDLE_ELEMENT_I8;
  case 16:
    return HEDDLE_ELEMENT_I16;
  case 32:
    return HEDDLE_ELEMENT_I32;
  default:
    return HEDDLE_ELEMENT_I64;
  }
}

/// What an error of the run says of the kernel, if it is the kernel's.
static std::optional<kernel_error> to_kernel_error(const std::string &code, const std::string &message) {
  if (code == "H0310")
    return kernel_error{HEDDLE_KERNEL_DIVISION_BY_ZERO, 0, 0};
  if (code == "H0408" && llvm::StringRef(message).contains("ended a loop"))
    return kernel_error{HEDDLE_KERNEL_LOOP_CUT_SHORT, 0, 0};
  static constexpr llvm::StringLiteral kOutOfRange = " is out of range, expects ";
  size_t at = message.find(kOutOfRange);
  if (code != "H0309" || at == std::string::npos)
    return std::nullopt;
  return kernel_error{HEDDLE_KERNEL_INDEX_OUT_OF_RANGE, std::stoll(message.substr(message.rfind(' ', at - 1))),
                      -std::stoll(message.substr(at + kOutOfRange.size()))};
}

namespace {
/// Lowers the number of workgroups that a dispatch may have, besides other limits that the environment sets.
class slicing_scope {
public:
  explicit slicing_scope(int64_t groups) {
    const char *limits = std::getenv(kLimits);
    if (groups == 0)
      return;
    before_ = limits ? limits : "";
    setenv(kLimits, (*before_ + (before_->empty() ? "groups=" : ",groups=") + std::to_string(groups)).c_str(), 1);
  }
  ~slicing_scope() {
    if (before_)
      setenv(kLimits, before_->c_str(), 1);
  }

private:
  static constexpr const char *kLimits = "HEDDLE_VULKAN_LIMITS";
  std::optional<std::string> before_;
};
} // namespace

namespace {
/// Handles of the C API that go with the scope; the first error ends the run.
class run_scope {
public:
  ~run_scope() {
    for (heddle_tensor_t *tensor : tensors)
      heddle_tensor_release(tensor);
    for (heddle_tensor_t *tensor : outputs)
      heddle_tensor_release(tensor);
    heddle_session_release(session);
    heddle_program_release(program);
  }
  /// Whether |status| is none; else |error| is what it says.
  bool ok(heddle_status_t status) {
    if (!status)
      return true;
    code = heddle_status_error_code(status);
    message = heddle_status_message(status);
    heddle_status_release(status);
    return false;
  }

  heddle_program_t *program = nullptr;
  heddle_session_t *session = nullptr;
  std::vector<heddle_tensor_t *> tensors, outputs;
  std::string code, message;
};
} // namespace

static bool run_artifact(const std::string &path, const std::vector<const host_tensor *> &inputs, size_t output_count,
                         run_scope &scope) {
  heddle_program_options_t options = {};
  options.device = "vulkan";
  if (!scope.ok(heddle_program_load(path.c_str(), &options, &scope.program)) ||
      !scope.ok(heddle_session_create(scope.program, &scope.session)))
    return false;
  for (const host_tensor *input : inputs) {
    heddle_tensor_t *tensor = nullptr;
    if (!scope.ok(heddle_tensor_create(element_type(input->type), input->dims.size(), input->dims.data(), &tensor)))
      return false;
    scope.tensors.push_back(tensor);
    std::copy(input->bytes.begin(), input->bytes.end(), static_cast<std::byte *>(heddle_tensor_data(tensor)));
  }
  scope.outputs.assign(output_count, nullptr);
  return scope.ok(heddle_session_run(scope.session, nullptr, scope.tensors.data(), scope.tensors.size(),
                                     scope.outputs.data(), scope.outputs.size()));
}

/// As many workgroups to a dispatch as make a few dozens of it: for small results one.
static int64_t count_groups(kernel::FuncOp func, const std::vector<int64_t> &sizes) {
  constexpr int64_t most_slices = 48;
  int64_t elements = 0;
  for (unsigned i = 0; i < func.getResultTypes().size(); ++i) {
    int64_t count = 1;
    for (int64_t dim : result_dims(func, i, sizes))
      count *= dim;
    elements = std::max(elements, count);
  }
  return std::max<int64_t>(1, elements / most_slices);
}

kernel_result shader_runner::run(kernel::FuncOp func, const std::vector<host_tensor> &inputs,
                                 const std::vector<int64_t> &sizes, bool is_sliced) {
  slicing_scope slicing(is_sliced ? count_groups(func, sizes) : 0);
  kernel_result result;
  OwningOpRef<ModuleOp> program = make_program(func, inputs, sizes);
  if (!program || failed(addWorkShapes(*program, targets_))) {
    ADD_FAILURE() << "no program around kernel " << func.getSymName().str();
    return result;
  }
  ErrorList errors;
  addSelfTests(*program, targets_);
  std::string path = (std::filesystem::temp_directory_path() / ("shader." + std::to_string(getpid()))).string();
  const KernelImage &code = image();
  TargetImage target{"vulkan", {}, code.bytes, code.addresses, code.modules, code.shaders};
  if (failed(writeArtifact(*program, target, {"kernel", {}}, path, errors))) {
    ADD_FAILURE() << "the artifact isn't written";
    return result;
  }
  std::vector<unsigned> constants = constant_inputs(func);
  std::vector<const host_tensor *> given;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!llvm::is_contained(constants, i))
      given.push_back(&inputs[i]);
  run_scope scope;
  bool ran = run_artifact(path, given, func.getResultTypes().size(), scope);
  std::filesystem::remove(path);
  // A self-test that is wrong itself would leave out what is right.
  const char *note = scope.program ? heddle_program_note(scope.program, 0) : nullptr;
  EXPECT_EQ(note, nullptr) << note;
  if (!ran) {
    result.error = to_kernel_error(scope.code, scope.message);
    EXPECT_TRUE(result.error) << scope.code << ": " << scope.message;
    return result;
  }
  for (auto [i, output] : llvm::enumerate(scope.outputs)) {
    result.outputs.emplace_back(cast<RankedTensorType>(func.getResultTypes()[i]).getElementType(),
                                result_dims(func, i, sizes));
    std::copy_n(static_cast<const std::byte *>(heddle_tensor_data(output)), result.outputs.back().bytes.size(),
                result.outputs.back().bytes.begin());
  }
  return result;
}

} // namespace heddle::conformance
