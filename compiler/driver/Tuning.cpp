// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/driver/Tuning.h"

#include "compiler/targets/common/ChooseTuned.h"
#include "compiler/targets/common/KernelSignature.h"
#include "compiler/tuning/MatchTuning.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace heddle;

/// So many damaged lines of a file are named, the others counted.
static constexpr size_t kNamedProblems = 3;

static void noteProblems(const TuningFile &file, std::vector<std::string> &notes) {
  for (const std::string &problem : ArrayRef(file.problems).take_front(kNamedProblems))
    notes.push_back(file.name + ", " + problem + "; left out");
  if (file.problems.size() > kNamedProblems)
    notes.push_back(file.name + ": " + std::to_string(file.problems.size() - kNamedProblems) +
                    " more lines are no entries; left out");
}

static LogicalResult readFiles(const heddle_compile_options_t &request, TuningSources &sources,
                               std::vector<std::string> &notes, ErrorList &errors) {
  for (size_t i = 0; i < request.tuning_count; ++i) {
    bool isUsers = i < request.user_tuning_count;
    TuningFile file;
    ErrorList fileErrors;
    if (failed(readTuningFile(request.tunings[i], file, fileErrors))) {
      // Nobody asked for a file of the user's folder just now.
      if (!isUsers)
        return errors.add(fileErrors.getErrors().front());
      notes.push_back(fileErrors.getErrors().front().message + "; left out");
      continue;
    }
    noteProblems(file, notes);
    sources.userFileCount += isUsers;
    sources.files.push_back(std::move(file));
  }
  return success();
}

LogicalResult heddle::loadTuning(const heddle_compile_options_t &request, ArrayRef<CompiledTarget> targets,
                                 CompileOptions &options, std::vector<std::string> &notes, ErrorList &errors) {
  TuningSources sources;
  if (request.no_tuning || request.tuning_count == 0)
    return success();
  if (failed(readFiles(request, sources, notes, errors)))
    return failure();
  for (size_t i = 0; i < request.device_count; ++i) {
    llvm::Expected<llvm::json::Value> device = llvm::json::parse(request.devices[i]);
    if (device && device->getAsObject())
      sources.devices.push_back(*device->getAsObject());
    else
      llvm::consumeError(device.takeError());
  }
  SmallVector<const Target *> parsed;
  for (const CompiledTarget &compiled : targets) {
    parsed.push_back(compiled.target.get());
    options.tuned[compiled.target->getName().str()] = matchTuning(sources, *compiled.target);
  }
  for (const std::string &name : findForeignFiles(sources, parsed))
    notes.push_back(name + ": its entries are all for other devices than the targets; none is used");
  return success();
}

/// "f32_contract_?x768x768_1f0c93aa, rows 65-256".
static std::string describeEntry(const TunedUse &use) {
  return use.signature + (use.rows == kAnyRows ? "" : ", rows " + use.rows);
}

std::vector<std::string> heddle::describeRejected(ArrayRef<CompiledTarget> targets) {
  std::vector<std::string> lines;
  for (const CompiledTarget &compiled : targets)
    for (const TunedUse &use : compiled.kernels ? getTunedUses(compiled.kernels.get()) : std::vector<TunedUse>())
      if (!use.problem.empty())
        lines.push_back(use.file + ": the config for " + describeEntry(use) + " " + use.problem + "; the table serves");
  return lines;
}

std::string heddle::describeSource(const CompiledTarget &compiled, kernel::FuncOp func) {
  std::string signature = getKernelSignature(func), text;
  bool isWhole = false;
  size_t bucketCount = 0;
  FailureOr<AffineMap> rows = getKernelRows(func);
  bool hasBuckets = succeeded(rows) && *rows && !isa<AffineConstantExpr>(rows->getResult(0));
  for (const TunedUse &use : getTunedUses(compiled.kernels.get())) {
    if (use.signature != signature || !use.problem.empty())
      continue;
    std::string source = use.file + " (" + use.device + ")";
    if (!hasBuckets)
      return source;
    text += (text.empty() ? "" : ", ") + source + " for rows " + use.rows;
    isWhole = ++bucketCount == getRowBuckets().size();
  }
  return text.empty() ? "table" : isWhole ? text : text + ", else table";
}
