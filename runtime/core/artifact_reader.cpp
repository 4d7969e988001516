// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The frame of the file: header, versions, the FlatBuffer's bytes, checksums. table_reader.cpp reads what is in them.
// The order of the checks is that of usefulness: what the file is, then its version, its length, and damage last.

#include "runtime/core/artifact_reader.h"

#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <heddle/artifact_format.h>
#include <heddle/executable_abi.h>

#include "runtime/core/checked_math.h"
#include "runtime/core/table_reader.h"

namespace heddle::runtime {

namespace {

/// Tables alone; weights aren't part of it. FlatBuffers itself asserts below 2 GiB.
constexpr uint64_t max_program_bytes = uint64_t(256) << 20;
/// Tables within tables: Program, Entry, Step, Dispatch, ResultInfo.
constexpr uint32_t max_table_depth = 16;
constexpr uint32_t max_table_count = 4000000;

heddle_status_t truncated(uint64_t length, uint64_t expected) {
  return fail(error::H0503,
              format("truncated: %llu of %llu bytes", static_cast<unsigned long long>(length),
                     static_cast<unsigned long long>(expected)),
              "copy it again, or compile the model again");
}

heddle_status_t check_versions(const heddle_artifact_header_t &header) {
  const bool newer = header.format_version > HEDDLE_ARTIFACT_FORMAT_VERSION ||
                     header.executable_abi_version > HEDDLE_EXECUTABLE_ABI_VERSION;
  const char *help = newer ? "use the version of Heddle that wrote it, or compile the model again with this one"
                           : "compile the model again with this version of Heddle";
  if (header.format_version != HEDDLE_ARTIFACT_FORMAT_VERSION)
    return fail(error::H0504,
                format("the artifact has format version %u, this runtime reads version %u", header.format_version,
                       HEDDLE_ARTIFACT_FORMAT_VERSION),
                help);
  if (header.executable_abi_version != HEDDLE_EXECUTABLE_ABI_VERSION)
    return fail(error::H0504,
                format("the artifact's code has ABI version %u, this runtime calls version %u",
                       header.executable_abi_version, HEDDLE_EXECUTABLE_ABI_VERSION),
                help);
  return nullptr;
}

heddle_status_t read_header(const artifact_source &source, heddle_artifact_header_t *out) {
  // A file shorter than the magic is compared as far as it goes: the start of an artifact is truncated, not foreign.
  const uint64_t length = source.length();
  const char *magic = HEDDLE_ARTIFACT_MAGIC;
  if (std::memcmp(source.data(), magic, std::min<uint64_t>(length, sizeof(out->magic))) != 0) {
    std::string help;
    std::string content = recognize_content(source.data(), length, &help);
    return fail(error::H0502, "expects a Heddle artifact, but the file is " + content, help);
  }
  if (length < sizeof(*out))
    return truncated(length, sizeof(*out));
  std::memcpy(out, source.data(), sizeof(*out));
  // Before anything else in the header is believed: another version may mean something else by it.
  HEDDLE_RETURN_IF_ERROR(check_versions(*out));
  if (length < out->file_length)
    return truncated(length, out->file_length);
  if (length > out->file_length)
    return damaged(format("%llu bytes follow its end", static_cast<unsigned long long>(length - out->file_length)));
  for (uint8_t byte : out->zero)
    if (byte != 0)
      return damaged("its header has bytes where zeros belong");
  if (out->program_offset % HEDDLE_PROGRAM_ALIGNMENT != 0 || out->program_offset < sizeof(*out) ||
      out->program_length > max_program_bytes || !range_fits(out->program_offset, out->program_length, length))
    return damaged("its program lies outside the file");
  return nullptr;
}

/// Copies the FlatBuffer and has it verified.
heddle_status_t read_program_bytes(const heddle_artifact_header_t &header, artifact *artifact) {
  const size_t length = header.program_length;
  if (!artifact->program.reserve(length))
    return out_of_memory();
  std::byte *program = artifact->program.data();
  std::memcpy(program, artifact->source.data() + header.program_offset, length);
  if (XXH64(program, length, 0) != header.program_checksum)
    return fail(error::H0506, "checksum of the program differs", "copy it again, or compile the model again");
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(program), length, max_table_depth, max_table_count);
  if (!fb::VerifyProgramBuffer(verifier))
    return damaged("its program is no valid FlatBuffer");
  return nullptr;
}

/// The program may lie before, between or after the sections, but not within one.
heddle_status_t check_program_is_apart(const heddle_artifact_header_t &header, const program_tables &tables) {
  for (const section_table &section : tables.sections)
    if (section.offset < header.program_offset + header.program_length &&
        header.program_offset < section.offset + section.length)
      return damaged("a section overlaps the program");
  return nullptr;
}

heddle_status_t check_section_checksums(const artifact &artifact) {
  for (size_t i = 0; i < artifact.tables.sections.size(); ++i)
    HEDDLE_RETURN_IF_ERROR(check_section_checksum(artifact, i));
  return nullptr;
}

heddle_status_t read(artifact *artifact, bool verify_checksums) {
  heddle_artifact_header_t header;
  HEDDLE_RETURN_IF_ERROR(read_header(artifact->source, &header));
  HEDDLE_RETURN_IF_ERROR(read_program_bytes(header, artifact));
  program_tables &tables = artifact->tables;
  tables.format_version = header.format_version;
  tables.executable_abi_version = header.executable_abi_version;
  tables.program_bytes = header.program_length;
  table_reader reader(header.program_length);
  HEDDLE_RETURN_IF_ERROR(
      reader.read_program(*fb::GetProgram(artifact->program.data()), artifact->source.length(), &tables));
  HEDDLE_RETURN_IF_ERROR(check_program_is_apart(header, tables));
  return verify_checksums ? check_section_checksums(*artifact) : nullptr;
}

} // namespace

heddle_status_t check_section_checksum(const artifact &artifact, size_t index) {
  const section_table &section = artifact.tables.sections[index];
  if (XXH64(artifact.source.data() + section.offset, section.length, 0) != section.checksum)
    return fail(error::H0506,
                format("checksum of section %zu (%s) differs", index, section.is_code ? "code" : "weights"),
                "copy it again, or compile the model again");
  return nullptr;
}

heddle_status_t read_artifact(artifact *artifact, bool verify_checksums) {
  HEDDLE_RETURN_IF_ERROR(with_context(read(artifact, verify_checksums), artifact->source.context()));
  // The tables are copies. A run maps what it needs, and copied weights need none of the file.
  artifact->source.release_pages();
  return nullptr;
}

} // namespace heddle::runtime
