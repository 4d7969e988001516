// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s

// CHECK: module attributes {rt.targets = ["cpu:x86-64-v3"]}
module attributes {rt.targets = ["cpu:x86-64-v3"]} {
  // CHECK: rt.constant @w {recipe = [{kind = "pack", panel = 16 : i64}], source = #nn.external<"model.onnx", 4711, 36>
  // CHECK-SAME: source_type = tensor<3x3xf32>} : tensor<1x3x16xf32>
  rt.constant @w {source = #nn.external<"model.onnx", 4711, 36>, source_type = tensor<3x3xf32>,
                  recipe = [{kind = "pack", panel = 16 : i64}]} : tensor<1x3x16xf32>

  // CHECK: kernel.func @scale
  kernel.func @scale(%x: tensor<?x3xf32> {kernel.dims = array<i64: 0>}, %w: tensor<1x3x16xf32>, %rows: index)
      -> (tensor<?x3xf32> {kernel.dims = array<i64: 0>}) {
    %y = kernel.map sizes(%rows) bounds(affine_map<()[s0] -> (s0, 3)>) ins(%x : tensor<?x3xf32>)
        attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]} {
    ^bb0(%e: f32):
      kernel.yield %e : f32
    } : tensor<?x3xf32>
    kernel.return %y : tensor<?x3xf32>
  }

  // CHECK: rt.func @main attributes {inputs = [{dims = ["rows", 3], name = "x", type = f32}
  rt.func @main attributes {inputs = [{name = "x", type = f32, dims = ["rows", 3]}, {name = "n", type = i64, dims = []}],
                            outputs = [{name = "y", type = f32, dims = ["rows", 3]},
                                       {name = "s", type = i64, dims = [2]}]} {
    // CHECK: %[[S:.*]]:5 = rt.shape_func {
    %rows, %bytes, %one, %two, %limit = rt.shape_func {
      // CHECK-NEXT: %[[R:.*]] = rt.input_dim 0, 0
      // CHECK-NEXT: %[[V:.*]] = rt.input_value 1, 0
      // CHECK-NEXT: %[[C:.*]] = rt.shape_constant 12
      // CHECK-NEXT: rt.shape_arith mul %[[R]], %[[C]]
      %r = rt.input_dim 0, 0
      %v = rt.input_value 1, 0
      %c = rt.shape_constant 12
      %b = rt.shape_arith mul %r, %c
      %o = rt.shape_constant 1
      %t = rt.shape_constant 2
      // CHECK: %[[L:.*]] = rt.shape_arith less %[[R]], %[[V]]
      // CHECK-NEXT: %[[M:.*]] = rt.shape_select %[[L]], %[[R]], %[[V]]
      %l = rt.shape_arith less %r, %v
      %m = rt.shape_select %l, %r, %v
      // CHECK-NEXT: rt.check less_equal %{{.*}}, %[[M]] node "/Slice" message "expects {a}, got {b}"
      rt.check less_equal %o, %m node "/Slice" message "expects {a}, got {b}"
      // CHECK-NEXT: rt.yield
      rt.yield %r, %b, %o, %t, %m : index, index, index, index, index
    } : index, index, index, index, index
    // CHECK: %[[X:.*]] = rt.input 0
    // CHECK-NEXT: %[[Y:.*]] = rt.output 0 sizes(%[[S]]#0, %[[S]]#3)
    // CHECK-NEXT: rt.output 1 sizes(%[[S]]#3)
    // CHECK-NEXT: %[[W:.*]] = rt.constant_buffer @w
    // CHECK-NEXT: %[[A:.*]] = rt.buffer %[[S]]#1
    %x = rt.input 0
    %y = rt.output 0 sizes(%rows, %two)
    %s = rt.output 1 sizes(%two)
    %w = rt.constant_buffer @w
    %a = rt.buffer %bytes
    // CHECK-NEXT: rt.dispatch @scale ins(%[[X]], %[[W]]) outs(%[[A]]) sizes(%[[S]]#0) result_sizes(%[[S]]#0, %[[S]]#3)
    // CHECK-SAME: flops(%[[S]]#1) bytes(%[[S]]#1) grids(%[[S]]#0) grains(%[[S]]#2) scratch(%[[S]]#2)
    // CHECK-SAME: error_sites = {{\[\[}}"/Gather", "Gather", "token id"]], nodes = ["/Mul"], paths = ["layer.0/mul"]
    rt.dispatch @scale ins(%x, %w) outs(%a) sizes(%rows) result_sizes(%rows, %two) flops(%bytes) bytes(%bytes)
        grids(%rows) grains(%one) scratch(%one)
        {nodes = ["/Mul"], paths = ["layer.0/mul"], error_sites = [["/Gather", "Gather", "token id"]],
         results_info = [{name = "/Mul_output_0", type = f32, permutation = array<i64: 0, 1>}]}
    // CHECK-NEXT: rt.dispatch @scale ins(%[[X]], %[[W]]) outs(%[[Y]]) sizes(%[[S]]#0) grids(%[[S]]#0, %[[S]]#1)
    // CHECK-SAME: axes(%[[S]]#0, %[[S]]#2, %[[S]]#2, %[[S]]#1, %[[S]]#2, %[[S]]#2, %[[S]]#2, %[[S]]#2, %[[S]]#2,
    // CHECK-SAME: {axes_counts = array<i64: 0, 12>
    rt.dispatch @scale ins(%x, %w) outs(%y) sizes(%rows) grids(%rows, %bytes) grains(%one, %one) scratch(%one, %one)
        axes(%rows, %one, %one, %bytes, %one, %one, %one, %one, %one, %bytes, %one, %one)
        {axes_counts = array<i64: 0, 12>, nodes = [],
         results_info = [{name = "", type = f32, permutation = array<i64: 0, 1>}]}
    // CHECK-NEXT: rt.copy %[[A]] to %[[Y]] bytes(%[[S]]#1)
    rt.copy %a to %y bytes(%bytes)
    // CHECK-NEXT: rt.store_slots %{{.*}} slots(%[[S]]#0, %[[S]]#4) : i64
    rt.store_slots %s slots(%rows, %limit) : i64
  }
  // CHECK: rt.func @main_8 attributes {inputs = [{dims = [8, 3], name = "x", type = f32}], outputs = []
  // CHECK-SAME: specializes = @main}
  rt.func @main_8 attributes {inputs = [{name = "x", type = f32, dims = [8, 3]}], outputs = [], specializes = @main} {
  }
}
