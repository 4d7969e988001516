// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of the rt dialect, in the order of a program: constants, the function, shape arithmetic, memory, steps.

#ifndef HEDDLE_DIALECTS_RT_RTOPS_TD
#define HEDDLE_DIALECTS_RT_RTOPS_TD

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/rt/RtEnums.td"
include "dialects/rt/RtTypes.td"

class Rt_Op<string mnemonic, list<Trait> traits = []> : Op<Rt_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

def Rt_ConstantOp : Rt_Op<"constant", [Symbol]> {
  let summary = "bytes of the artifact's weights section, made from a source by an ordered recipe";
  let description = [{
    `source` is a `#nn.external` byte range, a dense or a resource attribute of type `source_type`. The recipe is an
    array of dictionaries, run in order, streaming, by the artifact writer. Those that only move elements come first:

      {kind = "transpose", permutation = array<i64: 1, 0>}    dimensions permuted
      {kind = "slice", axis = 1, begin = 32, size = 64}       a range of one dimension
      {kind = "slice", axis = 1, begin = 2, size = 64, every = 9}
                                                              of one source each ninth index of one dimension
      {kind = "concat", axis = 1, source = ..., source_type = ..., recipe = [...]}
                                                              one more source, with its own recipe, behind what is there

    Then those that compute elements of a matrix, in f32; between and behind them it may be transposed:

      {kind = "multiply", axis = 0, source = ..., source_type = ...}
                                                              f32, with one number of the source for each index of axis
      {kind = "quantize", axis = 1, pair_safe = true}         f32 -> i8, the codes of nn.quantize_weight; pair_safe may
                                                              be left out
      {kind = "quantize", axis = 1, block = 32, bits = 4}     f32 -> i4, the same by blocks of 32 along axis 0
      {kind = "scales", ...}                                  f32 -> f32, the scales of these codes; all of the above
                                                              may follow
      {kind = "sums", axis = 0}                               i8 -> i32, a vector of the sums along axis
      {kind = "widen", is_unsigned = true}                    u4 -> u8; without is_unsigned i4 -> i8
      {kind = "flip"}                                         u8 -> i8, 128 less; u4 -> i4, 8 less

    And last how it is stored:

      {kind = "pack", panel = 16}                             K x N -> ceil(N/16) x K x 16, zeros beyond N
      {kind = "pack", panel = 16, pairs_of = bf16}            f32, K x N -> ceil(N/16) x ceil(K/2) x 16 x 2 of bf16,
                                                              rounded to nearest even, zeros beyond N and K
      {kind = "pack", panel = 16, group = 4}                  i8, K x N -> ceil(N/16) x ceil(K/4) x 16 x 4, zeros beyond
                                                              N and K
      {kind = "pack", panel = 16, nibbles = true}             i4, K x N -> ceil(N/16) x ceil(K/2) x 16 bytes of code 2k
                                                              + 8 and, in the high half, code 2k + 1 + 8; 8 beyond

    A constant for measurements stands for a model's and has no source: `source` is a dictionary of the numbers that
    heddle/self_test.h makes elements by, `columns` 0 where they aren't packed, and the recipe is empty:

        rt.constant @made {source = {seed = 7, limit = 0, columns = 20, depth = 8, width = 16, group = 1},
                           source_type = tensor<2x8x16xf32>, recipe = []} : tensor<2x8x16xf32>

        rt.constant @w0 {source = #nn.external<"model.onnx", 4711, 589824>, source_type = tensor<384x384xf32>,
                         recipe = [ {kind = "pack", panel = 16 : i64} ]} : tensor<24x384x16xf32>
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, AnyAttr:$source, TypeAttrOf<AnyRankedTensor>:$source_type,
                       DictArrayAttr:$recipe, TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$sym_name attr-dict `:` $type";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

def Rt_FuncOp : Rt_Op<"func", [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments]> {
  let summary = "one entry point: a shape function, memory and steps in order";
  let description = [{
    `inputs` and `outputs` are arrays of dictionaries {name, type, dims}; a dimension is an integer, or a string that
    names a symbol shared by all inputs that use it. `default = @w` of an input names the `rt.constant` that stands for
    it where a run leaves it out. `specializes = @main` says that the entry point is an earlier one for some sizes:
    where that one has dynamic dimensions it may have numbers, and a run of that one with just these sizes takes it.

        rt.func @main attributes {inputs = [{name = "x", type = f32, dims = ["rows", 384]} ],
                                  outputs = [{name = "y", type = f32, dims = ["rows", 384]} ]} {
          %rows = rt.shape_func {
            %0 = rt.input_dim 0, 0
            rt.yield %0 : index
          } : index
          ...
        }
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, DictArrayAttr:$inputs, DictArrayAttr:$outputs,
                       OptionalAttr<FlatSymbolRefAttr>:$specializes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

//===----------------------------------------------------------------------===//
// Shape arithmetic
//===----------------------------------------------------------------------===//

def Rt_ShapeFuncOp : Rt_Op<"shape_func", [SingleBlock, NoRegionArguments, HasParent<"FuncOp">]> {
  let summary = "computes every size of the entry point, once per new input shape";
  let description = [{
    A straight line of shape arithmetic and checks. Runs before anything else; its results are the slots that the
    steps use. A failing check or a division by zero ends the run with an error.

        %rows, %bytes = rt.shape_func {
          %0 = rt.input_dim 0, 0
          %1 = rt.shape_constant 1536
          %2 = rt.shape_arith mul %0, %1
          rt.yield %0, %2 : index, index
        } : index, index
  }];
  let results = (outs Variadic<Index>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body (`:` type($results)^)?";
  let hasVerifier = 1;
}

def Rt_YieldOp : Rt_Op<"yield", [Terminator, ReturnLike, HasParent<"ShapeFuncOp">]> {
  let summary = "ends a shape function";
  let description = [{
    Its operands are the function's results, in order: `rt.yield %rows, %bytes : index, index`.
  }];
  let arguments = (ins Variadic<Index>:$operands);
  let assemblyFormat = "($operands^ `:` type($operands))? attr-dict";
}

class Rt_ShapeOp<string mnemonic, list<Trait> traits = []>
    : Rt_Op<mnemonic, !listconcat(traits, [Pure, HasParent<"ShapeFuncOp">])> {
  let results = (outs Index:$result);
}

def Rt_ShapeConstantOp : Rt_ShapeOp<"shape_constant", [ConstantLike]> {
  let summary = "a number";
  let description = [{
    `%c = rt.shape_constant 1536`
  }];
  let arguments = (ins I64Attr:$value);
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
}

def Rt_InputDimOp : Rt_ShapeOp<"input_dim"> {
  let summary = "dimension `dim` of input `input`";
  let description = [{
    Dimension 1 of input 0: `%s = rt.input_dim 0, 1`. It is at least 0.
  }];
  let arguments = (ins I64Attr:$input, I64Attr:$dim);
  let assemblyFormat = "$input `,` $dim attr-dict";
}

def Rt_InputValueOp : Rt_ShapeOp<"input_value"> {
  let summary = "element `element` of integer input `input`; its value becomes part of the plan's key";
  let description = [{
    Row-major element 3 of input 2: `%v = rt.input_value 2, 3`. A run whose input has no such element ends with an
    error.
  }];
  let arguments = (ins I64Attr:$input, I64Attr:$element);
  let assemblyFormat = "$input `,` $element attr-dict";
}

def Rt_ShapeArithOp : Rt_ShapeOp<"shape_arith"> {
  let summary = "one step of shape arithmetic";
  let description = [{
    Exact in 64 bits; overflow is an error of the run. Division rounds towards minus (floor_div) or plus (ceil_div)
    infinity, mod takes the divisor's sign; equal and less give 0 or 1.

        %tiles = rt.shape_arith ceil_div %rows, %c8
  }];
  let arguments = (ins Rt_ShapeKind:$kind, Index:$lhs, Index:$rhs);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict";
}

def Rt_ShapeSelectOp : Rt_ShapeOp<"shape_select"> {
  let summary = "condition != 0 ? on_true : on_false";
  let description = [{
    Both sides are computed: what may fail in one of them fails the run.

        %end = rt.shape_select %is_negative, %from_end, %from_start
  }];
  let arguments = (ins Index:$condition, Index:$on_true, Index:$on_false);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict";
}

def Rt_CheckOp : Rt_Op<"check", [HasParent<"ShapeFuncOp">]> {
  let summary = "ends the run with a message unless the two sizes are as demanded";
  let description = [{
    `{a}` and `{b}` in the message stand for the two values; `node` is the model's node.

        rt.check less_equal %s, %c512 node "/embeddings/Add" message "expects a size of at most {b}, got {a}"
  }];
  let arguments = (ins Rt_CheckKind:$kind, Index:$lhs, Index:$rhs, StrAttr:$node, StrAttr:$message);
  let assemblyFormat = "$kind $lhs `,` $rhs `node` $node `message` $message attr-dict";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

class Rt_MemoryOp<string mnemonic> : Rt_Op<mnemonic, [Pure, HasParent<"FuncOp">]> {
  let results = (outs Rt_BufferType:$result);
}

def Rt_InputOp : Rt_MemoryOp<"input"> {
  let summary = "the caller's tensor for input `index`; never written";
  let description = [{
    `%x = rt.input 0`
  }];
  let arguments = (ins I64Attr:$index);
  let assemblyFormat = "$index attr-dict";
}

def Rt_OutputOp : Rt_MemoryOp<"output"> {
  let summary = "the tensor of output `index`, of the dimensions `sizes`";
  let description = [{
    `%y = rt.output 0 sizes(%rows, %c384)`
  }];
  let arguments = (ins I64Attr:$index, Variadic<Index>:$sizes);
  let assemblyFormat = "$index `sizes` `(` $sizes `)` attr-dict";
}

def Rt_ConstantBufferOp : Rt_MemoryOp<"constant_buffer"> {
  let summary = "the bytes of an rt.constant";
  let description = [{
    `%w = rt.constant_buffer @w0`
  }];
  let arguments = (ins FlatSymbolRefAttr:$constant);
  let assemblyFormat = "$constant attr-dict";
}

// Not Pure: two buffers of equal size are two buffers.
def Rt_BufferOp : Rt_Op<"buffer", [HasParent<"FuncOp">]> {
  let summary = "arena memory of `bytes`, alive from the first to the last step that uses it";
  let description = [{
    `%a = rt.buffer %bytes`. Buffers whose lives don't overlap may share memory.
  }];
  let arguments = (ins Index:$bytes);
  let results = (outs Rt_BufferType:$result);
  let assemblyFormat = "$bytes attr-dict";
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def Rt_DispatchOp : Rt_Op<"dispatch", [HasParent<"FuncOp">, AttrSizedOperandSegments]> {
  let summary = "runs a kernel";
  let description = [{
    `inputs`, then `outputs`, are the kernel's bindings; `sizes` its size arguments. `grids`, `grains` and `scratch`
    hold one size per target, in the order of the module's `rt.targets`; they are filled once tiles are selected.
    `axes` hold for each target that generates shaders 3 extents and, for each binding, 3 strides in bytes;
    `axes_counts` says how many are whose, 0 for a CPU, and may be left out where all are. `nodes` are the model's
    nodes that the kernel holds, `paths` the modules that they come from, one a node ("" for a node without), left out
    where no node has one; `results_info` has one dictionary {name, type, permutation} per output: what it is in
    terms of the model's tensors (name "" if it is none of them); `error_sites` has one triple [node, op type, what]
    for each checked read of the kernel; `result_sizes` are the dimensions of all outputs, one after the other, for
    those who look at them.

        rt.dispatch @f32_map_x ins(%in) outs(%out) sizes(%rows) result_sizes(%rows, %c384)
            flops(%f) bytes(%b) grids(%g) grains(%one) scratch(%zero)
            {nodes = ["Add_3"], results_info = [{name = "/Add_output_0", type = f32, permutation = array<i64: 0, 1>} ]}

    The same for a CPU and for shaders, which take 8 rows as a unit:

        rt.dispatch @f32_map_x ins(%in) outs(%out) sizes(%rows) result_sizes(%rows, %c384)
            grids(%g, %units) grains(%one, %one) scratch(%zero, %zero)
            axes(%units, %one, %one, %stride, %zero, %zero, %stride, %zero, %zero)
            {axes_counts = array<i64: 0, 9>, nodes = ["Add_3"],
             results_info = [{name = "/Add_output_0", type = f32, permutation = array<i64: 0, 1>} ]}
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Rt_BufferType>:$inputs, Variadic<Rt_BufferType>:$outputs,
                       Variadic<Index>:$sizes, Variadic<Index>:$result_sizes, Optional<Index>:$flops,
                       Optional<Index>:$bytes, Variadic<Index>:$grids, Variadic<Index>:$grains,
                       Variadic<Index>:$scratch, Variadic<Index>:$axes,
                       DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$axes_counts, StrArrayAttr:$nodes,
                       OptionalAttr<StrArrayAttr>:$paths, DictArrayAttr:$results_info,
                       OptionalAttr<ArrayAttr>:$error_sites);
  let assemblyFormat = [{
    $kernel `ins` `(` $inputs `)` `outs` `(` $outputs `)` `sizes` `(` $sizes `)`
    (`result_sizes` `(` $result_sizes^ `)`)? (`flops` `(` $flops^ `)`)? (`bytes` `(` $bytes^ `)`)?
    (`grids` `(` $grids^ `)`)? (`grains` `(` $grains^ `)`)? (`scratch` `(` $scratch^ `)`)?
    (`axes` `(` $axes^ `)`)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The axes of target |i|; none on a CPU.
    ::mlir::OperandRange getAxesOf(unsigned i);
  }];
}

def Rt_StoreSlotsOp : Rt_Op<"store_slots", [HasParent<"FuncOp">]> {
  let summary = "writes sizes into memory as a tensor of integers";
  let description = [{
    One slot an element, in row-major order: `rt.store_slots %y slots(%b, %s) : i64`.
  }];
  let arguments = (ins Rt_BufferType:$target, Variadic<Index>:$slots, TypeAttr:$element_type);
  let assemblyFormat = "$target `slots` `(` $slots `)` attr-dict `:` $element_type";
}

def Rt_CopyOp : Rt_Op<"copy", [HasParent<"FuncOp">]> {
  let summary = "copies `bytes` from one memory to another: results that are inputs, constants or each other";
  let description = [{
    `rt.copy %x to %y bytes(%n)`
  }];
  let arguments = (ins Rt_BufferType:$source, Rt_BufferType:$target, Index:$bytes);
  let assemblyFormat = "$source `to` $target `bytes` `(` $bytes `)` attr-dict";
}

#endif // HEDDLE_DIALECTS_RT_RTOPS_TD
