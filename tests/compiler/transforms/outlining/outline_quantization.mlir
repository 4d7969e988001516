// RUN: heddle-opt %s --nn-outline-kernels --split-input-file | FileCheck %s

// Half to even, zero point, saturation, the low bits of what is within 8 bits; blocks share a scale.
// CHECK: kernel.map
// CHECK: %[[BLOCK:.*]] = arith.divui
// CHECK: kernel.gather
// CHECK: %[[Q:.*]] = arith.divf
// CHECK: math.roundeven %[[Q]]
// CHECK: %[[LOW:.*]] = arith.constant -1.280000e+02 : f32
// CHECK: %[[HIGH:.*]] = arith.constant 1.270000e+02 : f32
// CHECK: %[[CLAMPED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[HIGH]] : f32
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK: arith.trunci %[[BITS]] : i32 to i8
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]}, %s: tensor<?x2xf32> {nn.name = "s", nn.dims = ["r", 2]})
    -> (tensor<?x8xi8> {nn.name = "y", nn.dims = ["r", 8]}) {
  %y = nn.quantize_linear %x, %s {axis = 1 : i64, block_size = 4 : i64, to = i8} : (tensor<?x8xf32>, tensor<?x2xf32>) -> tensor<?x8xi8>
  return %y : tensor<?x8xi8>
}

// -----

// Integers are subtracted before anything is rounded.
// CHECK: kernel.map
// CHECK: %[[X:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK: %[[Z:.*]] = arith.extui %{{.*}} : i8 to i32
// CHECK: %[[D:.*]] = arith.subi %[[X]], %[[Z]]
// CHECK: arith.sitofp %[[D]] : i32 to f32
// CHECK: arith.mulf
func.func @main(%x: tensor<?x8xui8> {nn.name = "x", nn.dims = ["r", 8]}, %s: tensor<f32> {nn.name = "s", nn.dims = []},
                %z: tensor<ui8> {nn.name = "z", nn.dims = []}) -> (tensor<?x8xf32> {nn.name = "y", nn.dims = ["r", 8]}) {
  %y = nn.dequantize_linear %x, %s, %z {axis = 1 : i64, block_size = 0 : i64} : (tensor<?x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// The range of the whole tensor is one kernel with two results, the codes are a second one.
// CHECK: rt.dispatch @f32i8_reduce
// CHECK: rt.dispatch @i8_map
// CHECK: kernel.reduce
// CHECK-SAME: combiners = [#kernel.combiner<minimum>, #kernel.combiner<maximum>]
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]})
    -> (tensor<?x8xui8> {nn.name = "y", nn.dims = ["r", 8]}, tensor<f32> {nn.name = "s", nn.dims = []},
        tensor<ui8> {nn.name = "z", nn.dims = []}) {
  %y, %s, %z = nn.dynamic_quantize_linear %x : (tensor<?x8xf32>) -> (tensor<?x8xui8>, tensor<f32>, tensor<ui8>)
  return %y, %s, %z : tensor<?x8xui8>, tensor<f32>, tensor<ui8>
}

// -----

// Rows: least and greatest, then codes of each element, scale and zero point of each row.
// CHECK: rt.dispatch @i8f32_rowwise
// CHECK-NOT: rt.dispatch
// CHECK: kernel.rowwise {{.*}}combiners = [#kernel.combiner<maximum>, #kernel.combiner<maximum>]
// CHECK: ^bb0(%[[X:.*]]: f32, %[[LOW:.*]]: i32, %[[HIGH:.*]]: i32):
// CHECK: %[[BELOW:.*]] = arith.maxsi %[[LOW]]
// CHECK: %[[SIZE:.*]] = arith.bitcast %[[BELOW]] : i32 to f32
// CHECK: %[[LO:.*]] = arith.negf %[[SIZE]]
// CHECK: %[[ABOVE:.*]] = arith.maxsi %[[HIGH]]
// CHECK: %[[HI:.*]] = arith.bitcast %[[ABOVE]] : i32 to f32
// CHECK: arith.subf %[[HI]], %[[LO]]
// CHECK: %[[STEPS:.*]] = arith.mulf %[[X]]
// CHECK: math.roundeven %[[STEPS]]
// CHECK: kernel.yield {{.*}} : i8, f32, i8
// CHECK: } : tensor<?x?x8xi8>, tensor<?x?xf32>, tensor<?x?xi8>
func.func @main(%x: tensor<?x?x8xf32> {nn.name = "x", nn.dims = ["b", "r", 8]})
    -> (tensor<?x?x8xui8> {nn.name = "y", nn.dims = ["b", "r", 8]}, tensor<?x?x1xf32> {nn.name = "s", nn.dims = ["b", "r", 1]},
        tensor<?x?x1xui8> {nn.name = "z", nn.dims = ["b", "r", 1]}) {
  %y, %s, %z = nn.quantize_rows %x : (tensor<?x?x8xf32>) -> (tensor<?x?x8xui8>, tensor<?x?x1xf32>, tensor<?x?x1xui8>)
  return %y, %s, %z : tensor<?x?x8xui8>, tensor<?x?x1xf32>, tensor<?x?x1xui8>
}

// -----

// GELU belongs to the product before it, which stores floats; it isn't computed for each pass over a row.
// CHECK: rt.dispatch @f32_contract
// CHECK: rt.dispatch @i8f32_rowwise
// CHECK: rt.dispatch @f32_contract
// CHECK-NOT: rt.dispatch
// CHECK: kernel.contract
// CHECK: math.erf
// CHECK: kernel.rowwise
// CHECK-NOT: math.erf
func.func @main(%x: tensor<?x8xf32> {nn.name = "x", nn.dims = ["r", 8]}) -> (tensor<?x8xf32> {nn.name = "y", nn.dims = ["r", 8]}) {
  %w1 = nn.constant dense<1.0> : tensor<8x32xf32>
  %w2 = nn.constant dense<1.0> : tensor<32x8xf32>
  %h = nn.matmul %x, %w1 : (tensor<?x8xf32>, tensor<8x32xf32>) -> tensor<?x32xf32>
  %g = nn.unary gelu_erf %h : (tensor<?x32xf32>) -> tensor<?x32xf32>
  %q, %s, %z = nn.quantize_rows %g : (tensor<?x32xf32>) -> (tensor<?x32xui8>, tensor<?x1xf32>, tensor<?x1xui8>)
  %c, %t = nn.quantize_weight %w2 {axis = 1 : i64, block_size = 0 : i64, to = i8} : (tensor<32x8xf32>) -> (tensor<32x8xi8>, tensor<8xf32>)
  %acc = nn.matmul_integer %q, %c lhs_zero_point(%z : tensor<?x1xui8>) : (tensor<?x32xui8>, tensor<32x8xi8>) -> tensor<?x8xi32>
  %f = nn.cast %acc {to = f32} : (tensor<?x8xi32>) -> tensor<?x8xf32>
  %a = nn.binary mul %f, %s : (tensor<?x8xf32>, tensor<?x1xf32>) -> tensor<?x8xf32>
  %y = nn.binary mul %a, %t : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Elements of a table that is stored as codes are dequantised where they are read, however that is written.
// CHECK-DAG: rt.constant {{.*}}kind = "quantize"{{.*}} : tensor<1000x8xi8>
// CHECK-DAG: rt.constant {{.*}}tensor<100x2xui8>{{.*}} : tensor<100x2xi8>
// CHECK: rt.dispatch @f32_map{{.*}}error_sites
// CHECK: rt.dispatch @f32_map{{.*}}error_sites
// CHECK-NOT: rt.dispatch
// CHECK: kernel.map
// CHECK: kernel.gather %{{.*}} : tensor<1000x8xi8>, i64, index -> i8
// CHECK: kernel.gather %{{.*}} : tensor<1000xf32>, i64 -> f32
func.func @main(%ids: tensor<?xi64> {nn.name = "ids", nn.dims = ["r"]})
    -> (tensor<?x8xf32> {nn.name = "y", nn.dims = ["r", 8]}, tensor<?x2xf32> {nn.name = "v", nn.dims = ["r", 2]}) {
  %w = nn.constant #nn.external<"w", 0, 32000> -> tensor<1000x8xf32>
  %c, %s = nn.quantize_weight %w {axis = 0 : i64, block_size = 0 : i64, to = i8} : (tensor<1000x8xf32>) -> (tensor<1000x8xi8>, tensor<1000xf32>)
  %table = nn.dequantize_linear %c, %s {axis = 0 : i64, block_size = 0 : i64} : (tensor<1000x8xi8>, tensor<1000xf32>) -> tensor<1000x8xf32>
  %y = nn.gather %table, %ids {axis = 0 : i64} : (tensor<1000x8xf32>, tensor<?xi64>) -> tensor<?x8xf32>
  %u = nn.constant #nn.external<"u", 0, 200> -> tensor<100x2xui8>
  %scale = nn.constant #nn.external<"s", 0, 400> -> tensor<100x1xf32>
  %f = nn.cast %u {to = f32} : (tensor<100x2xui8>) -> tensor<100x2xf32>
  %small = nn.binary mul %f, %scale : (tensor<100x2xf32>, tensor<100x1xf32>) -> tensor<100x2xf32>
  %v = nn.gather %small, %ids {axis = 0 : i64} : (tensor<100x2xf32>, tensor<?xi64>) -> tensor<?x2xf32>
  return %y, %v : tensor<?x8xf32>, tensor<?x2xf32>
}
