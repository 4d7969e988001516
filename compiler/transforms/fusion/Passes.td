// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the fusion phase.

#ifndef HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_TD
#define HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def FoldConstantsPass : Pass<"nn-fold-constants", "::mlir::func::FuncOp"> {
  let summary = "Replace ops of small constants by the constants that they give";
  let description = [{
    Evaluates nn ops whose operands are all constants with the reference evaluator. Exporters leave such chains: scales
    as a quotient of square roots, masks of a fixed length, shapes as concatenations.

        %size = nn.constant dense<64.0> : tensor<f32>
        %one = nn.constant dense<1.0> : tensor<f32>
        %root = nn.unary sqrt %size : (tensor<f32>) -> tensor<f32>
        %scale = nn.binary div %one, %root : (tensor<f32>, tensor<f32>) -> tensor<f32>
        %y = nn.binary mul %x, %scale : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>
      ==>
        %scale = nn.constant dense<1.250000e-01> : tensor<f32>
        %y = nn.binary mul %x, %scale : (tensor<?x64xf32>, tensor<f32>) -> tensor<?x64xf32>

    Integers are exact. A float result is the double-precision value rounded into its type, op by op, so the model's own
    rounding is kept to half a unit in the last place. Only results of at most 4 KiB are folded: what is larger stays an
    op, since copying weights into the IR is never worth it. A result may get a more exact shape than it had. Codes of
    8 bits that a convolution multiplies by codes aren't widened: it reads them as they are.

    Input invariant: one block of ops; locations name the model's nodes.
    Output IR: no nn op is left that gives at most 4 KiB from constants of at most max-operand-bytes alone,
    but for those codes.
    Fails where an op can't be evaluated, such as an index out of range: the model could never run.
  }];
  let options = [
    Option<"maxOperandBytes", "max-operand-bytes", "int64_t", /*default=*/"1048576",
           "Bytes of all constants that one folded op reads at most; evaluation holds up to eight times as much">];
  let statistics = [Statistic<"numFoldedOps", "num-folded-ops", "Ops replaced by constants">];
  let dependentDialects = ["::heddle::nn::NnDialect"];
}

def FoldMasksPass : Pass<"attn-fold-masks", "::mlir::func::FuncOp"> {
  let summary = "Compute masks and biases of attentions inside of their regions, from positions";
  let description = [{
    A model that names its attention hands the mask over as a tensor as large as the scores, computed from ranges. Here
    the expression moves into the mask region, and that of a bias into the score region, by the means of
    attn-raise-sdpa: comparisons of ranges become comparisons of positions, of which an analysis of tiles knows what
    they hide; what is smaller than the scores is captured.

        %rows = nn.unsqueeze %positions axes [1] : (tensor<300xi64>) -> tensor<300x1xi64>
        %past = nn.compare le %positions, %rows : (tensor<300xi64>, tensor<300x1xi64>) -> tensor<300x300xi1>
        %keep = nn.binary and %past, %padding
          : (tensor<300x300xi1>, tensor<2x1x1x300xi1>) -> tensor<2x1x300x300xi1>
        %y = attn.sdpa %q, %k, %v mask_captures(%keep : tensor<2x1x300x300xi1>) mask {
          ^bb0(%b: index, %n: index, %i: index, %j: index, %kept: i1):
            attn.yield %kept : i1
          } {fully_masked = #attn<fully_masked zero>, ...}
      ==>
        %y = attn.sdpa %q, %k, %v mask_captures(%padding : tensor<2x1x1x300xi1>) mask {
          ^bb0(%b: index, %n: index, %i: index, %j: index, %kept: i1):
            %past = arith.cmpi sle, %j, %i : index
            %keep = arith.andi %past, %kept : i1
            attn.yield %keep : i1
          } {fully_masked = #attn<fully_masked zero>, ...}

    A bias that selects -inf or another fill of at most -9999 also makes a mask region where the attention has none,
    which only licenses skipping keys. A tensor whose expression would read more than the tensor itself stays one, and
    so does a mask whose sizes only a run can compare with the attention's, or that goes with an offset of the queries.

    Input invariant: shapes are inferred, constants folded.
    Output IR: each row gives what it gave.
  }];
  let statistics = [Statistic<"numFolded", "num-folded", "Attentions whose masks or biases moved inside">];
  let dependentDialects = ["::heddle::nn::NnDialect", "::heddle::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def RaiseSdpaPass : Pass<"attn-raise-sdpa", "::mlir::ModuleOp"> {
  let summary = "Make one attn.sdpa of each attention that is spelled out in products and a softmax";
  let description = [{
    Anchored on a softmax over the last axis between two products. Query, key and value are followed through transposes,
    reshapes, repeats and factors, all as linear indices over attention's loops, so every spelling of one layout becomes
    the same index map; factors become the scale; all else that happens to a score is cloned into the score region in
    its own order. Fills that are added or selected also make a mask region, which licenses skipping keys.

        %kt = nn.transpose %k perm [0, 1, 3, 2] : (tensor<?x4x?x12xf32>) -> tensor<?x4x12x?xf32>
        %qk = nn.matmul %q, %kt : (tensor<?x4x?x12xf32>, tensor<?x4x12x?xf32>) -> tensor<?x4x?x?xf32>
        %scaled = nn.binary mul %qk, %scale : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?x?xf32>
        %masked = nn.where %keep, %scaled, %lowest
          : (tensor<?x1x1x?xi1>, tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?x?xf32>
        %p = nn.softmax %masked {axis = 3 : i64} : (tensor<?x4x?x?xf32>) -> tensor<?x4x?x?xf32>
        %y = nn.matmul %p, %v : (tensor<?x4x?x?xf32>, tensor<?x4x?x12xf32>) -> tensor<?x4x?x12xf32>
      ==>
        %y = attn.sdpa %q, %k, %v score_captures(%keep : tensor<?x1x1x?xi1>) mask_captures(%keep : tensor<?x1x1x?xi1>)
          score {
          ^bb0(%s: f32, %b: index, %n: index, %i: index, %j: index, %kept: i1):
            %fill = arith.constant -1.000000e+09 : f32
            %masked = arith.select %kept, %s, %fill : f32
            attn.yield %masked : f32
          } mask {
          ^bb0(%b: index, %n: index, %i: index, %j: index, %kept: i1):
            attn.yield %kept : i1
          } {q_num_heads = 4 : i64, kv_num_heads = 4 : i64, scale = 2.500000e-01 : f32, ...}

    What happens to a probability before it meets its value, integers and back or a gate, becomes the probability region
    by the same means, where that probability alone decides it.

    A finite fill leaves rows without keys their literal value, `where(is_nan(p), 0, p)` behind a fill of -inf makes
    them zero, and without it they are NaN. What isn't provably attention stays as it is.

    Input invariant: shapes are inferred, constants folded.
    Output IR: the module's `attn.report` lists each attention with its form, those that the model names among them, and
    each softmax that looks like one and isn't, with the reason.
  }];
  let statistics = [Statistic<"numRaised", "num-raised", "Attentions made one op">,
                    Statistic<"numRefused", "num-refused", "Softmaxes between products that stay as they are">];
  let dependentDialects = ["::heddle::nn::NnDialect", "::heddle::attn::AttnDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def RaiseNormsPass : Pass<"nn-raise-norms", "::mlir::ModuleOp"> {
  let summary = "Make one nn.layer_norm or nn.rms_norm of each normalisation that is spelled out";
  let description = [{
    Anchored on the square root, inverted or not, of a mean of squares plus a number. What was squared is the input, or
    its difference to its mean along the same, last axes; it must be a factor of a product in which the root divides.
    Products are compared as sets of factors, so order, grouping and the place of the scale don't matter. Means may be
    sums over a known number of elements, a variance may be written as `mean(x^2) - mean(x)^2`, and TensorFlow's
    `x * s + (bias - mean * s)` is understood too.

        %mean = nn.reduce mean %x axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
        %d = nn.binary sub %x, %mean : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
        %square = nn.binary pow %d, %two : (tensor<?x?x8xf32>, tensor<f32>) -> tensor<?x?x8xf32>
        %variance = nn.reduce mean %square axes [2] {keepdims} : (tensor<?x?x8xf32>) -> tensor<?x?x1xf32>
        %sum = nn.binary add %variance, %epsilon : (tensor<?x?x1xf32>, tensor<f32>) -> tensor<?x?x1xf32>
        %root = nn.unary sqrt %sum : (tensor<?x?x1xf32>) -> tensor<?x?x1xf32>
        %quotient = nn.binary div %d, %root : (tensor<?x?x8xf32>, tensor<?x?x1xf32>) -> tensor<?x?x8xf32>
        %scaled = nn.binary mul %quotient, %gamma : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
        %y = nn.binary add %scaled, %beta : (tensor<?x?x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>
      ==>
        %y = nn.layer_norm %x, %gamma, %beta {axis = 2 : i64, epsilon = 9.99999974E-6 : f32}
          : (tensor<?x?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32>

    The result is the same but for the order of roundings. Where the file computes in a narrow type or converts back
    and forth, statistics are taken in f32 from now on, which only drops roundings; a conversion to a type narrower than
    the input's stops the pass, since it would drop values. Statistics that others read stay beside the norm.

    Input invariant: constants are folded.
    Output IR: the module's `nn.raised` counts the norms.
  }];
  let statistics = [Statistic<"numRaised", "num-raised", "Normalisations made one op">];
  let dependentDialects = ["::heddle::nn::NnDialect"];
}

def RaiseActivationsPass : Pass<"nn-raise-activations", "::mlir::ModuleOp"> {
  let summary = "Make one op of each GELU, SiLU and sigmoid that is spelled out";
  let description = [{
    Anchored on erf, tanh, sigmoid and exp. The function's argument and what is made of its result are written as
    polynomials, of the input and of the function, and compared with those of nn's activations: every order of sums and
    products, every place of the constants and every way to write a cube gives the same polynomial.

        %scaled = nn.binary div %x, %root_of_two : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
        %erf = nn.unary erf %scaled : (tensor<?x8xf32>) -> tensor<?x8xf32>
        %sum = nn.binary add %erf, %one : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
        %product = nn.binary mul %x, %sum : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
        %y = nn.binary mul %product, %half : (tensor<?x8xf32>, tensor<f32>) -> tensor<?x8xf32>
      ==>
        %y = nn.unary gelu_erf %x : (tensor<?x8xf32>) -> tensor<?x8xf32>

    Factors must be the true ones up to the rounding of a few constants in the element type. So the three GELUs never
    stand in for one another, and a slightly different function stays what it is. Softplus isn't raised: spelled out it
    overflows where the op doesn't.

    Input invariant: constants are folded.
    Output IR: the module's `nn.raised` counts the activations by kind.
  }];
  let statistics = [Statistic<"numRaised", "num-raised", "Activations made one op">];
  let dependentDialects = ["::heddle::nn::NnDialect"];
}

def FuseHeadsPass : Pass<"attn-fuse-heads", "::mlir::ModuleOp"> {
  let summary = "Make one attn.sdpa of heads that are written out one by one";
  let description = [{
    Anchored on a concatenation of attentions with one head each. Where they differ only in query, key, value and what
    their regions capture, these are put beside each other; heads that read one key and value become a group.

        %h0 = attn.sdpa %q0, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32,
            query_map = (b, n, q, kv, d) -> (b, q, d), output_map = (b, n, q, kv, d) -> (n, b, q, d), ...}
        %y0 = nn.squeeze %h0 axes [0]
        %h1 = attn.sdpa %q1, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32, ...}
        %y1 = nn.squeeze %h1 axes [0]
        %y = nn.concat %y0, %y1 {axis = 2 : i64}
      ==>
        %q0h = nn.unsqueeze %q0 axes [2]
        %q1h = nn.unsqueeze %q1 axes [2]
        %q = nn.concat %q0h, %q1h {axis = 2 : i64}
        %heads = attn.sdpa %q, %k, %v {q_num_heads = 2 : i64, kv_num_heads = 1 : i64, scale = 0.25 : f32,
            query_map = (b, n, q, kv, d) -> (b, q, n, d), ...}
        %y = nn.reshape %heads, %features

    What were slices of one tensor becomes that tensor again by canonicalisation, what were products with slices of one
    weight becomes one product by attn-fuse-projections.

    Input invariant: attention is raised.
    Output IR: the module's `attn.report` has one entry for each attention that was made.
  }];
  let statistics = [Statistic<"numFused", "num-fused", "Heads that became part of an attention">];
  let dependentDialects = ["::heddle::nn::NnDialect", "::heddle::attn::AttnDialect"];
}

def FoldHeadsPass : Pass<"attn-fold-heads", "::mlir::ModuleOp"> {
  let summary = "Drop heads that were pruned to zero, share equal keys and values";
  let description = [{
    Looks at the constant weights of the projections around an attention. A head whose value weights and bias are zero,
    or whose rows of the output weight are, adds nothing to any finite result and is cut out of all four weights, which
    the artifact writer does. Neighbouring heads with equal weights for key and value become a group.

        // columns 0 to 15 of %wv are zero
        %qx = nn.matmul %x, %wq : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
        %q = nn.reshape %qx, %two_heads : (tensor<?x?x32xf32>, tensor<4xi64>) -> tensor<?x?x2x16xf32>
        ... %k, %v
        %y = attn.sdpa %q, %k, %v {q_num_heads = 2 : i64, kv_num_heads = 2 : i64, ...}
        %flat = nn.reshape %y, %features : (tensor<?x?x2x16xf32>, tensor<3xi64>) -> tensor<?x?x32xf32>
        %z = nn.matmul %flat, %wo : (tensor<?x?x32xf32>, tensor<32x32xf32>) -> tensor<?x?x32xf32>
      ==>
        %wq1 = nn.slice %wq, %c16, %c32 axes(%c1) : (tensor<32x32xf32>, ...) -> tensor<32x16xf32>
        %qx = nn.matmul %x, %wq1 : (tensor<?x?x32xf32>, tensor<32x16xf32>) -> tensor<?x?x16xf32>
        %q = nn.reshape %qx, %one_head : (tensor<?x?x16xf32>, tensor<4xi64>) -> tensor<?x?x1x16xf32>
        ... %k, %v
        %y = attn.sdpa %q, %k, %v {q_num_heads = 1 : i64, kv_num_heads = 1 : i64, ...}
        %flat = nn.reshape %y, %fewer_features : (tensor<?x?x1x16xf32>, tensor<3xi64>) -> tensor<?x?x16xf32>
        %wo1 = nn.slice %wo, %c16, %c32 axes(%c0) : (tensor<32x32xf32>, ...) -> tensor<16x32xf32>
        %z = nn.matmul %flat, %wo1 : (tensor<?x?x16xf32>, tensor<16x32xf32>) -> tensor<?x?x32xf32>

    Heads whose score or mask depends on which they are stay, since they can't change places.

    Input invariant: attention is raised and constants are folded.
    Output IR: entries of `attn.report` get `pruned_heads`, the heads that were dropped, and `duplicated_kv_heads`, how
    many keys and values are others' now.
  }];
  let statistics = [Statistic<"numDropped", "num-dropped", "Heads that added nothing">,
                    Statistic<"numShared", "num-shared", "Keys and values that equal another head's">];
  let dependentDialects = ["::heddle::nn::NnDialect", "::heddle::attn::AttnDialect"];
}

def FuseProjectionsPass : Pass<"attn-fuse-projections", "::mlir::func::FuncOp"> {
  let summary = "Make one product of all that project one input for attention";
  let description = [{
    Query, key and value mostly are projections of one tensor, and the keys and values of all layers of a decoder are
    projections of the encoder's output. Their constant weights are put beside each other, which the artifact writer
    does, and the product's result is parted by views: its input is read once, and there is one kernel for all.

        %qx = nn.matmul %x, %wq : (tensor<?x?x48xf32>, tensor<48x48xf32>) -> tensor<?x?x48xf32>
        %q = nn.binary add %qx, %bq : (tensor<?x?x48xf32>, tensor<48xf32>) -> tensor<?x?x48xf32>
        %k = nn.matmul %x, %wk : (tensor<?x?x48xf32>, tensor<48x12xf32>) -> tensor<?x?x12xf32>
      ==>
        %w = nn.concat %wq, %wk {axis = 1 : i64} : (tensor<48x48xf32>, tensor<48x12xf32>) -> tensor<48x60xf32>
        %qkx = nn.matmul %x, %w : (tensor<?x?x48xf32>, tensor<48x60xf32>) -> tensor<?x?x60xf32>
        %b = nn.concat %bq, %zeros {axis = 0 : i64} : (tensor<48xf32>, tensor<12xf32>) -> tensor<60xf32>
        %qk = nn.binary add %qkx, %b : (tensor<?x?x60xf32>, tensor<60xf32>) -> tensor<?x?x60xf32>
        %q, %k = nn.split %qk {axis = 2 : i64, num_outputs = 2 : i64, split_sizes = array<i64: 48, 12>}
          : (tensor<?x?x60xf32>) -> (tensor<?x?x48xf32>, tensor<?x?x12xf32>)

    Each element is the same sum in the same order as before. Products whose result the model hands out stay alone: they
    write it where the caller wants it.

    Input invariant: attention is raised.
    Output IR: no two products of one input that lead to attention are left, but for those handed out.
  }];
  let statistics = [Statistic<"numFused", "num-fused", "Products that became part of another">];
  let dependentDialects = ["::heddle::nn::NnDialect"];
}

#endif // HEDDLE_COMPILER_TRANSFORMS_FUSION_PASSES_TD
