// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's quantisation ops, which keep their own arithmetic (f32, true division, half to even, zero point, saturation),
// and Heddle's own: rows of activations and weights.

#ifndef HEDDLE_DIALECTS_NN_NNQUANTIZATIONOPS_TD
#define HEDDLE_DIALECTS_NN_NNQUANTIZATIONOPS_TD

include "dialects/nn/NnOpBase.td"

def Nn_QuantizeLinearOp : Nn_Op<"quantize_linear"> {
  let summary = "Floats to integers by scale and zero point";
  let description = [{
    `y = saturate(round_half_even(x / scale) + zero_point)` in f32. A scalar scale serves all elements; a vector
    has one entry for each index along `axis`; with `block_size` b > 0 the scale has x's shape, but ceil(extent
    / b) along `axis`. The zero point has the scale's shape and is 0 where absent. `to` is the integer type.

    Example:

    ```mlir
    %y = nn.quantize_linear %x, %scale, %zero {axis = 1 : i64, block_size = 0 : i64, to = ui8}
       : (tensor<?x384xf32>, tensor<f32>, tensor<ui8>) -> tensor<?x384xui8>
    ```

    Errors: `expects a scale of shape [384], got [383]`; `expects a zero point of type 'ui8', got 'i8'`.
  }];
  let arguments = (ins Nn_FloatTensor:$input, Nn_FloatTensor:$scale, Optional<Nn_QuantizedTensor>:$zero_point,
                       I64Attr:$axis, I64Attr:$block_size, TypeAttr:$to);
  let results = (outs Nn_QuantizedTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_DequantizeLinearOp : Nn_Op<"dequantize_linear"> {
  let summary = "Integers to floats by scale and zero point";
  let description = [{
    `y = (x - zero_point) * scale`, in the scale's type; scale, zero point, `axis` and `block_size` as in
    nn.quantize_linear. The input may also be i32 (a bias), then without a zero point.

    Example:

    ```mlir
    %y = nn.dequantize_linear %w, %scale, %zero {axis = 1 : i64, block_size = 0 : i64}
       : (tensor<384x1536xi8>, tensor<1536xf32>, tensor<1536xi8>) -> tensor<384x1536xf32>
    ```

    Errors: as nn.quantize_linear.
  }];
  let arguments = (ins RankedTensorOf<!listconcat(Nn_QuantizedInts, [I32])>:$input, Nn_FloatTensor:$scale,
                       Optional<RankedTensorOf<!listconcat(Nn_QuantizedInts, [I32])>>:$zero_point, I64Attr:$axis,
                       I64Attr:$block_size);
  let results = (outs Nn_FloatTensor:$output);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_DynamicQuantizeLinearOp : Nn_Op<"dynamic_quantize_linear"> {
  let summary = "Floats to u8 by the range of the whole tensor";
  let description = [{
    `lo = min(x, 0)`, `hi = max(x, 0)` over all elements; `scale = (hi - lo) / 255`;
    `zero_point = saturate(round_half_even(-lo / scale))`; then as nn.quantize_linear, all in f32. A scale of 0 (all
    elements 0) gives zeros and a zero point of 0.

    Example:

    ```mlir
    %y, %scale, %zero = nn.dynamic_quantize_linear %x
       : (tensor<?x384xf32>) -> (tensor<?x384xui8>, tensor<f32>, tensor<ui8>)
    ```
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input);
  let results = (outs RankedTensorOf<[UI8]>:$output, 0DTensorOf<[F32]>:$scale, 0DTensorOf<[UI8]>:$zero_point);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_MatMulIntegerOp : Nn_Op<"matmul_integer", [AttrSizedOperandSegments]> {
  let summary = "Exact product of 8-bit matrices";
  let description = [{
    `y = sum (a - a_zero_point) (b - b_zero_point)` in i32, by the rules of nn.matmul. The zero point of the
    left side is a scalar or has one entry a row: a vector, or the left side's shape with 1 as its last extent. That
    of the right side is a scalar or has one entry a column. 0 where absent.

    Example:

    ```mlir
    %y = nn.matmul_integer %a, %b lhs_zero_point(%z : tensor<ui8>)
       : (tensor<?x384xui8>, tensor<384x1536xi8>) -> tensor<?x1536xi32>
    ```

    Errors: as nn.matmul; `expects a left zero point of type 'ui8', got 'i8'`;
    `expects a right zero point of shape [] or [1536], got [384]`.
  }];
  let arguments = (ins RankedTensorOf<[I8, UI8]>:$lhs, RankedTensorOf<[I8, UI8]>:$rhs,
                       Optional<RankedTensorOf<[I8, UI8]>>:$lhs_zero_point,
                       Optional<RankedTensorOf<[I8, UI8]>>:$rhs_zero_point);
  let results = (outs RankedTensorOf<[I32]>:$output);
  let assemblyFormat = [{
    $lhs `,` $rhs (`lhs_zero_point` `(` $lhs_zero_point^ `:` type($lhs_zero_point) `)`)?
    (`rhs_zero_point` `(` $rhs_zero_point^ `:` type($rhs_zero_point) `)`)?
    attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($output)
  }];
}

def Nn_QuantizeRowsOp : Nn_Op<"quantize_rows"> {
  let summary = "Floats to u8 by the range of each row";
  let description = [{
    For each row along the last dimension, in f32:

      lo = min(row, 0), hi = max(row, 0)
      scale = (hi - lo) / 255, 1 where that is below 2^-126
      zero_point = clamp(round_half_even(-lo / scale), 0, 255)
      output = clamp(round_half_even(x * (1 / scale)) + zero_point, 0, 255)

    so that x is about (output - zero_point) * scale, and no row depends on another. A row with an element that is not
    finite has the scale NaN; what its codes and zero point are is not said.

    Example:

    ```mlir
    %codes, %scale, %zero = nn.quantize_rows %x
       : (tensor<?x?x384xf32>) -> (tensor<?x?x384xui8>, tensor<?x?x1xf32>, tensor<?x?x1xui8>)
    ```

    Errors: `expects rows, got a scalar`.
  }];
  let arguments = (ins RankedTensorOf<[F32]>:$input);
  let results = (outs RankedTensorOf<[UI8]>:$output, RankedTensorOf<[F32]>:$scale, RankedTensorOf<[UI8]>:$zero_point);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Nn_QuantizeWeightOp : Nn_Op<"quantize_weight"> {
  let summary = "A matrix of weights to symmetric codes with a scale for each column, row, or block of one";
  let description = [{
    The elements that share an index along `axis` share a scale; with `block_size` b > 0 only b neighbours along the
    other axis do, and the scale has the weight's shape with ceil(extent / b) there. Per scale, in f32:

      scale = max |w| / 127, for codes of i4 max |w| / 7; 1 where that is below 2^-126
      code = clamp(round_half_even(w / scale), -127, 127), for i4 to -7..7

    so that w is about code * scale (nn.dequantize_linear with the same `axis`, or with blocks the other one). A weight
    that isn't finite makes its scale NaN.

    `pair_safe`, for i8 without blocks: neighbours 2j and 2j + 1 along the other axis, multiplied with any two u8, sum
    up within 16 bits, which the fastest multiplication of AVX2 needs. The scale is raised to max (|a| + |b|) / 128 over
    the pairs of equal sign; where rounding still leaves codes beyond 128 together, the second goes one step toward 0.
    dialects/nn/WeightQuantization.h has this as code.

    Example:

    ```mlir
    %codes, %scale = nn.quantize_weight %w {axis = 1 : i64, block_size = 0 : i64, pair_safe, to = i8}
       : (tensor<384x1536xf32>) -> (tensor<384x1536xi8>, tensor<1536xf32>)
    ```

    Errors: `expects axis 0 or 1, got 2`; `expects codes of i8 without blocks to be pair-safe`.
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$input, I64Attr:$axis, I64Attr:$block_size, UnitAttr:$pair_safe,
                       TypeAttr:$to);
  let results = (outs 2DTensorOf<[I8, I<4>]>:$output, RankedTensorOf<[F32]>:$scale);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECTS_NN_NNQUANTIZATIONOPS_TD
