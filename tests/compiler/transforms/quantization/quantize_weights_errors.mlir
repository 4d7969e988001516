// nn-quantize-weights: what it refuses.
// RUN: not heddle-opt --nn-quantize-weights="exclude=/enc/layer.0/k,*layer.7*" %s 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not heddle-opt '--nn-quantize-weights=exclude=layer.0/a\' %s 2>&1 | FileCheck %s --check-prefix=GLOB
// RUN: not heddle-opt --nn-quantize-weights="scheme=w2a2" %s 2>&1 | FileCheck %s --check-prefix=SCHEME

// The nearest of what could be quantised; a softmax is none of that. All useless patterns are named.
// NOTHING: error: the pattern '/enc/layer.0/k' of --exclude matches no product, table or attention that could be quantised
// NOTHING: note: the nearest names are /enc/layer.0/q, /enc/layer.1/q
// NOTHING-NOT: softmax
// NOTHING: error: the pattern '*layer.7*' of --exclude matches no product, table or attention that could be quantised

// GLOB: error: --exclude expects a pattern for node names, got 'layer.0/a\':

// SCHEME: Cannot find option named 'w2a2'
func.func @main(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %w = nn.constant #nn.external<"w", 0, 16384> -> tensor<64x64xf32>
  %y = nn.matmul %x, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32> loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.0/q"])
  %s = nn.softmax %y {axis = 1 : i64} : (tensor<?x64xf32>) -> tensor<?x64xf32> loc(fused<#nn.onnx_op<"Softmax", "", 17>>["/enc/layer.0/softmax"])
  %z = nn.matmul %s, %w : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32> loc(fused<#nn.onnx_op<"MatMul", "", 17>>["/enc/layer.1/q"])
  return %z : tensor<?x64xf32>
}
