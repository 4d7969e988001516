// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/CompileShader.h"

#include <mutex>

#include <glslang/Include/glslang_c_interface.h>
#include <glslang/Public/resource_limits_c.h>
#include <spirv-tools/libspirv.h>

namespace heddle::vulkan {

static llvm::Error error(const std::string &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

static llvm::Error validate(const std::vector<uint32_t> &words) {
  spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_1);
  spv_diagnostic diagnostic = nullptr;
  spv_const_binary_t binary = {words.data(), words.size()};
  spv_result_t result = spvValidate(context, &binary, &diagnostic);
  std::string message = diagnostic && diagnostic->error ? diagnostic->error : "no reason given";
  spvDiagnosticDestroy(diagnostic);
  spvContextDestroy(context);
  return result == SPV_SUCCESS ? llvm::Error::success() : error("the validator refuses its SPIR-V: " + message);
}

llvm::Expected<std::vector<uint32_t>> compileShader(const std::string &glsl) {
  // For the life of the process: tables are built once, and teardown would race with other threads.
  static std::once_flag once;
  std::call_once(once, glslang_initialize_process);
  glslang_input_t input = {};
  input.language = GLSLANG_SOURCE_GLSL;
  input.stage = GLSLANG_STAGE_COMPUTE;
  input.client = GLSLANG_CLIENT_VULKAN;
  input.client_version = GLSLANG_TARGET_VULKAN_1_1;
  input.target_language = GLSLANG_TARGET_SPV;
  input.target_language_version = GLSLANG_TARGET_SPV_1_3;
  input.code = glsl.c_str();
  input.default_version = 450;
  input.default_profile = GLSLANG_CORE_PROFILE;
  input.messages = GLSLANG_MSG_DEFAULT_BIT;
  input.resource = glslang_default_resource();
  std::unique_ptr<glslang_shader_t, decltype(&glslang_shader_delete)> shader(glslang_shader_create(&input),
                                                                             glslang_shader_delete);
  if (!glslang_shader_preprocess(shader.get(), &input) || !glslang_shader_parse(shader.get(), &input))
    return error("glslang refuses it: " + std::string(glslang_shader_get_info_log(shader.get())));
  std::unique_ptr<glslang_program_t, decltype(&glslang_program_delete)> program(glslang_program_create(),
                                                                                glslang_program_delete);
  glslang_program_add_shader(program.get(), shader.get());
  if (!glslang_program_link(program.get(), GLSLANG_MSG_SPV_RULES_BIT | GLSLANG_MSG_VULKAN_RULES_BIT))
    return error("glslang can't link it: " + std::string(glslang_program_get_info_log(program.get())));
  glslang_spv_options_t options = {};
  options.disable_optimizer = true;
  glslang_program_SPIRV_generate_with_options(program.get(), GLSLANG_STAGE_COMPUTE, &options);
  std::vector<uint32_t> words(glslang_program_SPIRV_get_size(program.get()));
  glslang_program_SPIRV_get(program.get(), words.data());
  if (llvm::Error invalid = validate(words))
    return std::move(invalid);
  return words;
}

} // namespace heddle::vulkan
