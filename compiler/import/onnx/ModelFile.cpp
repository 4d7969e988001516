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

constexpr llvm::StringLiteral kGitLfsMagic = "version https://git-lfs";

/// In the order in which they are tried; the first that fits is reported.
constexpr Format kFormats[] = {
    {0, kGitLfsMagic, "a Git LFS pointer", "fetch the real file: git lfs pull"},
    {0, "\x1f\x8b", "gzip-compressed", "uncompress it"},
    {0, "\x28\xb5\x2f\xfd", "zstd-compressed", "uncompress it"},
    {0, "BZh", "bzip2-compressed", "uncompress it"},
    {0,
     "\xfd"
     "7zXZ",
     "xz-compressed", "uncompress it"},
    {0, "7z\xbc\xaf", "a 7-Zip archive", "unpack it"},
    {257, "ustar", "a tar archive", "unpack it"},
    {0, "\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras model)", "export the model with tf2onnx"},
    {0, "GGUF", "a GGUF file", "export the original model to ONNX"},
    {4, "TFL3", "a TensorFlow Lite model", "convert it with tf2onnx --tflite"},
    {4, "ORTM", "a model in onnxruntime's own format (.ort)", "give the .onnx file that it was made from"},
    {0, "HEDDLE\r\n", "a compiled artifact of Heddle", "run it with `heddle run`; to compile, give the .onnx file"},
    {0,
     "\x7f"
     "ELF",
     "a program or library", ""},
    {0, "\x93NUMPY", "a NumPy array", "arrays are inputs of `heddle run`; to compile, give the .onnx file"},
    {0, "\x89PNG", "a PNG image", ""},
    {0, "\xff\xd8\xff", "a JPEG image", ""},
    {0, "%PDF", "a PDF document", ""},
};

/// A format that needs more than a look at one place.
struct Finding {
  llvm::StringRef what;
  llvm::StringRef help;
};

constexpr llvm::StringLiteral kExportTorch = "export the model with torch.onnx.export";
constexpr llvm::StringLiteral kConvertTensorFlow = "convert the model with tf2onnx";

/// What a zip archive holds is told by the names in it. They stand at the end too, where archives have their directory.
Finding describeZip(llvm::StringRef bytes) {
  constexpr size_t kLooked = 64 << 10;
  auto has = [&](llvm::StringRef name) {
    return bytes.take_front(kLooked).contains(name) || bytes.take_back(kLooked).contains(name);
  };
  if (has("constants.pkl"))
    return {"a TorchScript model", kExportTorch};
  if (has("data.pkl"))
    return {"a PyTorch checkpoint", kExportTorch};
  if (has("model.weights.h5"))
    return {"a Keras model", kConvertTensorFlow};
  if (has(".npy"))
    return {"an archive of NumPy arrays (.npz)", "arrays are inputs of `heddle run`; to compile, give the .onnx file"};
  return {"a zip archive", "unpack it"};
}

/// A pickle starts with its protocol. It needn't end where the file does: old checkpoints have raw data behind theirs.
bool isPickle(llvm::StringRef bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
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

/// TensorFlow's messages look like a model's: a SavedModel has version 1 and then a graph where ONNX has its producer's
/// name; a GraphDef has a list of nodes, each of a name and an operator, in place of the version.
bool isSavedModel(llvm::StringRef bytes) {
  return bytes.starts_with("\x08\x01\x12") && bytes.take_front(4096).contains("serve");
}
bool isGraphDef(llvm::StringRef bytes) {
  if (bytes.size() < 4 || bytes[0] != '\n')
    return false;
  // The length of the first node, in one byte or two; then its name, field 1 again.
  size_t name = static_cast<uint8_t>(bytes[1]) < 0x80 ? 2 : 3;
  if (bytes[name] != '\n' || name + 1 >= bytes.size())
    return false;
  size_t op = name + 2 + static_cast<uint8_t>(bytes[name + 1]);
  return op + 2 < bytes.size() && bytes[op] == '\x12' && llvm::isAlpha(bytes[op + 2]);
}

/// What a text is about, as far as its beginning tells.
Finding describeText(llvm::StringRef bytes) {
  llvm::StringRef text = bytes.ltrim();
  if (text.starts_with_insensitive("<!doctype html") || text.starts_with_insensitive("<html"))
    return {"a web page", "download the file itself, not the page that shows it"};
  if (text.starts_with("<?xml") || text.starts_with("<net"))
    return text.take_front(1024).contains("<net")
               ? Finding{"an OpenVINO model", "give the .onnx file that it was made from"}
               : Finding{"an XML file", ""};
  if (text.starts_with("{") || text.starts_with("["))
    return {"a JSON file", "give the .onnx file beside it"};
  if (text.starts_with("---") || text.starts_with("%YAML"))
    return {"a YAML file", "give the .onnx file beside it"};
  return {"a text file", "`heddle compile` takes .onnx files"};
}

/// "4f 67 67 53", the first bytes of a file that nothing is known of.
std::string describeFirstBytes(llvm::StringRef bytes) {
  std::string text;
  for (char byte : bytes.take_front(4))
    text += (text.empty() ? "" : " ") + llvm::toHex(llvm::StringRef(&byte, 1), /*LowerCase=*/true);
  return text;
}

LogicalResult report(const ModelFile &file, llvm::StringRef what, llvm::StringRef help, ErrorList &errors) {
  return errors.add(
      {ErrorCode::H0512, ("'" + file.getPath() + "' is " + what + ", not an ONNX model").str(), "", help.str()});
}

} // namespace

bool isGitLfsPointer(llvm::StringRef bytes) { return bytes.starts_with(kGitLfsMagic); }

LogicalResult reportOtherFormat(const ModelFile &file, ErrorList &errors) {
  llvm::StringRef bytes = file.bytes();
  for (const Format &format : kFormats)
    if (bytes.substr(format.offset).starts_with(format.magic))
      return report(file, format.what, format.help, errors);
  std::optional<Finding> finding;
  if (bytes.starts_with("PK\x03\x04"))
    finding = describeZip(bytes);
  else if (isPickle(bytes))
    finding = {"a Python pickle (a PyTorch checkpoint)", kExportTorch};
  else if (isSafetensors(bytes))
    finding = {"a safetensors file", "export the model to ONNX, for instance with optimum-cli export onnx"};
  else if (isSavedModel(bytes))
    finding = {"a TensorFlow SavedModel", kConvertTensorFlow};
  else if (isGraphDef(bytes))
    finding = {"a TensorFlow graph", kConvertTensorFlow};
  else if (isText(bytes))
    finding = describeText(bytes);
  if (finding)
    return report(file, finding->what, finding->help, errors);
  // Every writer of models begins with the version; what begins so is a model that isn't whole.
  if (bytes.starts_with("\x08"))
    return success();
  return report(file, "of an unknown format (it begins with " + describeFirstBytes(bytes) + ")", "", errors);
}

} // namespace heddle::importer
