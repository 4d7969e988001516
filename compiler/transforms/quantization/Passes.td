// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the quantisation phase.

#ifndef HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PASSES_TD
#define HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def QuantizeWeightsPass : Pass<"nn-quantize-weights", "::mlir::ModuleOp"> {
  let summary = "Replace float weights of matrix products and embedding tables by integer codes and scales";
  let description = [{
    Products by a constant matrix of f32 read a quarter of the bytes, and by w8a8 multiply integers. Weights have one
    symmetric scale a column; activations are quantised row by row, so that no row depends on another. An activation
    that several products read is quantised once. What scales undo is element-wise and joins the product's kernel.

        %w = nn.constant #nn.external<"w", 0, 2359296> -> tensor<384x1536xf32>
        %y = nn.matmul %x, %w : (tensor<?x384xf32>, tensor<384x1536xf32>) -> tensor<?x1536xf32>
      ==>
        %w = nn.constant #nn.external<"w", 0, 2359296> -> tensor<384x1536xf32>
        %q, %s, %z = nn.quantize_rows %x
          : (tensor<?x384xf32>) -> (tensor<?x384xui8>, tensor<?x1xf32>, tensor<?x1xui8>)
        %c, %t = nn.quantize_weight %w {axis = 1, block_size = 0, to = i8}
          : (tensor<384x1536xf32>) -> (tensor<384x1536xi8>, tensor<1536xf32>)
        %sum = nn.matmul_integer %q, %c lhs_zero_point(%z : tensor<?x1xui8>)
          : (tensor<?x384xui8>, tensor<384x1536xi8>) -> tensor<?x1536xi32>
        %f = nn.cast %sum {to = f32} : (tensor<?x1536xi32>) -> tensor<?x1536xf32>
        %r = nn.binary mul %f, %s : (tensor<?x1536xf32>, tensor<?x1xf32>) -> tensor<?x1536xf32>
        %y = nn.binary mul %r, %t : (tensor<?x1536xf32>, tensor<1536xf32>) -> tensor<?x1536xf32>

    By w8a32 and w4a32 the product stays one of floats, by nn.dequantize_linear of codes: of i8 with a scale a column,
    of i4 with a scale for 32 rows of a column. An embedding table becomes i8 with a scale a row:

        %e = nn.gather %table, %ids {axis = 0} : (tensor<30522x384xf32>, tensor<?x?xi64>) -> tensor<?x?x384xf32>
      ==>
        %c, %t = nn.quantize_weight %table {axis = 0, block_size = 0, to = i8}
          : (tensor<30522x384xf32>) -> (tensor<30522x384xi8>, tensor<30522xf32>)
        %q = nn.gather %c, %ids {axis = 0} : (tensor<30522x384xi8>, tensor<?x?xi64>) -> tensor<?x?x384xi8>
        %f = nn.cast %q {to = f32} : (tensor<?x?x384xi8>) -> tensor<?x?x384xf32>
        %s = nn.gather %t, %ids {axis = 0} : (tensor<30522xf32>, tensor<?x?xi64>) -> tensor<?x?xf32>
        %u = nn.unsqueeze %s axes [2] : (tensor<?x?xf32>) -> tensor<?x?x1xf32>
        %e = nn.binary mul %f, %u : (tensor<?x?x384xf32>, tensor<?x?x1xf32>) -> tensor<?x?x384xf32>

    Where the module's attribute `nn.channel_ranges` has max |x| for each channel of a product's activation, under the
    name of one of its nodes, w8a8 smooths: it divides the copy of the activation that is quantised by a factor a
    channel and multiplies the weight's rows by it, sqrt(max|x| / max|w|) up to a common factor. The attribute is used
    up.

    Products of fewer than 32 terms or 16 columns stay, as do those without a constant on the right, tables of less than
    2 MB and convolutions.
    The module's attribute `nn.quantization` says of each product, convolution and table what became of it, or why it
    stayed.

    With `compare` both forms are kept, and the model gets another input and other results, for whoever measures what
    quantisation costs: input `heddle.selection` says of each place whether the integer form counts; the results
    `heddle.error.N` and `heddle.signal.N` are the sums of squares of what the forms of place N differ by, given the
    same activation, and of the float form; `heddle.channels.N` is max |x| of each channel of the activation.

    Input invariant: shapes are inferred, projections fused; locations name the model's nodes.
    Output IR: every product by a constant matrix of f32 that isn't excluded is in its quantised form.
    Fails where a pattern of `exclude` matches neither a place that could be quantised nor attention, which
    attn-quantize-attention leaves float by the same patterns.
  }];
  let options = [
    Option<"scheme", "scheme", "::heddle::nn::QuantizationScheme",
           /*default=*/"::heddle::nn::QuantizationScheme::W8A8", "Bits of weights and activations",
           [{::llvm::cl::values(
             clEnumValN(::heddle::nn::QuantizationScheme::W8A8, "w8a8", "i8 weights, u8 activations"),
             clEnumValN(::heddle::nn::QuantizationScheme::W8A32, "w8a32", "i8 weights, float activations"),
             clEnumValN(::heddle::nn::QuantizationScheme::W4A32, "w4a32", "i4 weights, float activations"))}]>,
    Option<"tables", "tables", "bool", /*default=*/"true", "Quantise embedding tables too">,
    Option<"pairSafe", "pair-safe", "bool", /*default=*/"false",
           "Weights of w8a8 whose neighbouring products sum up within 16 bits, for targets without VNNI">,
    ListOption<"exclude", "exclude", "std::string",
               "Globs on node names ('*' matches '/' as well): products and tables that stay float">,
    Option<"compare", "compare", "bool", /*default=*/"false",
           "Keep the float forms too, with an input that selects and results that compare">];
  let statistics = [
    Statistic<"numProducts", "num-products", "Products quantised">,
    Statistic<"numTables", "num-tables", "Embedding tables quantised">,
    Statistic<"numSmoothed", "num-smoothed", "Activations whose channels are smoothed">
  ];
  let dependentDialects = ["::heddle::nn::NnDialect"];
}

def QuantizeAttentionPass : Pass<"attn-quantize-attention", "::mlir::ModuleOp"> {
  let summary = "Let attention multiply as codes of 8 bits";
  let description = [{
    Marks attention by `qk_int8`: each row of queries and keys gets codes and a scale of its own when the kernel reads
    it, so nothing else changes, and no row depends on another.

        %o = attn.sdpa %q, %k, %v {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, scale = 1.25e-01 : f32}
          : tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32> -> tensor<?x?x12x64xf32>
      ==>
        %o = attn.sdpa %q, %k, %v {q_num_heads = 12 : i64, kv_num_heads = 12 : i64, qk_int8, scale = 1.25e-01 : f32}
          : tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32>, tensor<?x?x12x64xf32> -> tensor<?x?x12x64xf32>

    Where the key's projection adds a bias, no score region but a sum sees it, and nobody else reads the keys, they lose
    it: softmax doesn't depend on it (it adds one number to all scores of a row), and codes have its range for the rest.
    Where there is none to take off, what the module's attribute `nn.key_offsets` has for each head and channel, under
    the name of one of the attention's nodes, is subtracted from the keys. The attribute is used up.

    Weights and values multiply as codes too (`pv_int8_block`, of 256 keys) where the module's attribute
    `nn.value_ranges` has max |value| for each head and channel, under the name of one of the attention's nodes; the
    scales become a constant. The attribute is used up.

    Scores stay float where queries and keys aren't f32, their head size isn't a constant of at most 1024, or weights
    are results; values stay so where they aren't f32, their ranges aren't known, or weights are results or have a
    region. With `selective` also where codes gain nothing: heads smaller than 32, and keys that aren't of the queries'
    sequence, since few queries can't pay for the codes of many keys. The module's attribute `nn.quantization` says
    behind the weights, of all scores and then of all values, what became of them or why they stayed.

    With `compare` all forms are kept as nn-quantize-weights does it; places count on from its places. `ranges` then
    asks for the ranges of values, `heddle.channels.N`, in order of the values' dimensions; values whose ranges aren't
    known have the float form for both. Of keys without a bias it asks for the mean of each head and channel,
    `heddle.offset.N`, and the largest magnitude, `heddle.reach.N`.

    Input invariant: shapes are inferred; locations name the model's nodes.
    Output IR: every attention that may be is marked.
    Fails where `selective` meets shapes that can't be known before a run.
  }];
  let options = [
    Option<"selective", "selective", "bool", /*default=*/"false", "Leave attention float where codes gain nothing">,
    Option<"unless", "unless", "std::string", /*default=*/"\"\"",
           "Why all scores stay float, for the report; empty: they needn't">,
    Option<"unlessValues", "unless-values", "std::string", /*default=*/"\"\"", "The same for values">,
    ListOption<"exclude", "exclude", "std::string", "Globs on node names: attention that stays float">,
    ListOption<"lossy", "lossy", "std::string", "Nodes of attention whose scores were found to lose too much">,
    ListOption<"lossyValues", "lossy-values", "std::string", "The same for values">,
    Option<"compare", "compare", "bool", /*default=*/"false",
           "Keep the float forms too, with an input that selects and results that compare">,
    Option<"ranges", "ranges", "bool", /*default=*/"false", "With compare: results with what keys and values reach">];
  let statistics = [
    Statistic<"numScores", "num-scores", "Attentions whose scores are quantised">,
    Statistic<"numValues", "num-values", "Attentions whose weights and values are quantised">,
    Statistic<"numKeyBiases", "num-key-biases", "Biases taken off keys">,
    Statistic<"numKeyOffsets", "num-key-offsets", "Keys from which calibrated offsets are subtracted">
  ];
  let dependentDialects = ["::heddle::attn::AttnDialect", "::heddle::nn::NnDialect"];
}

#endif // HEDDLE_COMPILER_TRANSFORMS_QUANTIZATION_PASSES_TD
