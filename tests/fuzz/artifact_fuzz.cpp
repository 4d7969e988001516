// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer harness of the artifact loader. The checksum is made right first, so that mutations reach the tables. Built
// by clang with -DHEDDLE_FUZZ=ON, best under sanitizers:
//
//     cmake --preset asan -DHEDDLE_FUZZ=ON && tools/dev/build asan heddle-artifact-fuzz
//     build/asan/tests/bin/heddle-artifact-fuzz -max_len=400000 CORPUS
//
// CORPUS is a folder with some small artifacts.

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <heddle/artifact_format.h>

#include "tests/runtime/artifact_builder.h"
#include "tests/runtime/fuzz_artifact.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace heddle::test;
  artifact_bytes artifact;
  artifact.block.reserve(size);
  artifact.size = size;
  if (size != 0)
    std::memcpy(artifact.data(), data, size);
  heddle_artifact_header_t header;
  if (size >= sizeof(header)) {
    std::memcpy(&header, data, sizeof(header));
    if (header.program_offset <= size && header.program_length <= size - header.program_offset)
      fix_program_checksum(artifact);
  }
  explore_artifact(artifact.data(), artifact.size);
  return 0;
}
