// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Field for field; the limits that every device must keep are the target's business, and checked where a file is read.

#include "compiler/artifact/ShaderTables.h"

#include "compiler/artifact/CandidateTables.h"
#include "compiler/artifact/ProgramTables.h"
#include "runtime/include/heddle/artifact_generated.h"

using namespace heddle;
using namespace mlir;

static std::unique_ptr<fb::ShaderVariantT> makeVariant(const ShaderVariant &variant) {
  auto table = std::make_unique<fb::ShaderVariantT>();
  table->features = variant.features;
  table->module_ = variant.module;
  table->workgroup.assign(variant.workgroup.begin(), variant.workgroup.end());
  table->constants = variant.constants;
  table->tile.assign(variant.tile.begin(), variant.tile.end());
  table->most.assign(variant.most.begin(), variant.most.end());
  table->shared_bytes = variant.sharedBytes;
  return table;
}

static std::unique_ptr<fb::SelfTestT> makeSelfTest(const SelfTest &test) {
  auto table = std::make_unique<fb::SelfTestT>();
  table->sizes = test.sizes;
  table->axes = test.axes;
  for (const SelfTestInput &input : test.inputs)
    table->inputs.emplace_back(input.bytes, input.seed, input.limit, input.columns, input.depth, input.width,
                               input.group);
  for (const SelfTestOutput &output : test.outputs)
    table->outputs.push_back(makeSelfTestOutput(output));
  return table;
}

LogicalResult heddle::addShaders(ModuleOp module, const TargetImage &image, const fb::ProgramT &program,
                                 fb::TargetT &target) {
  if (image.shaders.size() != program.kernels.size())
    return module.emitOpError() << "expects a shader for each of " << program.kernels.size() << " kernels for "
                                << image.name << ", got " << image.shaders.size();
  for (const ShaderModule &shaderModule : image.modules)
    target.modules.emplace_back(shaderModule.offset, shaderModule.length);
  for (auto [shader, kernel] : llvm::zip(image.shaders, program.kernels)) {
    if (shader.operands.size() != kernel->binding_count)
      return module.emitOpError() << "expects " << kernel->binding_count << " operands of the shader for kernel '"
                                  << kernel->name << "', got " << shader.operands.size();
    auto table = std::make_unique<fb::ShaderT>();
    table->can_fail = shader.canFail;
    if (shader.table) {
      table->table_operand = static_cast<int32_t>(shader.table->operand);
      table->table_row_bytes = shader.table->rowBytes;
    }
    for (const ShaderOperand &operand : shader.operands) {
      std::optional<fb::ElementType> type = getElementType(operand.type);
      if (!type)
        return module.emitOpError() << "expects an element type that artifacts have in the shader for kernel '"
                                    << kernel->name << "', got " << operand.type;
      table->operands.emplace_back(*type, static_cast<uint8_t>(operand.binding));
    }
    for (const ShaderVariant &variant : shader.variants)
      table->variants.push_back(makeVariant(variant));
    if (shader.selfTest)
      table->self_test = makeSelfTest(*shader.selfTest);
    target.shaders.push_back(std::move(table));
  }
  return success();
}
