// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/kernel_interpreter.h"

#include "compiler/reference/KernelInterpreter.h"
#include "heddle/executable_abi.h"

using namespace mlir;

namespace heddle::conformance {

namespace {

/// The interpreter's view of tensors in memory. Accesses are checked: what a kernel reads outside is a fault of the
/// test or of the interpreter.
class tensor_memory final : public reference::KernelMemory {
public:
  tensor_memory(const std::vector<host_tensor> &inputs, kernel_result *result) : inputs_(inputs), result_(*result) {}

  reference::Scalar read(unsigned input, int64_t position) override { return read(inputs_[input], position); }
  reference::Scalar readBack(unsigned output, int64_t position) override {
    return read(result_.outputs[output], position);
  }

  void write(unsigned output, int64_t position, reference::Scalar value) override {
    host_tensor &tensor = result_.outputs[output];
    check(tensor, position);
    if (isa<FloatType>(tensor.type))
      tensor.set_float(position, value.number);
    else
      tensor.set_int(position, value.integer);
  }

  void report(reference::KernelFault fault, int64_t value, int64_t limit) override {
    bool is_index = fault == reference::KernelFault::IndexOutOfRange;
    if (!result_.error)
      result_.error =
          kernel_error{is_index ? HEDDLE_KERNEL_INDEX_OUT_OF_RANGE : HEDDLE_KERNEL_DIVISION_BY_ZERO, value, limit};
  }

private:
  static void check(const host_tensor &tensor, int64_t position) {
    if (position < 0 || position >= tensor.size())
      llvm::report_fatal_error("a kernel accesses an element outside its tensor");
  }

  static reference::Scalar read(const host_tensor &tensor, int64_t position) {
    check(tensor, position);
    if (isa<FloatType>(tensor.type))
      return reference::makeScalar(tensor.get_float(position));
    return reference::makeScalar(tensor.get_int(position));
  }

  const std::vector<host_tensor> &inputs_;
  kernel_result &result_;
};

} // namespace

kernel_result interpret(kernel::FuncOp func, const std::vector<host_tensor> &inputs,
                        const std::vector<int64_t> &sizes) {
  kernel_result result;
  for (unsigned i = 0; i < func.getResultTypes().size(); ++i)
    result.outputs.emplace_back(cast<RankedTensorType>(func.getResultTypes()[i]).getElementType(),
                                result_dims(func, i, sizes));
  tensor_memory memory(inputs, &result);
  if (llvm::Error error = reference::interpretKernel(func, sizes, memory))
    llvm::report_fatal_error(std::move(error));
  return result;
}

std::vector<int64_t> result_dims(kernel::FuncOp func, unsigned i, const std::vector<int64_t> &sizes) {
  reference::Dims dims = reference::getResultDims(func, i, sizes);
  return {dims.begin(), dims.end()};
}

std::vector<int64_t> input_dims(kernel::FuncOp func, unsigned i, const std::vector<int64_t> &sizes) {
  reference::Dims dims = reference::getInputDims(func, i, sizes);
  return {dims.begin(), dims.end()};
}

} // namespace heddle::conformance
