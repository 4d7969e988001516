// RUN: heddle-opt %s --nn-fold-constants --split-input-file | FileCheck %s
// RUN: heddle-opt %s --nn-fold-constants=max-operand-bytes=8 --split-input-file | FileCheck %s --check-prefix=LIMIT

// The example of Passes.td.
// CHECK-LABEL: func.func @folds_a_scale_of_roots
func.func @folds_a_scale_of_roots(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %size = nn.constant dense<64.0> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %root = nn.unary sqrt %size : (tensor<f32>) -> tensor<f32>
  %scale = nn.binary div %one, %root : (tensor<f32>, tensor<f32>) -> tensor<f32>
  // CHECK-NEXT: %[[SCALE:.*]] = nn.constant dense<1.250000e-01> : tensor<f32>
  // CHECK-NEXT: nn.binary mul %{{.*}}, %[[SCALE]]
  // LIMIT: nn.constant dense<1.250000e-01>
  %y = nn.binary mul %x, %scale : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

// CHECK-LABEL: func.func @leaves_operands_above_the_limit_alone
// LIMIT-LABEL: func.func @leaves_operands_above_the_limit_alone
func.func @leaves_operands_above_the_limit_alone() -> tensor<3xf32> {
  %x = nn.constant dense<[1.0, 4.0, 9.0]> : tensor<3xf32>
  // CHECK-NEXT: nn.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]>
  // LIMIT: nn.unary sqrt
  %y = nn.unary sqrt %x : (tensor<3xf32>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @rounds_floats_op_by_op
func.func @rounds_floats_op_by_op() -> (tensor<f32>, tensor<f16>) {
  // 1/3 * 3 is 1 after rounding each, and not in the middle.
  %one = nn.constant dense<1.0> : tensor<f32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %third = nn.binary div %one, %three : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %double = nn.cast %third {to = f64} : (tensor<f32>) -> tensor<f64>
  %back = nn.cast %double {to = f32} : (tensor<f64>) -> tensor<f32>
  // 2049 isn't an f16: half way to the even 2048.
  %big = nn.constant dense<2048.0> : tensor<f16>
  %unit = nn.constant dense<1.0> : tensor<f16>
  %sum = nn.binary add %big, %unit : (tensor<f16>, tensor<f16>) -> tensor<f16>
  // CHECK-DAG: %[[THIRD:.*]] = nn.constant dense<0.333333343> : tensor<f32>
  // CHECK-DAG: %[[SUM:.*]] = nn.constant dense<2.048000e+03> : tensor<f16>
  // CHECK: return %[[THIRD]], %[[SUM]]
  return %back, %sum : tensor<f32>, tensor<f16>
}

// -----

// CHECK-LABEL: func.func @folds_integers_and_bools_of_every_width
func.func @folds_integers_and_bools_of_every_width() -> (tensor<2xi8>, tensor<2xui8>, tensor<3xi1>, tensor<1xi64>) {
  %a = nn.constant dense<[127, -128]> : tensor<2xi8>
  %b = nn.constant dense<[1, -1]> : tensor<2xi8>
  %c = nn.binary add %a, %b : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi8>
  %d = nn.cast %b {to = ui8} : (tensor<2xi8>) -> tensor<2xui8>
  %e = nn.constant dense<[1, 2, 3]> : tensor<3xi64>
  %two = nn.constant dense<2> : tensor<i64>
  %f = nn.compare lt %e, %two : (tensor<3xi64>, tensor<i64>) -> tensor<3xi1>
  %g = nn.reduce prod %e axes [0] {keepdims} : (tensor<3xi64>) -> tensor<1xi64>
  // CHECK-DAG: nn.constant dense<[-128, 127]> : tensor<2xi8>
  // CHECK-DAG: nn.constant dense<[1, 255]> : tensor<2xui8>
  // CHECK-DAG: nn.constant dense<[true, false, false]> : tensor<3xi1>
  // CHECK-DAG: nn.constant dense<6> : tensor<1xi64>
  // CHECK-NOT: nn.{{binary|cast|compare|reduce}}
  return %c, %d, %f, %g : tensor<2xi8>, tensor<2xui8>, tensor<3xi1>, tensor<1xi64>
}

// -----

// CHECK-LABEL: func.func @folds_all_results_of_an_op
func.func @folds_all_results_of_an_op() -> (tensor<1xi64>, tensor<2xi64>) {
  %x = nn.constant dense<[5, 6, 7]> : tensor<3xi64>
  %a, %b = nn.split %x {axis = 0 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 1, 2>}
     : (tensor<3xi64>) -> (tensor<1xi64>, tensor<2xi64>)
  // CHECK-NEXT: %[[A:.*]] = nn.constant dense<5> : tensor<1xi64>
  // CHECK-NEXT: %[[B:.*]] = nn.constant dense<[6, 7]> : tensor<2xi64>
  // CHECK-NEXT: return %[[A]], %[[B]]
  return %a, %b : tensor<1xi64>, tensor<2xi64>
}

// -----

// CHECK-LABEL: func.func @folds_at_most_four_kibibytes
func.func @folds_at_most_four_kibibytes() -> (tensor<1024xf32>, tensor<1025xf32>) {
  %fill = nn.constant dense<0.5> : tensor<f32>
  %fits = nn.constant dense<1024> : tensor<1xi64>
  %larger = nn.constant dense<1025> : tensor<1xi64>
  // CHECK-DAG: nn.constant dense<5.000000e-01> : tensor<1024xf32>
  %a = nn.expand %fill, %fits : (tensor<f32>, tensor<1xi64>) -> tensor<1024xf32>
  // CHECK-DAG: nn.expand %{{.*}} : (tensor<f32>, tensor<1xi64>) -> tensor<1025xf32>
  %b = nn.expand %fill, %larger : (tensor<f32>, tensor<1xi64>) -> tensor<1025xf32>
  return %a, %b : tensor<1024xf32>, tensor<1025xf32>
}

// -----

// CHECK-LABEL: func.func @makes_types_more_exact_where_users_allow
func.func @makes_types_more_exact_where_users_allow(%x: tensor<?x6xf32>) -> (tensor<?x?xf32>, tensor<?xi64>) {
  %zero = nn.constant dense<0> : tensor<i64>
  %two = nn.constant dense<2> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  // CHECK: %[[SHAPE:.*]] = nn.constant dense<[-1, 6]> : tensor<2xi64>
  %range = nn.range %zero, %two, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %minus = nn.constant dense<[-1, 5]> : tensor<2xi64>
  %s = nn.binary add %range, %minus : (tensor<?xi64>, tensor<2xi64>) -> tensor<2xi64>
  // The signature says tensor<?xi64>.
  // CHECK: nn.range
  %kept = nn.range %zero, %two, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  // CHECK: nn.reshape %{{.*}}, %[[SHAPE]]
  %y = nn.reshape %x, %s : (tensor<?x6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %y, %kept : tensor<?x?xf32>, tensor<?xi64>
}

// -----

// CHECK-LABEL: func.func @keeps_what_depends_on_an_input
func.func @keeps_what_depends_on_an_input(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = nn.constant dense<2.0> : tensor<2xf32>
  // CHECK: nn.binary mul
  %y = nn.binary mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// Codes that a convolution of codes multiplies stay codes; those of one in floats, or in groups, don't.
// CHECK-LABEL: func.func @convolved_codes
// CHECK: %[[CODES:.*]] = nn.constant dense<3> : tensor<4x2x1xi8>
// CHECK: %[[WIDE:.*]] = nn.cast %[[CODES]] {to = i32}
// CHECK: %[[WEIGHT:.*]] = nn.binary sub %[[WIDE]]
// CHECK: nn.conv %{{.*}}, %[[WEIGHT]]
// CHECK: %[[FLOATS:.*]] = nn.dequantize_linear %[[CODES]]
// CHECK: nn.conv %{{.*}}, %[[FLOATS]]
// CHECK-NOT: nn.dequantize_linear
// CHECK: nn.conv %{{.*}}, %{{.*}} {{.*}}group = 1 : i64
// CHECK-NOT: nn.cast
// CHECK: nn.conv %{{.*}}, %{{.*}} {{.*}}group = 2 : i64
func.func @convolved_codes(%x: tensor<1x2x9xui8>, %f: tensor<1x2x9xf32>, %i: tensor<1x4x9xi32>)
    -> (tensor<1x4x9xi32>, tensor<1x4x9xf32>, tensor<1x4x9xf32>, tensor<1x4x9xi32>) {
  %c = nn.constant dense<3> : tensor<4x2x1xi8>
  %s = nn.constant dense<0.5> : tensor<f32>
  %z = nn.constant dense<1> : tensor<i32>
  %l = nn.cast %x {to = i32} : (tensor<1x2x9xui8>) -> tensor<1x2x9xi32>
  %w = nn.cast %c {to = i32} : (tensor<4x2x1xi8>) -> tensor<4x2x1xi32>
  %r = nn.binary sub %w, %z : (tensor<4x2x1xi32>, tensor<i32>) -> tensor<4x2x1xi32>
  %a = nn.conv %l, %r {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x2x9xi32>, tensor<4x2x1xi32>) -> tensor<1x4x9xi32>
  %d = nn.dequantize_linear %x, %s {axis = 1 : i64, block_size = 0 : i64} : (tensor<1x2x9xui8>, tensor<f32>) -> tensor<1x2x9xf32>
  %v = nn.dequantize_linear %c, %s {axis = 0 : i64, block_size = 0 : i64} : (tensor<4x2x1xi8>, tensor<f32>) -> tensor<4x2x1xf32>
  %b = nn.conv %d, %v {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x2x9xf32>, tensor<4x2x1xf32>) -> tensor<1x4x9xf32>
  %u = nn.dequantize_linear %c, %s {axis = 0 : i64, block_size = 0 : i64} : (tensor<4x2x1xi8>, tensor<f32>) -> tensor<4x2x1xf32>
  %e = nn.conv %f, %u {dilations = array<i64: 1>, group = 1 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x2x9xf32>, tensor<4x2x1xf32>) -> tensor<1x4x9xf32>
  %t = nn.cast %c {to = i32} : (tensor<4x2x1xi8>) -> tensor<4x2x1xi32>
  %g = nn.conv %i, %t {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<1x4x9xi32>, tensor<4x2x1xi32>) -> tensor<1x4x9xi32>
  return %a, %b, %e, %g : tensor<1x4x9xi32>, tensor<1x4x9xf32>, tensor<1x4x9xf32>, tensor<1x4x9xi32>
}
