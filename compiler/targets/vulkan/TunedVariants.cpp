// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/TunedVariants.h"

#include "compiler/targets/vulkan/AttentionShader.h"
#include "compiler/targets/vulkan/ContractConfig.h"
#include "compiler/targets/vulkan/ContractFactors.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::vulkan {

/// The variant that |config| is; nothing where it lacks something or has it in another type.
static std::optional<Variant> readVariant(DictionaryAttr config) {
  auto form = config.getAs<StringAttr>("form");
  auto features = config.getAs<ArrayAttr>("features");
  auto bytes = config.getAs<IntegerAttr>("shared_bytes");
  auto isTriple = [&](StringRef key) {
    auto numbers = config.getAs<DenseI64ArrayAttr>(key);
    return numbers && numbers.size() == 3;
  };
  constexpr size_t kFields = 7;
  if (!form || !features || !bytes || !isTriple("workgroup") || !isTriple("tile") || !isTriple("most") ||
      config.size() != kFields || !llvm::all_of(features, [](Attribute word) { return isa<StringAttr>(word); }))
    return std::nullopt;
  // A list without numbers has no type of its own in JSON.
  if (auto none = config.getAs<ArrayAttr>("constants"); none && none.empty()) {
    NamedAttrList entries(config);
    entries.set("constants", DenseI64ArrayAttr::get(config.getContext(), {}));
    config = entries.getDictionary(config.getContext());
  }
  if (!config.getAs<DenseI64ArrayAttr>("constants"))
    return std::nullopt;
  return Variant::fromAttr(config);
}

namespace {
class VariantChecker {
public:
  VariantChecker(kernel::FuncOp func, const Variant &variant, ArrayRef<Variant> table)
      : func(func), variant(variant), table(table) {}

  std::string check() {
    auto same = llvm::find_if(table, [&](const Variant &other) { return other.form == variant.form; });
    if (same == table.end())
      return "has form '" + variant.form + "', which the target's table doesn't have for this kernel";
    checkFeatures(*same);
    Operation *root = func.getRoot();
    if (auto contract = dyn_cast<kernel::ContractOp>(root))
      checkContract(contract);
    else if (auto attention = dyn_cast<kernel::AttentionOp>(root))
      checkAttention(attention);
    else if (isa<kernel::MapOp>(root))
      checkMap();
    else if (variant.form == "single")
      checkSingle();
    else
      checkAsInTable();
    // Of devices some have no more than 128; those pass it by.
    require(product(variant.workgroup) <= kMostInvocations, "has more than 1024 invocations");
    require(variant.sharedBytes <= kMostSharedBytes, "has more than 64 KiB of shared memory");
    return problem;
  }

private:
  static constexpr int64_t kMostInvocations = 1024, kMostSharedBytes = 64 << 10;
  /// Sums that an invocation holds in registers; the table's largest tiles have 128.
  static constexpr int64_t kMostSums = 256;

  static int64_t product(const std::array<int64_t, 3> &numbers) { return numbers[0] * numbers[1] * numbers[2]; }

  void require(bool holds, const Twine &text) {
    if (!holds && problem.empty())
      problem = text.str();
  }

  /// |number| constants, each at least 1 and at most as much.
  bool haveConstants(ArrayRef<int64_t> most) {
    bool fit = variant.constants.size() == most.size() &&
               llvm::all_of(llvm::zip(variant.constants, most),
                            [](auto pair) { return std::get<0>(pair) >= 1 && std::get<0>(pair) <= std::get<1>(pair); });
    require(fit, "has constants that its form can't have");
    return fit;
  }

  /// What follows from the constants.
  void requireShape(std::array<int64_t, 3> workgroup, std::array<int64_t, 3> tile, int64_t sharedBytes) {
    require(variant.workgroup == workgroup && variant.tile == tile && variant.sharedBytes == sharedBytes,
            "has a workgroup, tile or shared memory that doesn't follow from its constants");
  }

  /// What the form's text needs is asked for, and nothing that the runtime has no word for.
  void checkFeatures(const Variant &same) {
    auto base = [](StringRef feature) {
      feature.consume_back("_accelerated");
      return feature;
    };
    auto isAskedFor = [&](StringRef feature) {
      return llvm::any_of(variant.features, [&](StringRef own) { return base(own) == base(feature); });
    };
    for (StringRef feature : same.features)
      require(feature == "shared_tiles" || isAskedFor(feature), "lacks the feature '" + feature + "'");
    for (StringRef feature : variant.features) {
      bool isKnown = feature == "shared_tiles" ||
                     llvm::any_of(same.features, [&](StringRef other) { return base(other) == base(feature); });
      require(isKnown, "asks for the feature '" + feature + "', which its form doesn't use");
    }
  }

  void checkContract(kernel::ContractOp op) {
    if (!haveConstants({16, 4, 64, 64, 128}))
      return;
    TileShape shape{variant.constants[0], variant.constants[1], variant.constants[2], variant.constants[3],
                    variant.constants[4]};
    ContractForm form = ContractForm::parse(variant.form);
    // Columns of a tile are of one panel.
    require(shape.columns4 != 3, "has 3 groups of columns, of which no panel has a whole number");
    require(form.isShared || (shape.rowLanes == 1 && shape.depth == 4),
            "has rows side by side or a depth, which tiles without shared memory don't have");
    require(shape.depth % 4 == 0, "has a depth that isn't a multiple of 4");
    require(shape.rows * shape.columns4 * 4 <= kMostSums, "has more sums than an invocation has registers for");
    require(shape.lanes * shape.columns4 % 4 == 0, "has a workgroup whose columns are no whole panels");
    if (!problem.empty())
      return;
    Variant same = makeContractVariant(op, variant.form, shape);
    requireShape(same.workgroup, same.tile, same.sharedBytes);
  }

  void checkAttention(kernel::AttentionOp op) {
    // Sets of a tile's rows are words of 32 bits.
    constexpr int64_t kMostRows = 32, kMostOwnRows = 16;
    if (!haveConstants({kMostRows, 64, 4, 16, kMostRows}))
      return;
    int64_t rows = variant.constants[0], lanes = variant.constants[1], groups = variant.constants[2],
            rowGroups = variant.constants[4];
    require(rows * rowGroups <= kMostRows, "has more than 32 rows");
    require(kAttentionGroup % (lanes * 4 * groups) == 0, "has lanes that don't share out a group of keys evenly");
    if (variant.form == kSharedAttention) {
      requireShape({lanes, rowGroups, 1}, {rows * rowGroups, 1, 1}, getAttentionSharedBytes(op, rows * rowGroups));
      return;
    }
    require(lanes == 1 && rowGroups == 1 && rows <= kMostOwnRows, "has constants that its form can't have");
    requireShape({variant.workgroup[0], 1, 1}, {rows * variant.workgroup[0], 1, 1}, 0);
  }

  void checkMap() {
    if (haveConstants({64}))
      requireShape({variant.workgroup[0], 1, 1}, {variant.workgroup[0] * variant.constants[0], 1, 1}, 0);
  }

  /// An invocation each: no lanes are merged, so their number is free.
  void checkSingle() {
    require(variant.constants.empty(), "has constants that its form can't have");
    requireShape({variant.workgroup[0], 1, 1}, {variant.workgroup[0], 1, 1}, 0);
  }

  /// The number of lanes decides in which order terms are added.
  void checkAsInTable() {
    bool isThere = llvm::any_of(table, [&](const Variant &other) {
      return other.form == variant.form && other.workgroup == variant.workgroup && other.tile == variant.tile &&
             other.constants == variant.constants && other.sharedBytes == variant.sharedBytes;
    });
    require(isThere, "has another workgroup than the target's table, which decides the order of sums");
  }

  kernel::FuncOp func;
  const Variant &variant;
  ArrayRef<Variant> table;
  std::string problem;
};
} // namespace

/// The axis along which rows lie, and its units for each of them; nothing where those aren't constant.
static std::optional<std::pair<Axis, int64_t>> findRowAxis(kernel::FuncOp func) {
  auto attention = dyn_cast<kernel::AttentionOp>(*func.getRoot());
  if (!attention)
    return std::pair(kY, int64_t(1));
  // Where keys are shared out, the rows of all heads that share them are one axis.
  auto heads = dyn_cast<AffineConstantExpr>(attention.getBounds().getResult(kernel::AttentionOp::QueryHead));
  if (!attention.getGivesParts() && !attention.getTakesParts())
    return std::pair(kX, int64_t(1));
  return heads ? std::optional(std::pair(kX, std::max<int64_t>(heads.getValue(), 1))) : std::nullopt;
}

std::string checkVariant(kernel::FuncOp func, DictionaryAttr config, ArrayRef<Variant> table) {
  std::optional<Variant> variant = readVariant(config);
  if (!variant)
    return "isn't a variant: it lacks a field, or has one of another type";
  if (llvm::any_of(variant->workgroup, [](int64_t number) { return number < 1 || number > UINT16_MAX; }))
    return "has a workgroup without invocations";
  if (!findRowAxis(func))
    return "is for some rows of a kernel whose heads are known at run time only";
  return VariantChecker(func, *variant, table).check();
}

/// Whether every dispatch and device that |later| is for takes |earlier| before it.
static bool hides(const Variant &earlier, const Variant &later) {
  for (unsigned axis = 0; axis < kNumAxes; ++axis)
    if (earlier.most[axis] != 0 && (later.most[axis] == 0 || later.most[axis] > earlier.most[axis]))
      return false;
  auto invocations = [](const Variant &variant) {
    return variant.workgroup[0] * variant.workgroup[1] * variant.workgroup[2];
  };
  return earlier.sharedBytes <= later.sharedBytes && invocations(earlier) <= invocations(later) &&
         llvm::all_of(earlier.features, [&](auto &feature) { return llvm::is_contained(later.features, feature); });
}

std::vector<Variant> insertVariants(kernel::FuncOp func, std::vector<Variant> table, ArrayRef<ChosenConfig> chosen) {
  std::vector<Variant> variants;
  auto add = [&](const Variant &variant) {
    if (llvm::none_of(variants, [&](const Variant &earlier) { return hides(earlier, variant); }))
      variants.push_back(variant);
  };
  auto addUpTo = [&](Variant variant, int64_t rows) {
    auto [axis, units] = *findRowAxis(func);
    int64_t most = rows * units;
    variant.most[axis] = variant.most[axis] == 0 ? most : std::min(variant.most[axis], most);
    add(variant);
  };
  for (const ChosenConfig &config : chosen) {
    Variant own = *readVariant(config.config);
    own.most = {0, 0, 0};
    if (config.bucket)
      for (const Variant &variant : table)
        if (config.bucket->least > 1)
          addUpTo(variant, config.bucket->least - 1);
    if (config.bucket && config.bucket->most != INT64_MAX)
      addUpTo(own, config.bucket->most);
    else
      add(own);
  }
  Variant last = table.back();
  for (const Variant &variant : ArrayRef(table).drop_back())
    add(variant);
  // For every device and every size, though perhaps none comes to it.
  variants.push_back(last);
  return variants;
}

} // namespace heddle::vulkan
