// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binding by name; what goes with ids is told by the names that exporters give it.

#include "compiler/measure/BindSample.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;

static bool isInteger(heddle_element_type_t type) { return type == HEDDLE_ELEMENT_I64 || type == HEDDLE_ELEMENT_I32; }

static bool mentions(StringRef name, ArrayRef<StringLiteral> words) {
  return llvm::any_of(words, [&](StringRef word) { return name.contains_insensitive(word); });
}

/// What inputs beside ids are named after.
static constexpr StringLiteral kCompanions[] = {"mask", "type", "segment", "position"};

/// The input that takes ids: the first of integers that is named after nothing else.
static std::optional<size_t> findIdsInput(const heddle_entry_info_t &entry, size_t inputCount) {
  for (size_t i = 0; i < inputCount; ++i)
    if (isInteger(entry.inputs[i].type) && !mentions(entry.inputs[i].name, kCompanions))
      return i;
  return std::nullopt;
}

/// What goes with ids of the shape of |ids| in |input|: ones for a mask, 0, 1, 2 ... for positions, else zeros. Null
/// for an input of another rank, type or name.
static TensorPtr makeCompanion(const heddle_tensor_info_t &input, const heddle_tensor_t *ids) {
  heddle_tensor_t *tensor = nullptr;
  if (!isInteger(input.type) || input.rank != heddle_tensor_rank(ids) || !mentions(input.name, kCompanions))
    return nullptr;
  if (heddle_status_t status = heddle_tensor_create(input.type, input.rank, heddle_tensor_dims(ids), &tensor)) {
    heddle_status_release(status);
    return nullptr;
  }
  int64_t length = input.rank ? heddle_tensor_dims(ids)[input.rank - 1] : 1;
  for (int64_t i = 0, count = heddle_tensor_element_count(tensor); i < count; ++i) {
    int64_t value = mentions(input.name, {"mask"}) ? 1 : mentions(input.name, {"position"}) ? i % length : 0;
    if (input.type == HEDDLE_ELEMENT_I64)
      static_cast<int64_t *>(heddle_tensor_data(tensor))[i] = value;
    else
      static_cast<int32_t *>(heddle_tensor_data(tensor))[i] = static_cast<int32_t>(value);
  }
  return TensorPtr(tensor);
}

/// The input that |name| names, or that takes ids where it is empty.
static FailureOr<size_t> findInput(StringRef name, const heddle_entry_info_t &entry, size_t inputCount,
                                   StringRef context, ErrorList &errors) {
  std::vector<std::string> names;
  for (size_t i = 0; i < inputCount; ++i) {
    if (!name.empty() && name == entry.inputs[i].name)
      return i;
    names.push_back(entry.inputs[i].name);
  }
  std::string help = "inputs are " + llvm::join(names, ", ");
  if (!name.empty())
    return errors.add({ErrorCode::H0111, "the model has no input '" + name.str() + "'", context.str(), help});
  if (std::optional<size_t> ids = findIdsInput(entry, inputCount))
    return *ids;
  return errors.add({ErrorCode::H0111, "the model has no input that takes ids", context.str(), help});
}

LogicalResult heddle::bindSample(const CalibrationSample &sample, const RuntimeSession &session, size_t inputCount,
                                 MLIRContext &context, BoundSample &bound, ErrorList &errors) {
  std::string where = "in " + sample.name;
  const heddle_entry_info_t &entry = session.getEntry();
  bound.owners.clear();
  bound.inputs.assign(inputCount, nullptr);
  for (const VerifyInput &input : sample.inputs) {
    FailureOr<size_t> index = findInput(input.name, entry, inputCount, where, errors);
    if (failed(index))
      return failure();
    int64_t count = 1;
    for (int64_t dim : input.dims)
      count *= dim;
    size_t bytes = reference::HostTensor::getByteSize(toType(&context, input.type), count);
    heddle_tensor_t *tensor = nullptr;
    // The runtime only reads inputs.
    if (heddle_status_t status =
            heddle_tensor_wrap(static_cast<heddle_element_type_t>(input.type), input.dims.size(), input.dims.data(),
                               const_cast<void *>(input.data), bytes, nullptr, nullptr, &tensor))
      return addStatus(errors, ErrorCode::H0111, status);
    bound.owners.emplace_back(tensor);
    bound.inputs[*index] = tensor;
  }
  const heddle_tensor_t *ids = nullptr;
  if (std::optional<size_t> index = findIdsInput(entry, inputCount))
    ids = bound.inputs[*index];
  for (size_t i = 0; ids && i < inputCount; ++i)
    if (!bound.inputs[i])
      if (TensorPtr companion = makeCompanion(entry.inputs[i], ids)) {
        bound.inputs[i] = companion.get();
        bound.owners.push_back(std::move(companion));
      }
  for (size_t i = 0; i < inputCount; ++i)
    if (!bound.inputs[i] && !session.hasDefault(i))
      return errors.add({ErrorCode::H0111, "input '" + std::string(entry.inputs[i].name) + "' is missing", where,
                         "give it an array or a list of its own"});
  return success();
}
