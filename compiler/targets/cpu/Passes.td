// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes of the CPU target, in the order in which they run.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_PASSES_TD
#define HEDDLE_COMPILER_TARGETS_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectLoweringConfigPass : Pass<"cpu-select-lowering-config", "::mlir::ModuleOp"> {
  let summary = "Choose each kernel's tiles and strategies from the target's table";
  let description = [{
    Writes `kernel.config` on every `kernel.func`. The table with the hardware fact behind each number is in
    CpuConfig.cpp. What tuning files have for a kernel takes its place, where CheckConfig.cpp lets it pass; the module's
    `kernel.tuned` then says what became of each.

        kernel.func @product(...) { ... kernel.contract ... }
      ==>
        kernel.func @product(...) attributes {kernel.config = #kernel.lowering_config<{
            branch_masks = 0 : i64, column_vectors = 4 : i64, row_tile = 4 : i64, ...}>} { ... }

    Where configs differ by the number of rows, those of few rows stand in a list `buckets` with `most_rows`.

    Input invariant: each kernel.func holds one structured root.
    Output IR: each kernel.func has a config.
  }];
  let options = [
    Option<"target", "target", "std::string", /*default=*/"\"cpu\"", "Target whose table is used, as for --target">];
  let statistics = [Statistic<"numConfigs", "num-configs", "Kernels that got a config">];
  let dependentDialects = ["::heddle::kernel::KernelDialect"];
}

def ConvertKernelToVectorPass : Pass<"cpu-convert-kernel-to-vector", "::mlir::ModuleOp"> {
  let summary = "Build loops over 16-lane vectors from structured kernels";
  let description = [{
    Replaces every `kernel.func` by a `func.func` of scf, arith, memref and vector ops that runs a range of work items.
    Tensors become flat memrefs, regions are emitted on `vector<16xT>`, tails are masked or have tiles of their own.

        kernel.func @scale(%x: tensor<64xf32>) -> tensor<64xf32> { ... kernel.map ... }
      ==>
        func.func @scale(%x: memref<1xf32> {llvm.noalias}, %y: memref<1xf32> {llvm.noalias}, %begin: index,
                         %end: index, %scratch: memref<1xf32>, %error: memref<3xi64>) -> i32 {
          scf.for %item = %begin to %end ... {
            ... vector.load ... vector.store ...

    A kernel whose config has buckets becomes a function for each config, and one that calls them by its rows.

    The attributes cpu.grid, cpu.grain and cpu.scratch on the function tell how its work is shared out.

    Input invariant: kernel.config on each kernel.func.
    Output IR: no op of the kernel dialect is left.
  }];
  let statistics = [Statistic<"numKernels", "num-kernels", "Kernels converted">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def DecomposeIntrinsicsPass : Pass<"cpu-decompose-intrinsics", "::mlir::ModuleOp"> {
  let summary = "Replace instructions of AVX-512 by arithmetic";
  let description = [{
    For CPUs that lack them: LLVM ends the process at an intrinsic without instruction. The results are the same bits.

        %y = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%x, %n, %zero, %kept, %mode) : ...
      ==>
        %shifted = arith.addf %n, %magic : vector<16xf32>          // its low bits are n
        %power = arith.shli %bits, %c23 : vector<16xi32>
        %sum = arith.addi %x_bits, %power : vector<16xi32>
        ...

    Input invariant: functions over 16-lane vectors.
    Output IR: no call of an intrinsic that this pass knows.
  }];
  let statistics = [Statistic<"numDecomposed", "num-decomposed", "Calls replaced">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def ConvertKernelAbiPass : Pass<"cpu-convert-kernel-abi", "::mlir::ModuleOp"> {
  let summary = "Give each lowered kernel the signature of the kernel ABI";
  let description = [{
    The entry has the signature of executable_abi.h, unpacks the dispatch and calls the body, which becomes internal.
    A function of its own keeps `noalias` on the body's arguments. Functions for some rows only become internal. The
    entry comes first, so that in an image a kernel's code reaches from its entry to the next one's.

        llvm.func @scale(%x: !llvm.ptr {llvm.noalias}, %y: !llvm.ptr {llvm.noalias}, %begin: i64, ...) -> i32
      ==>
        llvm.func @scale(%dispatch: !llvm.ptr, %begin: i64, %end: i64, %scratch: !llvm.ptr) -> i32
        llvm.func internal @scale.body(...) -> i32

    Input invariant: functions are in the LLVM dialect, with bare pointers.
    Output IR: one external function per kernel.
  }];
  let statistics = [Statistic<"numEntries", "num-entries", "Entries added">];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // HEDDLE_COMPILER_TARGETS_CPU_PASSES_TD
