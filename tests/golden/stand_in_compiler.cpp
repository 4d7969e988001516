// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libheddle-compiler.so where the command's dealings with it are tested: it reports phases, "compiles" by
// copying the artifact beside the model, exports candidates in the same way, and refuses odd.onnx as the compiler
// would. Of a candidate with tile 7 it dies, and of what was found to be the fastest. The variable STAND_IN_VERSION
// gives it another interface version.

#include "compiler/driver/heddle_compiler.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

int heddle_compiler_api_version() {
  const char *version = std::getenv("STAND_IN_VERSION");
  return version ? std::atoi(version) : HEDDLE_COMPILER_API_VERSION;
}

const char *heddle_compiler_version() { return "stand-in"; }

static void tellPhases(const heddle_compile_options_t &options) {
  const char *target = options.targets ? options.targets : "cpu";
  options.progress(options.progress_user, (std::string("target ") + target).c_str(), 0, 0);
  for (size_t done : {0, 1})
    options.progress(options.progress_user, "import", done, 1);
  for (size_t done : {0, 1, 2})
    options.progress(options.progress_user, "codegen", done, 2);
}

int heddle_compiler_compile(const heddle_compile_options_t *options, char **out_summary, char **out_error) {
  const std::string model = options->model_path;
  if (model.find("odd.onnx") != std::string::npos) {
    *out_error = strdup("error[H0201]: 2 nodes have operators that are not supported\n  in odd.onnx\n");
    return 3;
  }
  if (options->tuning_count && std::strstr(options->tunings[options->tuning_count - 1], "found.tuning.jsonl"))
    std::abort();
  if (options->progress)
    tellPhases(*options);
  std::ifstream artifact(model.substr(0, model.rfind('.')) + ".heddle", std::ios::binary);
  std::ofstream(options->output_path, std::ios::binary) << artifact.rdbuf();
  const std::string shape = options->shape_count ? options->shapes[0] : "none";
  *out_summary =
      strdup(("compiled; shape " + shape + ", threads " + std::to_string(options->thread_count) + "\n").c_str());
  return 0;
}

int heddle_compiler_export_candidates(const heddle_candidate_options_t *options, char **out_summary, char **) {
  bool isLeftOut = false;
  for (size_t i = 0; i < options->left_out_count; ++i)
    isLeftOut = isLeftOut || std::strcmp(options->left_out[i].config, "{\"tile\":7}") == 0;
  if (!isLeftOut) {
    options->on_candidate(options->on_candidate_user, "f32_map_?_0badcafe", "any", "{\"tile\":7}");
    std::abort();
  }
  const std::string model = options->compile->model_path;
  std::ifstream artifact(model.substr(0, model.rfind('/') + 1) + "candidates.heddle", std::ios::binary);
  std::ofstream(options->compile->output_path, std::ios::binary) << artifact.rdbuf();
  *out_summary = strdup("candidates\n");
  return 0;
}

int heddle_compiler_verify(const heddle_verify_options_t *options, char **out_summary, char **) {
  std::string inputs = options->input_count ? "" : " generated";
  for (size_t i = 0; i < options->input_count; ++i)
    inputs += std::string(" ") + options->inputs[i].name + " of rank " + std::to_string(options->inputs[i].rank);
  const std::string device = options->device && *options->device ? std::string(" on ") + options->device : "";
  *out_summary = strdup(("compared with" + inputs + device + "\n").c_str());
  // What a user asks to be exact differs.
  return options->tolerance >= 0 && options->tolerance < 1e-9 ? 1 : 0;
}

void heddle_compiler_free(char *text) { std::free(text); }
