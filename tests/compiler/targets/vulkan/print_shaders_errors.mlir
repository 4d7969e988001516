// What has no form on Vulkan is refused by name.
//
// RUN: heddle-opt %s --vulkan-select-lowering-config --split-input-file --verify-diagnostics -o /dev/null

// expected-error @below {{has operands of f64, which kernels for Vulkan don't take}}
kernel.func @doubles(%x: tensor<8xf64>) -> tensor<8xf64> {
  %y = kernel.map bounds(affine_map<() -> (8)>) ins(%x : tensor<8xf64>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f64):
    kernel.yield %e : f64
  } : tensor<8xf64>
  kernel.return %y : tensor<8xf64>
}

// -----

kernel.func @doubles_inside(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = kernel.map bounds(affine_map<() -> (8)>) ins(%x : tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    %wide = arith.extf %e : f32 to f64
    // expected-error @below {{has no form on this target for elements of type 'f64'}}
    %r = math.exp %wide : f64
    %n = arith.truncf %r : f64 to f32
    kernel.yield %n : f32
  } : tensor<8xf32>
  kernel.return %y : tensor<8xf32>
}

// -----

kernel.func @large(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = kernel.map bounds(affine_map<() -> (8)>) ins(%x : tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    %wide = arith.extf %e : f32 to f64
    // expected-error @below {{holds 1.000000e+300, which this target's numbers don't reach}}
    %huge = arith.constant 1.0e300 : f64
    %r = arith.mulf %wide, %huge : f64
    %n = arith.truncf %r : f64 to f32
    kernel.yield %n : f32
  } : tensor<8xf32>
  kernel.return %y : tensor<8xf32>
}

// -----

kernel.func @arcs(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = kernel.map bounds(affine_map<() -> (8)>) ins(%x : tensor<8xf32>)
      attributes {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>]} {
  ^bb0(%e: f32):
    // expected-error @below {{has no expansion on this target}}
    %r = math.atan %e : f32
    kernel.yield %r : f32
  } : tensor<8xf32>
  kernel.return %y : tensor<8xf32>
}
