// Attention of other types than f32 is refused by name.

// RUN: heddle-opt %s --vulkan-select-lowering-config --vulkan-print-shaders --verify-diagnostics -o /dev/null

#q = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, d)>
#k = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, d)>
#v = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, e)>
#o = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, e)>

kernel.func @halves(%q: tensor<?x8xf16> {kernel.dims = array<i64: 0>}, %k: tensor<?x8xf16> {kernel.dims = array<i64: 0>},
                    %v: tensor<?x8xf16> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x8xf16> {kernel.dims = array<i64: 0>}) {
  // expected-error @below {{expects f32 query, key, value, scale and results on Vulkan, got 'f16'}}
  %r = kernel.attention sizes(%n) bounds(affine_map<()[s0] -> (1, 1, 1, s0, s0, 8, 8)>)
      ins(%q, %k, %v : tensor<?x8xf16>, tensor<?x8xf16>, tensor<?x8xf16>)
      attributes {indexing_maps = [#q, #k, #v, #o], scale = 0.5 : f32, fully_masked = "zero"} score {
  ^bb0(%s: f32):
    kernel.yield %s : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<?x8xf16>
  kernel.return %r : tensor<?x8xf16>
}
