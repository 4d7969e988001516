// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn-fold-masks: masks and biases that attentions of the model's own get as tensors become arithmetic of positions.
// RUN: heddle-opt --split-input-file --attn-fold-masks %s | FileCheck %s

// The causal window of an operator Attention, its sizes known only to a run, beside a padding mask.
// CHECK-LABEL: func.func @computes_a_window_from_positions
// CHECK-NOT: nn.compare
// CHECK: attn.sdpa %arg0, %arg1, %arg2 mask_captures(%arg3 : tensor<?x1x1x?xi1>) mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[PAD:.*]]: i1):
// CHECK-DAG: %[[PAST:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-DAG: %[[NEAR:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
// CHECK: arith.andi
// CHECK: %[[KEEP:.*]] = arith.andi %{{.*}}, %[[PAD]] : i1
// CHECK: attn.yield %[[KEEP]] : i1
// CHECK: fully_masked = #attn<fully_masked zero>
// CHECK-SAME: mask_capture_maps = [#[[MAP:.*]]]
func.func @computes_a_window_from_positions(
    %q: tensor<?x4x?x8xf32> {nn.dims = ["B", 4, "S", 8]}, %k: tensor<?x4x?x8xf32> {nn.dims = ["B", 4, "S", 8]},
    %v: tensor<?x4x?x8xf32> {nn.dims = ["B", 4, "S", 8]}, %pad: tensor<?x1x1x?xi1> {nn.dims = ["B", 1, 1, "S"]})
    -> tensor<?x4x?x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c2 = nn.constant dense<2> : tensor<i64>
  %window = nn.constant dense<16> : tensor<i64>
  %shape = nn.shape %q {end = 4 : i64, start = 0 : i64} : (tensor<?x4x?x8xf32>) -> tensor<4xi64>
  %s = nn.gather %shape, %c2 {axis = 0 : i64} : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
  %j = nn.range %c0, %s, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %i = nn.unsqueeze %j axes [1] : (tensor<?xi64>) -> tensor<?x1xi64>
  %past = nn.compare le %j, %i : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1>
  %distance = nn.binary sub %i, %j : (tensor<?x1xi64>, tensor<?xi64>) -> tensor<?x?xi64>
  %near = nn.compare lt %distance, %window : (tensor<?x?xi64>, tensor<i64>) -> tensor<?x?xi1>
  %band = nn.binary and %past, %near : (tensor<?x?xi1>, tensor<?x?xi1>) -> tensor<?x?xi1>
  %keep = nn.binary and %band, %pad : (tensor<?x?xi1>, tensor<?x1x1x?xi1>) -> tensor<?x1x?x?xi1>
  %y = attn.sdpa %q, %k, %v mask_captures(%keep : tensor<?x1x?x?xi1>) mask {
  ^bb0(%b: index, %n: index, %row: index, %column: index, %kept: i1):
    attn.yield %kept : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
     query_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>, key_map = affine_map<(b, n, q, kv, d) -> (b, n, kv, d)>,
     value_map = affine_map<(b, n, q, kv, d) -> (b, n, kv, d)>, output_map = affine_map<(b, n, q, kv, d) -> (b, n, q, d)>,
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, 0, q, kv)>]}
     : tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32> -> tensor<?x4x?x8xf32>
  return %y : tensor<?x4x?x8xf32>
}

// -----

// A bias of -inf is one test of positions: what the mask region compares with -inf is the selection's condition. The
// half that the file computes in says the same in f32.
// CHECK-LABEL: func.func @sees_through_a_selected_bias
// CHECK-NOT: captures
// CHECK: attn.sdpa %arg0, %arg1, %arg2 score {
// CHECK: ^bb0(%[[S:.*]]: f32, %{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: arith.select
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NOT: cmpf
// CHECK: %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK: attn.yield %[[KEEP]] : i1
// CHECK: fully_masked = #attn<fully_masked zero>
func.func @sees_through_a_selected_bias(%q: tensor<1x70x4x8xf32>, %k: tensor<1x70x4x8xf32>, %v: tensor<1x70x4x8xf32>)
    -> tensor<1x70x4x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c70 = nn.constant dense<70> : tensor<i64>
  %none = nn.constant dense<0.0> : tensor<f16>
  %fill = nn.constant dense<0xFC00> : tensor<f16>
  %j = nn.range %c0, %c70, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<70xi64>
  %i = nn.unsqueeze %j axes [1] : (tensor<70xi64>) -> tensor<70x1xi64>
  %past = nn.compare le %j, %i : (tensor<70xi64>, tensor<70x1xi64>) -> tensor<70x70xi1>
  %half = nn.where %past, %none, %fill : (tensor<70x70xi1>, tensor<f16>, tensor<f16>) -> tensor<70x70xf16>
  %m = nn.cast %half {to = f32} : (tensor<70x70xf16>) -> tensor<70x70xf32>
  %y = attn.sdpa %q, %k, %v score_captures(%m : tensor<70x70xf32>) mask_captures(%m : tensor<70x70xf32>) score {
  ^bb0(%s: f32, %b: index, %n: index, %row: index, %column: index, %bias: f32):
    %sum = arith.addf %s, %bias : f32
    attn.yield %sum : f32
  } mask {
  ^bb0(%b: index, %n: index, %row: index, %column: index, %bias: f32):
    %infinity = arith.constant 0xFF800000 : f32
    %keep = arith.cmpf une, %bias, %infinity : f32
    attn.yield %keep : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
     score_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>],
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>]}
     : tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32> -> tensor<1x70x4x8xf32>
  return %y : tensor<1x70x4x8xf32>
}

// -----

// A finite fill is never -inf: no row is without keys, and the mask that is made of it licenses skipping alone.
// CHECK-LABEL: func.func @keeps_finite_fills_literal
// CHECK: attn.sdpa %arg0, %arg1, %arg2 score {
// CHECK: } mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-NEXT: %[[KEEP:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK-NEXT: attn.yield %[[KEEP]] : i1
// CHECK-NOT: fully_masked
// CHECK: return
func.func @keeps_finite_fills_literal(%q: tensor<1x70x4x8xf32>, %k: tensor<1x70x4x8xf32>, %v: tensor<1x70x4x8xf32>)
    -> tensor<1x70x4x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c70 = nn.constant dense<70> : tensor<i64>
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %j = nn.range %c0, %c70, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<70xi64>
  %i = nn.unsqueeze %j axes [1] : (tensor<70xi64>) -> tensor<70x1xi64>
  %past = nn.compare le %j, %i : (tensor<70xi64>, tensor<70x1xi64>) -> tensor<70x70xi1>
  %m = nn.where %past, %none, %fill : (tensor<70x70xi1>, tensor<f32>, tensor<f32>) -> tensor<70x70xf32>
  %y = attn.sdpa %q, %k, %v score_captures(%m : tensor<70x70xf32>) mask_captures(%m : tensor<70x70xf32>) score {
  ^bb0(%s: f32, %b: index, %n: index, %row: index, %column: index, %bias: f32):
    %sum = arith.addf %s, %bias : f32
    attn.yield %sum : f32
  } mask {
  ^bb0(%b: index, %n: index, %row: index, %column: index, %bias: f32):
    %infinity = arith.constant 0xFF800000 : f32
    %keep = arith.cmpf une, %bias, %infinity : f32
    attn.yield %keep : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
     score_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>],
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>]}
     : tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32> -> tensor<1x70x4x8xf32>
  return %y : tensor<1x70x4x8xf32>
}

// -----

// Behind a soft cap a fill is a mild number.
// CHECK-LABEL: func.func @makes_no_licence_of_a_bias_that_is_bent
// CHECK: attn.sdpa %arg0, %arg1, %arg2 score {
// CHECK-NOT: mask {
// CHECK: return
func.func @makes_no_licence_of_a_bias_that_is_bent(%q: tensor<1x70x4x8xf32>, %k: tensor<1x70x4x8xf32>, %v: tensor<1x70x4x8xf32>)
    -> tensor<1x70x4x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c70 = nn.constant dense<70> : tensor<i64>
  %none = nn.constant dense<0.0> : tensor<f32>
  %fill = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %j = nn.range %c0, %c70, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<70xi64>
  %i = nn.unsqueeze %j axes [1] : (tensor<70xi64>) -> tensor<70x1xi64>
  %past = nn.compare le %j, %i : (tensor<70xi64>, tensor<70x1xi64>) -> tensor<70x70xi1>
  %m = nn.where %past, %none, %fill : (tensor<70x70xi1>, tensor<f32>, tensor<f32>) -> tensor<70x70xf32>
  %y = attn.sdpa %q, %k, %v score_captures(%m : tensor<70x70xf32>) score {
  ^bb0(%s: f32, %b: index, %n: index, %row: index, %column: index, %bias: f32):
    %sum = arith.addf %s, %bias : f32
    %bent = math.tanh %sum : f32
    attn.yield %bent : f32
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32,
     score_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>]}
     : tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32> -> tensor<1x70x4x8xf32>
  return %y : tensor<1x70x4x8xf32>
}

// -----

// A mask that depends on data as large as itself would be read in its place, eight times as many bytes.
// CHECK-LABEL: func.func @leaves_a_mask_of_data_a_tensor
// CHECK: %[[KEEP:.*]] = nn.compare gt %arg3
// CHECK: attn.sdpa %arg0, %arg1, %arg2 mask_captures(%[[KEEP]] : tensor<70x70xi1>) mask {
func.func @leaves_a_mask_of_data_a_tensor(%q: tensor<1x70x4x8xf32>, %k: tensor<1x70x4x8xf32>, %v: tensor<1x70x4x8xf32>,
                                          %seen: tensor<70x70xi64>) -> tensor<1x70x4x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %keep = nn.compare gt %seen, %c0 : (tensor<70x70xi64>, tensor<i64>) -> tensor<70x70xi1>
  %y = attn.sdpa %q, %k, %v mask_captures(%keep : tensor<70x70xi1>) mask {
  ^bb0(%b: index, %n: index, %row: index, %column: index, %kept: i1):
    attn.yield %kept : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>]}
     : tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32> -> tensor<1x70x4x8xf32>
  return %y : tensor<1x70x4x8xf32>
}

// -----

// The model's own mask is read as it was; the positions beside it come out of the tensor.
// CHECK-LABEL: func.func @parts_positions_from_data
// CHECK: attn.sdpa %arg0, %arg1, %arg2 mask_captures(%arg3 : tensor<70x70xi1>) mask {
// CHECK: ^bb0(%{{.*}}: index, %{{.*}}: index, %[[I:.*]]: index, %[[J:.*]]: index, %[[KEPT:.*]]: i1):
// CHECK: %[[PAST:.*]] = arith.cmpi sle, %[[J]], %[[I]] : index
// CHECK: arith.andi %[[PAST]], %[[KEPT]] : i1
func.func @parts_positions_from_data(%q: tensor<1x70x4x8xf32>, %k: tensor<1x70x4x8xf32>, %v: tensor<1x70x4x8xf32>,
                                     %seen: tensor<70x70xi1>) -> tensor<1x70x4x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c70 = nn.constant dense<70> : tensor<i64>
  %j = nn.range %c0, %c70, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<70xi64>
  %i = nn.unsqueeze %j axes [1] : (tensor<70xi64>) -> tensor<70x1xi64>
  %past = nn.compare le %j, %i : (tensor<70xi64>, tensor<70x1xi64>) -> tensor<70x70xi1>
  %keep = nn.binary and %past, %seen : (tensor<70x70xi1>, tensor<70x70xi1>) -> tensor<70x70xi1>
  %y = attn.sdpa %q, %k, %v mask_captures(%keep : tensor<70x70xi1>) mask {
  ^bb0(%b: index, %n: index, %row: index, %column: index, %kept: i1):
    attn.yield %kept : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>]}
     : tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32> -> tensor<1x70x4x8xf32>
  return %y : tensor<1x70x4x8xf32>
}

// -----

// Only a run knows whether as many rows are masked as there are queries: it needs the tensor to say so.
// CHECK-LABEL: func.func @leaves_sizes_to_be_checked
// CHECK: %[[KEEP:.*]] = nn.compare le
// CHECK: mask_captures(%[[KEEP]] : tensor<?x?xi1>)
func.func @leaves_sizes_to_be_checked(
    %q: tensor<1x?x4x8xf32> {nn.dims = [1, "S", 4, 8]}, %k: tensor<1x?x4x8xf32> {nn.dims = [1, "S", 4, 8]},
    %v: tensor<1x?x4x8xf32> {nn.dims = [1, "S", 4, 8]}, %ids: tensor<1x?xi64> {nn.dims = [1, "T"]})
    -> tensor<1x?x4x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %shape = nn.shape %ids {end = 2 : i64, start = 0 : i64} : (tensor<1x?xi64>) -> tensor<2xi64>
  %t = nn.gather %shape, %c1 {axis = 0 : i64} : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %j = nn.range %c0, %t, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  %i = nn.unsqueeze %j axes [1] : (tensor<?xi64>) -> tensor<?x1xi64>
  %keep = nn.compare le %j, %i : (tensor<?xi64>, tensor<?x1xi64>) -> tensor<?x?xi1>
  %y = attn.sdpa %q, %k, %v mask_captures(%keep : tensor<?x?xi1>) mask {
  ^bb0(%b: index, %n: index, %row: index, %column: index, %kept: i1):
    attn.yield %kept : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>]}
     : tensor<1x?x4x8xf32>, tensor<1x?x4x8xf32>, tensor<1x?x4x8xf32> -> tensor<1x?x4x8xf32>
  return %y : tensor<1x?x4x8xf32>
}

// -----

// Queries that start later see other positions than rows.
// CHECK-LABEL: func.func @leaves_masks_of_queries_with_an_offset
// CHECK: %[[KEEP:.*]] = nn.compare le
// CHECK: mask_captures(%[[KEEP]] : tensor<70x70xi1>)
func.func @leaves_masks_of_queries_with_an_offset(%q: tensor<1x70x4x8xf32>, %k: tensor<1x70x4x8xf32>,
    %v: tensor<1x70x4x8xf32>, %offset: tensor<i64>) -> tensor<1x70x4x8xf32> {
  %c0 = nn.constant dense<0> : tensor<i64>
  %c1 = nn.constant dense<1> : tensor<i64>
  %c70 = nn.constant dense<70> : tensor<i64>
  %j = nn.range %c0, %c70, %c1 : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<70xi64>
  %i = nn.unsqueeze %j axes [1] : (tensor<70xi64>) -> tensor<70x1xi64>
  %keep = nn.compare le %j, %i : (tensor<70xi64>, tensor<70x1xi64>) -> tensor<70x70xi1>
  %y = attn.sdpa %q, %k, %v q_offset(%offset : tensor<i64>) mask_captures(%keep : tensor<70x70xi1>) mask {
  ^bb0(%b: index, %n: index, %row: index, %column: index, %kept: i1):
    attn.yield %kept : i1
  } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.5 : f32, fully_masked = #attn<fully_masked zero>,
     mask_capture_maps = [affine_map<(b, n, q, kv) -> (q, kv)>]}
     : tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32>, tensor<1x70x4x8xf32> -> tensor<1x70x4x8xf32>
  return %y : tensor<1x70x4x8xf32>
}
