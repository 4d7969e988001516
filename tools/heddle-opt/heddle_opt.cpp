// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle-opt: runs any pass of the compiler on a file of IR, for tests and developers.

#include "compiler/pipelines/Pipelines.h"
#include "compiler/pipelines/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  heddle::registerAllDialects(registry);
  heddle::registerAllPasses();
  heddle::registerAllPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Heddle's optimizer driver\n", registry));
}
