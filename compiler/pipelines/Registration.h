// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every dialect and pass of the compiler, registered in one place: a room adds its line here.

#ifndef HEDDLE_COMPILER_PIPELINES_REGISTRATION_H
#define HEDDLE_COMPILER_PIPELINES_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace heddle {

/// Adds our dialects and the upstream ones that they lower to.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers our passes, and the upstream ones that tests run, with the pass manager's command line.
void registerAllPasses();

/// Makes all targets known to the target registry. May be called again, from any thread.
void registerAllTargets();

} // namespace heddle

#endif // HEDDLE_COMPILER_PIPELINES_REGISTRATION_H
