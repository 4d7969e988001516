// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface of the compiler library: plain structs in, exit codes and texts out.

#include "compiler/driver/heddle_compiler.h"

#include "compiler/driver/CandidateRequest.h"
#include "compiler/driver/Report.h"
#include "compiler/driver/Tuning.h"
#include "compiler/measure/MeasureLoss.h"
#include "compiler/measure/Verify.h"
#include "compiler/pipelines/CompileModel.h"
#include "compiler/pipelines/CompileOptions.h"
#include "compiler/pipelines/Registration.h"
#include "compiler/support/OutputFile.h"
#include "compiler/targets/TargetRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
using namespace heddle;

static void setText(char **out, const std::string &text) {
  if (out)
    *out = strdup(text.c_str());
}

/// A context with everything registered. Diagnostics that no phase captures are bugs and stay visible as such.
static std::unique_ptr<MLIRContext> makeContext(unsigned threads) {
  DialectRegistry registry;
  registerAllDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry, threads > 1 ? MLIRContext::Threading::ENABLED
                                                                     : MLIRContext::Threading::DISABLED);
  // Users see the message and the node; the op is for developers.
  context->printOpOnDiagnostic(false);
  context->loadAllAvailableDialects();
  return context;
}

static unsigned resolveThreads(unsigned requested) {
  return requested ? requested : llvm::hardware_concurrency().compute_thread_count();
}

static LogicalResult readOptions(const heddle_compile_options_t &request, CompileOptions &options, ErrorList &errors) {
  options.modelPath = request.model_path;
  options.outputPath = request.output_path ? request.output_path : "";
  options.dumpFolder = request.dump_phases_to ? request.dump_phases_to : "";
  options.threads = resolveThreads(request.thread_count);
  options.fuses = !request.no_fusion;
  options.bucket = request.bucket ? request.bucket : "";
  options.precision = request.precision ? request.precision : "f32";
  options.quantization.scheme = request.quantize ? request.quantize : "";
  options.quantization.embedding = request.embedding ? request.embedding : "int8";
  options.quantization.exclude.assign(request.excludes, request.excludes + request.exclude_count);
  options.quantization.allowsPairSafe = !request.no_pair_safe;
  options.quantization.attention = request.attention_int8 ? request.attention_int8 : "auto";
  options.shapes.assign(request.shapes, request.shapes + request.shape_count);
  if (request.targets) {
    SmallVector<StringRef> specs;
    StringRef(request.targets).split(specs, ',');
    options.targets.assign(specs.begin(), specs.end());
  }
  if (!request.compile_to)
    return success();
  options.stopAfter = parsePhase(request.compile_to);
  if (options.stopAfter)
    return success();
  return errors.add(
      {ErrorCode::H0111,
       "no phase is named '" + std::string(request.compile_to) + "'" + didYouMean(request.compile_to, getPhaseNames()),
       "in --compile-to " + std::string(request.compile_to), "phases are " + llvm::join(getPhaseNames(), ", ")});
}

/// The line that says what was chosen.
static std::string describeChoice(const CompileOptions &options, ArrayRef<CompiledTarget> targets) {
  std::string text = "target ";
  for (auto [i, compiled] : llvm::enumerate(targets))
    text += (i ? ", " : "") + compiled.target->getName().str() + " (" + compiled.target->getSummary() + ")";
  return text + ", " + std::to_string(options.threads) + (options.threads == 1 ? " thread" : " threads");
}

static LogicalResult writeReport(StringRef path, const CompileReport &report, ErrorList &errors) {
  if (llvm::Error error = writeTextFile(path, path.ends_with(".html") ? formatHtml(report) : formatJson(report)))
    return errors.add(
        {ErrorCode::H0519, "can't write '" + path.str() + "': " + llvm::toString(std::move(error)), "", ""});
  return success();
}

/// Calibration data as the command hands them out.
static std::function<FailureOr<bool>(size_t, CalibrationSample &)>
makeSampleSource(const heddle_compile_options_t &request) {
  if (!request.samples)
    return nullptr;
  return [&request](size_t index, CalibrationSample &sample) -> FailureOr<bool> {
    heddle_compiler_sample_t given = {};
    int result = request.samples(request.samples_user, index, &given);
    if (result < 0)
      return failure();
    sample.name = given.name ? given.name : "";
    for (size_t i = 0; i < given.tensor_count; ++i) {
      const heddle_compiler_tensor_t &tensor = given.tensors[i];
      sample.inputs.push_back({tensor.name, tensor.type, {tensor.dims, tensor.dims + tensor.rank}, tensor.data});
    }
    return result > 0;
  };
}

/// Measures what quantisation costs, where it is asked for. A search adds what must stay float to |options|.
static LogicalResult measure(const heddle_compile_options_t &request, CompileOptions &options, MLIRContext &context,
                             QuantizationReport &report, ErrorList &errors) {
  report.scheme = options.quantization.scheme;
  bool writesArtifact = !options.stopAfter || *options.stopAfter == Phase::Artifact;
  bool isSearch = request.max_loss > 0;
  // Attention alone is measured where its values have scales to find.
  bool hasLoss = !report.scheme.empty() || (options.quantization.attention == "on" && request.samples);
  if (!hasLoss || (!isSearch && (request.no_measure || !writesArtifact))) {
    report.notMeasured = "not asked for";
    return success();
  }
  if (request.progress)
    request.progress(request.progress_user, "measuring what quantisation costs", 0, 0);
  LossOptions lossOptions{options, std::nullopt, makeSampleSource(request)};
  if (isSearch)
    lossOptions.maxLoss = request.max_loss;
  QuantizationLoss loss;
  ErrorList lossErrors;
  if (failed(measureLoss(lossOptions, context, loss, lossErrors))) {
    // Not everything runs on generated inputs; whoever gave data or a bound must hear of it.
    if (isSearch || request.samples) {
      for (const Error &error : lossErrors.getErrors())
        (void)errors.add(error);
      return failure();
    }
    report.notMeasured = lossErrors.empty() ? "no inputs could be made" : lossErrors.getErrors().front().message;
    return success();
  }
  llvm::append_range(options.quantization.exclude, loss.exclude);
  options.quantization.channelRanges = loss.channelRanges;
  options.quantization.isAttentionMeasured = true;
  options.quantization.lossyAttention = loss.lossyAttention;
  options.quantization.lossyValues = loss.lossyValues;
  options.quantization.valueRanges = loss.valueRanges;
  options.quantization.keyOffsets = loss.keyOffsets;
  options.quantization.sampleCount = loss.sampleCount;
  report.loss = std::move(loss);
  return success();
}

/// Shows whoever listens a line.
static void tell(const heddle_compile_options_t &request, const std::string &line) {
  if (request.progress)
    request.progress(request.progress_user, line.c_str(), 0, 0);
}

/// What |request| asks for, checked, and whoever listens told what was chosen.
static LogicalResult prepare(const heddle_compile_options_t &request, CompileOptions &options, ErrorList &errors) {
  std::vector<CompiledTarget> targets;
  std::vector<std::string> notes;
  if (failed(readOptions(request, options, errors)) || failed(parseTargets(options.targets, targets, errors)) ||
      failed(loadTuning(request, targets, options, notes, errors)))
    return failure();
  tell(request, describeChoice(options, targets));
  for (const std::string &note : notes)
    tell(request, note);
  if (request.progress)
    options.progress = [&](Phase phase, size_t done, size_t total) {
      request.progress(request.progress_user, stringifyPhase(phase).str().c_str(), done, total);
    };
  return checkOptions(options, targets, errors);
}

static LogicalResult compile(const heddle_compile_options_t &request, std::string &summary, ErrorList &errors) {
  CompileOptions options;
  if (failed(prepare(request, options, errors)))
    return failure();
  std::unique_ptr<MLIRContext> context = makeContext(options.threads);
  CompiledModel compiled;
  QuantizationReport quantization;
  if (failed(measure(request, options, *context, quantization, errors)))
    return failure();
  if (failed(compileModel(options, *context, compiled, errors)))
    return failure();
  for (const std::string &line : describeRejected(compiled.targets))
    tell(request, line);
  if (options.stopAfter && *options.stopAfter != Phase::Artifact && !request.report_path)
    return success();
  CompileReport report = makeReport(compiled, llvm::sys::path::filename(options.modelPath), std::move(quantization));
  summary = formatSummary(report);
  return request.report_path ? writeReport(request.report_path, report, errors) : success();
}

static LogicalResult exportCandidates(const heddle_candidate_options_t &request, std::string &summary,
                                      ErrorList &errors) {
  CandidateOptions options;
  if (failed(prepare(*request.compile, options.compile, errors)) ||
      failed(readCandidateRequest(request, options, errors)))
    return failure();
  std::unique_ptr<MLIRContext> context = makeContext(options.compile.threads);
  QuantizationReport quantization;
  if (failed(measure(*request.compile, options.compile, *context, quantization, errors)))
    return failure();
  return heddle::exportCandidates(options, *context, summary, errors);
}

/// Hands out the result of a call.
static int finish(LogicalResult result, const std::string &summary, const ErrorList &errors, int failureCode,
                  char **outSummary, char **outError) {
  setText(outSummary, summary);
  setText(outError, errors.str());
  if (succeeded(result))
    return 0;
  return errors.empty() ? failureCode : errors.exitCode();
}

extern "C" {

int heddle_compiler_api_version(void) { return HEDDLE_COMPILER_API_VERSION; }

const char *heddle_compiler_version(void) { return "LLVM " LLVM_VERSION_STRING; }

int heddle_compiler_compile(const heddle_compile_options_t *options, char **out_summary, char **out_error) {
  ErrorList errors;
  std::string summary;
  LogicalResult result = compile(*options, summary, errors);
  return finish(result, summary, errors, /*failureCode=*/70, out_summary, out_error);
}

int heddle_compiler_verify(const heddle_verify_options_t *options, char **out_summary, char **out_error) {
  ErrorList errors;
  std::string summary;
  std::unique_ptr<MLIRContext> context = makeContext(1);
  VerifyOptions verifyOptions;
  verifyOptions.artifactPath = options->artifact_path;
  verifyOptions.modelPath = options->model_path;
  verifyOptions.tolerance = options->tolerance;
  verifyOptions.threads = resolveThreads(options->thread_count);
  verifyOptions.device = options->device ? options->device : "";
  for (size_t i = 0; i < options->input_count; ++i) {
    const heddle_compiler_tensor_t &tensor = options->inputs[i];
    verifyOptions.inputs.push_back({tensor.name, tensor.type, {tensor.dims, tensor.dims + tensor.rank}, tensor.data});
  }
  LogicalResult result = verify(verifyOptions, *context, summary, errors);
  // Without an error of its own a failure means that results differ.
  return finish(result, summary, errors, /*failureCode=*/1, out_summary, out_error);
}

int heddle_compiler_export_candidates(const heddle_candidate_options_t *options, char **out_summary, char **out_error) {
  ErrorList errors;
  std::string summary;
  LogicalResult result = exportCandidates(*options, summary, errors);
  return finish(result, summary, errors, /*failureCode=*/70, out_summary, out_error);
}

void heddle_compiler_free(char *text) { std::free(text); }

} // extern "C"
