// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format is perf's: one line a function, "address size name" in hexadecimal.

#include "runtime/devices/cpu/perf_map.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace heddle::runtime::cpu {

bool perf_map_is_wanted() {
  const char *wish = std::getenv("HEDDLE_PERF_MAP");
  return wish && *wish && std::strcmp(wish, "0") != 0;
}

void write_perf_map(const program_tables &tables, const target_table &target, const kernel_image &image) {
  // The name is perf's choice and the folder is open to all: never follow what someone else put there.
  const int descriptor =
      open(format("/tmp/perf-%d.map", getpid()).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor < 0)
    return;
  // A kernel ends where the next one starts.
  std::vector<uint64_t> starts = target.kernels;
  std::sort(starts.begin(), starts.end());
  for (size_t i = 0; i < target.kernels.size(); ++i) {
    const uint64_t address = target.kernels[i];
    uint64_t size = image.code_bytes_from(address);
    auto next = std::upper_bound(starts.begin(), starts.end(), address);
    if (next != starts.end())
      size = std::min(size, *next - address);
    dprintf(descriptor, "%" PRIxPTR " %" PRIx64 " %s\n", reinterpret_cast<uintptr_t>(image.code_address(address)), size,
            tables.kernels[i].name);
  }
  close(descriptor);
}

} // namespace heddle::runtime::cpu
