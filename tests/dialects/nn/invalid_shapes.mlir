// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of shapes is reported in the words of its op.

func.func @reshape_1(%x: tensor<12xf32>, %s: tensor<?xi64>) {
  // expected-error @below {{expects a shape of static length}}
  %0 = nn.reshape %x, %s : (tensor<12xf32>, tensor<?xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @reshape_2(%x: tensor<3x4xf32>) {
  %s = nn.constant dense<[5, 2]> : tensor<2xi64>
  // expected-error @below {{expects a shape of 12 elements, got [5, 2]}}
  %0 = nn.reshape %x, %s : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<5x2xf32>
  return
}

// -----

func.func @reshape_3(%x: tensor<3x4xf32>) {
  %s = nn.constant dense<[-1, 5]> : tensor<2xi64>
  // expected-error @below {{expects a shape that divides [3, 4], got [?, 5]}}
  %0 = nn.reshape %x, %s : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<?x5xf32>
  return
}

// -----

func.func @reshape_4(%x: tensor<3x4xf32>) {
  %s = nn.constant dense<[-1, -1]> : tensor<2xi64>
  // expected-error @below {{expects one -1 in the shape at most}}
  %0 = nn.reshape %x, %s : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @reshape_5(%x: tensor<3x4xf32>) {
  %s = nn.constant dense<[-2, 6]> : tensor<2xi64>
  // expected-error @below {{expects extents of at least -1, got -2}}
  %0 = nn.reshape %x, %s : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x6xf32>
  return
}

// -----

func.func @reshape_6(%x: tensor<12xf32>) {
  %s = nn.constant dense<[-1, 0]> : tensor<2xi64>
  // expected-error @below {{expects an input dimension to copy for the 0 at position 1}}
  %0 = nn.reshape %x, %s : (tensor<12xf32>, tensor<2xi64>) -> tensor<12x1xf32>
  return
}

// -----

func.func @reshape_7(%x: tensor<0xf32>) {
  %s = nn.constant dense<[-1, 0]> : tensor<2xi64>
  // expected-error @below {{expects no -1 beside a 0 with allowzero}}
  %0 = nn.reshape %x, %s {allowzero} : (tensor<0xf32>, tensor<2xi64>) -> tensor<0x0xf32>
  return
}

// -----

func.func @reshape_8(%x: tensor<?xf32>) {
  %s = nn.constant dense<4611686018427387904> : tensor<2xi64>
  // expected-error @below {{expects fewer than 2^63 elements}}
  %0 = nn.reshape %x, %s : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @transpose_1(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{expects a permutation of 4 axes, got [0, 2, 2, 3]}}
  %0 = nn.transpose %x perm [0, 2, 2, 3] : (tensor<1x2x3x4xf32>) -> tensor<1x3x3x4xf32>
  return
}

// -----

func.func @squeeze_1(%x: tensor<1x2xf32>) {
  // expected-error @below {{expects extent 1 at axis 1, got 2}}
  %0 = nn.squeeze %x axes [1] : (tensor<1x2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @squeeze_2(%x: tensor<1x2xf32>) {
  // expected-error @below {{expects axes in ascending order within [0, 2), got [-1]}}
  %0 = nn.squeeze %x axes [-1] : (tensor<1x2xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @unsqueeze_1(%x: tensor<?x?xf32>) {
  // expected-error @below {{expects axes in ascending order within [0, 4), got [1, 4]}}
  %0 = nn.unsqueeze %x axes [1, 4] : (tensor<?x?xf32>) -> tensor<?x1x?x1xf32>
  return
}

// -----

func.func @flatten_1(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{expects axis within [0, 4], got 5}}
  %0 = nn.flatten %x {axis = 5 : i64} : (tensor<1x2x3x4xf32>) -> tensor<24x1xf32>
  return
}

// -----

func.func @flatten_2(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @below {{expects fewer than 2^63 elements}}
  %0 = nn.flatten %x {axis = 2 : i64} : (tensor<4294967296x4294967296xf32>) -> tensor<?x1xf32>
  return
}

// -----

func.func @expand_1(%x: tensor<3xf32>, %s: tensor<?xi64>) {
  // expected-error @below {{expects a shape of static length}}
  %0 = nn.expand %x, %s : (tensor<3xf32>, tensor<?xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @expand_2(%x: tensor<3xf32>) {
  %s = nn.constant dense<2> : tensor<1xi64>
  // expected-error @below {{expects operands that broadcast, got dimensions 3 and 2 at axis 0 of shapes [3] and [2]}}
  %0 = nn.expand %x, %s : (tensor<3xf32>, tensor<1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @expand_3(%x: tensor<1xf32>) {
  %s = nn.constant dense<-1> : tensor<1xi64>
  // expected-error @below {{expects extents of at least 0, got -1}}
  %0 = nn.expand %x, %s : (tensor<1xf32>, tensor<1xi64>) -> tensor<1xf32>
  return
}

// -----

func.func @tile_1(%x: tensor<1x1x3xf32>, %r: tensor<2xi64>) {
  // expected-error @below {{expects 3 repeat counts, got 2}}
  %0 = nn.tile %x, %r : (tensor<1x1x3xf32>, tensor<2xi64>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @tile_2(%x: tensor<3xf32>) {
  %r = nn.constant dense<-1> : tensor<1xi64>
  // expected-error @below {{expects repeat counts of at least 0, got -1}}
  %0 = nn.tile %x, %r : (tensor<3xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @tile_3(%x: tensor<3xf32>) {
  %r = nn.constant dense<4611686018427387904> : tensor<1xi64>
  // expected-error @below {{expects fewer than 2^63 elements}}
  %0 = nn.tile %x, %r : (tensor<3xf32>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @concat_1(%a: tensor<1x2x48xf32>, %b: tensor<1x2x64xf32>) {
  // expected-error @below {{expects equal extents but along axis 1, got 48 and 64 at axis 2}}
  %0 = nn.concat %a, %b {axis = 1 : i64} : (tensor<1x2x48xf32>, tensor<1x2x64xf32>) -> tensor<1x4x48xf32>
  return
}

// -----

func.func @concat_2() {
  // expected-error @below {{expects at least one input}}
  %0 = nn.concat {axis = 0 : i64} : () -> tensor<1xf32>
  return
}

// -----

func.func @concat_3(%a: tensor<1x2xf32>, %b: tensor<2xf32>) {
  // expected-error @below {{expects inputs of one rank, got 2 and 1}}
  %0 = nn.concat %a, %b {axis = 0 : i64} : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @concat_4(%a: tensor<1xf32>, %b: tensor<1xi64>) {
  // expected-error @below {{expects operands of one element type, got 'f32' and 'i64'}}
  %0 = nn.concat %a, %b {axis = 0 : i64} : (tensor<1xf32>, tensor<1xi64>) -> tensor<2xf32>
  return
}

// -----

func.func @concat_5(%a: tensor<9223372036854775807xf32>) {
  // expected-error @below {{expects fewer than 2^63 elements}}
  %0 = nn.concat %a, %a {axis = 0 : i64} : (tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @split_1(%x: tensor<144xf32>) {
  // expected-error @below {{expects sizes that sum to 144, got 143}}
  %0:2 = nn.split %x {axis = 0 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 71, 72>} : (tensor<144xf32>) -> (tensor<71xf32>, tensor<72xf32>)
  return
}

// -----

func.func @split_2(%x: tensor<144xf32>) {
  // expected-error @below {{expects 3 sizes, got 2}}
  %0:2 = nn.split %x {axis = 0 : i64, num_outputs = 3 : i64, split_sizes = array<i64: 72, 72>} : (tensor<144xf32>) -> (tensor<72xf32>, tensor<72xf32>)
  return
}

// -----

func.func @split_3(%x: tensor<?xf32>) {
  // expected-error @below {{expects sizes of at least 0, got [-1, 2]}}
  %0:2 = nn.split %x {axis = 0 : i64, num_outputs = 2 : i64, split_sizes = array<i64: -1, 2>} : (tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)
  return
}

// -----

func.func @split_4(%x: tensor<?xf32>) {
  // expected-error @below {{expects 1 to 65536 outputs, got 0}}
  "nn.split"(%x) {axis = 0 : i64, num_outputs = 0 : i64} : (tensor<?xf32>) -> ()
  return
}

// -----

func.func @split_5(%x: tensor<?xf32>) {
  // expected-error @below {{expects results of type 'tensor<?xf32>', 'tensor<?xf32>', got 'tensor<?xf32>'}}
  %0 = nn.split %x {axis = 0 : i64, num_outputs = 2 : i64} : (tensor<?xf32>) -> tensor<?xf32>
  return
}
