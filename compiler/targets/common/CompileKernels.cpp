// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/CompileKernels.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "mlir/IR/Threading.h"

using namespace mlir;

namespace heddle {

LogicalResult compileEachKernel(ModuleOp kernels, unsigned threads, const CompileProgress &progress,
                                llvm::function_ref<LogicalResult(size_t, kernel::FuncOp)> compile) {
  SmallVector<kernel::FuncOp> functions(kernels.getOps<kernel::FuncOp>());
  std::atomic<size_t> next = 0;
  std::atomic<bool> anyFailed = false;
  std::mutex progressMutex;
  size_t done = 0;
  ParallelDiagnosticHandler diagnostics(kernels.getContext());
  auto work = [&] {
    for (size_t i = next++; i < functions.size(); i = next++) {
      diagnostics.setOrderIDForThread(i);
      if (failed(compile(i, functions[i])))
        anyFailed = true;
      diagnostics.eraseOrderIDForThread();
      std::lock_guard<std::mutex> lock(progressMutex);
      ++done;
      if (progress)
        progress(done, functions.size());
    }
  };
  std::vector<std::thread> workers;
  for (unsigned i = 1; i < std::min<size_t>(threads, functions.size()); ++i)
    workers.emplace_back(work);
  work();
  for (std::thread &worker : workers)
    worker.join();
  return failure(anyFailed);
}

} // namespace heddle
