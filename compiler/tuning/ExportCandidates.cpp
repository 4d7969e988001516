// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles the model up to its kernels, chooses which of them are worth measuring, and makes code of their candidates.

#include "compiler/tuning/ExportCandidates.h"

#include "compiler/artifact/ArtifactWriter.h"
#include "compiler/pipelines/AddWorkShapes.h"
#include "compiler/targets/ConfigJson.h"
#include "compiler/tuning/CandidateProgram.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

namespace {

class Exporter {
public:
  Exporter(const CandidateOptions &options, MLIRContext &context, ErrorList &errors)
      : options(options), context(context), errors(errors) {}

  LogicalResult run(std::string &summary);

private:
  LogicalResult compile();
  LogicalResult build(std::vector<KernelUse> uses);
  void chooseCandidates(KernelUse &use) const;
  LogicalResult generateCode();
  void name(size_t kernel) const;
  LogicalResult write();

  const CandidateOptions &options;
  MLIRContext &context;
  ErrorList &errors;
  CompiledModel model;
  std::unique_ptr<CandidateProgram> program;
  std::vector<CompiledTarget> targets; ///< the one, with the program's kernels
  size_t leftOut = 0;                  ///< uses of kernels
};

} // namespace

LogicalResult Exporter::compile() {
  CompileOptions compile = options.compile;
  compile.stopAfter = Phase::Tiling;
  compile.outputPath.clear(); // no IR is written
  if (failed(compileModel(compile, context, model, errors)))
    return failure();
  if (model.targets.size() == 1)
    return success();
  return errors.add({ErrorCode::H0113, "candidates are for one target, got " + std::to_string(model.targets.size()), "",
                     "name one with --target"});
}

/// How many candidates of a kernel that takes |share| of the time are worth their code, which takes longer to make than
/// to measure. A gain of one that takes little is little of the whole; the table and a guess are there in any case.
static size_t countWorthwhile(size_t most, double share) {
  constexpr double kFullShare = 0.25;
  constexpr size_t kLeast = 3;
  auto part = static_cast<size_t>(std::ceil(static_cast<double>(most) * std::min(share / kFullShare, 1.0)));
  return std::max<size_t>(std::min(most, std::max(part, kLeast)), 1);
}

/// Takes out what isn't to be measured, but never the first, which all others are measured against.
void Exporter::chooseCandidates(KernelUse &use) const {
  auto isLeftOut = [&](const ConfigCandidate &candidate) {
    return llvm::any_of(options.leftOut, [&](const LeftOutCandidate &left) {
      return left.signature == use.signature && left.rows == use.rows && left.config == formatConfig(candidate.config);
    });
  };
  std::vector<ConfigCandidate> &all = use.candidates;
  all.erase(std::remove_if(all.begin() + 1, all.end(), isLeftOut), all.end());
  if (size_t most = countWorthwhile(options.mostCandidates, use.share); all.size() > most)
    all.resize(most);
}

LogicalResult Exporter::build(std::vector<KernelUse> uses) {
  targets.push_back({std::move(model.targets.front().target), nullptr, {}});
  program = std::make_unique<CandidateProgram>(*targets.front().target, context);
  double share = 0;
  for (KernelUse &use : uses) {
    chooseCandidates(use);
    bool isWorthIt = share < options.mostShare && use.share > 0 && use.candidates.size() > 1;
    share += use.share;
    if (!isWorthIt || !program->add(use))
      ++leftOut;
  }
  if (program->groups.empty())
    return errors.add({ErrorCode::H0111, "the model has no kernel with another config to measure", "",
                       "its kernels are as they can be on this target"});
  targets.front().kernels = std::move(program->kernels);
  return addWorkShapes(*program->module, targets);
}

void Exporter::name(size_t kernel) const {
  if (!options.onCandidate || kernel >= program->getOrigins().size())
    return;
  CandidateProgram::KernelOrigin origin = program->getOrigins()[kernel];
  const CandidateGroup &group = program->groups[origin.group];
  options.onCandidate(group.signature, group.rows, group.candidates[origin.candidate].config);
}

LogicalResult Exporter::generateCode() {
  // Threads take kernels in order, the next one after their report: these are all that can be under way.
  unsigned threads = options.compile.threads;
  for (unsigned i = 0; i < threads; ++i)
    name(i);
  CompileProgress progress = [&](size_t done, size_t total) {
    name(done + threads - 1);
    if (options.compile.progress)
      options.compile.progress(Phase::Codegen, done, total);
  };
  FailureOr<KernelImage> image = targets.front().target->compileKernels(*targets.front().kernels, threads, progress);
  if (failed(image))
    return failure();
  targets.front().image = std::move(*image);
  return success();
}

LogicalResult Exporter::write() {
  const CompiledTarget &target = targets.front();
  ArrayRef<std::string> features = target.target->getFeatures();
  TargetImage image = {target.target->getName().str(),
                       {features.begin(), features.end()},
                       target.image.bytes,
                       target.image.addresses,
                       target.image.modules,
                       target.image.shaders};
  ArtifactOptions artifact;
  artifact.model = llvm::sys::path::filename(options.compile.modelPath).str();
  artifact.options.push_back({"target", image.name});
  artifact.options.push_back({"candidates", "true"});
  if (!options.shapes.empty())
    artifact.options.push_back({"shape", llvm::join(options.shapes, " ")});
  artifact.candidates = program->groups;
  return writeArtifact(*program->module, image, artifact, options.compile.outputPath, errors);
}

LogicalResult Exporter::run(std::string &summary) {
  if (failed(compile()))
    return failure();
  FailureOr<std::vector<KernelUse>> uses = findKernelUses(model, options, errors);
  if (failed(uses))
    return failure();
  DiagnosticCapture capture(&context, errors, ErrorCode::H0902, llvm::sys::path::filename(options.compile.modelPath),
                            [](Location) { return LocationText(); });
  if (failed(build(std::move(*uses))) || failed(generateCode()) || failed(write()))
    return failure();
  size_t candidates = 0;
  for (const CandidateGroup &group : program->groups)
    candidates += group.candidates.size();
  summary = std::to_string(program->groups.size()) + " kernels in " + std::to_string(candidates) + " configs; " +
            std::to_string(leftOut) + " kernels take the rest of the time or have no other config\n";
  return success();
}

LogicalResult heddle::exportCandidates(const CandidateOptions &options, MLIRContext &context, std::string &summary,
                                       ErrorList &errors) {
  return Exporter(options, context, errors).run(summary);
}
