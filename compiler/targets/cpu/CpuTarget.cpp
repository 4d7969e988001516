// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU names, features and kernel names.

#include "compiler/targets/cpu/CpuTarget.h"

#include "compiler/targets/common/KernelName.h"
#include "compiler/targets/cpu/CheckConfig.h"
#include "compiler/targets/cpu/ConfigBuckets.h"
#include "compiler/targets/cpu/ConfigSpace.h"
#include "compiler/targets/cpu/CpuCodegen.h"
#include "compiler/targets/cpu/Passes.h"
#include "dialects/kernel/KernelOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;

namespace heddle::cpu {

/// What kernels may use of a CPU. Nothing else of a CPU model is recorded, so that a virtual machine that hides, say,
/// a power management instruction still runs the code.
static constexpr llvm::StringLiteral kUsedFeatures[] = {
    "sse3",       "ssse3",       "sse4.1",     "sse4.2",       "popcnt",
    "avx",        "avx2",        "fma",        "f16c",         "bmi",
    "bmi2",       "lzcnt",       "movbe",      "avx512f",      "avx512bw",
    "avx512cd",   "avx512dq",    "avx512vl",   "avx512vnni",   "avx512bf16",
    "avx512vbmi", "avx512vbmi2", "avx512ifma", "avx512bitalg", "avx512vpopcntdq",
    "avx512fp16", "avxvnni",     "gfni"};

static llvm::Error error(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message.str());
}

/// LLVM's name of this machine's CPU, or of the level that it reaches where LLVM doesn't know the model.
static std::string getHostName(ArrayRef<StringRef> names, const llvm::StringMap<bool> &features) {
  std::string name = llvm::sys::getHostCPUName().str();
  if (llvm::is_contained(names, name))
    return name;
  bool hasV4 = features.lookup("avx512f") && features.lookup("avx512bw") && features.lookup("avx512vl");
  return hasV4 ? "x86-64-v4" : features.lookup("avx2") ? "x86-64-v3" : "x86-64";
}

llvm::Expected<std::unique_ptr<Target>> CpuTarget::parse(StringRef variant) {
  SmallVector<StringRef> names;
  llvm::X86::fillValidCPUArchList(names, /*Only64Bit=*/true);
  llvm::StringMap<bool> host;
  if (variant.empty())
    host = llvm::sys::getHostCPUFeatures();
  std::string cpu = variant.empty() ? getHostName(names, host) : variant.str();
  if (!llvm::is_contained(names, cpu))
    return error("unknown CPU '" + Twine(variant) + "'" + didYouMean(variant, names));

  // LLVM's lists leave out what other features imply: x86-64-v4 has avx512bw, and so avx512f.
  SmallVector<StringRef> listed;
  llvm::X86::getFeaturesForCPU(cpu, listed);
  llvm::StringMap<bool> known;
  for (StringRef feature : listed) {
    known[feature] = true;
    llvm::X86::updateImpliedFeatures(feature, /*Enabled=*/true, known);
  }
  std::unique_ptr<CpuTarget> target(new CpuTarget);
  for (StringRef feature : kUsedFeatures)
    if (known.lookup(feature) && (!variant.empty() || host.lookup(feature)))
      target->features.push_back(feature.str());
  target->name = "cpu:" + cpu;
  target->isThisMachine = variant.empty();
  target->tuneCpu = cpu;
  if (!target->hasFeature("avx2") || !target->hasFeature("fma"))
    return error("CPU '" + Twine(cpu) + "' lacks avx2 or fma, which kernels need; the oldest supported is x86-64-v3");
  return target;
}

bool CpuTarget::hasFeature(StringRef feature) const { return llvm::is_contained(features, feature); }

bool CpuTarget::isCodeForFeatures(ArrayRef<StringRef> given) const {
  return llvm::all_of(kUsedFeatures,
                      [&](StringRef feature) { return llvm::is_contained(given, feature) == hasFeature(feature); });
}

std::string CpuTarget::getSummary() const {
  std::vector<std::string> words;
  for (StringRef feature : {"avx2", "fma", "avx512f", "avx512vnni", "avx512bf16"})
    if (hasFeature(feature))
      words.push_back(feature.str());
  return llvm::join(words, ", ");
}

std::string CpuTarget::getFeatureString() const { return "+" + llvm::join(features, ",+"); }

void CpuTarget::addSelectionPass(OpPassManager &pm, const TunedConfigs *tuned) const {
  pm.addPass(createSelectLoweringConfigPass(*this, tuned));
}

std::string CpuTarget::checkConfig(kernel::FuncOp func, DictionaryAttr config) const {
  return cpu::checkConfig(func, config, *this);
}

FailureOr<WorkShape> CpuTarget::getWorkShape(kernel::FuncOp func) const {
  FailureOr<BucketPlans> plans = BucketPlans::create(func);
  if (failed(plans))
    return failure();
  return plans->getWorkShape();
}

std::vector<ConfigCandidate> CpuTarget::enumerateConfigs(kernel::FuncOp func, ArrayRef<int64_t> sizes,
                                                         const DeviceLimits &limits) const {
  return cpu::enumerateConfigs(func, sizes, *this, limits);
}

FailureOr<KernelImage> CpuTarget::compileKernels(ModuleOp kernels, unsigned threads,
                                                 const CompileProgress &progress) const {
  return cpu::compileKernels(kernels, *this, threads, progress);
}

//===----------------------------------------------------------------------===//
// Kernel names
//===----------------------------------------------------------------------===//

static std::string tileWord(kernel::FuncOp func) {
  auto attr = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  if (!attr || !isa<kernel::ContractOp, kernel::AttentionOp>(func.getRoot()))
    return "1x16";
  return llvm::formatv("{0}x{1}", attr.getInteger(config::kRowTile), attr.getInteger(config::kColumnVectors) * kLanes);
}

/// The ISA, with the extension that a kernel's multiplier is of.
static std::string isaWord(kernel::FuncOp func, const CpuTarget &target) {
  auto attr = func->getAttrOfType<kernel::LoweringConfigAttr>(kernel::kConfigAttrName);
  bool usesDots = attr && (attr.getString(config::kMultiplier) == config::kByteDots ||
                           attr.getString(config::kValueMultiplier) == config::kByteDots);
  return (target.getIsaWord() + (usesDots ? "vnni" : "")).str();
}

std::string CpuTarget::getKernelName(kernel::FuncOp func) const {
  StringRef root = func.getRoot()->getName().stripDialect();
  return llvm::formatv("{0}_{1}_{2}__{3}_{4}", getTypeWord(func), root, tileWord(func), isaWord(func, *this),
                       llvm::format_hex_no_prefix(hashKernel(func, getIsaWord()), 8));
}

void registerCpuTarget() { registerTarget("cpu", &CpuTarget::parse); }

} // namespace heddle::cpu
