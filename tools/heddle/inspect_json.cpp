// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// heddle_program_info as JSON, with the field names of heddle.h.

#include "tools/heddle/inspect_json.h"

#include "tools/heddle/json.h"

#include <heddle/candidates.h>

namespace heddle::cli {

static void writeStrings(JsonWriter &json, const char *key, const char *const *strings, size_t count) {
  json.key(key).strings({strings, strings + count});
}

static void writeTensor(JsonWriter &json, const heddle_tensor_info_t &tensor) {
  json.key("name").string(tensor.name);
  json.key("type").string(heddle_element_type_name(tensor.type)).key("dims").beginArray();
  // A fixed dimension is a number, a dynamic one its name.
  for (size_t axis = 0; axis < tensor.rank; ++axis) {
    const heddle_dimension_t &dim = tensor.dims[axis];
    if (dim.value >= 0)
      json.number(dim.value);
    else
      json.string(dim.symbol);
  }
  json.endArray();
}

static void writeEntries(JsonWriter &json, const heddle_program_t *program, const heddle_program_info_t &info) {
  json.key("entries").beginArray();
  for (size_t i = 0; i < info.entry_count; ++i) {
    const heddle_entry_info_t &entry = info.entries[i];
    json.beginObject().key("name").string(entry.name);
    json.key("inputs").beginArray();
    for (size_t input = 0; input < entry.input_count; ++input) {
      writeTensor(json.beginObject(), entry.inputs[input]);
      json.key("optional").boolean(heddle_program_default_input(program, entry.name, input) != nullptr).endObject();
    }
    json.endArray().key("outputs").beginArray();
    for (size_t output = 0; output < entry.output_count; ++output) {
      writeTensor(json.beginObject(), entry.outputs[output]);
      json.endObject();
    }
    json.endArray();
    json.key("dispatch_count").number(uint64_t(entry.dispatch_count)).key("specializes");
    if (*entry.specializes)
      json.string(entry.specializes);
    else
      json.null();
    json.endObject();
  }
  json.endArray();
}

static void writeShaders(JsonWriter &json, const heddle_target_info_t &target) {
  json.key("module_count").number(uint64_t(target.module_count)).key("shaders").beginArray();
  for (size_t i = 0; i < target.shader_count; ++i) {
    json.beginObject().key("variants").beginArray();
    for (size_t j = 0; j < target.shaders[i].variant_count; ++j) {
      const heddle_shader_variant_info_t &variant = target.shaders[i].variants[j];
      json.beginObject();
      writeStrings(json, "features", variant.features, variant.feature_count);
      json.key("module").number(uint64_t(variant.module)).key("workgroup").beginArray();
      for (uint32_t size : variant.workgroup)
        json.number(uint64_t(size));
      json.endArray().key("shared_bytes").number(uint64_t(variant.shared_bytes)).endObject();
    }
    json.endArray().endObject();
  }
  json.endArray();
}

static void writeTargets(JsonWriter &json, const heddle_program_info_t &info) {
  json.key("targets").beginArray();
  for (size_t i = 0; i < info.target_count; ++i) {
    const heddle_target_info_t &target = info.targets[i];
    json.beginObject().key("name").string(target.name);
    writeStrings(json, "features", target.features, target.feature_count);
    json.key("code_bytes").number(target.code_bytes).key("missing_feature");
    if (*target.missing_feature)
      json.string(target.missing_feature);
    else
      json.null();
    if (target.shader_count)
      writeShaders(json, target);
    json.endObject();
  }
  json.endArray();
}

static void writeKernels(JsonWriter &json, const heddle_program_info_t &info) {
  json.key("kernels").beginArray();
  for (size_t i = 0; i < info.kernel_count; ++i) {
    const heddle_kernel_info_t &kernel = info.kernels[i];
    json.beginObject().key("name").string(kernel.name).key("root").string(kernel.root);
    json.key("dispatch_count").number(uint64_t(kernel.dispatch_count));
    writeStrings(json, "nodes", kernel.nodes, kernel.node_count);
    json.endObject();
  }
  json.endArray();
}

static void writeSections(JsonWriter &json, const heddle_program_info_t &info) {
  json.key("sections").beginArray();
  for (size_t i = 0; i < info.section_count; ++i) {
    const heddle_section_info_t &section = info.sections[i];
    json.beginObject().key("kind").string(section.kind).key("offset").number(section.offset);
    json.key("length").number(section.length).key("checksum").number(section.checksum).endObject();
  }
  json.endArray();
}

/// Of an artifact for measurements.
static void writeCandidates(JsonWriter &json, const heddle_program_t *program) {
  json.key("candidate_groups").beginArray();
  for (size_t i = 0; i < heddle_candidate_group_count(program); ++i) {
    const heddle_candidate_group_t &group = *heddle_candidate_group(program, i);
    json.beginObject().key("signature").string(group.signature).key("rows").string(group.rows);
    json.key("kernel").string(group.kernel).key("share").number(group.share);
    json.key("dispatches").number(uint64_t(group.dispatches)).key("has_expected").boolean(group.has_expected != 0);
    writeStrings(json, "nodes", group.nodes, group.node_count);
    json.key("candidates").beginArray();
    for (size_t j = 0; j < group.candidate_count; ++j) {
      const heddle_candidate_t &candidate = group.candidates[j];
      json.beginObject().key("entry").string(candidate.entry).key("config").string(candidate.config);
      json.key("seconds").number(candidate.seconds).endObject();
    }
    json.endArray().endObject();
  }
  json.endArray();
}

std::string programJson(const heddle_program_t *program, const MemoryReport *memory) {
  const heddle_program_info_t &info = *heddle_program_info(program);
  JsonWriter json;
  json.beginObject().key("schema").string("heddle-inspect-1");
  json.key("model").string(info.model).key("producer").string(info.producer);
  json.key("format_version").number(uint64_t(info.format_version));
  json.key("executable_abi_version").number(uint64_t(info.executable_abi_version));
  json.key("file_bytes").number(info.file_bytes).key("program_bytes").number(info.program_bytes);
  json.key("constant_bytes").number(info.constant_bytes);
  json.key("options").beginObject();
  for (size_t i = 0; i < info.option_count; ++i)
    json.key(info.options[i].key).string(info.options[i].value);
  json.endObject();
  writeEntries(json, program, info);
  writeTargets(json, info);
  writeKernels(json, info);
  writeSections(json, info);
  if (heddle_candidate_group_count(program) != 0)
    writeCandidates(json, program);
  if (memory)
    writeMemory(json, *memory);
  json.endObject();
  return json.take();
}

} // namespace heddle::cli
