// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads lists of words from the environment.

#include "runtime/devices/vulkan/options.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "runtime/devices/vulkan/features.h"

namespace heddle::runtime::vulkan {

uint32_t feature_bit(const char *name, size_t length) {
  for (const feature_name &known : feature_names)
    if (std::strlen(known.name) == length && std::strncmp(known.name, name, length) == 0)
      return known.bit;
  return 0;
}

namespace {

const char *environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

bool is_set(const char *name) { return *environment(name) && std::strcmp(environment(name), "0") != 0; }

/// Calls |word| with each part of |list| between commas, until it returns false; then that part is in |out_bad|.
template <typename Word> bool for_each_word(const char *list, Word word, std::string *out_bad) {
  while (*list) {
    const size_t length = std::strcspn(list, ",");
    const std::string part(list, length);
    if (!word(part)) {
      *out_bad = part;
      return false;
    }
    list += length + (list[length] ? 1 : 0);
  }
  return true;
}

bool set_limit(const std::string &word, options *out) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos)
    return false;
  const std::string name = word.substr(0, equals);
  char *end = nullptr;
  const unsigned long long value = std::strtoull(word.c_str() + equals + 1, &end, 10);
  if (*end || end == word.c_str() + equals + 1 || value == 0)
    return false;
  if (name == "range")
    out->range = value;
  else if (name == "shared")
    out->shared = value;
  else if (name == "groups")
    out->groups = value;
  else if (name == "invocations")
    out->invocations = value;
  else if (name == "submit")
    out->submit_microseconds = value;
  else if (name == "staging")
    out->uses_staging = true;
  else if (name == "clockless")
    out->is_clockless = true;
  else
    return false;
  return true;
}

bool disable(const std::string &word, options *out) {
  uint32_t bits = feature_bit(word.c_str(), word.size());
  // A switch for each group that drivers get wrong together.
  if (word == "float16")
    bits |= feature_storage_16bit;
  else if (word == "dot")
    bits = feature_dot | feature_dot_accelerated;
  else if (word == "subgroup")
    bits = feature_subgroup_arithmetic | feature_subgroup_shuffle | feature_subgroup_of_8 | feature_subgroup_size;
  out->disabled_features |= bits;
  return bits != 0;
}

bool set_self_test(const std::string &word, options *out) {
  constexpr char fail[] = "fail=";
  constexpr size_t length = sizeof(fail) - 1;
  if (word.compare(0, length, fail) == 0 && word.size() > length)
    out->wrong_shaders.push_back(word.substr(length));
  else if (word == "off")
    out->tests_shaders = false;
  else if (word == "again")
    out->repeats_tests = true;
  else
    return false;
  return true;
}

} // namespace

heddle_status_t read_options(options *out) {
  std::string bad;
  if (!for_each_word(
          environment("HEDDLE_VULKAN_LIMITS"), [&](const std::string &word) { return set_limit(word, out); }, &bad))
    return fail(error::H0101, "HEDDLE_VULKAN_LIMITS has '" + bad + "'",
                "it takes range, shared, groups, invocations, submit, staging and clockless, each as NAME=NUMBER, "
                "joined by commas");
  if (!for_each_word(
          environment("HEDDLE_VULKAN_DISABLE"), [&](const std::string &word) { return disable(word, out); }, &bad))
    return fail(error::H0101, "HEDDLE_VULKAN_DISABLE has '" + bad + "'",
                "it takes float16, dot, subgroup and names of features, joined by commas");
  if (!for_each_word(
          environment("HEDDLE_VULKAN_SELF_TEST"), [&](const std::string &word) { return set_self_test(word, out); },
          &bad))
    return fail(error::H0101, "HEDDLE_VULKAN_SELF_TEST has '" + bad + "'",
                "it takes off, again and fail=KERNEL, joined by commas");
  const std::string weights = environment("HEDDLE_VULKAN_WEIGHTS");
  if (!weights.empty() && weights != "import" && weights != "upload")
    return fail(error::H0101, "HEDDLE_VULKAN_WEIGHTS has '" + weights + "'", "it takes import or upload");
  out->imports_weights = weights == "import";
  out->is_serialized = is_set("HEDDLE_VULKAN_SERIALIZE");
  out->is_validated = is_set("HEDDLE_VULKAN_VALIDATE");
  out->uses_cache = std::strcmp(environment("HEDDLE_VULKAN_CACHE"), "0") != 0;
  return nullptr;
}

} // namespace heddle::runtime::vulkan
