// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of constants and of boundary attributes is reported in the words of its op.

// expected-error @below {{expects 'nn.name' to be a name, got 3}}
func.func private @main(%x: tensor<?xf32> {nn.name = 3 : i64})

// -----

// expected-error @below {{expects 'nn.name' to be a name, got ""}}
func.func private @main(%x: tensor<?xf32> {nn.name = ""})

// -----

// expected-error @below {{expects 'nn.dims' to have one entry a dimension of 'tensor<?xf32>'}}
func.func private @main(%x: tensor<?xf32> {nn.dims = ["b", 3]})

// -----

// expected-error @below {{expects 'nn.dims' to hold a symbol for each '?' of 'tensor<?xf32>' and the extent otherwise, got 3}}
func.func private @main(%x: tensor<?xf32> {nn.dims = [3]})

// -----

// expected-error @below {{expects 'nn.dims' to hold a symbol for each '?' of 'tensor<4xf32>' and the extent otherwise, got 3}}
func.func private @main(%x: tensor<4xf32> {nn.dims = [3]})

// -----

// expected-error @below {{expects no attribute "nn.other" on an argument or result}}
func.func private @main(%x: tensor<4xf32> {nn.other})

// -----

// expected-error @below {{expects 'nn.dims' to hold a symbol for each '?' of 'tensor<4xf32>' and the extent otherwise, got "b"}}
func.func private @main() -> (tensor<4xf32> {nn.dims = ["b"]})

// -----

// expected-error @below {{expects 'nn.raised' to hold numbers of ops by name, got {layer_norm = "five"}}}
module attributes {nn.raised = {layer_norm = "five"}} {}

// -----

// expected-error @below {{expects 'nn.specializes' to name an entry point, got "main"}}
func.func private @named_by_text() attributes {nn.specializes = "main"}

// -----

// expected-error @below {{expects 'nn.constant_inputs' to hold names, got 3}}
func.func private @main() attributes {nn.constant_inputs = 3 : i64}

// -----

// expected-error @below {{expects 'nn.default' to hold a type and a value, got 3}}
func.func private @main(tensor<2xf32> {nn.default = 3 : i64})

// -----

// expected-error @below {{expects 'nn.default' to fit 'tensor<2xf32>', got 'tensor<3xf32>'}}
func.func private @main(tensor<2xf32> {nn.default = {type = tensor<3xf32>, value = dense<0.0> : tensor<3xf32>}})

// -----

// expected-error @below {{expects no attribute "nn.default" on an argument or result}}
func.func private @main() -> (tensor<2xf32> {nn.default = {type = tensor<2xf32>, value = dense<0.0> : tensor<2xf32>}})

// -----

// expected-error @below {{expects no attribute "nn.other" on an op}}
func.func private @main() attributes {nn.other}

// -----

func.func @constant_1() {
  // expected-error @below {{expects at most 4096 bytes as a literal, got 8192}}
  %0 = nn.constant dense<0.0> : tensor<2048xf32>
  return
}

// -----

func.func @constant_2() {
  // expected-error @below {{expects a file range of 64 bytes for 'tensor<4x4xf32>', got 63}}
  %0 = nn.constant #nn.external<"w", 0, 63> -> tensor<4x4xf32>
  return
}

// -----

func.func @constant_3() {
  // expected-error @below {{expects a static shape, got 'tensor<?xf32>'}}
  %0 = nn.constant #nn.external<"w", 0, 8> -> tensor<?xf32>
  return
}

// -----

func.func @constant_4() {
  // expected-error @below {{expects a static shape, got 'tensor<4611686018427387904x4xf32>'}}
  %0 = nn.constant #nn.external<"w", 0, 8> -> tensor<4611686018427387904x4xf32>
  return
}

// -----

func.func @constant_5() {
  // expected-error @below {{expects a value of the result's type 'tensor<3xf32>', got 'tensor<2xf32>'}}
  %0 = "nn.constant"() {value = dense<0.0> : tensor<2xf32>} : () -> tensor<3xf32>
  return
}

// -----

func.func @constant_6() {
  // expected-error @below {{expects a dense literal, a file range or a dense resource}}
  %0 = "nn.constant"() {value = 1 : i64} : () -> tensor<i64>
  return
}

// -----

func.func @constant_7() {
  // expected-error @below {{must be ranked tensor of}}
  %0 = "nn.constant"() {value = 1 : i64} : () -> i64
  return
}

// -----

func.func @constant_8() {
  // expected-error @below {{expects 'nn.outputs' to hold one name a result, got []}}
  %0 = nn.constant {nn.outputs = []} dense<1.0> : tensor<f32>
  return
}

// -----

func.func @constant_9() {
  // expected-error @below {{expects 'nn.outputs' to hold one name a result, got [3]}}
  %0 = nn.constant {nn.outputs = [3]} dense<1.0> : tensor<f32>
  return
}

// -----

func.func @external_1() {
  // expected-error @below {{expects the path of a file}}
  %0 = nn.constant #nn.external<"", 0, 4> -> tensor<f32>
  return
}

// -----

func.func @external_2() {
  // expected-error @below {{expects an offset and a length of at least 0, got -1 and 4}}
  %0 = nn.constant #nn.external<"w", -1, 4> -> tensor<f32>
  return
}

// -----

func.func @external_3() {
  // expected-error @below {{expects an offset and a length of at least 0, got 9223372036854775807 and 4}}
  %0 = nn.constant #nn.external<"w", 9223372036854775807, 4> -> tensor<f32>
  return
}

// -----

func.func @constant_of_shape_1(%s: tensor<?xi64>) {
  // expected-error @below {{expects a shape of static length}}
  %0 = nn.constant_of_shape %s {value = 1.0 : f32} : (tensor<?xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @constant_of_shape_2(%s: tensor<1xi64>) {
  // expected-error @below {{expects a number as value, got dense<0>}}
  %0 = nn.constant_of_shape %s {value = dense<0> : tensor<1xi64>} : (tensor<1xi64>) -> tensor<?xi64>
  return
}

// -----

func.func @constant_of_shape_3() {
  %s = nn.constant dense<[2, -1]> : tensor<2xi64>
  // expected-error @below {{expects extents of at least 0, got -1}}
  %0 = nn.constant_of_shape %s {value = 1.0 : f32} : (tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @range_1(%a: tensor<i64>, %b: tensor<f32>) {
  // expected-error @below {{expects operands of one element type, got 'i64' and 'f32'}}
  %0 = nn.range %a, %b, %a : (tensor<i64>, tensor<f32>, tensor<i64>) -> tensor<?xi64>
  return
}

// -----

func.func @range_2(%a: tensor<i64>) {
  %d = nn.constant dense<0> : tensor<i64>
  // expected-error @below {{expects a delta other than 0}}
  %0 = nn.range %a, %a, %d : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
  return
}

// -----

func.func @shape_1(%x: tensor<?x?x3xf32>) {
  // expected-error @below {{expects 0 <= start <= end <= 3, got 2 and 4}}
  %0 = nn.shape %x {end = 4 : i64, start = 2 : i64} : (tensor<?x?x3xf32>) -> tensor<2xi64>
  return
}
