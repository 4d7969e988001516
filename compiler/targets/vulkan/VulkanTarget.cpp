// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From kernels with configs to SPIR-V modules.

#include "compiler/targets/vulkan/VulkanTarget.h"

#include "compiler/targets/common/CompileKernels.h"
#include "compiler/targets/common/ExpandMath.h"
#include "compiler/targets/common/KernelName.h"
#include "compiler/targets/common/SplitDoubles.h"
#include "compiler/targets/vulkan/CompileShader.h"
#include "compiler/targets/vulkan/ConfigSpace.h"
#include "compiler/targets/vulkan/Generators.h"
#include "compiler/targets/vulkan/Passes.h"
#include "compiler/targets/vulkan/TunedVariants.h"
#include "compiler/targets/vulkan/VulkanConfig.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace heddle::vulkan {

llvm::Expected<std::unique_ptr<Target>> VulkanTarget::parse(StringRef variant) {
  if (!variant.empty())
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   "target 'vulkan' has no variants, got 'vulkan:" + variant.str() +
                                       "'; one artifact serves every device with Vulkan 1.1");
  return std::make_unique<VulkanTarget>();
}

void VulkanTarget::addSelectionPass(OpPassManager &pm, const TunedConfigs *tuned) const {
  pm.addPass(createSelectLoweringConfigPass(tuned));
}

std::string VulkanTarget::checkConfig(kernel::FuncOp func, DictionaryAttr config) const {
  return checkVariant(func, config, chooseVariants(func));
}

FailureOr<WorkShape> VulkanTarget::getWorkShape(kernel::FuncOp func) const {
  FailureOr<ShaderPlan> plan = ShaderPlan::create(func);
  if (failed(plan))
    return failure();
  auto map = [&](AffineExpr expr) { return AffineMap::get(0, func.getNumSizes(), expr); };
  auto constant = [&](int64_t value) { return map(plan->constantExpr(value)); };
  WorkShape shape = {map(plan->extents[kX] * plan->extents[kY] * plan->extents[kZ]), constant(1), constant(0)};
  for (AffineExpr extent : plan->extents)
    shape.axes.push_back(map(extent));
  for (const auto &steps : plan->strides)
    for (AffineExpr step : steps)
      shape.axes.push_back(map(step));
  return shape;
}

std::vector<ConfigCandidate> VulkanTarget::enumerateConfigs(kernel::FuncOp func, ArrayRef<int64_t> sizes,
                                                            const DeviceLimits &limits) const {
  return vulkan::enumerateConfigs(func, sizes, limits);
}

std::string VulkanTarget::getKernelName(kernel::FuncOp func) const {
  auto config = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  auto variants = config.getEntries().getAs<ArrayAttr>(kVariantsKey);
  Variant best = Variant::fromAttr(cast<DictionaryAttr>(*variants.begin()));
  std::string tile = llvm::formatv("{0}x{1}", best.tile[kY], best.tile[kX]);
  StringRef root = func.getRoot()->getName().stripDialect();
  return llvm::formatv("{0}_{1}_{2}__vulkan_{3}", getTypeWord(func), root, tile,
                       llvm::format_hex_no_prefix(hashKernel(func, "vulkan"), 8));
}

FailureOr<std::vector<ShaderText>> printShaders(kernel::FuncOp func) {
  OwningOpRef<kernel::FuncOp> copy(cast<kernel::FuncOp>(func->clone()));
  if (func.getRoot())
    roundCodeDivisions(*copy);
  if (func.getRoot() && (failed(splitRegionDoubles(*copy)) || failed(expandRegionMath(*copy))))
    return failure();
  FailureOr<ShaderPlan> plan = ShaderPlan::create(*copy);
  if (failed(plan))
    return failure();
  std::vector<ShaderText> texts;
  for (const Variant &variant : plan->variants) {
    if (llvm::any_of(texts, [&](const ShaderText &text) { return text.form == variant.form; }))
      continue;
    ShaderEmitter emitter(*plan);
    if (failed(findGenerator(plan->root)->emit(emitter, variant.form)))
      return failure();
    if (plan->hasLongLoops)
      emitter.failIfLoopsEnded();
    texts.push_back({variant.form, emitter.finish()});
  }
  return texts;
}

namespace {
/// The modules of one kernel, one for each form, and what its shader says of them.
struct KernelModules {
  std::vector<std::vector<uint32_t>> modules;
  Shader shader;
};
} // namespace

static std::array<uint32_t, 3> narrow(const std::array<int64_t, 3> &numbers) {
  return {static_cast<uint32_t>(numbers[0]), static_cast<uint32_t>(numbers[1]), static_cast<uint32_t>(numbers[2])};
}

static FailureOr<KernelModules> compileKernel(kernel::FuncOp func) {
  FailureOr<ShaderPlan> plan = ShaderPlan::create(func);
  if (failed(plan))
    return failure();
  FailureOr<std::vector<ShaderText>> texts = printShaders(func);
  if (failed(texts))
    return failure();
  KernelModules result;
  for (const ShaderText &text : *texts) {
    llvm::Expected<std::vector<uint32_t>> words = compileShader(text.glsl);
    if (!words)
      return func.emitError() << "is a bug in Heddle: in form '" << text.form
                              << "' its shader is wrong: " << llvm::toString(words.takeError());
    result.modules.push_back(std::move(*words));
  }
  for (const Variant &variant : plan->variants) {
    auto text = llvm::find_if(*texts, [&](const ShaderText &text) { return text.form == variant.form; });
    auto module = static_cast<uint32_t>(text - texts->begin());
    result.shader.variants.push_back({variant.features,
                                      module,
                                      narrow(variant.workgroup),
                                      {variant.constants.begin(), variant.constants.end()},
                                      narrow(variant.tile),
                                      narrow(variant.most),
                                      static_cast<uint32_t>(variant.sharedBytes)});
  }
  result.shader.canFail = plan->canFail;
  if (plan->slicedTable)
    result.shader.table = {plan->slicedTable->operand, static_cast<uint32_t>(plan->slicedTable->rowBytes)};
  for (unsigned i = 0; i < plan->getNumOperands(); ++i)
    result.shader.operands.push_back({plan->getOperandType(i).getElementType(), plan->operandBindings[i]});
  return result;
}

/// All modules one after the other.
static KernelImage joinModules(std::vector<KernelModules> &kernels) {
  KernelImage image;
  for (KernelModules &kernel : kernels) {
    uint32_t first = image.modules.size();
    for (const std::vector<uint32_t> &words : kernel.modules) {
      const auto *bytes = reinterpret_cast<const char *>(words.data());
      image.modules.push_back({image.bytes.size(), words.size() * sizeof(uint32_t)});
      image.bytes.insert(image.bytes.end(), bytes, bytes + words.size() * sizeof(uint32_t));
    }
    for (ShaderVariant &variant : kernel.shader.variants)
      variant.module += first;
    image.shaders.push_back(std::move(kernel.shader));
  }
  return image;
}

FailureOr<KernelImage> VulkanTarget::compileKernels(ModuleOp kernels, unsigned threads,
                                                    const CompileProgress &progress) const {
  std::vector<KernelModules> compiled(llvm::range_size(kernels.getOps<kernel::FuncOp>()));
  auto compile = [&](size_t i, kernel::FuncOp func) -> LogicalResult {
    FailureOr<KernelModules> modules = compileKernel(func);
    if (failed(modules))
      return failure();
    compiled[i] = std::move(*modules);
    return success();
  };
  if (failed(compileEachKernel(kernels, threads, progress, compile)))
    return failure();
  return joinModules(compiled);
}

void registerVulkanTarget() { registerTarget("vulkan", &VulkanTarget::parse); }

} // namespace heddle::vulkan
