// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Padding is never the greatest element.
// CHECK: kernel.reduce sizes(%{{.*}}) bounds(#{{.*}})
// CHECK-SAME: combiners = [#kernel.combiner<maximum>]
// CHECK-SAME: reduction_loops = array<i64: 4, 5>
// CHECK: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: kernel.gather
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[LOWEST]]
func.func @main(%x: tensor<?x3x8x8xf32> {nn.name = "x", nn.dims = ["b", 3, 8, 8]})
    -> (tensor<?x3x4x4xf32> {nn.name = "y", nn.dims = ["b", 3, 4, 4]}) {
  %y = nn.pool max %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>,
                       dilations = array<i64: 1, 1>} : (tensor<?x3x8x8xf32>) -> tensor<?x3x4x4xf32>
  return %y : tensor<?x3x4x4xf32>
}

// -----

// A mean has a second accumulator that counts what the window holds.
// CHECK: combiners = [#kernel.combiner<sum>, #kernel.combiner<sum>]
// CHECK: finish
// CHECK: ^bb0(%[[SUM:.*]]: f32, %[[COUNT:.*]]: f32):
// CHECK: arith.divf %[[SUM]], %[[COUNT]]
func.func @main(%x: tensor<?x3x8xf32> {nn.name = "x", nn.dims = ["b", 3, 8]}) -> (tensor<?x3x4xf32> {nn.name = "y", nn.dims = ["b", 3, 4]}) {
  %y = nn.pool average %x {kernel = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 1>,
                           dilations = array<i64: 1>} : (tensor<?x3x8xf32>) -> tensor<?x3x4xf32>
  return %y : tensor<?x3x4xf32>
}

// -----

// The transposed convolution multiplies each input position by the whole weight; an output gathers the two products a
// stride apart that meet there.
// CHECK: rt.dispatch @[[PRODUCTS:[a-z0-9_]*contract[a-z0-9_]*]]
// CHECK: rt.dispatch @[[GATHER:[a-z0-9_]*reduce[a-z0-9_]*]]
// CHECK: kernel.func @[[PRODUCTS]](
// CHECK: kernel.contract
// CHECK: kernel.func @[[GATHER]](
// CHECK: %[[PLACE:.*]] = arith.divui %[[SUM:.*]], %[[STRIDE:.*]] : index
// CHECK: arith.subi %[[PLACE]]
// CHECK: arith.remui %[[SUM]], %[[STRIDE]] : index
// CHECK: kernel.gather
func.func @main(%x: tensor<?x8x10xf32> {nn.name = "x", nn.dims = ["b", 8, 10]}, %w: tensor<8x4x4xf32> {nn.name = "w", nn.dims = [8, 4, 4]})
    -> (tensor<?x4x20xf32> {nn.name = "y", nn.dims = ["b", 4, 20]}) {
  %y = nn.conv_transpose %x, %w {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>,
                                 pads = array<i64: 1, 1>, strides = array<i64: 2>}
     : (tensor<?x8x10xf32>, tensor<8x4x4xf32>) -> tensor<?x4x20xf32>
  return %y : tensor<?x4x20xf32>
}

// -----

// Depthwise there is nothing to multiply at once. A dilated offset reaches an output where the stride divides the way
// between them.
// CHECK-NOT: kernel.contract
// CHECK: kernel.reduce
// CHECK: %[[REST:.*]] = arith.remsi %{{.*}}, %{{.*}} : index
// CHECK: %[[HIT:.*]] = arith.cmpi eq, %[[REST]]
// CHECK: arith.select %[[HIT]]
// CHECK: kernel.gather
func.func @main(%x: tensor<?x8x10xf32> {nn.name = "x", nn.dims = ["b", 8, 10]}, %w: tensor<8x1x3xf32> {nn.name = "w", nn.dims = [8, 1, 3]})
    -> (tensor<?x8x21xf32> {nn.name = "y", nn.dims = ["b", 8, 21]}) {
  %y = nn.conv_transpose %x, %w {dilations = array<i64: 2>, group = 8 : i64, output_padding = array<i64: 0>,
                                 pads = array<i64: 1, 1>, strides = array<i64: 2>}
     : (tensor<?x8x10xf32>, tensor<8x1x3xf32>) -> tensor<?x8x21xf32>
  return %y : tensor<?x8x21xf32>
}

// -----

// Two taps an axis, four elements in all; the axis that keeps its extent has none.
// CHECK: kernel.map
// CHECK: math.floor %{{.*}} : f64
// CHECK-COUNT-4: kernel.gather
// CHECK-NOT: kernel.gather
func.func @main(%x: tensor<?x3x4x5xf32> {nn.name = "x", nn.dims = ["b", 3, 4, 5]})
    -> (tensor<?x3x8x9xf32> {nn.name = "y", nn.dims = ["b", 3, 8, 9]}) {
  %sizes = nn.constant dense<[3, 8, 9]> : tensor<3xi64>
  %y = nn.resize linear %x, %sizes {axes = array<i64: 1, 2, 3>, coordinates = #nn<resize_coordinates half_pixel>,
                                    rounding = #nn<resize_rounding floor>} : (tensor<?x3x4x5xf32>, tensor<3xi64>) -> tensor<?x3x8x9xf32>
  return %y : tensor<?x3x8x9xf32>
}
