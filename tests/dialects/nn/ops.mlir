// RUN: heddle-opt %s | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// Every op, with every optional operand and attribute, prints as it was read, also by way of the generic form.

// CHECK-LABEL: func.func @keeps_names_and_dims(
func.func @keeps_names_and_dims(%x: tensor<?x?x384xf32> {nn.dims = ["batch", "sequence", 384], nn.name = "x"}) -> (tensor<?x?x384xf32> {nn.dims = ["batch", "sequence", 384], nn.name = "y"}) {
  return %x : tensor<?x?x384xf32>
}

// CHECK-LABEL: func.func @constants(
func.func @constants() {
  // CHECK: nn.constant {nn.outputs = ["pi"]} dense<3.14{{.*}}> : tensor<f32>
  %pi = nn.constant {nn.outputs = ["pi"]} dense<3.140000e+00> : tensor<f32>
  // CHECK: nn.constant dense<[1, 384]> : tensor<2xi64>
  %0 = nn.constant dense<[1, 384]> : tensor<2xi64>
  // CHECK: nn.constant dense<1.000000e+00> : tensor<f32>
  %1 = nn.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: nn.constant dense<[true, false]> : tensor<2xi1>
  %2 = nn.constant dense<[true, false]> : tensor<2xi1>
  // CHECK: nn.constant dense<[1, 255]> : tensor<2xui8>
  %3 = nn.constant dense<[1, 255]> : tensor<2xui8>
  // CHECK: nn.constant #nn.external<"model.onnx", 131, 589824> -> tensor<384x384xf32>
  %4 = nn.constant #nn.external<"model.onnx", 131, 589824> -> tensor<384x384xf32>
  // CHECK: nn.constant #nn.external<"model.onnx", 7, 2> -> tensor<3xi4>
  %5 = nn.constant #nn.external<"model.onnx", 7, 2> -> tensor<3xi4>
  // CHECK: nn.constant dense_resource<decoded> : tensor<2xf32>
  %6 = nn.constant dense_resource<decoded> : tensor<2xf32>
  return
}

// CHECK-LABEL: func.func @from_shapes(
func.func @from_shapes(%x: tensor<?x?x384xf32>, %shape: tensor<2xi64>, %a: tensor<i64>, %b: tensor<f32>) {
  // CHECK: nn.constant_of_shape %{{.+}} {value = 1.000000e+00 : f32} : (tensor<2xi64>) -> tensor<?x?xf32>
  %0 = nn.constant_of_shape %shape {value = 1.000000e+00 : f32} : (tensor<2xi64>) -> tensor<?x?xf32>
  // CHECK: nn.constant_of_shape %{{.+}} {value = true} : (tensor<2xi64>) -> tensor<?x?xi1>
  %1 = nn.constant_of_shape %shape {value = true} : (tensor<2xi64>) -> tensor<?x?xi1>
  // CHECK: nn.constant_of_shape %{{.+}} {value = 7 : ui8} : (tensor<2xi64>) -> tensor<?x?xui8>
  %2 = nn.constant_of_shape %shape {value = 7 : ui8} : (tensor<2xi64>) -> tensor<?x?xui8>
  // CHECK: nn.range %{{.+}}, %{{.+}}, %{{.+}} : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %3 = nn.range %a, %a, %a : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  // CHECK: nn.range %{{.+}}, %{{.+}}, %{{.+}} : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  %4 = nn.range %b, %b, %b : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<?xf32>
  // CHECK: nn.shape %{{.+}} {end = 2 : i64, start = 0 : i64} : (tensor<?x?x384xf32>) -> tensor<2xi64>
  %5 = nn.shape %x {end = 2 : i64, start = 0 : i64} : (tensor<?x?x384xf32>) -> tensor<2xi64>
  // CHECK: nn.size %{{.+}} : (tensor<?x?x384xf32>) -> tensor<i64>
  %6 = nn.size %x : (tensor<?x?x384xf32>) -> tensor<i64>
  return
}

// CHECK-LABEL: func.func @unary(
func.func @unary(%f: tensor<?x4xf32>, %i: tensor<?xi64>, %u: tensor<?xui8>, %p: tensor<?xi1>) {
  // CHECK: nn.unary abs %{{.+}} : (tensor<?xi64>) -> tensor<?xi64>
  %0 = nn.unary abs %i : (tensor<?xi64>) -> tensor<?xi64>
  // CHECK: nn.unary neg %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = nn.unary neg %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary sign %{{.+}} : (tensor<?xui8>) -> tensor<?xui8>
  %2 = nn.unary sign %u : (tensor<?xui8>) -> tensor<?xui8>
  // CHECK: nn.unary relu %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %3 = nn.unary relu %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary sqrt %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %4 = nn.unary sqrt %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary reciprocal %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %5 = nn.unary reciprocal %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary exp %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %6 = nn.unary exp %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary log %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %7 = nn.unary log %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary sin %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %8 = nn.unary sin %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary cos %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %9 = nn.unary cos %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary tanh %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %10 = nn.unary tanh %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary erf %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %11 = nn.unary erf %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary floor %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %12 = nn.unary floor %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary ceil %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %13 = nn.unary ceil %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary round %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %14 = nn.unary round %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary sigmoid %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %15 = nn.unary sigmoid %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary softplus %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %16 = nn.unary softplus %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary silu %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %17 = nn.unary silu %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary gelu_erf %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %18 = nn.unary gelu_erf %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary gelu_tanh %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %19 = nn.unary gelu_tanh %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary quick_gelu %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %20 = nn.unary quick_gelu %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.unary is_nan %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xi1>
  %21 = nn.unary is_nan %f : (tensor<?x4xf32>) -> tensor<?x4xi1>
  // CHECK: nn.unary is_inf %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xi1>
  %22 = nn.unary is_inf %f : (tensor<?x4xf32>) -> tensor<?x4xi1>
  // CHECK: nn.unary not %{{.+}} : (tensor<?xi1>) -> tensor<?xi1>
  %23 = nn.unary not %p : (tensor<?xi1>) -> tensor<?xi1>
  // CHECK: nn.unary bitwise_not %{{.+}} : (tensor<?xui8>) -> tensor<?xui8>
  %24 = nn.unary bitwise_not %u : (tensor<?xui8>) -> tensor<?xui8>
  return
}

// CHECK-LABEL: func.func @binary(
func.func @binary(%f: tensor<?x4xf32>, %g: tensor<4xf32>, %i: tensor<?xi64>, %p: tensor<?xi1>) {
  // CHECK: nn.binary add %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %0 = nn.binary add %f, %g : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.binary sub %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %1 = nn.binary sub %f, %g : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.binary mul %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %2 = nn.binary mul %f, %g : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.binary div %{{.+}}, %{{.+}} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %3 = nn.binary div %i, %i : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  // CHECK: nn.binary pow %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  %4 = nn.binary pow %f, %i : (tensor<?x4xf32>, tensor<?xi64>) -> tensor<?x4xf32>
  // CHECK: nn.binary mod %{{.+}}, %{{.+}} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %5 = nn.binary mod %i, %i : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  // CHECK: nn.binary fmod %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %6 = nn.binary fmod %f, %g : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.binary min %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %7 = nn.binary min %f, %g : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.binary max %{{.+}}, %{{.+}} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %8 = nn.binary max %i, %i : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  // CHECK: nn.binary and %{{.+}}, %{{.+}} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  %9 = nn.binary and %p, %p : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  // CHECK: nn.binary or %{{.+}}, %{{.+}} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  %10 = nn.binary or %p, %p : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  // CHECK: nn.binary xor %{{.+}}, %{{.+}} : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  %11 = nn.binary xor %p, %p : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  // CHECK: nn.binary bitwise_and %{{.+}}, %{{.+}} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %12 = nn.binary bitwise_and %i, %i : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  // CHECK: nn.binary bitwise_or %{{.+}}, %{{.+}} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %13 = nn.binary bitwise_or %i, %i : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  // CHECK: nn.binary bitwise_xor %{{.+}}, %{{.+}} : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  %14 = nn.binary bitwise_xor %i, %i : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  return
}

// CHECK-LABEL: func.func @maps(
func.func @maps(%f: tensor<?x4xf32>, %g: tensor<f32>, %p: tensor<?x1xi1>) {
  // CHECK: nn.compare eq %{{.+}}, %{{.+}} : (tensor<?x1xi1>, tensor<?x1xi1>) -> tensor<?x1xi1>
  %0 = nn.compare eq %p, %p : (tensor<?x1xi1>, tensor<?x1xi1>) -> tensor<?x1xi1>
  // CHECK: nn.compare ne %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  %1 = nn.compare ne %f, %g : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  // CHECK: nn.compare lt %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  %2 = nn.compare lt %f, %g : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  // CHECK: nn.compare le %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  %3 = nn.compare le %f, %g : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  // CHECK: nn.compare gt %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  %4 = nn.compare gt %f, %g : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  // CHECK: nn.compare ge %{{.+}}, %{{.+}} : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  %5 = nn.compare ge %f, %g : (tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xi1>
  // CHECK: nn.where %{{.+}}, %{{.+}}, %{{.+}} : (tensor<?x1xi1>, tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  %6 = nn.where %p, %f, %g : (tensor<?x1xi1>, tensor<?x4xf32>, tensor<f32>) -> tensor<?x4xf32>
  // CHECK: nn.cast %{{.+}} {to = f32} : (tensor<?x1xi1>) -> tensor<?x1xf32>
  %7 = nn.cast %p {to = f32} : (tensor<?x1xi1>) -> tensor<?x1xf32>
  // CHECK: nn.clip %{{.+}} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %8 = nn.clip %f : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.clip %{{.+}} min(%{{.+}} : tensor<f32>) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %9 = nn.clip %f min(%g : tensor<f32>) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.clip %{{.+}} max(%{{.+}} : tensor<f32>) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %10 = nn.clip %f max(%g : tensor<f32>) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.clip %{{.+}} min(%{{.+}} : tensor<f32>) max(%{{.+}} : tensor<f32>) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %11 = nn.clip %f min(%g : tensor<f32>) max(%g : tensor<f32>) : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// CHECK-LABEL: func.func @reductions(
func.func @reductions(%f: tensor<?x4xf32>, %i: tensor<?x4xi64>, %p: tensor<?x4xi1>) {
  // CHECK: nn.reduce sum %{{.+}} axes [0, 1] : (tensor<?x4xi64>) -> tensor<i64>
  %0 = nn.reduce sum %i axes [0, 1] : (tensor<?x4xi64>) -> tensor<i64>
  // CHECK: nn.reduce mean %{{.+}} axes [1] {keepdims} : (tensor<?x4xf32>) -> tensor<?x1xf32>
  %1 = nn.reduce mean %f axes [1] {keepdims} : (tensor<?x4xf32>) -> tensor<?x1xf32>
  // CHECK: nn.reduce max %{{.+}} axes [1] : (tensor<?x4xi1>) -> tensor<?xi1>
  %2 = nn.reduce max %p axes [1] : (tensor<?x4xi1>) -> tensor<?xi1>
  // CHECK: nn.reduce min %{{.+}} axes [0] : (tensor<?x4xf32>) -> tensor<4xf32>
  %3 = nn.reduce min %f axes [0] : (tensor<?x4xf32>) -> tensor<4xf32>
  // CHECK: nn.reduce prod %{{.+}} axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  %4 = nn.reduce prod %f axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  // CHECK: nn.reduce l1 %{{.+}} axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  %5 = nn.reduce l1 %f axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  // CHECK: nn.reduce l2 %{{.+}} axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  %6 = nn.reduce l2 %f axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  // CHECK: nn.reduce sum_square %{{.+}} axes [] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %7 = nn.reduce sum_square %f axes [] : (tensor<?x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.reduce log_sum %{{.+}} axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  %8 = nn.reduce log_sum %f axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  // CHECK: nn.reduce log_sum_exp %{{.+}} axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  %9 = nn.reduce log_sum_exp %f axes [1] : (tensor<?x4xf32>) -> tensor<?xf32>
  // CHECK: nn.arg_reduce max %{{.+}} {axis = 1 : i64, keepdims, select_last_index} : (tensor<?x4xf32>) -> tensor<?x1xi64>
  %10 = nn.arg_reduce max %f {axis = 1 : i64, keepdims, select_last_index} : (tensor<?x4xf32>) -> tensor<?x1xi64>
  // CHECK: nn.arg_reduce min %{{.+}} {axis = 0 : i64} : (tensor<?x4xi64>) -> tensor<4xi64>
  %11 = nn.arg_reduce min %i {axis = 0 : i64} : (tensor<?x4xi64>) -> tensor<4xi64>
  // CHECK: nn.cumsum %{{.+}} {axis = 0 : i64, exclusive, reverse} : (tensor<?x4xi64>) -> tensor<?x4xi64>
  %12 = nn.cumsum %i {axis = 0 : i64, exclusive, reverse} : (tensor<?x4xi64>) -> tensor<?x4xi64>
  return
}

// CHECK-LABEL: func.func @rows(
func.func @rows(%f: tensor<?x?x4xf32>, %h: tensor<?x?x4xf16>, %w: tensor<4xf32>) {
  // CHECK: nn.softmax %{{.+}} {axis = 2 : i64} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %0 = nn.softmax %f {axis = 2 : i64} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  // CHECK: nn.log_softmax %{{.+}} {axis = 0 : i64} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  %1 = nn.log_softmax %f {axis = 0 : i64} : (tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
  // CHECK: nn.layer_norm %{{.+}}, %{{.+}} {axis = 2 : i64, epsilon = 9.99999996E-13 : f32} : (tensor<?x?x4xf32>, tensor<4xf32>) -> tensor<?x?x4xf32>
  %2 = nn.layer_norm %f, %w {axis = 2 : i64, epsilon = 9.99999996E-13 : f32} : (tensor<?x?x4xf32>, tensor<4xf32>) -> tensor<?x?x4xf32>
  // CHECK: nn.layer_norm %{{.+}}, %{{.+}}, %{{.+}} {axis = 1 : i64, epsilon = 0.000000e+00 : f32} : (tensor<?x?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x?x4xf32>
  %3 = nn.layer_norm %f, %w, %w {axis = 1 : i64, epsilon = 0.000000e+00 : f32} : (tensor<?x?x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x?x4xf32>
  // CHECK: nn.rms_norm %{{.+}}, %{{.+}} {axis = 2 : i64, epsilon = 9.99999997E-7 : f32} : (tensor<?x?x4xf16>, tensor<4xf32>) -> tensor<?x?x4xf32>
  %4 = nn.rms_norm %h, %w {axis = 2 : i64, epsilon = 9.99999997E-7 : f32} : (tensor<?x?x4xf16>, tensor<4xf32>) -> tensor<?x?x4xf32>
  return
}

// CHECK-LABEL: func.func @contractions(
func.func @contractions(%x: tensor<?x?x8xf32>, %w: tensor<8x4xf32>, %m: tensor<?x8xf32>, %t: tensor<4x8xf32>, %c: tensor<4xf32>) {
  // CHECK: nn.matmul %{{.+}}, %{{.+}} : (tensor<?x?x8xf32>, tensor<8x4xf32>) -> tensor<?x?x4xf32>
  %0 = nn.matmul %x, %w : (tensor<?x?x8xf32>, tensor<8x4xf32>) -> tensor<?x?x4xf32>
  // CHECK: nn.gemm %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  %1 = nn.gemm %m, %w : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.gemm %{{.+}}, %{{.+}}, %{{.+}} {alpha = 5.000000e-01 : f32, beta = 2.000000e+00 : f32, trans_b} : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %2 = nn.gemm %m, %t, %c {alpha = 5.000000e-01 : f32, beta = 2.000000e+00 : f32, trans_b} : (tensor<?x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  // CHECK: nn.gemm %{{.+}}, %{{.+}} {trans_a} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %3 = nn.gemm %w, %w {trans_a} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: nn.einsum "bsk,kn->bsn" %{{.+}}, %{{.+}} : (tensor<?x?x8xf32>, tensor<8x4xf32>) -> tensor<?x?x4xf32>
  %4 = nn.einsum "bsk,kn->bsn" %x, %w : (tensor<?x?x8xf32>, tensor<8x4xf32>) -> tensor<?x?x4xf32>
  return
}

// CHECK-LABEL: func.func @conv(
func.func @conv(%x: tensor<?x4x9xf32>, %w: tensor<6x2x3xf32>, %b: tensor<6xf32>) {
  // CHECK: nn.conv %{{.+}}, %{{.+}} {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x4x9xf32>, tensor<6x2x3xf32>) -> tensor<?x6x7xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1>, group = 2 : i64, pads = array<i64: 0, 0>, strides = array<i64: 1>} : (tensor<?x4x9xf32>, tensor<6x2x3xf32>) -> tensor<?x6x7xf32>
  // CHECK: nn.conv %{{.+}}, %{{.+}}, %{{.+}} {dilations = array<i64: 2>, group = 2 : i64, pads = array<i64: 1, 0>, strides = array<i64: 3>} : (tensor<?x4x9xf32>, tensor<6x2x3xf32>, tensor<6xf32>) -> tensor<?x6x2xf32>
  %1 = nn.conv %x, %w, %b {dilations = array<i64: 2>, group = 2 : i64, pads = array<i64: 1, 0>, strides = array<i64: 3>} : (tensor<?x4x9xf32>, tensor<6x2x3xf32>, tensor<6xf32>) -> tensor<?x6x2xf32>
  return
}

// CHECK-LABEL: func.func @shapes(
func.func @shapes(%x: tensor<?x1x8xf32>, %s: tensor<3xi64>) {
  // CHECK: nn.reshape %{{.+}}, %{{.+}} : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %0 = nn.reshape %x, %s : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  // CHECK: nn.reshape %{{.+}}, %{{.+}} {allowzero} : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x2x4xf32>
  %1 = nn.reshape %x, %s {allowzero} : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x2x4xf32>
  // CHECK: nn.transpose %{{.+}} perm [2, 0, 1] : (tensor<?x1x8xf32>) -> tensor<8x?x1xf32>
  %2 = nn.transpose %x perm [2, 0, 1] : (tensor<?x1x8xf32>) -> tensor<8x?x1xf32>
  // CHECK: nn.squeeze %{{.+}} axes [1] : (tensor<?x1x8xf32>) -> tensor<?x8xf32>
  %3 = nn.squeeze %x axes [1] : (tensor<?x1x8xf32>) -> tensor<?x8xf32>
  // CHECK: nn.unsqueeze %{{.+}} axes [0, 4] : (tensor<?x1x8xf32>) -> tensor<1x?x1x8x1xf32>
  %4 = nn.unsqueeze %x axes [0, 4] : (tensor<?x1x8xf32>) -> tensor<1x?x1x8x1xf32>
  // CHECK: nn.flatten %{{.+}} {axis = 3 : i64} : (tensor<?x1x8xf32>) -> tensor<?x1xf32>
  %5 = nn.flatten %x {axis = 3 : i64} : (tensor<?x1x8xf32>) -> tensor<?x1xf32>
  // CHECK: nn.expand %{{.+}}, %{{.+}} : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x?x8xf32>
  %6 = nn.expand %x, %s : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x?x8xf32>
  // CHECK: nn.tile %{{.+}}, %{{.+}} : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  %7 = nn.tile %x, %s : (tensor<?x1x8xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
  // CHECK: nn.concat %{{.+}}, %{{.+}}, %{{.+}} {axis = 1 : i64} : (tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>) -> tensor<?x3x8xf32>
  %8 = nn.concat %x, %x, %x {axis = 1 : i64} : (tensor<?x1x8xf32>, tensor<?x1x8xf32>, tensor<?x1x8xf32>) -> tensor<?x3x8xf32>
  // CHECK: nn.split %{{.+}} {axis = 2 : i64, num_outputs = 2 : i64} : (tensor<?x1x8xf32>) -> (tensor<?x1x4xf32>, tensor<?x1x4xf32>)
  %9:2 = nn.split %x {axis = 2 : i64, num_outputs = 2 : i64} : (tensor<?x1x8xf32>) -> (tensor<?x1x4xf32>, tensor<?x1x4xf32>)
  // CHECK: nn.split %{{.+}} {axis = 2 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 3, 5>} : (tensor<?x1x8xf32>) -> (tensor<?x1x3xf32>, tensor<?x1x5xf32>)
  %10:2 = nn.split %x {axis = 2 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 3, 5>} : (tensor<?x1x8xf32>) -> (tensor<?x1x3xf32>, tensor<?x1x5xf32>)
  return
}

// CHECK-LABEL: func.func @slices(
func.func @slices(%x: tensor<?x8xf32>, %s: tensor<1xi64>, %p: tensor<4xi64>, %v: tensor<f32>, %a: tensor<2xi32>, %k: tensor<i64>) {
  // CHECK: nn.slice %{{.+}}, %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x8xf32>
  %0 = nn.slice %x, %s, %s : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x8xf32>
  // CHECK: nn.slice %{{.+}}, %{{.+}}, %{{.+}} axes(%{{.+}} : tensor<1xi64>) : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  %1 = nn.slice %x, %s, %s axes(%s : tensor<1xi64>) : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  // CHECK: nn.slice %{{.+}}, %{{.+}}, %{{.+}} axes(%{{.+}} : tensor<1xi64>) steps(%{{.+}} : tensor<1xi64>) : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  %2 = nn.slice %x, %s, %s axes(%s : tensor<1xi64>) steps(%s : tensor<1xi64>) : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  // CHECK: nn.slice %{{.+}}, %{{.+}}, %{{.+}} steps(%{{.+}} : tensor<1xi64>) : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x8xf32>
  %3 = nn.slice %x, %s, %s steps(%s : tensor<1xi64>) : (tensor<?x8xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x8xf32>
  // CHECK: nn.pad constant %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  %4 = nn.pad constant %x, %p : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  // CHECK: nn.pad reflect %{{.+}}, %{{.+}} value(%{{.+}} : tensor<f32>) axes(%{{.+}} : tensor<2xi32>) : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  %5 = nn.pad reflect %x, %p value(%v : tensor<f32>) axes(%a : tensor<2xi32>) : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  // CHECK: nn.pad edge %{{.+}}, %{{.+}} axes(%{{.+}} : tensor<2xi32>) : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  %6 = nn.pad edge %x, %p axes(%a : tensor<2xi32>) : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  // CHECK: nn.pad wrap %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  %7 = nn.pad wrap %x, %p : (tensor<?x8xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  // CHECK: nn.trilu %{{.+}} {upper} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %8 = nn.trilu %x {upper} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: nn.trilu %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<i64>) -> tensor<?x8xf32>
  %9 = nn.trilu %x, %k : (tensor<?x8xf32>, tensor<i64>) -> tensor<?x8xf32>
  return
}

// CHECK-LABEL: func.func @indices(
func.func @indices(%x: tensor<?x8xf32>, %i: tensor<?x2xi64>, %e: tensor<?x1xi64>, %u: tensor<?x2xf32>, %d: tensor<i32>, %v: tensor<2xf32>, %k: tensor<i64>) {
  // CHECK: nn.gather %{{.+}}, %{{.+}} {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x?x2xf32>
  %0 = nn.gather %x, %i {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x?x2xf32>
  // CHECK: nn.gather_elements %{{.+}}, %{{.+}} {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  %1 = nn.gather_elements %x, %i {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?x2xf32>
  // CHECK: nn.gather_nd %{{.+}}, %{{.+}} {batch_dims = 0 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?xf32>
  %2 = nn.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>) -> tensor<?xf32>
  // CHECK: nn.gather_nd %{{.+}}, %{{.+}} {batch_dims = 1 : i64} : (tensor<?x8xf32>, tensor<?x1xi64>) -> tensor<?xf32>
  %3 = nn.gather_nd %x, %e {batch_dims = 1 : i64} : (tensor<?x8xf32>, tensor<?x1xi64>) -> tensor<?xf32>
  // CHECK: nn.scatter_elements none %{{.+}}, %{{.+}}, %{{.+}} {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>, tensor<?x2xf32>) -> tensor<?x8xf32>
  %4 = nn.scatter_elements none %x, %i, %u {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>, tensor<?x2xf32>) -> tensor<?x8xf32>
  // CHECK: nn.scatter_elements max %{{.+}}, %{{.+}}, %{{.+}} {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>, tensor<?x2xf32>) -> tensor<?x8xf32>
  %5 = nn.scatter_elements max %x, %i, %u {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x2xi64>, tensor<?x2xf32>) -> tensor<?x8xf32>
  // CHECK: nn.scatter_nd add %{{.+}}, %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %6 = nn.scatter_nd add %x, %e, %x : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: nn.scatter_nd mul %{{.+}}, %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %7 = nn.scatter_nd mul %x, %e, %x : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: nn.scatter_nd min %{{.+}}, %{{.+}}, %{{.+}} : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %8 = nn.scatter_nd min %x, %e, %x : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: nn.one_hot %{{.+}}, %{{.+}}, %{{.+}} {axis = 0 : i64} : (tensor<?x2xi64>, tensor<i32>, tensor<2xf32>) -> tensor<?x?x2xf32>
  %9 = nn.one_hot %i, %d, %v {axis = 0 : i64} : (tensor<?x2xi64>, tensor<i32>, tensor<2xf32>) -> tensor<?x?x2xf32>
  // CHECK: nn.top_k %{{.+}}, %{{.+}} {axis = 1 : i64, largest} : (tensor<?x8xf32>, tensor<i64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  %10, %11 = nn.top_k %x, %k {axis = 1 : i64, largest} : (tensor<?x8xf32>, tensor<i64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  return
}

// CHECK-LABEL: func.func @quantization(
func.func @quantization(%x: tensor<?x8xf32>, %s: tensor<f32>, %z: tensor<ui8>, %c: tensor<8x4xi8>, %cs: tensor<4xf32>, %cz: tensor<4xi8>, %b: tensor<4xi32>, %n: tensor<8xui4>, %ns: tensor<2xf16>, %w: tensor<5x4xf32>) {
  // CHECK: nn.quantize_linear %{{.+}}, %{{.+}}, %{{.+}} {axis = 1 : i64, block_size = 0 : i64, to = ui8} : (tensor<?x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<?x8xui8>
  %0 = nn.quantize_linear %x, %s, %z {axis = 1 : i64, block_size = 0 : i64, to = ui8} : (tensor<?x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<?x8xui8>
  // CHECK: nn.quantize_linear %{{.+}}, %{{.+}} {axis = 0 : i64, block_size = 0 : i64, to = i16} : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xi16>
  %1 = nn.quantize_linear %x, %s {axis = 0 : i64, block_size = 0 : i64, to = i16} : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xi16>
  // CHECK: nn.dequantize_linear %{{.+}}, %{{.+}}, %{{.+}} {axis = 1 : i64, block_size = 0 : i64} : (tensor<8x4xi8>, tensor<4xf32>, tensor<4xi8>) -> tensor<8x4xf32>
  %2 = nn.dequantize_linear %c, %cs, %cz {axis = 1 : i64, block_size = 0 : i64} : (tensor<8x4xi8>, tensor<4xf32>, tensor<4xi8>) -> tensor<8x4xf32>
  // CHECK: nn.dequantize_linear %{{.+}}, %{{.+}} {axis = 0 : i64, block_size = 0 : i64} : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.dequantize_linear %b, %cs {axis = 0 : i64, block_size = 0 : i64} : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: nn.dequantize_linear %{{.+}}, %{{.+}} {axis = 0 : i64, block_size = 4 : i64} : (tensor<8xui4>, tensor<2xf16>) -> tensor<8xf16>
  %4 = nn.dequantize_linear %n, %ns {axis = 0 : i64, block_size = 4 : i64} : (tensor<8xui4>, tensor<2xf16>) -> tensor<8xf16>
  // CHECK: nn.dynamic_quantize_linear %{{.+}} : (tensor<?x8xf32>) -> (tensor<?x8xui8>, tensor<f32>, tensor<ui8>)
  %5, %6, %7 = nn.dynamic_quantize_linear %x : (tensor<?x8xf32>) -> (tensor<?x8xui8>, tensor<f32>, tensor<ui8>)
  // CHECK: nn.matmul_integer %{{.+}}, %{{.+}} : (tensor<?x8xui8>, tensor<8x4xi8>) -> tensor<?x4xi32>
  %8 = nn.matmul_integer %0, %c : (tensor<?x8xui8>, tensor<8x4xi8>) -> tensor<?x4xi32>
  // CHECK: nn.matmul_integer %{{.+}}, %{{.+}} lhs_zero_point(%{{.+}} : tensor<ui8>) rhs_zero_point(%{{.+}} : tensor<4xi8>) : (tensor<?x8xui8>, tensor<8x4xi8>) -> tensor<?x4xi32>
  %9 = nn.matmul_integer %0, %c lhs_zero_point(%z : tensor<ui8>) rhs_zero_point(%cz : tensor<4xi8>) : (tensor<?x8xui8>, tensor<8x4xi8>) -> tensor<?x4xi32>
  // CHECK: nn.quantize_rows %{{.+}} : (tensor<?x8xf32>) -> (tensor<?x8xui8>, tensor<?x1xf32>, tensor<?x1xui8>)
  %10, %11, %12 = nn.quantize_rows %x : (tensor<?x8xf32>) -> (tensor<?x8xui8>, tensor<?x1xf32>, tensor<?x1xui8>)
  // CHECK: nn.matmul_integer %{{.+}}, %{{.+}} lhs_zero_point(%{{.+}} : tensor<?x1xui8>) : (tensor<?x8xui8>, tensor<8x4xi8>) -> tensor<?x4xi32>
  %13 = nn.matmul_integer %10, %c lhs_zero_point(%12 : tensor<?x1xui8>) : (tensor<?x8xui8>, tensor<8x4xi8>) -> tensor<?x4xi32>
  // CHECK: nn.quantize_weight %{{.+}} {axis = 1 : i64, block_size = 0 : i64, pair_safe, to = i8} : (tensor<5x4xf32>) -> (tensor<5x4xi8>, tensor<4xf32>)
  %14, %15 = nn.quantize_weight %w {axis = 1 : i64, block_size = 0 : i64, pair_safe, to = i8} : (tensor<5x4xf32>) -> (tensor<5x4xi8>, tensor<4xf32>)
  // CHECK: nn.quantize_weight %{{.+}} {axis = 1 : i64, block_size = 2 : i64, to = i4} : (tensor<5x4xf32>) -> (tensor<5x4xi4>, tensor<3x4xf32>)
  %16, %17 = nn.quantize_weight %w {axis = 1 : i64, block_size = 2 : i64, to = i4} : (tensor<5x4xf32>) -> (tensor<5x4xi4>, tensor<3x4xf32>)
  return
}

{-#
  dialect_resources: {
    builtin: {
      decoded: "0x040000000000803F00000040"
    }
  }
#-}
