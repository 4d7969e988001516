// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's handles and their errors.

#include "compiler/measure/RuntimeSession.h"

#include "mlir/IR/Builders.h"

#include <algorithm>

using namespace mlir;
using namespace heddle;

namespace {
struct StatusRelease {
  void operator()(heddle_status_t status) const { heddle_status_release(status); }
};
} // namespace

Type heddle::toType(MLIRContext *context, int elementType) {
  Builder b(context);
  auto unsignedType = [&](unsigned width) { return IntegerType::get(context, width, IntegerType::Unsigned); };
  switch (elementType) {
  case HEDDLE_ELEMENT_F32:
    return b.getF32Type();
  case HEDDLE_ELEMENT_F64:
    return b.getF64Type();
  case HEDDLE_ELEMENT_F16:
    return b.getF16Type();
  case HEDDLE_ELEMENT_BF16:
    return b.getBF16Type();
  case HEDDLE_ELEMENT_I8:
    return b.getIntegerType(8);
  case HEDDLE_ELEMENT_I16:
    return b.getIntegerType(16);
  case HEDDLE_ELEMENT_I32:
    return b.getIntegerType(32);
  case HEDDLE_ELEMENT_U8:
    return unsignedType(8);
  case HEDDLE_ELEMENT_U16:
    return unsignedType(16);
  case HEDDLE_ELEMENT_U32:
    return unsignedType(32);
  case HEDDLE_ELEMENT_U64:
    return unsignedType(64);
  case HEDDLE_ELEMENT_BOOL:
    return b.getI1Type();
  default:
    return b.getI64Type();
  }
}

static heddle_element_type_t fromType(MLIRContext *context, Type type) {
  for (int i = HEDDLE_ELEMENT_F32; i <= HEDDLE_ELEMENT_BOOL; ++i)
    if (toType(context, i) == type)
      return static_cast<heddle_element_type_t>(i);
  return HEDDLE_ELEMENT_I64;
}

LogicalResult heddle::addStatus(ErrorList &errors, ErrorCode code, heddle_status_t status) {
  std::unique_ptr<std::remove_pointer_t<heddle_status_t>, StatusRelease> owner(status);
  return errors.add({code, heddle_status_message(status), heddle_status_context(status), heddle_status_help(status)});
}

TensorPtr heddle::makeTensor(const reference::HostTensor &host, ErrorList &errors) {
  heddle_tensor_t *tensor = nullptr;
  heddle_element_type_t type = fromType(host.getElementType().getContext(), host.getElementType());
  if (heddle_status_t status = heddle_tensor_create(type, host.getRank(), host.getDims().data(), &tensor)) {
    (void)addStatus(errors, ErrorCode::H0902, status);
    return nullptr;
  }
  std::vector<char> bytes = host.toBytes();
  std::copy(bytes.begin(), bytes.end(), static_cast<char *>(heddle_tensor_data(tensor)));
  return TensorPtr(tensor);
}

RuntimeSession::~RuntimeSession() {
  heddle_session_release(session);
  heddle_program_release(program);
  heddle_thread_pool_release(pool);
}

LogicalResult RuntimeSession::load(StringRef path, StringRef device, unsigned threads, ErrorList &errors) {
  if (heddle_status_t status = heddle_thread_pool_create(threads, &pool))
    return addStatus(errors, ErrorCode::H0902, status);
  heddle_program_options_t options = {};
  std::string deviceName = device.str();
  options.device = deviceName.c_str();
  options.thread_pool = pool;
  if (heddle_status_t status = heddle_program_load(path.str().c_str(), &options, &program))
    return addStatus(errors, ErrorCode::H0519, status);
  if (heddle_status_t status = heddle_session_create(program, &session))
    return addStatus(errors, ErrorCode::H0902, status);
  return success();
}

FailureOr<std::vector<TensorPtr>> RuntimeSession::run(ArrayRef<const heddle_tensor_t *> inputs, ErrorList &errors) {
  std::vector<heddle_tensor_t *> results(getEntry().output_count, nullptr);
  if (heddle_status_t status =
          heddle_session_run(session, nullptr, inputs.data(), inputs.size(), results.data(), results.size()))
    return addStatus(errors, ErrorCode::H0111, status);
  std::vector<TensorPtr> outputs;
  for (heddle_tensor_t *result : results)
    outputs.emplace_back(result);
  return outputs;
}
