// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A recipe only changes where an element is read: transposing permutes strides, packing adds a loop over panels. So
// constants of any size go through without being held.

#include "compiler/artifact/ConstantStream.h"

#include "dialects/rt/ConstantSource.h"
#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace heddle;
using namespace mlir;

namespace {

/// The source as a strided tensor of bytes.
struct StridedSource {
  ArrayRef<uint8_t> bytes;
  int64_t elementBytes;
  SmallVector<int64_t> dims;
  /// In bytes.
  SmallVector<int64_t> strides;
  /// Columns of a panel if packed, else 0.
  int64_t panel = 0;
};

/// Collects small runs of bytes for the sink.
class RunBuffer {
public:
  explicit RunBuffer(ByteSink sink) : sink(sink) { bytes.reserve(kCapacity); }
  ~RunBuffer() { flush(); }

  /// Appends |count| elements of |size| bytes that lie |stride| bytes apart.
  void append(const uint8_t *from, int64_t count, int64_t size, int64_t stride) {
    if (size == stride) {
      appendBytes(from, count * size);
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      appendBytes(from + i * stride, size);
  }

  void appendZeros(int64_t count) {
    static constexpr uint8_t zeros[64] = {};
    for (; count > 0; count -= sizeof(zeros))
      appendBytes(zeros, std::min<int64_t>(count, sizeof(zeros)));
  }

private:
  static constexpr size_t kCapacity = 1 << 16;

  void appendBytes(const uint8_t *from, int64_t count) {
    if (bytes.size() + count > kCapacity)
      flush();
    if (static_cast<size_t>(count) >= kCapacity)
      sink({from, static_cast<size_t>(count)});
    else
      bytes.insert(bytes.end(), from, from + count);
  }

  void flush() {
    if (!bytes.empty())
      sink(bytes);
    bytes.clear();
  }

  ByteSink sink;
  std::vector<uint8_t> bytes;
};

} // namespace

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

static LogicalResult applyTranspose(rt::ConstantOp op, DictionaryAttr step, StridedSource &source) {
  auto permutation = step.getAs<DenseI64ArrayAttr>("permutation");
  SmallVector<bool> isUsed(source.dims.size());
  bool isValid = permutation && permutation.size() == static_cast<int64_t>(source.dims.size());
  for (int64_t i = 0; isValid && i < permutation.size(); ++i) {
    int64_t axis = permutation[i];
    isValid = axis >= 0 && axis < permutation.size() && !isUsed[axis];
    if (isValid)
      isUsed[axis] = true;
  }
  if (!isValid)
    return op.emitOpError() << "expects a permutation of " << source.dims.size() << " dimensions, got " << step;
  SmallVector<int64_t> dims, strides;
  for (int64_t axis : permutation.asArrayRef()) {
    dims.push_back(source.dims[axis]);
    strides.push_back(source.strides[axis]);
  }
  source.dims = dims;
  source.strides = strides;
  return success();
}

static LogicalResult applyPack(rt::ConstantOp op, DictionaryAttr step, StridedSource &source) {
  auto panel = step.getAs<IntegerAttr>("panel");
  if (!panel || panel.getInt() < 1 || panel.getInt() > 4096)
    return op.emitOpError() << "expects a panel of 1 to 4096 columns, got " << step;
  if (source.dims.size() != 2)
    return op.emitOpError() << "expects a matrix to pack, got rank " << source.dims.size();
  source.panel = panel.getInt();
  return success();
}

/// The shape that the recipe gives.
static SmallVector<int64_t> getResultShape(const StridedSource &source) {
  if (source.panel == 0)
    return source.dims;
  int64_t panels = (source.dims[1] + source.panel - 1) / source.panel;
  return {panels, source.dims[0], source.panel};
}

static LogicalResult applyRecipe(rt::ConstantOp op, StridedSource &source) {
  for (Attribute attr : op.getRecipe()) {
    auto step = cast<DictionaryAttr>(attr);
    auto kind = step.getAs<StringAttr>("kind");
    if (source.panel != 0)
      return op.emitOpError() << "expects packing to be the recipe's last step";
    if (kind == "transpose") {
      if (failed(applyTranspose(op, step, source)))
        return failure();
    } else if (failed(applyPack(op, step, source))) {
      return failure();
    }
  }
  auto type = cast<RankedTensorType>(op.getType()), sourceType = cast<RankedTensorType>(op.getSourceType());
  SmallVector<int64_t> shape = getResultShape(source);
  if (ArrayRef(shape) != type.getShape() || type.getElementType() != sourceType.getElementType())
    return op.emitOpError() << "expects the recipe to give " << type << ", got " << sourceType.clone(shape);
  return success();
}

/// Strides of a row-major tensor.
static void setDenseStrides(StridedSource &source) {
  source.strides.assign(source.dims.size(), 0);
  int64_t stride = source.elementBytes;
  for (size_t i = source.dims.size(); i-- > 0; stride *= source.dims[i])
    source.strides[i] = stride;
}

//===----------------------------------------------------------------------===//
// Streaming
//===----------------------------------------------------------------------===//

static void emitStrided(const StridedSource &source, size_t axis, const uint8_t *from, RunBuffer &buffer) {
  if (axis + 1 == source.dims.size()) {
    buffer.append(from, source.dims[axis], source.elementBytes, source.strides[axis]);
    return;
  }
  for (int64_t i = 0; i < source.dims[axis]; ++i)
    emitStrided(source, axis + 1, from + i * source.strides[axis], buffer);
}

/// Panel after panel, each K rows of |panel| columns.
static void emitPacked(const StridedSource &source, RunBuffer &buffer) {
  int64_t rows = source.dims[0], columns = source.dims[1];
  for (int64_t first = 0; first < columns; first += source.panel) {
    int64_t width = std::min(source.panel, columns - first);
    for (int64_t row = 0; row < rows; ++row) {
      const uint8_t *from = source.bytes.data() + row * source.strides[0] + first * source.strides[1];
      buffer.append(from, width, source.elementBytes, source.strides[1]);
      buffer.appendZeros((source.panel - width) * source.elementBytes);
    }
  }
}

LogicalResult heddle::streamConstant(rt::ConstantOp constant, ByteSink sink) {
  FailureOr<nn::ConstantData> data = rt::readSource(constant);
  if (failed(data))
    return failure();
  if (constant.getRecipe().empty()) {
    if (constant.getType() != constant.getSourceType())
      return constant.emitOpError() << "expects the source's type " << constant.getSourceType()
                                    << " without a recipe, got " << constant.getType();
    sink(data->getBytes());
    return success();
  }
  RankedTensorType type = data->getType();
  unsigned width = type.getElementTypeBitWidth();
  if (width != 1 && width % 8 != 0)
    return constant.emitOpError() << "expects elements of whole bytes for a recipe, got " << type.getElementType();
  StridedSource source{data->getBytes(), width == 1 ? 1 : width / 8, llvm::to_vector(type.getShape()), {}};
  setDenseStrides(source);
  if (failed(applyRecipe(constant, source)))
    return failure();
  RunBuffer buffer(sink);
  if (source.panel != 0)
    emitPacked(source, buffer);
  else if (source.dims.empty())
    sink(source.bytes);
  else if (type.getNumElements() != 0)
    emitStrided(source, 0, source.bytes.data(), buffer);
  return success();
}
