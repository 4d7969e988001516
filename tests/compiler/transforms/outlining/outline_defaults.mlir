// RUN: heddle-opt %s --nn-outline-kernels | FileCheck %s

// What stands for an input becomes a constant of the artifact, as it is but for its sign, which kernels don't know;
// inputs that were made constants are remembered.
// CHECK-DAG: rt.constant @default1 {recipe = [], source = dense<[1.000000e+00, 2.000000e+00]>{{.*}} : tensor<2xf32>
// CHECK-DAG: rt.constant @default2 {recipe = [], source = dense<7>{{.*}} tensor<ui8>} : tensor<i8>
// CHECK: rt.func @main attributes {
// CHECK-SAME: {dims = ["n"], name = "x", type = f32}, {default = @default1, dims = ["n"], name = "b", type = f32}
// CHECK-SAME: nn.constant_inputs = ["w"]
func.func @main(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["n"]},
                %b: tensor<?xf32> {nn.name = "b", nn.dims = ["n"],
                                   nn.default = {type = tensor<2xf32>, value = dense<[1.0, 2.0]> : tensor<2xf32>}},
                %c: tensor<ui8> {nn.name = "c", nn.dims = [],
                                 nn.default = {type = tensor<ui8>, value = dense<7> : tensor<ui8>}})
    -> (tensor<?xf32> {nn.name = "y", nn.dims = ["n"]}) attributes {nn.constant_inputs = ["w"]} {
  %y = nn.binary add %x, %b : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
