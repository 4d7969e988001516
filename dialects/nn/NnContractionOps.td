// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of tensors summed over an axis.

#ifndef HEDDLE_DIALECTS_NN_NNCONTRACTIONOPS_TD
#define HEDDLE_DIALECTS_NN_NNCONTRACTIONOPS_TD

include "dialects/nn/NnOpBase.td"

def Nn_MatMulOp : Nn_Op<"matmul"> {
  let summary = "Matrix product by numpy's rules";
  let description = [{
    `y[..., i, j] = sum_k a[..., i, k] b[..., k, j]`; leading dimensions broadcast. A vector on the left is a
    row, on the right a column, and its extra dimension is dropped from the result.

    Example:

    ```mlir
    %y = nn.matmul %x, %w : (tensor<?x?x384xf32>, tensor<384x1536xf32>) -> tensor<?x?x1536xf32>
    ```

    Errors: `expects equal inner dimensions, got 384 and 768`; `expects operands of rank 1 or more`.
  }];
  let arguments = (ins Nn_NumberTensor:$lhs, Nn_NumberTensor:$rhs);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_GemmOp : Nn_Op<"gemm"> {
  let summary = "Scaled matrix product plus a scaled term";
  let description = [{
    `y = alpha A' B' + beta C` with A' = A or its transpose (`trans_a`), likewise B'; C broadcasts onto the
    result from the right.

    Example:

    ```mlir
    %y = nn.gemm %x, %w, %c {trans_b} : (tensor<?x384xf32>, tensor<2x384xf32>, tensor<2xf32>) -> tensor<?x2xf32>
    ```

    Errors: `expects equal inner dimensions, got 384 and 768`; `expects C of shape [3] to broadcast onto [?, 2]`.
  }];
  let arguments = (ins Nn_NumberTensor:$lhs, Nn_NumberTensor:$rhs, Optional<Nn_NumberTensor>:$addend,
                       DefaultValuedAttr<F32Attr, "1.0f">:$alpha, DefaultValuedAttr<F32Attr, "1.0f">:$beta,
                       UnitAttr:$trans_a, UnitAttr:$trans_b);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_EinsumOp : Nn_Op<"einsum"> {
  let summary = "Sum of products written as index letters";
  let description = [{
    One term of letters for each input, `->`, the result's letters. Letters that don't reach the result are
    summed over. A letter repeated within a term takes the diagonal; `...` stands for dimensions that broadcast.
    The result's term is always written (the importer adds the implicit one) and holds no letter twice.

    Example:

    ```mlir
    %y = nn.einsum "bqhd,bkhd->bhqk" %q, %k : (tensor<?x?x4x12xf32>, tensor<?x?x4x12xf32>) -> tensor<?x4x?x?xf32>
    ```

    Errors: `expects 4 letters for input 0 of rank 4, got 3`; `expects one extent for letter 'd', got 12 and 16`.
  }];
  let arguments = (ins StrAttr:$equation, Variadic<Nn_NumberTensor>:$inputs);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = "$equation $inputs attr-dict `:` functional-type(operands, results)";
}

def Nn_ConvOp : Nn_Op<"conv"> {
  let summary = "Convolution over one or more spatial dimensions";
  let description = [{
    Input (B, C, d1...), weight (M, C/group, k1...), bias (M); result (B, M, o1...) with `o = floor((d +
    pad_begin + pad_end - (dilation (k - 1) + 1)) / stride) + 1` for each spatial dimension. `pads` lists all
    begins, then all ends, as in ONNX; the padding is zero. What is computed is a correlation: the kernel isn't
    flipped.

    Example:

    ```mlir
    %y = nn.conv %x, %w, %b {dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>,
                             strides = array<i64: 8, 8>}
       : (tensor<?x3x32x32xf32>, tensor<48x3x8x8xf32>, tensor<48xf32>) -> tensor<?x48x4x4xf32>
    ```

    Errors: `expects 1 group(s) of 3 input channels, got 4 channels`; `expects 2 strides of at least 1`;
    `expects a kernel that fits the padded input, got extent 9 in 8 at spatial dimension 0`.
  }];
  let arguments = (ins Nn_NumberTensor:$input, Nn_NumberTensor:$weight, Optional<Nn_NumberTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                       I64Attr:$group);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_ConvTransposeOp : Nn_Op<"conv_transpose"> {
  let summary = "The transposed map of a convolution";
  let description = [{
    Input (B, C, d1...), weight (C, M/group, k1...), bias (M); result (B, M, o1...) with `o = (d - 1) stride +
    dilation (k - 1) + 1 + output_padding - pad_begin - pad_end`. Each input element adds its products with the kernel
    around its place, `stride` apart, and the pads are cut off: `y[o] = sum of x[i] w[k] over i stride + k dilation =
    o + pad_begin`.

    Example:

    ```mlir
    %y = nn.conv_transpose %x, %w {dilations = array<i64: 1>, group = 1 : i64, output_padding = array<i64: 0>,
                                   pads = array<i64: 1, 1>, strides = array<i64: 2>}
       : (tensor<?x8x10xf32>, tensor<8x4x4xf32>) -> tensor<?x4x20xf32>
    ```

    Errors: as nn.conv; `expects 1 output paddings of at least 0`; `expects a result of at least one element, got 0 at
    spatial dimension 0`.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_FloatTensor:$weight, Optional<Nn_FloatTensor>:$bias,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                       DenseI64ArrayAttr:$output_padding, I64Attr:$group);
  let results = (outs Nn_FloatTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECTS_NN_NNCONTRACTIONOPS_TD
