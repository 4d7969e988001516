// attn-quantize-attention with `compare`: all forms, whose places count on from those of the weights.
// RUN: heddle-opt --nn-quantize-weights="compare" --attn-quantize-attention="compare" %s | FileCheck %s
// RUN: heddle-opt --attn-quantize-attention="compare" %s | FileCheck %s --check-prefix=ALONE
// RUN: heddle-opt --attn-quantize-attention="compare ranges" %s | FileCheck %s --check-prefix=RANGES

// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[SELECTION:[a-z0-9]+]]: tensor<2xi1> {nn.dims = [2], nn.name = "heddle.selection"}
// CHECK-SAME: nn.name = "heddle.error.0"
// CHECK-SAME: nn.name = "heddle.error.1"
// CHECK-SAME: nn.name = "heddle.signal.1"
// CHECK: %[[PLAIN:.*]] = attn.sdpa {{.*}} {kv_num_heads = 2 : i64, q_num_heads = 2 : i64, scale
// CHECK: %[[CODED:.*]] = attn.sdpa {{.*}}qk_int8
// CHECK: nn.binary sub %[[CODED]], %[[PLAIN]]
// CHECK: %[[FLAG:.*]] = nn.slice %[[SELECTION]]
// CHECK: %[[Y:.*]] = nn.where %[[FLAG]], %[[CODED]], %[[PLAIN]]
// CHECK: return %[[Y]]
// ALONE-LABEL: func.func @main
// ALONE-SAME: tensor<1xi1> {nn.dims = [1], nn.name = "heddle.selection"}
// ALONE-SAME: nn.name = "heddle.error.0"
// What values reach, a head and channel each; a form of codes takes knowing it.
// RANGES-LABEL: func.func @main
// RANGES-SAME: tensor<2xi1> {nn.dims = [2], nn.name = "heddle.selection"}
// RANGES-SAME: tensor<2x32xf32> {nn.dims = [2, 32], nn.name = "heddle.channels.1"}
// RANGES-NOT: pv_int8_block
// RANGES: nn.reduce mean {{.*}} axes [0, 1] :
// RANGES: nn.reduce max {{.*}} axes [0, 1, 2, 3] :
// RANGES: %[[SIZES:.*]] = nn.unary abs
// RANGES: nn.reduce max %[[SIZES]] axes [0, 1] :
// RANGES-NOT: pv_int8_block
func.func @main(%x: tensor<?x?x64xf32> {nn.name = "x", nn.dims = ["b", "s", 64]})
    -> (tensor<?x?x2x32xf32> {nn.name = "z", nn.dims = ["b", "s", 2, 32]}) {
  %w = nn.constant #nn.external<"w", 0, 16384> -> tensor<64x64xf32>
  %shape = nn.constant dense<[0, 0, 2, 32]> : tensor<4xi64>
  %y = nn.matmul %x, %w : (tensor<?x?x64xf32>, tensor<64x64xf32>) -> tensor<?x?x64xf32>
  %q = nn.reshape %y, %shape : (tensor<?x?x64xf32>, tensor<4xi64>) -> tensor<?x?x2x32xf32>
  %o = attn.sdpa %q, %q, %q {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, scale = 0.125 : f32}
     : tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32>, tensor<?x?x2x32xf32> -> tensor<?x?x2x32xf32>
  return %o : tensor<?x?x2x32xf32>
}
