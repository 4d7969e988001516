// RUN: heddle-opt %s --nn-outline-kernels | FileCheck %s

// Grouped causal attention with a padding mask: query heads split into group and member, regions cloned, the mask read
// through its map.
// CHECK-DAG: affine_map<()[s0, s1, s2] -> (s0, 4, 3, s1, s2, 64, 64)>
// CHECK-DAG: affine_map<(d0, d1, d2, d3, d4, d5, d6)[s0, s1, s2] -> (d0, d3, d1 * 3 + d2, d5)>
// CHECK-DAG: affine_map<(d0, d1, d2, d3, d4, d5, d6)[s0, s1, s2] -> (d0, d4, d1, d5)>
// CHECK: rt.dispatch @f32_attention
// CHECK-NOT: rt.dispatch
// CHECK: kernel.attention {{.*}}fully_masked = "zero"{{.*}}scale = 1.250000e-01 : f32} score {
// CHECK: kernel.yield
// CHECK: } mask {
// CHECK: ^bb0(%[[KEEP:.*]]: i1):
// CHECK-DAG: %[[ROW:.*]] = kernel.index 3
// CHECK-DAG: %[[KEY:.*]] = kernel.index 4
// CHECK: %[[SEEN:.*]] = arith.cmpi ule, %[[KEY]], %[[ROW]] : index
// CHECK: arith.andi %[[SEEN]], %[[KEEP]] : i1
func.func @main(%q: tensor<?x?x12x64xf32> {nn.name = "q", nn.dims = ["b", "s", 12, 64]},
                %k: tensor<?x?x4x64xf32> {nn.name = "k", nn.dims = ["b", "t", 4, 64]},
                %v: tensor<?x?x4x64xf32> {nn.name = "v", nn.dims = ["b", "t", 4, 64]},
                %pad: tensor<?x?xi1> {nn.name = "p", nn.dims = ["b", "t"]})
    -> (tensor<?x?x12x64xf32> {nn.name = "o", nn.dims = ["b", "s", 12, 64]}) {
  %o = attn.sdpa %q, %k, %v mask_captures(%pad : tensor<?x?xi1>) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %keep: i1):
    %seen = arith.cmpi ule, %j, %i : index
    %both = arith.andi %seen, %keep : i1
    attn.yield %both : i1
  } {q_num_heads = 12 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32,
     fully_masked = #attn<fully_masked zero>, mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
     : tensor<?x?x12x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x12x64xf32>
  return %o : tensor<?x?x12x64xf32>
}
