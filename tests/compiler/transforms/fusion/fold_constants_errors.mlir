// RUN: heddle-opt %s --nn-fold-constants --split-input-file --verify-diagnostics

func.func @reports_an_index_out_of_range() -> tensor<f32> {
  %table = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %index = nn.constant dense<2> : tensor<i64>
  // expected-error @+1 {{'nn.gather' op expects an index within [-2, 2), got 2}}
  %y = nn.gather %table, %index {axis = 0 : i64} : (tensor<2xf32>, tensor<i64>) -> tensor<f32>
  return %y : tensor<f32>
}

// -----

func.func @reports_a_constant_that_cannot_be_read() -> tensor<1xf32> {
  %table = nn.constant #nn.external<"/nonexistent/weights.bin", 0, 4> -> tensor<1xf32>
  // expected-error @+1 {{'nn.unary' op 'nn.constant' op expects a readable file '/nonexistent/weights.bin'}}
  %y = nn.unary sqrt %table : (tensor<1xf32>) -> tensor<1xf32>
  return %y : tensor<1xf32>
}
