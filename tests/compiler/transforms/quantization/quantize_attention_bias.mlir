// attn-quantize-attention: keys lose their projection's bias where nothing sees the difference.
// RUN: heddle-opt --split-input-file --attn-quantize-attention %s | FileCheck %s

// One projection for query, key and value: the key's share of the bias becomes zeros.
// CHECK-LABEL: func.func @joined
// CHECK: %[[B:.*]] = nn.constant #nn.external<"w", 16384, 256>
// CHECK: %[[ZEROS:.*]] = nn.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK: %[[BIAS:.*]] = nn.concat %[[B]], %[[ZEROS]], %[[B]] {axis = 0 : i64}
// CHECK: nn.binary add %arg0, %[[BIAS]]
// CHECK: attn.sdpa {{.*}}score
func.func @joined(%x: tensor<?x?x192xf32>, %fill: tensor<?x?xf32>) -> tensor<?x?x2x32xf32> {
  %b = nn.constant #nn.external<"w", 16384, 256> -> tensor<64xf32>
  %heads = nn.constant dense<[0, 0, 2, 32]> : tensor<4xi64>
  %biases = nn.concat %b, %b, %b {axis = 0 : i64} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<192xf32>
  %y = nn.binary add %x, %biases : (tensor<?x?x192xf32>, tensor<192xf32>) -> tensor<?x?x192xf32>
  %p:3 = nn.split %y {axis = 2 : i64, num_outputs = 3 : i64} : (tensor<?x?x192xf32>) -> (tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>)
  %q = nn.reshape %p#0, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %k = nn.reshape %p#1, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %v = nn.reshape %p#2, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %o = attn.sdpa %q, %k, %v score_captures(%fill : tensor<?x?xf32>) score {
  ^bb0(%s: f32, %b0: index, %h: index, %i: index, %j: index, %f: f32):
    %sum = arith.addf %s, %f : f32
    attn.yield %sum : f32
  } {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32,
     score_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}

// -----

// A projection of its own, and keys that are values as well.
// CHECK-LABEL: func.func @alone
// CHECK: %[[K:.*]] = nn.reshape %arg0,
// CHECK: attn.sdpa %arg1, %[[K]], %arg1
// CHECK: %[[SUM:.*]] = nn.binary add
// CHECK: %[[BOTH:.*]] = nn.reshape %[[SUM]],
// CHECK: attn.sdpa %arg1, %[[BOTH]], %[[BOTH]]
func.func @alone(%x: tensor<?x?x64xf32>, %q: tensor<?x?x2x32xf32>) -> (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) {
  %b = nn.constant #nn.external<"w", 16384, 256> -> tensor<64xf32>
  %heads = nn.constant dense<[0, 0, 2, 32]> : tensor<4xi64>
  %y = nn.binary add %b, %x : (tensor<64xf32>, tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %k = nn.reshape %y, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %o = attn.sdpa %q, %k, %q {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  %z = nn.binary add %b, %x : (tensor<64xf32>, tensor<?x?x64xf32>) -> tensor<?x?x64xf32>
  %both = nn.reshape %z, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %p = attn.sdpa %q, %both, %both {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o, %p : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
}

// -----

// A soft cap sees scores as they are, and so does a fill that replaces them.
// CHECK-LABEL: func.func @capped
// CHECK-COUNT-2: nn.binary add
// CHECK: return
func.func @capped(%x: tensor<?x?x64xf32>, %q: tensor<?x?x2x32xf32>) -> (tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>) {
  %b = nn.constant #nn.external<"w", 16384, 256> -> tensor<64xf32>
  %heads = nn.constant dense<[0, 0, 2, 32]> : tensor<4xi64>
  %y = nn.binary add %x, %b : (tensor<?x?x64xf32>, tensor<64xf32>) -> tensor<?x?x64xf32>
  %k = nn.reshape %y, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %o = attn.sdpa %q, %k, %q score {
  ^bb0(%s: f32, %b0: index, %h: index, %i: index, %j: index):
    %c = math.tanh %s : f32
    attn.yield %c : f32
  } {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  %z = nn.binary add %x, %b : (tensor<?x?x64xf32>, tensor<64xf32>) -> tensor<?x?x64xf32>
  %l = nn.reshape %z, %heads : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %p = attn.sdpa %q, %l, %q score {
  ^bb0(%s: f32, %b0: index, %h: index, %i: index, %j: index):
    %fill = arith.constant -1.0e+4 : f32
    %seen = arith.cmpi ule, %j, %i : index
    %c = arith.select %seen, %s, %fill : f32
    attn.yield %c : f32
  } {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o, %p : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>
}
