// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention, whole and in running form, and what joins running forms.

#ifndef HEDDLE_DIALECTS_ATTN_ATTNSDPAOPS_TD
#define HEDDLE_DIALECTS_ATTN_ATTNSDPAOPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/attn/AttnEnums.td"
include "dialects/attn/AttnInterfaces.td"

defvar Attn_Floats = [F64, F32, F16, BF16];
def Attn_FloatTensor : RankedTensorOf<Attn_Floats>;
def Attn_F32Tensor : RankedTensorOf<[F32]>;
def Attn_F32Scalar : 0DTensorOf<[F32]>;
def Attn_QkvTensor : RankedTensorOf<!listconcat(Attn_Floats, [I8, UI8])>;
def Attn_CodeTensor : RankedTensorOf<[I8, UI8]>;
def Attn_StateTensor : RankedTensorOf<[F32, F64]>;
def Attn_LengthTensor : RankedTensorOf<[I64]>;

// Operands and attributes that both forms of attention start with.
defvar Attn_Inputs = (ins
  Attn_QkvTensor:$query, Attn_QkvTensor:$key, Attn_QkvTensor:$value,
  Optional<Attn_F32Scalar>:$scale_operand, Optional<Attn_LengthTensor>:$q_offset, Optional<Attn_LengthTensor>:$kv_len,
  Variadic<AnyRankedTensor>:$score_captures, Variadic<AnyRankedTensor>:$mask_captures,
  Optional<Attn_F32Tensor>:$query_scale, Optional<Attn_CodeTensor>:$query_zero_point,
  Optional<Attn_F32Tensor>:$key_scale, Optional<Attn_CodeTensor>:$key_zero_point,
  Optional<Attn_F32Tensor>:$value_scale, Optional<Attn_CodeTensor>:$value_zero_point);
defvar Attn_Attributes = (ins
  I64Attr:$q_num_heads, I64Attr:$kv_num_heads, OptionalAttr<F32Attr>:$scale,
  OptionalAttr<AffineMapAttr>:$query_map, OptionalAttr<AffineMapAttr>:$key_map,
  OptionalAttr<AffineMapAttr>:$value_map, OptionalAttr<AffineMapAttr>:$output_map,
  DefaultValuedAttr<AffineMapArrayAttr, "{}">:$score_capture_maps,
  DefaultValuedAttr<AffineMapArrayAttr, "{}">:$mask_capture_maps,
  OptionalAttr<F32Attr>:$probability_scale,
  DefaultValuedAttr<Attn_NormalizerAttr, "Normalizer::Softmax">:$normalizer,
  DefaultValuedAttr<Attn_FullyMaskedAttr, "FullyMasked::Literal">:$fully_masked);

defvar Attn_MapAccessors = [{
    ::mlir::AffineMap getQueryMapOrDefault();
    ::mlir::AffineMap getKeyMapOrDefault();
    ::mlir::AffineMap getValueMapOrDefault();
    ::mlir::AffineMap getOutputMapOrDefault();
    ::llvm::SmallVector<::mlir::AffineMap> getScoreCaptureMapList();
    ::llvm::SmallVector<::mlir::AffineMap> getMaskCaptureMapList();
}];

class Attn_SdpaBaseOp<string mnemonic, list<Trait> traits> : Op<Attn_Dialect, mnemonic, !listconcat([
    Pure, AttrSizedOperandSegments, Attn_AttentionInterface], traits)> {
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = Attn_MapAccessors;
  let extraClassDefinition = [{
    ::mlir::AffineMap $cppClass::getQueryMapOrDefault() {
      return getQueryMap() ? *getQueryMap() : ::heddle::attn::getBsndMap(getContext(), ::heddle::attn::kQuery);
    }
    ::mlir::AffineMap $cppClass::getKeyMapOrDefault() {
      return getKeyMap() ? *getKeyMap() : ::heddle::attn::getBsndMap(getContext(), ::heddle::attn::kKey);
    }
    ::mlir::AffineMap $cppClass::getValueMapOrDefault() {
      return getValueMap() ? *getValueMap() : ::heddle::attn::getBsndMap(getContext(), ::heddle::attn::kKey);
    }
    ::mlir::AffineMap $cppClass::getOutputMapOrDefault() {
      return getOutputMap() ? *getOutputMap() : ::heddle::attn::getBsndMap(getContext(), ::heddle::attn::kQuery);
    }
    ::llvm::SmallVector<::mlir::AffineMap> $cppClass::getScoreCaptureMapList() {
      return ::llvm::to_vector(getScoreCaptureMaps().getAsValueRange<::mlir::AffineMapAttr>());
    }
    ::llvm::SmallVector<::mlir::AffineMap> $cppClass::getMaskCaptureMapList() {
      return ::llvm::to_vector(getMaskCaptureMaps().getAsValueRange<::mlir::AffineMapAttr>());
    }
  }];
}

def Attn_SdpaOp : Attn_SdpaBaseOp<"sdpa", [AttrSizedResultSegments]> {
  let summary = "Scaled dot-product attention over all heads";
  let description = [{
    For batch b, query head h, query row i, and keys j < kv_len[b], with g = h floordiv (q_num_heads /
    kv_num_heads):

        score[j]  = score_region(scale * sum_d query[b,h,i,d] * key[b,g,j,d], b, h, i + q_offset, j, captures...)
        keep[j]   = mask_region(b, h, i + q_offset, j, captures...)
        lse       = log(sum over kept j of exp(score[j]))
        p[j]      = keep[j] ? exp(score[j] - lse) : 0
        weight[j] = probability_region(p[j], b, h, i + q_offset, j, captures...)
        output[b,h,i,d] = sum_j weight[j] * value[b,g,j,d]

    **Tensors.** `query_map` ... `output_map` say where element (b, n, q, kv, d) lies in query, key, value and
    output. Each is a projected permutation; a tensor without b serves all batches, one without n all heads.
    Default: BSND. `lse` is (b, n, q) in f32 (f64 where query is) and `probabilities` (b, n, q, kv), p after the
    guard for fully masked rows and before the probability region.

    **Scale** is its own number, attribute or f32 scalar operand, never derived from the head size.

    **Regions** work on scalars; an absent one returns the score or p unchanged, or true. They get the batch, the
    query head, the query's *absolute position* (row + q_offset, 0 where absent), the key's position, and one
    element of each capture, at the place that its map over (b, n, q, kv) says; there q is the row, not the
    position. Captures hold what regions know of tensors; regions use nothing else from outside but scalar
    constants. The score is f32 (f64 where query is), a natural logarithm, and already scaled. Causal attention
    is a mask region that yields `kv <= q`.

    **The probability region** f is dense: the p of every key below kv_len goes through it, a hidden key's as 0,
    and f(0) counts like any other weight. It needs the whole row's lse first, so such an attention goes over its
    keys twice; hidden keys may be skipped only where f(0) is provably 0. In rows that keep no key and aren't literal,
    p is 0 for each key with `zero` and NaN with `nan`, and f decides what the row gives. As without the region, a
    weight of exactly 0 adds nothing, whatever the value.

    **Fully masked rows.** A row that keeps no key gives: with `literal` what it would without the mask region,
    which then is no more than a licence to skip keys whose score is a finite fill, valid for rows that keep any
    key; with `zero` zeros, with `nan` NaN. It is decided by the regions and kv_len, never by the scores. In
    `zero` and `nan` rows, and where kv_len[b] is 0 (then also with `literal`, which gives zeros), lse is -inf.

    **Lengths.** `q_offset` is a scalar or one a batch; `kv_len` one a batch. Keys from kv_len[b] on are never read.

    **Quantisation.** An integer query stands for `(query - query_zero_point) * query_scale`, likewise key and
    value. Scales and zero points (of the tensor's type, 0 where absent) are scalars, or have the rank of their
    tensor, with extent 1 or the tensor's in each dimension. With `probability_scale` p, exp(score - row
    maximum) is replaced by `p * min(round_half_even(exp(...) / p), 127)` in the product with value, but not in
    the sum. That is the running form's rounding, so it excludes a probability region.

    **Scores of bytes.** With `qk_int8` query and key, of f32, multiply as integers of 8 bits. Each row x along d, of
    a query head or a key head, has a scale and codes of its own, computed in f32:

        x_scale = max|x| / 127, or 1 where that is below 2^-126
        code    = round_half_even(x * (1 / x_scale))                                       (-127 to 127)
        score[j] = score_region(scale * (query_scale * key_scale) * sum_d query_code * key_code, ...)

    If a number of a row isn't finite, its scale is NaN. The sum of codes is exact: f32 holds it up to a head size of
    1024, which is the greatest allowed. Codes depend on their own row alone, so neither the batch nor padding matters.

    **Values of bytes.** With `pv_int8_block` = B weights and value, of f32, multiply as integers of 8 bits, for one
    block of B keys (from key 0 on) at a time. `value_scale`, whose extents of batch and keys are 1, is what value's
    codes stand for; a block's weights are relative to its own greatest score:

        value_code = clamp(round_half_even(value * (1 / value_scale)), -127, 127)
        code[j]    = round_half_even(127 * exp(score[j] - block_max))          (0 to 127; 0 for hidden keys)
        state      = (value_scale * sum_j code[j] * value_code[j], block_max, sum_j code[j])

    The states of the blocks join as attn.merge_partials does it, and accumulator / sum is the output. Sums of codes are
    exact, also in f32 up to blocks of 1024 keys, the most allowed. Since nothing but a key's place counts blocks off,
    neither the batch nor keys that are added behind matter. That the divisor is the codes' sum rather than that of
    exp(...) costs no accuracy (MiniLM's layers are off by 1.6, 2.0 and 3.3 % with it and by 1.7, 1.6 and 3.0 % without,
    most of which is value's rounding), makes constant values exact, and gives the same bits on every target. A value
    that isn't finite makes its channel NaN in rows where its key's code isn't 0. Such an op has neither lse nor
    probabilities nor a probability region.

    Example: causal attention with a key padding mask, 12 heads on 4 key heads, in BSND.

    ```mlir
    func.func @causal(%q: tensor<?x?x12x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>,
                      %pad: tensor<?x?xi1>) -> tensor<?x?x12x64xf32> {
      %o = attn.sdpa %q, %k, %v mask_captures(%pad : tensor<?x?xi1>) mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index, %keep: i1):
        %seen = arith.cmpi ule, %j, %i : index
        %both = arith.andi %seen, %keep : i1
        attn.yield %both : i1
      } {q_num_heads = 12 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32,
         fully_masked = #attn<fully_masked zero>, mask_capture_maps = [affine_map<(b, n, q, kv) -> (b, kv)>]}
         : tensor<?x?x12x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x12x64xf32>
      return %o : tensor<?x?x12x64xf32>
    }
    ```

    Example: probabilities as a file with quantised tensors has them, integers from -128 to 127 in steps of 1/255.

    ```mlir
    func.func @quantised(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>)
        -> tensor<?x?x4x64xf32> {
      %o = attn.sdpa %q, %k, %v probability {
      ^bb0(%p: f32, %b: index, %h: index, %i: index, %j: index):
        %step = arith.constant 0.00392156886 : f32
        %zero = arith.constant -1.28e+2 : f32
        %greatest = arith.constant 1.27e+2 : f32
        %steps = arith.divf %p, %step : f32
        %whole = math.roundeven %steps : f32
        %code = arith.addf %whole, %zero : f32
        %most = arith.minimumf %code, %greatest : f32
        %distance = arith.subf %most, %zero : f32
        %weight = arith.mulf %distance, %step : f32
        attn.yield %weight : f32
      } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
         : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
      return %o : tensor<?x?x4x64xf32>
    }
    ```

    Errors: `expects key and value of equal sequence length, got 128 and 96`; `expects q_num_heads to be a
    multiple of kv_num_heads, got 12 and 5`; `expects exactly one of the attribute scale and the operand
    scale`; `expects score region arguments ('f32', 'index', 'index', 'index', 'index'), got ...`; `expects no
    probability_scale beside a probability region`; `expects query and key of f32 with
    qk_int8, got 'i8' and 'i8'`; `expects a value_scale with pv_int8_block`; `expects pv_int8_block from 1 to 1024, got
    2048`.

    Rationale: dialects/attn/README.md, decisions 1 to 7.
  }];
  let arguments = !con(Attn_Inputs, (ins Variadic<AnyRankedTensor>:$probability_captures), Attn_Attributes,
                       (ins DefaultValuedAttr<AffineMapArrayAttr, "{}">:$probability_capture_maps, UnitAttr:$qk_int8,
                        OptionalAttr<I64Attr>:$pv_int8_block));
  let regions = (region MaxSizedRegion<1>:$score, MaxSizedRegion<1>:$mask, MaxSizedRegion<1>:$probability);
  let extraClassDeclaration = Attn_MapAccessors # [{
    /// 127 * 127 * 1024 < 2^24.
    static constexpr int64_t kMaxQkInt8HeadSize = 1024, kMaxPvInt8Block = 1024;
    ::llvm::SmallVector<::mlir::AffineMap> getProbabilityCaptureMapList() {
      return ::llvm::to_vector(getProbabilityCaptureMaps().getAsValueRange<::mlir::AffineMapAttr>());
    }
  }];
  let results = (outs Attn_FloatTensor:$output, Optional<Attn_StateTensor>:$lse,
                      Optional<Attn_FloatTensor>:$probabilities);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    oilist(`scale` `(` $scale_operand `:` type($scale_operand) `)`
         | `q_offset` `(` $q_offset `:` type($q_offset) `)`
         | `kv_len` `(` $kv_len `:` type($kv_len) `)`
         | `score_captures` `(` $score_captures `:` type($score_captures) `)`
         | `mask_captures` `(` $mask_captures `:` type($mask_captures) `)`
         | `probability_captures` `(` $probability_captures `:` type($probability_captures) `)`
         | `query_scale` `(` $query_scale `:` type($query_scale) `)`
         | `query_zero_point` `(` $query_zero_point `:` type($query_zero_point) `)`
         | `key_scale` `(` $key_scale `:` type($key_scale) `)`
         | `key_zero_point` `(` $key_zero_point `:` type($key_zero_point) `)`
         | `value_scale` `(` $value_scale `:` type($value_scale) `)`
         | `value_zero_point` `(` $value_zero_point `:` type($value_zero_point) `)`)
    (`score` $score^)? (`mask` $mask^)? (`probability` $probability^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `->` type($output)
    (`lse` type($lse)^)? (`probabilities` type($probabilities)^)?
  }];
}

def Attn_OnlineSdpaOp : Attn_SdpaBaseOp<"online_sdpa", []> {
  let summary = "Attention in running form: tileable along keys";
  let description = [{
    Takes the state (accumulator, maximum, sum) of each query row through the keys of this op, in natural
    logarithms:

        for kept j: m' = max(m, score[j]);  sum = sum * exp(m - m') + exp(score[j] - m')
                    acc = acc * exp(m - m') + exp(score[j] - m') * value[j];  m = m'

    with score and keep as in attn.sdpa, but that keys count from `kv_offset` (a scalar, 0 where absent): the
    key in row r of the tensor has position r + kv_offset, which the regions get and kv_len is compared with,
    while capture maps see the row. So a slice of keys is the same op on smaller tensors, and capture slices
    need no change of the regions.

    The state starts as (0, -inf, 0). All of it is f32 (f64 where query is). `accumulator` lies as `output_map`
    says, maximum and sum are (b, n, q). attn.merge_partials joins states of disjoint keys,
    attn.finalize_partials divides.

    **Fully masked rows with `literal`.** A row that has met only masked keys keeps the state of these, as if
    there were no mask, and says so by a *negative* sum (whose magnitude is the sum); the first kept key
    discards it. This makes the literal rule a commutative monoid as well: of two states with sums of different
    sign the positive one counts. With `zero` and `nan` masked keys leave no trace, and the rule itself is
    applied by attn.finalize_partials.

    `probability_scale` rounds relative to the running maximum after this op's keys.

    Example:

    ```mlir
    func.func @tile(%q: tensor<1x64x4x64xf32>, %k: tensor<1x?x4x64xf32>, %v: tensor<1x?x4x64xf32>,
                    %acc0: tensor<1x64x4x64xf32>, %max0: tensor<1x4x64xf32>, %sum0: tensor<1x4x64xf32>)
        -> tensor<1x64x4x64xf32> {
      %acc, %max, %sum = attn.online_sdpa %q, %k, %v outs(%acc0, %max0, %sum0)
          {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
         : tensor<1x64x4x64xf32>, tensor<1x?x4x64xf32>, tensor<1x?x4x64xf32>
         -> tensor<1x64x4x64xf32>, tensor<1x4x64xf32>
      return %acc : tensor<1x64x4x64xf32>
    }
    ```

    Errors: as attn.sdpa; `expects maximum and sum of shape (b, n, q) = [1, 4, 64], got [1, 64, 4]`.

    Rationale: dialects/attn/README.md, decisions 4 and 5.
  }];
  let arguments = !con(Attn_Inputs, (ins Optional<0DTensorOf<[I64]>>:$kv_offset, Attn_StateTensor:$accumulator,
                                         Attn_StateTensor:$maximum, Attn_StateTensor:$sum),
                       Attn_Attributes);
  let results = (outs Attn_StateTensor:$out_accumulator, Attn_StateTensor:$out_maximum,
                      Attn_StateTensor:$out_sum);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    oilist(`scale` `(` $scale_operand `:` type($scale_operand) `)`
         | `q_offset` `(` $q_offset `:` type($q_offset) `)`
         | `kv_offset` `(` $kv_offset `:` type($kv_offset) `)`
         | `kv_len` `(` $kv_len `:` type($kv_len) `)`
         | `score_captures` `(` $score_captures `:` type($score_captures) `)`
         | `mask_captures` `(` $mask_captures `:` type($mask_captures) `)`
         | `query_scale` `(` $query_scale `:` type($query_scale) `)`
         | `query_zero_point` `(` $query_zero_point `:` type($query_zero_point) `)`
         | `key_scale` `(` $key_scale `:` type($key_scale) `)`
         | `key_zero_point` `(` $key_zero_point `:` type($key_zero_point) `)`
         | `value_scale` `(` $value_scale `:` type($value_scale) `)`
         | `value_zero_point` `(` $value_zero_point `:` type($value_zero_point) `)`)
    `outs` `(` $accumulator `,` $maximum `,` $sum `)` (`score` $score^)? (`mask` $mask^)? attr-dict
    `:` type($query) `,` type($key) `,` type($value)
    `->` custom<StateTypes>(type($accumulator), type($maximum), type($sum), type($out_accumulator),
                            type($out_maximum), type($out_sum))
  }];
}

// The state of a row: what attn.online_sdpa gives.
class Attn_StateOp<string mnemonic, list<Trait> traits> : Op<Attn_Dialect, mnemonic, !listconcat([Pure], traits)> {
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Where element (b, n, q, kv, d) of the accumulator lies.
    ::mlir::AffineMap getOutputMapOrDefault();
  }];
  let extraClassDefinition = [{
    ::mlir::AffineMap $cppClass::getOutputMapOrDefault() {
      return getOutputMap() ? *getOutputMap() : ::heddle::attn::getBsndMap(getContext(), ::heddle::attn::kQuery);
    }
  }];
}

def Attn_MergePartialsOp : Attn_StateOp<"merge_partials", [
    AllTypesMatch<["lhs_accumulator", "rhs_accumulator", "accumulator"]>,
    AllTypesMatch<["lhs_maximum", "rhs_maximum", "lhs_sum", "rhs_sum", "maximum", "sum"]>]> {
  let summary = "Joins the states of two disjoint sets of keys";
  let description = [{
    For each row, with m = max(m1, m2):

        sum = s1 * exp(m1 - m) + s2 * exp(m2 - m)
        acc = a1 * exp(m1 - m) + a2 * exp(m2 - m)

    Where one sum is 0, that state is empty and the other one is the result, whatever its maximum. Where the
    sums differ in sign, the positive one is the result (the literal rule of attn.online_sdpa). The operation is
    associative and commutative up to rounding, and the empty state (0, -inf, 0) is its neutral element.

    Example:

    ```mlir
    func.func @merge(%a0: tensor<1x64x4x64xf32>, %m0: tensor<1x4x64xf32>, %s0: tensor<1x4x64xf32>,
                     %a1: tensor<1x64x4x64xf32>, %m1: tensor<1x4x64xf32>, %s1: tensor<1x4x64xf32>)
        -> tensor<1x64x4x64xf32> {
      %acc, %max, %sum = attn.merge_partials(%a0, %m0, %s0), (%a1, %m1, %s1)
         : tensor<1x64x4x64xf32>, tensor<1x4x64xf32>
      return %acc : tensor<1x64x4x64xf32>
    }
    ```

    Errors: `expects maximum and sum of shape (b, n, q) = [1, 4, 64], got [1, 64, 4]`.
  }];
  let arguments = (ins
    Attn_StateTensor:$lhs_accumulator, Attn_StateTensor:$lhs_maximum, Attn_StateTensor:$lhs_sum,
    Attn_StateTensor:$rhs_accumulator, Attn_StateTensor:$rhs_maximum, Attn_StateTensor:$rhs_sum,
    OptionalAttr<AffineMapAttr>:$output_map);
  let results = (outs Attn_StateTensor:$accumulator, Attn_StateTensor:$maximum, Attn_StateTensor:$sum);
  let assemblyFormat = [{
    `(` $lhs_accumulator `,` $lhs_maximum `,` $lhs_sum `)` `,` `(` $rhs_accumulator `,` $rhs_maximum `,` $rhs_sum `)`
    attr-dict `:` type($lhs_accumulator) `,` type($lhs_maximum)
  }];
}

def Attn_FinalizePartialsOp : Attn_StateOp<"finalize_partials", [AllTypesMatch<["maximum", "sum"]>]> {
  let summary = "Turns a state into attention's output";
  let description = [{
    For each row: `output = accumulator / abs(sum)`, `lse = maximum + log(abs(sum))`. A row whose sum is 0 met
    no key: lse is -inf, and the output NaN with `fully_masked = nan`, 0 else. The output has the accumulator's
    shape and may have another float type.

    Example:

    ```mlir
    func.func @finalize(%acc: tensor<1x64x4x64xf32>, %max: tensor<1x4x64xf32>, %sum: tensor<1x4x64xf32>)
        -> tensor<1x64x4x64xf32> {
      %o = attn.finalize_partials %acc, %max, %sum {fully_masked = #attn<fully_masked zero>}
         : tensor<1x64x4x64xf32>, tensor<1x4x64xf32> -> tensor<1x64x4x64xf32>
      return %o : tensor<1x64x4x64xf32>
    }
    ```

    Errors: `expects an output of shape [1, 64, 4, 64], got [1, 4, 64, 64]`.
  }];
  let arguments = (ins Attn_StateTensor:$accumulator, Attn_StateTensor:$maximum, Attn_StateTensor:$sum,
                       OptionalAttr<AffineMapAttr>:$output_map,
                       DefaultValuedAttr<Attn_FullyMaskedAttr, "FullyMasked::Literal">:$fully_masked);
  let results = (outs Attn_FloatTensor:$output, Optional<Attn_StateTensor>:$lse);
  let assemblyFormat = [{
    $accumulator `,` $maximum `,` $sum attr-dict `:` type($accumulator) `,` type($maximum) `->` type($output)
    (`lse` type($lse)^)?
  }];
}

def Attn_YieldOp : Op<Attn_Dialect, "yield", [Pure, Terminator,
    ParentOneOf<["SdpaOp", "OnlineSdpaOp"]>]> {
  let summary = "Ends a score, mask or probability region";
  let description = [{
    Gives the region's value: the changed score or weight, or an i1 that tells whether the query sees the key.

    Example: a soft cap of 30 on the scores.

    ```mlir
    func.func @softcap(%q: tensor<?x?x4x64xf32>, %k: tensor<?x?x4x64xf32>, %v: tensor<?x?x4x64xf32>)
        -> tensor<?x?x4x64xf32> {
      %o = attn.sdpa %q, %k, %v score {
      ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
        %cap = arith.constant 3.0e+1 : f32
        %small = arith.divf %score, %cap : f32
        %bent = math.tanh %small : f32
        %capped = arith.mulf %bent, %cap : f32
        attn.yield %capped : f32
      } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 0.125 : f32}
         : tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x?x4x64xf32>
      return %o : tensor<?x?x4x64xf32>
    }
    ```

    Errors: those of the op around it, `expects the mask region to yield 'i1', got 'f32'`.
  }];
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

#endif // HEDDLE_DIALECTS_ATTN_ATTNSDPAOPS_TD
