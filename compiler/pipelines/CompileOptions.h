// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that are words: which there are, what they need of the targets, how an artifact keeps them.

#ifndef HEDDLE_COMPILER_PIPELINES_COMPILEOPTIONS_H
#define HEDDLE_COMPILER_PIPELINES_COMPILEOPTIONS_H

#include "compiler/pipelines/CompileModel.h"

namespace heddle {

/// Fails with |errors| where an option has a value that it can't have, or one that |targets| can't serve.
mlir::LogicalResult checkOptions(const CompileOptions &options, llvm::ArrayRef<CompiledTarget> targets,
                                 ErrorList &errors);

/// True where weights are multiplied by a target that adds pairs of products in 16 bits.
bool needsPairSafeWeights(const QuantizationOptions &options, llvm::ArrayRef<CompiledTarget> targets);

/// Leaves what calibration found on |module|, for nn-quantize-weights and attn-quantize-attention.
void setRanges(const QuantizationOptions &options, mlir::ModuleOp module);

/// Why no attention multiplies queries and keys as codes; empty where some may.
std::string whyFloatAttention(const QuantizationOptions &options, llvm::ArrayRef<CompiledTarget> targets);
/// The same for weights and values.
std::string whyFloatValues(const QuantizationOptions &options, llvm::ArrayRef<CompiledTarget> targets);

/// Ranges as an artifact keeps them, "NODE=3f80..." by 16 bits of each number, and back; what isn't such a text is left
/// out. Ranges of values have no more bits than these.
std::string formatRanges(const std::map<std::string, std::vector<float>> &ranges);
std::map<std::string, std::vector<float>> parseRanges(llvm::StringRef text);
/// |range| or a little more, in the 16 bits that artifacts keep.
float roundRange(float range);

/// Appends the options of quantisation that aren't the default, as `heddle inspect` shows them and `heddle verify`
/// reads them. Where `auto` quantised attention for |targets| they say so, and which stayed float for what it would
/// have lost.
void addQuantizationOptions(const QuantizationOptions &options, llvm::ArrayRef<CompiledTarget> targets,
                            std::vector<std::pair<std::string, std::string>> &normalized);

/// The tuning files that kernels of |targets| have configs from, and how many: "zen4.tuning.jsonl (12)". Empty: none.
std::string describeTuning(llvm::ArrayRef<CompiledTarget> targets);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_COMPILEOPTIONS_H
