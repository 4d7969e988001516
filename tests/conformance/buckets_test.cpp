// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with another config in each bucket of rows give, at each bucket's least and greatest number of rows, the bits
// of the kernel with the table's config alone; so do those with the configs that a search would measure.

#include "compiler/targets/ConfigJson.h"
#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/common/ChooseTuned.h"
#include "compiler/targets/common/KernelSignature.h"
#include "compiler/targets/vulkan/ShaderPlan.h"
#include "tests/conformance/attention_text.h"
#include "tests/conformance/contract_text.h"
#include "tests/conformance/kernel_harness.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace heddle::conformance {
namespace {

/// |config| with |numbers| in place of its own.
DictionaryAttr with(DictionaryAttr config, const std::vector<std::pair<const char *, int64_t>> &numbers) {
  NamedAttrList entries(config);
  for (auto [key, value] : numbers)
    entries.set(key, IntegerAttr::get(IntegerType::get(config.getContext(), 64), value));
  return entries.getDictionary(config.getContext());
}

/// Number |i| of six configs for a CPU that differ from the table's and from one another in all that may.
DictionaryAttr vary_cpu(DictionaryAttr table, int64_t i, bool is_contract) {
  int64_t rows = i + 1, split = i % 2;
  if (!is_contract)
    return with(table, {{"row_tile", rows + 1}, {"block_q", 16 * rows}, {"split_row_tail", split}});
  int64_t few = i % 3;
  return with(table, {{"row_tile", rows},
                      {"column_vectors", 1 + i % 3},
                      {"rows_per_item", rows * (2 + i)},
                      {"groups_per_item", 1 + i % 2},
                      {"few_rows", few},
                      {"few_row_vectors", few == 0 ? 0 : 2 + i % 4},
                      {"split_row_tail", split},
                      {"branch_masks", split},
                      {"prefetch_rows", few},
                      {"grain_work", 1 + i * 1000}});
}

/// The same for Vulkan: other rows of the form that every device runs.
DictionaryAttr vary_vulkan(DictionaryAttr table, int64_t i, bool is_contract) {
  auto variants = table.getAs<ArrayAttr>(vulkan::kVariantsKey).getAsRange<DictionaryAttr>();
  vulkan::Variant variant = vulkan::Variant::fromAttr(*std::next(variants.begin(), llvm::range_size(variants) - 1));
  variant.constants[0] = i + 1;
  variant.tile[is_contract ? 1 : 0] = (i + 1) * (is_contract ? 1 : variant.workgroup[0]);
  return variant.toAttr(table.getContext());
}

/// A config for each bucket of |kernel|, which has the table's.
TunedConfigs vary(kernel::FuncOp kernel, bool is_vulkan) {
  DictionaryAttr table = kernel->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName).getEntries();
  bool is_contract = isa<kernel::ContractOp>(*kernel.getRoot());
  TunedConfigs tuned;
  for (auto [i, bucket] : llvm::enumerate(getRowBuckets())) {
    DictionaryAttr config = is_vulkan ? vary_vulkan(table, i, is_contract) : vary_cpu(table, i, is_contract);
    tuned.set(getKernelSignature(kernel), bucket.name, {configToJson(config), "test.tuning.jsonl", "this device"});
  }
  return tuned;
}

/// Expects |actual| to give, all at once and item by item, the bits of |expected| in kernel |name|.
void expect_same_bits(kernel_module &actual, kernel_module &expected, const std::string &name,
                      const std::vector<int64_t> &sizes, const std::string &where) {
  std::vector<host_tensor> inputs = random_inputs(expected.func(name), sizes, /*seed=*/7);
  kernel_result right = expected.run(name, inputs, sizes);
  for (int64_t items_per_call : {0, 1}) {
    kernel_result given = actual.run(name, inputs, sizes, items_per_call);
    ASSERT_EQ(given.outputs.size(), right.outputs.size());
    for (size_t i = 0; i < given.outputs.size(); ++i)
      EXPECT_TRUE(given.outputs[i].bytes == right.outputs[i].bytes) << where;
  }
}

/// Runs kernel |name| of |text| on |target| with the table's config and with one a bucket.
void check_buckets(const std::string &target, const std::string &text, const std::string &name,
                   llvm::function_ref<std::vector<int64_t>(int64_t rows)> sizes_of) {
  auto plain = kernel_module::compile(text, target);
  ASSERT_TRUE(plain);
  TunedConfigs tuned = vary(plain->func(name), target == "vulkan");
  auto varied = kernel_module::compile(text, target, &tuned);
  ASSERT_TRUE(varied);
  std::vector<TunedUse> uses = getTunedUses(varied->func(name)->getParentOfType<ModuleOp>());
  EXPECT_EQ(uses.size(), getRowBuckets().size());
  for (const TunedUse &use : uses)
    EXPECT_EQ(use.problem, "") << "rows " << use.rows;
  for (int64_t rows : {0, 1, 2, 4, 5, 16, 17, 64, 65, 256, 257})
    expect_same_bits(*varied, *plain, name, sizes_of(rows), target + ", " + std::to_string(rows) + " rows");
}

TEST(Buckets, GiveTheBitsOfOneConfigForProducts) {
  for (const std::string &target : runnable_targets())
    check_buckets(target, packed_product(88, 36), "product", [](int64_t rows) { return std::vector<int64_t>{rows}; });
}

TEST(Buckets, GiveTheBitsOfOneConfigForProductsOfBytes) {
  for (const std::string &target : byte_targets())
    for (const char *attributes : {"", ", pair_safe"})
      check_buckets(target, byte_product(72, 38, attributes), "product",
                    [](int64_t rows) { return std::vector<int64_t>{rows}; });
}

TEST(Buckets, GiveTheBitsOfOneConfigForAttention) {
  attention_text text;
  text.head_size = text.value_size = 16;
  text.mask = kCausal;
  for (const std::string &target : runnable_targets())
    check_buckets(target, text.build(), "attention", [](int64_t rows) { return std::vector<int64_t>{1, rows, 40}; });
}

//===----------------------------------------------------------------------===//
// Configs that a search would measure
//===----------------------------------------------------------------------===//

/// Runs kernel |name| of |text| on |target| with |config| for all numbers of rows beside |plain|.
void check_config(const std::string &target, const std::string &text, kernel_module &plain, const std::string &name,
                  DictionaryAttr config, ArrayRef<std::vector<int64_t>> shapes) {
  TunedConfigs tuned;
  for (const RowBucket &bucket : getRowBuckets())
    tuned.set(getKernelSignature(plain.func(name)), bucket.name,
              {configToJson(config), "test.tuning.jsonl", "this device"});
  auto varied = kernel_module::compile(text, target, &tuned);
  ASSERT_TRUE(varied);
  std::string where = target + ", " + formatConfig(config);
  for (const TunedUse &use : getTunedUses(varied->func(name)->getParentOfType<ModuleOp>()))
    EXPECT_EQ(use.problem, "") << where;
  for (const std::vector<int64_t> &sizes : shapes)
    expect_same_bits(*varied, plain, name, sizes, where + ", rows " + std::to_string(sizes.back()));
}

/// The same for |most| of the configs that are enumerated at the first of |shapes|, from all parts of their order.
void check_candidates(const std::string &target, const std::string &text, const std::string &name, size_t most,
                      ArrayRef<std::vector<int64_t>> shapes) {
  auto plain = kernel_module::compile(text, target);
  ASSERT_TRUE(plain);
  std::unique_ptr<Target> space = llvm::cantFail(parseTarget(llvm::StringRef(target).split(' ').first));
  std::vector<ConfigCandidate> all = space->enumerateConfigs(plain->func(name), shapes.front(), DeviceLimits());
  EXPECT_GT(all.size(), 1u);
  for (size_t i = 1; i < all.size(); i += llvm::divideCeil(all.size(), most))
    check_config(target, text, *plain, name, all[i].config, shapes);
}

/// Tiles of every height, whose tails share rows with a whole tile where they can: all of them, and one row more.
TEST(Configs, OfAnyHeightWriteAllRows) {
  std::string text = packed_product(20, 7);
  for (const std::string &target : runnable_targets()) {
    if (target == "vulkan")
      continue;
    auto plain = kernel_module::compile(text, target);
    ASSERT_TRUE(plain);
    DictionaryAttr table =
        plain->func("product")->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName).getEntries();
    for (int64_t height = 1; height <= 8; ++height) {
      std::vector<std::vector<int64_t>> shapes;
      for (int64_t rows = 1; rows <= 3 * height + 1; ++rows)
        shapes.push_back({rows});
      DictionaryAttr config = with(table, {{"row_tile", height},
                                           {"column_vectors", 1},
                                           {"rows_per_item", 2 * height},
                                           {"groups_per_item", 1 + height % 2},
                                           {"few_rows", 0},
                                           {"few_row_vectors", 0},
                                           {"split_row_tail", 1}});
      check_config(target, text, *plain, "product", config, shapes);
    }
  }
}

TEST(Configs, OfASearchGiveTheBitsOfTheTableForProducts) {
  for (const std::string &target : runnable_targets()) {
    check_candidates(target, packed_product(88, 36), "product", 6, {{9}, {38}, {1}});
    check_candidates(target, packed_product(48, 16), "product", 6, {{2}, {3}});
  }
  for (const std::string &target : byte_targets())
    check_candidates(target, byte_product(72, 38), "product", 4, {{21}, {5}});
}

TEST(Configs, OfASearchGiveTheBitsOfTheTableForAttention) {
  attention_text text;
  text.head_size = text.value_size = 16;
  text.mask = kCausal;
  for (const std::string &target : runnable_targets())
    check_candidates(target, text.build(), "attention", 3, {{1, 21, 40}, {1, 3, 7}});
}

} // namespace
} // namespace heddle::conformance
