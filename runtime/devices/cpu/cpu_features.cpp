// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPUID bits by LLVM's feature names; the table follows llvm/lib/TargetParser/Host.cpp of LLVM 19.

#include "runtime/devices/cpu/cpu_features.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <heddle/cpu_design.h>

namespace heddle::runtime::cpu {

namespace {

/// Registers that the operating system must save, as bits of XCR0.
enum state : uint32_t { none = 0, ymm = 0x6, zmm = 0xe6, tile = 0x60000 };
enum reg : uint8_t { eax, ebx, ecx, edx };

struct feature_row {
  const char *name;
  uint32_t leaf;
  uint8_t subleaf;
  reg in;
  uint8_t bit;
  state needs;
};

/// What the host has. In memory of its own, not of the heap: a description of the host can't fail.
struct host_description {
  const char *features[128];
  size_t feature_count;
  char name[49];   ///< three times 16 bytes, as the CPU gives them
  char vendor[13]; ///< three times 4 bytes
  unsigned family;
  unsigned model;
};

#if defined(__x86_64__)

constexpr feature_row rows[] = {
    {"cx8", 1, 0, edx, 8, none},
    {"cmov", 1, 0, edx, 15, none},
    {"mmx", 1, 0, edx, 23, none},
    {"fxsr", 1, 0, edx, 24, none},
    {"sse", 1, 0, edx, 25, none},
    {"sse2", 1, 0, edx, 26, none},
    {"sse3", 1, 0, ecx, 0, none},
    {"pclmul", 1, 0, ecx, 1, none},
    {"ssse3", 1, 0, ecx, 9, none},
    {"fma", 1, 0, ecx, 12, ymm},
    {"cx16", 1, 0, ecx, 13, none},
    {"sse4.1", 1, 0, ecx, 19, none},
    {"sse4.2", 1, 0, ecx, 20, none},
    {"crc32", 1, 0, ecx, 20, none},
    {"movbe", 1, 0, ecx, 22, none},
    {"popcnt", 1, 0, ecx, 23, none},
    {"aes", 1, 0, ecx, 25, none},
    {"xsave", 1, 0, ecx, 26, ymm},
    {"avx", 1, 0, ecx, 28, ymm},
    {"f16c", 1, 0, ecx, 29, ymm},
    {"rdrnd", 1, 0, ecx, 30, none},
    {"fsgsbase", 7, 0, ebx, 0, none},
    {"bmi", 7, 0, ebx, 3, none},
    {"avx2", 7, 0, ebx, 5, ymm},
    {"bmi2", 7, 0, ebx, 8, none},
    {"invpcid", 7, 0, ebx, 10, none},
    {"rtm", 7, 0, ebx, 11, none},
    {"avx512f", 7, 0, ebx, 16, zmm},
    // Since AVX10, LLVM says apart whether 512-bit registers are there; AVX-512 itself always has them.
    {"evex512", 7, 0, ebx, 16, zmm},
    {"avx512dq", 7, 0, ebx, 17, zmm},
    {"rdseed", 7, 0, ebx, 18, none},
    {"adx", 7, 0, ebx, 19, none},
    {"avx512ifma", 7, 0, ebx, 21, zmm},
    {"clflushopt", 7, 0, ebx, 23, none},
    {"clwb", 7, 0, ebx, 24, none},
    {"avx512cd", 7, 0, ebx, 28, zmm},
    {"sha", 7, 0, ebx, 29, none},
    {"avx512bw", 7, 0, ebx, 30, zmm},
    {"avx512vl", 7, 0, ebx, 31, zmm},
    {"avx512vbmi", 7, 0, ecx, 1, zmm},
    {"pku", 7, 0, ecx, 4, none},
    {"waitpkg", 7, 0, ecx, 5, none},
    {"avx512vbmi2", 7, 0, ecx, 6, zmm},
    {"shstk", 7, 0, ecx, 7, none},
    {"gfni", 7, 0, ecx, 8, none},
    {"vaes", 7, 0, ecx, 9, ymm},
    {"vpclmulqdq", 7, 0, ecx, 10, ymm},
    {"avx512vnni", 7, 0, ecx, 11, zmm},
    {"avx512bitalg", 7, 0, ecx, 12, zmm},
    {"avx512vpopcntdq", 7, 0, ecx, 14, zmm},
    {"rdpid", 7, 0, ecx, 22, none},
    {"cldemote", 7, 0, ecx, 25, none},
    {"movdiri", 7, 0, ecx, 27, none},
    {"movdir64b", 7, 0, ecx, 28, none},
    {"enqcmd", 7, 0, ecx, 29, none},
    {"uintr", 7, 0, edx, 5, none},
    {"avx512vp2intersect", 7, 0, edx, 8, zmm},
    {"serialize", 7, 0, edx, 14, none},
    {"tsxldtrk", 7, 0, edx, 16, none},
    {"pconfig", 7, 0, edx, 18, none},
    {"amx-bf16", 7, 0, edx, 22, tile},
    {"avx512fp16", 7, 0, edx, 23, zmm},
    {"amx-tile", 7, 0, edx, 24, tile},
    {"amx-int8", 7, 0, edx, 25, tile},
    {"sha512", 7, 1, eax, 0, ymm},
    {"sm3", 7, 1, eax, 1, ymm},
    {"sm4", 7, 1, eax, 2, ymm},
    {"avxvnni", 7, 1, eax, 4, ymm},
    {"avx512bf16", 7, 1, eax, 5, zmm},
    {"cmpccxadd", 7, 1, eax, 7, none},
    {"amx-fp16", 7, 1, eax, 21, tile},
    {"hreset", 7, 1, eax, 22, none},
    {"avxifma", 7, 1, eax, 23, ymm},
    {"avxvnniint8", 7, 1, edx, 4, ymm},
    {"avxneconvert", 7, 1, edx, 5, ymm},
    {"amx-complex", 7, 1, edx, 8, tile},
    {"avxvnniint16", 7, 1, edx, 10, ymm},
    {"prefetchi", 7, 1, edx, 14, none},
    {"xsaveopt", 0xd, 1, eax, 0, ymm},
    {"xsavec", 0xd, 1, eax, 1, ymm},
    {"xsaves", 0xd, 1, eax, 3, ymm},
    {"ptwrite", 0x14, 0, ebx, 4, none},
    {"sahf", 0x80000001, 0, ecx, 0, none},
    {"lzcnt", 0x80000001, 0, ecx, 5, none},
    {"sse4a", 0x80000001, 0, ecx, 6, none},
    {"prfchw", 0x80000001, 0, ecx, 8, none},
    {"xop", 0x80000001, 0, ecx, 11, ymm},
    {"fma4", 0x80000001, 0, ecx, 16, ymm},
    {"tbm", 0x80000001, 0, ecx, 21, none},
    {"mwaitx", 0x80000001, 0, ecx, 29, none},
    {"64bit", 0x80000001, 0, edx, 29, none},
    {"clzero", 0x80000008, 0, ebx, 0, none},
    {"rdpru", 0x80000008, 0, ebx, 4, none},
    {"wbnoinvd", 0x80000008, 0, ebx, 9, none},
};

uint64_t enabled_states() {
  uint32_t values[4];
  // Without OSXSAVE the instruction below would trap.
  if (!__get_cpuid(1, &values[eax], &values[ebx], &values[ecx], &values[edx]) || !(values[ecx] >> 27 & 1))
    return 0;
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

// One more than there are rows: x87 needs no asking.
static_assert(sizeof(rows) / sizeof(rows[0]) < sizeof(host_description::features) / sizeof(char *), "room for all");

void detect_features(host_description *out) {
  out->features[out->feature_count++] = "x87";
  const uint64_t states = enabled_states();
  const feature_row *leaf = nullptr; // whose values these are
  uint32_t values[4] = {};
  for (const feature_row &row : rows) {
    // Rows of one leaf stand together. In a virtual machine the instruction takes some 20 us: once a leaf is enough.
    if (!leaf || leaf->leaf != row.leaf || leaf->subleaf != row.subleaf) {
      leaf = &row;
      if (!__get_cpuid_count(row.leaf, row.subleaf, &values[eax], &values[ebx], &values[ecx], &values[edx]))
        std::memset(values, 0, sizeof(values));
    }
    if ((values[row.in] >> row.bit & 1) && (states & row.needs) == row.needs)
      out->features[out->feature_count++] = row.name;
  }
}

void detect_name(host_description *out) {
  uint32_t words[12] = {};
  for (uint32_t i = 0; i < 3; ++i)
    __get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2], &words[4 * i + 3]);
  // Zeros end it; some CPUs pad it with spaces on the left, some on the right.
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  const char *begin = text + std::strspn(text, " ");
  size_t length = std::strlen(begin);
  while (length != 0 && begin[length - 1] == ' ')
    --length;
  std::memcpy(out->name, length ? begin : "unknown", length ? length : 7);
}

/// Vendor, family and model as AMD's and Intel's manuals put them together (CPUID leaves 0 and 1).
void detect_design(host_description *out) {
  uint32_t values[4] = {};
  if (__get_cpuid(0, &values[eax], &values[ebx], &values[ecx], &values[edx])) {
    std::memcpy(out->vendor, &values[ebx], 4);
    std::memcpy(out->vendor + 4, &values[edx], 4);
    std::memcpy(out->vendor + 8, &values[ecx], 4);
  }
  if (!__get_cpuid(1, &values[eax], &values[ebx], &values[ecx], &values[edx]))
    return;
  const uint32_t bits = values[eax];
  out->family = bits >> 8 & 15;
  out->model = bits >> 4 & 15;
  if (out->family == 6 || out->family == 15)
    out->model += (bits >> 16 & 15) << 4;
  if (out->family == 15)
    out->family += bits >> 20 & 255;
}

constexpr const char *architecture = "x86-64";

#else

// No target of another architecture exists yet, so no feature counts as there and every artifact is refused.
void detect_features(host_description *) {}
void detect_name(host_description *out) { std::memcpy(out->name, "unknown", 7); }
void detect_design(host_description *out) { std::memcpy(out->vendor, "unknown", 7); }
constexpr const char *architecture = "unsupported";

#endif

const host_description &describe_host() {
  static const host_description host = [] {
    host_description made = {};
    detect_features(&made);
    detect_name(&made);
    detect_design(&made);
    return made;
  }();
  return host;
}

uint64_t cache_bytes(int name) {
  const long bytes = sysconf(name);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

} // namespace

bool has_feature(const char *name) {
  const host_description &host = describe_host();
  return std::any_of(host.features, host.features + host.feature_count,
                     [&](const char *feature) { return std::strcmp(feature, name) == 0; });
}

} // namespace heddle::runtime::cpu

const heddle_host_info_t *heddle_host_info(void) {
  using namespace heddle::runtime::cpu;
  static const heddle_host_info_t info = {architecture,
                                          describe_host().name,
                                          describe_host().features,
                                          describe_host().feature_count,
                                          cache_bytes(_SC_LEVEL1_DCACHE_SIZE),
                                          cache_bytes(_SC_LEVEL2_CACHE_SIZE),
                                          cache_bytes(_SC_LEVEL3_CACHE_SIZE),
                                          heddle_default_thread_count()};
  return &info;
}

const heddle_cpu_design_t *heddle_cpu_design(void) {
  using namespace heddle::runtime::cpu;
  static const heddle_cpu_design_t design = {describe_host().vendor, describe_host().family, describe_host().model};
  return &design;
}
