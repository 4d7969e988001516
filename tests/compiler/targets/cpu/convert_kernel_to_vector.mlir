// RUN: heddle-opt %s --cpu-select-lowering-config=target=cpu:x86-64-v4 --cpu-convert-kernel-to-vector --canonicalize --cse --split-input-file | FileCheck %s

// Both loops lie flat in every operand: one loop of chunks, whole vectors first, then the masked tail.
// CHECK-DAG: #[[GRID:.*]] = affine_map<()[s0, s1] -> ((s1 * s0) ceildiv 4096)>
// CHECK-LABEL: func.func @runs_flat
// CHECK-SAME: %[[X:[^:]*]]: memref<1xf32> {llvm.noalias}, %{{[^:]*}}: memref<1xf32> {llvm.noalias}
// CHECK-SAME: cpu.grid = #[[GRID]]
// CHECK: memref.reinterpret_cast %[[X]]
// CHECK: scf.for
// CHECK:   scf.for
// CHECK:     %[[V:.*]] = vector.load
// CHECK:     %[[D:.*]] = arith.addf %[[V]], %[[V]] : vector<16xf32>
// CHECK:     vector.store %[[D]]
// CHECK:   scf.if
// CHECK:     vector.create_mask
// CHECK:     vector.maskedload
// CHECK:     vector.maskedstore
// CHECK-NOT: kernel.
kernel.func @runs_flat(%x: tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}, %a: index, %b: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.map sizes(%a, %b) bounds(affine_map<()[s0, s1] -> (s0, s1)>) ins(%x : tensor<?x?xf32>)
      attributes {indexing_maps = [affine_map<(i, j)[s0, s1] -> (i, j)>, affine_map<(i, j)[s0, s1] -> (i, j)>]} {
  ^bb0(%e: f32):
    %d = arith.addf %e, %e : f32
    kernel.yield %d : f32
  } : tensor<?x?xf32>
  kernel.return %y : tensor<?x?xf32>
}

// -----

// A row that is a multiple of 16 has no tail, an id that is the same in all lanes is checked once for its row.
// CHECK-LABEL: func.func @checks_an_id_once_per_vector
// CHECK: memref.alloca() : memref<i32>
// CHECK: scf.for
// CHECK:   scf.if
// CHECK:     %[[ID:.*]] = memref.load %{{.*}} : memref<?xi64>
// CHECK:     %[[NEGATIVE:.*]] = arith.cmpi slt, %[[ID]]
// CHECK:     arith.select %[[NEGATIVE]]
// CHECK:     %[[OUTSIDE:.*]] = arith.cmpi uge
// CHECK:     scf.if %[[OUTSIDE]]
// CHECK-NOT: vector.gather
// CHECK:     vector.maskedload %{{.*}} : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
// CHECK:     vector.store
// CHECK-NOT: vector.create_mask
kernel.func @checks_an_id_once_per_vector(%table: tensor<100x32xf32>, %ids: tensor<8xi64>) -> tensor<8x32xf32> {
  %y = kernel.map bounds(affine_map<() -> (8, 32)>) ins(%ids : tensor<8xi64>)
      attributes {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>]} {
  ^bb0(%id: i64):
    %j = kernel.index 1
    %e = kernel.gather %table[%id, %j] {site = 0 : i64} : tensor<100x32xf32>, i64, index -> f32
    kernel.yield %e : f32
  } : tensor<8x32xf32>
  kernel.return %y : tensor<8x32xf32>
}

// -----

// 4 x 64: sixteen accumulators stay in registers from the loop over k to the epilogue.
// CHECK-LABEL: func.func @multiplies_in_tiles
// CHECK: scf.for
// CHECK:   %[[SUMS:.*]]:16 = scf.for
// CHECK-COUNT-4: memref.prefetch
// CHECK-COUNT-4: vector.load
// CHECK: memref.load
// CHECK: vector.broadcast
// CHECK-COUNT-16: math.fma
// CHECK: scf.yield
// CHECK: %[[B:.*]] = vector.load
// CHECK: %[[R:.*]] = arith.addf %[[SUMS]]#0, %[[B]]
// CHECK: vector.store %[[R]]
// CHECK: scf.index_switch
// CHECK: case 1
// CHECK: case 3
#x = affine_map<(m, n, k)[s0] -> (m, k)>
#packed = affine_map<(m, n, k)[s0] -> (0, 0, 0)>
#bias = affine_map<(m, n, k)[s0] -> (n)>
#y = affine_map<(m, n, k)[s0] -> (m, n)>
kernel.func @multiplies_in_tiles(
    %x: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %w: tensor<4x32x16xf32>, %bias: tensor<64xf32>, %m: index)
    -> (tensor<?x64xf32> {kernel.dims = array<i64: 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, 64, 32)>)
      ins(%x, %w, %bias : tensor<?x32xf32>, tensor<4x32x16xf32>, tensor<64xf32>)
      attributes {indexing_maps = [#x, #packed, #bias, #y], packed_rhs = 64 : i64} epilogue {
  ^bb0(%acc: f32, %b: f32):
    %s = arith.addf %acc, %b : f32
    kernel.yield %s : f32
  } : tensor<?x64xf32>
  kernel.return %r : tensor<?x64xf32>
}

// -----

// Keys lie along k: the panel is transposed into scratch, 16 by 16, which needs scratch of its depth.
// CHECK-DAG: #[[SCRATCH:.*]] = affine_map<()[s0] -> (4096)>
// CHECK-LABEL: func.func @packs_an_activation
// CHECK-SAME: cpu.scratch = #[[SCRATCH]]
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store
kernel.func @packs_an_activation(
    %q: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %k: tensor<?x32xf32> {kernel.dims = array<i64: 0>}, %m: index)
    -> (tensor<?x?xf32> {kernel.dims = array<i64: 0, 0>}) {
  %r = kernel.contract sizes(%m) bounds(affine_map<()[s0] -> (s0, s0, 32)>)
      ins(%q, %k : tensor<?x32xf32>, tensor<?x32xf32>)
      attributes {indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (n, k)>,
                                   affine_map<(m, n, k)[s0] -> (m, n)>]} epilogue {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<?x?xf32>
  kernel.return %r : tensor<?x?xf32>
}

// -----

// Four accumulators along the row, merged in one fixed tree.
// CHECK-LABEL: func.func @reduces_a_row
// CHECK: %[[SUMS:.*]]:4 = scf.for
// CHECK-COUNT-4: arith.addf %{{.*}} : vector<16xf32>
// CHECK: arith.addf %[[SUMS]]#0, %[[SUMS]]#1
// CHECK: vector.shuffle
// CHECK: vector.extract
kernel.func @reduces_a_row(%x: tensor<8x128xf32>) -> tensor<8xf32> {
  %r = kernel.reduce bounds(affine_map<() -> (8, 128)>) ins(%x : tensor<8x128xf32>)
      attributes {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  reduction_loops = array<i64: 1>, input_count = 1 : i64, combiners = [#kernel.combiner<sum>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%acc: f32):
    kernel.yield %acc : f32
  } : tensor<8xf32>
  kernel.return %r : tensor<8xf32>
}

// -----

// Each group of 64 keys is classified by its bounds, for the item before packing and for each tile; the first accepts
// the last query's keys. Then 16 accumulators by packed keys, the mask where the group is PARTIAL, weights, and 16
// accumulators by the values in place.
// CHECK-DAG: #[[GRID:.*]] = affine_map<()[s0] -> ({{.*}}s0 ceildiv 192{{.*}})>
// CHECK-LABEL: func.func @skips_what_no_query_sees
// CHECK-SAME: cpu.grid = #[[GRID]]
// CHECK: %[[SEEN:.*]] = arith.cmpi sle, %{{.*}}, %{{.*}} : index
// CHECK: arith.select %[[SEEN]], %{{.*}}, %{{.*}} : f32
// CHECK: scf.if %[[SEEN]] {
// CHECK-COUNT-64: vector.shuffle
// CHECK: %[[MAY:.*]] = arith.cmpi sle
// CHECK-NEXT: %[[FULL:.*]] = arith.cmpi sle
// CHECK: %[[PACKED:.*]] = arith.cmpf oge
// CHECK: %[[ACTIVE:.*]] = arith.andi %[[MAY]], %[[PACKED]] : i1
// CHECK: scf.if %[[ACTIVE]] {
// CHECK:   scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>
// CHECK-COUNT-16: math.fma
// CHECK:   %[[WHOLE:.*]] = arith.cmpi ule
// CHECK:   %[[CLEAN:.*]] = arith.andi %[[WHOLE]], %[[FULL]] : i1
// CHECK:   scf.if %[[CLEAN]] {
// CHECK-NOT: vector.create_mask
// CHECK:   } else {
// CHECK:     vector.create_mask
// CHECK:     arith.cmpi ule, %{{.*}} : vector<16xindex>
// CHECK:     arith.select
#qmap = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, g, d)>
#kmap = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, g, d)>
#vmap = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, g, e)>
#omap = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, g, e)>
kernel.func @skips_what_no_query_sees(
    %q: tensor<?x12x64xf32> {kernel.dims = array<i64: 0>}, %k: tensor<?x12x64xf32> {kernel.dims = array<i64: 0>},
    %v: tensor<?x12x64xf32> {kernel.dims = array<i64: 0>}, %s: index)
    -> (tensor<?x12x64xf32> {kernel.dims = array<i64: 0>}) {
  %o = kernel.attention sizes(%s) bounds(affine_map<()[s0] -> (1, 12, 1, s0, s0, 64, 64)>)
      ins(%q, %k, %v : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32>)
      attributes {indexing_maps = [#qmap, #kmap, #vmap, #omap], scale = 0.125 : f32, fully_masked = "zero"} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %m = kernel.index 3
    %n = kernel.index 4
    %seen = arith.cmpi ule, %n, %m : index
    kernel.yield %seen : i1
  } : tensor<?x12x64xf32>
  kernel.return %o : tensor<?x12x64xf32>
}

// -----

// Padding is looked for in the data, once an item and group: which keys are kept, and whether the bias that hides the
// others is 0. Tiles of plain groups have neither mask nor bias.
// CHECK-LABEL: func.func @looks_for_padding
// CHECK: scf.for {{.*}} -> (i1, i1)
// CHECK: %[[KEPT:.*]] = arith.cmpi sgt, %{{.*}}, %{{.*}} : vector<16xi64>
// CHECK: %[[ZERO:.*]] = arith.cmpf oeq, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK: vector.reduction <or>
// CHECK: vector.reduction <and>
// CHECK: scf.for {{.*}} -> (vector<16xf32>
// CHECK-COUNT-16: math.fma
// CHECK:   scf.if
// CHECK-NOT: arith.sitofp
// CHECK:   } else {
// CHECK:     arith.sitofp
// CHECK:     arith.select
#qmap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (b, m, d)>
#kmap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (b, n, d)>
#vmap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (b, n, e)>
#omap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (b, m, e)>
#pmap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (b, n)>
kernel.func @looks_for_padding(
    %q: tensor<?x?x64xf32> {kernel.dims = array<i64: 0, 1>}, %k: tensor<?x?x64xf32> {kernel.dims = array<i64: 0, 1>},
    %v: tensor<?x?x64xf32> {kernel.dims = array<i64: 0, 1>}, %p: tensor<?x?xi64> {kernel.dims = array<i64: 0, 1>},
    %b: index, %s: index) -> (tensor<?x?x64xf32> {kernel.dims = array<i64: 0, 1>}) {
  %o = kernel.attention sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, 1, 1, s1, s1, 64, 64)>)
      ins(%q, %k, %v, %p : tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?x64xf32>, tensor<?x?xi64>)
      attributes {indexing_maps = [#qmap, #kmap, #vmap, #pmap, #omap], scale = 0.125 : f32,
                  fully_masked = "literal"} score {
  ^bb0(%x: f32, %kept: i64):
    %one = arith.constant 1.0 : f32
    %lowest = arith.constant -3.4e38 : f32
    %float = arith.sitofp %kept : i64 to f32
    %not = arith.subf %one, %float : f32
    %bias = arith.mulf %not, %lowest : f32
    %sum = arith.addf %x, %bias : f32
    kernel.yield %sum : f32
  } mask {
  ^bb0(%kept: i64):
    %zero = arith.constant 0 : i64
    %seen = arith.cmpi sgt, %kept, %zero : i64
    kernel.yield %seen : i1
  } : tensor<?x?x64xf32>
  kernel.return %o : tensor<?x?x64xf32>
}

// -----

// Without a mask nothing is tested, and 40 keys of one block leave no row to be scanned for kept ones.
// CHECK-LABEL: func.func @tests_nothing_without_a_mask
// CHECK-NOT: vector<16xindex>
// CHECK: return
#qmap = affine_map<(b, g, r, m, n, d, e) -> (m, d)>
#kmap = affine_map<(b, g, r, m, n, d, e) -> (n, d)>
#vmap = affine_map<(b, g, r, m, n, d, e) -> (n, e)>
#omap = affine_map<(b, g, r, m, n, d, e) -> (m, e)>
kernel.func @tests_nothing_without_a_mask(%q: tensor<4x16xf32>, %k: tensor<40x16xf32>, %v: tensor<40x16xf32>)
    -> tensor<4x16xf32> {
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 4, 40, 16, 16)>)
      ins(%q, %k, %v : tensor<4x16xf32>, tensor<40x16xf32>, tensor<40x16xf32>)
      attributes {indexing_maps = [#qmap, #kmap, #vmap, #omap], scale = 0.25 : f32, fully_masked = "literal"} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<4x16xf32>
  kernel.return %o : tensor<4x16xf32>
}

// -----

// Weights that need the row's sum: the second of two passes over the keys, which share the code of scores, has the
// division and the region's rounding, the first one maxima and sums. Nothing is as large as the scores.
// CHECK-LABEL: func.func @goes_over_the_keys_twice
// CHECK-NOT: memref.alloc
// CHECK: scf.for %[[PASS:.*]] = %c0 to %c2 step %c1 {
// CHECK: %[[FINAL:.*]] = arith.cmpi ne, %[[PASS]], %c0 : index
// CHECK: scf.for %{{.*}} = %c0 to %c600 step %c256
// CHECK: math.fma
// CHECK: scf.if %[[FINAL]] {
// CHECK: %[[PART:.*]] = arith.divf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-NEXT: %[[STEPS:.*]] = arith.divf %[[PART]], %{{.*}} : vector<16xf32>
// CHECK-NEXT: math.roundeven %[[STEPS]] : vector<16xf32>
#qmap = affine_map<(b, g, r, m, n, d, e) -> (m, d)>
#kmap = affine_map<(b, g, r, m, n, d, e) -> (n, d)>
#vmap = affine_map<(b, g, r, m, n, d, e) -> (n, e)>
#omap = affine_map<(b, g, r, m, n, d, e) -> (m, e)>
kernel.func @goes_over_the_keys_twice(%q: tensor<4x16xf32>, %k: tensor<600x16xf32>, %v: tensor<600x16xf32>)
    -> tensor<4x16xf32> {
  %o = kernel.attention bounds(affine_map<() -> (1, 1, 1, 4, 600, 16, 16)>)
      ins(%q, %k, %v : tensor<4x16xf32>, tensor<600x16xf32>, tensor<600x16xf32>)
      attributes {indexing_maps = [#qmap, #kmap, #vmap, #omap], scale = 0.25 : f32, fully_masked = "literal"} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } probability {
  ^bb0(%p: f32):
    %step = arith.constant 0.01 : f32
    %steps = arith.divf %p, %step : f32
    %whole = math.roundeven %steps : f32
    %weight = arith.mulf %whole, %step : f32
    kernel.yield %weight : f32
  } : tensor<4x16xf32>
  kernel.return %o : tensor<4x16xf32>
}

// -----

// Scans that don't lie side by side run one by one, their sum in a register.
// CHECK-LABEL: func.func @scans_rows
// CHECK: scf.for
// CHECK:   %{{.*}} = scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (i64)
// CHECK:     %[[E:.*]] = memref.load
// CHECK:     %[[NEXT:.*]] = arith.addi %[[SUM]], %[[E]] : i64
// CHECK:     memref.store %[[NEXT]]
// CHECK:     scf.yield %[[NEXT]]
kernel.func @scans_rows(%x: tensor<?x40xi64> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x40xi64> {kernel.dims = array<i64: 0>}) {
  %y = kernel.scan sizes(%n) bounds(affine_map<()[s0] -> (s0, 40)>) ins(%x : tensor<?x40xi64>)
      attributes {indexing_maps = [affine_map<(p, s)[s0] -> (p, s)>, affine_map<(p, s)[s0] -> (p, s)>],
                  input_count = 1 : i64, combiner = #kernel.combiner<sum>} body {
  ^bb0(%e: i64):
    kernel.yield %e : i64
  } finish {
  ^bb0(%sum: i64):
    kernel.yield %sum : i64
  } : tensor<?x40xi64>
  kernel.return %y : tensor<?x40xi64>
}

// -----

// Neighbouring ones share a vector, one a lane.
// CHECK-LABEL: func.func @scans_columns
// CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<16xf32>)
// CHECK:   %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}} : vector<16xf32>
// CHECK:   vector.store %[[SUM]]
// CHECK:   scf.yield %[[NEXT]]
kernel.func @scans_columns(%x: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x64xf32> {kernel.dims = array<i64: 0>}) {
  %y = kernel.scan sizes(%n) bounds(affine_map<()[s0] -> (64, s0)>) ins(%x : tensor<?x64xf32>)
      attributes {indexing_maps = [affine_map<(p, s)[s0] -> (s, p)>, affine_map<(p, s)[s0] -> (s, p)>],
                  input_count = 1 : i64, combiner = #kernel.combiner<sum>, exclusive} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } finish {
  ^bb0(%sum: f32):
    kernel.yield %sum : f32
  } : tensor<?x64xf32>
  kernel.return %y : tensor<?x64xf32>
}

// -----

// Rows that one index names: its check is a branch around a whole vector, which the combination changes in place.
// CHECK-LABEL: func.func @scatters_rows
// CHECK: vector.load %[[DATA:.*]][
// CHECK: vector.store %{{.*}}, %[[RESULT:.*]][
// CHECK: %[[ID:.*]] = memref.load %{{.*}} : memref<?xi64>
// CHECK: %[[VALID:.*]] = arith.cmpi ult
// CHECK: scf.if %[[VALID]]
// CHECK:   %[[OLD:.*]] = vector.load %[[RESULT]]
// CHECK:   %[[NEW:.*]] = arith.addf %[[OLD]]
// CHECK:   vector.store %[[NEW]], %[[RESULT]]
kernel.func @scatters_rows(%x: tensor<20x64xf32>, %ids: tensor<?xi64> {kernel.dims = array<i64: 0>},
                           %u: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %n: index) -> tensor<20x64xf32> {
  %y = kernel.scatter sizes(%n) bounds(affine_map<()[s0] -> (64, s0)>)
      ins(%x, %ids, %u : tensor<20x64xf32>, tensor<?xi64>, tensor<?x64xf32>)
      attributes {indexing_maps = [affine_map<(j, i)[s0] -> (0, j)>, affine_map<(j, i)[s0] -> (i)>,
                                   affine_map<(j, i)[s0] -> (i, j)>, affine_map<(j, i)[s0] -> (0, j)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
  ^bb0(%id: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    %r = arith.addf %old, %update : f32
    kernel.yield %r : f32
  } : tensor<20x64xf32>
  kernel.return %y : tensor<20x64xf32>
}

// -----

// The ranks so far are compared from the last one on, and moved while the element comes first.
// CHECK-LABEL: func.func @ranks_a_row
// CHECK: scf.for
// CHECK:   scf.for {{.*}} iter_args(%[[COUNT:.*]] = %{{.*}}) -> (index)
// CHECK:   %[[FULL:.*]] = arith.cmpi eq, %[[COUNT]]
// CHECK:   scf.if %[[FULL]] -> (i1)
// CHECK:   scf.while
// CHECK:     scf.condition
// CHECK:   memref.store
// CHECK:   memref.store
kernel.func @ranks_a_row(%x: tensor<?x40xf32> {kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x4xf32> {kernel.dims = array<i64: 0>}, tensor<?x4xi64> {kernel.dims = array<i64: 0>}) {
  %v, %i = kernel.top_k sizes(%n) bounds(affine_map<()[s0] -> (s0, 40, 4)>) ins(%x : tensor<?x40xf32>)
      attributes {indexing_maps = [affine_map<(p, i, r)[s0] -> (p, i)>, affine_map<(p, i, r)[s0] -> (p, r)>,
                                   affine_map<(p, i, r)[s0] -> (p, r)>]} body {
  ^bb0(%e: f32):
    kernel.yield %e : f32
  } precedes {
  ^bb0(%a: f32, %b: f32):
    %first = arith.cmpf ogt, %a, %b : f32
    kernel.yield %first : i1
  } : tensor<?x4xf32>, tensor<?x4xi64>
  kernel.return %v, %i : tensor<?x4xf32>, tensor<?x4xi64>
}

// -----

// The score holds the fill that the mask stands for. A tile that the mask keeps as a whole asks for neither: its scores
// are the scaled products. In the others the fill is added, and what is masked is dropped all the same.
// CHECK-LABEL: func.func @adds_the_fill_of_its_mask
// CHECK: scf.for {{.*}} -> (vector<16xf32>
// CHECK-COUNT-16: math.fma
// CHECK:   scf.if
// CHECK-NOT: arith.select
// CHECK-NOT: arith.addf
// CHECK:   } else {
// CHECK:     %[[PAST:.*]] = arith.cmpi ule, %{{.*}}, %{{.*}} : vector<16xindex>
// CHECK:     %[[FILL:.*]] = arith.select %[[PAST]]
// CHECK:     arith.addf %{{.*}}, %[[FILL]] : vector<16xf32>
#qmap = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, d)>
#kmap = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, d)>
#vmap = affine_map<(b, g, r, m, n, d, e)[s0] -> (n, e)>
#omap = affine_map<(b, g, r, m, n, d, e)[s0] -> (m, e)>
kernel.func @adds_the_fill_of_its_mask(
    %q: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %k: tensor<?x64xf32> {kernel.dims = array<i64: 0>},
    %v: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %s: index)
    -> (tensor<?x64xf32> {kernel.dims = array<i64: 0>}) {
  %o = kernel.attention sizes(%s) bounds(affine_map<()[s0] -> (1, 1, 1, s0, s0, 64, 64)>)
      ins(%q, %k, %v : tensor<?x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
      attributes {indexing_maps = [#qmap, #kmap, #vmap, #omap], scale = 0.125 : f32, fully_masked = "zero"} score {
  ^bb0(%x: f32):
    %m = kernel.index 3
    %n = kernel.index 4
    %past = arith.cmpi ule, %n, %m : index
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant -3.4e38 : f32
    %fill = arith.select %past, %zero, %lowest : f32
    %sum = arith.addf %x, %fill : f32
    kernel.yield %sum : f32
  } mask {
    %m = kernel.index 3
    %n = kernel.index 4
    %seen = arith.cmpi ule, %n, %m : index
    kernel.yield %seen : i1
  } : tensor<?x64xf32>
  kernel.return %o : tensor<?x64xf32>
}

// -----

// States of parts: the part is the items' last digit, a single tile of rows transposes keys where they lie, and the sums,
// the maximum and the sum of weights are stored side by side.
// CHECK: #[[PARTS:.*]] = affine_map<()[s0, s1] -> (s1)>
// CHECK-LABEL: func.func @gives_parts
// CHECK-SAME: cpu.grid = #[[PARTS]]
// CHECK: scf.index_switch
// CHECK: case 1 {
// CHECK: vector.load %[[KEYS:.*]][{{.*}}] : memref<?xf32>, vector<16xf32>
// CHECK-COUNT-64: vector.shuffle
// CHECK: math.fma
#qmap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (m, d)>
#kmap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (n, d)>
#vmap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (n, e)>
#smap = affine_map<(b, g, r, m, n, d, e)[s0, s1] -> (n, m, e)>
kernel.func @gives_parts(
    %q: tensor<2x64xf32>, %k: tensor<?x64xf32> {kernel.dims = array<i64: 0>},
    %v: tensor<?x64xf32> {kernel.dims = array<i64: 0>}, %keys: index, %parts: index)
    -> (tensor<?x2x66xf32> {kernel.dims = array<i64: 1>}) {
  %o = kernel.attention sizes(%keys, %parts) bounds(affine_map<()[s0, s1] -> (1, 1, 1, 2, s0, 64, 64)>)
      ins(%q, %k, %v : tensor<2x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
      attributes {indexing_maps = [#qmap, #kmap, #vmap, #smap], scale = 0.125 : f32, fully_masked = "zero",
                  part_size = 512 : i64, gives_parts} score {
  ^bb0(%x: f32):
    kernel.yield %x : f32
  } mask {
    %true = arith.constant true
    kernel.yield %true : i1
  } : tensor<?x2x66xf32>
  kernel.return %o : tensor<?x2x66xf32>
}
