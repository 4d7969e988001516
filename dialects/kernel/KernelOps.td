// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the kernel dialect: the function that holds one kernel, its structured roots, and what regions may use.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELOPS_TD
#define HEDDLE_DIALECTS_KERNEL_KERNELOPS_TD

include "dialects/kernel/KernelProductOps.td"

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

def Kernel_FuncOp : Kernel_Op<"func", [FunctionOpInterface, IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "one kernel: a structured root between its operands and results";
  let description = [{
    The signature is the kernel ABI (runtime/include/heddle/executable_abi.h): ranked tensors come first and are the
    input bindings, `index` arguments follow and are the `sizes`, results are the output bindings.

    Each tensor argument and result with dynamic dimensions carries `kernel.dims`: for each dynamic dimension, in
    order, the number of the size argument that holds it.

        kernel.func @scale(%x: tensor<?x384xf32> {kernel.dims = array<i64: 0>}, %rows: index)
            -> (tensor<?x384xf32> {kernel.dims = array<i64: 0>}) {
          %y = kernel.map sizes(%rows) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%x : tensor<?x384xf32>)
              attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>,
                                           affine_map<(d0, d1)[s0] -> (d0, d1)>]} {
          ^bb0(%e: f32):
            %two = arith.constant 2.0 : f32
            %r = arith.mulf %e, %two : f32
            kernel.yield %r : f32
          } : tensor<?x384xf32>
          kernel.return %y : tensor<?x384xf32>
        }

    Optional attributes: `kernel.config` (#kernel.lowering_config), written by a target's selection pass. On an argument
    that is a tensor `kernel.constant` (unit): every dispatch of the kernel passes a constant there. The compiler marks
    the copies of kernels of a target that keeps constants apart from what runs write.

        kernel.func @add(%x: tensor<4xf32>, %w: tensor<4xf32> {kernel.constant}) -> tensor<4xf32> {
          %y = kernel.map sizes() bounds(affine_map<() -> (4)>) ins(%x, %w : tensor<4xf32>, tensor<4xf32>)
              attributes {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>,
                                           affine_map<(d0) -> (d0)>]} {
          ^bb0(%e: f32, %f: f32):
            %r = arith.addf %e, %f : f32
            kernel.yield %r : f32
          } : tensor<4xf32>
          kernel.return %y : tensor<4xf32>
        }
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type,
                                 CArg<"::llvm::ArrayRef<::mlir::NamedAttribute>", "{}">:$attrs)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// Number of leading tensor arguments (the input bindings).
    unsigned getNumInputs();
    /// Number of trailing index arguments (the sizes).
    unsigned getNumSizes() { return getNumArguments() - getNumInputs(); }
    /// The only structured root.
    ::heddle::kernel::RootOpInterface getRoot();
    /// Size-argument numbers of the dynamic dimensions of input |i| or result |i|.
    ::llvm::ArrayRef<int64_t> getInputDims(unsigned i);
    ::llvm::ArrayRef<int64_t> getResultDims(unsigned i);
    /// Whether every dispatch passes a constant as input |i|, as far as kernel.constant says.
    bool isConstantInput(unsigned i);
  }];
}

def Kernel_ReturnOp : Kernel_Op<"return", [Pure, Terminator, HasParent<"FuncOp">]> {
  let summary = "ends a kernel.func and hands out its results";
  let description = [{
    `kernel.return %y : tensor<?x384xf32>`
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Roots
//===----------------------------------------------------------------------===//

def Kernel_MapOp : Kernel_Root<"map", [SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "computes each element of its results on its own";
  let description = [{
    For all loop indices d: results[map_r(d)] = body(inputs[map_i(d)]...).

    All loops are parallel. Each result's map must hit every element of the result exactly once. The region may use
    `kernel.index`, `kernel.gather` and the enclosing function's size arguments.

        %y = kernel.map sizes(%rows) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%x : tensor<?x384xf32>)
            attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>]} {
        ^bb0(%e: f32):
          %r = arith.addf %e, %e : f32
          kernel.yield %r : f32
        } : tensor<?x384xf32>
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    attr-dict-with-keyword $body `:` type($results)
  }];
  let hasVerifier = 1;
}
def Kernel_ReduceOp : Kernel_Root<"reduce"> {
  let summary = "reduces over some loops, then finishes each result element";
  let description = [{
    For all indices p of the loops not in `reduction_loops`:
      acc_c = combine_c over the reduction loops of body(inputs[map(p, r)]...)_c      (one per combiner)
      results[map(p)] = finish(acc..., captures[map(p)]...)

    The first `input_count` tensors are the inputs of `body`; the rest are captures: elements of `finish`, whose maps
    don't depend on the reduction loops. The order of combination is fixed by the bounds of the reduction loops alone,
    so no result depends on how many others there are. An empty reduction gives the combiner's neutral element.

        // the mean of 8 rows
        %y = kernel.reduce bounds(affine_map<() -> (8, 4)>) ins(%x : tensor<8x4xf32>)
            attributes {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>],
                        reduction_loops = array<i64: 0>, input_count = 1 : i64,
                        combiners = [#kernel.combiner<sum>]} body {
        ^bb0(%e: f32):
          kernel.yield %e : f32
        } finish {
        ^bb0(%sum: f32):
          %eighth = arith.constant 0.125 : f32
          %r = arith.mulf %sum, %eighth : f32
          kernel.yield %r : f32
        } : tensor<4xf32>
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps, DenseI64ArrayAttr:$reduction_loops, I64Attr:$input_count,
                       Kernel_CombinerArrayAttr:$combiners);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$finish);
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    attr-dict-with-keyword `body` $body `finish` $finish `:` type($results)
  }];
  let hasVerifier = 1;
}

def Kernel_RowwiseOp : Kernel_Root<"rowwise"> {
  let summary = "reduces each row in stages, then maps it: normalisations, softmax, dynamic quantisation";
  let description = [{
    The last loop runs along the row. For every row (all indices of the other loops):
      stat_0 = combine_0 over the row of stage_0(inputs...)
      stat_1 = combine_1 over the row of stage_1(inputs..., stat_0)       and so on
      results[map(d)] = finish(inputs..., stat_0, stat_1, ...)

    Regions: one per combiner, then `finish`. A result whose map doesn't use the last loop gets one value per row,
    which may depend on the stats only. A combiner's order within the row is fixed by the row's length alone.

        // softmax along the last dimension
        %p = kernel.rowwise sizes(%n) bounds(affine_map<()[s0] -> (s0, 384)>) ins(%x : tensor<?x384xf32>)
            attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>],
                        combiners = [#kernel.combiner<maximum>, #kernel.combiner<sum>]} regions {
        ^bb0(%e: f32):
          kernel.yield %e : f32
        }, {
        ^bb0(%e: f32, %max: f32):
          %d = arith.subf %e, %max : f32
          %x1 = math.exp %d : f32
          kernel.yield %x1 : f32
        }, {
        ^bb0(%e: f32, %max: f32, %sum: f32):
          %d = arith.subf %e, %max : f32
          %x1 = math.exp %d : f32
          %r = arith.divf %x1, %sum : f32
          kernel.yield %r : f32
        } : tensor<?x384xf32>
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps, Kernel_CombinerArrayAttr:$combiners);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$stages);
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    attr-dict-with-keyword `regions` $stages `:` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Region &getFinish() { return getStages().back(); }
  }];
}

def Kernel_ScanOp : Kernel_Root<"scan"> {
  let summary = "running combination along the last loop";
  let description = [{
    The last loop runs along the scan, always from its first step to its last. For all indices p of the other loops and
    each step i:
      acc_i = combine(acc_(i-1), body(inputs[map(p, i)]...)),  acc_(-1) the combiner's neutral element
      results[map(p, i)] = finish(acc_i, captures[map(p, i)]...),  with `exclusive` finish(acc_(i-1), ...)

    The first `input_count` tensors are the inputs of `body`, the rest captures of `finish`. Terms are added one at a
    time in the order of the loop, so that no result depends on vectors, threads or what comes after it. A scan from
    the end has maps that count down.

        // sums of a row, each up to and with its own element
        %y = kernel.scan sizes(%n) bounds(affine_map<()[s0] -> (s0, 8)>) ins(%x : tensor<?x8xf32>)
            attributes {indexing_maps = [affine_map<(d0, d1)[s0] -> (d0, d1)>, affine_map<(d0, d1)[s0] -> (d0, d1)>],
                        input_count = 1 : i64, combiner = #kernel.combiner<sum>} body {
        ^bb0(%e: f32):
          kernel.yield %e : f32
        } finish {
        ^bb0(%sum: f32):
          kernel.yield %sum : f32
        } : tensor<?x8xf32>
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps, I64Attr:$input_count, Kernel_CombinerAttr:$combiner,
                       UnitAttr:$exclusive);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$finish);
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    attr-dict-with-keyword `body` $body `finish` $finish `:` type($results)
  }];
  let hasVerifier = 1;
}

def Kernel_ScatterOp : Kernel_Root<"scatter"> {
  let summary = "changes a copy of a tensor at computed places";
  let description = [{
    The result starts as a copy of the first input. Then, for all indices p of the first `num_parallel` loops, in the
    order of the other loops u:
      (exists, places..., update) = body(inputs[map(p, u)]...)
      if exists: result[map(p) with places in the dimensions |scattered_dims|] = combine(old element, update)

    The result's map doesn't depend on the loops u and is 0 in the scattered dimensions; its other dimensions are one
    parallel loop each, so that different p never meet. Where two updates meet, the later one sees what the earlier one
    left. A place of an integer type is checked as an index of `kernel.gather` is, `site` counting as there.

        // rows of x that ids name are replaced
        %y = kernel.scatter sizes(%n) bounds(affine_map<()[s0] -> (8, s0)>)
            ins(%x, %ids, %rows : tensor<100x8xf32>, tensor<?xi64>, tensor<?x8xf32>)
            attributes {indexing_maps = [affine_map<(j, i)[s0] -> (0, j)>, affine_map<(j, i)[s0] -> (i)>,
                                         affine_map<(j, i)[s0] -> (i, j)>, affine_map<(j, i)[s0] -> (0, j)>],
                        num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {
        ^bb0(%id: i64, %e: f32):
          %exists = arith.constant true
          kernel.yield %exists, %id, %e : i1, i64, f32
        } combine {
        ^bb0(%old: f32, %update: f32):
          kernel.yield %update : f32
        } : tensor<100x8xf32>
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps, I64Attr:$num_parallel, DenseI64ArrayAttr:$scattered_dims,
                       OptionalAttr<I64Attr>:$site);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$combine);
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` `ins` `(` $inputs `:` type($inputs) `)`
    attr-dict-with-keyword `body` $body `combine` $combine `:` type($result)
  }];
  let hasVerifier = 1;
}

def Kernel_TopKOp : Kernel_Root<"top_k"> {
  let summary = "the first elements of each row in some order, and where they are";
  let description = [{
    The last but one loop i runs along the row, the last loop r over the ranks that are wanted. For all indices p of the
    other loops the elements body(inputs[map(p, i)]...) of the row are put in order, and of the elements that come first
    results[0][map(p, r)] is the one of rank r and results[1][map(p, r)] its index i, as i64.

    `precedes` says which of two elements comes first; of two that don't precede each other it is the one with the lower
    index. No more ranks may be wanted than a row has elements.

        // the four greatest of each row
        %v, %i = kernel.top_k sizes(%n) bounds(affine_map<()[s0] -> (8, s0, 4)>) ins(%x : tensor<8x?xf32>)
            attributes {indexing_maps = [affine_map<(p, i, r)[s0] -> (p, i)>, affine_map<(p, i, r)[s0] -> (p, r)>,
                                         affine_map<(p, i, r)[s0] -> (p, r)>]} body {
        ^bb0(%e: f32):
          kernel.yield %e : f32
        } precedes {
        ^bb0(%a: f32, %b: f32):
          %first = arith.cmpf ogt, %a, %b : f32
          kernel.yield %first : i1
        } : tensor<8x4xf32>, tensor<8x4xi64>
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps);
  let results = (outs AnyRankedTensor:$values, AnyRankedTensor:$indices);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$precedes);
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    attr-dict-with-keyword `body` $body `precedes` $precedes `:` type($values) `,` type($indices)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Inside regions
//===----------------------------------------------------------------------===//

def Kernel_YieldOp : Kernel_Op<"yield", [Pure, Terminator, ReturnLike]> {
  let summary = "ends a scalar region";
  let description = [{
    Gives the region's values: `kernel.yield %r : f32`.
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), [{ }]>];
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

def Kernel_IndexOp : Kernel_Op<"index", [Pure]> {
  let summary = "the current index of one of the root's loops";
  let description = [{
    The index of the second loop: `%column = kernel.index 1`.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntMinValue<0>]>:$loop);
  let results = (outs Index:$result);
  let assemblyFormat = "$loop attr-dict";
  let hasVerifier = 1;
}

def Kernel_GatherOp : Kernel_Op<"gather", [Pure]> {
  let summary = "reads one element of a tensor at computed indices";
  let description = [{
    result = table[indices]. The table is a tensor argument of the enclosing kernel.func. An index of type `index` is
    trusted; one of an integer type comes from data: below zero it counts from the end, and one outside the table ends
    the kernel with INDEX_OUT_OF_RANGE; `site` counts the kernel's checked reads, each dispatch says which node it is.

        %row = kernel.gather %table[%id, %column] {site = 0 : i64} : tensor<30522x384xf32>, i64, index
  }];
  let arguments = (ins AnyRankedTensor:$table, Variadic<AnySignlessIntegerOrIndex>:$indices,
                       OptionalAttr<I64Attr>:$site);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$table `[` $indices `]` attr-dict `:` type($table) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

#endif // HEDDLE_DIALECTS_KERNEL_KERNELOPS_TD
