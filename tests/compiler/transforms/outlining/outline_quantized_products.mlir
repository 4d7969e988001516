// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Codes times codes: rows of all batches are one loop, the zero point of a row and the column's sum correct it, and what
// follows joins in. The constant's pairs are small enough.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{axis = 0 : i64, kind = "sums"}], source = dense<3> : tensor<33x20xi8>{{.*}}} : tensor<20xi32>
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{group = 4 : i64, kind = "pack", panel = 16 : i64}]{{.*}}} : tensor<2x9x16x4xi8>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x33xi8>, tensor<2x9x16x4xi8>, tensor<?xi8>, tensor<20xi32>, tensor<?xf32>)
// CHECK-SAME: packed_rhs = 20 : i64, pair_safe} epilogue {
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: i32, %[[Z:.*]]: i8, %[[SUM:.*]]: i32, %{{.*}}: f32):
// CHECK-NEXT: %[[ZERO:.*]] = arith.extui %[[Z]] : i8 to i32
// CHECK-NEXT: %[[SHIFT:.*]] = arith.muli %[[ZERO]], %[[SUM]]
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.subi %[[ACC]], %[[SHIFT]]
// CHECK-NEXT: arith.sitofp %[[PRODUCT]]
// CHECK: math.erf
func.func @main(%x: tensor<?x?x33xui8> {nn.name = "x", nn.dims = ["b", "s", 33]},
                %z: tensor<?x?x1xui8> {nn.name = "z", nn.dims = ["b", "s", 1]},
                %s: tensor<?x?x1xf32> {nn.name = "s", nn.dims = ["b", "s", 1]})
    -> (tensor<?x?x20xf32> {nn.name = "y", nn.dims = ["b", "s", 20]}) {
  %w = nn.constant dense<3> : tensor<33x20xi8>
  %b = nn.constant dense<1.0> : tensor<20xf32>
  %acc = nn.matmul_integer %x, %w lhs_zero_point(%z : tensor<?x?x1xui8>) : (tensor<?x?x33xui8>, tensor<33x20xi8>) -> tensor<?x?x20xi32>
  %f = nn.cast %acc {to = f32} : (tensor<?x?x20xi32>) -> tensor<?x?x20xf32>
  %g = nn.binary mul %f, %s : (tensor<?x?x20xf32>, tensor<?x?x1xf32>) -> tensor<?x?x20xf32>
  %h = nn.binary add %g, %b : (tensor<?x?x20xf32>, tensor<20xf32>) -> tensor<?x?x20xf32>
  %y = nn.unary gelu_erf %h : (tensor<?x?x20xf32>) -> tensor<?x?x20xf32>
  return %y : tensor<?x?x20xf32>
}

// -----

// A signed left side multiplies as 128 more; a right side of u8 becomes one of i8, whose zero point is 128 less, and the
// rows' sums are stored once for both products. 128 beside 128 isn't pair-safe; the sums end in integers.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "flip"}, {axis = 0 : i64, kind = "sums"}], source = dense<0>{{.*}}} : tensor<4xi32>
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "flip"}, {group = 4 : i64, kind = "pack", panel = 16 : i64}], source = dense<0>{{.*}}} : tensor<1x2x16x4xi8>
// CHECK: %[[X:.*]] = rt.input 0
// CHECK: %[[ROWS:.*]] = rt.buffer
// CHECK: rt.dispatch @i32_reduce{{.*}} ins(%[[X]]) outs(%[[ROWS]])
// CHECK: rt.dispatch @i32_contract{{.*}} ins(%[[X]], %{{.*}}, %{{.*}}, %{{.*}}, %[[ROWS]])
// CHECK-NOT: rt.dispatch @i32_reduce
// CHECK: rt.dispatch @i32_contract{{.*}} ins(%[[X]], %{{.*}}, %{{.*}}, %[[ROWS]])
// CHECK: kernel.contract {{.*}} packed_rhs = 4 : i64, signed_lhs} epilogue {
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: i32, %[[Z:.*]]: i8, %[[SUM:.*]]: i32, %[[ROW:.*]]: i32):
// CHECK-NEXT: %[[LEFT:.*]] = arith.extsi %[[Z]] : i8 to i32
// CHECK-DAG: %[[RIGHT:.*]] = arith.constant -128 : i32
// CHECK-DAG: %[[FLIP:.*]] = arith.constant 128 : i32
// CHECK: %[[BYTE:.*]] = arith.addi %[[LEFT]], %[[FLIP]]
// CHECK: %[[A:.*]] = arith.muli %[[BYTE]], %[[SUM]]
// CHECK: %[[B:.*]] = arith.subi %[[ACC]], %[[A]]
// CHECK: %[[DEPTH:.*]] = arith.constant 8 : i32
// CHECK: %[[C:.*]] = arith.muli %[[LEFT]], %[[DEPTH]]
// CHECK: %[[D:.*]] = arith.subi %[[ROW]], %[[C]]
// CHECK: %[[E:.*]] = arith.muli %[[RIGHT]], %[[D]]
// CHECK: arith.subi %[[B]], %[[E]]
func.func @main(%x: tensor<?x8xi8> {nn.name = "x", nn.dims = ["r", 8]}, %z: tensor<i8> {nn.name = "z", nn.dims = []})
    -> (tensor<?x4xi32> {nn.name = "y", nn.dims = ["r", 4]}, tensor<?x4xi32> {nn.name = "v", nn.dims = ["r", 4]}) {
  %w = nn.constant dense<0> : tensor<8x4xui8>
  %w2 = nn.constant dense<130> : tensor<8x4xui8>
  %zw = nn.constant dense<[1, 2, 3, 4]> : tensor<4xui8>
  %y = nn.matmul_integer %x, %w lhs_zero_point(%z : tensor<i8>) : (tensor<?x8xi8>, tensor<8x4xui8>) -> tensor<?x4xi32>
  %v = nn.matmul_integer %x, %w2 rhs_zero_point(%zw : tensor<4xui8>) : (tensor<?x8xi8>, tensor<8x4xui8>) -> tensor<?x4xi32>
  return %y, %v : tensor<?x4xi32>, tensor<?x4xi32>
}

// -----

// Zero points that are 0, or 128 of u8, leave no correction. A weight N x K is transposed by the artifact's writer; the
// quantiser says that its pairs are safe.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{axis = 0 : i64, kind = "quantize", pair_safe = true}, {kind = "transpose", permutation = array<i64: 1, 0>}, {group = 4 : i64, kind = "pack", panel = 16 : i64}], source = #nn.external<"w", 0, 640>{{.*}}} : tensor<2x2x16x4xi8>
// CHECK-NOT: rt.constant{{.*}}external
// CHECK: kernel.contract {{.*}}packed_rhs = 20 : i64, pair_safe}
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: i32):
// CHECK-NEXT: kernel.yield %[[ACC]]
// CHECK: kernel.contract {{.*}}packed_rhs = 4 : i64, pair_safe}
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: i32):
// CHECK-NEXT: kernel.yield %[[ACC]]
func.func @main(%x: tensor<?x8xui8> {nn.name = "x", nn.dims = ["r", 8]})
    -> (tensor<?x20xi32> {nn.name = "y", nn.dims = ["r", 20]}, tensor<?x4xi32> {nn.name = "v", nn.dims = ["r", 4]}) {
  %w = nn.constant #nn.external<"w", 0, 640> -> tensor<20x8xf32>
  %c, %s = nn.quantize_weight %w {axis = 0 : i64, block_size = 0 : i64, pair_safe, to = i8} : (tensor<20x8xf32>) -> (tensor<20x8xi8>, tensor<20xf32>)
  %t = nn.transpose %c perm [1, 0] : (tensor<20x8xi8>) -> tensor<8x20xi8>
  %zero = nn.constant dense<0> : tensor<ui8>
  %y = nn.matmul_integer %x, %t lhs_zero_point(%zero : tensor<ui8>) : (tensor<?x8xui8>, tensor<8x20xi8>) -> tensor<?x20xi32>
  %u = nn.constant dense<130> : tensor<8x4xui8>
  %zu = nn.constant dense<128> : tensor<4xui8>
  %v = nn.matmul_integer %x, %u rhs_zero_point(%zu : tensor<4xui8>) : (tensor<?x8xui8>, tensor<8x4xui8>) -> tensor<?x4xi32>
  return %y, %v : tensor<?x20xi32>, tensor<?x4xi32>
}

// -----

// What isn't constant is no panel: a sum of products, with one zero point for each row of each batch.
// CHECK: rt.dispatch @i32_reduce
// CHECK-NOT: kernel.contract
// CHECK: kernel.reduce
func.func @main(%x: tensor<?x?x8xui8> {nn.name = "x", nn.dims = ["b", "r", 8]}, %z: tensor<?x?x1xui8> {nn.name = "z", nn.dims = ["b", "r", 1]},
                %w: tensor<8x4xi8> {nn.name = "w", nn.dims = [8, 4]})
    -> (tensor<?x?x4xi32> {nn.name = "y", nn.dims = ["b", "r", 4]}) {
  %y = nn.matmul_integer %x, %w lhs_zero_point(%z : tensor<?x?x1xui8>) : (tensor<?x?x8xui8>, tensor<8x4xi8>) -> tensor<?x?x4xi32>
  return %y : tensor<?x?x4xi32>
}

// -----

// Floats times codes: the scale of a column ends the sum; no kernel dequantises the weight.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "pack", panel = 16 : i64}], source = dense<3>{{.*}}} : tensor<2x8x16xi8>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x8xf32>, tensor<2x8x16xi8>, tensor<20xf32>)
// CHECK-NEXT: ^bb0(%[[ACC:.*]]: f32, %[[SCALE:.*]]: f32):
// CHECK-NEXT: %[[PRODUCT:.*]] = arith.mulf %[[ACC]], %[[SCALE]]
// CHECK: arith.addf %[[PRODUCT]]
func.func @main(%x: tensor<?x?x8xf32> {nn.name = "x", nn.dims = ["b", "s", 8]})
    -> (tensor<?x?x20xf32> {nn.name = "y", nn.dims = ["b", "s", 20]}) {
  %c = nn.constant dense<3> : tensor<8x20xi8>
  %s = nn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0]> : tensor<20xf32>
  %w = nn.dequantize_linear %c, %s {axis = 1 : i64, block_size = 0 : i64} : (tensor<8x20xi8>, tensor<20xf32>) -> tensor<8x20xf32>
  %p = nn.matmul %x, %w : (tensor<?x?x8xf32>, tensor<8x20xf32>) -> tensor<?x?x20xf32>
  %b = nn.constant dense<1.0> : tensor<20xf32>
  %y = nn.binary add %p, %b : (tensor<?x?x20xf32>, tensor<20xf32>) -> tensor<?x?x20xf32>
  return %y : tensor<?x?x20xf32>
}

// -----

// The same as exporters write it, of u8 stored N x K, with zero points: sums of the rows, stored once.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "flip"}, {kind = "transpose", permutation = array<i64: 1, 0>}, {kind = "pack", panel = 16 : i64}], source = dense<3>{{.*}}} : tensor<2x8x16xi8>
// CHECK: rt.dispatch @f32_reduce
// CHECK: rt.dispatch @f32_contract
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: ^bb0(%[[ACC:.*]]: f32, %[[ZERO:.*]]: f32, %[[ROW:.*]]: f32, %[[SCALE:.*]]: f32):
// CHECK-NEXT: %[[FLIP:.*]] = arith.constant 1.280000e+02 : f32
// CHECK-NEXT: %[[Z:.*]] = arith.subf %[[ZERO]], %[[FLIP]]
// CHECK-NEXT: %[[SHIFT:.*]] = arith.mulf %[[Z]], %[[ROW]]
// CHECK-NEXT: %[[SUM:.*]] = arith.subf %[[ACC]], %[[SHIFT]]
// CHECK-NEXT: arith.mulf %[[SUM]], %[[SCALE]]
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["s", 8]})
    -> (tensor<?x20xf32> {nn.name = "y", nn.dims = ["s", 20]}, tensor<?x20xf32> {nn.name = "v", nn.dims = ["s", 20]}) {
  %c = nn.constant dense<3> : tensor<20x8xui8>
  %z = nn.constant dense<[[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [7.0], [8.0], [9.0], [10.0], [11.0], [12.0], [13.0], [14.0], [15.0], [16.0], [17.0], [18.0], [19.0], [20.0]]> : tensor<20x1xf32>
  %s = nn.constant dense<[[1.5], [2.5], [3.5], [4.5], [5.5], [6.5], [7.5], [8.5], [9.5], [10.5], [11.5], [12.5], [13.5], [14.5], [15.5], [16.5], [17.5], [18.5], [19.5], [20.5]]> : tensor<20x1xf32>
  %f = nn.cast %c {to = f32} : (tensor<20x8xui8>) -> tensor<20x8xf32>
  %d = nn.binary sub %f, %z : (tensor<20x8xf32>, tensor<20x1xf32>) -> tensor<20x8xf32>
  %w = nn.binary mul %s, %d : (tensor<20x1xf32>, tensor<20x8xf32>) -> tensor<20x8xf32>
  %y = nn.gemm %x, %w {trans_b} : (tensor<?x8xf32>, tensor<20x8xf32>) -> tensor<?x20xf32>
  %t = nn.transpose %w perm [1, 0] : (tensor<20x8xf32>) -> tensor<8x20xf32>
  %v = nn.matmul %x, %t : (tensor<?x8xf32>, tensor<8x20xf32>) -> tensor<?x20xf32>
  return %y, %v : tensor<?x20xf32>, tensor<?x20xf32>
}

// -----

// A scale that varies along K ends no sum: the weight is dequantised.
// CHECK: rt.dispatch @f32_map
// CHECK: kernel.contract {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<8x20xf32>)
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["s", 8]})
    -> (tensor<?x20xf32> {nn.name = "y", nn.dims = ["s", 20]}) {
  %c = nn.constant dense<3> : tensor<8x20xi8>
  %s = nn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %w = nn.dequantize_linear %c, %s {axis = 0 : i64, block_size = 0 : i64} : (tensor<8x20xi8>, tensor<8xf32>) -> tensor<8x20xf32>
  %y = nn.matmul %x, %w : (tensor<?x8xf32>, tensor<8x20xf32>) -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}

// -----

// Half bytes, whose blocks have scales of their own.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{axis = 1 : i64, bits = 4 : i64, block = 4 : i64, kind = "quantize"}, {kind = "pack", nibbles = true, panel = 16 : i64}]{{.*}}} : tensor<2x4x16xi8>
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{axis = 1 : i64, bits = 4 : i64, block = 4 : i64, kind = "scales"}, {kind = "pack", panel = 16 : i64}]{{.*}}} : tensor<2x2x16xf32>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x8xf32>, tensor<2x4x16xi8>, tensor<2x2x16xf32>) attributes {block_size = 4 : i64
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["s", 8]})
    -> (tensor<?x20xf32> {nn.name = "y", nn.dims = ["s", 20]}) {
  %w = nn.constant #nn.external<"w", 0, 640> -> tensor<8x20xf32>
  %c, %s = nn.quantize_weight %w {axis = 1 : i64, block_size = 4 : i64, to = i4} : (tensor<8x20xf32>) -> (tensor<8x20xi4>, tensor<2x20xf32>)
  %d = nn.dequantize_linear %c, %s {axis = 0 : i64, block_size = 4 : i64} : (tensor<8x20xi4>, tensor<2x20xf32>) -> tensor<8x20xf32>
  %y = nn.matmul %x, %d : (tensor<?x8xf32>, tensor<8x20xf32>) -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}

// -----

// Half bytes of the model, N x K: unsigned ones around 8 get signed by their highest bit.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "flip"}, {kind = "transpose", permutation = array<i64: 1, 0>}, {kind = "pack", nibbles = true, panel = 16 : i64}]{{.*}}} : tensor<2x4x16xi8>
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "transpose", permutation = array<i64: 1, 0>}, {kind = "pack", panel = 16 : i64}]{{.*}}} : tensor<2x2x16xf32>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["s", 8]})
    -> (tensor<?x20xf32> {nn.name = "y", nn.dims = ["s", 20]}) {
  %c = nn.constant dense<3> : tensor<20x8xui4>
  %s = nn.constant dense<1.5> : tensor<20x2xf32>
  %z = nn.constant dense<8> : tensor<20x2xui4>
  %d = nn.dequantize_linear %c, %s, %z {axis = 1 : i64, block_size = 4 : i64} : (tensor<20x8xui4>, tensor<20x2xf32>, tensor<20x2xui4>) -> tensor<20x8xf32>
  %t = nn.transpose %d perm [1, 0] : (tensor<20x8xf32>) -> tensor<8x20xf32>
  %y = nn.matmul %x, %t : (tensor<?x8xf32>, tensor<8x20xf32>) -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}

// -----

// Bytes of the model by blocks, N x K, around 128; blocks may be of any size.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "flip"}, {kind = "transpose", permutation = array<i64: 1, 0>}, {kind = "pack", panel = 16 : i64}]{{.*}}} : tensor<2x8x16xi8>
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "transpose", permutation = array<i64: 1, 0>}, {kind = "pack", panel = 16 : i64}]{{.*}}} : tensor<2x3x16xf32>
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x8xf32>, tensor<2x8x16x1xi8>, tensor<2x3x16xf32>) attributes {block_size = 3 : i64
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["s", 8]})
    -> (tensor<?x20xf32> {nn.name = "y", nn.dims = ["s", 20]}) {
  %c = nn.constant dense<3> : tensor<20x8xui8>
  %s = nn.constant dense<1.5> : tensor<20x3xf32>
  %z = nn.constant dense<128> : tensor<20x3xui8>
  %d = nn.dequantize_linear %c, %s, %z {axis = 1 : i64, block_size = 3 : i64} : (tensor<20x8xui8>, tensor<20x3xf32>, tensor<20x3xui8>) -> tensor<20x8xf32>
  %t = nn.transpose %d perm [1, 0] : (tensor<20x8xf32>) -> tensor<8x20xf32>
  %y = nn.matmul %x, %t : (tensor<?x8xf32>, tensor<8x20xf32>) -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}

// -----

// With zero points of blocks the weight is dequantised, from codes that take a byte each in the artifact.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{is_unsigned = true, kind = "widen"}], source = dense<3> : tensor<20x8xui4>{{.*}}} : tensor<20x8xi8>
// CHECK: rt.dispatch @f32_map
// CHECK: rt.dispatch @f32_contract
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["s", 8]})
    -> (tensor<?x20xf32> {nn.name = "y", nn.dims = ["s", 20]}) {
  %c = nn.constant dense<3> : tensor<20x8xui4>
  %s = nn.constant dense<1.5> : tensor<20x2xf32>
  %z = nn.constant dense<7> : tensor<20x2xui4>
  %d = nn.dequantize_linear %c, %s, %z {axis = 1 : i64, block_size = 4 : i64} : (tensor<20x8xui4>, tensor<20x2xf32>, tensor<20x2xui4>) -> tensor<20x8xf32>
  %t = nn.transpose %d perm [1, 0] : (tensor<20x8xf32>) -> tensor<8x20xf32>
  %y = nn.matmul %x, %t : (tensor<?x8xf32>, tensor<8x20xf32>) -> tensor<?x20xf32>
  return %y : tensor<?x20xf32>
}

// -----

// Floats that are codes on both sides multiply as codes: those of the left side end the kernel before, and who reads
// them as floats takes them from there too.
// CHECK: %[[CODES:.*]] = rt.buffer
// CHECK: rt.dispatch @i8_rowwise{{.*}} outs(%[[CODES]])
// CHECK: rt.dispatch @f32_contract{{.*}} ins(%[[CODES]]
// CHECK: rt.dispatch @f32_map{{.*}} ins(%[[CODES]]
// CHECK-NOT: rt.dispatch
// CHECK: kernel.rowwise
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x8xi8>, tensor<2x2x16x4xi8>,
// CHECK-SAME: packed_rhs = 20 : i64{{.*}}signed_lhs} epilogue {
// CHECK: %[[F:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: %[[A:.*]] = arith.mulf %[[F]]
// CHECK: arith.mulf %[[A]]
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["s", 8]})
    -> (tensor<?x20xf32> {nn.name = "y", nn.dims = ["s", 20]}, tensor<?x8xf32> {nn.name = "v", nn.dims = ["s", 8]}) {
  %g = nn.constant dense<1.0> : tensor<8xf32>
  %s = nn.constant dense<0.5> : tensor<f32>
  %z = nn.constant dense<3> : tensor<i8>
  %k = nn.constant #nn.external<"w", 0, 640> -> tensor<8x20xf32>
  %c, %t = nn.quantize_weight %k {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<8x20xf32>) -> (tensor<8x20xi8>, tensor<20xf32>)
  %w = nn.dequantize_linear %c, %t {axis = 1 : i64, block_size = 0 : i64} : (tensor<8x20xi8>, tensor<20xf32>) -> tensor<8x20xf32>
  %n = nn.layer_norm %x, %g, %g {axis = 1 : i64, epsilon = 1.0e-6 : f32} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %q = nn.quantize_linear %n, %s, %z {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<?x8xf32>, tensor<f32>, tensor<i8>) -> tensor<?x8xi8>
  %f = nn.dequantize_linear %q, %s, %z {axis = 0 : i64, block_size = 0 : i64} : (tensor<?x8xi8>, tensor<f32>, tensor<i8>) -> tensor<?x8xf32>
  %y = nn.matmul %f, %w : (tensor<?x8xf32>, tensor<8x20xf32>) -> tensor<?x20xf32>
  %v = nn.binary add %f, %x : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y, %v : tensor<?x20xf32>, tensor<?x8xf32>
}
