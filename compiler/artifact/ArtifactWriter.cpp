// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Header, code sections, weights section, program: in that order, because the program holds the checksums of the
// others.

#include "compiler/artifact/ArtifactWriter.h"

#include "compiler/artifact/ArtifactFile.h"
#include "compiler/artifact/CandidateTables.h"
#include "compiler/artifact/ConstantStream.h"
#include "compiler/artifact/ProgramTables.h"
#include "compiler/artifact/ShaderTables.h"
#include "dialects/rt/RtDialect.h"
#include "runtime/include/heddle/artifact_generated.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"

#include <climits>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <heddle/artifact_format.h>
#include <heddle/executable_abi.h>

using namespace heddle;
using namespace mlir;

namespace {

class ArtifactWriter {
public:
  ArtifactWriter(ModuleOp module, ArrayRef<TargetImage> images, const ArtifactOptions &options)
      : module(module), images(images), options(options) {}

  /// All tables that need no bytes of sections.
  LogicalResult prepare();
  LogicalResult write(ArtifactFile &file);
  llvm::Error commit(ArtifactFile &file);

private:
  LogicalResult checkTargets();
  LogicalResult addTarget(const TargetImage &image);
  LogicalResult addAddresses(const TargetImage &image, fb::TargetT &target);
  uint32_t addSection(fb::SectionKind kind, const FileSection &section);
  LogicalResult writeConstants(ArtifactFile &file);

  ModuleOp module;
  ArrayRef<TargetImage> images;
  const ArtifactOptions &options;
  fb::ProgramT program;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

LogicalResult ArtifactWriter::checkTargets() {
  auto names = module->getAttrOfType<ArrayAttr>(rt::kTargetsAttrName);
  bool areEqual = names && names.size() == images.size();
  for (size_t i = 0; areEqual && i < images.size(); ++i)
    areEqual = names[i] == StringAttr::get(module.getContext(), images[i].name);
  // Dispatches list their work sizes in this order.
  if (!areEqual)
    return module.emitOpError() << "expects " << rt::kTargetsAttrName << " to name the " << images.size()
                                << " images' targets in order, got " << names;
  return success();
}

LogicalResult ArtifactWriter::addAddresses(const TargetImage &image, fb::TargetT &target) {
  llvm::StringMap<uint64_t> addresses;
  for (const auto &[name, address] : image.addresses)
    addresses[name] = address;
  for (const auto &kernel : program.kernels) {
    auto found = addresses.find(kernel->name);
    if (found == addresses.end())
      return module.emitOpError() << "expects code for kernel '" << kernel->name << "' in the image for " << image.name;
    target.kernels.push_back(found->second);
  }
  return success();
}

LogicalResult ArtifactWriter::addTarget(const TargetImage &image) {
  auto target = std::make_unique<fb::TargetT>();
  target->name = image.name;
  target->features = image.features;
  bool hasShaders = !image.shaders.empty();
  if (failed(hasShaders ? addShaders(module, image, program, *target) : addAddresses(image, *target)))
    return failure();
  program.targets.push_back(std::move(target));
  return success();
}

LogicalResult ArtifactWriter::prepare() {
  program.producer = "heddle " HEDDLE_VERSION " (LLVM " LLVM_VERSION_STRING ")";
  program.model = options.model;
  for (const auto &[key, value] : options.options) {
    auto option = std::make_unique<fb::OptionT>();
    option->key = key;
    option->value = value;
    program.options.push_back(std::move(option));
  }
  if (failed(checkTargets()) || failed(buildProgramTables(module, images.size(), program)) ||
      failed(addCandidates(module, options.candidates, program)))
    return failure();
  for (const TargetImage &image : images)
    if (failed(addTarget(image)))
      return failure();
  return success();
}

uint32_t ArtifactWriter::addSection(fb::SectionKind kind, const FileSection &section) {
  auto table = std::make_unique<fb::SectionT>();
  table->kind = kind;
  table->offset = section.offset;
  table->length = section.length;
  table->checksum = section.checksum;
  program.sections.push_back(std::move(table));
  return program.sections.size() - 1;
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// A truth value takes a byte.
static uint8_t storedBits(Type element) { return element.isInteger(1) ? CHAR_BIT : element.getIntOrFloatBitWidth(); }

LogicalResult ArtifactWriter::writeConstants(ArtifactFile &file) {
  if (module.getOps<rt::ConstantOp>().empty())
    return success();
  file.beginSection(HEDDLE_SECTION_ALIGNMENT);
  uint64_t start = file.getOffset();
  uint32_t section = program.sections.size();
  for (auto constant : module.getOps<rt::ConstantOp>()) {
    file.align(HEDDLE_BUFFER_ALIGNMENT);
    file.mark();
    if (failed(streamConstant(constant, [&](ArrayRef<uint8_t> bytes) { file.write(bytes); })))
      return failure();
    auto table = std::make_unique<fb::ConstantT>();
    uint64_t first = file.getMark(), length = file.getOffset() - first;
    table->section = section;
    // Tied weights occur twice in many files.
    table->offset = file.takeBackRepeated().value_or(first) - start;
    table->length = length;
    table->element_bits = storedBits(cast<ShapedType>(constant.getType()).getElementType());
    program.constants.push_back(std::move(table));
  }
  addSection(fb::SectionKind::weights, file.endSection());
  return success();
}

LogicalResult ArtifactWriter::write(ArtifactFile &file) {
  static constexpr uint8_t placeholder[sizeof(heddle_artifact_header_t)] = {};
  file.write(placeholder);
  for (auto [image, target] : llvm::zip(images, program.targets)) {
    file.beginSection(HEDDLE_SECTION_ALIGNMENT);
    file.write({reinterpret_cast<const uint8_t *>(image.bytes.data()), image.bytes.size()});
    target->section = addSection(fb::SectionKind::code, file.endSection());
  }
  return writeConstants(file);
}

llvm::Error ArtifactWriter::commit(ArtifactFile &file) {
  flatbuffers::FlatBufferBuilder builder;
  fb::FinishProgramBuffer(builder, fb::Program::Pack(builder, &program));
  file.align(HEDDLE_PROGRAM_ALIGNMENT);
  heddle_artifact_header_t header = {};
  std::memcpy(header.magic, HEDDLE_ARTIFACT_MAGIC, sizeof(header.magic));
  header.format_version = HEDDLE_ARTIFACT_FORMAT_VERSION;
  header.executable_abi_version = HEDDLE_EXECUTABLE_ABI_VERSION;
  header.program_offset = file.getOffset();
  header.program_length = builder.GetSize();
  header.program_checksum = XXH64(builder.GetBufferPointer(), builder.GetSize(), 0);
  header.file_length = header.program_offset + header.program_length;
  file.write({builder.GetBufferPointer(), builder.GetSize()});
  return file.commit({reinterpret_cast<const uint8_t *>(&header), sizeof(header)});
}

//===----------------------------------------------------------------------===//
// Entry point
//===----------------------------------------------------------------------===//

LogicalResult heddle::checkLimits(ModuleOp module, StringRef model, ErrorList &errors) {
  auto exceeds = [&](const llvm::Twine &what, size_t count, size_t limit) {
    if (count <= limit)
      return success();
    return errors.add({ErrorCode::H0518,
                       ("model exceeds a limit: " + what + " " + llvm::Twine(count) + ", at most " +
                        llvm::Twine(limit) + " are possible")
                           .str(),
                       ("in " + model).str(), "split the model"});
  };
  for (auto func : module.getOps<rt::FuncOp>()) {
    size_t steps = 0;
    for (auto dispatch : func.getOps<rt::DispatchOp>()) {
      ++steps;
      StringRef node = dispatch.getNodes().empty() ? "" : cast<StringAttr>(dispatch.getNodes()[0]).getValue();
      size_t results = dispatch.getOutputs().size();
      if (failed(exceeds("operands of the kernel of node '" + node + "':", dispatch.getInputs().size() + results,
                         HEDDLE_MAX_BINDINGS)) ||
          failed(exceeds("results of the kernel of node '" + node + "':", results, HEDDLE_MAX_RESULTS)))
        return failure();
    }
    if (failed(exceeds("intermediate results:", llvm::range_size(func.getOps<rt::BufferOp>()), HEDDLE_MAX_BUFFERS)) ||
        failed(exceeds("dispatches:", steps, HEDDLE_MAX_STEPS)))
      return failure();
  }
  return success();
}

static LogicalResult addFileError(ErrorList &errors, StringRef path, llvm::Error error) {
  std::string help;
  StringRef folder = llvm::sys::path::parent_path(path);
  if (!folder.empty() && !llvm::sys::fs::is_directory(folder))
    help = llvm::sys::fs::exists(folder) ? "'" + folder.str() + "' is no folder"
                                         : "the folder '" + folder.str() + "' doesn't exist";
  return errors.add(
      {ErrorCode::H0519, "can't write '" + path.str() + "': " + llvm::toString(std::move(error)), "", help});
}

LogicalResult heddle::writeArtifact(ModuleOp module, ArrayRef<TargetImage> images, const ArtifactOptions &options,
                                    StringRef path, ErrorList &errors) {
  ArtifactWriter writer(module, images, options);
  if (failed(writer.prepare()))
    return failure();
  llvm::Expected<std::unique_ptr<ArtifactFile>> file = ArtifactFile::create(path);
  if (!file)
    return addFileError(errors, path, file.takeError());
  if (failed(writer.write(**file)))
    return failure();
  if (llvm::Error error = writer.commit(**file))
    return addFileError(errors, path, std::move(error));
  return success();
}
