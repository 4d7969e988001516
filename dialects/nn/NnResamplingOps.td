// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grids seen at another resolution: interpolation between elements, windows that become one element.

#ifndef HEDDLE_DIALECTS_NN_NNRESAMPLINGOPS_TD
#define HEDDLE_DIALECTS_NN_NNRESAMPLINGOPS_TD

include "dialects/nn/NnOpBase.td"

def Nn_ResizeOp : Nn_ShapedOp<"resize"> {
  let summary = "Interpolation at evenly spaced places";
  let description = [{
    `sizes` holds the new extent of each of `axes`. The element at i along such an axis, with n old and m new elements
    and the scale s, its entry in `scales` or m / n where those are absent, lies at x, which is

    | coordinates | x |
    |---|---|
    | half_pixel | (i + 0.5) / s - 0.5 |
    | half_pixel_symmetric | as half_pixel, moved by n/2 (1 - m / (s n)), so that the centres meet |
    | pytorch_half_pixel | as half_pixel, 0 where m is 1 |
    | align_corners | i (n - 1) / (s n - 1), 0 where s n is 1 |
    | asymmetric | i / s |

    Kind `nearest` takes the element at x rounded by `rounding`, `linear` weighs the two around it, `cubic` the four
    around it by Keys' function with `cubic_coeff_a`, axis by axis. Beyond the ends the outermost element repeats, or
    with `exclude_outside` weighs nothing, the other weights being scaled to a sum of 1. Places are computed in f64.

    Example:

    ```mlir
    %y = nn.resize cubic %x, %sizes {axes = array<i64: 2, 3>, coordinates = #nn<resize_coordinates half_pixel>,
                                     rounding = #nn<resize_rounding floor>, cubic_coeff_a = -0.75 : f32}
       : (tensor<1x48x8x8xf32>, tensor<2xi64>) -> tensor<1x48x?x?xf32>
    ```

    Errors: `expects axes in ascending order within [0, 4), got [4]`; `expects 2 sizes, got 3`;
    `expects floats to interpolate, got 'i64'`; `expects 2 positive scales, got 1`.
  }];
  let arguments = (ins Nn_ResizeKindAttr:$kind, Nn_Tensor:$input, Nn_ShapeVector:$sizes, DenseI64ArrayAttr:$axes,
                       OptionalAttr<DenseF32ArrayAttr>:$scales, Nn_ResizeCoordinatesAttr:$coordinates,
                       Nn_ResizeRoundingAttr:$rounding, DefaultValuedAttr<F32Attr, "-0.75f">:$cubic_coeff_a,
                       UnitAttr:$exclude_outside);
  let results = (outs Nn_Tensor:$output);
  let assemblyFormat = "`` $kind $input `,` $sizes attr-dict `:` functional-type(operands, results)";
}

def Nn_PoolOp : Nn_Op<"pool"> {
  let summary = "One element for each window of the spatial dimensions";
  let description = [{
    Input (B, C, d1...), result (B, C, o1...), windows as those of nn.conv. With `ceil_mode` a last window that isn't
    complete counts as well, as long as it starts within the input or the padding before it. Kind `max` takes the
    greatest element that isn't padding, `average` the mean of those, or with `count_include_pad` their sum over the
    number of the window's elements that are input or padding, `lp` the root `(sum |x|^p)^(1/p)`.

    Example:

    ```mlir
    %y = nn.pool average %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
                             dilations = array<i64: 1, 1>, p = 2 : i64}
       : (tensor<?x3x32x32xf32>) -> tensor<?x3x16x16xf32>
    ```

    Errors: `expects an input of rank 3 or more, got 2`; `expects 2 strides of at least 1`;
    `expects a kernel that fits the padded input, got extent 9 in 8 at spatial dimension 0`.
  }];
  let arguments = (ins Nn_PoolKindAttr:$kind, Nn_NumberTensor:$input, DenseI64ArrayAttr:$kernel,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                       DefaultValuedAttr<I64Attr, "2">:$p, UnitAttr:$ceil_mode, UnitAttr:$count_include_pad);
  let results = (outs Nn_NumberTensor:$output);
  let assemblyFormat = "`` $kind $input attr-dict `:` functional-type(operands, results)";
}

#endif // HEDDLE_DIALECTS_NN_NNRESAMPLINGOPS_TD
