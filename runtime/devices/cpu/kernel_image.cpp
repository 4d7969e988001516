// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First all headers are read and checked, then an address range is reserved, then segments are mapped into it. Until
// the last check has passed nothing of the file is executable.

#include "runtime/devices/cpu/kernel_image.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <heddle/artifact_format.h>

#include "runtime/core/checked_math.h"

namespace heddle::runtime::cpu {

namespace {

/// Address space that one image may span; real ones take some megabytes.
constexpr uint64_t max_image_bytes = uint64_t(1) << 30;
constexpr size_t max_segment_count = 64;

#if defined(__x86_64__)
constexpr uint16_t host_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t host_machine = EM_AARCH64;
#endif

uint64_t page_bytes() { return static_cast<uint64_t>(sysconf(_SC_PAGESIZE)); }
uint64_t page_down(uint64_t address) { return address & ~(page_bytes() - 1); }
uint64_t page_up(uint64_t address) { return align_up(address, page_bytes()); }

heddle_status_t check_elf_header(const Elf64_Ehdr &header) {
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    return damaged("its code is no 64-bit ELF image");
  if (header.e_machine != host_machine)
    return damaged("its code is for another processor than its target says");
  return nullptr;
}

/// An image that needs more than mapping would run into nothing: better refused than half loaded.
heddle_status_t check_dynamic(const std::byte *image, uint64_t length, const Elf64_Phdr &dynamic) {
  if (!range_fits(dynamic.p_offset, dynamic.p_filesz, length))
    return damaged("its code's dynamic table lies outside the image");
  for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic.p_filesz; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    std::memcpy(&entry, image + dynamic.p_offset + at, sizeof(entry));
    switch (entry.d_tag) {
    case DT_NULL:
      return nullptr;
    case DT_NEEDED:
    case DT_RELA:
    case DT_REL:
    case DT_RELR:
    case DT_JMPREL:
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_TEXTREL:
      return damaged("its code needs relocations, initialisers or other libraries");
    default:
      break;
    }
  }
  return nullptr;
}

bool contains(const Elf64_Phdr &outer, const Elf64_Phdr &inner) {
  return inner.p_vaddr >= outer.p_vaddr && range_fits(inner.p_vaddr - outer.p_vaddr, inner.p_memsz, outer.p_memsz);
}

} // namespace

kernel_image::~kernel_image() {
  if (reservation_)
    munmap(reservation_, reserved_bytes_);
}

heddle_status_t kernel_image::read_segments(const std::byte *image, uint64_t length) {
  Elf64_Ehdr header;
  if (length < sizeof(header))
    return damaged("its code is no 64-bit ELF image");
  std::memcpy(&header, image, sizeof(header));
  // By copies: the image's structures are only as aligned as the file makes them.
  HEDDLE_RETURN_IF_ERROR(check_elf_header(header));
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > max_segment_count ||
      !range_fits(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr), length))
    return damaged("its code's program headers lie outside the image");
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  if (!headers.empty())
    std::memcpy(headers.data(), image + header.e_phoff, headers.size() * sizeof(Elf64_Phdr));
  // What a linker makes read-only after relocation is read-only from the start here: there are no relocations.
  auto is_relro = [&](const Elf64_Phdr &load) {
    return std::any_of(headers.begin(), headers.end(),
                       [&](const Elf64_Phdr &other) { return other.p_type == PT_GNU_RELRO && contains(other, load); });
  };
  uint64_t end = 0; // of the last segment's last page
  for (const Elf64_Phdr &load : headers) {
    if (load.p_type == PT_TLS || load.p_type == PT_INTERP)
      return damaged("its code has thread-local data or asks for an interpreter");
    if (load.p_type == PT_DYNAMIC)
      HEDDLE_RETURN_IF_ERROR(check_dynamic(image, length, load));
    if (load.p_type != PT_LOAD || load.p_memsz == 0)
      continue;
    const bool executable = (load.p_flags & PF_X) != 0;
    if ((load.p_flags & PF_W) && (executable || !is_relro(load)))
      return damaged("its code has writable data");
    // A relocation-read-only segment is padded to a page in memory; any other has no bytes beyond the file's.
    if (load.p_memsz != load.p_filesz && !is_relro(load))
      return damaged("its code has uninitialised data");
    if (!range_fits(load.p_offset, load.p_filesz, length) || load.p_vaddr > max_image_bytes ||
        load.p_memsz > max_image_bytes - load.p_vaddr)
      return damaged("its code has a segment outside the image");
    // The file's pages are mapped as they lie, so offset and address must agree within a page of any size.
    if (load.p_vaddr % page_bytes() != load.p_offset % page_bytes() || page_down(load.p_vaddr) < end)
      return damaged("its code has segments that share a page or aren't aligned");
    end = page_up(load.p_vaddr + load.p_memsz);
    if (load.p_filesz != 0)
      segments_.push_back({load.p_offset, load.p_vaddr, load.p_filesz, executable});
  }
  return segments_.empty() ? damaged("its code has no segments") : nullptr;
}

bool kernel_image::map_from_file(const segment &segment, int descriptor, uint64_t section_offset) const {
  // A mapping begins at a page; the bytes before the segment are the file's and do no harm.
  const uint64_t address = page_down(segment.address);
  const uint64_t lead = segment.address - address;
  const int protection = PROT_READ | (segment.executable ? PROT_EXEC : 0);
  return mmap(at(address), segment.size + lead, protection, MAP_PRIVATE | MAP_FIXED, descriptor,
              static_cast<off_t>(section_offset + segment.file_offset - lead)) != MAP_FAILED;
}

bool kernel_image::map_copy(const segment &segment, const std::byte *image) const {
  const uint64_t address = page_down(segment.address);
  const size_t size = page_up(segment.address + segment.size) - address;
  if (mmap(at(address), size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return false;
  std::memcpy(at(segment.address), image + segment.file_offset, segment.size);
  return mprotect(at(address), size, PROT_READ | (segment.executable ? PROT_EXEC : 0)) == 0;
}

heddle_status_t kernel_image::map_segments(const artifact_source &source, const section_table &section, bool is_copy) {
  first_page_ = page_down(segments_.front().address);
  const uint64_t end = page_up(segments_.back().address + segments_.back().size);
  // Room to move the start to a multiple of the largest page size, so that code lies alike in every run.
  reserved_bytes_ = end - first_page_ + HEDDLE_SECTION_ALIGNMENT;
  // PROT_NONE costs no memory; the segments are mapped over it, and what is between them stays untouchable.
  void *reservation = mmap(nullptr, reserved_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (reservation == MAP_FAILED)
    return out_of_memory();
  reservation_ = static_cast<std::byte *>(reservation);
  const uint64_t start = reinterpret_cast<uintptr_t>(reservation_);
  base_ = reservation_ + (align_up(start, HEDDLE_SECTION_ALIGNMENT) - start);

  const std::byte *image = source.data() + section.offset;
  for (const segment &segment : segments_) {
    if (!is_copy && source.descriptor() >= 0 && map_from_file(segment, source.descriptor(), section.offset))
      continue;
    if (!map_copy(segment, image))
      return fail(error::H0404,
                  format("the system refuses to make the artifact's code executable: %s", std::strerror(errno)),
                  "check the security policy of this process and the mount options of the artifact's folder");
  }
  return nullptr;
}

heddle_status_t kernel_image::load(const artifact_source &source, const section_table &section, bool is_copy) {
  HEDDLE_RETURN_IF_ERROR(read_segments(source.data() + section.offset, section.length));
  return map_segments(source, section, is_copy);
}

const kernel_image::segment *kernel_image::code_segment(uint64_t address) const {
  for (const segment &segment : segments_)
    if (segment.executable && address >= segment.address && address - segment.address < segment.size)
      return &segment;
  return nullptr;
}

const void *kernel_image::code_address(uint64_t address) const { return code_segment(address) ? at(address) : nullptr; }

uint64_t kernel_image::code_bytes_from(uint64_t address) const {
  const segment *segment = code_segment(address);
  return segment ? segment->address + segment->size - address : 0;
}

} // namespace heddle::runtime::cpu
