// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constant matrices read block by block, so that no whole one is ever held, and what is computed of all their elements.
// Private to this room.

#ifndef HEDDLE_COMPILER_ARTIFACT_CONSTANTMATRIX_H
#define HEDDLE_COMPILER_ARTIFACT_CONSTANTMATRIX_H

#include "compiler/artifact/ConstantAssembly.h"

namespace heddle {

/// Rows |row| to |row| + |rows| of columns |column| to |column| + |columns|.
struct MatrixRange {
  int64_t row, rows;
  int64_t column, columns;
};

/// Elements row by row, each of MatrixReader::getElementBytes() bytes.
struct MatrixBlock {
  const uint8_t *first;
  /// From a row to the next.
  int64_t rowBytes;
};

/// Reads a matrix before packing. Keeps |matrix|, which must outlive it.
class MatrixReader {
public:
  explicit MatrixReader(const ConstantAssembly &matrix);

  /// A code of 4 bits takes a byte.
  int64_t getElementBytes() const { return elementBytes; }

  /// |range| must lie within the matrix. The block is valid until the next call.
  MatrixBlock read(MatrixRange range);

private:
  void gather(MatrixRange range);
  void multiply(const ElementStage &stage, MatrixRange range);
  void quantize(const ElementStage &stage, MatrixRange range);
  void roundToBf16(MatrixRange range);

  const ConstantAssembly &matrix;
  int64_t elementBytes;
  /// What is read before it becomes codes; whatever its type, aligned for floats.
  std::vector<float> elements;
  std::vector<int8_t> codes;
  std::vector<float> factors;
};

/// The scales of |matrix|, which is of f32, for codes from -|limit| to |limit|: by the rule of nn.quantize_weight.
/// |block| as ChannelFactors has it.
ChannelFactors computeScales(const ConstantAssembly &matrix, int64_t axis, int64_t block, int limit, bool pairSafe);

/// The sums of |matrix|, which is of i8, along |axis|, modulo 2^32.
std::vector<uint32_t> computeSums(const ConstantAssembly &matrix, int64_t axis);

} // namespace heddle

#endif // HEDDLE_COMPILER_ARTIFACT_CONSTANTMATRIX_H
