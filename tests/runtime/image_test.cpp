// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loader of kernel images: what it maps, with which protection, and what it refuses.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>

#include <elf.h>
#include <unistd.h>

#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

/// The error of loading the scale model after |change| has seen its image's ELF header and program headers.
std::string image_error(const std::function<void(Elf64_Ehdr *, Elf64_Phdr *, size_t)> &change) {
  artifact_builder builder = scale_model();
  const artifact_bytes artifact = builder.build();
  std::byte *image = artifact.data() + builder.program.sections[0]->offset;
  auto *header = reinterpret_cast<Elf64_Ehdr *>(image);
  change(header, reinterpret_cast<Elf64_Phdr *>(image + header->e_phoff), header->e_phnum);
  const std::string prefix = "H0505: the artifact is damaged: ";
  std::string error = load_error(artifact);
  return error.compare(0, prefix.size(), prefix) == 0 ? error.substr(prefix.size()) : error;
}

/// The program header of |type|, with the flag |flag| set.
Elf64_Phdr *find_header(Elf64_Phdr *headers, size_t count, uint32_t type, uint32_t flag = 0) {
  for (size_t i = 0; i < count; ++i)
    if (headers[i].p_type == type && (headers[i].p_flags & flag) == flag)
      return headers + i;
  ADD_FAILURE() << "the test image has no such segment";
  return headers;
}

TEST(KernelImage, RefusesWhatIsNoImageOfThisCpu) {
  const std::string no_image = "its code is no 64-bit ELF image";
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_ident[0] = 0; }), no_image);
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_ident[EI_CLASS] = ELFCLASS32; }), no_image);
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_type = ET_EXEC; }), no_image);
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_machine = EM_AVR; }),
            "its code is for another processor than its target says");
}

TEST(KernelImage, RefusesHeadersOutsideTheImage) {
  const std::string outside = "its code's program headers lie outside the image";
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_phoff = UINT64_MAX - 10; }), outside);
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_phnum = 0xffff; }), outside);
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_phentsize = 1; }), outside);
  EXPECT_EQ(image_error([](auto *elf, auto *, size_t) { elf->e_phnum = 0; }), "its code has no segments");
}

TEST(KernelImage, RefusesSegmentsOutsideTheImage) {
  const std::string outside = "its code has a segment outside the image";
  EXPECT_EQ(image_error([](auto *, auto *headers, size_t count) {
              Elf64_Phdr *code = find_header(headers, count, PT_LOAD, PF_X);
              code->p_offset += uint64_t(1) << 40;
            }),
            outside);
  EXPECT_EQ(image_error([](auto *, auto *headers, size_t count) {
              Elf64_Phdr *code = find_header(headers, count, PT_LOAD, PF_X);
              code->p_vaddr += uint64_t(1) << 40;
            }),
            outside);
  EXPECT_EQ(image_error([](auto *, auto *headers, size_t count) {
              Elf64_Phdr *code = find_header(headers, count, PT_LOAD, PF_X);
              code->p_filesz = code->p_memsz = UINT64_MAX;
            }),
            outside);
  EXPECT_EQ(image_error(
                [](auto *, auto *headers, size_t count) { find_header(headers, count, PT_LOAD, PF_X)->p_vaddr += 8; }),
            "its code has segments that share a page or aren't aligned");
}

TEST(KernelImage, RefusesWritableCodeAndData) {
  EXPECT_EQ(image_error([](auto *, auto *headers, size_t count) {
              find_header(headers, count, PT_LOAD, PF_X)->p_flags |= PF_W;
            }),
            "its code has writable data");
  EXPECT_EQ(image_error(
                [](auto *, auto *headers, size_t count) { find_header(headers, count, PT_LOAD, PF_X)->p_memsz += 64; }),
            "its code has uninitialised data");
}

TEST(KernelImage, RefusesWhatNeedsMoreThanMapping) {
  EXPECT_EQ(image_error(
                [](auto *, auto *headers, size_t count) { find_header(headers, count, PT_DYNAMIC)->p_type = PT_TLS; }),
            "its code has thread-local data or asks for an interpreter");
  EXPECT_EQ(image_error([](auto *elf, auto *headers, size_t count) {
              Elf64_Phdr *dynamic = find_header(headers, count, PT_DYNAMIC);
              auto *entry = reinterpret_cast<Elf64_Dyn *>(reinterpret_cast<std::byte *>(elf) + dynamic->p_offset);
              entry->d_tag = DT_NEEDED;
            }),
            "its code needs relocations, initialisers or other libraries");
  EXPECT_EQ(image_error([](auto *, auto *headers, size_t count) {
              find_header(headers, count, PT_DYNAMIC)->p_offset = UINT64_MAX;
            }),
            "its code's dynamic table lies outside the image");
}

TEST(KernelImage, RefusesAKernelOutsideTheCode) {
  for (uint64_t address : {uint64_t(0), uint64_t(1) << 32, UINT64_MAX}) {
    artifact_builder builder = scale_model();
    builder.program.kernels[0]->name = "nowhere";
    builder.symbols["nowhere"] = address; // 0: the ELF header, which is mapped, but isn't code
    EXPECT_EQ(load_error(builder.build()), "H0505: the artifact is damaged: kernel 'nowhere' lies outside the code of "
                                           "target 'cpu:x86-64'");
  }
}

struct mapping {
  uintptr_t begin, end;
  std::string protection;
};

std::vector<mapping> own_mappings() {
  std::vector<mapping> mappings;
  std::ifstream file("/proc/self/maps");
  for (std::string line; std::getline(file, line);) {
    mapping mapping;
    char protection[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &mapping.begin, &mapping.end, protection) == 3) {
      mapping.protection = protection;
      mappings.push_back(mapping);
    }
  }
  return mappings;
}

TEST(KernelImage, NothingIsWritableAndExecutable) {
  const artifact_bytes artifact = scale_model().build();
  const program from_memory = load(artifact);
  auto from_file = program::load(write_file("wx", artifact.data(), artifact.size));
  ASSERT_TRUE(bool(from_file));
  for (const mapping &mapping : own_mappings())
    EXPECT_FALSE(mapping.protection[1] == 'w' && mapping.protection[2] == 'x');
}

TEST(PerfMap, NamesKernelsOnRequest) {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::remove(path.c_str());
  const artifact_bytes artifact = scale_model().build();
  setenv("HEDDLE_PERF_MAP", "0", 1);
  load(artifact);
  EXPECT_FALSE(std::ifstream(path).good());
  setenv("HEDDLE_PERF_MAP", "1", 1);
  auto program = program::load(write_file("named", artifact.data(), artifact.size));
  unsetenv("HEDDLE_PERF_MAP");
  ASSERT_TRUE(bool(program));
  std::ifstream file(path);
  uintptr_t address = 0;
  size_t size = 0;
  std::string name;
  ASSERT_TRUE(file >> std::hex >> address >> size >> name);
  EXPECT_EQ(name, "test_add");
  EXPECT_GT(size, 0u);
  bool executable = false;
  for (const mapping &mapping : own_mappings())
    executable |= address >= mapping.begin && address + size <= mapping.end && mapping.protection[2] == 'x';
  EXPECT_TRUE(executable);
  std::remove(path.c_str());
}

} // namespace
} // namespace heddle::test
