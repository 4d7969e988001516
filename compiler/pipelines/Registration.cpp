// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The registration lines. Upstream dialects are named one by one: InitAllDialects costs half a minute of compile time.

#include "compiler/pipelines/Registration.h"

#include <mutex>

#include "compiler/targets/cpu/CpuTarget.h"
#include "compiler/targets/cpu/Passes.h"
#include "compiler/targets/vulkan/Passes.h"
#include "compiler/targets/vulkan/VulkanTarget.h"
#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/outlining/Passes.h"
#include "compiler/transforms/quantization/Passes.h"
#include "compiler/transforms/shapes/Passes.h"
#include "dialects/attn/AttnDialect.h"
#include "dialects/kernel/KernelDialect.h"
#include "dialects/nn/NnDialect.h"
#include "dialects/rt/RtDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/Transforms/Passes.h"

void heddle::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<nn::NnDialect, attn::AttnDialect, kernel::KernelDialect, rt::RtDialect>();
  registry.insert<mlir::LLVM::LLVMDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect, mlir::memref::MemRefDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
}

void heddle::registerAllPasses() {
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  nn::registerFusionPasses();
  nn::registerShapesPasses();
  nn::registerOutliningPasses();
  nn::registerQuantizationPasses();
  cpu::registerCpuPasses();
  cpu::registerCodegenPipeline();
  vulkan::registerVulkanPasses();
}

void heddle::registerAllTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    cpu::registerCpuTarget();
    vulkan::registerVulkanTarget();
  });
}
