// attn-quantize-attention: what it refuses. Lengths that only a run tells can't be compared.
// RUN: heddle-opt --attn-quantize-attention="selective" --verify-diagnostics %s

func.func @main(%x: tensor<?x?x4x32xf32> {nn.name = "x", nn.dims = ["b", "s", 4, 32]},
                %n: tensor<?xi64> {nn.name = "n", nn.dims = ["n"]}) -> tensor<?x?x4x32xf32> {
  %most = nn.reduce max %n axes [0] : (tensor<?xi64>) -> tensor<i64>
  %one = nn.unsqueeze %most axes [0] : (tensor<i64>) -> tensor<1xi64>
  %rest = nn.constant dense<[-1, 4, 32]> : tensor<3xi64>
  %shape = nn.concat %one, %rest {axis = 0 : i64} : (tensor<1xi64>, tensor<3xi64>) -> tensor<4xi64>
  // expected-error @+2 {{expects the extents of the shape known before the model runs, but they come from nn.concat}}
  // expected-note @+1 {{sizes must follow from the sizes of the inputs, constants, and integer inputs}}
  %y = nn.reshape %x, %shape : (tensor<?x?x4x32xf32>, tensor<4xi64>) -> tensor<?x?x4x32xf32>
  %o = attn.sdpa %y, %y, %y {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
     : tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32>, tensor<?x?x4x32xf32> -> tensor<?x?x4x32xf32>
  return %o : tensor<?x?x4x32xf32>
}
