// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opens and calls the compiler library.

#include "tools/heddle/compiler_library.h"

#include "tools/heddle/error.h"
#include "tools/heddle/progress.h"
#include "tools/heddle/text.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace heddle::cli {

static constexpr const char *libraryName = "libheddle-compiler.so";

static std::string executableFolder() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  std::string text(path, length > 0 ? static_cast<size_t>(length) : 0);
  return text.substr(0, text.rfind('/'));
}

static std::vector<std::string> searchPaths() {
  if (const char *path = std::getenv("HEDDLE_COMPILER_LIBRARY"); path && *path)
    return {path};
  std::string folder = executableFolder();
  return {folder + "/" + libraryName, folder + "/../lib/" + libraryName};
}

/// Looks a function up; where it is missing, |error| says so.
template <typename Function>
static void resolve(void *library, const char *name, Function &function, std::string &error) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    error = std::string("it lacks the function ") + name;
}

CompilerLibrary CompilerLibrary::open(std::string &error, bool &isMissing) {
  CompilerLibrary compiler;
  void *library = nullptr;
  std::vector<std::string> paths = searchPaths();
  for (const std::string &path : paths) {
    if (access(path.c_str(), F_OK) != 0)
      continue;
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      error = dlerror();
      return compiler;
    }
    break;
  }
  if (!library) {
    error = "looked for " + join(paths, " and ");
    isMissing = true;
    return compiler;
  }
  decltype(&heddle_compiler_api_version) apiVersion = nullptr;
  resolve(library, "heddle_compiler_api_version", apiVersion, error);
  if (apiVersion && apiVersion() != HEDDLE_COMPILER_API_VERSION)
    error = "it has interface version " + std::to_string(apiVersion()) + ", this command expects " +
            std::to_string(HEDDLE_COMPILER_API_VERSION);
  resolve(library, "heddle_compiler_version", compiler.versionFunction, error);
  resolve(library, "heddle_compiler_compile", compiler.compileFunction, error);
  resolve(library, "heddle_compiler_export_candidates", compiler.exportFunction, error);
  resolve(library, "heddle_compiler_verify", compiler.verifyFunction, error);
  resolve(library, "heddle_compiler_free", compiler.freeFunction, error);
  return compiler;
}

/// The library, opened at the first call, and why that failed.
static std::string openError;
static bool libraryIsMissing = false;

const CompilerLibrary *CompilerLibrary::find() {
  static const CompilerLibrary compiler = open(openError, libraryIsMissing);
  return openError.empty() ? &compiler : nullptr;
}

const CompilerLibrary &CompilerLibrary::load() {
  if (const CompilerLibrary *compiler = find())
    return *compiler;
  fail(Exit::Usage, "H0136",
       libraryIsMissing ? std::string("the compiler is not installed: there is no ") + libraryName
                        : std::string("the compiler's library can't be used"),
       openError, "install the compiler, or compile where it is installed and run the artifact here");
}

/// Takes over what a call has handed out, and throws its error if there is one. Returns the summary.
static std::string take(int code, char *summary, char *error, void (*release)(char *)) {
  std::string summaryText = summary ? summary : "", errorText = error ? error : "";
  release(summary);
  release(error);
  if (code != 0)
    throw CommandError{static_cast<Exit>(code), errorText};
  return summaryText;
}

void CompilerLibrary::compileQuietly(const heddle_compile_options_t &options) const {
  char *summary = nullptr, *error = nullptr;
  const int code = compileFunction(&options, &summary, &error);
  take(code, summary, error, freeFunction);
}

void CompilerLibrary::exportCandidates(const heddle_candidate_options_t &options) const {
  char *summary = nullptr, *error = nullptr;
  const int code = exportFunction(&options, &summary, &error);
  take(code, summary, error, freeFunction);
}

void CompilerLibrary::compile(heddle_compile_options_t options) const {
  char *summary = nullptr, *error = nullptr;
  Progress progress;
  options.progress = [](void *user, const char *phase, size_t done, size_t total) {
    static_cast<Progress *>(user)->update(phase, done, total);
  };
  options.progress_user = &progress;
  int code = compileFunction(&options, &summary, &error);
  progress.finish();
  std::fputs(printable(take(code, summary, error, freeFunction)).c_str(), stderr);
}

bool CompilerLibrary::verify(const heddle_verify_options_t &options) const {
  char *summary = nullptr, *error = nullptr;
  int code = verifyFunction(&options, &summary, &error);
  std::string summaryText = summary ? summary : "", errorText = error ? error : "";
  freeFunction(summary);
  freeFunction(error);
  std::fputs(printable(summaryText).c_str(), stdout);
  if (code > 1)
    throw CommandError{static_cast<Exit>(code), errorText};
  printError(errorText);
  return code == 0;
}

} // namespace heddle::cli
