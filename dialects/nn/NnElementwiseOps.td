// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps: each element of the result depends on the elements that broadcasting puts at its place.

#ifndef HEDDLE_DIALECTS_NN_NNELEMENTWISEOPS_TD
#define HEDDLE_DIALECTS_NN_NNELEMENTWISEOPS_TD

include "dialects/nn/NnOpBase.td"

def Nn_UnaryOp : Nn_Op<"unary", [Nn_Broadcasting]> {
  let summary = "A function of one element";
  let description = [{
    `y[i] = f(x[i])`, in x's type; `is_nan` and `is_inf` give i1.

    | kind | f(x) | element types |
    |---|---|---|
    | abs, neg, sign, relu | abs(x), -x, -1, 0 or 1 (NaN stays NaN), max(x, 0) | floats, integers; neg: not unsigned |
    | sqrt, reciprocal, exp, log, sin, cos, tanh, erf | as they say; reciprocal is 1/x | floats |
    | floor, ceil, round | toward -inf, toward +inf, to nearest, halves to even | floats |
    | sigmoid, softplus, silu | 1/(1+exp(-x)), log(1+exp(x)), x/(1+exp(-x)) | floats |
    | gelu_erf | x/2 (1 + erf(x/sqrt(2))) | floats |
    | gelu_tanh | x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) | floats |
    | quick_gelu | x / (1 + exp(-1.702 x)) | floats |
    | is_nan, is_inf | is x a NaN, an infinity of either sign | floats, to i1 |
    | not | logical negation | i1 |
    | bitwise_not | all bits inverted | integers |

    The absolute value and the negation of the least signed integer wrap. The three GELUs differ by up to 2e-2
    and are never replaced by one another.

    Example:

    ```mlir
    %y = nn.unary gelu_erf %x : (tensor<?x768xf32>) -> tensor<?x768xf32>
    ```

    Errors: `expects a float operand for kind 'exp', got 'i64'`.
  }];
  let arguments = (ins Nn_UnaryKindAttr:$kind, Nn_Tensor:$input);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "`` $kind operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def Nn_BinaryOp : Nn_Op<"binary", [Nn_Broadcasting]> {
  let summary = "A function of two elements";
  let description = [{
    `y[i] = f(a[i], b[i])` with broadcasting; both operands have one element type, but for `pow`, whose exponent
    may have another one. The result has the type of `lhs`.

    | kind | f(a, b) | element types |
    |---|---|---|
    | add, sub, mul | integers wrap | floats, integers |
    | div | integers truncate toward zero; a/0 is 0, and the least integer over -1 wraps | floats, integers |
    | pow | a to the power of b; an integer result is truncated | floats, integers |
    | mod | a - floor(a/b) b, sign of b; integers: a mod 0 is 0 | integers |
    | fmod | C's fmod, sign of a; integers: 0 where b is 0 | floats, integers |
    | min, max | NaN if either is a NaN | floats, integers |
    | and, or, xor | logical | i1 |
    | bitwise_and, bitwise_or, bitwise_xor | of each bit | integers |

    ONNX leaves integer division by zero open; it has a value here, so that neither a constant folder nor a
    kernel traps.

    Example:

    ```mlir
    %y = nn.binary add %x, %bias : (tensor<?x?x768xf32>, tensor<768xf32>) -> tensor<?x?x768xf32>
    ```

    Errors: `expects operands that broadcast, got dimensions 3 and 4 at axis 1 of shapes [2, 3] and [2, 4]`,
    `expects operands of one element type, got 'f32' and 'i64'`.
  }];
  let arguments = (ins Nn_BinaryKindAttr:$kind, Nn_Tensor:$lhs, Nn_Tensor:$rhs);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "`` $kind operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_CompareOp : Nn_Op<"compare", [Nn_Broadcasting]> {
  let summary = "A relation of two elements";
  let description = [{
    `y[i] = a[i] kind b[i]` as i1, with broadcasting. A comparison with a NaN is false, `ne` is true. Bools know
    `eq` and `ne` only.

    Example:

    ```mlir
    %y = nn.compare eq %mask, %zero : (tensor<?x?xi64>, tensor<i64>) -> tensor<?x?xi1>
    ```

    Errors: as nn.binary; `expects a number operand for kind 'lt', got 'i1'`.
  }];
  let arguments = (ins Nn_CompareKindAttr:$kind, Nn_Tensor:$lhs, Nn_Tensor:$rhs);
  let results = (outs Nn_BoolTensor:$output);
  let assemblyFormat = "`` $kind operands attr-dict `:` functional-type(operands, results)";
}

def Nn_WhereOp : Nn_Op<"where", [Nn_Broadcasting]> {
  let summary = "Selects by a condition";
  let description = [{
    `y[i] = condition[i] ? on_true[i] : on_false[i]`, all three broadcast. What isn't selected has no influence,
    not even a NaN.

    Example:

    ```mlir
    %r = nn.where %keep, %scores, %lowest
       : (tensor<?x1x1x?xi1>, tensor<?x12x?x?xf32>, tensor<f32>) -> tensor<?x12x?x?xf32>
    ```

    Errors: as nn.binary.
  }];
  let arguments = (ins Nn_BoolTensor:$condition, Nn_Tensor:$on_true, Nn_Tensor:$on_false);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_CastOp : Nn_Op<"cast", [Nn_Broadcasting]> {
  let summary = "Converts the element type";
  let description = [{
    Float to float rounds to nearest even and may overflow to infinity. Float to integer truncates toward zero;
    ONNX leaves what is out of range open: here it becomes the nearest value in range, and a NaN becomes 0.
    Integer to integer keeps the low bits. To i1: is it non-zero (a NaN is). From i1: 0 or 1.

    Example:

    ```mlir
    %y = nn.cast %mask {to = f32} : (tensor<?x?xi64>) -> tensor<?x?xf32>
    ```

    Errors: `expects results of type 'tensor<4xi64>', got 'tensor<4xi32>'` where `to` and the result differ.
  }];
  let arguments = (ins Nn_Tensor:$input, TypeAttr:$to);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
  let hasFolder = 1;
}

def Nn_ClipOp : Nn_Op<"clip", [Nn_Broadcasting, AttrSizedOperandSegments]> {
  let summary = "Limits elements to a range";
  let description = [{
    `y[i] = min(max(x[i], min), max)`; an absent bound doesn't limit. A NaN stays a NaN. Where min is above max,
    all become max.

    Example:

    ```mlir
    %y = nn.clip %x min(%lo : tensor<f32>) max(%hi : tensor<f32>) : (tensor<?x768xf32>) -> tensor<?x768xf32>
    ```

    Errors: `expects bounds of element type 'f32', got 'f64'`.
  }];
  let arguments = (ins Nn_NumberTensor:$input, Optional<Nn_ScalarNumber>:$min, Optional<Nn_ScalarNumber>:$max);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = [{
    $input (`min` `(` $min^ `:` type($min) `)`)? (`max` `(` $max^ `:` type($max) `)`)?
    attr-dict `:` functional-type($input, $output)
  }];
  let hasFolder = 1;
}

#endif // HEDDLE_DIALECTS_NN_NNELEMENTWISEOPS_TD
