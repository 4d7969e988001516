// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reductions, and the row-wise ops made of a reduction and a map.

#ifndef HEDDLE_DIALECTS_NN_NNREDUCTIONOPS_TD
#define HEDDLE_DIALECTS_NN_NNREDUCTIONOPS_TD

include "dialects/nn/NnOpBase.td"

def Nn_ReduceOp : Nn_Op<"reduce"> {
  let summary = "Combines the elements along some axes";
  let description = [{
    The axes are distinct and ascending; with `keepdims` they stay as extent 1. No axes: each element is reduced
    alone (`sum_square` squares it), which is not ONNX's "no axes means all": the importer lists all.

    | kind | value | of nothing |
    |---|---|---|
    | sum, mean, prod | as they say | 0, NaN, 1 |
    | max, min | NaN if any is a NaN | the least, the greatest value of the type |
    | l1, l2, sum_square | sum of abs(x), sqrt(sum of x^2), sum of x^2 | 0 |
    | log_sum, log_sum_exp | log(sum of x), log(sum of exp(x)) without overflow | -inf |

    A mean of integers is truncated toward zero; integer sums and products wrap. i1 knows `max` (any) and `min`
    (all).

    Example:

    ```mlir
    %y = nn.reduce mean %x axes [1] {keepdims} : (tensor<?x?x384xf32>) -> tensor<?x1x384xf32>
    ```

    Errors: `expects axes in ascending order within [0, 3), got [3]`.
  }];
  let arguments = (ins Nn_ReduceKindAttr:$kind, Nn_Tensor:$input, DenseI64ArrayAttr:$axes, UnitAttr:$keepdims);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "`` $kind $input `axes` $axes attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_ArgReduceOp : Nn_Op<"arg_reduce"> {
  let summary = "Where along an axis the greatest or least element is";
  let description = [{
    The index, as i64. Of equal elements the first counts, or the last with `select_last_index`; a NaN counts as
    greatest for max and as least for min.

    Example:

    ```mlir
    %y = nn.arg_reduce max %logits {axis = 1 : i64, keepdims} : (tensor<?x30522xf32>) -> tensor<?x1xi64>
    ```

    Errors: `expects axis within [0, 2), got 2`; `expects at least one element along axis 1`.
  }];
  let arguments = (ins Nn_ArgReduceKindAttr:$kind, Nn_NumberTensor:$input, I64Attr:$axis, UnitAttr:$keepdims,
                       UnitAttr:$select_last_index);
  let results = (outs Nn_I64Tensor:$output);
  let assemblyFormat = "`` $kind $input attr-dict `:` functional-type(operands, results)";
}

def Nn_CumSumOp : Nn_Op<"cumsum"> {
  let summary = "Running sum along an axis";
  let description = [{
    `y[i] = x[0] + ... + x[i]`; `exclusive` leaves x[i] out, `reverse` sums from the end.

    Example:

    ```mlir
    %y = nn.cumsum %mask {axis = 1 : i64} : (tensor<?x?xi64>) -> tensor<?x?xi64>
    ```

    Errors: `expects axis within [0, 2), got 2`.
  }];
  let arguments = (ins Nn_NumberTensor:$input, I64Attr:$axis, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

class Nn_SoftmaxBaseOp<string mnemonic> : Nn_Op<mnemonic> {
  let arguments = (ins Nn_FloatTensor:$input, I64Attr:$axis);
  let results = (outs Nn_FloatTensor:$output);
  let assemblyFormat = "$input attr-dict `:` functional-type(operands, results)";
}

def Nn_SoftmaxOp : Nn_SoftmaxBaseOp<"softmax"> {
  let summary = "Exponentials along an axis, divided by their sum";
  let description = [{
    `y = exp(x - max(x)) / sum(exp(x - max(x)))` along `axis`. A row of -inf alone gives NaN, as in ONNX. The
    opsets below 13 that flatten to a matrix are written with nn.flatten and nn.reshape.

    Example:

    ```mlir
    %p = nn.softmax %scores {axis = 3 : i64} : (tensor<?x12x?x?xf32>) -> tensor<?x12x?x?xf32>
    ```

    Errors: `expects axis within [0, 4), got 4`.
  }];
}

def Nn_LogSoftmaxOp : Nn_SoftmaxBaseOp<"log_softmax"> {
  let summary = "Logarithm of softmax";
  let description = [{
    `y = x - max(x) - log(sum(exp(x - max(x))))` along `axis`.

    Example:

    ```mlir
    %p = nn.log_softmax %logits {axis = 1 : i64} : (tensor<?x2xf32>) -> tensor<?x2xf32>
    ```

    Errors: `expects axis within [0, 2), got 2`.
  }];
}

def Nn_LayerNormOp : Nn_Op<"layer_norm"> {
  let summary = "Normalises the trailing dimensions to mean 0 and variance 1";
  let description = [{
    Over the axes `axis` and following: `y = (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias`.
    Scale and bias broadcast onto x from the right. Statistics are taken in f32 at least.

    Example:

    ```mlir
    %y = nn.layer_norm %x, %gamma, %beta {axis = 2 : i64, epsilon = 1.0e-12 : f32}
       : (tensor<?x?x384xf32>, tensor<384xf32>, tensor<384xf32>) -> tensor<?x?x384xf32>
    ```

    Errors: `expects scale of shape [768] to broadcast onto input of shape [?, 384]`.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_FloatTensor:$scale, Optional<Nn_FloatTensor>:$bias, I64Attr:$axis,
                       F32Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_RmsNormOp : Nn_Op<"rms_norm"> {
  let summary = "Divides the trailing dimensions by their root mean square";
  let description = [{
    Over the axes `axis` and following: `y = x / sqrt(mean(x^2) + epsilon)`, rounded to x's type, then `*
    scale`. The result has scale's type, which may differ from x's. Statistics are taken in f32 at least.

    Example:

    ```mlir
    %y = nn.rms_norm %x, %weight {axis = 2 : i64, epsilon = 1.0e-6 : f32}
       : (tensor<?x?x512xf32>, tensor<512xf32>) -> tensor<?x?x512xf32>
    ```

    Errors: as nn.layer_norm.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_FloatTensor:$scale, I64Attr:$axis, F32Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECTS_NN_NNREDUCTIONOPS_TD
