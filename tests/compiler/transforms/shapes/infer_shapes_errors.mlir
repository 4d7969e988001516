// RUN: heddle-opt %s --nn-infer-shapes --split-input-file --verify-diagnostics

func.func @shape_from_a_kernel(%x: tensor<?xi64> {nn.name = "x", nn.dims = ["N"]}) -> tensor<?xf32> {
  %m = nn.reduce max %x axes [0] {keepdims} : (tensor<?xi64>) -> tensor<1xi64>
  // expected-error @+2 {{expects the extents of the shape known before the model runs, but they come from nn.reduce}}
  // expected-note @+1 {{sizes must follow from the sizes of the inputs, constants, and integer inputs}}
  %y = nn.constant_of_shape %m {value = 0.0 : f32} : (tensor<1xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @shape_from_a_node(%x: tensor<?xi64> {nn.name = "x", nn.dims = ["N"]}) -> tensor<?xf32> {
  %m = nn.reduce max %x axes [0] {keepdims} : (tensor<?xi64>) -> tensor<1xi64>
      loc(fused<#nn.onnx_op<"ReduceMax", "", 17>>["/Max"])
  // expected-error @+2 {{but they come from node '/Max' (ReduceMax)}}
  // expected-note @+1 {{export the model without data-dependent shapes}}
  %y = nn.constant_of_shape %m {value = 0.0 : f32} : (tensor<1xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @shape_from_a_large_input(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]},
                                    %s: tensor<65xi64> {nn.name = "s", nn.dims = [65]}) -> tensor<?xf32> {
  %i = nn.constant dense<0> : tensor<1xi64>
  %t = nn.gather %s, %i {axis = 0 : i64} : (tensor<65xi64>, tensor<1xi64>) -> tensor<1xi64>
  // expected-error @+2 {{expects repeat counts known before the model runs, but they come from nn.gather}}
  // expected-note @+1 {{integer inputs of at most 64 elements}}
  %y = nn.tile %x, %t : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @sizes_that_never_agree(%x: tensor<?x?xf32> {nn.name = "x", nn.dims = ["N", "M"]}) -> tensor<?x?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?xf32>) -> tensor<2xi64>
  %one = nn.constant dense<1> : tensor<2xi64>
  %t = nn.binary add %s, %one : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  // expected-error @+1 {{expects operands that broadcast, got sizes N and N + 1}}
  %y = nn.expand %x, %t : (tensor<?x?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

func.func @reshape_of_another_total(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]}) -> tensor<?x?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?xf32>) -> tensor<1xi64>
  %c = nn.constant dense<3> : tensor<1xi64>
  %m = nn.binary add %s, %c : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %one = nn.constant dense<1> : tensor<1xi64>
  %t = nn.concat %m, %one {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  // expected-error @+1 {{expects a shape of N elements, got N + 3}}
  %y = nn.reshape %x, %t : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

func.func @two_left_over(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]},
                         %n: tensor<i64> {nn.name = "n", nn.dims = []}) -> tensor<?x?xf32> {
  %zero = nn.constant dense<0> : tensor<i64>
  %none = nn.binary mul %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %m = nn.binary sub %none, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %u = nn.unsqueeze %m axes [0] : (tensor<i64>) -> tensor<1xi64>
  %t = nn.concat %u, %u {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  // expected-error @+1 {{expects one -1 in the shape at most}}
  %y = nn.reshape %x, %t : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

func.func @negative_size(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]}) -> tensor<?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?xf32>) -> tensor<1xi64>
  %m = nn.constant dense<-2> : tensor<1xi64>
  %z = nn.binary min %s, %m : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  // expected-error @+1 {{expects a size of at least 0 at dimension 0, got -2}}
  %y = nn.constant_of_shape %z {value = 0.0 : f32} : (tensor<1xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @step_of_zero(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]}) -> tensor<?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?xf32>) -> tensor<1xi64>
  %z = nn.binary sub %s, %s : (tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  // expected-error @+1 {{expects a step other than 0}}
  %y = nn.slice %x, %z, %s steps(%z : tensor<1xi64>) : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @step_that_varies(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]}) -> tensor<?xf32> {
  %s = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?xf32>) -> tensor<1xi64>
  // expected-error @+1 {{expects constant steps, got N}}
  %y = nn.slice %x, %s, %s steps(%s : tensor<1xi64>) : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

func.func @index_outside(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]}) -> tensor<i64> {
  %s = nn.shape %x {start = 0 : i64, end = 1 : i64} : (tensor<?xf32>) -> tensor<1xi64>
  %i = nn.constant dense<1> : tensor<i64>
  // expected-error @+1 {{expects at least 2 elements to pick from, got 1}}
  %y = nn.gather %s, %i {axis = 0 : i64} : (tensor<1xi64>, tensor<i64>) -> tensor<i64>
  return %y : tensor<i64>
}

// -----

// expected-error @+1 {{expects inputs that are ranked tensors, got 'tensor<*xf32>'}}
func.func @input_of_unknown_rank(%x: tensor<*xf32>) -> tensor<*xf32> {
  return %x : tensor<*xf32>
}

// -----

func.func @op_of_another_dialect(%x: tensor<?xf32> {nn.name = "x", nn.dims = ["N"]}) -> tensor<?xf32> {
  // expected-error @+1 {{expects a static shape or an op of the dialect nn, got 'tensor<?xf32>'}}
  %y = arith.addf %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
