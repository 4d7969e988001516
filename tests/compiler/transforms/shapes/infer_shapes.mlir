// RUN: heddle-opt %s --nn-infer-shapes --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @writes_static_sizes_and_the_shape_as_a_constant
func.func @writes_static_sizes_and_the_shape_as_a_constant(
    %x: tensor<?x?x384xf32> {nn.name = "x", nn.dims = ["B", "S", 384]}) -> tensor<?x12x?x?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?x384xf32>) -> tensor<2xi64>
  %heads = nn.constant dense<[12, -1]> : tensor<2xi64>
  %t = nn.concat %s, %heads {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  // CHECK-NOT: nn.shape
  // CHECK: %[[T:.*]] = nn.constant dense<[0, 0, 12, 32]> : tensor<4xi64>
  // CHECK: %[[Y:.*]] = nn.reshape %{{.*}}, %[[T]] : (tensor<?x?x384xf32>, tensor<4xi64>) -> tensor<?x?x12x32xf32>
  %y = nn.reshape %x, %t : (tensor<?x?x384xf32>, tensor<4xi64>) -> tensor<?x?x12x?xf32>
  // CHECK: %[[Z:.*]] = nn.unary tanh %[[Y]] : (tensor<?x?x12x32xf32>) -> tensor<?x?x12x32xf32>
  %z = nn.unary tanh %y : (tensor<?x?x12x?xf32>) -> tensor<?x?x12x?xf32>
  // The signature promises the type of a result.
  // CHECK: nn.transpose %[[Z]] perm [0, 2, 1, 3] : (tensor<?x?x12x32xf32>) -> tensor<?x12x?x?xf32>
  %r = nn.transpose %z perm [0, 2, 1, 3] : (tensor<?x?x12x?xf32>) -> tensor<?x12x?x?xf32>
  return %r : tensor<?x12x?x?xf32>
}

// -----

// CHECK-LABEL: func.func @writes_minus_one_only_for_what_is_left_over
func.func @writes_minus_one_only_for_what_is_left_over(
    %x: tensor<?x?x384xf32> {nn.name = "x", nn.dims = ["B", "S", 384]},
    %y: tensor<?x4xf32> {nn.name = "y", nn.dims = ["T", 4]}) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  // CHECK-DAG: %[[A:.*]] = nn.constant dense<[-1, 384]> : tensor<2xi64>
  // CHECK-DAG: nn.reshape %{{.*}}, %[[A]] :
  %sx = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?x384xf32>) -> tensor<2xi64>
  %p = nn.reduce prod %sx axes [0] {keepdims} : (tensor<2xi64>) -> tensor<1xi64>
  %w = nn.constant dense<384> : tensor<1xi64>
  %t = nn.concat %p, %w {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %r = nn.reshape %x, %t : (tensor<?x?x384xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  // That T and what is left of x agree is a matter of the run.
  // CHECK: %[[SY:.*]] = nn.shape
  // CHECK: %[[U:.*]] = nn.concat %[[SY]]
  // CHECK: nn.reshape %{{.*}}, %[[U]] :
  %sy = nn.shape %y {start = 0 : i64, end = 1 : i64} : (tensor<?x4xf32>) -> tensor<1xi64>
  %u = nn.concat %sy, %w {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %q = nn.reshape %x, %u : (tensor<?x?x384xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %r, %q : tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @folds_shape_arithmetic
func.func @folds_shape_arithmetic(
    %x: tensor<?x4x384xf32> {nn.name = "x", nn.dims = ["B", 4, 384]}) -> (tensor<1xi64>, tensor<1xi1>) {
  %s = nn.shape %x {start = 0 : i64, end = 3 : i64} : (tensor<?x4x384xf32>) -> tensor<3xi64>
  %i = nn.constant dense<[2]> : tensor<1xi64>
  %h = nn.gather %s, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<1xi64>) -> tensor<1xi64>
  %d = nn.constant dense<[12]> : tensor<1xi64>
  %q = nn.binary div %h, %d : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %c = nn.compare lt %q, %d : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi1>
  // CHECK-NEXT: %[[Q:.*]] = nn.constant dense<32> : tensor<1xi64>
  // CHECK-NEXT: %[[C:.*]] = nn.constant dense<false> : tensor<1xi1>
  // CHECK-NEXT: return %[[Q]], %[[C]]
  return %q, %c : tensor<1xi64>, tensor<1xi1>
}

// -----

// CHECK-LABEL: func.func @removes_what_changes_nothing
// CHECK-SAME: %[[X:.*]]: tensor<?x?xf32>
func.func @removes_what_changes_nothing(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["B", "S"]}) -> tensor<?x?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?xf32>) -> tensor<2xi64>
  %r = nn.reshape %x, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %e = nn.expand %r, %s : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %z = nn.constant dense<0> : tensor<2xi64>
  %a = nn.slice %e, %z, %s : (tensor<?x?xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK-NEXT: %[[Y:.*]] = nn.unary tanh %[[X]]
  // CHECK-NEXT: return %[[Y]]
  %y = nn.unary tanh %a : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// CHECK-LABEL: func.func @keeps_a_slice_that_turns_around
func.func @keeps_a_slice_that_turns_around(%x: tensor<3xf32> {nn.name = "x", nn.dims = [3]}) -> tensor<3xf32> {
  %l = nn.constant dense<-1> : tensor<1xi64>
  %e = nn.constant dense<-9223372036854775808> : tensor<1xi64>
  // CHECK: nn.slice
  %y = nn.slice %x, %l, %e steps(%l : tensor<1xi64>) : (tensor<3xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @expands_by_ones_where_the_input_has_the_extent
func.func @expands_by_ones_where_the_input_has_the_extent(
    %x: tensor<?x1x?xf32> {nn.name = "x", nn.dims = ["B", 1, "S"]}) -> tensor<?x12x?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?x1x?xf32>) -> tensor<1xi64>
  %h = nn.constant dense<12> : tensor<1xi64>
  %q = nn.shape %x {start = 2 : i64, end = 3 : i64} : (tensor<?x1x?xf32>) -> tensor<1xi64>
  %t = nn.concat %s, %h, %q {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<3xi64>
  // CHECK-NEXT: %[[T:.*]] = nn.constant dense<[1, 12, 1]> : tensor<3xi64>
  // CHECK-NEXT: nn.expand %{{.*}}, %[[T]]
  %y = nn.expand %x, %t : (tensor<?x1x?xf32>, tensor<3xi64>) -> tensor<?x12x?xf32>
  return %y : tensor<?x12x?xf32>
}

// -----

// CHECK-LABEL: func.func @slices_to_the_greatest_end
func.func @slices_to_the_greatest_end(
    %x: tensor<?x4x384xf32> {nn.name = "x", nn.dims = ["B", 4, 384]}) -> tensor<1xi64> {
  %s = nn.shape %x {start = 0 : i64, end = 3 : i64} : (tensor<?x4x384xf32>) -> tensor<3xi64>
  %last = nn.constant dense<-1> : tensor<1xi64>
  %end = nn.constant dense<9223372036854775807> : tensor<1xi64>
  // CHECK-NEXT: %[[D:.*]] = nn.constant dense<384> : tensor<1xi64>
  // CHECK-NEXT: return %[[D]]
  %d = nn.slice %s, %last, %end : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  return %d : tensor<1xi64>
}

// -----

// CHECK-LABEL: func.func @sizes_of_grids
func.func @sizes_of_grids(%x: tensor<?x3x16xf32> {nn.name = "x", nn.dims = ["B", 3, 16]}, %w: tensor<3x2x4xf32>)
    -> (tensor<1xi64>, tensor<2xi64>, tensor<1xi64>) {
  // CHECK-DAG: %[[POOLED:.*]] = nn.constant dense<9> : tensor<1xi64>
  %p = nn.pool max %x {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>}
     : (tensor<?x3x16xf32>) -> tensor<?x?x?xf32>
  %a = nn.shape %p {start = 2 : i64, end = 3 : i64} : (tensor<?x?x?xf32>) -> tensor<1xi64>
  // CHECK-DAG: %[[TRANSPOSED:.*]] = nn.constant dense<[2, 32]> : tensor<2xi64>
  %c = nn.conv_transpose %x, %w {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>,
                                 pads = array<i64: 1, 1>, strides = array<i64: 2>} : (tensor<?x3x16xf32>, tensor<3x2x4xf32>) -> tensor<?x?x?xf32>
  %b = nn.shape %c {start = 1 : i64, end = 3 : i64} : (tensor<?x?x?xf32>) -> tensor<2xi64>
  // The sizes are those of the padded windows.
  // CHECK: %[[RESIZED:.*]] = nn.constant dense<9> : tensor<1xi64>
  // CHECK: return %[[POOLED]], %[[TRANSPOSED]], %[[RESIZED]]
  %r = nn.resize nearest %x, %a {axes = array<i64: 2>, coordinates = #nn<resize_coordinates asymmetric>,
                                 rounding = #nn<resize_rounding floor>} : (tensor<?x3x16xf32>, tensor<1xi64>) -> tensor<?x?x?xf32>
  %d = nn.shape %r {start = 2 : i64, end = 3 : i64} : (tensor<?x?x?xf32>) -> tensor<1xi64>
  return %a, %b, %d : tensor<1xi64>, tensor<2xi64>, tensor<1xi64>
}
