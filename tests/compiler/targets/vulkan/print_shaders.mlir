// The text of a map's shader: constants and inputs in bindings of their own, places by push constants, tails left out; and
// doubles within a region as pairs of floats.
//
// RUN: heddle-opt %s --vulkan-select-lowering-config --vulkan-print-shaders -o /dev/null | FileCheck %s

// CHECK: // @scale, form plain
// CHECK: #version 450
// CHECK: layout(push_constant) uniform Push {
// CHECK-NEXT: uint first_x, first_y, first_z;
// CHECK: layout(set = 0, binding = 0, std430) readonly buffer
// CHECK: layout(set = 0, binding = 1, std430) readonly buffer
// CHECK: layout(set = 0, binding = 3, std430) buffer
// CHECK: layout(constant_id = 3) const int ELEMENTS = 4;
// CHECK: void main() {
// CHECK: int end0 = min(8,
// CHECK: for (int {{.*}} < end0;
// CHECK: precise float {{.*}} = {{.*}} * {{.*}};
kernel.func @scale(%x: tensor<?x8xf32> {kernel.dims = array<i64: 0>}, %w: tensor<8xf32> {kernel.constant}, %n: index)
    -> (tensor<?x8xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.map sizes(%n) bounds(affine_map<()[s0] -> (s0, 8)>) ins(%x, %w : tensor<?x8xf32>, tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0] -> (i, j)>, affine_map<(i, j)[s0] -> (j)>,
                                   affine_map<(i, j)[s0] -> (i, j)>]} {
  ^bb0(%e: f32, %f: f32):
    %r = arith.mulf %e, %f : f32
    kernel.yield %r : f32
  } : tensor<?x8xf32>
  kernel.return %y : tensor<?x8xf32>
}

// CHECK: // @halves, form plain
// CHECK-NOT: double
// CHECK: floor(
kernel.func @halves(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = kernel.map bounds(affine_map<() -> (8)>) ins(%x : tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    %wide = arith.extf %e : f32 to f64
    %half = arith.constant 0.5 : f64
    %r = arith.mulf %wide, %half : f64
    %whole = math.floor %r : f64
    %n = arith.truncf %whole : f64 to f32
    kernel.yield %n : f32
  } : tensor<8xf32>
  kernel.return %y : tensor<8xf32>
}

// NaN is seen by its bits, and no comparison is the inverse of another.
// CHECK: // @unordered, form plain
// CHECK-NOT: isnan
// CHECK: bool [[T:v[0-9]+]] = [[X:v[0-9]+]] < [[Y:v[0-9]+]] || (floatBitsToUint([[X]]) & 0x7fffffffu) > 0x7f800000u || (floatBitsToUint([[Y]])
// CHECK: bool {{v[0-9]+}} = [[X]] != [[Y]] && !((floatBitsToUint([[X]])
kernel.func @unordered(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xi1> {
  %r = kernel.map bounds(affine_map<() -> (8)>) ins(%x, %y : tensor<8xf32>, tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32, %f: f32):
    %less = arith.cmpf ult, %e, %f : f32
    %unequal = arith.cmpf one, %e, %f : f32
    %both = arith.andi %less, %unequal : i1
    kernel.yield %both : i1
  } : tensor<8xi1>
  kernel.return %r : tensor<8xi1>
}

// A quotient that becomes a code is corrected by what it lacks; any other is the device's.
// CHECK: // @codes, form plain
// CHECK: precise float [[Q:v[0-9]+]] = {{v[0-9]+}} * {{v[0-9]+}};
// CHECK: & (-4096)
// CHECK: roundEven(
// CHECK-COUNT-1: precise float {{v[0-9]+}} = [[Z:v[0-9]+]] / [[S:v[0-9]+]];
// CHECK-NOT: & (-4096)
// CHECK: }
kernel.func @codes(%x: tensor<8xf32>, %s: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %r:2 = kernel.map bounds(affine_map<() -> (8)>) ins(%x, %s : tensor<8xf32>, tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                                   affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32, %f: f32):
    %steps = arith.divf %e, %f : f32
    %code = math.roundeven %steps : f32
    %other = arith.divf %f, %e : f32
    kernel.yield %code, %other : f32, f32
  } : tensor<8xf32>, tensor<8xf32>
  kernel.return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}
