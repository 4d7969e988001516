// nn-quantize-weights: its options.
// RUN: heddle-opt --nn-quantize-weights="scheme=w8a32" %s | FileCheck %s --check-prefix=W8A32
// RUN: heddle-opt --nn-quantize-weights="scheme=w4a32" %s | FileCheck %s --check-prefix=W4A32
// RUN: heddle-opt --nn-quantize-weights="pair-safe" %s | FileCheck %s --check-prefix=PAIRS
// RUN: heddle-opt --nn-quantize-weights="tables=false" %s | FileCheck %s --check-prefix=TABLES

// The product stays one of floats; scales are one a column.
// W8A32: %[[T:.*]], %{{.*}} = nn.quantize_weight %{{.*}} {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<9000x80xf32>)
// W8A32-NOT: nn.quantize_rows
// W8A32: %[[C:.*]], %[[S:.*]] = nn.quantize_weight %{{.*}} {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<80x48xf32>) -> (tensor<80x48xi8>, tensor<48xf32>)
// W8A32: %[[W:.*]] = nn.dequantize_linear %[[C]], %[[S]] {axis = 1 : i64, block_size = 0 : i64} : (tensor<80x48xi8>, tensor<48xf32>) -> tensor<80x48xf32>
// W8A32: nn.matmul %{{.*}}, %[[W]] : (tensor<?x80xf32>, tensor<80x48xf32>)

// The last block has the terms that are left.
// W4A32: %[[C:.*]], %[[S:.*]] = nn.quantize_weight %{{.*}} {axis = 1 : i64, block_size = 32 : i64, to = i4} : (tensor<80x48xf32>) -> (tensor<80x48xi4>, tensor<3x48xf32>)
// W4A32: %[[W:.*]] = nn.dequantize_linear %[[C]], %[[S]] {axis = 0 : i64, block_size = 32 : i64} : (tensor<80x48xi4>, tensor<3x48xf32>) -> tensor<80x48xf32>
// W4A32: nn.matmul %{{.*}}, %[[W]]

// Pairs are multiplied, tables aren't.
// PAIRS: nn.quantize_weight %{{.*}} {axis = 0 : i64, block_size = 0 : i64, to = i8}
// PAIRS: nn.quantize_weight %{{.*}} {axis = 1 : i64, block_size = 0 : i64, pair_safe, to = i8}

// TABLES: {kind = "table", nodes = [], reason = "tables stay float"}
// TABLES: nn.gather %{{.*}} : (tensor<9000x80xf32>
// TABLES: nn.matmul_integer
func.func @main(%ids: tensor<?xi64>) -> tensor<?x48xf32> {
  %table = nn.constant #nn.external<"w", 0, 2880000> -> tensor<9000x80xf32>
  %w = nn.constant #nn.external<"w", 2880000, 15360> -> tensor<80x48xf32>
  %x = nn.gather %table, %ids {axis = 0 : i64} : (tensor<9000x80xf32>, tensor<?xi64>) -> tensor<?x80xf32>
  %y = nn.matmul %x, %w : (tensor<?x80xf32>, tensor<80x48xf32>) -> tensor<?x48xf32>
  return %y : tensor<?x48xf32>
}
