// Attention in its forms: rows of invocations without any barrier, which may exchange what they read, and rows that a
// workgroup shares. A causal mask is tested for each group of keys first; groups that all rows see have neither mask
// nor comparison. NaN is told by its bits: a driver may take it that isnan() never holds.

// RUN: heddle-opt --vulkan-select-lowering-config %s | FileCheck %s --check-prefix=CONFIG
// RUN: heddle-opt --vulkan-select-lowering-config --vulkan-print-shaders %s -o /dev/null | FileCheck %s --implicit-check-not=isnan

#q = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2] -> (b, m, g * 2 + r, d)>
#k = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2] -> (b, n, g, d)>
#v = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2] -> (b, n, g, e)>
#o = affine_map<(b, g, r, m, n, d, e)[s0, s1, s2] -> (b, m, g * 2 + r, e)>

// GPUs share rows in classes of memory, elsewhere workgroups share few rows alone. The last variant shares no memory.
// CONFIG-LABEL: kernel.func @causal
// CONFIG-SAME: features = ["shared_tiles"], form = "shared", most = array<i64: 1, 0, 0>
// CONFIG-SAME: features = ["shared_tiles"], form = "shared", most = array<i64: 4, 0, 0>
// CONFIG-SAME: features = ["shared_tiles"], form = "shared", most = array<i64: 0, 0, 0>, shared_bytes = 33796 : i64
// CONFIG-SAME: features = ["shared_tiles"], form = "shared", most = array<i64: 0, 0, 0>, shared_bytes = 16900 : i64
// CONFIG-SAME: features = ["shared_tiles"], form = "shared", most = array<i64: 0, 0, 0>, shared_bytes = 8452 : i64
// CONFIG-SAME: features = [], form = "shared", most = array<i64: 1, 0, 0>
// CONFIG-SAME: features = [], form = "shared", most = array<i64: 4, 0, 0>
// Eight invocations of a subgroup, with 32 and 64 rows.
// CONFIG-SAME: features = ["subgroup_of_8"], form = "subgroup", most = array<i64: 32, 0, 0>
// CONFIG-SAME: features = ["subgroup_of_8"], form = "subgroup", most = array<i64: 0, 0, 0>
// CONFIG-SAME: features = [], form = "private", most = array<i64: 0, 0, 0>, shared_bytes = 0 : i64

// CHECK-LABEL: // @causal, form shared
// CHECK: const int BLOCK = 256, TILE = ROWS * ROW_GROUPS;
// CHECK: shared vec4 scores[TILE * STRIDE];
// CHECK-LABEL: // @causal, form subgroup
// CHECK-NOT: barrier
// CHECK: const int PEERS = 8;
// CHECK: int peer = int(gl_SubgroupInvocationID);
// Where one invocation goes all go: what they exchange must be there.
// CHECK: if (of_peers(taking) != 0)
// CHECK: may = of_peers(int({{v[0-9]+}})) != 0;
// CHECK: all = of_peers(int(!{{v[0-9]+}})) == 0;
// CHECK: own[j] = b2_vec4[
// CHECK: k[j] = subgroupShuffle(own[j / PEERS], uint(j % PEERS));
// CHECK: v[t][g] = subgroupShuffle(own[(t * COLUMNS + g) / PEERS], uint((t * COLUMNS + g) % PEERS));
// CHECK-LABEL: // @causal, form private
// CHECK-NOT: shared
// CHECK-NOT: barrier
// CHECK: vec4 scores[TILE * STRIDE];
// Nothing but the mask decides which groups count.
// CHECK: may = [[MAY:v[0-9]+]];
// CHECK-NEXT: all = [[ALL:v[0-9]+]];
// CHECK: if (!may && !(false))
// CHECK-NEXT: continue;
// Products by fused operations, keys as vectors of four of a row. Loops are tested behind their bodies, which are else
// gone through once more for nobody.
// CHECK: int d = 0;
// CHECK-NEXT: do {
// CHECK: own[j] = b2_vec4[
// CHECK: k[j] = own[j];
// CHECK: s[r][g] = fma(vec4(q.x), vec4(k[4 * g + 0].x, k[4 * g + 1].x, k[4 * g + 2].x, k[4 * g + 3].x), s[r][g]);
// CHECK: while ((d += 4) < 64);
// CHECK: if (!(all && start + STEP <= span)) {
// CHECK: place < span && ({{.*}}uintBitsToFloat(4286578688u);
// A pass for values that aren't finite where a key weighs nothing.
// CHECK: if (w[0] != 0.0) sum[r][g] = fma(
// CHECK: precise vec4 joined = fma(before, vec4(kept_factor), scaled);
// CHECK: has_nan(joined)
// CHECK: literal = length > 0 ? empty & ~kept : 0;
// The next pass that has rows, and none where no pass has any.
// CHECK: ++pass;
// CHECK: while (pass < 4 && taking == 0);
// CHECK: while (pass < 4);
kernel.func @causal(%q: tensor<?x?x8x64xf32> {kernel.dims = array<i64: 0, 1>},
                    %k: tensor<?x?x4x64xf32> {kernel.dims = array<i64: 0, 2>},
                    %v: tensor<?x?x4x64xf32> {kernel.dims = array<i64: 0, 2>}, %batch: index, %rows: index,
                    %keys: index) -> (tensor<?x?x8x64xf32> {kernel.dims = array<i64: 0, 1>}) {
  %r = kernel.attention sizes(%batch, %rows, %keys) bounds(affine_map<()[s0, s1, s2] -> (s0, 4, 2, s1, s2, 64, 64)>)
      ins(%q, %k, %v : tensor<?x?x8x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>)
      attributes {indexing_maps = [#q, #k, #v, #o], scale = 0.125 : f32, fully_masked = "literal"} score {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } mask {
    %m = kernel.index 3
    %n = kernel.index 4
    %seen = arith.cmpi ule, %n, %m : index
    kernel.yield %seen : i1
  } : tensor<?x?x8x64xf32>
  kernel.return %r : tensor<?x?x8x64xf32>
}
