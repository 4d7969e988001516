// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the phases one after the other, writes out IR where asked for, and turns diagnostics into errors.

#include "compiler/pipelines/CompileModel.h"

#include "compiler/artifact/ArtifactWriter.h"
#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/pipelines/AddSelfTests.h"
#include "compiler/pipelines/AddWorkShapes.h"
#include "compiler/pipelines/CompileOptions.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/pipelines/Registration.h"
#include "compiler/pipelines/SpecializeShapes.h"
#include "compiler/support/OutputFile.h"
#include "compiler/targets/TargetRegistry.h"
#include "dialects/kernel/KernelOps.h"
#include "dialects/nn/Locations.h"
#include "dialects/nn/NnOps.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace heddle;

static constexpr StringRef kPhaseNames[] = {"import", "fusion",  "quantization", "outlining",
                                            "tiling", "codegen", "artifact"};

StringRef heddle::stringifyPhase(Phase phase) { return kPhaseNames[static_cast<unsigned>(phase)]; }
ArrayRef<StringRef> heddle::getPhaseNames() { return kPhaseNames; }

std::optional<Phase> heddle::parsePhase(StringRef name) {
  const auto *it = llvm::find(kPhaseNames, name);
  return it == std::end(kPhaseNames) ? std::nullopt
                                     : std::optional<Phase>(static_cast<Phase>(it - std::begin(kPhaseNames)));
}

LogicalResult heddle::parseTargets(ArrayRef<std::string> specs, std::vector<CompiledTarget> &out, ErrorList &errors) {
  registerAllTargets();
  for (const std::string &spec : specs) {
    llvm::Expected<std::unique_ptr<Target>> target = parseTarget(spec);
    if (!target)
      return errors.add({ErrorCode::H0112, llvm::toString(target.takeError()), "in --target " + spec, ""});
    bool isRepeated =
        llvm::any_of(out, [&](const CompiledTarget &other) { return other.target->getName() == (*target)->getName(); });
    if (!isRepeated)
      out.push_back({std::move(*target), nullptr, {}});
  }
  // The loader takes the first of a device that the device can run, so the most demanding comes first; and CPUs come
  // before other devices, which run only when they are asked for.
  auto rank = [](const CompiledTarget &compiled) {
    StringRef name = compiled.target->getName();
    return std::tuple(name.split(':').first != "cpu", -static_cast<int64_t>(compiled.target->getFeatures().size()),
                      name);
  };
  llvm::sort(out, [&](const CompiledTarget &a, const CompiledTarget &b) { return rank(a) < rank(b); });
  return success();
}

namespace {
/// One run of the compiler.
class ModelCompiler {
public:
  ModelCompiler(const CompileOptions &options, MLIRContext &context, CompiledModel &out, ErrorList &errors)
      : options(options), context(context), out(out), errors(errors) {}

  LogicalResult run();

private:
  LogicalResult runPhase(Phase phase);
  LogicalResult import();
  LogicalResult fuse();
  LogicalResult runPipeline(llvm::function_ref<void(OpPassManager &)> build);
  LogicalResult selectTiles();
  LogicalResult generateCode();
  LogicalResult writeArtifactFile();
  LogicalResult writeIr(StringRef path);
  void printIr(llvm::raw_ostream &os);

  const CompileOptions &options;
  MLIRContext &context;
  CompiledModel &out;
  ErrorList &errors;
};
} // namespace

/// The target's code under the names that the program uses.
static TargetImage makeTargetImage(const CompiledTarget &compiled) {
  ArrayRef<std::string> features = compiled.target->getFeatures();
  return {compiled.target->getName().str(),
          {features.begin(), features.end()},
          compiled.image.bytes,
          compiled.image.addresses,
          compiled.image.modules,
          compiled.image.shaders};
}

/// What an imported op's location means to users.
static LocationText describeLocation(Location location) {
  std::optional<nn::OnnxNode> node = nn::findOnnxNode(location);
  if (!node)
    return {};
  std::string description = "op " + node->type.str() + " (opset " + std::to_string(node->opset) + ")";
  return {node->name.str(), description};
}

LogicalResult ModelCompiler::run() {
  if (failed(parseTargets(options.targets, out.targets, errors)))
    return failure();
  if (failed(checkOptions(options, out.targets, errors)))
    return failure();
  Phase last = options.stopAfter.value_or(Phase::Artifact);
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    Phase phase = static_cast<Phase>(i);
    if (options.progress)
      options.progress(phase, 0, 1);
    if (failed(runPhase(phase)))
      return failure();
    if (!options.dumpFolder.empty() && phase != Phase::Artifact) {
      SmallString<128> path(options.dumpFolder);
      llvm::sys::path::append(path, llvm::Twine(i + 1) + "-" + stringifyPhase(phase) + ".mlir");
      if (failed(writeIr(path)))
        return failure();
    }
  }
  return last == Phase::Artifact ? success() : writeIr(options.outputPath);
}

LogicalResult ModelCompiler::runPhase(Phase phase) {
  if (phase == Phase::Import)
    return import();
  size_t before = errors.getErrors().size();
  // What quantisation refuses are options: patterns that name nothing. Targets refuse kernels as they choose tiles.
  bool refusesOperators = phase == Phase::Outlining || phase == Phase::Tiling;
  ErrorCode code = refusesOperators               ? ErrorCode::H0208
                   : phase == Phase::Fusion       ? ErrorCode::H0209
                   : phase == Phase::Quantization ? ErrorCode::H0111
                                                  : ErrorCode::H0902;
  DiagnosticCapture capture(&context, errors, code, llvm::sys::path::filename(options.modelPath), describeLocation);
  LogicalResult result = success();
  switch (phase) {
  case Phase::Import:
    break;
  case Phase::Fusion:
    result = fuse();
    break;
  case Phase::Quantization:
    setRanges(options.quantization, *out.module);
    result = runPipeline([&](OpPassManager &pm) {
      buildQuantizationPipeline(pm, options.quantization, needsPairSafeWeights(options.quantization, out.targets),
                                whyFloatAttention(options.quantization, out.targets),
                                whyFloatValues(options.quantization, out.targets));
    });
    break;
  case Phase::Outlining:
    result = runPipeline([&](OpPassManager &pm) { buildOutliningPipeline(pm, {options.precision == "bf16"}); });
    // Now, and not once code has been generated for a program that nobody can load.
    if (succeeded(result))
      result = checkLimits(*out.module, llvm::sys::path::filename(options.modelPath), errors);
    break;
  case Phase::Tiling:
    result = selectTiles();
    break;
  case Phase::Codegen:
    result = generateCode();
    break;
  case Phase::Artifact:
    result = writeArtifactFile();
    break;
  }
  if (failed(result) && errors.getErrors().size() == before)
    return errors.add({ErrorCode::H0902, "phase " + stringifyPhase(phase).str() + " failed without a reason", "",
                       "please report it with the model and the command"});
  return result;
}

OwningOpRef<ModuleOp> heddle::importModel(StringRef path, MLIRContext &context, ErrorList &errors) {
  if (!path.ends_with(".mlir"))
    return importOnnx(path, &context, errors);
  DiagnosticCapture capture(&context, errors, ErrorCode::H0512, llvm::sys::path::filename(path), describeLocation);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(path, &context);
  if (module && !module->lookupSymbol<func::FuncOp>("main")) {
    (void)errors.add({ErrorCode::H0512, "'" + path.str() + "' has no function @main", "", ""});
    return nullptr;
  }
  return module;
}

LogicalResult ModelCompiler::import() {
  out.module = importModel(options.modelPath, context, errors);
  if (!out.module)
    return failure();
  auto func = out.module->lookupSymbol<func::FuncOp>("main");
  for (Operation &op : func.getBody().front().without_terminator())
    out.nodeCount += !isa<nn::ConstantOp>(op);
  if (failed(specializeShapes(*out.module, options.shapes, errors)))
    return failure();
  if (options.bucket.empty())
    return success();
  FailureOr<Buckets> buckets = parseBuckets(*out.module, options.bucket, errors);
  if (failed(buckets))
    return failure();
  out.buckets = std::move(*buckets);
  return success();
}

LogicalResult ModelCompiler::fuse() {
  if (failed(runPipeline(options.fuses ? buildFusionPipeline : buildPreparationPipeline)))
    return failure();
  if (out.buckets.sizes.empty())
    return success();
  // Now, so that all entry points have the same attentions and norms, and the report counts them once.
  addBuckets(*out.module, out.buckets);
  return runPipeline(buildPreparationPipeline);
}

LogicalResult ModelCompiler::runPipeline(llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(&context);
  build(pm);
  return pm.run(*out.module);
}

/// Each kernel's name with the place of the first dispatch of it: what is wrong with a kernel is said of that node.
static llvm::StringMap<Location> findFirstDispatches(ModuleOp module) {
  llvm::StringMap<Location> places;
  for (auto entry : module.getOps<rt::FuncOp>())
    for (auto dispatch : entry.getBody().getOps<rt::DispatchOp>())
      places.try_emplace(dispatch.getKernel(), dispatch.getLoc());
  return places;
}

LogicalResult ModelCompiler::selectTiles() {
  llvm::StringMap<Location> places = findFirstDispatches(*out.module);
  for (CompiledTarget &compiled : out.targets) {
    // Each target decides on a copy of its own; the program is shared.
    compiled.kernels = ModuleOp::create(out.module->getLoc());
    for (auto func : out.module->getOps<kernel::FuncOp>()) {
      Operation *copy = func->clone();
      if (auto place = places.find(func.getSymName()); place != places.end())
        copy->walk([&](Operation *op) { op->setLoc(place->second); });
      compiled.kernels->push_back(copy);
    }
    if (compiled.target->seesConstants())
      markConstantInputs(*out.module, *compiled.kernels);
    PassManager pm(&context);
    auto tuned = options.tuned.find(compiled.target->getName().str());
    compiled.target->addSelectionPass(pm, tuned == options.tuned.end() ? nullptr : &tuned->second);
    if (failed(pm.run(*compiled.kernels)))
      return failure();
  }
  if (failed(addWorkShapes(*out.module, out.targets)))
    return failure();
  if (out.targets.size() == 1)
    nameKernels(*out.module, out.targets.front());
  return success();
}

LogicalResult ModelCompiler::generateCode() {
  size_t kernelCount = llvm::range_size(out.module->getOps<kernel::FuncOp>());
  for (auto [i, compiled] : llvm::enumerate(out.targets)) {
    CompileProgress progress = [&, first = i * kernelCount](size_t done, size_t) {
      if (options.progress)
        options.progress(Phase::Codegen, first + done, out.targets.size() * kernelCount);
    };
    FailureOr<KernelImage> image = compiled.target->compileKernels(*compiled.kernels, options.threads, progress);
    if (failed(image))
      return failure();
    compiled.image = std::move(*image);
  }
  addSelfTests(*out.module, out.targets);
  return success();
}

void ModelCompiler::printIr(llvm::raw_ostream &os) {
  // Locations carry the nodes' names: they are what a reader looks for.
  OpPrintingFlags flags;
  out.module->print(os, flags);
  os << "\n";
  for (const CompiledTarget &compiled : out.targets)
    if (compiled.kernels) {
      os << "\n// kernels for " << compiled.target->getName() << "\n";
      compiled.kernels.get()->print(os, flags);
      os << "\n";
    }
}

LogicalResult ModelCompiler::writeIr(StringRef path) {
  if (path.empty())
    return success();
  std::string text;
  llvm::raw_string_ostream os(text);
  printIr(os);
  auto fail = [&](const std::string &reason) {
    return errors.add({ErrorCode::H0519, "can't write '" + path.str() + "': " + reason, "", ""});
  };
  if (StringRef folder = llvm::sys::path::parent_path(path); !folder.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(folder))
      return fail(error.message());
  if (llvm::Error error = writeTextFile(path, text))
    return fail(llvm::toString(std::move(error)));
  return success();
}

LogicalResult ModelCompiler::writeArtifactFile() {
  std::vector<TargetImage> images;
  std::string targets;
  for (CompiledTarget &compiled : out.targets) {
    images.push_back(makeTargetImage(compiled));
    targets += (targets.empty() ? "" : ",") + compiled.target->getName().str();
  }
  ArtifactOptions artifact;
  artifact.model = llvm::sys::path::filename(options.modelPath).str();
  artifact.options.push_back({"target", targets});
  if (!options.shapes.empty())
    artifact.options.push_back({"shape", llvm::join(options.shapes, " ")});
  if (!out.buckets.sizes.empty())
    artifact.options.push_back({"bucket", out.buckets.str()});
  if (options.precision != "f32")
    artifact.options.push_back({"precision", options.precision});
  addQuantizationOptions(options.quantization, out.targets, artifact.options);
  if (!options.fuses)
    artifact.options.push_back({"no-fusion", "true"});
  if (std::string tuning = describeTuning(out.targets); !tuning.empty())
    artifact.options.push_back({"tuning", tuning});
  if (failed(writeArtifact(*out.module, images, artifact, options.outputPath, errors)))
    return failure();
  return success(!llvm::sys::fs::file_size(options.outputPath, out.artifactBytes));
}

LogicalResult heddle::compileModel(const CompileOptions &options, MLIRContext &context, CompiledModel &out,
                                   ErrorList &errors) {
  return ModelCompiler(options, context, out, errors).run();
}
