// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops without a data operand: constants, filled tensors, sequences.

#ifndef HEDDLE_DIALECTS_NN_NNCONSTANTOPS_TD
#define HEDDLE_DIALECTS_NN_NNCONSTANTOPS_TD

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "dialects/nn/NnOpBase.td"

def Nn_ConstantOp : Op<Nn_Dialect, "constant", [Pure, ConstantLike]> {
  let summary = "A tensor known when compiling";
  let description = [{
    The value is one of

    - a dense elements attribute, where the tensor has at most 4 KiB,
    - `#nn.external`, a range of bytes in a file, of exactly the result type's size,
    - a dense resource, for data that had to be decoded; its blob is laid out as an external range is.

    Weights therefore never become literals of the IR. ConstantData.h reads all three alike.

    Example:

    ```mlir
    %a = nn.constant dense<[1, 384]> : tensor<2xi64>
    %b = nn.constant #nn.external<"model.onnx", 131, 589824> -> tensor<384x384xf32>
    ```

    Errors: `expects a file range of 589824 bytes for 'tensor<384x384xf32>', got 589823`;
    `expects at most 4096 bytes as a literal, got 8192`; `expects a static shape`.
  }];
  let arguments = (ins AnyAttr:$value);
  let results = (outs Nn_Tensor:$output);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::ElementsAttr":$value)>];
  let extraClassDeclaration = [{
    /// The most bytes that a tensor given as a literal may have.
    static constexpr int64_t kMaxLiteralBytes = 4096;
  }];
}

def Nn_ConstantOfShapeOp : Nn_ShapedOp<"constant_of_shape"> {
  let summary = "A tensor of a given shape filled with one value";
  let description = [{
    The shape is a vector of extents; `value`'s type is the element type.

    Example:

    ```mlir
    %y = nn.constant_of_shape %shape {value = 1.0 : f32} : (tensor<2xi64>) -> tensor<?x?xf32>
    ```

    Errors: `expects a shape of static length`; `expects extents of at least 0, got -1`.
  }];
  let arguments = (ins Nn_ShapeVector:$shape, TypedAttrInterface:$value);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_RangeOp : Nn_ShapedOp<"range"> {
  let summary = "Equidistant numbers";
  let description = [{
    `y[i] = start + i delta` for i in [0, max(ceil((limit - start) / delta), 0)).

    Example:

    ```mlir
    %y = nn.range %zero, %n, %one : (tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<?xi64>
    ```

    Errors: `expects a delta other than 0`.
  }];
  let arguments = (ins Nn_ScalarNumber:$start, Nn_ScalarNumber:$limit, Nn_ScalarNumber:$delta);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_ShapeOp : Nn_Op<"shape"> {
  let summary = "A tensor's extents as a tensor";
  let description = [{
    The extents of the dimensions `start` to before `end` as a vector of i64.

    Example:

    ```mlir
    %s = nn.shape %x {start = 0 : i64, end = 2 : i64} : (tensor<?x?x384xf32>) -> tensor<2xi64>
    ```

    Errors: `expects 0 <= start <= end <= 3, got 2 and 4`.
  }];
  let arguments = (ins Nn_Tensor:$input, I64Attr:$start, I64Attr:$end);
  let results = (outs Nn_ShapeVector:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_SizeOp : Nn_Op<"size"> {
  let summary = "A tensor's number of elements";
  let description = [{
    The product of all extents as an i64 scalar.

    Example:

    ```mlir
    %n = nn.size %x : (tensor<?x384xf32>) -> tensor<i64>
    ```
  }];
  let arguments = (ins Nn_Tensor:$input);
  let results = (outs 0DTensorOf<[I64]>:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

#endif // HEDDLE_DIALECTS_NN_NNCONSTANTOPS_TD
