// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/driver/CandidateRequest.h"

#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace heddle;

static LogicalResult refuse(StringRef what, const llvm::Twine &reason, ErrorList &errors) {
  return errors.add({ErrorCode::H0111, "expects JSON for the candidates' " + what.str() + ": " + reason.str(), "", ""});
}

static FailureOr<llvm::json::Object> parseObject(const char *text, StringRef what, ErrorList &errors) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed)
    return refuse(what, llvm::toString(parsed.takeError()), errors);
  if (llvm::json::Object *object = parsed->getAsObject())
    return std::move(*object);
  return refuse(what, "got no object", errors);
}

static LogicalResult readSeconds(const llvm::json::Object &object, CandidateOptions &options, ErrorList &errors) {
  for (const auto &[kernel, value] : object) {
    std::optional<double> seconds = value.getAsNumber();
    if (!seconds || !(*seconds >= 0) || !std::isfinite(*seconds))
      return refuse("seconds", "kernel '" + StringRef(kernel) + "' has no time", errors);
    options.seconds[kernel.str()] = *seconds;
  }
  return success();
}

/// Reads numbers under their keys; each must be above 0. Rates come as billions.
static LogicalResult readLimits(const llvm::json::Object &object, DeviceLimits &limits, ErrorList &errors) {
  double threads = limits.threads, shared = limits.sharedBytes, invocations = limits.invocations;
  struct Number {
    StringRef key;
    double &value;
    double unit;
  } numbers[] = {
      {"threads", threads, 1},          {"f32_gflops", limits.flops, 1e9}, {"int8_gops", limits.byteOps, 1e9},
      {"l1_gbs", limits.l1, 1e9},       {"l2_gbs", limits.l2, 1e9},        {"l3_gbs", limits.l3, 1e9},
      {"dram_gbs", limits.memory, 1e9}, {"l1d", limits.l1Bytes, 1},        {"l2", limits.l2Bytes, 1},
      {"l3", limits.l3Bytes, 1},        {"shared_bytes", shared, 1},       {"invocations", invocations, 1}};
  for (const Number &number : numbers)
    if (const llvm::json::Value *value = object.get(number.key)) {
      std::optional<double> given = value->getAsNumber();
      if (!given || !(*given >= 0) || *given > 1e15)
        return refuse("limits", "'" + number.key + "' is no limit", errors);
      // What isn't known is 0, and stays the default.
      if (*given > 0)
        number.value = *given * number.unit;
    }
  limits.threads = std::max<unsigned>(threads, 1);
  limits.sharedBytes = shared;
  limits.invocations = invocations;
  limits.isCpu = object.getInteger("is_cpu").value_or(0) != 0;
  if (const llvm::json::Array *features = object.getArray("features"))
    for (const llvm::json::Value &feature : *features)
      if (std::optional<StringRef> name = feature.getAsString())
        limits.features.push_back(name->str());
  return success();
}

LogicalResult heddle::readCandidateRequest(const heddle_candidate_options_t &request, CandidateOptions &options,
                                           ErrorList &errors) {
  options.shapes.assign(request.shapes, request.shapes + request.shape_count);
  if (request.most_candidates)
    options.mostCandidates = request.most_candidates;
  if (request.most_share > 0)
    options.mostShare = request.most_share;
  for (size_t i = 0; i < request.left_out_count; ++i)
    options.leftOut.push_back({request.left_out[i].signature, request.left_out[i].rows, request.left_out[i].config});
  if (request.on_candidate)
    options.onCandidate = [&request](StringRef signature, StringRef rows, StringRef config) {
      request.on_candidate(request.on_candidate_user, signature.str().c_str(), rows.str().c_str(),
                           config.str().c_str());
    };
  if (request.seconds) {
    FailureOr<llvm::json::Object> seconds = parseObject(request.seconds, "seconds", errors);
    if (failed(seconds) || failed(readSeconds(*seconds, options, errors)))
      return failure();
  }
  if (!request.limits)
    return success();
  FailureOr<llvm::json::Object> limits = parseObject(request.limits, "limits", errors);
  return success(succeeded(limits) && succeeded(readLimits(*limits, options.limits, errors)));
}
