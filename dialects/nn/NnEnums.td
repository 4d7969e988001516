// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The enums that group nn's ops. A case is spelled in the IR as the op of ONNX is, in lower_snake_case.

#ifndef HEDDLE_DIALECTS_NN_NNENUMS_TD
#define HEDDLE_DIALECTS_NN_NNENUMS_TD

include "mlir/IR/EnumAttr.td"
include "dialects/nn/NnDialect.td"

class Nn_I32Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::nn";
  let genSpecializedAttr = 0;
}

class Nn_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Nn_Dialect, info, mnemonic>;

def Nn_UnaryKind : Nn_I32Enum<"UnaryKind", "what nn.unary computes of one element", [
  // Any signed number.
  I32EnumAttrCase<"Abs", 0, "abs">,
  I32EnumAttrCase<"Neg", 1, "neg">,
  I32EnumAttrCase<"Sign", 2, "sign">,
  I32EnumAttrCase<"Relu", 3, "relu">,
  // Floats.
  I32EnumAttrCase<"Sqrt", 10, "sqrt">,
  I32EnumAttrCase<"Reciprocal", 11, "reciprocal">,
  I32EnumAttrCase<"Exp", 12, "exp">,
  I32EnumAttrCase<"Log", 13, "log">,
  I32EnumAttrCase<"Sin", 14, "sin">,
  I32EnumAttrCase<"Cos", 15, "cos">,
  I32EnumAttrCase<"Tanh", 16, "tanh">,
  I32EnumAttrCase<"Erf", 17, "erf">,
  I32EnumAttrCase<"Floor", 18, "floor">,
  I32EnumAttrCase<"Ceil", 19, "ceil">,
  I32EnumAttrCase<"Round", 20, "round">,
  // Activations, on floats.
  I32EnumAttrCase<"Sigmoid", 30, "sigmoid">,
  I32EnumAttrCase<"Softplus", 31, "softplus">,
  I32EnumAttrCase<"Silu", 32, "silu">,
  I32EnumAttrCase<"GeluErf", 33, "gelu_erf">,
  I32EnumAttrCase<"GeluTanh", 34, "gelu_tanh">,
  I32EnumAttrCase<"QuickGelu", 35, "quick_gelu">,
  // Floats to i1.
  I32EnumAttrCase<"IsNan", 40, "is_nan">,
  I32EnumAttrCase<"IsInf", 41, "is_inf">,
  // i1 to i1, and the bits of an integer.
  I32EnumAttrCase<"Not", 50, "not">,
  I32EnumAttrCase<"BitwiseNot", 51, "bitwise_not">,
]>;

def Nn_BinaryKind : Nn_I32Enum<"BinaryKind", "what nn.binary computes of two elements", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Sub", 1, "sub">,
  I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Div", 3, "div">,
  I32EnumAttrCase<"Pow", 4, "pow">,
  I32EnumAttrCase<"Mod", 5, "mod">,
  I32EnumAttrCase<"Fmod", 6, "fmod">,
  I32EnumAttrCase<"Min", 7, "min">,
  I32EnumAttrCase<"Max", 8, "max">,
  // i1.
  I32EnumAttrCase<"And", 20, "and">,
  I32EnumAttrCase<"Or", 21, "or">,
  I32EnumAttrCase<"Xor", 22, "xor">,
  // The bits of integers.
  I32EnumAttrCase<"BitwiseAnd", 30, "bitwise_and">,
  I32EnumAttrCase<"BitwiseOr", 31, "bitwise_or">,
  I32EnumAttrCase<"BitwiseXor", 32, "bitwise_xor">,
]>;

def Nn_CompareKind : Nn_I32Enum<"CompareKind", "the relation that nn.compare tests", [
  I32EnumAttrCase<"Eq", 0, "eq">,
  I32EnumAttrCase<"Ne", 1, "ne">,
  I32EnumAttrCase<"Lt", 2, "lt">,
  I32EnumAttrCase<"Le", 3, "le">,
  I32EnumAttrCase<"Gt", 4, "gt">,
  I32EnumAttrCase<"Ge", 5, "ge">,
]>;

def Nn_ReduceKind : Nn_I32Enum<"ReduceKind", "how nn.reduce combines elements", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Mean", 1, "mean">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"Prod", 4, "prod">,
  I32EnumAttrCase<"L1", 5, "l1">,
  I32EnumAttrCase<"L2", 6, "l2">,
  I32EnumAttrCase<"SumSquare", 7, "sum_square">,
  I32EnumAttrCase<"LogSum", 8, "log_sum">,
  I32EnumAttrCase<"LogSumExp", 9, "log_sum_exp">,
]>;

def Nn_ArgReduceKind : Nn_I32Enum<"ArgReduceKind", "which element nn.arg_reduce looks for", [
  I32EnumAttrCase<"Max", 0, "max">,
  I32EnumAttrCase<"Min", 1, "min">,
]>;

def Nn_ScatterReduction : Nn_I32Enum<"ScatterReduction", "how a scattered update meets the element in its place", [
  I32EnumAttrCase<"None", 0, "none">,
  I32EnumAttrCase<"Add", 1, "add">,
  I32EnumAttrCase<"Mul", 2, "mul">,
  I32EnumAttrCase<"Max", 3, "max">,
  I32EnumAttrCase<"Min", 4, "min">,
]>;

def Nn_PadMode : Nn_I32Enum<"PadMode", "what nn.pad puts around the data", [
  I32EnumAttrCase<"Constant", 0, "constant">,
  I32EnumAttrCase<"Reflect", 1, "reflect">,
  I32EnumAttrCase<"Edge", 2, "edge">,
  I32EnumAttrCase<"Wrap", 3, "wrap">,
]>;

def Nn_ResizeKind : Nn_I32Enum<"ResizeKind", "how nn.resize finds what lies between elements", [
  I32EnumAttrCase<"Nearest", 0, "nearest">,
  I32EnumAttrCase<"Linear", 1, "linear">,
  I32EnumAttrCase<"Cubic", 2, "cubic">,
]>;

def Nn_ResizeCoordinates : Nn_I32Enum<"ResizeCoordinates", "where in the input an element of nn.resize's result lies", [
  I32EnumAttrCase<"HalfPixel", 0, "half_pixel">,
  I32EnumAttrCase<"HalfPixelSymmetric", 1, "half_pixel_symmetric">,
  I32EnumAttrCase<"PytorchHalfPixel", 2, "pytorch_half_pixel">,
  I32EnumAttrCase<"AlignCorners", 3, "align_corners">,
  I32EnumAttrCase<"Asymmetric", 4, "asymmetric">,
]>;

def Nn_ResizeRounding : Nn_I32Enum<"ResizeRounding", "which neighbour is the nearest", [
  I32EnumAttrCase<"RoundPreferFloor", 0, "round_prefer_floor">,
  I32EnumAttrCase<"RoundPreferCeil", 1, "round_prefer_ceil">,
  I32EnumAttrCase<"Floor", 2, "floor">,
  I32EnumAttrCase<"Ceil", 3, "ceil">,
]>;

def Nn_PoolKind : Nn_I32Enum<"PoolKind", "what nn.pool makes of a window", [
  I32EnumAttrCase<"Max", 0, "max">,
  I32EnumAttrCase<"Average", 1, "average">,
  I32EnumAttrCase<"Lp", 2, "lp">,
]>;

def Nn_UnaryKindAttr : Nn_EnumAttr<Nn_UnaryKind, "unary_kind">;
def Nn_BinaryKindAttr : Nn_EnumAttr<Nn_BinaryKind, "binary_kind">;
def Nn_CompareKindAttr : Nn_EnumAttr<Nn_CompareKind, "compare_kind">;
def Nn_ReduceKindAttr : Nn_EnumAttr<Nn_ReduceKind, "reduce_kind">;
def Nn_ArgReduceKindAttr : Nn_EnumAttr<Nn_ArgReduceKind, "arg_reduce_kind">;
def Nn_ScatterReductionAttr : Nn_EnumAttr<Nn_ScatterReduction, "scatter_reduction">;
def Nn_PadModeAttr : Nn_EnumAttr<Nn_PadMode, "pad_mode">;
def Nn_ResizeKindAttr : Nn_EnumAttr<Nn_ResizeKind, "resize_kind">;
def Nn_ResizeCoordinatesAttr : Nn_EnumAttr<Nn_ResizeCoordinates, "resize_coordinates">;
def Nn_ResizeRoundingAttr : Nn_EnumAttr<Nn_ResizeRounding, "resize_rounding">;
def Nn_PoolKindAttr : Nn_EnumAttr<Nn_PoolKind, "pool_kind">;

#endif // HEDDLE_DIALECTS_NN_NNENUMS_TD
