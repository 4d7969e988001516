// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assembly of the file: sections first, since the tables hold their checksums, then tables and header in their place
// at the start.

#include "compiler/artifact/ArtifactWriter.h"

#include "compiler/artifact/ProgramBuilder.h"
#include "compiler/artifact/WeightsWriter.h"
#include "runtime/include/heddle/executable_abi.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>
#include <xxhash.h>

using namespace mlir;
using namespace heddle;

static constexpr uint64_t kHeaderBytes = 64;
static constexpr uint64_t kSectionAlignment = 65536;
static constexpr uint32_t kFormatVersion = 1; // FORMAT_VERSION of artifact.fbs

namespace {
/// Counts and hashes what goes into one section of the file.
class SectionWriter {
public:
  SectionWriter(llvm::raw_fd_ostream &os, uint64_t offset) : os(os), state(XXH64_createState()) {
    XXH64_reset(state, 0);
    os.seek(offset);
  }
  ~SectionWriter() { XXH64_freeState(state); }

  void write(ArrayRef<uint8_t> bytes) {
    XXH64_update(state, bytes.data(), bytes.size());
    os.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    length += bytes.size();
  }
  void padTo(uint64_t end) {
    static const uint8_t zeros[HEDDLE_BUFFER_ALIGNMENT] = {};
    while (length < end)
      write(ArrayRef(zeros).take_front(std::min<uint64_t>(end - length, sizeof(zeros))));
  }
  uint64_t getLength() const { return length; }
  uint64_t getChecksum() const { return XXH64_digest(state); }

private:
  llvm::raw_fd_ostream &os;
  XXH64_state_t *state;
  uint64_t length = 0;
};
} // namespace

/// Sizes and places of everything but the checksums.
static FileLayout layOut(ModuleOp module, ArrayRef<TargetImage> targets, const ArtifactOptions &options) {
  FileLayout layout;
  for (const TargetImage &target : targets)
    layout.sections.push_back({fb::SectionKind::code, 0, target.bytes.size(), 0});
  uint64_t weights = 0;
  for (auto constant : module.getOps<rt::ConstantOp>()) {
    weights = llvm::alignTo(weights, HEDDLE_BUFFER_ALIGNMENT);
    layout.constants.push_back({constant, weights, getStoredBytes(constant)});
    weights += layout.constants.back().length;
  }
  layout.sections.push_back({fb::SectionKind::weights, 0, weights, 0});
  uint64_t end = kHeaderBytes + buildProgram(module, targets, options, layout).size();
  for (SectionPlace &section : layout.sections) {
    section.offset = llvm::alignTo(end, kSectionAlignment);
    end = section.offset + section.length;
  }
  return layout;
}

static LogicalResult writeSections(ArrayRef<TargetImage> targets, FileLayout &layout, llvm::raw_fd_ostream &os) {
  for (auto [target, section] : llvm::zip(targets, layout.sections)) {
    SectionWriter writer(os, section.offset);
    writer.write(ArrayRef(reinterpret_cast<const uint8_t *>(target.bytes.data()), target.bytes.size()));
    section.checksum = writer.getChecksum();
  }
  SectionPlace &weights = layout.sections.back();
  SectionWriter writer(os, weights.offset);
  for (const ConstantPlace &place : layout.constants) {
    writer.padTo(place.offset);
    if (failed(streamConstant(place.op, [&](ArrayRef<uint8_t> bytes) { writer.write(bytes); })))
      return failure();
  }
  weights.checksum = writer.getChecksum();
  return success();
}

static void writeHeader(llvm::raw_fd_ostream &os, const flatbuffers::DetachedBuffer &program, uint64_t fileLength) {
  char header[kHeaderBytes] = {};
  std::memcpy(header, "HEDDLE\r\n", 8);
  llvm::support::endian::write32le(header + 8, kFormatVersion);
  llvm::support::endian::write32le(header + 12, HEDDLE_EXECUTABLE_ABI_VERSION);
  llvm::support::endian::write64le(header + 16, fileLength);
  llvm::support::endian::write64le(header + 24, kHeaderBytes);
  llvm::support::endian::write64le(header + 32, program.size());
  llvm::support::endian::write64le(header + 40, XXH64(program.data(), program.size(), 0));
  os.seek(0);
  os.write(header, sizeof(header));
  os.write(reinterpret_cast<const char *>(program.data()), program.size());
}

/// Everything into |os|; the file's length afterwards is the last section's end.
static LogicalResult writeFile(ModuleOp module, ArrayRef<TargetImage> targets, const ArtifactOptions &options,
                               llvm::raw_fd_ostream &os, int fd) {
  FileLayout layout = layOut(module, targets, options);
  if (failed(writeSections(targets, layout, os)))
    return failure();
  const SectionPlace &last = layout.sections.back();
  uint64_t fileLength = last.offset + last.length;
  writeHeader(os, buildProgram(module, targets, options, layout), fileLength);
  os.flush();
  // A last section without bytes still ends the file where the header says.
  if (!os.has_error() && llvm::sys::fs::resize_file(fd, fileLength))
    return failure();
  return success();
}

LogicalResult heddle::writeArtifact(ModuleOp module, ArrayRef<TargetImage> targets, const ArtifactOptions &options,
                                    StringRef path, ErrorList &errors) {
  auto refuse = [&](const std::string &reason) {
    return errors.add({ErrorCode::H0519, "can't write '" + path.str() + "': " + reason, "",
                       "check that the folder exists, is writable and has room"});
  };
  llvm::Expected<llvm::sys::fs::TempFile> file = llvm::sys::fs::TempFile::create(path + ".%%%%%%.tmp");
  if (!file)
    return refuse(llvm::toString(file.takeError()));
  llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
  LogicalResult written = writeFile(module, targets, options, os, file->FD);
  std::string fault = os.has_error() ? os.error().message() : "";
  os.clear_error();
  if (failed(written) || !fault.empty()) {
    llvm::consumeError(file->discard());
    return fault.empty() ? failure() : refuse(fault);
  }
  if (llvm::Error error = file->keep(path))
    return refuse(llvm::toString(std::move(error)));
  return success();
}
