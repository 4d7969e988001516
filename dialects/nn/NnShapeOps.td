// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The same elements under another shape or order, repeated, joined or parted.

#ifndef HEDDLE_DIALECTS_NN_NNSHAPEOPS_TD
#define HEDDLE_DIALECTS_NN_NNSHAPEOPS_TD

include "dialects/nn/NnOpBase.td"

def Nn_ReshapeOp : Nn_ShapedOp<"reshape"> {
  let summary = "Other extents for the same elements in the same order";
  let description = [{
    The shape is a vector of extents: -1, once at most, is what is left over; 0 copies the extent of the input
    at that place, or is really 0 with `allowzero` (then without -1).

    Example:

    ```mlir
    %y = nn.reshape %x, %shape : (tensor<?x?x384xf32>, tensor<4xi64>) -> tensor<?x?x12x32xf32>
    ```

    Errors: `expects a shape of static length`; `expects a shape of 12 elements, got [5, 2]`;
    `expects one -1 in the shape at most`; `expects an input dimension to copy for the 0 at position 3`.
  }];
  let arguments = (ins Nn_Tensor:$data, Nn_ShapeVector:$shape, UnitAttr:$allowzero);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nn_TransposeOp : Nn_Op<"transpose"> {
  let summary = "Permutes the dimensions";
  let description = [{
    Dimension i of the result is dimension `perm[i]` of the input.

    Example:

    ```mlir
    %y = nn.transpose %x perm [0, 2, 1, 3] : (tensor<?x?x12x32xf32>) -> tensor<?x12x?x32xf32>
    ```

    Errors: `expects a permutation of 4 axes, got [0, 2, 2, 3]`.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$perm);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "$input `perm` $perm attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nn_SqueezeOp : Nn_Op<"squeeze"> {
  let summary = "Removes dimensions of extent 1";
  let description = [{
    The axes are distinct, ascending, and count in the input.

    Example:

    ```mlir
    %y = nn.squeeze %x axes [1] : (tensor<?x1x384xf32>) -> tensor<?x384xf32>
    ```

    Errors: `expects extent 1 at axis 1, got 2`; `expects axes in ascending order within [0, 3), got [3]`.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "$input `axes` $axes attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_UnsqueezeOp : Nn_Op<"unsqueeze"> {
  let summary = "Inserts dimensions of extent 1";
  let description = [{
    The axes are distinct, ascending, and count in the result.

    Example:

    ```mlir
    %y = nn.unsqueeze %x axes [1, 2] : (tensor<?x?xf32>) -> tensor<?x1x1x?xf32>
    ```

    Errors: `expects axes in ascending order within [0, 4), got [1, 4]`.
  }];
  let arguments = (ins Nn_Tensor:$input, DenseI64ArrayAttr:$axes);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "$input `axes` $axes attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nn_FlattenOp : Nn_Op<"flatten"> {
  let summary = "Makes a matrix: the dimensions before an axis, and those from it on";
  let description = [{
    The result is (d0 ... d(axis-1), d(axis) ...), an empty product being 1. `axis` may be the rank.

    Example:

    ```mlir
    %y = nn.flatten %x {axis = 2 : i64} : (tensor<?x48x4x4xf32>) -> tensor<?x16xf32>
    ```

    Errors: `expects axis within [0, 4], got 5`.
  }];
  let arguments = (ins Nn_Tensor:$input, I64Attr:$axis);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_ExpandOp : Nn_ShapedOp<"expand"> {
  let summary = "Stretches a tensor to the broadcast of its shape and a given one";
  let description = [{
    Broadcasting works both ways: a 1 in `shape` keeps the input's extent, and the result may have either's rank.

    Example:

    ```mlir
    %y = nn.expand %x, %shape : (tensor<?x1x1x?xi1>, tensor<4xi64>) -> tensor<?x?x?x?xi1>
    ```

    Errors: `expects a shape of static length`; as nn.binary where extents don't broadcast.
  }];
  let arguments = (ins Nn_Tensor:$input, Nn_ShapeVector:$shape);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_TileOp : Nn_ShapedOp<"tile"> {
  let summary = "Repeats a tensor along its dimensions";
  let description = [{
    `y[i] = x[i mod extent]`; one repeat count a dimension.

    Example:

    ```mlir
    %y = nn.tile %x, %repeats : (tensor<1x1x48xf32>, tensor<3xi64>) -> tensor<?x?x?xf32>
    ```

    Errors: `expects 3 repeat counts, got 2`; `expects repeat counts of at least 0, got -1`.
  }];
  let arguments = (ins Nn_Tensor:$input, Nn_ShapeVector:$repeats);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_ConcatOp : Nn_Op<"concat"> {
  let summary = "Joins tensors along an axis";
  let description = [{
    All inputs have one rank, one element type, and equal extents but along `axis`.

    Example:

    ```mlir
    %y = nn.concat %cls, %patches {axis = 1 : i64} : (tensor<?x1x48xf32>, tensor<?x16x48xf32>) -> tensor<?x17x48xf32>
    ```

    Errors: `expects equal extents but along axis 1, got 48 and 64 at axis 2`; `expects at least one input`.
  }];
  let arguments = (ins Variadic<Nn_Tensor>:$inputs, I64Attr:$axis);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nn_SplitOp : Nn_Op<"split"> {
  let summary = "Parts a tensor along an axis";
  let description = [{
    Into `num_outputs` parts of the given sizes; without sizes into parts of ceil(extent / num_outputs), the
    last one being what is left.

    Example:

    ```mlir
    %q, %k, %v = nn.split %qkv {axis = 2 : i64, num_outputs = 3 : i64}
       : (tensor<?x?x144xf32>) -> (tensor<?x?x48xf32>, tensor<?x?x48xf32>, tensor<?x?x48xf32>)
    ```

    Errors: `expects sizes that sum to 144, got 143`; `expects 3 sizes, got 2`.
  }];
  let arguments = (ins Nn_Tensor:$input, I64Attr:$axis, I64Attr:$num_outputs,
                       OptionalAttr<DenseI64ArrayAttr>:$split_sizes);
  let results = (outs Variadic<Nn_Tensor>:$outputs);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

#endif // HEDDLE_DIALECTS_NN_NNSHAPEOPS_TD
