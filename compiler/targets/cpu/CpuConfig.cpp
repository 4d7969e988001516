// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tile tables, each number beside the fact that explains it.
//
// Contractions keep row_tile x column_vectors accumulators in registers and need one register per column vector for
// the right side and one for the broadcast left element. A fused multiply-add takes 4 cycles and two start per cycle
// (of 8 floats on AVX2; of 16 on AVX-512 one or two), so 8 independent accumulators are the least; vectors of 16 count
// as two on AVX2.
//
//   AVX2, 16 registers of 8:      6 x 16 = 12 accumulators + 2 + 1. 6 x 16 spills nothing; 3 x 32 and 7 x 16 do.
//   AVX-512, 32 registers of 16:  8 x 48 = 24 + 3 + 1;  4 x 64 = 16 + 4 + 1;  8 x 32 = 16 + 2 + 1.
//
// Panels come from the L2 cache: a tile of R rows reads 4 / R bytes of them per multiply-add. Where a core starts two
// 512-bit multiply-adds per cycle (Zen 5), 4 x 64 asks for 32 bytes per cycle and 8 x 48 for 16; with one per cycle
// (Zen 4) the two are equal. So 8 x 48 comes first.
//
// Products of bytes, u8 x s8 to i32, by the instruction that multiplies:
//
//   vpdpbusd     4 k of 16 columns at once, as f32 otherwise: the same tiles.
//
//   vpmaddubsw   then vpmaddwd and an addition. 4 x 16 = 8 accumulators + 2 + 1, the ones, and what is between:
//                13 of 16 registers.
//
//   vpmaddwd     of words, and an addition. 6 x 16 = 12 + 2 + 1 + 1, all of 16; weights are widened by three shifts
//                for two vectors, which six rows share.
//
// row_tile is at most 8: the rows of the left side lie one stride apart, and with a stride that is a multiple of 4 KiB
// all of them fall into one set of an 8-way L1 cache.

#include "compiler/targets/cpu/CpuConfig.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace heddle::cpu {

namespace {

using ConfigEntries = SmallVector<std::pair<StringRef, Attribute>>;

struct ContractTile {
  int64_t rows, vectors;
};

/// The constant that |expr| is, if it is one.
std::optional<int64_t> getConstant(AffineExpr expr) {
  auto constant = dyn_cast<AffineConstantExpr>(expr);
  return constant ? std::optional<int64_t>(constant.getValue()) : std::nullopt;
}

/// |elementBytes|: of the weights.
ContractTile selectWideTile(std::optional<int64_t> columns, std::optional<int64_t> depth, int64_t elementBytes) {
  // Columns known only at run time: after a tile of two panels at most one is left over, and it has 8 accumulators.
  if (!columns)
    return {8, 2};
  // Every row tile reads the same group of panels again. It has to stay in an L2 cache of 1 MiB beside rows and
  // results: at a depth of 4096, 4 x 64 reads 1 MiB and drops to about half of the speed.
  constexpr int64_t kGroupBytes = 640 * 1024;
  int64_t panels = llvm::divideCeil(*columns, kLanes);
  for (ContractTile tile : {ContractTile{8, 3}, ContractTile{4, 4}})
    if (panels % tile.vectors == 0 && tile.vectors * kLanes * elementBytes * depth.value_or(0) <= kGroupBytes)
      return tile;
  return panels == 1 ? ContractTile{8, 1} : ContractTile{8, 2};
}

/// Rows of an item. About 256: with one group of panels a few hundred microseconds at most, and enough rows to pay for
/// packing an activation (1/256 of the work). Fewer where weights have so few groups that threads would find nothing to
/// share, down to 64, which read a group from the L2 cache 1/16 as often as they multiply. A multiple of the tile, so
/// that only a kernel's last rows are a tail.
int64_t selectItemRows(kernel::ContractOp op, std::optional<int64_t> columns, ContractTile tile) {
  constexpr int64_t kMostRows = 256, kLeastRows = 64, kItems = 16;
  int64_t rows = kMostRows;
  if (op.getPackedRhs() && columns)
    for (int64_t groups = llvm::divideCeil(*columns, kLanes * tile.vectors);
         rows > kLeastRows && groups * (kMostRows / rows) < kItems;)
      rows /= 2;
  return rows / tile.rows * tile.rows;
}

/// Which instructions multiply bytes, and their tile.
struct ByteProducts {
  StringRef multiplier;
  int64_t vectorBits;
  ContractTile tile;
};

ByteProducts selectByteProducts(kernel::ContractOp op, const CpuTarget &target, ContractTile wideTile) {
  if (target.hasFeature("avx512vnni"))
    return {config::kByteDots, 512, wideTile};
  bool isWide = target.hasFeature("avx512bw");
  if (op.getPairSafe())
    return {config::kSafePairs, isWide ? 512 : 256, isWide ? wideTile : ContractTile{4, 1}};
  return {config::kWords, isWide ? 512 : 256, isWide ? ContractTile{8, 2} : ContractTile{6, 1}};
}

/// Rows that are copied stay in an L2 cache of 512 KiB beside a group of panels, and groups share what copying costs: a
/// row takes about as long as multiplying it by two columns, one whose bytes lie apart as by 16. Threads still find
/// something to share.
void selectCopiedRows(ContractTile tile, AffineMap bounds, int64_t rowBytes, int64_t &rowsPerItem,
                      int64_t &groupsPerItem) {
  constexpr int64_t kCopiedBytes = 256 * 1024, kMostRows = 96, kMostGroups = 8, kItems = 4;
  auto [height, columns, depth] =
      std::tuple(getConstant(bounds.getResults().take_back(3)[0]), getConstant(bounds.getResults().take_back(2)[0]),
                 getConstant(bounds.getResults().back()));
  int64_t rows = std::clamp<int64_t>(kCopiedBytes / (rowBytes * depth.value_or(1024) + 1), 1, kMostRows);
  rowsPerItem = llvm::alignTo(rows, tile.rows);
  int64_t groups = llvm::divideCeil(columns.value_or(1024), kLanes * tile.vectors);
  int64_t blocks = std::max<int64_t>(1, llvm::divideCeil(height.value_or(1), rowsPerItem));
  groupsPerItem = std::clamp<int64_t>(groups / llvm::divideCeil(kItems, blocks), 1, kMostGroups);
}

/// What keeps multipliers and memory busy where rows are few.
SmallVector<std::pair<StringRef, int64_t>> selectFewRows(kernel::ContractOp op, ContractTile tile, bool isWide) {
  using Form = kernel::ContractOp::Form;
  Form form = op.getForm();
  bool isInteger = form == Form::Integer, isHalf = form == Form::HalfBytesOfWeights;
  bool isNarrow = isHalf || form == Form::BytesOfWeights;
  // Few rows alone leave multipliers waiting: on AVX2 1, 2 and 3 rows run at 25, 48 and 72 % of peak, on AVX-512 one
  // row by three panels at 50. So a tail of up to half a tile shares the rows of one whole tile.
  SmallVector<std::pair<StringRef, int64_t>> entries = {{config::kSplitRowTail, 1}};
  // One or two rows take four panels at once on AVX2, which gives them 8 accumulators and memory four streams: a single
  // row reads weights twice as fast from a cache. Three rows by two panels would be 12 accumulators, but LLVM spills
  // two of them. Tiles of AVX-512 have two panels or more anyway, and sums of bytes wait one cycle where those of
  // floats wait four. Narrow weights come faster than that: four panels for them, and six of half bytes, which make two
  // products a step. Eight are as fast but where streams lie a power of two apart (4096 x 4096: two thirds).
  int64_t fewRows = isInteger || (isWide && !isNarrow) ? 0 : isWide ? 4 : 2;
  entries.emplace_back(config::kFewRows, fewRows);
  entries.emplace_back(config::kFewRowVectors, fewRows == 0 ? 0 : isWide && isHalf ? 6 : 4);
  if (isNarrow)
    entries.emplace_back(config::kPrefetchFewRows, 1);
  // The next panels are fetched while these multiply; from memory that is worth 1.3 to 1.8 times the speed at 4 to 48
  // rows (Zen 5), from a cache nothing. With three panels that start side by side one tile of rows keeps memory as busy
  // without, and low tiles read 10 to 20 % faster from a cache (9 rows 96 % of peak for 80). Bytes multiply too fast
  // for that: 1 to 8 rows are 1.3 to 1.8 times as fast from memory with it, and nothing is lost from a cache.
  entries.emplace_back(config::kPrefetchRows, isWide && !isInteger ? tile.rows + tile.rows / 3 + 1 : 1);
  return entries;
}

ConfigEntries selectContract(kernel::ContractOp op, const CpuTarget &target, Builder &b) {
  bool isWide = target.hasFeature("avx512f"), isInteger = op.getForm() == kernel::ContractOp::Form::Integer;
  AffineMap bounds = op.getBounds();
  std::optional<int64_t> columns = getConstant(bounds.getResult(bounds.getNumResults() - 2));
  std::optional<int64_t> depth = getConstant(bounds.getResult(bounds.getNumResults() - 1));
  int64_t elementBytes = getElementTypeOrSelf(op.getRhs().getType()).isInteger(8) ? 1 : 4;
  ContractTile tile = isWide ? selectWideTile(columns, depth, elementBytes) : ContractTile{6, 1};
  ConfigEntries entries;
  auto add = [&](StringRef key, int64_t value) { entries.emplace_back(key, b.getI64IntegerAttr(value)); };
  StringRef multiplier; // of bytes
  if (isInteger) {
    ByteProducts products = selectByteProducts(op, target, tile);
    tile = products.tile;
    multiplier = products.multiplier;
    entries.emplace_back(config::kMultiplier, b.getStringAttr(multiplier));
    add(config::kVectorBits, products.vectorBits);
    isWide = products.vectorBits == 512;
  }
  if (op.getBlockSize()) {
    // Bytes and what they become take registers beside the accumulators, those of all blocks as many more.
    tile = isWide ? ContractTile{8, 2} : ContractTile{4, 1};
    if (op.getForm() == kernel::ContractOp::Form::HalfBytesOfWeights)
      add(config::kVectorBits, isWide ? 512 : 256);
  }
  int64_t rowsPerItem = selectItemRows(op, columns, tile), groupsPerItem = 1;
  // Words are copies, and so are rows that end within four bytes or whose bytes lie apart.
  AffineMap lhsMap = op.getRootMaps().front();
  bool isFlat = lhsMap.getResults().back() == getAffineDimExpr(lhsMap.getNumDims() - 1, op.getContext());
  if (multiplier == config::kWords || (isInteger && (depth.value_or(0) % 4 != 0 || !isFlat)))
    selectCopiedRows(tile, bounds, multiplier == config::kWords ? 2 : 1, rowsPerItem, groupsPerItem);
  add(config::kRowTile, tile.rows);
  add(config::kColumnVectors, tile.vectors);
  add(config::kRowsPerItem, rowsPerItem);
  if (groupsPerItem != 1)
    add(config::kGroupsPerItem, groupsPerItem);
  for (auto [key, value] : selectFewRows(op, tile, isWide))
    add(key, value);
  // vmaskmovps costs about 14 cycles per store on Zen 3; AVX-512 masks are free.
  add(config::kBranchMasks, isWide ? 0 : 1);
  // Below about 2 us (60 multiply-adds per ns and core, of bytes four times as many) waking a thread costs more than it
  // brings.
  add(config::kGrainWork, int64_t(isInteger ? 4 : 1) << 17);
  return entries;
}

/// Rows of an item of attention; keys are packed once per item, and its rows share that. 192, a multiple of both tiles:
/// 64 cost one to two points of peak, 256 gain none and halve the items. 128 and 256 queries make items of 128. Fewer
/// where key heads are so few that threads would find nothing to share at short lengths: packing then costs up to a
/// tenth.
int64_t selectBlockQ(kernel::AttentionOp op) {
  std::optional<int64_t> heads = getConstant(op.getBounds().getResult(kernel::AttentionOp::KeyHead));
  int64_t count = heads.value_or(6);
  return count >= 6 ? 192 : count >= 3 ? 96 : 48;
}

/// Attention: a tile is row_tile queries by column_vectors x 16 keys for the scores, by as many value columns for the
/// product with them.
SmallVector<std::pair<StringRef, int64_t>> selectAttention(kernel::AttentionOp op, const CpuTarget &target) {
  bool isWide = target.hasFeature("avx512f");
  // Accumulators as for contractions: 16 + 2 + 1 of 32 registers, 12 + 2 + 1 of 16. On AVX-512 4 x 64 reads twice as
  // much of packed keys and values for as many products, which costs two points where a core starts two multiply-adds
  // per cycle (Zen 5).
  return {{config::kRowTile, isWide ? 8 : 6},
          {config::kColumnVectors, isWide ? 2 : 1},
          {config::kBlockQ, selectBlockQ(op)},
          // 256 keys of head size 64 are 64 KiB, packed, and as much of values: both stay in an L2 of 512 KiB beside
          // the rows. Part of the artifact's numerics: states merge at its multiples, so parts are blocks, as are those
          // whose weights have codes. 128 to 1024 differ by 2 %.
          {config::kBlockKv, op.getPvInt8Block().value_or(op.getPartSize().value_or(256))},
          {config::kSplitRowTail, 1},
          {config::kGrainWork, int64_t(1) << 17}};
}

/// Entries of roots that stream over elements: 16384 are 1 to 4 us of work, below which one thread is faster.
SmallVector<std::pair<StringRef, int64_t>> selectStreaming(Operation *root) {
  SmallVector<std::pair<StringRef, int64_t>> entries = {{config::kGrainWork, 16384}};
  // 4096 elements are 16 KiB of f32: in and out fit the L1 cache, and an item is much longer than its start-up.
  if (isa<kernel::MapOp>(root))
    entries.emplace_back(config::kElementsPerItem, 4096);
  // Additions take 3 to 4 cycles: four chains keep the adders busy.
  if (isa<kernel::RowwiseOp, kernel::ReduceOp>(root))
    entries.emplace_back(config::kAccumulators, 4);
  // Four neighbouring vectors are whole cache lines and as many chains.
  if (isa<kernel::ReduceOp>(root))
    entries.emplace_back(config::kVectorsPerItem, 4);
  // Each step waits for the one before it anyway, and one vector of f32 is a cache line: more items for more threads.
  if (isa<kernel::ScanOp, kernel::ScatterOp>(root))
    entries.emplace_back(config::kVectorsPerItem, 1);
  return entries;
}

} // namespace

kernel::LoweringConfigAttr selectConfig(kernel::FuncOp func, const CpuTarget &target) {
  Operation *root = func.getRoot();
  Builder b(func.getContext());
  SmallVector<NamedAttribute> entries;
  if (auto contract = dyn_cast<kernel::ContractOp>(root)) {
    for (auto [key, value] : selectContract(contract, target, b))
      entries.push_back(b.getNamedAttr(key, value));
  } else {
    auto attention = dyn_cast<kernel::AttentionOp>(root);
    // Codes multiply as bytes where four products are one instruction. Pairs of queries and keys may exceed 16 bits, so
    // elsewhere they are words; those of weights, whose codes are below 128, and values never do.
    bool hasDots = target.hasFeature("avx512vnni");
    auto name = [&](StringRef key, StringRef multiplier) {
      entries.push_back(b.getNamedAttr(key, b.getStringAttr(multiplier)));
    };
    if (attention && attention.getQkInt8())
      name(config::kMultiplier, hasDots ? config::kByteDots : config::kWords);
    if (attention && attention.getPvInt8Block())
      name(config::kValueMultiplier, hasDots ? config::kByteDots : config::kSafePairs);
    if (attention && (attention.getQkInt8() || attention.getPvInt8Block()))
      entries.push_back(
          b.getNamedAttr(config::kVectorBits, b.getI64IntegerAttr(target.hasFeature("avx512bw") ? 512 : 256)));
    for (auto [key, value] : attention ? selectAttention(attention, target) : selectStreaming(root))
      entries.push_back(b.getNamedAttr(key, b.getI64IntegerAttr(value)));
  }
  return kernel::LoweringConfigAttr::get(func.getContext(), b.getDictionaryAttr(entries));
}

} // namespace heddle::cpu
