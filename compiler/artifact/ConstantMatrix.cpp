// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of constant matrices: copied from the strided parts, then taken through the stages. A model has hundreds of
// millions of weights, so inner loops go along what lies together and hold no branches.

#include "compiler/artifact/ConstantMatrix.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace heddle;
using namespace mlir;

// Floats are used as they lie in the file.
static_assert(llvm::endianness::native == llvm::endianness::little);

using Kind = ElementStage::Kind;

//===----------------------------------------------------------------------===//
// Copying
//===----------------------------------------------------------------------===//

/// |from|'s rows are |rowStride| bytes apart, its columns |columnStride|; |to|'s rows |rowElements| elements.
template <typename T>
static void copyElements(const uint8_t *from, int64_t rowStride, int64_t columnStride, int64_t rows, int64_t columns,
                         T *to, int64_t rowElements) {
  if (columnStride == sizeof(T)) {
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(to + i * rowElements, from + i * rowStride, columns * sizeof(T));
    return;
  }
  // Of a transposed matrix the rows lie together, and the block is small: it is filled column by column.
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      std::memcpy(to + i * rowElements + j, from + j * columnStride + i * rowStride, sizeof(T));
}

/// Each of two codes in a byte to a byte of its own.
static void copyCodes(const ConstantPart &part, int64_t first, MatrixRange range, int8_t *to, int64_t rowElements) {
  for (int64_t i = 0; i < range.rows; ++i)
    for (int64_t j = 0; j < range.columns; ++j) {
      int64_t element = first + i * part.strides[0] + j * part.strides[1];
      to[i * rowElements + j] = llvm::SignExtend32<4>(part.bytes[element / 2] >> (element % 2 * 4));
    }
}

static void copyBlock(const ConstantPart &part, MatrixRange range, unsigned bits, void *to, int64_t rowElements) {
  int64_t first = part.first + range.row * part.strides[0] + range.column * part.strides[1], bytes = bits / 8;
  auto copy = [&](auto *typed) {
    copyElements(part.bytes.data() + first * bytes, part.strides[0] * bytes, part.strides[1] * bytes, range.rows,
                 range.columns, typed, rowElements);
  };
  switch (bits) {
  case 4:
    return copyCodes(part, first, range, static_cast<int8_t *>(to), rowElements);
  case 8:
    return copy(static_cast<uint8_t *>(to));
  case 16:
    return copy(static_cast<uint16_t *>(to));
  case 32:
    return copy(static_cast<uint32_t *>(to));
  default:
    return copy(static_cast<uint64_t *>(to));
  }
}

//===----------------------------------------------------------------------===//
// MatrixReader
//===----------------------------------------------------------------------===//

MatrixReader::MatrixReader(const ConstantAssembly &matrix)
    : matrix(matrix), elementBytes(llvm::divideCeil(matrix.elementType.getIntOrFloatBitWidth(), 8)) {}

void MatrixReader::gather(MatrixRange range) {
  int64_t partBytes = llvm::divideCeil(matrix.partBits, 8);
  elements.resize(llvm::divideCeil(range.rows * range.columns * partBytes, sizeof(float)));
  auto *bytes = reinterpret_cast<uint8_t *>(elements.data());
  bool isBeside = matrix.axis == 1; // else parts lie below each other
  int64_t begin = isBeside ? range.column : range.row, left = isBeside ? range.columns : range.rows, done = 0;
  for (const ConstantPart &part : matrix.parts) {
    int64_t extent = part.dims[matrix.axis];
    if (begin >= extent) {
      begin -= extent;
      continue;
    }
    int64_t count = std::min(left, extent - begin);
    MatrixRange piece = isBeside ? MatrixRange{range.row, range.rows, begin, count}
                                 : MatrixRange{begin, count, range.column, range.columns};
    copyBlock(part, piece, matrix.partBits, bytes + done * partBytes * (isBeside ? 1 : range.columns), range.columns);
    begin = 0;
    done += count;
    left -= count;
    if (left == 0)
      return;
  }
}

/// The factors of neighbours in row |row|.
static void fillFactors(const ChannelFactors &factors, int64_t row, int64_t column, MutableArrayRef<float> to) {
  if (factors.axis == 1) {
    const float *from = factors.values.data() + row / factors.block * factors.channels + column;
    std::copy(from, from + to.size(), to.begin());
    return;
  }
  // One block after the other: a division for each element would take most of the time.
  while (!to.empty()) {
    int64_t block = column / factors.block;
    size_t count = std::min<uint64_t>(to.size(), factors.block - column % factors.block);
    std::fill_n(to.begin(), count, factors.values[block * factors.channels + row]);
    column += count;
    to = to.drop_front(count);
  }
}

void MatrixReader::multiply(const ElementStage &stage, MatrixRange range) {
  factors.resize(range.columns);
  for (int64_t i = 0; i < range.rows; ++i) {
    fillFactors(stage.factors, range.row + i, range.column, factors);
    float *row = elements.data() + i * range.columns;
    for (int64_t j = 0; j < range.columns; ++j)
      row[j] *= factors[j];
  }
}

void MatrixReader::quantize(const ElementStage &stage, MatrixRange range) {
  factors.resize(range.columns);
  codes.resize(range.rows * range.columns);
  bool pairsRows = stage.pairSafe && stage.factors.axis == 1, pairsColumns = stage.pairSafe && !pairsRows;
  for (int64_t i = 0; i < range.rows; ++i) {
    fillFactors(stage.factors, range.row + i, range.column, factors);
    const float *row = elements.data() + i * range.columns;
    int8_t *to = codes.data() + i * range.columns;
    for (int64_t j = 0; j < range.columns; ++j)
      to[j] = nn::getWeightCode(row[j], factors[j], stage.limit);
    if (pairsRows && i % 2 == 1)
      for (int64_t j = 0; j < range.columns; ++j)
        nn::makePairSafe(to[j - range.columns], to[j]);
    if (pairsColumns)
      for (int64_t j = 0; j + 1 < range.columns; j += 2)
        nn::makePairSafe(to[j], to[j + 1]);
  }
}

void MatrixReader::roundToBf16(MatrixRange range) {
  auto *to = reinterpret_cast<uint16_t *>(elements.data());
  for (int64_t i = 0; i < range.rows * range.columns; ++i) {
    uint32_t bits;
    std::memcpy(&bits, &elements[i], sizeof(bits));
    // To even between two; a NaN stays one.
    bool isNan = (bits & 0x7fffffff) > 0x7f800000;
    uint16_t rounded = isNan ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    std::memcpy(to + i, &rounded, sizeof(rounded));
  }
}

/// Begins and ends |begin| .. |begin| + |count| between pairs, as far as |extent| goes.
static void widenToPairs(int64_t &begin, int64_t &count, int64_t extent) {
  int64_t end = std::min(llvm::alignTo(begin + count, 2), static_cast<uint64_t>(extent));
  begin -= begin % 2;
  count = end - begin;
}

MatrixBlock MatrixReader::read(MatrixRange range) {
  MatrixRange whole = range;
  SmallVector<int64_t> dims = matrix.getDims();
  for (const ElementStage &stage : matrix.stages) {
    if (stage.pairSafe && stage.factors.axis == 1)
      widenToPairs(whole.row, whole.rows, dims[0]);
    else if (stage.pairSafe)
      widenToPairs(whole.column, whole.columns, dims[1]);
  }
  gather(whole);
  auto *first = reinterpret_cast<uint8_t *>(elements.data());
  for (const ElementStage &stage : matrix.stages) {
    switch (stage.kind) {
    case Kind::Multiply:
      multiply(stage, whole);
      break;
    case Kind::Quantize:
      quantize(stage, whole);
      first = reinterpret_cast<uint8_t *>(codes.data());
      break;
    case Kind::Flip:
      for (int64_t i = 0; i < whole.rows * whole.columns; ++i)
        first[i] ^= stage.bits;
      break;
    case Kind::Mask:
      for (int64_t i = 0; i < whole.rows * whole.columns; ++i)
        first[i] &= stage.bits;
      break;
    case Kind::RoundToBf16:
      roundToBf16(whole);
      break;
    }
  }
  int64_t rowBytes = whole.columns * elementBytes;
  return {first + (range.row - whole.row) * rowBytes + (range.column - whole.column) * elementBytes, rowBytes};
}

//===----------------------------------------------------------------------===//
// Scales and sums
//===----------------------------------------------------------------------===//

/// Blocks of |matrix| that have an even number of rows, but for the last ones.
static void forEachBlock(const ConstantAssembly &matrix, llvm::function_ref<void(MatrixRange)> visit) {
  // Long enough both ways for lines of cache and of pages, whichever way the source lies.
  constexpr int64_t kRows = 64, kColumns = 512;
  SmallVector<int64_t> dims = matrix.getDims();
  for (int64_t row = 0; row < dims[0]; row += kRows)
    for (int64_t column = 0; column < dims[1]; column += kColumns)
      visit({row, std::min(kRows, dims[0] - row), column, std::min(kColumns, dims[1] - column)});
}

/// |matrix| with |axis| as its columns.
static ConstantAssembly withColumns(const ConstantAssembly &matrix, int64_t axis) {
  ConstantAssembly result = matrix;
  if (axis == 0)
    result.transpose({1, 0});
  return result;
}

ChannelFactors heddle::computeScales(const ConstantAssembly &matrix, int64_t axis, int64_t block, int limit,
                                     bool pairSafe) {
  ConstantAssembly byColumns = withColumns(matrix, axis);
  SmallVector<int64_t> dims = byColumns.getDims();
  int64_t channels = dims[1], blocks = block > dims[0] ? 1 : llvm::divideCeil(dims[0], block);
  std::vector<nn::WeightRange> ranges(blocks * channels);
  MatrixReader reader(byColumns);
  forEachBlock(byColumns, [&](MatrixRange range) {
    MatrixBlock read = reader.read(range);
    for (int64_t i = 0; i < range.rows; ++i) {
      auto *row = reinterpret_cast<const float *>(read.first + i * read.rowBytes);
      nn::WeightRange *to = &ranges[(range.row + i) / block * channels + range.column];
      bool isPair = pairSafe && i + 1 < range.rows;
      for (int64_t j = 0; isPair && j < range.columns; ++j)
        to[j].addPair(row[j], row[range.columns + j]);
      for (int64_t j = 0; !isPair && j < range.columns; ++j)
        to[j].add(row[j]);
      i += isPair; // the second is done
    }
  });
  ChannelFactors scales = {axis, channels, block, {}};
  for (nn::WeightRange range : ranges)
    scales.values.push_back(nn::getWeightScale(range, limit));
  return scales;
}

std::vector<uint32_t> heddle::computeSums(const ConstantAssembly &matrix, int64_t axis) {
  ConstantAssembly byColumns = withColumns(matrix, 1 - axis);
  std::vector<uint32_t> sums(byColumns.getDims()[1]); // modulo 2^32, as products are summed up
  MatrixReader reader(byColumns);
  forEachBlock(byColumns, [&](MatrixRange range) {
    MatrixBlock read = reader.read(range);
    for (int64_t i = 0; i < range.rows; ++i) {
      auto *row = reinterpret_cast<const int8_t *>(read.first + i * read.rowBytes);
      for (int64_t j = 0; j < range.columns; ++j)
        sums[range.column + j] += row[j];
    }
  });
  return sums;
}
