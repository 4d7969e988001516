// What each op's result types are inferred to, exactly: infer_shapes_test compares them with those written here.

func.func @broadcasting(%a: tensor<?x1x4xf32>, %b: tensor<5x?xf32>, %c: tensor<?x?xi1>, %s: tensor<f32>, %e: tensor<0xf32>, %o: tensor<1xf32>) {
  %0 = nn.binary add %a, %b : (tensor<?x1x4xf32>, tensor<5x?xf32>) -> tensor<?x5x4xf32>
  %1 = nn.binary add %b, %b : (tensor<5x?xf32>, tensor<5x?xf32>) -> tensor<5x?xf32>
  %2 = nn.binary add %s, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %3 = nn.binary add %e, %o : (tensor<0xf32>, tensor<1xf32>) -> tensor<0xf32>
  %4 = nn.compare lt %a, %s : (tensor<?x1x4xf32>, tensor<f32>) -> tensor<?x1x4xi1>
  %5 = nn.where %c, %a, %s : (tensor<?x?xi1>, tensor<?x1x4xf32>, tensor<f32>) -> tensor<?x?x4xf32>
  return
}

func.func @contractions(%v: tensor<4xf32>, %m: tensor<?x4xf32>, %n: tensor<4x6xf32>, %p: tensor<2x1x?x4xf32>, %q: tensor<3x4x5xf32>, %r: tensor<?x?xf32>) {
  %0 = nn.matmul %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  %1 = nn.matmul %v, %n : (tensor<4xf32>, tensor<4x6xf32>) -> tensor<6xf32>
  %2 = nn.matmul %m, %v : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?xf32>
  %3 = nn.matmul %p, %q : (tensor<2x1x?x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x?x5xf32>
  %4 = nn.matmul %r, %n : (tensor<?x?xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  %5 = nn.gemm %m, %m {trans_b} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x?xf32>
  %row = nn.unsqueeze %v axes [0] : (tensor<4xf32>) -> tensor<1x4xf32>
  %6 = nn.einsum "ij, kj -> ik" %m, %row : (tensor<?x4xf32>, tensor<1x4xf32>) -> tensor<?x1xf32>
  %7 = nn.einsum "...ij,...jk->...ik" %p, %q : (tensor<2x1x?x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x?x5xf32>
  %8 = nn.einsum "ij->ji" %n : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %9 = nn.einsum "ii->i" %r : (tensor<?x?xf32>) -> tensor<?xf32>
  %10 = nn.einsum "ij,ij->" %n, %n : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<f32>
  %11 = nn.einsum "ij,jk->ik" %r, %n : (tensor<?x?xf32>, tensor<4x6xf32>) -> tensor<?x6xf32>
  return
}

func.func @conv(%x: tensor<?x3x32x?xf32>, %w: tensor<48x3x8x8xf32>, %k: tensor<48x3x5x1xf32>) {
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 8, 8>} : (tensor<?x3x32x?xf32>, tensor<48x3x8x8xf32>) -> tensor<?x48x4x?xf32>
  %1 = nn.conv %x, %k {dilations = array<i64: 3, 1>, group = 1 : i64, pads = array<i64: 2, 0, 1, 0>, strides = array<i64: 2, 1>} : (tensor<?x3x32x?xf32>, tensor<48x3x5x1xf32>) -> tensor<?x48x12x?xf32>
  return
}

func.func @reshapes(%x: tensor<?x16x48xf32>, %y: tensor<2x3x4xf32>, %z: tensor<0x3xf32>, %s: tensor<2xi64>) {
  %copy = nn.constant dense<[0, 0, 4, 12]> : tensor<4xi64>
  %rest = nn.constant dense<[0, -1]> : tensor<2xi64>
  %split = nn.constant dense<[-1, 16, 4, 12]> : tensor<4xi64>
  %fixed = nn.constant dense<[6, 4]> : tensor<2xi64>
  %zero = nn.constant dense<[0, 5]> : tensor<2xi64>
  %open = nn.constant dense<[-1, 3]> : tensor<2xi64>
  %none = nn.constant dense<> : tensor<0xi64>
  %scalar = nn.constant dense<1.0> : tensor<1xf32>
  %0 = nn.reshape %x, %copy : (tensor<?x16x48xf32>, tensor<4xi64>) -> tensor<?x16x4x12xf32>
  %1 = nn.reshape %x, %rest : (tensor<?x16x48xf32>, tensor<2xi64>) -> tensor<?x768xf32>
  %2 = nn.reshape %x, %split : (tensor<?x16x48xf32>, tensor<4xi64>) -> tensor<?x16x4x12xf32>
  %3 = nn.reshape %y, %fixed : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  %4 = nn.reshape %y, %rest : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x12xf32>
  %5 = nn.reshape %y, %s : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  %6 = nn.reshape %z, %zero {allowzero} : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<0x5xf32>
  %7 = nn.reshape %z, %open : (tensor<0x3xf32>, tensor<2xi64>) -> tensor<0x3xf32>
  %8 = nn.reshape %scalar, %none : (tensor<1xf32>, tensor<0xi64>) -> tensor<f32>
  return
}

// The constant extents of an exporter's shape arithmetic are seen, the others stay open.
func.func @shape_arithmetic(%x: tensor<?x?x48xf32>, %i: tensor<i64>) {
  %0 = nn.shape %x {end = 3 : i64, start = 0 : i64} : (tensor<?x?x48xf32>) -> tensor<3xi64>
  %first = nn.constant dense<0> : tensor<i64>
  %last = nn.constant dense<-1> : tensor<i64>
  %one = nn.constant dense<1> : tensor<1xi64>
  %two = nn.constant dense<2> : tensor<1xi64>
  %heads = nn.constant dense<[4, 12]> : tensor<2xi64>
  %1 = nn.gather %0, %first {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %2 = nn.unsqueeze %1 axes [0] : (tensor<i64>) -> tensor<1xi64>
  %3 = nn.slice %0, %one, %two : (tensor<3xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1xi64>
  %4 = nn.concat %2, %3, %heads {axis = 0 : i64} : (tensor<1xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<4xi64>
  %5 = nn.reshape %x, %4 : (tensor<?x?x48xf32>, tensor<4xi64>) -> tensor<?x?x4x12xf32>
  %6 = nn.gather %0, %last {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %7 = nn.cast %6 {to = i32} : (tensor<i64>) -> tensor<i32>
  %8 = nn.cast %7 {to = i64} : (tensor<i32>) -> tensor<i64>
  %9 = nn.unsqueeze %8 axes [0] : (tensor<i64>) -> tensor<1xi64>
  %10 = nn.constant_of_shape %9 {value = 0.000000e+00 : f32} : (tensor<1xi64>) -> tensor<48xf32>
  %11 = nn.gather %0, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
  %12 = nn.unsqueeze %11 axes [0] : (tensor<i64>) -> tensor<1xi64>
  %13 = nn.constant_of_shape %12 {value = 0.000000e+00 : f32} : (tensor<1xi64>) -> tensor<?xf32>
  return
}

func.func @views(%x: tensor<?x2x3xf32>, %y: tensor<1x?x3xf32>) {
  %0 = nn.transpose %x perm [2, 0, 1] : (tensor<?x2x3xf32>) -> tensor<3x?x2xf32>
  %1 = nn.squeeze %y axes [0, 1] : (tensor<1x?x3xf32>) -> tensor<3xf32>
  %2 = nn.unsqueeze %x axes [0, 2, 5] : (tensor<?x2x3xf32>) -> tensor<1x?x1x2x3x1xf32>
  %3 = nn.flatten %x {axis = 0 : i64} : (tensor<?x2x3xf32>) -> tensor<1x?xf32>
  %4 = nn.flatten %x {axis = 1 : i64} : (tensor<?x2x3xf32>) -> tensor<?x6xf32>
  %5 = nn.flatten %x {axis = 3 : i64} : (tensor<?x2x3xf32>) -> tensor<?x1xf32>
  return
}

func.func @repeats(%x: tensor<1x3xf32>, %d: tensor<?xi64>) {
  %shape = nn.constant dense<[5, 4, 1]> : tensor<3xi64>
  %twice = nn.constant dense<[2, 0]> : tensor<2xi64>
  %0 = nn.expand %x, %shape : (tensor<1x3xf32>, tensor<3xi64>) -> tensor<5x4x3xf32>
  %1 = nn.tile %x, %twice : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<2x0xf32>
  %2 = nn.tile %x, %d : (tensor<1x3xf32>, tensor<?xi64>) -> tensor<?x?xf32>
  %3 = nn.concat %x, %x {axis = 0 : i64} : (tensor<1x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  %4:2 = nn.split %x {axis = 1 : i64, num_outputs = 2 : i64} : (tensor<1x3xf32>) -> (tensor<1x2xf32>, tensor<1x1xf32>)
  %5:3 = nn.split %0 {axis = 0 : i64, num_outputs = 3 : i64, split_sizes = array<i64: 1, 4, 0>} : (tensor<5x4x3xf32>) -> (tensor<1x4x3xf32>, tensor<4x4x3xf32>, tensor<0x4x3xf32>)
  %6:2 = nn.split %2 {axis = 0 : i64, num_outputs = 2 : i64} : (tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>)
  return
}

func.func @concat_learns_extents(%x: tensor<?x3x4xf32>, %y: tensor<2x?x4xf32>) {
  %0 = nn.concat %x, %y {axis = 2 : i64} : (tensor<?x3x4xf32>, tensor<2x?x4xf32>) -> tensor<2x3x8xf32>
  return
}

func.func @slices(%x: tensor<10x?x4xf32>, %s: tensor<1xi64>) {
  %zero = nn.constant dense<0> : tensor<1xi64>
  %one = nn.constant dense<1> : tensor<1xi64>
  %three = nn.constant dense<3> : tensor<1xi64>
  %back = nn.constant dense<-1> : tensor<1xi64>
  %far = nn.constant dense<-9223372036854775807> : tensor<1xi64>
  %end = nn.constant dense<9223372036854775807> : tensor<1xi64>
  %lowest = nn.constant dense<-20> : tensor<1xi64>
  %0 = nn.slice %x, %one, %end : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<9x?x4xf32>
  %1 = nn.slice %x, %zero, %back steps(%three : tensor<1xi64>) : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<3x?x4xf32>
  %2 = nn.slice %x, %back, %far steps(%back : tensor<1xi64>) : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<10x?x4xf32>
  %3 = nn.slice %x, %end, %lowest axes(%back : tensor<1xi64>) steps(%far : tensor<1xi64>) : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<10x?x1xf32>
  %4 = nn.slice %x, %three, %one : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<0x?x4xf32>
  %5 = nn.slice %x, %zero, %one axes(%one : tensor<1xi64>) : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<10x?x4xf32>
  %6 = nn.slice %x, %s, %end : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x4xf32>
  %7 = nn.slice %x, %zero, %one axes(%s : tensor<1xi64>) : (tensor<10x?x4xf32>, tensor<1xi64>, tensor<1xi64>) -> tensor<?x?x?xf32>
  return
}

func.func @pads(%x: tensor<?x3xf32>, %p: tensor<4xi64>, %a: tensor<1xi64>) {
  %pads = nn.constant dense<[1, 2, 3, -1]> : tensor<4xi64>
  %pair = nn.constant dense<[1, 2]> : tensor<2xi64>
  %last = nn.constant dense<-1> : tensor<1xi64>
  %0 = nn.pad constant %x, %pads : (tensor<?x3xf32>, tensor<4xi64>) -> tensor<?x4xf32>
  %1 = nn.pad edge %x, %pair axes(%last : tensor<1xi64>) : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x6xf32>
  %2 = nn.pad edge %x, %p : (tensor<?x3xf32>, tensor<4xi64>) -> tensor<?x?xf32>
  %3 = nn.pad edge %x, %pair axes(%a : tensor<1xi64>) : (tensor<?x3xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return
}

func.func @indices(%x: tensor<2x?x4xf32>, %s: tensor<i64>, %i: tensor<5x6xi64>, %t: tensor<2x7x1xi64>, %u: tensor<2x7x2xi64>) {
  %0 = nn.gather %x, %s {axis = 0 : i64} : (tensor<2x?x4xf32>, tensor<i64>) -> tensor<?x4xf32>
  %1 = nn.gather %x, %i {axis = 1 : i64} : (tensor<2x?x4xf32>, tensor<5x6xi64>) -> tensor<2x5x6x4xf32>
  %2 = nn.gather_nd %x, %t {batch_dims = 0 : i64} : (tensor<2x?x4xf32>, tensor<2x7x1xi64>) -> tensor<2x7x?x4xf32>
  %3 = nn.gather_nd %x, %u {batch_dims = 1 : i64} : (tensor<2x?x4xf32>, tensor<2x7x2xi64>) -> tensor<2x7xf32>
  return
}

func.func @counts(%x: tensor<?x4xf32>, %i: tensor<?xi64>, %v: tensor<2xi8>) {
  %three = nn.constant dense<3> : tensor<i64>
  %zero = nn.constant dense<0> : tensor<i64>
  %ten = nn.constant dense<10> : tensor<i64>
  %minus = nn.constant dense<-4> : tensor<i64>
  %half = nn.constant dense<5.000000e-01> : tensor<f32>
  %two = nn.constant dense<2.000000e+00> : tensor<f32>
  %0, %1 = nn.top_k %x, %three {axis = 1 : i64} : (tensor<?x4xf32>, tensor<i64>) -> (tensor<?x3xf32>, tensor<?x3xi64>)
  %2 = nn.one_hot %i, %ten, %v {axis = 0 : i64} : (tensor<?xi64>, tensor<i64>, tensor<2xi8>) -> tensor<10x?xi8>
  %3 = nn.range %zero, %ten, %three : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<4xi64>
  %4 = nn.range %ten, %zero, %minus : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3xi64>
  %5 = nn.range %ten, %zero, %three : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<0xi64>
  %6 = nn.range %half, %two, %half : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<3xf32>
  return
}

func.func @rows(%x: tensor<?x4xf16>, %w: tensor<4xf32>) {
  %0 = nn.rms_norm %x, %w {axis = 1 : i64, epsilon = 1.000000e+00 : f32} : (tensor<?x4xf16>, tensor<4xf32>) -> tensor<?x4xf32>
  %1 = nn.reduce sum %x axes [0, 1] {keepdims} : (tensor<?x4xf16>) -> tensor<1x1xf16>
  %2 = nn.arg_reduce max %x {axis = 0 : i64} : (tensor<?x4xf16>) -> tensor<4xi64>
  return
}

func.func @projection(%x: tensor<?x7x8xf32>, %w: tensor<8x60xf32>) {
  %0:3 = attn.qkv_projection %x, %w {head_size = 4 : i64, kv_num_heads = 3 : i64, q_num_heads = 6 : i64, v_head_size = 8 : i64} : (tensor<?x7x8xf32>, tensor<8x60xf32>) -> (tensor<?x7x6x4xf32>, tensor<?x7x3x4xf32>, tensor<?x7x3x8xf32>)
  return
}
