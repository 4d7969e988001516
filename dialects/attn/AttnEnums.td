// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choices that attn's ops have.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNENUMS_TD
#define HEDDLE_DIALECTS_ATTN_ATTNENUMS_TD

include "mlir/IR/EnumAttr.td"
include "dialects/attn/AttnDialect.td"

class Attn_I32Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::heddle::attn";
  let genSpecializedAttr = 0;
}

class Attn_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Attn_Dialect, info, mnemonic>;

// One case so far. Sinks, sigmoid, linear and custom monoids join it here; the contract of all of them is that a
// masked key weighs 0 whatever the activation.
def Attn_Normalizer : Attn_I32Enum<"Normalizer", "how a row of scores becomes weights", [
  I32EnumAttrCase<"Softmax", 0, "softmax">,
]>;

def Attn_FullyMasked : Attn_I32Enum<"FullyMasked", "what a row gives whose keys are all masked", [
  I32EnumAttrCase<"Literal", 0, "literal">,
  I32EnumAttrCase<"Zero", 1, "zero">,
  I32EnumAttrCase<"Nan", 2, "nan">,
]>;

def Attn_Layout : Attn_I32Enum<"Layout", "order of the dimensions of a tensor of heads", [
  I32EnumAttrCase<"Bsnd", 0, "bsnd">,
  I32EnumAttrCase<"Bnsd", 1, "bnsd">,
]>;

def Attn_CacheMode : Attn_I32Enum<"CacheMode", "what attn.kv_cache_update does at the end of the cache", [
  I32EnumAttrCase<"Linear", 0, "linear">,
  I32EnumAttrCase<"Circular", 1, "circular">,
]>;

def Attn_NormalizerAttr : Attn_EnumAttr<Attn_Normalizer, "normalizer">;
def Attn_FullyMaskedAttr : Attn_EnumAttr<Attn_FullyMasked, "fully_masked">;
def Attn_LayoutAttr : Attn_EnumAttr<Attn_Layout, "layout">;
def Attn_CacheModeAttr : Attn_EnumAttr<Attn_CacheMode, "cache_mode">;

#endif // HEDDLE_DIALECTS_ATTN_ATTNENUMS_TD
