// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// write_artifact FILE: the artifact for c_application.c, y = (x + x) * 1.

#include <fstream>

#include "tests/runtime/vulkan/shader_builder.h"

int main(int argc, char **argv) {
  if (argc != 2)
    return 1;
  const heddle::test::artifact_bytes artifact = heddle::test::scale_shaders(1.0f).build();
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char *>(artifact.data()), static_cast<std::streamsize>(artifact.size));
  return file.flush() ? 0 : 1;
}
