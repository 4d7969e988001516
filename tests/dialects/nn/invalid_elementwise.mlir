// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of elementwise is reported in the words of its op.

func.func @unary_1(%x: tensor<?xi64>) {
  // expected-error @below {{expects a float operand for kind 'exp', got 'i64'}}
  %0 = nn.unary exp %x : (tensor<?xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @unary_2(%x: tensor<?xui8>) {
  // expected-error @below {{expects a float or signed integer operand for kind 'neg', got 'ui8'}}
  %0 = nn.unary neg %x : (tensor<?xui8>) -> tensor<?xui8>
  return
}

// -----

func.func @unary_3(%x: tensor<?xi1>) {
  // expected-error @below {{expects a number operand for kind 'abs', got 'i1'}}
  %0 = nn.unary abs %x : (tensor<?xi1>) -> tensor<?xi1>
  return
}

// -----

func.func @unary_4(%x: tensor<?xf32>) {
  // expected-error @below {{expects an i1 operand for kind 'not', got 'f32'}}
  %0 = nn.unary not %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @unary_5(%x: tensor<?xf32>) {
  // expected-error @below {{expects an integer operand for kind 'bitwise_not', got 'f32'}}
  %0 = nn.unary bitwise_not %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @unary_6(%x: tensor<?xf32>) {
  // expected-error @below {{expects results of type 'tensor<?xi1>', got 'tensor<?xf32>'}}
  %0 = nn.unary is_nan %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @unary_7(%x: tensor<4xf32>) {
  // expected-error @below {{expects results of type 'tensor<4xf32>', got 'tensor<5xf32>'}}
  %0 = nn.unary exp %x : (tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @unary_8(%x: tensor<*xf32>) {
  // expected-error @below {{must be ranked tensor of}}
  %0 = "nn.unary"(%x) {kind = #nn<unary_kind exp>} : (tensor<*xf32>) -> tensor<*xf32>
  return
}

// -----

func.func @unary_9(%x: tensor<4xf32>) {
  // expected-error @below {{requires attribute 'kind'}}
  %0 = "nn.unary"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @binary_1(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) {
  // expected-error @below {{expects operands that broadcast, got dimensions 3 and 4 at axis 1 of shapes [2, 3] and [2, 4]}}
  %0 = nn.binary add %a, %b : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @binary_2(%a: tensor<?xf32>, %b: tensor<?xi64>) {
  // expected-error @below {{expects operands of one element type, got 'f32' and 'i64'}}
  %0 = nn.binary add %a, %b : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @binary_3(%a: tensor<?xf32>) {
  // expected-error @below {{expects an integer operand for kind 'mod', got 'f32'}}
  %0 = nn.binary mod %a, %a : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @binary_4(%a: tensor<?xi1>) {
  // expected-error @below {{expects a number operand for kind 'add', got 'i1'}}
  %0 = nn.binary add %a, %a : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  return
}

// -----

func.func @compare_1(%a: tensor<?xi1>) {
  // expected-error @below {{expects a number operand for kind 'lt', got 'i1'}}
  %0 = nn.compare lt %a, %a : (tensor<?xi1>, tensor<?xi1>) -> tensor<?xi1>
  return
}

// -----

func.func @compare_2(%a: tensor<?xf32>, %b: tensor<?xi64>) {
  // expected-error @below {{expects operands of one element type, got 'f32' and 'i64'}}
  %0 = nn.compare eq %a, %b : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xi1>
  return
}

// -----

func.func @where_1(%c: tensor<2xi1>, %a: tensor<3xf32>, %b: tensor<f32>) {
  // expected-error @below {{expects operands that broadcast, got dimensions 2 and 3 at axis 0 of shapes [2] and [3]}}
  %0 = nn.where %c, %a, %b : (tensor<2xi1>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @cast_1(%x: tensor<4xf32>) {
  // expected-error @below {{expects an integer or float type to cast to, got 'index'}}
  %0 = nn.cast %x {to = index} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cast_2(%x: tensor<4xf32>) {
  // expected-error @below {{expects results of type 'tensor<4xi64>', got 'tensor<4xi32>'}}
  %0 = nn.cast %x {to = i64} : (tensor<4xf32>) -> tensor<4xi32>
  return
}

// -----

func.func @clip_1(%x: tensor<4xf32>, %m: tensor<f64>) {
  // expected-error @below {{expects bounds of element type 'f32', got 'f64'}}
  %0 = nn.clip %x min(%m : tensor<f64>) : (tensor<4xf32>) -> tensor<4xf32>
  return
}
