// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vector loops to object code, one module, one LLVMContext and one thread at a time per kernel; then one link.

#include "compiler/targets/cpu/CpuCodegen.h"

#include <mutex>

#include "compiler/targets/common/CompileKernels.h"
#include "compiler/targets/cpu/LinkImage.h"
#include "compiler/targets/cpu/Passes.h"
#include "dialects/kernel/KernelOps.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;

namespace heddle::cpu {

static constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";

//===----------------------------------------------------------------------===//
// Pipeline
//===----------------------------------------------------------------------===//

void buildCodegenPipeline(OpPassManager &pm, bool hasAvx512) {
  pm.addPass(createConvertKernelToVectorPass());
  if (!hasAvx512)
    pm.addPass(createDecomposeIntrinsicsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Divisions that round up or down have no instruction.
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  // Strided metadata becomes affine arithmetic, and both must be gone before memref is. Before the branches of cf:
  // this pass also erases unreachable blocks, and never ends where such blocks form a loop (MLIR 19).
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertSCFToCFPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  ConvertFuncToLLVMPassOptions functions;
  functions.useBarePtrCallConv = true;
  pm.addPass(createConvertFuncToLLVMPass(functions));
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  // The entry loads from the dispatch by address, which only the LLVM dialect has words for.
  pm.addPass(createConvertKernelAbiPass());
}

void registerCodegenPipeline() {
  struct Options : PassPipelineOptions<Options> {
    Option<bool> hasAvx512{*this, "avx512", llvm::cl::desc("use instructions of AVX-512"), llvm::cl::init(false)};
  };
  PassPipelineRegistration<Options>(
      "heddle-cpu-codegen-pipeline", "Lower kernels with configs to the LLVM dialect",
      [](OpPassManager &pm, const Options &options) { buildCodegenPipeline(pm, options.hasAvx512); });
}

//===----------------------------------------------------------------------===//
// One kernel
//===----------------------------------------------------------------------===//

static LogicalResult checkOnlyLLVM(ModuleOp module) {
  WalkResult result = module.walk([&](Operation *op) {
    if (isa<ModuleOp>(op) || isa_and_nonnull<LLVM::LLVMDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitError() << "is a bug in Heddle: op " << op->getName() << " has no machine code on this target";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const CpuTarget &target) {
  std::string message;
  const llvm::Target *backend = llvm::TargetRegistry::lookupTarget(kTriple.str(), message);
  if (!backend)
    return nullptr;
  llvm::TargetOptions options;
  // The order of operations is part of a kernel's meaning: products and sums are joined by fma ops alone.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The base CPU has no features of its own, so the code uses those of the target's list and nothing else.
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(kTriple, "x86-64", target.getFeatureString(),
                                                                           options, llvm::Reloc::PIC_, std::nullopt,
                                                                           llvm::CodeGenOptLevel::Aggressive));
}

static void setFunctionAttributes(llvm::Module &module, const CpuTarget &target) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", "x86-64");
    function.addFnAttr("target-features", target.getFeatureString());
    function.addFnAttr("tune-cpu", target.getTuneCpu());
    function.addFnAttr("frame-pointer", "all");
    function.addFnAttr("no-builtins");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.setUWTableKind(llvm::UWTableKind::Async);
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  // Kernels are vectors already.
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

FailureOr<std::vector<char>> emitCode(ModuleOp module, const CpuTarget &target, CodeKind kind) {
  if (failed(checkOnlyLLVM(module)))
    return failure();
  initializeTargets();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context, "kernel");
  if (!machine || !code)
    return module.emitError("is a bug in Heddle: this LLVM can't make x86-64 code of a kernel");
  code->setTargetTriple(kTriple);
  code->setDataLayout(machine->createDataLayout());
  code->setPICLevel(llvm::PICLevel::BigPIC);
  code->setUwtable(llvm::UWTableKind::Async);
  setFunctionAttributes(*code, target);
  optimize(*code, *machine);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  auto fileType = kind == CodeKind::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, fileType))
    return module.emitError("is a bug in Heddle: this LLVM can't write x86-64 code");
  passes.run(*code);
  return std::vector<char>(bytes.begin(), bytes.end());
}

static FailureOr<KernelObject> compileKernel(kernel::FuncOp func, const CpuTarget &target) {
  OwningOpRef<ModuleOp> module(ModuleOp::create(func.getLoc()));
  module->push_back(func->clone());
  PassManager pm(func.getContext());
  buildCodegenPipeline(pm, target.hasFeature("avx512f"));
  if (failed(pm.run(*module)))
    return failure();
  FailureOr<std::vector<char>> bytes = emitCode(*module, target, CodeKind::Object);
  if (failed(bytes))
    return failure();
  KernelObject object{func.getName().str(), std::move(*bytes)};
  llvm::Expected<std::vector<std::string>> undefined = findUndefinedSymbols(object);
  if (!undefined)
    return func.emitError() << "can't be read as an object file: " << llvm::toString(undefined.takeError());
  // The offset table isn't a call; position-independent code of ours never needs one, and the link says so.
  llvm::erase(*undefined, "_GLOBAL_OFFSET_TABLE_");
  if (!undefined->empty())
    return func.emitError() << "is a bug in Heddle: its code calls " << llvm::join(*undefined, ", ");
  return object;
}

//===----------------------------------------------------------------------===//
// All kernels
//===----------------------------------------------------------------------===//

/// Loads what passes and translations need while only one thread runs: a context can't take dialects later.
static LogicalResult prepareContext(MLIRContext *context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<LLVM::LLVMDialect>();
  OwningOpRef<ModuleOp> empty(ModuleOp::create(UnknownLoc::get(context)));
  PassManager pm(context);
  buildCodegenPipeline(pm, /*hasAvx512=*/false);
  return pm.run(*empty);
}

FailureOr<KernelImage> compileKernels(ModuleOp kernels, const CpuTarget &target, unsigned threads,
                                      const CompileProgress &progress) {
  if (failed(prepareContext(kernels.getContext())))
    return failure();
  std::vector<KernelObject> objects(llvm::range_size(kernels.getOps<kernel::FuncOp>()));
  auto compile = [&](size_t i, kernel::FuncOp func) -> LogicalResult {
    FailureOr<KernelObject> object = compileKernel(func, target);
    if (failed(object))
      return failure();
    objects[i] = std::move(*object);
    return success();
  };
  if (failed(compileEachKernel(kernels, threads, progress, compile)))
    return failure();
  // A program that only moves its inputs has no kernel, and the linker wants a file all the same.
  if (objects.empty()) {
    OwningOpRef<ModuleOp> nothing(ModuleOp::create(kernels.getLoc()));
    FailureOr<std::vector<char>> bytes = emitCode(*nothing, target, CodeKind::Object);
    if (failed(bytes))
      return failure();
    objects.push_back({"", std::move(*bytes)});
  }
  llvm::Expected<KernelImage> image = linkImage(objects);
  if (!image)
    return kernels.emitError() << llvm::toString(image.takeError());
  return std::move(*image);
}

} // namespace heddle::cpu
