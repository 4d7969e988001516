// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler, where it is installed: libheddle-compiler.so, opened at run time, so that this command also serves on
// devices that have no LLVM.

#pragma once

#include "compiler/driver/heddle_compiler.h"

#include <string>

namespace heddle::cli {

/// The opened library; it stays open until the process ends.
class CompilerLibrary {
public:
  /// Looks in HEDDLE_COMPILER_LIBRARY, beside the executable and in ../lib. Throws a message that names the places.
  static const CompilerLibrary &load();

  /// The same, but null where there is none.
  static const CompilerLibrary *find();

  const char *version() const { return versionFunction(); }

  /// Compiles; shows progress and the summary on standard error. Throws what the compiler reports.
  void compile(heddle_compile_options_t options) const;

  /// The same, but shows nothing.
  void compileQuietly(const heddle_compile_options_t &options) const;

  /// Writes an artifact for measurements. Throws what the compiler reports.
  void exportCandidates(const heddle_candidate_options_t &options) const;

  /// Verifies; prints the table to standard output. Returns false if results differ, throws for anything else.
  bool verify(const heddle_verify_options_t &options) const;

private:
  CompilerLibrary() = default;
  static CompilerLibrary open(std::string &error, bool &isMissing);

  decltype(&heddle_compiler_version) versionFunction = nullptr;
  decltype(&heddle_compiler_compile) compileFunction = nullptr;
  decltype(&heddle_compiler_export_candidates) exportFunction = nullptr;
  decltype(&heddle_compiler_verify) verifyFunction = nullptr;
  decltype(&heddle_compiler_free) freeFunction = nullptr;
};

} // namespace heddle::cli
