// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search alone. What the kernels are worth in their model only a compiler can tell.

#include "tools/heddle/tune_measure.h"

#include "tools/heddle/model_cache.h"
#include "tools/heddle/tune_groups.h"
#include "tools/heddle/tune_work.h"

#include <cstdio>

namespace heddle::cli {

Exit measureCandidates(const std::string &artifact, const std::string &output, const ExecutionOptions &execution,
                       double seconds) {
  checkCandidates(artifact);
  const std::string device = surveyDevice(execution);
  TuningLines lines = readOutput(output);
  const WorkFolder folder(output);
  std::vector<std::string> remarks;
  TuneJournal journal(folder.file("journal.jsonl"),
                      device + " heddle " + heddle_version() + "; " + fileIdentity(artifact), remarks);
  tell(remarks);
  if (journal.resumedCount() > 0)
    note("going on with " + std::to_string(journal.resumedCount()) + " measurements of an earlier run");
  const InterruptGuard interrupt;
  const std::vector<GroupResult> results = searchGroups({artifact, execution, device, &journal, &interrupt, seconds});
  std::fputs(formatResults(results).c_str(), stdout);
  for (const TuningEntry &entry : entriesOf(results, device))
    lines.add(entry);
  lines.write(output);
  std::printf("%s in %s\n", countLines(lines.size()).c_str(), output.c_str());
  note("the whole model was not compared: compile it with and without --tuning " + output + ", and see heddle bench");
  endSearch(results, interrupt.isInterrupted(), folder);
  return Exit::Fine;
}

} // namespace heddle::cli
