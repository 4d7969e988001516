// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.attention, one query row after the other.

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compiler/reference/KernelLoops.h"

using namespace mlir;

namespace heddle::reference {

namespace {

using Op = kernel::AttentionOp;
using Scalars = KernelLoops::Scalars;

/// One query row: scores (keys), and which of them the mask keeps.
struct Row {
  std::vector<double> scores;
  std::vector<bool> keep;
  bool keepsAny() const { return llvm::is_contained(keep, true); }
};

class Interpreter {
public:
  Interpreter(Op op, KernelLoops &loops) : op(op), loops(loops) {}
  void run();

private:
  std::vector<double> readFactors(unsigned number);
  Row scoreRow(int64_t keys);
  double getWeight(const Row &row, size_t j, double maximum, bool isCoded);
  std::vector<double> weighBlocks(const Row &row, size_t block);
  std::vector<double> weigh(const Row &row, double *lse);
  std::vector<double> changeWeights(const std::vector<double> &probabilities, int64_t keys, double filling);
  double readValue();
  void writeParts(const Row &row);
  void writeRow(Row row);

  Op op;
  KernelLoops &loops;
};

} // namespace

/// The greatest score of a row's keys |begin| to |end| that take part.
static double getGreatest(const Row &row, size_t begin, size_t end) {
  double maximum = -INFINITY;
  for (size_t j = begin; j < end; ++j)
    if (row.keep[j])
      maximum = std::isnan(row.scores[j]) || row.scores[j] > maximum ? row.scores[j] : maximum;
  return maximum;
}

/// Replaces f32 numbers by their codes of 8 bits times the scale: attn.sdpa's qk_int8.
static void quantizeRow(std::vector<double> &row, KernelLoops &loops) {
  float largest = 0;
  bool isFinite = true;
  for (double x : row) {
    isFinite = isFinite && std::isfinite(x);
    largest = std::max(largest, static_cast<float>(std::abs(x)));
  }
  float scale = largest / 127.0F;
  if (scale < std::numeric_limits<float>::min())
    scale = 1;
  const float inverse = 1.0F / scale;
  for (double &x : row) {
    double code = std::nearbyint(loops.roundRoughly(static_cast<float>(x) * inverse));
    x = isFinite ? code * static_cast<double>(scale) : NAN;
  }
}

/// An f32 number as its code of 8 bits times |scale|: attn.sdpa's pv_int8_block.
static double quantizeValue(double value, float scale, KernelLoops &loops) {
  double code = std::nearbyint(loops.roundRoughly(static_cast<float>(value) * (1.0F / scale)));
  return std::isfinite(value) ? std::clamp(code, -127.0, 127.0) * static_cast<double>(scale) : NAN;
}

/// The current row of query or key, input |number|, as it multiplies.
std::vector<double> Interpreter::readFactors(unsigned number) {
  std::vector<double> row;
  loops.forEach({Op::HeadSize}, [&] { row.push_back(loops.readInput(number).number); });
  loops.at(Op::HeadSize) = 0;
  if (op.getQkInt8())
    quantizeRow(row, loops);
  return row;
}

Row Interpreter::scoreRow(int64_t keys) {
  unsigned first = op.getFirstCapture(), inputs = op.getInputs().size();
  double scale = op.getScale() ? op.getScale()->convertToDouble() : loops.readInput(*op.getScaleInput()).number;
  Row row;
  std::vector<double> query = readFactors(0);
  for (loops.at(Op::Key) = 0; loops.at(Op::Key) < keys; ++loops.at(Op::Key)) {
    std::vector<double> key = readFactors(1);
    double dot = std::inner_product(query.begin(), query.end(), key.begin(), 0.0);
    Scalars captures = loops.readInputs(first, inputs), given = {makeScalar(loops.roundSum(scale * dot))};
    given.append(captures);
    row.scores.push_back(loops.run(op.getScore(), given)[0].number);
    row.keep.push_back(loops.run(op.getMask(), captures)[0].integer != 0);
  }
  loops.at(Op::Key) = 0;
  return row;
}

/// exp(score - maximum) of key |j|; with |isCoded| the code of 7 bits that it rounds to.
double Interpreter::getWeight(const Row &row, size_t j, double maximum, bool isCoded) {
  double weight = row.keep[j] && row.scores[j] != -INFINITY ? std::exp(row.scores[j] - maximum) : 0;
  return isCoded ? std::nearbyint(loops.roundRoughly(127 * weight)) : weight;
}

/// The weights (all keys) of a row whose blocks of |block| keys have codes of their own.
std::vector<double> Interpreter::weighBlocks(const Row &row, size_t block) {
  double maximum = getGreatest(row, 0, row.keep.size()), sum = 0;
  std::vector<double> weights(loops.getBound(Op::Key));
  for (size_t begin = 0; begin < row.keep.size(); begin += block) {
    size_t end = std::min(begin + block, row.keep.size());
    double own = getGreatest(row, begin, end), factor = own == -INFINITY ? 0 : std::exp(own - maximum);
    for (size_t j = begin; j < end; ++j) {
      double code = getWeight(row, j, own, /*isCoded=*/true);
      sum += weights[j] = code == 0 ? 0 : code * factor;
    }
  }
  for (double &weight : weights)
    weight /= sum;
  return weights;
}

/// weights (all keys) of a row and its logarithm of the sum; no weights where no key takes part.
std::vector<double> Interpreter::weigh(const Row &row, double *lse) {
  *lse = -INFINITY;
  if (!row.keepsAny())
    return {};
  if (std::optional<uint64_t> block = op.getPvInt8Block())
    return weighBlocks(row, *block);
  double maximum = getGreatest(row, 0, row.keep.size()), sum = 0;
  std::vector<double> weights(loops.getBound(Op::Key));
  for (size_t j = 0; j < row.keep.size(); ++j)
    sum += weights[j] = getWeight(row, j, maximum, /*isCoded=*/false);
  for (size_t j = 0; j < row.keep.size(); ++j)
    weights[j] /= sum;
  *lse = maximum + std::log(sum);
  return weights;
}

/// What the probability region makes of |probabilities|, or of |filling| where there are none, for the first |keys|
/// keys; those behind them weigh 0.
std::vector<double> Interpreter::changeWeights(const std::vector<double> &probabilities, int64_t keys, double filling) {
  std::vector<double> weights(loops.getBound(Op::Key));
  for (int64_t &j = loops.at(Op::Key) = 0; j < keys; ++j) {
    Scalars given = {makeScalar(probabilities.empty() ? filling : probabilities[j])};
    given.append(loops.readInputs(op.getFirstCapture(), op.getInputs().size()));
    weights[j] = loops.run(op.getProbability(), given)[0].number;
  }
  loops.at(Op::Key) = 0;
  return weights;
}

/// The current element of the value as it multiplies.
double Interpreter::readValue() {
  double value = loops.readInput(2).number;
  if (!op.getPvInt8Block())
    return value;
  return quantizeValue(value, static_cast<float>(loops.readInput(*op.getValueScaleInput()).number), loops);
}

/// The state of |row| for each part, written to the result: sums of weights times values, maximum, sum.
void Interpreter::writeParts(const Row &row) {
  int64_t size = *op.getPartSize(), columns = loops.getBound(Op::ValueSize), keys = row.keep.size();
  for (int64_t part = 0; part < loops.getResultDims(0)[0]; ++part) {
    double maximum = -std::numeric_limits<float>::max(), sum = 0;
    int64_t begin = std::min(part * size, keys), end = std::min(begin + size, keys);
    for (int64_t j = begin; j < end; ++j)
      maximum = row.keep[j] ? std::max(maximum, row.scores[j]) : maximum;
    std::vector<double> sums(columns, 0.0);
    for (int64_t j = begin; j < end; ++j) {
      double weight = getWeight(row, j, maximum, op.getPvInt8Block().has_value());
      sum += weight;
      for (int64_t e = 0; e < columns && weight != 0; ++e) {
        loops.at(Op::Key) = j, loops.at(Op::ValueSize) = e;
        sums[e] += weight * readValue();
      }
    }
    sums.push_back(maximum);
    sums.push_back(sum);
    loops.at(Op::Key) = part;
    for (int64_t &e = loops.at(Op::ValueSize) = 0; e < columns + 2; ++e)
      loops.write(0, makeScalar(loops.roundSum(sums[e])));
    loops.at(Op::Key) = loops.at(Op::ValueSize) = 0;
  }
}

void Interpreter::writeRow(Row row) {
  // Without the mask region a row that keeps no key would see them all.
  if (op.getFullyMasked() == "literal" && !row.keepsAny())
    row.keep.assign(row.keep.size(), true);
  double lse, filling = op.getFullyMasked() == "nan" ? NAN : 0.0;
  std::vector<double> probabilities = weigh(row, &lse), weights = probabilities;
  bool hasRegion = !op.getProbability().empty();
  if (hasRegion)
    weights = changeWeights(probabilities, row.keep.size(), filling);
  // out (value head size) = weights (keys) @ value (keys, value head size); a weight of 0 reads nothing
  loops.forEach({Op::ValueSize}, [&] {
    double sum = weights.empty() && !hasRegion ? filling : 0;
    loops.forEach({Op::Key}, [&] {
      double weight = weights.empty() ? 0 : weights[loops.at(Op::Key)];
      if (weight != 0)
        sum += weight * readValue();
    });
    loops.at(Op::Key) = 0;
    loops.write(0, makeScalar(loops.roundSum(sum)));
  });
  loops.at(Op::ValueSize) = 0;
  if (op.getHasLse())
    loops.write(1, makeScalar(loops.roundSum(lse)));
  if (op.getHasProbabilities())
    loops.forEach({Op::Key}, [&] {
      double probability = probabilities.empty() ? filling : probabilities[loops.at(Op::Key)];
      loops.write(1 + op.getHasLse(), makeScalar(loops.roundSum(probability)));
    });
  loops.at(Op::Key) = 0;
}

void Interpreter::run() {
  loops.forEachTask(
      {Op::Batch, Op::KeyHead, Op::QueryHead, Op::Row},
      [&] {
        int64_t keys = loops.getBound(Op::Key);
        if (std::optional<unsigned> input = op.getKvLenInput())
          keys = std::clamp<int64_t>(loops.readInput(*input).integer, 0, keys);
        Row row = scoreRow(keys);
        if (op.getGivesParts())
          return writeParts(row);
        writeRow(std::move(row));
      },
      loops.getBound(Op::Key) * (loops.getBound(Op::HeadSize) + loops.getBound(Op::ValueSize)) + 1);
}

void interpretAttention(kernel::AttentionOp op, KernelLoops &loops) { Interpreter(op, loops).run(); }

} // namespace heddle::reference
