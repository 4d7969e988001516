// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares all elements of constants with the form that the first ones suggest.

#include "compiler/transforms/fusion/ConstantForms.h"

#include "dialects/nn/ConstantData.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace heddle;
using namespace heddle::attn;

//===------------------------------------------------------------------------------------------------------------===//
// Sequences
//===------------------------------------------------------------------------------------------------------------===//

static std::optional<AffineSequence> findSequence(nn::ConstantOp op) {
  RankedTensorType type = op.getType();
  Type element = type.getElementType();
  if (!element.isSignlessInteger(32) && !element.isSignlessInteger(64))
    return std::nullopt;
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(op);
  if (failed(data) || data->getNumElements() == 0)
    return std::nullopt;
  // Expressions are computed in 64 bits, the model's in its own type: numbers are left room to be added in both.
  int64_t limit = int64_t(1) << std::min<unsigned>(element.getIntOrFloatBitWidth() - 2, 40);
  auto isSmall = [&](int64_t value) { return value > -limit && value < limit; };
  AffineSequence sequence{data->getInt(0), {}};
  if (!isSmall(sequence.offset))
    return std::nullopt;
  ArrayRef<int64_t> shape = type.getShape();
  int64_t stride = data->getNumElements();
  for (int64_t extent : shape) {
    stride /= extent;
    int64_t next = extent > 1 ? data->getInt(stride) : sequence.offset;
    if (!isSmall(next))
      return std::nullopt;
    sequence.factors.push_back(next - sequence.offset);
  }
  SmallVector<int64_t> place(shape.size(), 0);
  int64_t expected = sequence.offset;
  for (int64_t i = 0; i < data->getNumElements(); ++i) {
    if (data->getInt(i) != expected || !isSmall(expected))
      return std::nullopt;
    for (unsigned d = shape.size(); d-- > 0;) {
      expected += sequence.factors[d];
      if (++place[d] < shape[d])
        break;
      expected -= sequence.factors[d] * shape[d];
      place[d] = 0;
    }
  }
  return sequence;
}

const std::optional<AffineSequence> &ConstantForms::getSequence(nn::ConstantOp op) {
  auto [it, isNew] = sequences.try_emplace(op);
  if (isNew)
    it->second = findSequence(op);
  return it->second;
}

//===------------------------------------------------------------------------------------------------------------===//
// Bands
//===------------------------------------------------------------------------------------------------------------===//

namespace {
/// A constant as planes of its last two dimensions.
struct Planes {
  const uint8_t *bytes;
  int64_t count, rows, columns, width;

  const uint8_t *at(int64_t plane, int64_t row, int64_t column) const {
    return bytes + ((plane * rows + row) * columns + column) * width;
  }
  /// Where in plane 0 the diagonal of |distance| = column - row starts.
  const uint8_t *atDiagonal(int64_t distance) const { return distance >= 0 ? at(0, 0, distance) : at(0, -distance, 0); }
};
} // namespace

/// True if all planes are equal and each diagonal of them has one value.
static bool hasConstantDiagonals(const Planes &planes) {
  for (int64_t row = 1; row < planes.rows; ++row)
    if (std::memcmp(planes.at(0, row - 1, 0), planes.at(0, row, 0) + planes.width,
                    (planes.columns - 1) * planes.width) != 0)
      return false;
  for (int64_t plane = 1; plane < planes.count; ++plane)
    if (std::memcmp(planes.at(0, 0, 0), planes.at(plane, 0, 0), planes.rows * planes.columns * planes.width) != 0)
      return false;
  return true;
}

static std::optional<DiagonalBand> findBand(nn::ConstantOp op) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  Type element = op.getType().getElementType();
  // Two 4-bit integers share a byte, and no mask is stored so.
  if (shape.empty() || !element.isIntOrFloat() || element.getIntOrFloatBitWidth() == 4)
    return std::nullopt;
  FailureOr<nn::ConstantData> data = nn::ConstantData::get(op);
  if (failed(data) || data->getNumElements() == 0)
    return std::nullopt;
  int64_t columns = shape.back(), rows = shape.size() > 1 ? shape[shape.size() - 2] : 1;
  Planes planes{data->getBytes().data(), data->getNumElements() / (rows * columns), rows, columns,
                static_cast<int64_t>(data->getBytes().size()) / data->getNumElements()};
  if (!hasConstantDiagonals(planes))
    return std::nullopt;
  // Diagonals at which another value starts than that of the one before.
  SmallVector<int64_t, 3> starts;
  for (int64_t distance = 2 - rows; distance < columns && starts.size() < 3; ++distance)
    if (std::memcmp(planes.atDiagonal(distance - 1), planes.atDiagonal(distance), planes.width) != 0)
      starts.push_back(distance);
  if (starts.empty() || starts.size() > 2)
    return std::nullopt;
  auto valueAt = [&](int64_t distance) { return data->getDouble(distance >= 0 ? distance : -distance * columns); };
  double below = valueAt(1 - rows), next = valueAt(starts.front()), above = valueAt(columns - 1);
  // Integers that a double can't tell apart are codes of something else; a NaN equals nothing.
  constexpr double kExact = int64_t(1) << 53;
  bool areNumbers = !std::isnan(below) && !std::isnan(next) && below != next &&
                    (isa<FloatType>(element) || (std::fabs(below) < kExact && std::fabs(next) < kExact));
  if (!areNumbers)
    return std::nullopt;
  if (starts.size() == 1)
    return DiagonalBand{std::nullopt, starts[0] - 1, below, next};
  if (above != below)
    return std::nullopt;
  return DiagonalBand{starts[0], starts[1] - 1, next, below};
}

const std::optional<DiagonalBand> &ConstantForms::getBand(nn::ConstantOp op) {
  auto [it, isNew] = bands.try_emplace(op);
  if (isNew)
    it->second = findBand(op);
  return it->second;
}
