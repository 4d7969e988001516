// Convolutions of codes, in i32 less their zero points or dequantised: products of the codes themselves.
//
// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// A convolution of codes reads patches of its codes, whose padding is the zero point, with channels last: runs of bytes.
// The zero point is taken off by sums of the weight's rows; codes of 1 stay within 16 bits.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{axis = 1 : i64, begin = 0 : i64, every = 2 : i64, kind = "slice", size = 16 : i64}, {axis = 1 : i64, kind = "concat", recipe = [{axis = 1 : i64, begin = 1 : i64, every = 2 : i64, kind = "slice", size = 16 : i64}], {{.*}}}, {kind = "transpose", permutation = array<i64: 1, 0>}, {group = 4 : i64, kind = "pack", panel = 16 : i64}]{{.*}} : tensor<2x8x16x4xi8>
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{{.*}}, {axis = 0 : i64, kind = "sums"}]{{.*}} : tensor<20xi32>
// CHECK: rt.dispatch @i8_map
// CHECK: rt.dispatch @i8_map
// CHECK: rt.dispatch @{{.*}}contract
// CHECK: kernel.func @i8_map{{.*}}tensor<?x16x9xi8>{{.*}} -> (tensor<?x11x16xi8>
// CHECK: kernel.map {{.*}} : tensor<?x11x16xi8>
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x32xi8>, tensor<2x8x16x4xi8>, tensor<i32>, tensor<20xi32>{{.*}} pair_safe
func.func @main(%x: tensor<?x16x9xui8> {nn.name = "x", nn.dims = ["b", 16, 9]})
    -> (tensor<?x20x10xi32> {nn.name = "y", nn.dims = ["b", 20, 10]}) {
  %w = nn.constant dense<1> : tensor<20x16x2xi8>
  %z = nn.constant dense<113> : tensor<i32>
  %c = nn.cast %x {to = i32} : (tensor<?x16x9xui8>) -> tensor<?x16x9xi32>
  %l = nn.binary sub %c, %z : (tensor<?x16x9xi32>, tensor<i32>) -> tensor<?x16x9xi32>
  %r = nn.cast %w {to = i32} : (tensor<20x16x2xi8>) -> tensor<20x16x2xi32>
  %y = nn.conv %l, %r {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 1, 1>, strides = array<i64: 1>} : (tensor<?x16x9xi32>, tensor<20x16x2xi32>) -> tensor<?x20x10xi32>
  return %y : tensor<?x20x10xi32>
}

// -----

// Offsets of one position take no patches: rows are the input's positions, whose channels lie apart.
// CHECK-DAG: #[[POSITIONS:.*]] = affine_map<(d0, d1, d2, d3)[s0] -> (d0, d3, d1)>
// CHECK-DAG: #[[FEATURES:.*]] = affine_map<(d0, d1, d2, d3)[s0] -> (d0, d2, d1)>
// CHECK-NOT: rt.dispatch @{{.*}}map
// CHECK: rt.dispatch @{{.*}}contract
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x16x9xi8>, tensor<2x4x16x4xi8>
// CHECK-SAME: indexing_maps = [#[[POSITIONS]], {{.*}}, #[[FEATURES]]]
func.func @main(%x: tensor<?x16x9xui8> {nn.name = "x", nn.dims = ["b", 16, 9]})
    -> (tensor<?x20x9xi32> {nn.name = "y", nn.dims = ["b", 20, 9]}) {
  %w = nn.constant dense<1> : tensor<20x16x1xi8>
  %l = nn.cast %x {to = i32} : (tensor<?x16x9xui8>) -> tensor<?x16x9xi32>
  %r = nn.cast %w {to = i32} : (tensor<20x16x1xi8>) -> tensor<20x16x1xi32>
  %y = nn.conv %l, %r {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x16x9xi32>, tensor<20x16x1xi32>) -> tensor<?x20x9xi32>
  return %y : tensor<?x20x9xi32>
}

// -----

// Few channels stay where they are, and so do their weights. A zero point of the weight takes sums of patches.
// CHECK-DAG: rt.constant @{{.*}} {recipe = [{kind = "flip"}, {kind = "transpose", permutation = array<i64: 1, 0>}, {group = 4 : i64, kind = "pack", panel = 16 : i64}]{{.*}} : tensor<2x2x16x4xi8>
// CHECK: rt.dispatch @i8_map
// CHECK: rt.dispatch @{{.*}}reduce
// CHECK: rt.dispatch @{{.*}}contract
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x6xi8>, tensor<2x2x16x4xi8>,
// CHECK-SAME: signed_lhs
func.func @main(%x: tensor<?x3x9xi8> {nn.name = "x", nn.dims = ["b", 3, 9]})
    -> (tensor<?x20x8xi32> {nn.name = "y", nn.dims = ["b", 20, 8]}) {
  %w = nn.constant dense<1> : tensor<20x3x2xui8>
  %z = nn.constant dense<130> : tensor<i32>
  %l = nn.cast %x {to = i32} : (tensor<?x3x9xi8>) -> tensor<?x3x9xi32>
  %c = nn.cast %w {to = i32} : (tensor<20x3x2xui8>) -> tensor<20x3x2xi32>
  %r = nn.binary sub %c, %z : (tensor<20x3x2xi32>, tensor<i32>) -> tensor<20x3x2xi32>
  %y = nn.conv %l, %r {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x3x9xi32>, tensor<20x3x2xi32>) -> tensor<?x20x8xi32>
  return %y : tensor<?x20x8xi32>
}

// -----

// With channels last the pairs are neighbours of channels: 127 and 127 here, of offsets 127 and -127.
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x32xi8>, tensor<1x8x16x4xi8>
// CHECK-NOT: pair_safe
// CHECK-SAME: epilogue
func.func @main(%x: tensor<?x16x9xui8> {nn.name = "x", nn.dims = ["b", 16, 9]})
    -> (tensor<?x1x8xi32> {nn.name = "y", nn.dims = ["b", 1, 8]}) {
  %w = nn.constant dense<[[[127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127], [127, -127]]]> : tensor<1x16x2xi8>
  %l = nn.cast %x {to = i32} : (tensor<?x16x9xui8>) -> tensor<?x16x9xi32>
  %r = nn.cast %w {to = i32} : (tensor<1x16x2xi8>) -> tensor<1x16x2xi32>
  %y = nn.conv %l, %r {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x16x9xi32>, tensor<1x16x2xi32>) -> tensor<?x1x8xi32>
  return %y : tensor<?x1x8xi32>
}

// -----

// And the other way round.
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x32xi8>, tensor<1x8x16x4xi8>
// CHECK-SAME: pair_safe
func.func @main(%x: tensor<?x16x9xui8> {nn.name = "x", nn.dims = ["b", 16, 9]})
    -> (tensor<?x1x8xi32> {nn.name = "y", nn.dims = ["b", 1, 8]}) {
  %w = nn.constant dense<[[[127, 127], [-127, -127], [127, 127], [-127, -127], [127, 127], [-127, -127], [127, 127], [-127, -127], [127, 127], [-127, -127], [127, 127], [-127, -127], [127, 127], [-127, -127], [127, 127], [-127, -127]]]> : tensor<1x16x2xi8>
  %l = nn.cast %x {to = i32} : (tensor<?x16x9xui8>) -> tensor<?x16x9xi32>
  %r = nn.cast %w {to = i32} : (tensor<1x16x2xi8>) -> tensor<1x16x2xi32>
  %y = nn.conv %l, %r {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x16x9xi32>, tensor<1x16x2xi32>) -> tensor<?x1x8xi32>
  return %y : tensor<?x1x8xi32>
}

// -----

// Groups have a matrix each, which isn't packed: the sum is taken over the input.
// CHECK-NOT: kernel.contract
// CHECK: kernel.reduce
func.func @main(%x: tensor<?x16x9xui8> {nn.name = "x", nn.dims = ["b", 16, 9]})
    -> (tensor<?x20x9xi32> {nn.name = "y", nn.dims = ["b", 20, 9]}) {
  %w = nn.constant dense<1> : tensor<20x8x1xi8>
  %l = nn.cast %x {to = i32} : (tensor<?x16x9xui8>) -> tensor<?x16x9xi32>
  %r = nn.cast %w {to = i32} : (tensor<20x8x1xi8>) -> tensor<20x8x1xi32>
  %y = nn.conv %l, %r {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x16x9xi32>, tensor<20x8x1xi32>) -> tensor<?x20x9xi32>
  return %y : tensor<?x20x9xi32>
}

// -----

// Floats that are codes on both sides: their scales follow the sum, then the bias and what comes behind.
// CHECK: rt.dispatch @i8_map
// CHECK: rt.dispatch @{{.*}}contract
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x48xi8>, tensor<2x12x16x4xi8>
// CHECK: %[[F:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: %[[A:.*]] = arith.mulf %[[F]]
// CHECK: %[[B:.*]] = arith.mulf %[[A]]
// CHECK: arith.addf %[[B]]
// CHECK-NOT: arith.mulf
// CHECK: kernel.yield %{{.*}} : i8
func.func @main(%x: tensor<?x16x9xui8> {nn.name = "x", nn.dims = ["b", 16, 9]},
                %b: tensor<20xf32> {nn.name = "b", nn.dims = [20]}, %t: tensor<20xf32> {nn.name = "t", nn.dims = [20]})
    -> (tensor<?x20x9xui8> {nn.name = "y", nn.dims = ["b", 20, 9]}) {
  %w = nn.constant dense<1> : tensor<20x16x3xi8>
  %s = nn.constant dense<0.5> : tensor<f32>
  %z = nn.constant dense<113> : tensor<ui8>
  %l = nn.dequantize_linear %x, %s, %z {axis = 1 : i64, block_size = 0 : i64} : (tensor<?x16x9xui8>, tensor<f32>, tensor<ui8>) -> tensor<?x16x9xf32>
  %r = nn.dequantize_linear %w, %t {axis = 0 : i64, block_size = 0 : i64} : (tensor<20x16x3xi8>, tensor<20xf32>) -> tensor<20x16x3xf32>
  %y = nn.conv %l, %r, %b {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 1, 1>, strides = array<i64: 1>} : (tensor<?x16x9xf32>, tensor<20x16x3xf32>, tensor<20xf32>) -> tensor<?x20x9xf32>
  %p = nn.unary relu %y : (tensor<?x20x9xf32>) -> tensor<?x20x9xf32>
  %q = nn.quantize_linear %p, %s, %z {axis = 0 : i64, block_size = 0 : i64, to = ui8} : (tensor<?x20x9xf32>, tensor<f32>, tensor<ui8>) -> tensor<?x20x9xui8>
  return %q : tensor<?x20x9xui8>
}

// -----

// A scale for each channel of the weight, along K, ends no sum.
// CHECK-NOT: xi8>, tensor<{{.*}}x16x4xi8>
// CHECK: kernel.contract {{.*}} ins({{.*}} : tensor<?x16xf32>
func.func @main(%x: tensor<?x16x9xui8> {nn.name = "x", nn.dims = ["b", 16, 9]},
                %t: tensor<16xf32> {nn.name = "t", nn.dims = [16]})
    -> (tensor<?x20x9xf32> {nn.name = "y", nn.dims = ["b", 20, 9]}) {
  %w = nn.constant dense<1> : tensor<20x16x1xi8>
  %s = nn.constant dense<0.5> : tensor<f32>
  %l = nn.dequantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64} : (tensor<?x16x9xui8>, tensor<f32>) -> tensor<?x16x9xf32>
  %r = nn.dequantize_linear %w, %t {axis = 1 : i64, block_size = 0 : i64} : (tensor<20x16x1xi8>, tensor<16xf32>) -> tensor<20x16x1xf32>
  %y = nn.conv %l, %r {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x16x9xf32>, tensor<20x16x1xf32>) -> tensor<?x20x9xf32>
  return %y : tensor<?x20x9xf32>
}
