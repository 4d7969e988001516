// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening model files, and telling what a file is by its first bytes.

#include "compiler/import/onnx/ModelFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace heddle::importer {

FailureOr<ModelFile> ModelFile::open(llvm::StringRef path, ErrorList &errors) {
  auto unreadable = [&](const llvm::Twine &reason, llvm::StringRef help = "") {
    return errors.add({ErrorCode::H0511, ("can't read '" + path + "': " + reason).str(), "", help.str()});
  };
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return unreadable(error.message());
  if (llvm::sys::fs::is_directory(status))
    return unreadable("it is a folder", "give the .onnx file in it");
  // A pipe or a device has no length, and its bytes can't be found again when weights are packed.
  if (!llvm::sys::fs::is_regular_file(status))
    return unreadable("it is no regular file");
  // Not terminated by a zero, so that it can be mapped whatever its length is.
  auto opened = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!opened)
    return unreadable(opened.getError().message());
  ModelFile file;
  file.path = path.str();
  file.buffer = std::move(*opened);
  if (file.bytes().empty())
    return errors.add(
        {ErrorCode::H0512, "'" + file.path + "' is empty, not an ONNX model", "", "copy or download the file again"});
  return file;
}

llvm::StringRef ModelFile::getName() const { return llvm::sys::path::filename(path); }

llvm::StringRef ModelFile::getFolder() const {
  llvm::StringRef folder = llvm::sys::path::parent_path(path);
  return folder.empty() ? "." : folder;
}

namespace {

/// A format by the bytes at an offset, and what the user can do about it.
struct Format {
  size_t offset;
  llvm::StringLiteral magic;
  llvm::StringLiteral what;
  llvm::StringLiteral help;
};

/// In the order in which they are tried; the first that fits is reported.
constexpr Format kFormats[] = {
    {0, "version https://git-lfs", "a Git LFS pointer, not the model itself", "fetch the real file: git lfs pull"},
    {0, "PK\x03\x04", "a zip archive (a PyTorch checkpoint or a package)",
     "unpack it, or export the model with torch.onnx.export"},
    {0, "\x1f\x8b", "gzip-compressed", "uncompress it"},
    {0, "\x28\xb5\x2f\xfd", "zstd-compressed", "uncompress it"},
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras model)", "export the model with tf2onnx"},
    {0, "GGUF", "a GGUF file", "export the original model to ONNX"},
    {4, "TFL3", "a TensorFlow Lite model", "convert it with tf2onnx --tflite"},
    {4, "ORTM", "a model in onnxruntime's own format", "give the .onnx file that it was made from"},
    {0, "HEDDLE\r\n", "a compiled artifact of Heddle", "run it with `heddle run`; to compile, give the .onnx file"},
    {0,
     "\x7f"
     "ELF",
     "a program or library", ""},
    {0, "\x93NUMPY", "a NumPy array", ""},
};

/// A pickle starts with its protocol and, in protocols 4 and 5, with a frame or an opcode that no tag of a model is.
bool isPickle(llvm::StringRef bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5 && bytes.ends_with(".");
}

/// safetensors: the length of a JSON header as u64, then the header.
bool isSafetensors(llvm::StringRef bytes) {
  return bytes.size() > 10 && bytes[8] == '{' && (bytes[9] == '"' || bytes[9] == '}') &&
         bytes.substr(3, 5) == llvm::StringRef("\0\0\0\0\0", 5);
}

/// Whether the first bytes are what a person could have typed, in UTF-8.
bool isText(llvm::StringRef bytes) {
  return llvm::all_of(bytes.take_front(512), [](char c) {
    return llvm::isPrint(c) || llvm::isSpace(c) || static_cast<unsigned char>(c) >= 0x80;
  });
}

LogicalResult report(const ModelFile &file, llvm::StringRef what, llvm::StringRef help, ErrorList &errors) {
  return errors.add(
      {ErrorCode::H0512, ("'" + file.getPath() + "' is " + what + ", not an ONNX model").str(), "", help.str()});
}

} // namespace

LogicalResult reportOtherFormat(const ModelFile &file, ErrorList &errors) {
  llvm::StringRef bytes = file.bytes();
  for (const Format &format : kFormats)
    if (bytes.substr(format.offset).starts_with(format.magic))
      return report(file, format.what, format.help, errors);
  if (isPickle(bytes))
    return report(file, "a Python pickle (a PyTorch checkpoint)", "export the model with torch.onnx.export", errors);
  if (isSafetensors(bytes))
    return report(file, "a safetensors file", "export the model to ONNX, for instance with optimum-cli export onnx",
                  errors);
  if (bytes.ltrim().starts_with_insensitive("<!doctype html") || bytes.ltrim().starts_with_insensitive("<html"))
    return report(file, "a web page", "download the file itself, not the page that shows it", errors);
  if (isText(bytes))
    return report(file, "a text file", "", errors);
  return success();
}

} // namespace heddle::importer
