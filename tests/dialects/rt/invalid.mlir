// RUN: heddle-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expects recipe steps of kind transpose, slice, concat, multiply, quantize, scales, sums, flip, widen, pack, got {kind = "scale"}}}
rt.constant @w {source = dense<0.0> : tensor<3xf32>, source_type = tensor<3xf32>, recipe = [{kind = "scale"}]}
    : tensor<3xf32>

// -----

// expected-error @+1 {{expects static shapes, got 'tensor<?xf32>' and 'tensor<3xf32>'}}
rt.constant @w {source = dense<0.0> : tensor<3xf32>, source_type = tensor<?xf32>, recipe = []} : tensor<3xf32>

// -----

rt.func @main attributes {inputs = [], outputs = []} {
  // expected-error @+1 {{expects to end in rt.yield of 2 sizes}}
  %a, %b = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index, index
}

// -----

// expected-error @+1 {{'rt.shape_constant' op expects parent op 'rt.shape_func'}}
%0 = rt.shape_constant 1

// -----

rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [1]}], outputs = []} {
  %n = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index
  %x = rt.input 0
  %y = rt.buffer %n
  // expected-error @+1 {{expects one dictionary of results_info per output, got 0 for 1}}
  rt.dispatch @k ins(%x) outs(%y) sizes(%n) {nodes = [], results_info = []}
}

// -----

rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [1]}], outputs = []} {
  %n = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index
  %x = rt.input 0
  %y = rt.buffer %n
  // expected-error @+1 {{expects a path for each of 2 nodes, got 1}}
  rt.dispatch @k ins(%x) outs(%y) sizes(%n)
      {nodes = ["a", "b"], paths = [""], results_info = [{name = "", type = f32, permutation = array<i64: 0>}]}
}

// -----

rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [1]}], outputs = []} {
  %n = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index
  %x = rt.input 0
  %y = rt.buffer %n
  // expected-error @+1 {{expects as many grids as grains and scratch sizes, got 1, 0 and 1}}
  rt.dispatch @k ins(%x) outs(%y) sizes(%n) grids(%n) scratch(%n)
      {nodes = [], results_info = [{name = "", type = f32, permutation = array<i64: 0>}]}
}

// -----

rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [1]}], outputs = []} {
  %n = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index
  %x = rt.input 0
  %y = rt.buffer %n
  // expected-error @+1 {{expects axes_counts for each of 2 targets, got 1}}
  rt.dispatch @k ins(%x) outs(%y) sizes(%n) grids(%n, %n) grains(%n, %n) scratch(%n, %n)
      {axes_counts = array<i64: 0>, nodes = [], results_info = [{name = "", type = f32, permutation = array<i64: 0>}]}
}

// -----

rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [1]}], outputs = []} {
  %n = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index
  %x = rt.input 0
  %y = rt.buffer %n
  // expected-error @+1 {{expects axes_counts of 0 or 9, got 6}}
  rt.dispatch @k ins(%x) outs(%y) sizes(%n) grids(%n, %n) grains(%n, %n) scratch(%n, %n)
      axes(%n, %n, %n, %n, %n, %n)
      {axes_counts = array<i64: 0, 6>, nodes = [], results_info = [{name = "", type = f32, permutation = array<i64: 0>}]}
}

// -----

rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [1]}], outputs = []} {
  %n = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index
  %x = rt.input 0
  %y = rt.buffer %n
  // expected-error @+1 {{expects 9 axes as axes_counts say, got 3}}
  rt.dispatch @k ins(%x) outs(%y) sizes(%n) grids(%n, %n) grains(%n, %n) scratch(%n, %n)
      axes(%n, %n, %n)
      {axes_counts = array<i64: 0, 9>, nodes = [], results_info = [{name = "", type = f32, permutation = array<i64: 0>}]}
}

// -----

rt.func @main attributes {inputs = [{name = "x", type = f32, dims = [1]}], outputs = []} {
  %n = rt.shape_func {
    %0 = rt.shape_constant 1
    rt.yield %0 : index
  } : index
  %x = rt.input 0
  %y = rt.buffer %n
  // expected-error @+1 {{expects 0 axes as axes_counts say, got 3}}
  rt.dispatch @k ins(%x) outs(%y) sizes(%n) grids(%n, %n) grains(%n, %n) scratch(%n, %n)
      axes(%n, %n, %n)
      {nodes = [], results_info = [{name = "", type = f32, permutation = array<i64: 0>}]}
}
