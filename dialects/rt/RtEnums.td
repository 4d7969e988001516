// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Enums of the rt dialect; their values are those of artifact.fbs.

#ifndef HEDDLE_DIALECTS_RT_RTENUMS_TD
#define HEDDLE_DIALECTS_RT_RTENUMS_TD

include "mlir/IR/EnumAttr.td"

class Rt_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::rt";
}

def Rt_ShapeKind : Rt_Enum<"ShapeKind", "shape arithmetic on i64", [
    I32EnumAttrCase<"Add", 3, "add">, I32EnumAttrCase<"Sub", 4, "sub">, I32EnumAttrCase<"Mul", 5, "mul">,
    I32EnumAttrCase<"FloorDiv", 6, "floor_div">, I32EnumAttrCase<"CeilDiv", 7, "ceil_div">,
    I32EnumAttrCase<"Mod", 8, "mod">, I32EnumAttrCase<"Min", 9, "min">, I32EnumAttrCase<"Max", 10, "max">,
    I32EnumAttrCase<"Equal", 11, "equal">, I32EnumAttrCase<"Less", 12, "less">]>;

def Rt_CheckKind : Rt_Enum<"CheckKind", "what a shape check demands", [
    I32EnumAttrCase<"Equal", 0, "equal">, I32EnumAttrCase<"LessEqual", 1, "less_equal">]>;

#endif // HEDDLE_DIALECTS_RT_RTENUMS_TD
