// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-evaluate LIST [PASSES]: evaluates models for the comparisons with other engines, after a pipeline of passes if
// one is given. Each line of LIST is `MODEL<tab>INPUTS<tab>OUTPUTS`: a model (.onnx, or .mlir with @main), the folder
// that holds its inputs as 0.npy, 1.npy ... in the model's order, and the folder that gets its outputs likewise, or
// error.txt where there are none.

#include <string>

#include "compiler/import/onnx/ImportOnnx.h"
#include "compiler/pipelines/Pipelines.h"
#include "compiler/pipelines/Registration.h"
#include "compiler/reference/Evaluator.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "tests/compiler/reference/npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle::reference {

namespace {

llvm::Expected<OwningOpRef<ModuleOp>> load(StringRef model, MLIRContext &context) {
  OwningOpRef<ModuleOp> module;
  ErrorList errors;
  if (model.ends_with(".mlir"))
    module = parseSourceFile<ModuleOp>(model, ParserConfig(&context));
  else
    module = importOnnx(model, &context, errors);
  if (!module)
    return makeError(errors.empty() ? "cannot parse '" + model.str() + "'" : errors.str());
  return module;
}

llvm::Error runPasses(ModuleOp module, StringRef passes) {
  std::string message;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  PassManager manager(module.getContext());
  if (failed(parsePassPipeline(passes, manager)) || failed(manager.run(module)))
    return makeError("passes: " + message);
  return llvm::Error::success();
}

llvm::Error evaluateModel(StringRef model, const std::string &inputs, const std::string &outputs, StringRef passes) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  llvm::Expected<OwningOpRef<ModuleOp>> module = load(model, context);
  if (!module)
    return module.takeError();
  if (llvm::Error error = runPasses(**module, passes))
    return error;
  llvm::Expected<Evaluator> evaluator = Evaluator::create(**module);
  if (!evaluator)
    return evaluator.takeError();
  llvm::SmallVector<HostTensor> tensors;
  for (unsigned i = 0; i < evaluator->getFunction().getNumArguments(); ++i) {
    llvm::Expected<HostTensor> tensor = readNpy(inputs + "/" + std::to_string(i) + ".npy", &context);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  auto results = evaluator->run(tensors);
  if (!results)
    return results.takeError();
  for (auto [i, tensor] : llvm::enumerate(*results))
    if (llvm::Error error = writeNpy(outputs + "/" + std::to_string(i) + ".npy", tensor))
      return error;
  return llvm::Error::success();
}

int evaluateList(StringRef path, StringRef passes) {
  auto list = llvm::MemoryBuffer::getFile(path);
  if (!list) {
    llvm::errs() << "cannot read '" << path << "': " << list.getError().message() << "\n";
    return 1;
  }
  for (llvm::line_iterator line(**list); !line.is_at_end(); ++line) {
    auto [model, folders] = line->split('\t');
    auto [inputs, outputs] = folders.split('\t');
    if (llvm::Error error = evaluateModel(model, inputs.str(), outputs.str(), passes)) {
      std::error_code code;
      llvm::raw_fd_ostream(outputs.str() + "/error.txt", code) << llvm::toString(std::move(error)) << "\n";
    }
  }
  return 0;
}

} // namespace

} // namespace heddle::reference

int main(int argc, char **argv) {
  if (argc != 2 && argc != 3) {
    llvm::errs() << "usage: heddle-evaluate LIST [PASSES]\n";
    return 2;
  }
  heddle::registerAllPasses();
  heddle::registerAllPipelines();
  return heddle::reference::evaluateList(argv[1], argc == 3 ? argv[2] : "");
}
