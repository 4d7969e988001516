// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Walks the parts of a constant in the order of its result. So constants of any size go through without being held.

#include "compiler/artifact/ConstantStream.h"

#include "compiler/artifact/ConstantMatrix.h"
#include "compiler/artifact/GeneratedConstant.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

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

/// Dimension |dim| and those behind it of one part, from element |from| on.
static void emitPart(const ConstantPart &part, int64_t elementBytes, size_t dim, int64_t from, RunBuffer &buffer) {
  if (dim + 1 >= part.dims.size()) {
    bool isScalar = dim == part.dims.size();
    buffer.append(part.bytes.data() + from * elementBytes, isScalar ? 1 : part.dims[dim], elementBytes,
                  isScalar ? elementBytes : part.strides[dim] * elementBytes);
    return;
  }
  for (int64_t i = 0; i < part.dims[dim]; ++i)
    emitPart(part, elementBytes, dim + 1, from + i * part.strides[dim], buffer);
}

/// In row-major order: down to the axis that the parts share, the loops go round all of them.
static void emitStrided(const ConstantAssembly &assembly, ArrayRef<int64_t> from, int64_t dim, RunBuffer &buffer) {
  if (dim == assembly.axis || assembly.parts.size() == 1) {
    for (auto [part, start] : llvm::zip(assembly.parts, from))
      emitPart(part, assembly.partBits / 8, dim, start, buffer);
    return;
  }
  SmallVector<int64_t> next(from);
  for (int64_t i = 0; i < assembly.parts.front().dims[dim]; ++i) {
    emitStrided(assembly, next, dim + 1, buffer);
    for (auto [part, start] : llvm::zip(assembly.parts, next))
      start += part.strides[dim];
  }
}

/// Row by row, what the stages make of the elements.
static void emitRows(const ConstantAssembly &matrix, RunBuffer &buffer) {
  constexpr int64_t kBlockElements = 1 << 16;
  SmallVector<int64_t> dims = matrix.getDims();
  // An even number: pairs of rows belong together.
  int64_t rows = llvm::alignTo(std::max<int64_t>(kBlockElements / std::max<int64_t>(dims[1], 1), 1), 2);
  MatrixReader reader(matrix);
  for (int64_t row = 0; row < dims[0]; row += rows) {
    int64_t count = std::min(rows, dims[0] - row);
    MatrixBlock block = reader.read({row, count, 0, dims[1]});
    for (int64_t i = 0; i < count; ++i)
      buffer.append(block.first + i * block.rowBytes, dims[1], reader.getElementBytes(), reader.getElementBytes());
  }
}

/// |block| as |group| rows side by side: element (i, j) at [i / group, j, i % group], |to|'s rows |columns| wide.
template <typename T>
static void interleave(MatrixBlock block, MatrixRange range, int64_t columns, int64_t group, T *to) {
  for (int64_t i = 0; i < range.rows; ++i) {
    const uint8_t *from = block.first + i * block.rowBytes;
    T *row = to + i / group * columns * group + i % group;
    for (int64_t j = 0; j < range.columns; ++j)
      std::memcpy(row + j * group, from + j * sizeof(T), sizeof(T));
  }
}

/// Two codes of a column to a byte, 8 more than they are.
static void interleaveNibbles(MatrixBlock block, MatrixRange range, int64_t columns, uint8_t *to) {
  for (int64_t i = 0; i < range.rows; ++i) {
    auto *from = reinterpret_cast<const int8_t *>(block.first + i * block.rowBytes);
    for (int64_t j = 0; j < range.columns; ++j)
      // What was there stands for 0.
      to[i / 2 * columns + j] ^= (from[j] & 15) << (i % 2 * 4);
  }
}

/// Panel after panel, each in pieces of a few rows.
static void emitPanels(const ConstantAssembly &matrix, RunBuffer &buffer) {
  constexpr int64_t kRows = 64; // a multiple of every group, and of pairs
  auto [columns, group] = *matrix.panels;
  bool areNibbles = matrix.elementType.isSignlessInteger(4);
  SmallVector<int64_t> dims = matrix.getDims();
  MatrixReader reader(matrix);
  std::vector<uint64_t> piece; // aligned for every element
  for (int64_t first = 0; first < dims[1]; first += columns)
    for (int64_t row = 0; row < dims[0]; row += kRows) {
      MatrixRange range = {row, std::min(kRows, dims[0] - row), first, std::min(columns, dims[1] - first)};
      int64_t bytes =
          llvm::divideCeil(range.rows, group) * columns * (areNibbles ? 1 : group * reader.getElementBytes());
      // Beyond the matrix are zeros.
      piece.assign(llvm::divideCeil(bytes, sizeof(uint64_t)), areNibbles ? 0x8888888888888888 : 0);
      MatrixBlock block = reader.read(range);
      if (areNibbles)
        interleaveNibbles(block, range, columns, reinterpret_cast<uint8_t *>(piece.data()));
      else if (reader.getElementBytes() == 1)
        interleave(block, range, columns, group, reinterpret_cast<uint8_t *>(piece.data()));
      else if (reader.getElementBytes() == 2)
        interleave(block, range, columns, group, reinterpret_cast<uint16_t *>(piece.data()));
      else if (reader.getElementBytes() == 4)
        interleave(block, range, columns, group, reinterpret_cast<uint32_t *>(piece.data()));
      else
        interleave(block, range, columns, group, piece.data());
      buffer.append(reinterpret_cast<uint8_t *>(piece.data()), bytes, 1, 1);
    }
}

LogicalResult heddle::streamConstant(rt::ConstantOp constant, ByteSink sink) {
  auto made = dyn_cast<DictionaryAttr>(constant.getSource());
  if (made && constant.getRecipe().empty())
    return streamGenerated(constant, made, sink);
  FailureOr<ConstantAssembly> assembly = assembleConstant(constant);
  if (failed(assembly))
    return failure();
  if (constant.getRecipe().empty()) {
    sink(assembly->parts.front().bytes); // elements of less than a byte as well
    return success();
  }
  RunBuffer buffer(sink);
  if (assembly->panels) {
    emitPanels(*assembly, buffer);
  } else if (!assembly->stages.empty()) {
    emitRows(*assembly, buffer);
  } else if (assembly->getType().getNumElements() != 0) {
    auto starts = llvm::map_to_vector(assembly->parts, [](const ConstantPart &part) { return part.first; });
    emitStrided(*assembly, starts, 0, buffer);
  }
  return success();
}
