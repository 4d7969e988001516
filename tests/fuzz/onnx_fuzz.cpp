// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer harness of the importer and of what follows: shapes, folding, fusion, outlining, and for some models code.
// Whatever the bytes are, the compiler answers with errors of its codes or with a program.

#include "compiler/pipelines/CompileModel.h"
#include "compiler/pipelines/Registration.h"
#include "mlir/IR/MLIRContext.h"
#include "tests/fuzz/wire_mutator.h"
#include "llvm/Support/xxhash.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace heddle;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

/// A context serves many models, but keeps every type and attribute that it has seen.
constexpr unsigned kModelsPerContext = 2000;
/// Of the models that become kernels one in so many becomes code too.
constexpr unsigned kModelsPerCode = 32;

mlir::MLIRContext &getContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (uses++ % kModelsPerContext != 0)
    return *context;
  mlir::DialectRegistry registry;
  registerAllDialects(registry);
  context = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context->printOpOnDiagnostic(false);
  context->loadAllAvailableDialects();
  return *context;
}

} // namespace

/// Compiles the model at |path| up to |last|; returns whether that worked. A failure has a reason, and a bug of ours is
/// none of them.
static bool compile(const std::string &path, Phase last) {
  CompileOptions options;
  options.modelPath = path;
  options.stopAfter = last;
  CompiledModel compiled;
  ErrorList errors;
  if (mlir::succeeded(compileModel(options, getContext(), compiled, errors)))
    return true;
  if (errors.empty() || errors.exitCode() == 70) {
    std::fprintf(stderr, "%s\n", errors.empty() ? "failed without an error" : errors.str().c_str());
    std::abort();
  }
  return false;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const int descriptor = memfd_create("model", 0);
  if (descriptor < 0 || ::write(descriptor, data, size) != static_cast<ssize_t>(size))
    std::abort(); // the harness itself can't work
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  // Code generation takes longer than all the rest: one model in so many, told by its bytes, so that it repeats.
  if (compile(path, Phase::Outlining) && llvm::xxh3_64bits({data, size}) % kModelsPerCode == 0)
    compile(path, Phase::Codegen);
  ::close(descriptor);
  return 0;
}

/// One mutation of three is libFuzzer's own; the others keep the messages whole.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  using namespace heddle::test;
  std::minstd_rand random(seed);
  std::vector<wire_field> fields;
  if (random() % 3 == 0 || !parse_wire({reinterpret_cast<const char *>(data), size}, &fields))
    return LLVMFuzzerMutate(data, size, maxSize);
  mutate_wire(&fields, random);
  const std::string bytes = print_wire(fields);
  if (bytes.empty() || bytes.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
