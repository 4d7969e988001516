// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lld as a library. It works on files, so objects and result pass through a temporary folder; nothing of its path
// enters the image. One linker script puts everything into a single segment that is read and executed: a loader has
// one mapping to make, and offsets in the file equal virtual addresses.

#include "compiler/targets/cpu/LinkImage.h"

#include <mutex>

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

LLD_HAS_DRIVER(elf)

namespace heddle::cpu {

using llvm::Expected;
using llvm::StringRef;

static constexpr llvm::StringLiteral kLinkerScript = R"(
PHDRS { image PT_LOAD FILEHDR PHDRS FLAGS(5); table PT_DYNAMIC FLAGS(4); }
SECTIONS {
  . = SIZEOF_HEADERS;
  .dynsym : { *(.dynsym) } :image
  .hash : { *(.hash) } :image
  .gnu.hash : { *(.gnu.hash) } :image
  .dynstr : { *(.dynstr) } :image
  .rodata : { *(.rodata .rodata.*) } :image
  .eh_frame : { KEEP(*(.eh_frame)) } :image
  .text : { *(.text .text.*) } :image
  .dynamic : { *(.dynamic) } :image :table
  /DISCARD/ : { *(.comment) *(.note .note.*) }
}
)";

static llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message.str());
}

namespace {

/// A temporary folder that goes with its owner.
class TemporaryFolder {
public:
  ~TemporaryFolder() {
    if (path.empty())
      return;
    // What can't be removed is left to whoever empties the system's temporary folder.
    [[maybe_unused]] std::error_code leftover = llvm::sys::fs::remove_directories(path);
  }
  llvm::Error create() {
    if (std::error_code code = llvm::sys::fs::createUniqueDirectory("heddle-link", path))
      return error("can't create a temporary folder to link in: " + llvm::Twine(code.message()));
    return llvm::Error::success();
  }
  std::string file(const llvm::Twine &name) const {
    llvm::SmallString<128> result = path;
    llvm::sys::path::append(result, name);
    return std::string(result);
  }
  llvm::Error write(const llvm::Twine &name, StringRef bytes) const {
    std::error_code code;
    llvm::raw_fd_ostream stream(file(name), code);
    if (!code) {
      stream << bytes;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    return code ? error("can't write '" + file(name) + "': " + code.message()) : llvm::Error::success();
  }

private:
  llvm::SmallString<128> path;
};

} // namespace

static llvm::MemoryBufferRef asBuffer(llvm::ArrayRef<char> bytes, StringRef name) {
  return llvm::MemoryBufferRef(StringRef(bytes.data(), bytes.size()), name);
}

Expected<std::vector<std::string>> findUndefinedSymbols(const KernelObject &object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(asBuffer(object.bytes, object.kernel));
  if (!file)
    return file.takeError();
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) && !name->empty())
      names.push_back(name->str());
  }
  return names;
}

/// An image must hold nothing that a loader would have to change.
static llvm::Error checkImage(const llvm::object::ELF64LEObjectFile &file) {
  for (const llvm::object::ELFSectionRef section : file.sections()) {
    bool isRelocation = section.getType() == llvm::ELF::SHT_RELA || section.getType() == llvm::ELF::SHT_REL ||
                        section.getType() == llvm::ELF::SHT_RELR;
    bool isWritable = (section.getFlags() & llvm::ELF::SHF_ALLOC) && (section.getFlags() & llvm::ELF::SHF_WRITE) &&
                      section.getSize() != 0;
    if (!isRelocation && !isWritable)
      continue;
    Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    return error("the kernel image has " + llvm::Twine(isRelocation ? "relocations" : "writable data") +
                 " in section " + *name);
  }
  return llvm::Error::success();
}

static Expected<KernelImage> readImage(llvm::ArrayRef<char> bytes, llvm::ArrayRef<KernelObject> objects) {
  auto parsed = llvm::object::ObjectFile::createELFObjectFile(asBuffer(bytes, "image"));
  if (!parsed)
    return parsed.takeError();
  auto *file = llvm::dyn_cast<llvm::object::ELF64LEObjectFile>(parsed->get());
  if (!file)
    return error("the linked image is no 64-bit ELF file");
  if (llvm::Error problem = checkImage(*file))
    return problem;
  std::map<std::string, uint64_t> addresses;
  for (const llvm::object::ELFSymbolRef symbol : file->getDynamicSymbolIterators()) {
    Expected<StringRef> name = symbol.getName();
    Expected<uint64_t> address = symbol.getAddress();
    if (!name || !address)
      return llvm::joinErrors(name.takeError(), address.takeError());
    addresses[name->str()] = *address;
  }
  KernelImage image;
  image.bytes.assign(bytes.begin(), bytes.end());
  for (const KernelObject &object : objects) {
    if (object.kernel.empty())
      continue;
    auto found = addresses.find(object.kernel);
    if (found == addresses.end())
      return error("the linked image lacks kernel '" + object.kernel + "'");
    image.addresses.emplace_back(object.kernel, found->second);
  }
  return image;
}

static llvm::Error runLinker(llvm::ArrayRef<std::string> arguments) {
  std::vector<const char *> pointers;
  for (const std::string &argument : arguments)
    pointers.push_back(argument.c_str());
  // lld keeps its state in globals: one link at a time.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  lld::Result result = lld::lldMain(pointers, llvm::nulls(), stream, {{lld::Gnu, &lld::elf::link}});
  return result.retCode == 0 ? llvm::Error::success() : error("the linker failed: " + messages);
}

Expected<KernelImage> linkImage(llvm::ArrayRef<KernelObject> objects) {
  TemporaryFolder folder;
  if (llvm::Error problem = folder.create())
    return problem;
  if (llvm::Error problem = folder.write("image.ld", kLinkerScript))
    return problem;
  std::string output = folder.file("image.so");
  std::vector<std::string> arguments = {"ld.lld",
                                        "-shared",
                                        "-nostdlib",
                                        "--no-undefined",
                                        "--build-id=none",
                                        "-z",
                                        "rodynamic",
                                        "--hash-style=sysv",
                                        "--strip-all",
                                        "-z",
                                        "norelro",
                                        "--threads=1",
                                        "--no-eh-frame-hdr",
                                        "-T",
                                        folder.file("image.ld"),
                                        "-o",
                                        output};
  for (auto [i, object] : llvm::enumerate(objects)) {
    std::string name = llvm::utostr(i) + ".o";
    if (llvm::Error problem = folder.write(name, StringRef(object.bytes.data(), object.bytes.size())))
      return problem;
    arguments.push_back(folder.file(name));
  }
  if (llvm::Error problem = runLinker(arguments))
    return problem;
  auto bytes = llvm::MemoryBuffer::getFile(output, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!bytes)
    return error("can't read the linked image: " + bytes.getError().message());
  return readImage(llvm::ArrayRef<char>((*bytes)->getBufferStart(), (*bytes)->getBufferSize()), objects);
}

} // namespace heddle::cpu
