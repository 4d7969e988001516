// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Index maps, regions with captures, and the scores of a query row.

#include "compiler/reference/AttentionRows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/reference/Indexing.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

constexpr std::array<const char *, 5> kDimensionNames = {"batch", "head", "query", "key", "head size"};

// The value of |expr| for dimensions |place|; division by zero, which a map may write, gives 0.
int64_t evaluateExpr(AffineExpr expr, const Place &place) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return place[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return 0;
  int64_t lhs = evaluateExpr(binary.getLHS(), place), rhs = evaluateExpr(binary.getRHS(), place);
  int64_t quotient = rhs == 0 ? 0 : lhs / rhs, rest = rhs == 0 ? 0 : lhs % rhs;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::Mod:
    return rest < 0 ? rest + std::abs(rhs) : rest;
  case AffineExprKind::FloorDiv:
    return rest != 0 && (lhs < 0) != (rhs < 0) ? quotient - 1 : quotient;
  case AffineExprKind::CeilDiv:
    return rest != 0 && (lhs < 0) == (rhs < 0) ? quotient + 1 : quotient;
  default:
    return 0;
  }
}

// (codes - zero point) * scale of a quantised tensor, or the elements of a float one.
llvm::Expected<std::vector<double>> dequantize(const HostTensor &tensor, const HostTensor *scale,
                                               const HostTensor *zeroPoint) {
  std::vector<double> values;
  tensor.visit([&](auto elements) { values.assign(elements.begin(), elements.end()); });
  for (const HostTensor *parameter : {zeroPoint, scale}) {
    if (!parameter)
      continue;
    llvm::Expected<Dims> dims = broadcastDims(parameter->getDims(), tensor.getDims());
    if (!dims || ArrayRef<int64_t>(*dims) != tensor.getDims()) {
      llvm::consumeError(dims.takeError());
      return makeError("expects scales and zero points that broadcast onto " + toString(tensor.getDims()) + ", got " +
                       toString(parameter->getDims()));
    }
    broadcastTo(*parameter, tensor.getDims()).visit([&](auto elements) {
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = parameter == scale ? values[i] * elements[i] : values[i] - elements[i];
    });
  }
  return values;
}

} // namespace

llvm::Expected<MappedLayout> MappedLayout::create(AffineMap map, ArrayRef<int64_t> dims) {
  if (map.getNumDims() != 5 || map.getNumSymbols() != 0 || !map.isProjectedPermutation() ||
      map.getNumResults() != dims.size())
    return makeError("expects an index map from (b, n, q, kv, d) to the tensor's dimensions");
  MappedLayout layout;
  Dims strides = getStrides(dims);
  for (unsigned i = 0; i < dims.size(); ++i) {
    layout.strides[map.getDimPosition(i)] = strides[i];
    layout.extents[map.getDimPosition(i)] = dims[i];
  }
  return layout;
}

Dims getMappedDims(AffineMap map, const Place &extents) {
  Dims dims;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    dims.push_back(extents[map.getDimPosition(i)]);
  return dims;
}

llvm::Expected<CapturingRegion> CapturingRegion::create(Region &region, ArrayRef<const HostTensor *> captures,
                                                        ArrayRef<AffineMap> maps) {
  CapturingRegion result;
  if (region.empty())
    return result;
  llvm::Expected<ScalarRegion> translated = ScalarRegion::create(region.front());
  if (!translated)
    return translated.takeError();
  result.slots = translated->makeSlots();
  result.region = std::move(*translated);
  result.captures = captures;
  result.maps.assign(maps.begin(), maps.end());
  return result;
}

llvm::Expected<Scalar> CapturingRegion::run(ArrayRef<Scalar> leading, const Place &place) {
  llvm::copy(leading, slots.begin());
  size_t next = leading.size();
  for (auto [capture, map] : llvm::zip_equal(captures, maps)) {
    int64_t offset = 0;
    for (auto [expr, dim] : llvm::zip_equal(map.getResults(), capture->getDims())) {
      int64_t index = evaluateExpr(expr, place);
      if (index < 0 || index >= dim)
        return makeError("expects captures that have an element for every query and key, got shape " +
                         toString(capture->getDims()) + " read at query " + Twine(place[attn::kQuery]) + ", key " +
                         Twine(place[attn::kKey]));
      offset = offset * dim + index;
    }
    slots[next++] =
        capture->isFloat() ? makeScalar(capture->getFloats()[offset]) : makeScalar(capture->getInts()[offset]);
  }
  region->run(slots);
  return region->getResult(slots);
}

llvm::Expected<AttentionRows::Mapped> AttentionRows::createMapped(const HostTensor &tensor, AffineMap map,
                                                                  const HostTensor *scale,
                                                                  const HostTensor *zeroPoint) {
  llvm::Expected<MappedLayout> layout = MappedLayout::create(map, tensor.getDims());
  if (!layout)
    return layout.takeError();
  llvm::Expected<std::vector<double>> elements = dequantize(tensor, scale, zeroPoint);
  if (!elements)
    return elements.takeError();
  return Mapped{std::move(*elements), *layout};
}

llvm::Expected<AttentionRows> AttentionRows::create(attn::AttentionInterface op, std::optional<double> scale,
                                                    const AttentionInputs &inputs) {
  llvm::Expected<CapturingRegion> score =
      CapturingRegion::create(op.getScore(), inputs.scoreCaptures, op.getScoreCaptureMapList());
  if (!score)
    return score.takeError();
  llvm::Expected<CapturingRegion> mask =
      CapturingRegion::create(op.getMask(), inputs.maskCaptures, op.getMaskCaptureMapList());
  if (!mask)
    return mask.takeError();
  AttentionRows rows(std::move(*score), std::move(*mask));
  rows.inputs = inputs;
  rows.scale = scale ? *scale : inputs.scale ? inputs.scale->getFloats()[0] : 1.0;

  auto assign = [](Mapped &to, llvm::Expected<Mapped> from) {
    if (from)
      to = std::move(*from);
    return from.takeError();
  };
  if (llvm::Error error = assign(
          rows.query, createMapped(*inputs.query, op.getQueryMapOrDefault(), inputs.queryScale, inputs.queryZeroPoint)))
    return error;
  if (llvm::Error error =
          assign(rows.key, createMapped(*inputs.key, op.getKeyMapOrDefault(), inputs.keyScale, inputs.keyZeroPoint)))
    return error;
  auto sdpa = dyn_cast<attn::SdpaOp>(op.getOperation());
  bool codesValues = sdpa && sdpa.getPvInt8Block();
  if (llvm::Error error =
          assign(rows.value, createMapped(*inputs.value, op.getValueMapOrDefault(),
                                          codesValues ? nullptr : inputs.valueScale, inputs.valueZeroPoint)))
    return error;
  if (llvm::Error error = rows.checkExtents(op))
    return error;
  if (sdpa && sdpa.getQkInt8()) {
    quantizeRows(rows.query);
    quantizeRows(rows.key);
  }
  if (codesValues)
    if (llvm::Error error = quantizeValues(rows.value, inputs.value->getDims(), *inputs.valueScale))
      return error;
  return rows;
}

llvm::Error AttentionRows::quantizeValues(Mapped &tensor, ArrayRef<int64_t> dims, const HostTensor &scale) {
  llvm::Expected<Dims> joined = broadcastDims(scale.getDims(), dims);
  if (!joined)
    return joined.takeError();
  if (ArrayRef<int64_t>(*joined) != dims)
    return makeError("expects a value_scale that broadcasts onto " + toString(dims) + ", got " +
                     toString(scale.getDims()));
  HostTensor scales = broadcastTo(scale, dims);
  for (auto [element, number] : llvm::zip_equal(tensor.elements, scales.getFloats())) {
    auto step = static_cast<float>(number);
    float code = std::nearbyint(static_cast<float>(element) * (1.0F / step));
    element = std::isfinite(element) ? std::clamp(code, -127.0F, 127.0F) * double(step) : NAN;
  }
  return llvm::Error::success();
}

void AttentionRows::quantizeRows(Mapped &tensor) {
  int64_t size = tensor.layout.extents[attn::kHeadSize], stride = tensor.layout.strides[attn::kHeadSize];
  // Elements whose place along the head size is 0 start a row.
  for (int64_t start = 0; start < int64_t(tensor.elements.size()); ++start) {
    if (start / stride % size != 0)
      continue;
    float largest = 0;
    for (int64_t d = 0; d < size; ++d) {
      auto magnitude = static_cast<float>(std::abs(tensor.elements[start + d * stride]));
      largest = std::isnan(magnitude) || magnitude > largest ? magnitude : largest;
      if (std::isnan(largest))
        break;
    }
    float scale = largest / 127.0F;
    scale = scale < std::numeric_limits<float>::min() ? 1.0F : scale;
    float inverse = 1.0F / scale;
    for (int64_t d = 0; d < size; ++d) {
      double &element = tensor.elements[start + d * stride];
      element = std::isfinite(largest) ? std::nearbyint(static_cast<float>(element) * inverse) * double(scale) : NAN;
    }
  }
}

llvm::Error AttentionRows::checkExtents(attn::AttentionInterface op) {
  // The number that all tensors having the dimension agree on.
  auto agree = [&](attn::Dimension dimension, std::initializer_list<const Mapped *> tensors,
                   int64_t &extent) -> llvm::Error {
    for (const Mapped *tensor : tensors) {
      int64_t own = tensor->layout.extents[dimension];
      if (own >= 0 && extent >= 0 && own != extent)
        return makeError("expects equal extents of dimension " + Twine(kDimensionNames[dimension]) + ", got " +
                         Twine(extent) + " and " + Twine(own));
      extent = own >= 0 ? own : extent;
    }
    extent = std::max<int64_t>(extent, 0);
    return llvm::Error::success();
  };
  int64_t batch = -1, queryHeads = op.getQNumHeads(), keyHeads = op.getKvNumHeads(), queries = -1, keys = -1,
          valueSize = -1;
  headSize = -1;
  if (keyHeads < 1 || queryHeads % keyHeads != 0)
    return makeError("expects q_num_heads to be a multiple of kv_num_heads, got " + Twine(queryHeads) + " and " +
                     Twine(keyHeads));
  groupSize = queryHeads / keyHeads;
  if (llvm::Error error = agree(attn::kBatch, {&query, &key, &value}, batch))
    return error;
  if (llvm::Error error = agree(attn::kHead, {&query}, queryHeads))
    return error;
  if (llvm::Error error = agree(attn::kHead, {&key, &value}, keyHeads))
    return error;
  if (llvm::Error error = agree(attn::kQuery, {&query}, queries))
    return error;
  if (llvm::Error error = agree(attn::kKey, {&key, &value}, keys))
    return error;
  if (llvm::Error error = agree(attn::kHeadSize, {&query, &key}, headSize))
    return error;
  if (llvm::Error error = agree(attn::kHeadSize, {&value}, valueSize))
    return error;
  extents = {batch, queryHeads, queries, keys, valueSize};
  // Positions are sums of these and rows; no sequence is anywhere near as long.
  for (const HostTensor *offsets : {inputs.qOffset, inputs.kvOffset})
    if (offsets &&
        llvm::any_of(offsets->getInts(), [](int64_t offset) { return offset != static_cast<int32_t>(offset); }))
      return makeError("expects q_offset and kv_offset of 32 bits");
  for (const HostTensor *lengths : {inputs.qOffset, inputs.kvLen})
    if (lengths && lengths->getNumElements() != 1 && lengths->getNumElements() != batch)
      return makeError("expects q_offset and kv_len to have one entry a batch, got shape " +
                       toString(lengths->getDims()) + " for " + Twine(batch));
  return llvm::Error::success();
}

int64_t AttentionRows::getLength(const HostTensor *lengths, int64_t b, int64_t fallback) {
  if (!lengths)
    return fallback;
  return lengths->getInts()[lengths->getNumElements() == 1 ? 0 : b];
}

llvm::Error AttentionRows::computeRow(int64_t b, int64_t n, int64_t q) {
  row = {b, n / groupSize, q, 0, 0};
  queryHead = n;
  position = q + getLength(inputs.qOffset, b, 0);
  int64_t kvOffset = getLength(inputs.kvOffset, 0, 0);
  // Rows of keys below kv_len; both numbers are data, whose difference may not fit 64 bits.
  __int128 valid = static_cast<__int128>(getLength(inputs.kvLen, b, INT64_MAX)) - kvOffset;
  int64_t keys = static_cast<int64_t>(std::clamp<__int128>(valid, 0, extents[attn::kKey]));
  scores.assign(keys, 0);
  keep.assign(keys, true);
  int64_t queryStart = query.layout.getOffset({b, n, q, 0, 0});
  for (int64_t j = 0; j < keys; ++j) {
    // scores (keys) = scale * sum over d of query (b, n, q, d) * key (b, n / group, j, d)
    int64_t keyStart = key.layout.getOffset({b, n / groupSize, 0, j, 0});
    double dot = 0;
    for (int64_t d = 0; d < headSize; ++d)
      dot += query.elements[queryStart + d * query.layout.strides[attn::kHeadSize]] *
             key.elements[keyStart + d * key.layout.strides[attn::kHeadSize]];
    scores[j] = scale * dot;

    // The regions see positions, the captures rows.
    Place place = {b, n, q, j, 0};
    Scalar arguments[] = {makeScalar(scores[j]), makeScalar(b), makeScalar(n), makeScalar(position),
                          makeScalar(j + kvOffset)};
    if (score.isPresent()) {
      llvm::Expected<Scalar> changed = score.run(arguments, place);
      if (!changed)
        return changed.takeError();
      scores[j] = changed->number;
    }
    if (mask.isPresent()) {
      llvm::Expected<Scalar> kept = mask.run(ArrayRef(arguments).drop_front(), place);
      if (!kept)
        return kept.takeError();
      keep[j] = kept->integer != 0;
    }
  }
  return llvm::Error::success();
}

llvm::Error AttentionRows::changeWeights(CapturingRegion &region, std::vector<double> &weights) const {
  Place place = row;
  place[attn::kHead] = queryHead;
  for (size_t j = 0; j < weights.size(); ++j) {
    place[attn::kKey] = static_cast<int64_t>(j);
    Scalar arguments[] = {makeScalar(weights[j]), makeScalar(row[attn::kBatch]), makeScalar(queryHead),
                          makeScalar(position), makeScalar(static_cast<int64_t>(j))};
    llvm::Expected<Scalar> changed = region.run(arguments, place);
    if (!changed)
      return changed.takeError();
    weights[j] = changed->number;
  }
  return llvm::Error::success();
}

void AttentionRows::addValues(ArrayRef<double> weights, double *out) const {
  for (size_t j = 0; j < weights.size(); ++j) {
    // A key that weighs nothing is not read: its value may be anything, a NaN included.
    if (weights[j] == 0)
      continue;
    int64_t start = value.layout.getOffset({row[attn::kBatch], row[attn::kHead], 0, int64_t(j), 0});
    for (int64_t d = 0; d < extents[attn::kHeadSize]; ++d)
      out[d] += weights[j] * value.elements[start + d * value.layout.strides[attn::kHeadSize]];
  }
}

} // namespace heddle::reference
