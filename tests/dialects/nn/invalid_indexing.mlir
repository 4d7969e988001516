// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// Each fault of indexing is reported in the words of its op.

func.func @slice_1(%x: tensor<2x2xf32>, %s: tensor<1xi64>, %e: tensor<2xi64>) {
  // expected-error @below {{expects starts, ends, axes and steps of one static length}}
  %0 = nn.slice %x, %s, %e : (tensor<2x2xf32>, tensor<1xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @slice_2(%x: tensor<2x2xf32>, %s: tensor<?xi64>) {
  // expected-error @below {{expects starts, ends, axes and steps of one static length}}
  %0 = nn.slice %x, %s, %s : (tensor<2x2xf32>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @slice_3(%x: tensor<2xf32>, %s: tensor<1xi64>) {
  %z = nn.constant dense<0> : tensor<1xi64>
  // expected-error @below {{expects a step other than 0}}
  %0 = nn.slice %x, %s, %s steps(%z : tensor<1xi64>) : (tensor<2xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @slice_4(%x: tensor<2x2xf32>, %s: tensor<1xi64>) {
  %a = nn.constant dense<2> : tensor<1xi64>
  // expected-error @below {{expects axes within [-2, 2), got 2}}
  %0 = nn.slice %x, %s, %s axes(%a : tensor<1xi64>) : (tensor<2x2xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @slice_5(%x: tensor<2x2xf32>, %s: tensor<2xi64>) {
  %a = nn.constant dense<[1, -1]> : tensor<2xi64>
  // expected-error @below {{expects distinct axes}}
  %0 = nn.slice %x, %s, %s axes(%a : tensor<2xi64>) : (tensor<2x2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

// -----

func.func @slice_6(%x: tensor<2xf32>, %s: tensor<2xi64>) {
  // expected-error @below {{expects at most 1 axes, got 2}}
  %0 = nn.slice %x, %s, %s : (tensor<2xf32>, tensor<2xi64>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @gather_1(%x: tensor<2x3xf32>, %i: tensor<?xi64>) {
  // expected-error @below {{expects axis within [0, 2), got 2}}
  %0 = nn.gather %x, %i {axis = 2 : i64} : (tensor<2x3xf32>, tensor<?xi64>) -> tensor<?x3xf32>
  return
}

// -----

func.func @gather_elements_1(%x: tensor<2x3xf32>, %i: tensor<3xi64>) {
  // expected-error @below {{expects indices of rank 2, got 1}}
  %0 = nn.gather_elements %x, %i {axis = 1 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @gather_elements_2(%x: tensor<2x3xf32>, %i: tensor<3x3xi64>) {
  // expected-error @below {{expects at most 2 indices at axis 0, got 3}}
  %0 = nn.gather_elements %x, %i {axis = 1 : i64} : (tensor<2x3xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  return
}

// -----

func.func @gather_nd_1(%x: tensor<2x3xf32>, %i: tensor<?x3xi64>) {
  // expected-error @below {{expects index tuples of a static length within [1, 2], got [3]}}
  %0 = nn.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<2x3xf32>, tensor<?x3xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @gather_nd_2(%x: tensor<2x3xf32>, %i: tensor<?x?xi64>) {
  // expected-error @below {{expects index tuples of a static length within [1, 2], got [?]}}
  %0 = nn.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<2x3xf32>, tensor<?x?xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @gather_nd_3(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @below {{expects batch_dims within [0, 2), got 2}}
  %0 = nn.gather_nd %x, %i {batch_dims = 2 : i64} : (tensor<2x3xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @gather_nd_4(%x: tensor<2x3xf32>, %i: tensor<4x1xi64>) {
  // expected-error @below {{expects equal batch dimensions, got 2 and 4}}
  %0 = nn.gather_nd %x, %i {batch_dims = 1 : i64} : (tensor<2x3xf32>, tensor<4x1xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @scatter_elements_1(%x: tensor<2x3xf32>, %i: tensor<2x2xi64>, %u: tensor<2x1xf32>) {
  // expected-error @below {{expects indices and updates of one shape}}
  %0 = nn.scatter_elements none %x, %i, %u {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xi64>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scatter_nd_1(%x: tensor<?x8xf32>, %i: tensor<?x1xi64>, %u: tensor<?x7xf32>) {
  // expected-error @below {{expects updates of shape [?, 8], got [?, 7]}}
  %0 = nn.scatter_nd none %x, %i, %u : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x7xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @trilu_1(%x: tensor<3xf32>) {
  // expected-error @below {{expects an input of rank 2 or more, got 1}}
  %0 = nn.trilu %x : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @pad_1(%x: tensor<1x2x3x4xf32>, %p: tensor<4xi64>) {
  // expected-error @below {{expects 8 pads, got 4}}
  %0 = nn.pad constant %x, %p : (tensor<1x2x3x4xf32>, tensor<4xi64>) -> tensor<?x?x?x?xf32>
  return
}

// -----

func.func @pad_2(%x: tensor<2xf32>, %p: tensor<2xi64>, %v: tensor<i64>) {
  // expected-error @below {{expects a value of element type 'f32', got 'i64'}}
  %0 = nn.pad constant %x, %p value(%v : tensor<i64>) : (tensor<2xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @pad_3(%x: tensor<2xf32>, %p: tensor<2xi64>, %a: tensor<?xi64>) {
  // expected-error @below {{expects at most 1 axes, of static number}}
  %0 = nn.pad constant %x, %p axes(%a : tensor<?xi64>) : (tensor<2xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @pad_4(%x: tensor<2xf32>) {
  %p = nn.constant dense<-2> : tensor<2xi64>
  // expected-error @below {{expects pads that leave extents of at least 0}}
  %0 = nn.pad constant %x, %p : (tensor<2xf32>, tensor<2xi64>) -> tensor<?xf32>
  return
}

// -----

func.func @one_hot_1(%i: tensor<?x?xi64>, %d: tensor<i64>, %v: tensor<2xf32>) {
  // expected-error @below {{expects axis within [0, 3), got 3}}
  %0 = nn.one_hot %i, %d, %v {axis = 3 : i64} : (tensor<?x?xi64>, tensor<i64>, tensor<2xf32>) -> tensor<?x?x?xf32>
  return
}

// -----

func.func @one_hot_2(%i: tensor<?xi64>, %d: tensor<i64>, %v: tensor<3xf32>) {
  // expected-error @below {{expects two values, got 3}}
  %0 = nn.one_hot %i, %d, %v {axis = 1 : i64} : (tensor<?xi64>, tensor<i64>, tensor<3xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @one_hot_3(%i: tensor<?xi64>, %v: tensor<2xf32>) {
  %d = nn.constant dense<0> : tensor<i64>
  // expected-error @below {{expects a depth of at least 1, got 0}}
  %0 = nn.one_hot %i, %d, %v {axis = 1 : i64} : (tensor<?xi64>, tensor<i64>, tensor<2xf32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @top_k_1(%x: tensor<?x4xf32>, %k: tensor<i64>) {
  // expected-error @below {{expects axis within [0, 2), got 2}}
  %0, %1 = nn.top_k %x, %k {axis = 2 : i64} : (tensor<?x4xf32>, tensor<i64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  return
}

// -----

func.func @top_k_2(%x: tensor<?x4xf32>) {
  %k = nn.constant dense<5> : tensor<i64>
  // expected-error @below {{expects k within [0, 4], got 5}}
  %0, %1 = nn.top_k %x, %k {axis = 1 : i64} : (tensor<?x4xf32>, tensor<i64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
  return
}
