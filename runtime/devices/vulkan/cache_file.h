// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a driver made of an artifact's shaders, kept on disk between processes: minutes of compiling on some phones. A
// file is for one device, driver and artifact, and is taken whole or not at all. That there is none, or a bad one, is
// never an error.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/core/artifact_reader.h"
#include "runtime/devices/vulkan/gpu.h"

namespace heddle::runtime::vulkan {

/// Larger ones are neither written nor read: some drivers' caches only grow.
constexpr uint64_t most_cache_bytes = 64 << 20;

/// All that a driver's cache depends on, as text.
std::string cache_key(const gpu &gpu, const artifact &loaded);

/// The file for |key|; "" where the user has no place for caches.
std::string cache_path(const std::string &key);

/// Returns the content of the file at |path| if it is one of ours for |key| and intact; else nothing.
std::vector<std::byte> read_cache_file(const std::string &path, const std::string &key);

/// Tells contents apart.
uint64_t content_checksum(const std::vector<std::byte> &content);

/// Puts |content| there for others to find: under another name first, so that nobody reads half a file. Of many files
/// in the folder the oldest are removed.
void write_cache_file(const std::string &path, const std::string &key, const std::vector<std::byte> &content);

} // namespace heddle::runtime::vulkan
