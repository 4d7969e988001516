// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fold-heads: one idea a case. The first one is the pass's documented example.
// RUN: heddle-opt --split-input-file --attn-fold-heads %s | FileCheck %s

// The first head's values are zero: what is left of it is nothing, in all four weights.
// CHECK-LABEL: func.func @zero_values
// CHECK-SAME: (%[[X:.*]]: tensor<?x?x4xf32>)
// CHECK-DAG: %[[WQ:.*]] = nn.slice %{{.*}} -> tensor<4x2xf32>
// CHECK-DAG: nn.matmul %[[X]], %[[WQ]] : (tensor<?x?x4xf32>, tensor<4x2xf32>) -> tensor<?x?x2xf32>
// CHECK: attn.sdpa %{{.*}}, %{{.*}}, %{{.*}} {kv_num_heads = 1 : i64, q_num_heads = 1 : i64, scale = 2.500000e-01 : f32} : tensor<?x?x1x2xf32>, tensor<?x?x1x2xf32>, tensor<?x?x1x2xf32> -> tensor<?x?x1x2xf32>
// CHECK-DAG: %[[WO:.*]] = nn.slice %{{.*}} -> tensor<2x4xf32>
// CHECK-DAG: %[[FLAT:.*]] = nn.reshape %{{.*}} -> tensor<?x?x2xf32>
// CHECK: %[[Z:.*]] = nn.matmul %[[FLAT]], %[[WO]] : (tensor<?x?x2xf32>, tensor<2x4xf32>) -> tensor<?x?x4xf32>
// CHECK: return %[[Z]]
func.func @zero_values(%x: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  %w = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %wk = nn.constant dense<[[4.0, 3.0, 2.0, 1.0], [8.0, 7.0, 6.0, 5.0], [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %wv = nn.constant dense<[[0.0, 0.0, 3.0, 4.0], [0.0, 0.0, 7.0, 8.0], [-0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %heads = nn.constant dense<[0, 0, 2, 2]> : tensor<4xi64>
  %features = nn.constant dense<[0, 0, 4]> : tensor<3xi64>
  %qx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %q = nn.reshape %qx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %kx = nn.matmul %x, %wk : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %k = nn.reshape %kx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %vx = nn.matmul %x, %wv : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %v = nn.reshape %vx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %y = attn.sdpa %q, %k, %v {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.25 : f32}
    : tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32> -> tensor<?x?x2x2xf32>
  %flat = nn.reshape %y, %features : (tensor<?x?x2x2xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  %z = nn.matmul %flat, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  return %z : tensor<?x?x4xf32>
}

// -----

// Both heads have one key and value: a group of two.
// CHECK-LABEL: func.func @equal_keys_and_values
// CHECK: attn.sdpa {{.*}} {kv_num_heads = 1 : i64, q_num_heads = 2 : i64, scale = 2.500000e-01 : f32} : tensor<?x?x2x2xf32>, tensor<?x?x1x2xf32>, tensor<?x?x1x2xf32> -> tensor<?x?x2x2xf32>
func.func @equal_keys_and_values(%x: tensor<?x?x4xf32>) -> tensor<?x?x2x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %wk = nn.constant dense<[[1.0, 2.0, 1.0, 2.0], [5.0, 6.0, 5.0, 6.0], [1.0, 3.0, 1.0, 3.0], [2.0, 2.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %heads = nn.constant dense<[0, 0, 2, 2]> : tensor<4xi64>
  %qx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %q = nn.reshape %qx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %kx = nn.matmul %x, %wk : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %k = nn.reshape %kx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %vx = nn.matmul %x, %wk : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %v = nn.reshape %vx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %y = attn.sdpa %q, %k, %v {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.25 : f32}
    : tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32> -> tensor<?x?x2x2xf32>
  return %y : tensor<?x?x2x2xf32>
}

// -----

// Almost equal isn't equal, and a head that isn't zero everywhere stays.
// CHECK-LABEL: func.func @stays
// CHECK: attn.sdpa {{.*}} {kv_num_heads = 2 : i64, q_num_heads = 2 : i64
func.func @stays(%x: tensor<?x?x4xf32>) -> tensor<?x?x2x2xf32> {
  %w = nn.constant dense<[[0.0, 2.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0e-30]]> : tensor<4x4xf32>
  %heads = nn.constant dense<[0, 0, 2, 2]> : tensor<4xi64>
  %qx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %q = nn.reshape %qx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %kx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %k = nn.reshape %kx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %vx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %v = nn.reshape %vx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %y = attn.sdpa %q, %k, %v {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.25 : f32}
    : tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32> -> tensor<?x?x2x2xf32>
  return %y : tensor<?x?x2x2xf32>
}

// -----

// Heads without channels have no weights: nothing to compare.
// CHECK-LABEL: func.func @heads_without_channels
// CHECK: attn.sdpa {{.*}} {kv_num_heads = 2 : i64, q_num_heads = 2 : i64
func.func @heads_without_channels(%x: tensor<?x?x4xf32>) -> tensor<?x?x2x0xf32> {
  %w = nn.constant dense<> : tensor<4x0xf32>
  %heads = nn.constant dense<[0, 0, 2, 0]> : tensor<4xi64>
  %s = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?x4xf32>) -> tensor<2xi64>
  %t = nn.constant dense<[2, 0]> : tensor<2xi64>
  %shape = nn.concat %s, %t {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<4xi64>
  %qx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x0xf32>) -> tensor<?x?x0xf32>
  %kx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x0xf32>) -> tensor<?x?x0xf32>
  %vx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x0xf32>) -> tensor<?x?x0xf32>
  %q = nn.reshape %qx, %shape {allowzero} : (tensor<?x?x0xf32>, tensor<4xi64>) -> tensor<?x?x2x0xf32>
  %k = nn.reshape %kx, %shape {allowzero} : (tensor<?x?x0xf32>, tensor<4xi64>) -> tensor<?x?x2x0xf32>
  %v = nn.reshape %vx, %shape {allowzero} : (tensor<?x?x0xf32>, tensor<4xi64>) -> tensor<?x?x2x0xf32>
  %y = attn.sdpa %q, %k, %v {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.25 : f32} : tensor<?x?x2x0xf32>, tensor<?x?x2x0xf32>, tensor<?x?x2x0xf32> -> tensor<?x?x2x0xf32>
  return %y : tensor<?x?x2x0xf32>
}

// -----

// Probabilities ask which head they are of: none can leave its place.
// CHECK-LABEL: func.func @gates_of_heads
// CHECK: attn.sdpa {{.*}} probability {
// CHECK: } {kv_num_heads = 2 : i64
// CHECK-SAME: q_num_heads = 2 : i64
func.func @gates_of_heads(%x: tensor<?x?x4xf32>, %gate: tensor<2xf32>) -> tensor<?x?x4xf32> {
  %w = nn.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %wk = nn.constant dense<[[4.0, 3.0, 2.0, 1.0], [8.0, 7.0, 6.0, 5.0], [1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %wv = nn.constant dense<[[0.0, 0.0, 3.0, 4.0], [0.0, 0.0, 7.0, 8.0], [-0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 2.0, 2.0]]> : tensor<4x4xf32>
  %heads = nn.constant dense<[0, 0, 2, 2]> : tensor<4xi64>
  %features = nn.constant dense<[0, 0, 4]> : tensor<3xi64>
  %qx = nn.matmul %x, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %q = nn.reshape %qx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %kx = nn.matmul %x, %wk : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %k = nn.reshape %kx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %vx = nn.matmul %x, %wv : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  %v = nn.reshape %vx, %heads : (tensor<?x?x4xf32>, tensor<4xi64>) -> tensor<?x?x2x2xf32>
  %y = attn.sdpa %q, %k, %v probability_captures(%gate : tensor<2xf32>) probability {
  ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index, %g: f32):
    %weight = arith.mulf %p, %g : f32
    attn.yield %weight : f32
  } {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.25 : f32,
     probability_capture_maps = [affine_map<(b, n, q, kv) -> (n)>]}
    : tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32>, tensor<?x?x2x2xf32> -> tensor<?x?x2x2xf32>
  %flat = nn.reshape %y, %features : (tensor<?x?x2x2xf32>, tensor<3xi64>) -> tensor<?x?x4xf32>
  %z = nn.matmul %flat, %w : (tensor<?x?x4xf32>, tensor<4x4xf32>) -> tensor<?x?x4xf32>
  return %z : tensor<?x?x4xf32>
}
