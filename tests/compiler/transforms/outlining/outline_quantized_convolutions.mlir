// Convolutions in i32 of codes, less their zero points: products of the codes themselves.
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
