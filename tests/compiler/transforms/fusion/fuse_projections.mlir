// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fuse-projections: one idea a case. The first one is the pass's documented example.
// RUN: heddle-opt --split-input-file --attn-fuse-projections %s | FileCheck %s

// Weights beside each other, zeros for the bias that isn't there, the result parted again.
// CHECK-LABEL: func.func @query_and_key
// CHECK-SAME: (%[[X:[a-z0-9]+]]: tensor<?x?x48xf32>
// CHECK-DAG: %[[WQ:.*]] = nn.constant #nn.external<"w", 0, 9216>
// CHECK-DAG: %[[WK:.*]] = nn.constant #nn.external<"w", 9216, 2304>
// CHECK-DAG: %[[BQ:.*]] = nn.constant dense<1.000000e+00> : tensor<48xf32>
// CHECK-DAG: %[[ZEROS:.*]] = nn.constant dense<0.000000e+00> : tensor<12xf32>
// CHECK-DAG: %[[W:.*]] = nn.concat %[[WQ]], %[[WK]] {axis = 1 : i64} : (tensor<48x48xf32>, tensor<48x12xf32>) -> tensor<48x60xf32>
// CHECK: %[[PRODUCT:.*]] = nn.matmul %[[X]], %[[W]] : (tensor<?x?x48xf32>, tensor<48x60xf32>) -> tensor<?x?x60xf32>
// CHECK-DAG: %[[B:.*]] = nn.concat %[[BQ]], %[[ZEROS]] {axis = 0 : i64} : (tensor<48xf32>, tensor<12xf32>) -> tensor<60xf32>
// CHECK: %[[SUM:.*]] = nn.binary add %[[PRODUCT]], %[[B]] : (tensor<?x?x60xf32>, tensor<60xf32>) -> tensor<?x?x60xf32>
// CHECK: %[[QK:.*]]:2 = nn.split %[[SUM]] {axis = 2 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 48, 12>}
// CHECK-DAG: nn.reshape %[[QK]]#0
// CHECK-DAG: nn.reshape %[[QK]]#1
// CHECK-NOT: nn.matmul
func.func @query_and_key(%x: tensor<?x?x48xf32>, %v: tensor<?x?x1x12xf32>) -> tensor<?x?x4x12xf32> {
  %wq = nn.constant #nn.external<"w", 0, 9216> -> tensor<48x48xf32>
  %wk = nn.constant #nn.external<"w", 9216, 2304> -> tensor<48x12xf32>
  %bq = nn.constant dense<1.0> : tensor<48xf32>
  %four = nn.constant dense<[0, 0, 4, 12]> : tensor<4xi64>
  %one = nn.constant dense<[0, 0, 1, 12]> : tensor<4xi64>
  %qx = nn.matmul %x, %wq : (tensor<?x?x48xf32>, tensor<48x48xf32>) -> tensor<?x?x48xf32>
  %qs = nn.binary add %qx, %bq : (tensor<?x?x48xf32>, tensor<48xf32>) -> tensor<?x?x48xf32>
  %q = nn.reshape %qs, %four : (tensor<?x?x48xf32>, tensor<4xi64>) -> tensor<?x?x4x12xf32>
  %ks = nn.matmul %x, %wk : (tensor<?x?x48xf32>, tensor<48x12xf32>) -> tensor<?x?x12xf32>
  %k = nn.reshape %ks, %one : (tensor<?x?x12xf32>, tensor<4xi64>) -> tensor<?x?x1x12xf32>
  %y = attn.sdpa %q, %k, %v {q_num_heads = 4 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32}
     : tensor<?x?x4x12xf32>, tensor<?x?x1x12xf32>, tensor<?x?x1x12xf32> -> tensor<?x?x4x12xf32>
  return %y : tensor<?x?x4x12xf32>
}

// -----

// Stored N x K in both forms, behind rotary positions, a bias that is a matrix of one row.
// CHECK-LABEL: func.func @transposed_weights
// CHECK-DAG: %[[KT:.*]] = nn.transpose %{{.*}} perm [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
// CHECK-DAG: %[[VT:.*]] = nn.transpose %{{.*}} perm [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
// CHECK-DAG: nn.concat %[[KT]], %[[VT]] {axis = 1 : i64}
// CHECK-DAG: nn.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<16xf32>, tensor<16xf32>) -> tensor<32xf32>
// CHECK: nn.split %{{.*}} {axis = 1 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 16, 16>}
// CHECK-NOT: nn.gemm
func.func @transposed_weights(%x: tensor<?x32xf32>, %q: tensor<1x?x1x16xf32>, %cos: tensor<1x?x1x16xf32>)
    -> tensor<1x?x1x16xf32> {
  %wk = nn.constant #nn.external<"w", 0, 2048> -> tensor<16x32xf32>
  %wv = nn.constant #nn.external<"w", 2048, 2048> -> tensor<16x32xf32>
  %bk = nn.constant dense<1.0> : tensor<1x16xf32>
  %bv = nn.constant dense<2.0> : tensor<16xf32>
  %heads = nn.constant dense<[1, -1, 1, 16]> : tensor<4xi64>
  %ks = nn.gemm %x, %wk, %bk {trans_b}
     : (tensor<?x32xf32>, tensor<16x32xf32>, tensor<1x16xf32>) -> tensor<?x16xf32>
  %vs = nn.gemm %x, %wv, %bv {trans_b}
     : (tensor<?x32xf32>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %kh = nn.reshape %ks, %heads : (tensor<?x16xf32>, tensor<4xi64>) -> tensor<1x?x1x16xf32>
  %k = nn.binary mul %kh, %cos : (tensor<1x?x1x16xf32>, tensor<1x?x1x16xf32>) -> tensor<1x?x1x16xf32>
  %v = nn.reshape %vs, %heads : (tensor<?x16xf32>, tensor<4xi64>) -> tensor<1x?x1x16xf32>
  %y = attn.sdpa %q, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32}
     : tensor<1x?x1x16xf32>, tensor<1x?x1x16xf32>, tensor<1x?x1x16xf32> -> tensor<1x?x1x16xf32>
  return %y : tensor<1x?x1x16xf32>
}

// -----

// Keys of two layers from one input are one product, whatever the queries are made of.
// CHECK-LABEL: func.func @cross_attention_of_two_layers
// CHECK: nn.matmul
// CHECK: nn.split %{{.*}} {axis = 2 : i64, num_outputs = 4 : i64
// CHECK-NOT: nn.matmul
func.func @cross_attention_of_two_layers(%x: tensor<?x?x16xf32>, %encoded: tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32> {
  %w1 = nn.constant #nn.external<"w", 0, 1024> -> tensor<16x16xf32>
  %w2 = nn.constant #nn.external<"w", 1024, 1024> -> tensor<16x16xf32>
  %w3 = nn.constant #nn.external<"w", 2048, 1024> -> tensor<16x16xf32>
  %w4 = nn.constant #nn.external<"w", 3072, 1024> -> tensor<16x16xf32>
  %q = nn.unsqueeze %x axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %k1 = nn.matmul %encoded, %w1 : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %v1 = nn.matmul %encoded, %w2 : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %k2 = nn.matmul %encoded, %w3 : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %v2 = nn.matmul %encoded, %w4 : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %k1h = nn.unsqueeze %k1 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %v1h = nn.unsqueeze %v1 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %k2h = nn.unsqueeze %k2 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %v2h = nn.unsqueeze %v2 axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %y1 = attn.sdpa %q, %k1h, %v1h {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32}
     : tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32> -> tensor<?x?x1x16xf32>
  %y2 = attn.sdpa %y1, %k2h, %v2h {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32}
     : tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32> -> tensor<?x?x1x16xf32>
  return %y2 : tensor<?x?x1x16xf32>
}

// -----

// What stays: a product that the model hands out, one of another input, one whose weight is computed.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-3: nn.matmul
// CHECK-NOT: nn.concat
func.func @stays(%x: tensor<?x?x16xf32>, %z: tensor<?x?x16xf32>, %w: tensor<16x16xf32>)
    -> (tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>) {
  %w1 = nn.constant #nn.external<"w", 0, 1024> -> tensor<16x16xf32>
  %w2 = nn.constant #nn.external<"w", 1024, 1024> -> tensor<16x16xf32>
  %qx = nn.matmul %x, %w1 : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %kx = nn.matmul %x, %w2 : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %vx = nn.matmul %x, %w : (tensor<?x?x16xf32>, tensor<16x16xf32>) -> tensor<?x?x16xf32>
  %q = nn.unsqueeze %qx axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %k = nn.unsqueeze %kx axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %v = nn.unsqueeze %vx axes [2] : (tensor<?x?x16xf32>) -> tensor<?x?x1x16xf32>
  %y = attn.sdpa %q, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32}
     : tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32> -> tensor<?x?x1x16xf32>
  return %y, %k : tensor<?x?x1x16xf32>, tensor<?x?x1x16xf32>
}
