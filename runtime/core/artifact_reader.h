// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads an artifact: the header, then the FlatBuffer, table by table, into program_tables. A file is untrusted input:
// after this, no index, range or count in the tables can lead outside the file or outside its table.

#pragma once

#include "runtime/core/artifact_source.h"
#include "runtime/core/memory_block.h"
#include "runtime/core/program_tables.h"

namespace heddle::runtime {

/// An artifact after reading. The sections stay in |source|; |program| is a private copy of the FlatBuffer, because
/// what was verified must not change afterwards.
struct artifact {
  artifact_source source;
  memory_block program;
  program_tables tables;
};

/// Reads |artifact|'s opened source. |verify_checksums| compares those of the sections too, which reads the whole file.
heddle_status_t read_artifact(artifact *artifact, bool verify_checksums);

/// Compares the checksum of section |index|, which reads all of it.
heddle_status_t check_section_checksum(const artifact &artifact, size_t index);

} // namespace heddle::runtime
