// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect nn and the bases of its ops: what model files say, with ONNX semantics.

#ifndef HEDDLE_DIALECTS_NN_NNDIALECT_TD
#define HEDDLE_DIALECTS_NN_NNDIALECT_TD

include "mlir/IR/OpBase.td"

def Nn_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::heddle::nn";
  let summary = "What model files say: tensor ops with ONNX semantics and broadcasting";
  let description = [{
    Ops take and give ranked tensors by value; a dimension may be `?`. They are grouped by enum (`nn.unary
    exp`), so that a pass that treats all of them alike has one op to look at.

    Three rules hold for every op, so that no consumer repeats them:

    - **Axes are normalised.** An attribute that names an axis counts from the front: 0 <= axis < rank. Values that
      arrive in tensors (the operands of `nn.slice`) may still be negative, as in ONNX.
    - **Defaults are spelled out.** Attributes hold what ONNX would have defaulted to; what depends on the opset is
      decided by the importer, and the op has one meaning.
    - **Broadcasting** is numpy's: shapes are aligned at the right, 1 stretches. `?` against a static extent other than
      1 infers that extent; `?` against 1 or `?` infers `?`.

    Discardable attributes on the arguments and results of `@main`:

    - `nn.name = "input_ids"`: the name that the model file gives to the input or output.
    - `nn.dims = ["batch_size", 12]`: one entry a dimension, a symbol for a `?` and the extent otherwise. Equal symbols
      are a claim of the model file, checked when the program runs.
    - `nn.default = {type = tensor<2xf32>, value = dense<1.0> : tensor<2xf32>}`, arguments only: what stands for the
      argument where a run leaves it out. The value is what `nn.constant` takes; its type fits the argument's.

    Discardable attributes that importers set, for messages and for comparing tensors by name:

    - `nn.outputs = ["logits"]` on an op: the names in the model file of its results, "" for one without.
    - `nn.constant_inputs = ["w"]` on `@main`: inputs that the model file has a default for, and that were imported as
      constants; the others have `nn.default`.
    - `nn.raised = {layer_norm = 5 : i64}` on a module: how many ops were made from others that spelled them out.
    - `nn.quantization = [{kind = "product", nodes = ["/layer.0/MatMul"], reason = "excluded"} ]` on a module: what the
      model's weights became, without a reason those that are quantised.
    - `nn.channel_ranges = {"/layer.0/MatMul" = array<f32: 1.5, 0.25>}` on a module: max |x| for each channel of what
      the node multiplies, from calibration.
    - `nn.value_ranges = {"/layer.0/Softmax" = array<f32: 2.5, 1.0>}` on a module: max |x| for each head and channel of
      the values of the node's attention, from calibration.
    - `nn.key_offsets = {"/layer.0/Softmax" = array<f32: 7.5, -0.5>}` on a module: what the keys of the node's attention
      are about, for each head and channel, from calibration.
    - `nn.specializes = @main` on a function: it is the entry point @main for some of its inputs' sizes.

    An imported op's location is `fused<#nn.onnx_op<"MatMul", "", 17>>["/layer.0/MatMul"]`: the node's name, and as
    metadata its op type, domain, opset and, where the file tells, path of modules (Locations.h makes and reads them).
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The files that constants point into, mapped once for all of them. Safe to call from several threads.
    MappedFiles &getMappedFiles() { return mappedFiles; }

    /// Name of the argument and result attribute that holds a tensor's name in the model file.
    static constexpr llvm::StringLiteral getNameAttrName() { return "nn.name"; }
    /// Name of the op attribute that holds its results' names in the model file.
    static constexpr llvm::StringLiteral getOutputsAttrName() { return "nn.outputs"; }
    /// Name of the function attribute that lists inputs imported as constants.
    static constexpr llvm::StringLiteral getConstantInputsAttrName() { return "nn.constant_inputs"; }
    /// Name of the module attribute that holds how many ops were raised, by name.
    static constexpr llvm::StringLiteral getRaisedAttrName() { return "nn.raised"; }
    /// Name of the module attribute with ranges of channels from calibration.
    static constexpr llvm::StringLiteral getChannelRangesAttrName() { return "nn.channel_ranges"; }
    /// Name of the module attribute with ranges of attention's values from calibration.
    static constexpr llvm::StringLiteral getValueRangesAttrName() { return "nn.value_ranges"; }
    /// Name of the module attribute with what attention's keys are about, from calibration.
    static constexpr llvm::StringLiteral getKeyOffsetsAttrName() { return "nn.key_offsets"; }
    /// Name of the module attribute that says of each place of weights what it became.
    static constexpr llvm::StringLiteral getQuantizationAttrName() { return "nn.quantization"; }
    /// Name of the function attribute that names the entry point which the function is for some sizes.
    static constexpr llvm::StringLiteral getSpecializesAttrName() { return "nn.specializes"; }
    /// Name of the argument attribute that holds what stands for an argument where a run leaves it out.
    static constexpr llvm::StringLiteral getDefaultAttrName() { return "nn.default"; }
    /// Name of the argument and result attribute that holds one symbol or extent a dimension.
    static constexpr llvm::StringLiteral getDimsAttrName() { return "nn.dims"; }

  private:
    MappedFiles mappedFiles;

  public:
  }];
}

#endif // HEDDLE_DIALECTS_NN_NNDIALECT_TD
