// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-raise-sdpa: look-alikes stay what they are, and the report says why.
// RUN: heddle-opt --split-input-file --attn-raise-sdpa %s | FileCheck %s

// Normalised over the queries.
// CHECK: attn.report = [{{{.*}}reason = "the softmax isn't over the last axis"
// CHECK-LABEL: func.func @softmax_over_queries
// CHECK: nn.softmax
// CHECK-NOT: attn.sdpa
// CHECK: return
func.func @softmax_over_queries(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32> {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 2 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Somebody else wants the scores, which then are in memory anyway.
// CHECK: attn.report = [{{{.*}}reason = "the scores have other users"
// CHECK-LABEL: func.func @scores_that_others_read
// CHECK: nn.softmax
// CHECK-NOT: attn.sdpa
// CHECK: return
func.func @scores_that_others_read(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>) -> (tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>) {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y, %qk : tensor<1x2x5x8xf32>, tensor<1x2x5x7xf32>
}

// -----

// Disentangled attention adds products of its own.
// CHECK: attn.report = [{{{.*}}reason = "the scores are a sum of several products"
// CHECK-LABEL: func.func @sum_of_two_products
// CHECK: nn.softmax
// CHECK-NOT: attn.sdpa
// CHECK: return
func.func @sum_of_two_products(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x8x7xf32>, %v: tensor<1x2x7x8xf32>, %r: tensor<1x2x8x7xf32>) -> tensor<1x2x5x8xf32> {
  %qk = nn.matmul %q, %k : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %qr = nn.matmul %q, %r : (tensor<1x2x5x8xf32>, tensor<1x2x8x7xf32>) -> tensor<1x2x5x7xf32>
  %s = nn.binary add %qk, %qr : (tensor<1x2x5x7xf32>, tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %p = nn.softmax %s {axis = 3 : i64} : (tensor<1x2x5x7xf32>) -> tensor<1x2x5x7xf32>
  %y = nn.matmul %p, %v : (tensor<1x2x5x7xf32>, tensor<1x2x7x8xf32>) -> tensor<1x2x5x8xf32>
  return %y : tensor<1x2x5x8xf32>
}

// -----

// Letters that sum over the length of the key: they run where it equals the head size, and mean something else.
// CHECK: attn.report = [{{{.*}}reason = "the equation sums over an axis before the heads of the key: its letters look swapped"
// CHECK-LABEL: func.func @swapped_letters
// CHECK: nn.softmax
// CHECK-NOT: attn.sdpa
// CHECK: return
func.func @swapped_letters(%q: tensor<2x5x4x8xf32>, %k: tensor<2x8x4x8xf32>, %v: tensor<2x8x4x6xf32>) -> tensor<2x5x4x6xf32> {
  %qk = nn.einsum "bqhk,bkhv->bhqv" %q, %k : (tensor<2x5x4x8xf32>, tensor<2x8x4x8xf32>) -> tensor<2x4x5x8xf32>
  %p = nn.softmax %qk {axis = 3 : i64} : (tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %y = nn.einsum "bhqv,bvhd->bqhd" %p, %v : (tensor<2x4x5x8xf32>, tensor<2x8x4x6xf32>) -> tensor<2x5x4x6xf32>
  return %y : tensor<2x5x4x6xf32>
}

// -----

// A classifier's softmax doesn't look like attention and isn't reported.
// CHECK-NOT: attn.report
// CHECK-LABEL: func.func @classifier
// CHECK: nn.softmax
func.func @classifier(%x: tensor<2x8xf32>, %w: tensor<8x3xf32>) -> tensor<2x3xf32> {
  %s = nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x3xf32>) -> tensor<2x3xf32>
  %p = nn.softmax %s {axis = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %p : tensor<2x3xf32>
}
