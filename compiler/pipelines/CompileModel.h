// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The whole way from a model file to an artifact, phase by phase.

#ifndef HEDDLE_COMPILER_PIPELINES_COMPILEMODEL_H
#define HEDDLE_COMPILER_PIPELINES_COMPILEMODEL_H

#include "compiler/pipelines/Buckets.h"
#include "compiler/support/Error.h"
#include "compiler/targets/Target.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// The phases, in order. Each leaves a module that `--compile-to` can stop at.
enum class Phase { Import, Fusion, Quantization, Outlining, Tiling, Codegen, Artifact };

llvm::StringRef stringifyPhase(Phase phase);
std::optional<Phase> parsePhase(llvm::StringRef name);
/// All names, in order, for messages.
llvm::ArrayRef<llvm::StringRef> getPhaseNames();

/// What becomes of weights. Words are checked by compileModel.
struct QuantizationOptions {
  std::string scheme;               ///< w8a8, w8a32 or w4a32; empty: none
  std::string embedding = "int8";   ///< tables: int8 or f32
  bool allowsPairSafe = true;       ///< weights of w8a8 are pair-safe where a target lacks VNNI; else never
  std::optional<bool> pairSafe;     ///< decided for other targets than those that are compiled for
  std::vector<std::string> exclude; ///< globs on nodes' names: what stays float
  /// max |x| for each channel of what a product multiplies, by the name of one of its nodes: smooths w8a8. Empty: none.
  std::map<std::string, std::vector<float>> channelRanges;
  size_t sampleCount = 0; ///< that the ranges are from
  /// max |x| for each head and channel of attention's values, by the name of one of its nodes: those multiply as 8
  /// bits.
  std::map<std::string, std::vector<float>> valueRanges;
  /// What is taken off attention's keys, for each head and channel, before they become 8 bits, by the same names.
  std::map<std::string, std::vector<float>> keyOffsets;
  std::string attention = "auto";          ///< as 8 bits: on, off, or auto: where that is faster and loses little
  bool isAttentionMeasured = false;        ///< auto knows what is lost
  std::vector<std::string> lossyAttention; ///< a node of each whose scores lose too much
  std::vector<std::string> lossyValues;    ///< a node of each whose values do
  /// Why all scores stay float (empty: they needn't), decided for other targets than those that are compiled for.
  std::optional<std::string> floatAttention;
  std::optional<std::string> floatValues; ///< the same of weights and values
  bool compares = false;                  ///< both forms side by side, for measurements (nn-quantize-weights says how)
  bool findsRanges = false;               ///< with it: results with what attention's keys and values reach
};

/// What to compile and how. Nothing here names a folder that reaches the artifact.
struct CompileOptions {
  std::string modelPath;
  std::string outputPath; ///< the artifact, or the IR of |stopAfter| ("-": standard output)
  std::vector<std::string> targets{"cpu"};
  std::vector<std::string> shapes; ///< "NAME=1x128"
  std::string bucket;              ///< "32,64" or "sequence=32,64": sizes with entry points of their own; empty: none
  std::string precision = "f32";   ///< of the weights of matrix products: f32, or bf16 where the targets multiply it
  QuantizationOptions quantization;
  std::map<std::string, TunedConfigs> tuned; ///< what tuning files have, by name of the target
  bool fuses = true; ///< else the model's ops stay as they are written, but for what a kernel's epilogue takes
  std::optional<Phase> stopAfter;
  std::string dumpFolder; ///< IR after each phase; empty: none
  unsigned threads = 1;
  /// Called as phases begin and, within code generation, as kernels are done; then from the threads that generate code,
  /// one call at a time.
  std::function<void(Phase phase, size_t done, size_t total)> progress;
};

/// One target's share of the result.
struct CompiledTarget {
  std::unique_ptr<Target> target;
  mlir::OwningOpRef<mlir::ModuleOp> kernels; ///< kernel.funcs with their kernel.config
  KernelImage image;                         ///< empty before codegen
};

/// What compilation made, for reports. The module holds rt and kernel ops once outlined.
struct CompiledModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<CompiledTarget> targets;
  Buckets buckets;
  size_t nodeCount = 0;       ///< ops of the model as imported, constants left out
  uint64_t artifactBytes = 0; ///< 0 where no artifact was written
};

/// Parses the targets that options name; errors name what is near.
mlir::LogicalResult parseTargets(llvm::ArrayRef<std::string> specs, std::vector<CompiledTarget> &out,
                                 ErrorList &errors);

/// The model at |path| as a module of nn ops: ONNX, or IR that `--compile-to import` wrote. Null with |errors| if it
/// can't be had.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path, mlir::MLIRContext &context, ErrorList &errors);

/// Compiles. |context| must have all dialects registered (registerAllDialects) and outlive the result. On failure
/// |errors| says what is wrong and no file is left behind.
mlir::LogicalResult compileModel(const CompileOptions &options, mlir::MLIRContext &context, CompiledModel &out,
                                 ErrorList &errors);

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_COMPILEMODEL_H
