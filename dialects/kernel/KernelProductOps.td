// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The roots that multiply: contractions and attention.

#ifndef HEDDLE_DIALECTS_KERNEL_KERNELPRODUCTOPS_TD
#define HEDDLE_DIALECTS_KERNEL_KERNELPRODUCTOPS_TD

include "dialects/kernel/KernelBase.td"

def Kernel_ContractOp : Kernel_Root<"contract"> {
  let summary = "batched matrix product with an epilogue on each result element";
  let description = [{
    Loops are (batch..., m, n, k). For all b, m, n:
      acc = sum over k, in ascending order, of lhs[map(b, m, k)] * rhs[map(b, k, n)]       (f32)
      results[map(b, m, n)] = epilogue(acc, captures[map(b, m, n)]...)

    Inputs are lhs, rhs, then the captures. One accumulator per result element, so that no result depends on tiles,
    rows or threads. An empty k gives 0.

    With `packed_rhs` the rhs is a constant packed into panels of P columns, whose map is the constant map
    (d...)[s...] -> (0, ..., 0); `packed_rhs` holds N. Element (k, n) is at [n / P, k, n % P], or with groups of G
    neighbours of k side by side at [n / P, k / G, n % P, k % G]; what lies beyond N or K is zero. Forms:

    | lhs | packed rhs | product |
    |---|---|---|
    | f32 | ceil(N/P) x K x P x f32 | f32 |
    | f32 | ceil(N/P) x ceil(K/2) x P x 2 x bf16 | f32 of bf16, a pair of k after the other |
    | i8 | ceil(N/P) x ceil(K/4) x P x 4 x i8 | i32 modulo 2^32, lhs unsigned, rhs signed |
    | f32 | ceil(N/P) x K x P x i8 | lhs * float(rhs) in f32, rhs signed |
    | f32 | ceil(N/P) x K x P x 1 x i8, with `block_size` | by blocks, below |
    | f32 | ceil(N/P) x ceil(K/2) x P x i8, with `block_size` | by blocks of half bytes, below |

    With bf16 the lhs is rounded to bf16, to nearest even; how a pair's sum is rounded and whether denormal numbers
    count is the target's.

    The integer form's accumulator, the region's first argument, is i32. With `signed_lhs` the bytes of the lhs are
    signed and multiply with their highest bit flipped:  acc = sum (lhs + 128) * rhs.  `pair_safe` promises that in each
    column the codes a and b at 2j and 2j + 1 of k are such that  u * a + v * b  fits 16 signed bits for all bytes u, v:
    the codes of equal sign have |a + b| <= 128.

    With `block_size` B the third input is the scales, tensor<ceil(N/P) x ceil(K/B) x P x f32> with a constant map as
    well, and captures follow it:
      acc = sum over blocks of B k, in ascending order, of scales[n / P, block, n % P] * sum in block of
            lhs * float(code)
    A code is a signed byte, which lies in a group of one, or half a byte: then B is even, bytes hold two numbers from 0
    to 15, that of the even k in the low half, and the code is 8 less.

        %y = kernel.contract sizes(%rows) bounds(affine_map<()[s0] -> (s0, 20, 8)>)
            ins(%x, %w : tensor<?x8xf32>, tensor<2x8x16xf32>)
            attributes {indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>, affine_map<(m, n, k)[s0] -> (0, 0, 0)>,
                                         affine_map<(m, n, k)[s0] -> (m, n)>], packed_rhs = 20 : i64} epilogue {
        ^bb0(%acc: f32):
          kernel.yield %acc : f32
        } : tensor<?x20xf32>

    Integers, finished by the zero point and scale of each row and the sum and scale of each column:

        %y = kernel.contract sizes(%rows) bounds(affine_map<()[s0] -> (s0, 20, 10)>)
            ins(%x, %w, %zero, %sums, %s, %t : tensor<?x10xi8>, tensor<2x3x16x4xi8>, tensor<?xi8>, tensor<20xi32>,
                tensor<?xf32>, tensor<20xf32>)
            attributes {indexing_maps = [affine_map<(m, n, k)[s0] -> (m, k)>,
                                         affine_map<(m, n, k)[s0] -> (0, 0, 0, 0)>, affine_map<(m, n, k)[s0] -> (m)>,
                                         affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (m)>,
                                         affine_map<(m, n, k)[s0] -> (n)>, affine_map<(m, n, k)[s0] -> (m, n)>],
                        packed_rhs = 20 : i64, pair_safe} epilogue {
        ^bb0(%acc: i32, %z: i8, %sum: i32, %row: f32, %column: f32):
          %zw = arith.extui %z : i8 to i32
          %shift = arith.muli %zw, %sum : i32
          %centred = arith.subi %acc, %shift : i32
          %f = arith.sitofp %centred : i32 to f32
          %a = arith.mulf %f, %row : f32
          %r = arith.mulf %a, %column : f32
          kernel.yield %r : f32
        } : tensor<?x20xf32>
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps, OptionalAttr<I64Attr>:$packed_rhs, UnitAttr:$signed_lhs,
                       UnitAttr:$pair_safe, OptionalAttr<I64Attr>:$block_size);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$epilogue);
  // Of the forms that need no more than their types.
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results, "::mlir::ValueRange":$inputs,
                                 "::mlir::ValueRange":$sizes, "::mlir::AffineMap":$bounds,
                                 "::mlir::ArrayAttr":$indexingMaps, "::mlir::IntegerAttr":$packedRhs), [{
    build($_builder, $_state, results, inputs, sizes, bounds, indexingMaps, packedRhs, /*signed_lhs=*/false,
          /*pair_safe=*/false, /*block_size=*/nullptr);
  }]>];
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` `ins` `(` $inputs `:` type($inputs) `)`
    attr-dict-with-keyword `epilogue` $epilogue `:` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Value getLhs() { return getInputs()[0]; }
    ::mlir::Value getRhs() { return getInputs()[1]; }
    /// Number of the input that holds the scales of blocks, and of the first capture.
    std::optional<unsigned> getScalesInput() { return getBlockSize() ? std::optional<unsigned>(2) : std::nullopt; }
    unsigned getFirstCapture() { return 2 + getBlockSize().has_value(); }
    ::mlir::OperandRange getCaptures() { return getInputs().drop_front(getFirstCapture()); }
    unsigned getNumBatchLoops() { return getBounds().getNumResults() - 3; }
    /// How factors multiply, by the table above. `Plain` are factors of any one type.
    enum class Form { Plain, PairsOfBf16, Integer, BytesOfWeights, HalfBytesOfWeights };
    Form getForm();
  }];
}

def Kernel_AttentionOp : Kernel_Root<"attention"> {
  let summary = "attention of all heads in one pass over the keys, or two";
  let description = [{
    Loops are (b, g, r, m, n, d, e): batch, key head, query head within the key head's group, query row, key, and the
    head sizes of query/key and of value. For all b, g, r, m:

      s[n] = score(scale * sum over d of query[map] * key[map], captures...)
      p[n] = mask(captures...) ? exp(s[n] - max s) / sum exp(s - max s) : 0
      weight[n] = probability(p[n], captures...)
      results[map(b, g, r, m, e)] = sum over n of weight[n] * value[map]

    taken over the keys n < kv_len only. Inputs are query, key, value, then, with `has_kv_len`, an i64 tensor of
    lengths whose map depends on b alone, then the captures of all regions, whose maps don't depend on d and e. The
    region `score` takes (f32 score, captures...), already scaled, in natural logarithms, and yields f32; the region
    `mask` takes (captures...) and yields i1; `probability`, which may be absent, takes (f32 p, captures...) and yields
    f32. They may use `kernel.index` of the loops 0 to 4. The scale is the attribute, or with `has_scale_input` the
    input after the lengths, a scalar.

    With `qk_int8` query and key multiply as codes of 8 bits, by a scale for each row along d, as attn.sdpa defines:

      s[n] = score(scale * (query_scale * key_scale) * sum over d of query_code * key_code, captures...)

    With `pv_int8_block` weights and values multiply as codes of 8 bits in blocks of so many keys, as attn.sdpa defines.
    The value's scales are an f32 input behind the scale's, whose map depends on g and e alone:

      code[n] = roundeven(127 * exp(s[n] - max s of n's block))
      results[map(b, g, r, m, e)] = join over the blocks of
                                    (value_scale * sum of code[n] * value_code[map], sum of code[n])

    With a `probability` region there are two passes over the keys: one for each row's maximum and sum, one for its
    weights. The region is applied to every key below kv_len, with 0 for those that the mask hides; targets skip hidden
    keys where it provably gives 0 for 0. Such kernels neither give nor take parts.

    Rows that keep no key follow `fully_masked`: "literal" gives what the row would without the mask region, "zero"
    zeros, "nan" NaN (attn.sdpa has the exact rule). Further results, in this order: with `has_lse` the logarithm of
    the sum (map over b, g, r, m), with `has_probabilities` p (map over b, g, r, m, n).

    What a row gives depends on its own keys alone: the block of keys, the order within it and the merge order are
    fixed by kernel.config, never by how many rows or keys there are.

    For few rows the keys are shared out in parts of `part_size`: one kernel, with `gives_parts`, computes the state
    of each row for each part, and a second one, with `takes_parts`, merges them. A state is what attn.online_sdpa
    gives for the part's kept keys alone: the sum of weights times values, the greatest score, the sum of weights
    (lowest number and 0 where there are none). Both kernels have the same other operands and regions. States are the
    first kernel's only result and an input of the second, between scales and captures: a tensor of f32 whose map's n
    is the number of the part and whose e is a column of the state, the value's columns, then maximum and sum; its
    first dimension counts the parts. If there are none, takes_parts computes everything itself, to the same bits. The
    sums of a state may be NaN where a value that isn't finite weighs 0; takes_parts then goes through that row's keys:

        %s = kernel.attention ... ins(%q, %k, %v : ...) attributes {..., part_size = 256 : i64, gives_parts} ...
          // tensor<?x?x12x?x66xf32>, map (n, b, g * 3 + r, m, e)
        %o = kernel.attention ... ins(%q, %k, %v, %s : ...) attributes {..., part_size = 256 : i64, takes_parts} ...

    A whole kernel:

        // causal attention, 12 heads of 64 on 4 key heads, everything in BSND
        %o = kernel.attention sizes(%batch, %q_len, %kv_len)
            bounds(affine_map<()[s0, s1, s2] -> (s0, 4, 3, s1, s2, 64, 64)>) ins(%q, %k, %v : ...)
            attributes {indexing_maps = [ (b, g, r, m, n, d, e) -> (b, m, g * 3 + r, d), ... ], scale = 0.125 : f32,
                        fully_masked = "literal"}
            score {
            ^bb0(%s: f32):
              kernel.yield %s : f32
            } mask {
              %m = kernel.index 3
              %n = kernel.index 4
              %seen = arith.cmpi ule, %n, %m : index
              kernel.yield %seen : i1
            } : tensor<?x?x12x64xf32>

    A probability region, here of gated weights, comes last: `mask {...} probability {...}` with

            ^bb0(%p: f32, %gate: f32):
              %weight = arith.mulf %p, %gate : f32
              kernel.yield %weight : f32
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, Variadic<Index>:$sizes, AffineMapAttr:$bounds,
                       AffineMapArrayAttr:$indexing_maps, OptionalAttr<F32Attr>:$scale, StrAttr:$fully_masked,
                       UnitAttr:$has_kv_len, UnitAttr:$has_scale_input, UnitAttr:$has_lse, UnitAttr:$has_probabilities,
                       OptionalAttr<I64Attr>:$part_size, UnitAttr:$gives_parts, UnitAttr:$takes_parts,
                       UnitAttr:$qk_int8, OptionalAttr<I64Attr>:$pv_int8_block);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$score, SizedRegion<1>:$mask, MaxSizedRegion<1>:$probability);
  let assemblyFormat = [{
    (`sizes` `(` $sizes^ `)`)? `bounds` `(` $bounds `)` `ins` `(` $inputs `:` type($inputs) `)`
    attr-dict-with-keyword `score` $score `mask` $mask (`probability` $probability^)? `:` type($results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Numbers of the loops.
    enum Loop : unsigned { Batch, KeyHead, QueryHead, Row, Key, HeadSize, ValueSize, NumLoops };
    ::mlir::Value getQuery() { return getInputs()[0]; }
    ::mlir::Value getKey() { return getInputs()[1]; }
    ::mlir::Value getValue() { return getInputs()[2]; }
    /// Number of the input that holds the lengths, the scale, the value's scales, the states of parts, and of the first
    /// capture.
    std::optional<unsigned> getKvLenInput() { return getHasKvLen() ? std::optional<unsigned>(3) : std::nullopt; }
    std::optional<unsigned> getScaleInput() {
      return getHasScaleInput() ? std::optional<unsigned>(3 + getHasKvLen()) : std::nullopt;
    }
    std::optional<unsigned> getValueScaleInput() {
      return getPvInt8Block() ? std::optional<unsigned>(3 + getHasKvLen() + getHasScaleInput()) : std::nullopt;
    }
    std::optional<unsigned> getPartsInput() {
      return getTakesParts() ? std::optional<unsigned>(getFirstCapture() - 1) : std::nullopt;
    }
    unsigned getFirstCapture() {
      return 3 + getHasKvLen() + getHasScaleInput() + getPvInt8Block().has_value() + getTakesParts();
    }
    ::mlir::OperandRange getCaptures() { return getInputs().drop_front(getFirstCapture()); }
  }];
}

#endif // HEDDLE_DIALECTS_KERNEL_KERNELPRODUCTOPS_TD
