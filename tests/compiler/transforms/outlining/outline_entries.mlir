// RUN: heddle-opt %s --nn-outline-kernels | FileCheck %s

// Two entry points of one model: one is the other for 8 rows. Weights, defaults and kernels that are the same are there
// once; a kernel that knows the rows is another.

// CHECK: rt.constant @w0
// CHECK: rt.constant @default1
// CHECK-NOT: rt.constant @
// CHECK: rt.func @main attributes {inputs = [{dims = ["rows", 4]{{.*}}default = @default1
// CHECK-NOT: specializes
// CHECK: rt.constant_buffer @w0
// CHECK: rt.dispatch @[[SUM:[a-z0-9_]+]] ins
// CHECK: rt.dispatch @[[TANH:[a-z0-9_]+]] ins
func.func @main(%x: tensor<?x4xf32> {nn.name = "x", nn.dims = ["rows", 4]},
                %b: tensor<4xf32> {nn.name = "b", nn.dims = [4],
                                   nn.default = {type = tensor<4xf32>, value = dense<2.0> : tensor<4xf32>}})
    -> (tensor<4xf32> {nn.name = "s", nn.dims = [4]}, tensor<?x4xf32> {nn.name = "y", nn.dims = ["rows", 4]}) {
  %w = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = nn.binary add %b, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.unary tanh %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %s, %y : tensor<4xf32>, tensor<?x4xf32>
}

// CHECK: rt.func @main_8 attributes {inputs = [{dims = [8, 4]{{.*}}default = @default1{{.*}}specializes = @main}
// CHECK: rt.constant_buffer @w0
// CHECK: rt.dispatch @[[SUM]] ins
// CHECK-NOT: rt.dispatch @[[TANH]]
// CHECK: rt.dispatch @[[TANH8:[a-z0-9_]+]] ins
// CHECK-NOT: kernel.func @[[SUM]]
// CHECK: kernel.func @[[TANH8]](%{{.*}}: tensor<8x4xf32>)
func.func @main_8(%x: tensor<8x4xf32> {nn.name = "x", nn.dims = [8, 4]},
                  %b: tensor<4xf32> {nn.name = "b", nn.dims = [4],
                                     nn.default = {type = tensor<4xf32>, value = dense<2.0> : tensor<4xf32>}})
    -> (tensor<4xf32> {nn.name = "s", nn.dims = [4]}, tensor<8x4xf32> {nn.name = "y", nn.dims = [8, 4]})
    attributes {nn.specializes = @main} {
  %w = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = nn.binary add %b, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %y = nn.unary tanh %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %s, %y : tensor<4xf32>, tensor<8x4xf32>
}
