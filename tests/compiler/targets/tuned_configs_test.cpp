// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Configs from tuning files: which a target takes, which it refuses and why, and what it writes for buckets.

#include "compiler/targets/ConfigJson.h"
#include "compiler/targets/TargetRegistry.h"
#include "compiler/targets/common/ChooseTuned.h"
#include "compiler/targets/common/KernelSignature.h"
#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/vulkan/ShaderPlan.h"
#include "compiler/targets/vulkan/VulkanTarget.h"
#include "tests/conformance/attention_text.h"
#include "tests/conformance/contract_text.h"

#include <gtest/gtest.h>

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle::conformance;

namespace heddle {
namespace {

class TunedConfigsTest : public testing::Test {
protected:
  TunedConfigsTest() {
    cpu::registerCpuTarget();
    vulkan::registerVulkanTarget();
    context.loadDialect<arith::ArithDialect, math::MathDialect, kernel::KernelDialect>();
    use(packed_product(768, 768), "cpu:x86-64-v3");
  }

  void use(const std::string &text, const char *spec) {
    module = parseSourceString<ModuleOp>(text, &context);
    target = llvm::cantFail(parseTarget(spec));
    table = select(nullptr);
  }
  kernel::FuncOp func() { return *module->getOps<kernel::FuncOp>().begin(); }

  /// The config that selection writes.
  DictionaryAttr select(const TunedConfigs *tuned) {
    PassManager pm(&context);
    target->addSelectionPass(pm, tuned);
    EXPECT_TRUE(succeeded(pm.run(*module)));
    return func()->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName).getEntries();
  }

  /// |config| with |value| for |key|; without it where |value| is null.
  DictionaryAttr with(DictionaryAttr config, StringRef key, Attribute value) {
    NamedAttrList entries(config);
    entries.erase(key);
    if (value)
      entries.set(key, value);
    return entries.getDictionary(&context);
  }
  Attribute number(int64_t value) { return IntegerAttr::get(IntegerType::get(&context, 64), value); }
  std::string check(StringRef key, Attribute value) { return target->checkConfig(func(), with(table, key, value)); }

  TunedConfigs tune(ArrayRef<std::pair<StringRef, DictionaryAttr>> entries) {
    TunedConfigs tuned;
    for (auto [rows, config] : entries)
      tuned.set(getKernelSignature(func()), rows, {configToJson(config), "x.tuning.jsonl", "this device"});
    return tuned;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<Target> target;
  DictionaryAttr table;
};

TEST_F(TunedConfigsTest, TakesTheTableItself) { EXPECT_EQ(target->checkConfig(func(), table), ""); }

TEST_F(TunedConfigsTest, RefusesNumbersThatCodeCannotBeMadeOf) {
  EXPECT_EQ(check("row_tile", nullptr), "lacks 'row_tile'");
  EXPECT_EQ(check("speed", number(11)), "has 'speed', which this kernel has no use for");
  EXPECT_EQ(check("row_tile", number(0)), "has 'row_tile' of 0, expects 1 to 16");
  EXPECT_EQ(check("row_tile", StringAttr::get(&context, "6")), "has 'row_tile' of another type, expects 1 to 16");
  EXPECT_EQ(check("rows_per_item", number(100)), "has rows_per_item 100, expects a multiple of row_tile 6");
  EXPECT_EQ(check("column_vectors", number(8)), "has more than 32 accumulators: row_tile 6 by column_vectors 8");
  EXPECT_EQ(check("few_rows", number(0)), "expects few_rows and few_row_vectors to be both 0 or both not");
  EXPECT_EQ(check("grain_work", number(INT64_MIN)),
            "has 'grain_work' of -9223372036854775808, expects 1 to 1099511627776");
}

TEST_F(TunedConfigsTest, RefusesWhatDecidesResultsOrLayouts) {
  const char *other = "than the target's table, which decides it for all sizes";
  use(byte_product(64, 64), "cpu:x86-64-v3");
  EXPECT_EQ(check("multiplier", StringAttr::get(&context, "vpdpbusd")),
            std::string("has another 'multiplier' ") + other);
  EXPECT_EQ(check("vector_bits", number(512)), std::string("has another 'vector_bits' ") + other);
  use(attention_text().build(), "cpu:x86-64-v3");
  EXPECT_EQ(check("block_kv", number(128)), std::string("has another 'block_kv' ") + other);
  EXPECT_EQ(check("column_vectors", number(2)), std::string("has another 'column_vectors' ") + other);
  EXPECT_EQ(check("block_q", number(48)), "");
}

TEST_F(TunedConfigsTest, GivesEachBucketItsConfig) {
  DictionaryAttr own = with(with(table, "row_tile", number(4)), "rows_per_item", number(48));
  TunedConfigs tuned = tune({{"17-64", own}, {"257-", own}});
  DictionaryAttr config = select(&tuned);
  EXPECT_EQ(with(config, "buckets", nullptr), own) << "the last bucket's stands for all greater numbers";
  auto buckets = config.getAs<ArrayAttr>("buckets");
  ASSERT_TRUE(buckets);
  ASSERT_EQ(buckets.size(), 3u);
  int64_t most[] = {16, 64, 256};
  DictionaryAttr expected[] = {table, own, table};
  for (auto [i, bucket] : llvm::enumerate(buckets.getAsRange<DictionaryAttr>())) {
    EXPECT_EQ(bucket.getAs<IntegerAttr>("most_rows").getInt(), most[i]);
    EXPECT_EQ(bucket.getAs<DictionaryAttr>("config"), expected[i]);
  }
}

TEST_F(TunedConfigsTest, WritesOneConfigWhereAllAreEqual) {
  TunedConfigs tuned = tune({{"1", table}, {"65-256", table}});
  EXPECT_EQ(select(&tuned), table);
  EXPECT_EQ(getTunedUses(*module).size(), 2u);
}

TEST_F(TunedConfigsTest, SaysWhatItRefused) {
  TunedConfigs tuned = tune({{"1", with(table, "row_tile", number(99))}, {"2-4", table}});
  EXPECT_EQ(select(&tuned), table);
  std::vector<TunedUse> uses = getTunedUses(*module);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].rows, "1");
  EXPECT_EQ(uses[0].problem, "has 'row_tile' of 99, expects 1 to 16");
  EXPECT_EQ(uses[1].problem, "");
  EXPECT_EQ(uses[1].file, "x.tuning.jsonl");
}

//===----------------------------------------------------------------------===//
// Vulkan
//===----------------------------------------------------------------------===//

class TunedVariantsTest : public TunedConfigsTest {
protected:
  TunedVariantsTest() { use(packed_product(768, 768), "vulkan"); }

  std::vector<vulkan::Variant> variantsOf(DictionaryAttr config) {
    std::vector<vulkan::Variant> variants;
    for (auto attr : config.getAs<ArrayAttr>("variants").getAsRange<DictionaryAttr>())
      variants.push_back(vulkan::Variant::fromAttr(attr));
    return variants;
  }
  std::string checkVariant(const vulkan::Variant &variant) {
    return target->checkConfig(func(), variant.toAttr(&context));
  }
};

TEST_F(TunedVariantsTest, TakeThoseOfTheTable) {
  for (const std::string &text : {packed_product(768, 768), byte_product(64, 64), attention_text().build()}) {
    use(text, "vulkan");
    for (const vulkan::Variant &variant : variantsOf(table))
      EXPECT_EQ(checkVariant(variant), "") << variant.form;
  }
}

TEST_F(TunedVariantsTest, AreRefusedWhereTheirShaderWouldBeWrong) {
  vulkan::Variant last = variantsOf(table).back();
  auto checkChanged = [&](llvm::function_ref<void(vulkan::Variant &)> change) {
    vulkan::Variant variant = last;
    change(variant);
    return checkVariant(variant);
  };
  EXPECT_EQ(checkChanged([](auto &v) { v.form = "magic"; }),
            "has form 'magic', which the target's table doesn't have for this kernel");
  EXPECT_EQ(checkChanged([](auto &v) { v.constants[0] = 0; }), "has constants that its form can't have");
  EXPECT_EQ(checkChanged([](auto &v) { v.constants.clear(); }), "has constants that its form can't have");
  EXPECT_EQ(checkChanged([](auto &v) { v.tile[1] = 1; }),
            "has a workgroup, tile or shared memory that doesn't follow from its constants");
  EXPECT_EQ(checkChanged([](auto &v) { v.features = {"telepathy"}; }),
            "asks for the feature 'telepathy', which its form doesn't use");
  EXPECT_EQ(checkChanged([](auto &v) { v.workgroup[0] = 0; }), "has a workgroup without invocations");
  EXPECT_EQ(target->checkConfig(func(), table), "isn't a variant: it lacks a field, or has one of another type");
}

TEST_F(TunedVariantsTest, StandBetweenThoseOfTheTable) {
  std::vector<vulkan::Variant> before = variantsOf(table);
  // The tile for one row, for 17 to 64: nothing in the table takes it there.
  vulkan::Variant own =
      *llvm::find_if(before, [](auto &variant) { return variant.features.empty() && variant.constants[0] == 1; });
  TunedConfigs tuned = tune({{"17-64", own.toAttr(&context)}});
  std::vector<vulkan::Variant> after = variantsOf(select(&tuned));
  /// The constants of what a device with |features| takes for |rows|.
  auto taken = [](ArrayRef<vulkan::Variant> variants, ArrayRef<StringRef> features, int64_t rows) {
    return llvm::find_if(variants,
                         [&](const vulkan::Variant &variant) {
                           return (variant.most[1] == 0 || rows <= variant.most[1]) &&
                                  llvm::all_of(variant.features, [&](const std::string &feature) {
                                    return llvm::is_contained(features, feature);
                                  });
                         })
        ->constants;
  };
  for (const std::vector<StringRef> &features : {std::vector<StringRef>(), std::vector<StringRef>{"shared_tiles"}})
    for (int64_t rows : {1, 2, 4, 5, 16, 17, 64, 65, 256, 257, 1000})
      EXPECT_EQ(taken(after, features, rows), rows >= 17 && rows <= 64 ? own.constants : taken(before, features, rows))
          << rows;
  EXPECT_TRUE(after.back().features.empty() && after.back().most == (std::array<int64_t, 3>{0, 0, 0}));
}

TEST_F(TunedVariantsTest, LeaveDevicesThatLackAFeatureTheTable) {
  std::vector<vulkan::Variant> before = variantsOf(table);
  TunedConfigs tuned = tune({{"1", before.front().toAttr(&context)}});
  ASSERT_FALSE(before.front().features.empty());
  std::vector<vulkan::Variant> after = variantsOf(select(&tuned));
  EXPECT_EQ(after.size(), before.size()) << "it is what the table has for one row";
}

} // namespace
} // namespace heddle
