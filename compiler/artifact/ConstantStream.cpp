// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the parts of a constant in the order of its result. So constants of any size go through without being held.

#include "compiler/artifact/ConstantStream.h"

#include "compiler/artifact/ConstantAssembly.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace heddle;
using namespace mlir;

namespace {

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
// Streaming
//===----------------------------------------------------------------------===//

/// Dimension |dim| and those behind it of one part, from |from| on.
static void emitPart(const ConstantPart &part, int64_t elementBytes, size_t dim, const uint8_t *from,
                     RunBuffer &buffer) {
  if (dim == part.dims.size()) {
    buffer.append(from, 1, elementBytes, elementBytes);
    return;
  }
  if (dim + 1 == part.dims.size()) {
    buffer.append(from, part.dims[dim], elementBytes, part.strides[dim]);
    return;
  }
  for (int64_t i = 0; i < part.dims[dim]; ++i)
    emitPart(part, elementBytes, dim + 1, from + i * part.strides[dim], buffer);
}

/// In row-major order: down to the axis that the parts share, the loops go round all of them.
static void emitStrided(const ConstantAssembly &assembly, ArrayRef<const uint8_t *> from, int64_t dim,
                        RunBuffer &buffer) {
  if (dim == assembly.axis || assembly.parts.size() == 1) {
    for (auto [part, start] : llvm::zip(assembly.parts, from))
      emitPart(part, assembly.elementBytes, dim, start, buffer);
    return;
  }
  SmallVector<const uint8_t *> next(from);
  for (int64_t i = 0; i < assembly.parts.front().dims[dim]; ++i) {
    emitStrided(assembly, next, dim + 1, buffer);
    for (auto [part, start] : llvm::zip(assembly.parts, next))
      start += part.strides[dim];
  }
}

/// |width| elements of row |row| of a matrix, from column |column| on: |take| gets runs (first, count, stride).
static void readRow(const ConstantAssembly &matrix, int64_t row, int64_t column, int64_t width,
                    llvm::function_ref<void(const uint8_t *, int64_t, int64_t)> take) {
  bool isBeside = matrix.axis == 1; // else parts lie below each other, and one of them has the row
  for (const ConstantPart &part : matrix.parts) {
    int64_t &place = isBeside ? column : row, extent = part.dims[matrix.axis];
    if (place >= extent) {
      place -= extent;
      continue;
    }
    int64_t count = std::min(width, part.dims[1] - column);
    take(part.first + row * part.strides[0] + column * part.strides[1], count, part.strides[1]);
    width -= count;
    column = 0;
    if (width == 0)
      return;
  }
}

/// Panel after panel, each K rows of |panel| columns.
static void emitPacked(const ConstantAssembly &matrix, RunBuffer &buffer) {
  SmallVector<int64_t> dims = matrix.getDims();
  for (int64_t first = 0; first < dims[1]; first += matrix.panel) {
    int64_t width = std::min(matrix.panel, dims[1] - first);
    for (int64_t row = 0; row < dims[0]; ++row) {
      readRow(matrix, row, first, width, [&](const uint8_t *from, int64_t count, int64_t stride) {
        buffer.append(from, count, matrix.elementBytes, stride);
      });
      buffer.appendZeros((matrix.panel - width) * matrix.elementBytes);
    }
  }
}

/// The bf16 next to the f32 at |from|, to even between two. A NaN stays one.
static uint16_t roundToBf16(const uint8_t *from) {
  uint32_t bits = llvm::support::endian::read32le(from);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

/// Panel after panel, each K / 2 rows of |panel| columns by 2.
static void emitPairs(const ConstantAssembly &matrix, RunBuffer &buffer) {
  SmallVector<int64_t> dims = matrix.getDims();
  SmallVector<uint8_t> pairs(4 * matrix.panel);
  for (int64_t first = 0; first < dims[1]; first += matrix.panel) {
    int64_t width = std::min(matrix.panel, dims[1] - first);
    for (int64_t row = 0; row < dims[0]; ++row) {
      int64_t column = 0;
      readRow(matrix, row, first, width, [&](const uint8_t *from, int64_t count, int64_t stride) {
        for (int64_t i = 0; i < count; ++i, ++column)
          llvm::support::endian::write16le(&pairs[4 * column + 2 * (row % 2)], roundToBf16(from + i * stride));
      });
      if (row % 2 == 0 && row + 1 < dims[0])
        continue;
      buffer.append(pairs.data(), pairs.size(), 1, 1);
      std::fill(pairs.begin(), pairs.end(), 0);
    }
  }
}

LogicalResult heddle::streamConstant(rt::ConstantOp constant, ByteSink sink) {
  FailureOr<ConstantAssembly> assembly = assembleConstant(constant);
  if (failed(assembly))
    return failure();
  if (constant.getRecipe().empty()) {
    sink(assembly->parts.front().data.getBytes()); // elements of less than a byte as well
    return success();
  }
  RunBuffer buffer(sink);
  if (assembly->pairs) {
    emitPairs(*assembly, buffer);
  } else if (assembly->panel != 0) {
    emitPacked(*assembly, buffer);
  } else if (assembly->getType().getNumElements() != 0) {
    auto starts = llvm::map_to_vector(assembly->parts, [](const ConstantPart &part) { return part.first; });
    emitStrided(*assembly, starts, 0, buffer);
  }
  return success();
}
