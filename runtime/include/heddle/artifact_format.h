// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fixed header at the start of every artifact file, for its one writer and its one reader. artifact.fbs describes
// what follows it. All numbers are little-endian.

#ifndef HEDDLE_ARTIFACT_FORMAT_H
#define HEDDLE_ARTIFACT_FORMAT_H

#include <stdint.h>

/// Raised with any change of this header's layout or of a table's meaning in artifact.fbs; a reader takes no other.
#define HEDDLE_ARTIFACT_FORMAT_VERSION 3

/// The first eight bytes. A transfer in text mode changes "\r\n", which a reader then recognises.
#define HEDDLE_ARTIFACT_MAGIC "HEDDLE\r\n"

/// Alignment in bytes of sections within the file: the largest page size of the CPUs we compile for.
#define HEDDLE_SECTION_ALIGNMENT 65536

/// Alignment in bytes of the FlatBuffer within the file.
#define HEDDLE_PROGRAM_ALIGNMENT 64

/// What a reader takes at most in one entry point: inputs, outputs and buffers, as many of each, whose lives planning
/// compares pairwise, and steps; and in one dispatch operands and results.
#define HEDDLE_MAX_TENSORS 16384
#define HEDDLE_MAX_BUFFERS 16384
#define HEDDLE_MAX_STEPS 1048576
#define HEDDLE_MAX_BINDINGS 4096
#define HEDDLE_MAX_RESULTS 256

/// Bytes that the inputs of one case of candidates take at most.
#define HEDDLE_MAX_CANDIDATE_BYTES (UINT64_C(1) << 30)

/// Targets at most: each dispatch is compared with each.
#define HEDDLE_MAX_TARGETS 256

/// What a shader may ask for: variants, each of which may be compiled and tested before one is right, and bytes of a
/// module, which is read for each; words of push constants, and invocations along one axis of a workgroup.
#define HEDDLE_MAX_VARIANTS 64
#define HEDDLE_MAX_MODULE_BYTES (16 << 20)
#define HEDDLE_MAX_PUSH_CONSTANTS 32
#define HEDDLE_MAX_WORKGROUP 65536

/// What every device of Vulkan 1.1 has, and so what a shader's last variant must do with: invocations of one workgroup
/// and its shared memory in bytes.
#define HEDDLE_BASE_INVOCATIONS 128
#define HEDDLE_BASE_WORKGROUP_Z 64
#define HEDDLE_BASE_SHARED_BYTES 16384

typedef struct heddle_artifact_header_t {
  char magic[8];                   ///< HEDDLE_ARTIFACT_MAGIC without its terminator
  uint32_t format_version;         ///< HEDDLE_ARTIFACT_FORMAT_VERSION
  uint32_t executable_abi_version; ///< HEDDLE_EXECUTABLE_ABI_VERSION
  uint64_t file_length;            ///< of the whole file, in bytes
  uint64_t program_offset;         ///< of the FlatBuffer
  uint64_t program_length;
  uint64_t program_checksum; ///< XXH64, seed 0, of the FlatBuffer
  uint8_t zero[16];
} heddle_artifact_header_t;

#ifdef __cplusplus
static_assert(sizeof(heddle_artifact_header_t) == 64, "layout is part of the format");
#endif

#endif // HEDDLE_ARTIFACT_FORMAT_H
