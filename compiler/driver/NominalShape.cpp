// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An interpreter of shape functions, forgiving where the runtime's is strict: it serves estimates only.

#include "compiler/driver/NominalShape.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace heddle;

static constexpr int64_t kNominalBatch = 1, kNominalLength = 128;

llvm::StringRef heddle::describeNominalShape() { return "first dynamic dimension 1, others 128"; }

static int64_t nominalDim(rt::FuncOp entry, int64_t input, int64_t dim) {
  auto dims = cast<DictionaryAttr>(entry.getInputs()[input]).getAs<ArrayAttr>("dims");
  if (auto fixed = dyn_cast<IntegerAttr>(dims[dim]))
    return fixed.getInt();
  bool isFirst = llvm::none_of(dims.getValue().take_front(dim), [](Attribute attr) { return isa<StringAttr>(attr); });
  return isFirst ? kNominalBatch : kNominalLength;
}

static int64_t evaluateArith(rt::ShapeKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case rt::ShapeKind::Add:
    return a + b;
  case rt::ShapeKind::Sub:
    return a - b;
  case rt::ShapeKind::Mul:
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  case rt::ShapeKind::FloorDiv:
    return b ? llvm::divideFloorSigned(a, b) : 0;
  case rt::ShapeKind::CeilDiv:
    return b ? llvm::divideCeilSigned(a, b) : 0;
  case rt::ShapeKind::Mod:
    return b ? a - llvm::divideFloorSigned(a, b) * b : 0;
  case rt::ShapeKind::Min:
    return std::min(a, b);
  case rt::ShapeKind::Max:
    return std::max(a, b);
  case rt::ShapeKind::Equal:
    return a == b;
  case rt::ShapeKind::Less:
    return a < b;
  }
  return 0;
}

llvm::DenseMap<Value, int64_t> heddle::evaluateNominalSizes(rt::FuncOp entry) {
  llvm::DenseMap<Value, int64_t> values;
  auto at = [&](Value value) { return values.lookup(value); };
  for (auto shapeFunc : entry.getBody().getOps<rt::ShapeFuncOp>())
    for (Operation &op : shapeFunc.getBody().front())
      llvm::TypeSwitch<Operation *>(&op)
          .Case([&](rt::ShapeConstantOp c) { values[c.getResult()] = c.getValue(); })
          .Case([&](rt::InputDimOp d) { values[d.getResult()] = nominalDim(entry, d.getInput(), d.getDim()); })
          .Case([&](rt::ShapeArithOp a) {
            values[a.getResult()] = evaluateArith(a.getKind(), at(a.getLhs()), at(a.getRhs()));
          })
          .Case([&](rt::ShapeSelectOp s) {
            values[s.getResult()] = at(s.getCondition()) ? at(s.getOnTrue()) : at(s.getOnFalse());
          })
          .Case([&](rt::YieldOp yield) {
            for (auto [result, operand] : llvm::zip(shapeFunc.getResults(), yield.getOperands()))
              values[result] = at(operand);
          });
  return values;
}
