// nn-quantize-weights: one idea a case. The first one is the pass's documented example.
// RUN: heddle-opt --split-input-file --nn-quantize-weights %s | FileCheck %s

// CHECK: module attributes {nn.quantization = [{kind = "product", nodes = []}]}
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<?x384xf32>
// CHECK: %[[W:.*]] = nn.constant #nn.external<"w", 0, 2359296>
// CHECK: %[[Q:.*]], %[[S:.*]], %[[Z:.*]] = nn.quantize_rows %[[X]]
// CHECK: %[[C:.*]], %[[T:.*]] = nn.quantize_weight %[[W]] {axis = 1 : i64, block_size = 0 : i64, to = i8}
// CHECK: %[[SUM:.*]] = nn.matmul_integer %[[Q]], %[[C]] lhs_zero_point(%[[Z]] : tensor<?x1xui8>)
// CHECK: %[[F:.*]] = nn.cast %[[SUM]] {to = f32}
// CHECK: %[[R:.*]] = nn.binary mul %[[F]], %[[S]] : (tensor<?x1536xf32>, tensor<?x1xf32>)
// CHECK: %[[Y:.*]] = nn.binary mul %[[R]], %[[T]] : (tensor<?x1536xf32>, tensor<1536xf32>)
// CHECK: return %[[Y]]
func.func @main(%x: tensor<?x384xf32>) -> tensor<?x1536xf32> {
  %w = nn.constant #nn.external<"w", 0, 2359296> -> tensor<384x1536xf32>
  %y = nn.matmul %x, %w : (tensor<?x384xf32>, tensor<384x1536xf32>) -> tensor<?x1536xf32>
  return %y : tensor<?x1536xf32>
}

// -----

// The activation is quantised once. A gemm's factors, addend and transposes stay around the product.
// CHECK-LABEL: func.func @shared_activation
// CHECK: %[[Q:.*]], %{{.*}}, %{{.*}} = nn.quantize_rows
// CHECK-NOT: nn.quantize_rows
// CHECK: nn.matmul_integer %[[Q]],
// CHECK: %[[WT:.*]] = nn.transpose %{{.*}} perm [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
// CHECK: nn.quantize_weight %[[WT]] {axis = 1 : i64
// CHECK: nn.matmul_integer %[[Q]],
// CHECK: %[[Y:.*]] = nn.binary mul
// CHECK: %[[Y2:.*]] = nn.binary mul %{{.*}}, %{{.*}} : (tensor<?x32xf32>, tensor<32xf32>)
// CHECK: %[[HALF:.*]] = nn.constant dense<5.000000e-01>
// CHECK: %[[H:.*]] = nn.binary mul %[[Y2]], %[[HALF]]
// CHECK: %[[TWO:.*]] = nn.constant dense<2.000000e+00>
// CHECK: %[[B:.*]] = nn.binary mul %{{.*}}, %[[TWO]] : (tensor<32xf32>, tensor<f32>)
// CHECK: nn.binary add %[[H]], %[[B]]
func.func @shared_activation(%x: tensor<?x64xf32>) -> (tensor<?x48xf32>, tensor<?x32xf32>) {
  %w = nn.constant #nn.external<"w", 0, 12288> -> tensor<64x48xf32>
  %v = nn.constant #nn.external<"w", 12288, 8192> -> tensor<32x64xf32>
  %b = nn.constant dense<1.0> : tensor<32xf32>
  %y = nn.matmul %x, %w : (tensor<?x64xf32>, tensor<64x48xf32>) -> tensor<?x48xf32>
  %z = nn.gemm %x, %v, %b {trans_b, alpha = 0.5 : f32, beta = 2.0 : f32}
     : (tensor<?x64xf32>, tensor<32x64xf32>, tensor<32xf32>) -> tensor<?x32xf32>
  return %y, %z : tensor<?x48xf32>, tensor<?x32xf32>
}

// -----

// An activation that is stored columns by rows is turned before its rows are quantised.
// CHECK-LABEL: func.func @transposed_activation
// CHECK: %[[XT:.*]] = nn.transpose %{{.*}} perm [1, 0] : (tensor<64x?xf32>) -> tensor<?x64xf32>
// CHECK: nn.quantize_rows %[[XT]]
func.func @transposed_activation(%x: tensor<64x?xf32>) -> tensor<?x48xf32> {
  %w = nn.constant #nn.external<"w", 0, 12288> -> tensor<64x48xf32>
  %y = nn.gemm %x, %w {trans_a} : (tensor<64x?xf32>, tensor<64x48xf32>) -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}

// -----

// A table of its own scale a row; the same matrix is also a product's weight, with a scale a column of that.
// CHECK-LABEL: func.func @tied_embeddings
// CHECK: %[[TABLE:.*]] = nn.constant
// CHECK: %[[C:.*]], %[[T:.*]] = nn.quantize_weight %[[TABLE]] {axis = 0 : i64, block_size = 0 : i64, to = i8}
// CHECK: %[[Q:.*]] = nn.gather %[[C]], %{{.*}} {axis = 0 : i64} : (tensor<9000x64xi8>, tensor<?x?xi64>)
// CHECK: %[[F:.*]] = nn.cast %[[Q]] {to = f32}
// CHECK: %[[S:.*]] = nn.gather %[[T]], %{{.*}} {axis = 0 : i64} : (tensor<9000xf32>, tensor<?x?xi64>) -> tensor<?x?xf32>
// CHECK: %[[U:.*]] = nn.unsqueeze %[[S]] axes [2]
// CHECK: %[[E:.*]] = nn.binary mul %[[F]], %[[U]]
// CHECK: %[[HEAD:.*]] = nn.transpose %[[TABLE]] perm [1, 0]
// CHECK: nn.quantize_rows %[[E]]
// CHECK: nn.quantize_weight %[[HEAD]] {axis = 1 : i64
func.func @tied_embeddings(%ids: tensor<?x?xi64>) -> tensor<?x?x9000xf32> {
  %table = nn.constant #nn.external<"w", 0, 2304000> -> tensor<9000x64xf32>
  %x = nn.gather %table, %ids {axis = 0 : i64} : (tensor<9000x64xf32>, tensor<?x?xi64>) -> tensor<?x?x64xf32>
  %head = nn.transpose %table perm [1, 0] : (tensor<9000x64xf32>) -> tensor<64x9000xf32>
  %y = nn.matmul %x, %head : (tensor<?x?x64xf32>, tensor<64x9000xf32>) -> tensor<?x?x9000xf32>
  return %y : tensor<?x?x9000xf32>
}

// -----

// What stays, and why.
// CHECK-DAG: {kind = "product", nodes = [], reason = "its right side isn't a constant matrix"}
// CHECK-DAG: {kind = "product", nodes = [], reason = "its sums have fewer than 32 terms"}
// CHECK-DAG: {kind = "product", nodes = [], reason = "it has fewer than 16 columns"}
// CHECK-DAG: {kind = "product", nodes = [], reason = "its left side is a vector"}
// CHECK-DAG: {kind = "product", nodes = [], reason = "its elements aren't f32"}
// CHECK-DAG: {kind = "product", nodes = [], reason = "its weight is quantised in the model"}
// CHECK-DAG: {kind = "table", nodes = [], reason = "it has less than 2 MB"}
// CHECK-DAG: {kind = "convolution", nodes = [], reason = "convolutions stay float"}
// CHECK-LABEL: func.func @stays
// CHECK-NOT: nn.quantize
func.func @stays(%x: tensor<?x64xf32>, %y: tensor<64x?xf32>, %z: tensor<?x16xf32>, %v: tensor<64xf32>,
                 %h: tensor<?x64xf16>, %ids: tensor<?xi64>, %image: tensor<1x3x32x32xf32>)
    -> (tensor<?x?xf32>, tensor<?x64xf32>, tensor<?x8xf32>, tensor<48xf32>, tensor<?x48xf16>, tensor<?x48xf32>,
        tensor<?x64xf32>, tensor<1x8x31x31xf32>) {
  %narrow = nn.constant #nn.external<"w", 0, 4096> -> tensor<16x64xf32>
  %few = nn.constant #nn.external<"w", 0, 2048> -> tensor<64x8xf32>
  %w = nn.constant #nn.external<"w", 0, 12288> -> tensor<64x48xf32>
  %half = nn.constant #nn.external<"w", 0, 6144> -> tensor<64x48xf16>
  %codes = nn.constant #nn.external<"w", 0, 3072> -> tensor<64x48xi8>
  %scale = nn.constant dense<0.1> : tensor<f32>
  %types = nn.constant #nn.external<"w", 0, 512> -> tensor<2x64xf32>
  %filter = nn.constant #nn.external<"w", 0, 384> -> tensor<8x3x2x2xf32>
  %0 = nn.matmul %x, %y : (tensor<?x64xf32>, tensor<64x?xf32>) -> tensor<?x?xf32>
  %1 = nn.matmul %z, %narrow : (tensor<?x16xf32>, tensor<16x64xf32>) -> tensor<?x64xf32>
  %2 = nn.matmul %x, %few : (tensor<?x64xf32>, tensor<64x8xf32>) -> tensor<?x8xf32>
  %3 = nn.matmul %v, %w : (tensor<64xf32>, tensor<64x48xf32>) -> tensor<48xf32>
  %4 = nn.matmul %h, %half : (tensor<?x64xf16>, tensor<64x48xf16>) -> tensor<?x48xf16>
  %d = nn.dequantize_linear %codes, %scale {axis = 1 : i64, block_size = 0 : i64} : (tensor<64x48xi8>, tensor<f32>) -> tensor<64x48xf32>
  %5 = nn.matmul %x, %d : (tensor<?x64xf32>, tensor<64x48xf32>) -> tensor<?x48xf32>
  %6 = nn.gather %types, %ids {axis = 0 : i64} : (tensor<2x64xf32>, tensor<?xi64>) -> tensor<?x64xf32>
  %7 = nn.conv %image, %filter {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, group = 1 : i64}
     : (tensor<1x3x32x32xf32>, tensor<8x3x2x2xf32>) -> tensor<1x8x31x31xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<?x?xf32>, tensor<?x64xf32>, tensor<?x8xf32>, tensor<48xf32>, tensor<?x48xf16>, tensor<?x48xf32>,
        tensor<?x64xf32>, tensor<1x8x31x31xf32>
}
