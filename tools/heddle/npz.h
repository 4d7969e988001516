// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npz format: a zip archive with a .npy file for each array. Members are stored or deflated, zip64 included;
// written ones are stored.

#pragma once

#include "tools/heddle/handles.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace heddle::cli {

/// One archive in memory. Every offset and length in it is checked before use.
class NpzReader {
public:
  /// |name| stands for the file in messages. Throws if |bytes| is no intact zip archive.
  NpzReader(std::string bytes, std::string name);

  /// Names of the arrays (members without their .npy), in the archive's order.
  std::vector<std::string> keys() const;
  bool has(std::string_view key) const;

  /// Throws for a key that isn't there, a damaged member, a wrong checksum.
  TensorPtr read(std::string_view key) const;

private:
  struct Member {
    std::string key;
    uint32_t method, checksum;
    uint64_t compressedSize, size, headerOffset;
  };

  void readDirectory();
  Member readDirectoryEntry(size_t &offset) const;
  std::string extract(const Member &member) const;
  std::string_view range(uint64_t offset, uint64_t length) const;
  uint64_t number(uint64_t offset, unsigned length) const;
  [[noreturn]] void failWith(const std::string &reason) const;

  std::string bytes;
  std::string name;
  std::vector<Member> members;
};

/// Whether |bytes| start like a zip archive.
bool looksLikeZip(std::string_view bytes);

/// Writes the arrays under their names to |path|, whole or not at all. The bytes depend on nothing else.
void writeNpz(const std::string &path, const std::vector<std::pair<std::string, const heddle_tensor_t *>> &arrays);

} // namespace heddle::cli
