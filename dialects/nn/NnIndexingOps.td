// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements chosen, placed or masked by index.

#ifndef HEDDLE_DIALECTS_NN_NNINDEXINGOPS_TD
#define HEDDLE_DIALECTS_NN_NNINDEXINGOPS_TD

include "dialects/nn/NnOpBase.td"

def Nn_SliceOp : Nn_ShapedOp<"slice", [AttrSizedOperandSegments]> {
  let summary = "A strided box of a tensor";
  let description = [{
    Vectors of equal length: along `axes[i]` (default: 0, 1, ...) the elements from `starts[i]` to before
    `ends[i]` by `steps[i]` (default 1, never 0). Negative starts, ends and axes count from the back; then, for
    a positive step, start and end are clamped to [0, extent], for a negative one to [0, extent - 1] and [-1,
    extent - 1].

    Example:

    ```mlir
    %y = nn.slice %x, %starts, %ends axes(%axes : tensor<1xi64>)
       : (tensor<1x512xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<1x?xi64>
    ```

    Errors: `expects starts, ends, axes and steps of one static length`; `expects a step other than 0`;
    `expects axes within [-2, 2), got 2`; `expects distinct axes`.
  }];
  let arguments = (ins Nn_Tensor:$data, Nn_IndexVector:$starts, Nn_IndexVector:$ends, Optional<Nn_IndexVector>:$axes,
                       Optional<Nn_IndexVector>:$steps);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = [{
    $data `,` $starts `,` $ends (`axes` `(` $axes^ `:` type($axes) `)`)? (`steps` `(` $steps^ `:` type($steps) `)`)?
    attr-dict `:` `(` type($data) `,` type($starts) `,` type($ends) `)` `->` type($output)
  }];
  let hasFolder = 1;
}

def Nn_GatherOp : Nn_Op<"gather"> {
  let summary = "Picks slices along an axis";
  let description = [{
    `y[a..., i..., b...] = data[a..., indices[i...], b...]` where a are the dimensions before `axis`, b those
    after it. A negative index counts from the back; one outside [-extent, extent) is an error when the program
    runs.

    Example:

    ```mlir
    %y = nn.gather %table, %ids {axis = 0 : i64} : (tensor<30522x384xf32>, tensor<?x?xi64>) -> tensor<?x?x384xf32>
    ```

    Errors: `expects axis within [0, 2), got 2`.
  }];
  let arguments = (ins Nn_Tensor:$data, Nn_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Nn_Tensor:$output);
  let hasCanonicalizer = 1;
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_GatherElementsOp : Nn_Op<"gather_elements"> {
  let summary = "Picks single elements along an axis";
  let description = [{
    `y[i] = data[i with i[axis] replaced by indices[i]]`; indices as in nn.gather. Both operands have one rank,
    and indices extend no further than data but along `axis`.

    Example:

    ```mlir
    %y = nn.gather_elements %data, %ids {axis = 1 : i64} : (tensor<?x512xi64>, tensor<?x?xi64>) -> tensor<?x?xi64>
    ```

    Errors: `expects indices of rank 2, got 1`.
  }];
  let arguments = (ins Nn_Tensor:$data, Nn_IndexTensor:$indices, I64Attr:$axis);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_GatherNdOp : Nn_Op<"gather_nd"> {
  let summary = "Picks slices by tuples of indices";
  let description = [{
    The last dimension of `indices` holds a tuple of n indices into the dimensions of data after the
    `batch_dims` shared leading ones: `y[b..., i..., r...] = data[b..., indices[b..., i...]..., r...]`. Indices
    as in nn.gather.

    Example:

    ```mlir
    %y = nn.gather_nd %mask, %ids {batch_dims = 0 : i64} : (tensor<?x?xi1>, tensor<?x1x1x?x2xi64>) -> tensor<?x1x1x?xi1>
    ```

    Errors: `expects index tuples of a static length within [1, 2], got [3]`; `expects batch_dims within [0, 2), got 2`.
  }];
  let arguments = (ins Nn_Tensor:$data, Nn_I64Tensor:$indices, I64Attr:$batch_dims);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_ScatterElementsOp : Nn_Op<"scatter_elements"> {
  let summary = "Places single elements along an axis";
  let description = [{
    The data, changed for each i by `y[i with i[axis] replaced by indices[i]] = reduction(old, updates[i])`.
    With reduction `none` no place may occur twice. Indices as in nn.gather.

    Example:

    ```mlir
    %y = nn.scatter_elements none %data, %ids, %updates {axis = 1 : i64}
       : (tensor<?x8xf32>, tensor<?x2xi64>, tensor<?x2xf32>) -> tensor<?x8xf32>
    ```

    Errors: `expects indices and updates of one shape`; `expects indices of rank 2, got 1`.
  }];
  let arguments = (ins Nn_ScatterReductionAttr:$reduction, Nn_Tensor:$data, Nn_IndexTensor:$indices, Nn_Tensor:$updates,
                       I64Attr:$axis);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "`` $reduction operands attr-dict `:` functional-type(operands, results)";
}

def Nn_ScatterNdOp : Nn_Op<"scatter_nd"> {
  let summary = "Places slices by tuples of indices";
  let description = [{
    The data, changed for each i by `y[indices[i]...] = reduction(old, updates[i])`, the last dimension of
    `indices` holding the tuple. With reduction `none` no place may occur twice. Indices as in nn.gather.

    Example:

    ```mlir
    %y = nn.scatter_nd none %data, %ids, %updates
       : (tensor<?x8xf32>, tensor<?x1xi64>, tensor<?x8xf32>) -> tensor<?x8xf32>
    ```

    Errors: `expects index tuples of a static length within [1, 2], got [3]`; `expects updates of shape [?, 8],
    got [?, 7]`.
  }];
  let arguments = (ins Nn_ScatterReductionAttr:$reduction, Nn_Tensor:$data, Nn_I64Tensor:$indices, Nn_Tensor:$updates);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "`` $reduction operands attr-dict `:` functional-type(operands, results)";
}

def Nn_TriluOp : Nn_Op<"trilu"> {
  let summary = "Keeps a triangle of each matrix, zero elsewhere";
  let description = [{
    Of the last two dimensions: with `upper` the elements with j - i >= k, else those with j - i <= k; k is 0
    where absent.

    Example:

    ```mlir
    %y = nn.trilu %x, %k {upper} : (tensor<?x?xf32>, tensor<i64>) -> tensor<?x?xf32>
    ```

    Errors: `expects an input of rank 2 or more, got 1`.
  }];
  let arguments = (ins Nn_Tensor:$input, Optional<0DTensorOf<[I64]>>:$k, UnitAttr:$upper);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_PadOp : Nn_ShapedOp<"pad", [AttrSizedOperandSegments]> {
  let summary = "Adds elements before and after a tensor's dimensions, or removes them";
  let description = [{
    `pads` holds the number before each of `axes` (default: all), then the number after each; a negative number
    removes. Mode `constant` puts `value` (default 0), `edge` repeats the outermost element, `reflect` mirrors
    without repeating it, `wrap` continues at the other end.

    Example:

    ```mlir
    %y = nn.pad constant %x, %pads value(%zero : tensor<f32>)
       : (tensor<?x3x30x30xf32>, tensor<8xi64>) -> tensor<?x3x?x?xf32>
    ```

    Errors: `expects 8 pads, got 4`; `expects a value of element type 'f32', got 'i64'`.
  }];
  let arguments = (ins Nn_PadModeAttr:$mode, Nn_Tensor:$data, Nn_ShapeVector:$pads,
                       Optional<0DTensorOf<Nn_Elements>>:$value, Optional<Nn_IndexVector>:$axes);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = [{
    `` $mode $data `,` $pads (`value` `(` $value^ `:` type($value) `)`)? (`axes` `(` $axes^ `:` type($axes) `)`)?
    attr-dict `:` `(` type($data) `,` type($pads) `)` `->` type($output)
  }];
}

def Nn_OneHotOp : Nn_ShapedOp<"one_hot"> {
  let summary = "A vector with one element on, for each index";
  let description = [{
    A new dimension of extent `depth` at `axis`: `values[1]` where its index equals the index given (a negative
    one counting from the back), `values[0]` elsewhere, and everywhere for an index outside [-depth, depth).

    Example:

    ```mlir
    %y = nn.one_hot %ids, %depth, %values {axis = 2 : i64}
       : (tensor<?x?xi64>, tensor<i64>, tensor<2xf32>) -> tensor<?x?x?xf32>
    ```

    Errors: `expects axis within [0, 3), got 3`; `expects two values, got 3`.
  }];
  let arguments = (ins Nn_IndexTensor:$indices, Nn_IndexScalar:$depth, 1DTensorOf<Nn_Elements>:$values, I64Attr:$axis);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_TopKOp : Nn_ShapedOp<"top_k"> {
  let summary = "The greatest or least elements along an axis, and where they are";
  let description = [{
    The k greatest (`largest`) or least elements in order, and their indices as i64; of equal elements the one
    with the lower index comes first. ONNX's `sorted = 0` allows any order, so it gives the same.

    Example:

    ```mlir
    %values, %indices = nn.top_k %logits, %k {axis = 1 : i64, largest}
       : (tensor<?x50257xf32>, tensor<i64>) -> (tensor<?x?xf32>, tensor<?x?xi64>)
    ```

    Errors: `expects axis within [0, 2), got 2`; `expects k within [0, 4], got 5`.
  }];
  let arguments = (ins Nn_NumberTensor:$input, 0DTensorOf<[I64]>:$k, I64Attr:$axis, UnitAttr:$largest);
  let results = (outs Nn_NumberTensor:$values, Nn_I64Tensor:$indices);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECTS_NN_NNINDEXINGOPS_TD
