// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the outlining phase.

#ifndef HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PASSES_TD
#define HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineKernelsPass : Pass<"nn-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Group the ops of the entry point into kernels and write the program that dispatches them";
  let description = [{
    Each matrix product, row-wise op and reduction becomes the root of a kernel; the element-wise ops that lead away
    from it become its epilogue, the ones that lead to it are computed where they are read, unless that would cost
    more than storing them. Transposes, slices, broadcasts and reshapes become index maps. Sizes become shape
    arithmetic, constants weights with a recipe. Equal kernels are one function and equal constants one, over all
    entry points.

        func.func @main(%x: tensor<?x384xf32> {nn.name = "x", nn.dims = ["rows", 384]})
            -> (tensor<?x384xf32> {nn.name = "y", nn.dims = ["rows", 384]}) {
          %b = nn.constant dense<1.0> : tensor<384xf32>
          %y = nn.binary add %x, %b : (tensor<?x384xf32>, tensor<384xf32>) -> tensor<?x384xf32>
          return %y : tensor<?x384xf32>
        }
      ==>
        rt.func @main attributes {inputs = [ {dims = ["rows", 384], name = "x", type = f32} ], ...} {
          %sizes:4 = rt.shape_func { ... }
          %x = rt.input 0
          %y = rt.output 0 sizes(%sizes#0, %sizes#1)
          rt.dispatch @f32_map_1f0c93aa ins(%x) outs(%y) sizes(%sizes#0) ...
        }
        kernel.func @f32_map_1f0c93aa(%x: tensor<?x384xf32>, %rows: index) -> tensor<?x384xf32> { ... kernel.map ... }

    Input invariant: a func.func of nn ops per entry point, whose shapes the analysis knows.
    Output IR: rt.func, rt.constant and kernel.func; no op of nn is left.
    Every op without a kernel is an error that names its node; all such ops are reported before anything is changed.
  }];
  let options = [
    Option<"bf16Weights", "bf16-weights", "bool", /*default=*/"false",
           "Store the constant right sides of f32 matrix products as bf16, for targets that multiply them">];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Different kernels made">,
    Statistic<"numDispatches", "num-dispatches", "Dispatches of kernels">
  ];
  let dependentDialects = ["::heddle::kernel::KernelDialect", "::heddle::rt::RtDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

#endif // HEDDLE_COMPILER_TRANSFORMS_OUTLINING_PASSES_TD
