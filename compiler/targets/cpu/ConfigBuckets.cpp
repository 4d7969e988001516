// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/cpu/ConfigBuckets.h"

#include "compiler/targets/common/EvaluateSizes.h"
#include "compiler/targets/common/KernelSignature.h"
#include "compiler/targets/cpu/WorkShape.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle::cpu {

kernel::LoweringConfigAttr joinBuckets(ArrayRef<ConfigBucket> buckets) {
  kernel::LoweringConfigAttr rest = buckets.back().config;
  Builder b(rest.getContext());
  SmallVector<Attribute> below;
  for (auto [i, bucket] : llvm::enumerate(buckets.drop_back())) {
    if (bucket.config == buckets[i + 1].config)
      continue;
    below.push_back(b.getDictionaryAttr({b.getNamedAttr(config::kMostRows, b.getI64IntegerAttr(bucket.mostRows)),
                                         b.getNamedAttr(config::kBucketConfig, bucket.config.getEntries())}));
  }
  if (below.empty())
    return rest;
  NamedAttrList entries(rest.getEntries());
  entries.set(config::kBuckets, b.getArrayAttr(below));
  return kernel::LoweringConfigAttr::get(b.getContext(), entries.getDictionary(b.getContext()));
}

/// The inverse of joinBuckets.
static FailureOr<SmallVector<ConfigBucket>> splitBuckets(kernel::FuncOp func) {
  auto config = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  if (!config)
    return func.emitOpError("expects kernel.config; run cpu-select-lowering-config first");
  SmallVector<ConfigBucket> buckets;
  MLIRContext *context = func.getContext();
  NamedAttrList entries(config.getEntries());
  Attribute listed = entries.erase(config::kBuckets);
  if (listed && !isa<ArrayAttr>(listed))
    return func.emitOpError("expects the buckets of its config to be a list");
  for (Attribute element : listed ? cast<ArrayAttr>(listed).getValue() : ArrayRef<Attribute>()) {
    auto bucket = dyn_cast<DictionaryAttr>(element);
    auto most = bucket ? bucket.getAs<IntegerAttr>(config::kMostRows) : nullptr;
    auto own = bucket ? bucket.getAs<DictionaryAttr>(config::kBucketConfig) : nullptr;
    int64_t above = buckets.empty() ? 0 : buckets.back().mostRows;
    if (!most || !own || most.getInt() <= above)
      return func.emitOpError("expects each bucket of its config to have most_rows, ascending from 1, and config, got ")
             << element;
    buckets.push_back({most.getInt(), kernel::LoweringConfigAttr::get(context, own)});
  }
  buckets.push_back({INT64_MAX, kernel::LoweringConfigAttr::get(context, entries.getDictionary(context))});
  return buckets;
}

FailureOr<BucketPlans> BucketPlans::create(kernel::FuncOp func) {
  FailureOr<SmallVector<ConfigBucket>> buckets = splitBuckets(func);
  if (failed(buckets))
    return failure();
  BucketPlans result;
  for (const ConfigBucket &bucket : *buckets) {
    FailureOr<KernelPlan> plan = KernelPlan::create(func, bucket.config);
    if (failed(plan))
      return failure();
    result.plans.push_back({bucket.mostRows, std::move(*plan)});
  }
  if (buckets->size() == 1)
    return result;
  FailureOr<AffineMap> rows = getKernelRows(func);
  if (failed(rows))
    return failure();
  if (!*rows)
    return func.emitOpError("expects no buckets in its config: its root has no rows");
  result.rows = rows->getResult(0);
  return result;
}

/// |values|, one a bucket, as one expression: at the last bucket's, and from each bucket down by what it differs.
static AffineExpr selectByRows(const BucketPlans &buckets, ArrayRef<AffineExpr> values) {
  AffineExpr value = values.back();
  for (size_t i = values.size() - 1; i-- > 0;)
    if (values[i] != values[i + 1])
      value = value + isAtMost(buckets.rows, buckets.plans[i].mostRows) * (values[i] - values[i + 1]);
  return value;
}

WorkShape BucketPlans::getWorkShape() const {
  SmallVector<WorkShape> shapes;
  for (const BucketPlan &bucket : plans)
    shapes.push_back(cpu::getWorkShape(bucket.plan));
  auto select = [&](AffineMap WorkShape::*map) {
    SmallVector<AffineExpr> values;
    for (const WorkShape &shape : shapes)
      values.push_back((shape.*map).getResult(0));
    return AffineMap::get(0, (shapes.front().*map).getNumSymbols(), selectByRows(*this, values));
  };
  return {select(&WorkShape::grid), select(&WorkShape::grain), select(&WorkShape::scratch)};
}

kernel::LoweringConfigAttr findConfig(kernel::FuncOp func, ArrayRef<int64_t> sizes) {
  FailureOr<BucketPlans> buckets = BucketPlans::create(func);
  if (failed(buckets) || !buckets->rows)
    return func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  double rows = evaluateSizes(buckets->rows, sizes);
  const BucketPlan *bucket = llvm::find_if(
      buckets->plans, [&](const BucketPlan &bucket) { return rows <= static_cast<double>(bucket.mostRows); });
  return bucket->plan.config;
}

} // namespace heddle::cpu
