// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/tuning/TuningFile.h"

#include "compiler/support/PrintableText.h"
#include "compiler/targets/RowBucket.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace heddle;

/// A real line has about a kilobyte; a shader's with all its numbers two.
static constexpr size_t kMostLineBytes = 64 << 10;
static constexpr uint64_t kMostFileBytes = 256 << 20;
/// llvm::json reads values by recursion, so that depth is stack.
static constexpr unsigned kMostDepth = 32;
static constexpr int64_t kVersion = 1;

/// How deep the brackets of |line| nest; those within strings count as well, which no real line has many of.
static unsigned countDepth(StringRef line) {
  unsigned depth = 0, most = 0;
  for (char c : line) {
    if (c == '[' || c == '{')
      most = std::max(most, ++depth);
    else if ((c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return most;
}

static bool isSignature(StringRef text) {
  constexpr size_t kMostSignature = 256;
  return !text.empty() && text.size() <= kMostSignature &&
         llvm::all_of(text, [](char c) { return llvm::isAlnum(c) || c == '_' || c == '?'; });
}

/// What |value| is, for a message.
static std::string describe(const llvm::json::Value *value) {
  constexpr size_t kShown = 40;
  if (!value)
    return "none";
  std::string text;
  llvm::raw_string_ostream(text) << *value;
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

/// The entry that |line| is; else what is wrong with it, in |problem|.
static std::optional<TuningEntry> parseLine(StringRef line, std::string &problem) {
  auto expects = [&](StringRef field, StringRef what, const llvm::json::Value *got) {
    problem = ("expects " + field + " " + what + ", got ").str() + describe(got);
    return std::nullopt;
  };
  if (line.size() > kMostLineBytes || countDepth(line) > kMostDepth) {
    problem = "is longer or nested more deeply than any entry";
    return std::nullopt;
  }
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value) {
    problem = "isn't JSON: " + llvm::toString(value.takeError());
    return std::nullopt;
  }
  llvm::json::Object *object = value->getAsObject();
  if (!object) {
    problem = "expects an object, got " + describe(&*value);
    return std::nullopt;
  }
  if (object->getInteger("heddle_tuning") != kVersion)
    return expects("\"heddle_tuning\"", "1, the version of this format", object->get("heddle_tuning"));
  llvm::json::Object *device = object->getObject("device"), *config = object->getObject("config");
  std::optional<StringRef> kind = device ? device->getString("kind") : std::nullopt;
  if (kind != "cpu" && kind != "vulkan")
    return expects("\"device\"", "with \"kind\" of \"cpu\" or \"vulkan\"", object->get("device"));
  std::optional<StringRef> signature = object->getString("signature"), rows = object->getString("rows");
  if (!signature || !isSignature(*signature))
    return expects("\"signature\"", "of a kernel", object->get("signature"));
  if (!rows || (*rows != kAnyRows && !parseRowBucket(*rows)))
    return expects("\"rows\"", "as one of the buckets, such as \"2-4\", or \"any\"", object->get("rows"));
  if (!config)
    return expects("\"config\"", "as an object", object->get("config"));
  return TuningEntry{std::move(*device), signature->str(), rows->str(), std::move(*config)};
}

TuningFile heddle::parseTuningFile(StringRef name, StringRef text) {
  TuningFile file;
  file.name = name.str();
  for (size_t number = 1; !text.empty(); ++number) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    line = line.trim(" \t\r");
    if (line.empty())
      continue;
    std::string problem;
    if (std::optional<TuningEntry> entry = parseLine(line, problem))
      file.entries.push_back(std::move(*entry));
    else
      file.problems.push_back("line " + std::to_string(number) + ": " + makePrintable(problem, /*keepsLines=*/false));
  }
  return file;
}

LogicalResult heddle::readTuningFile(StringRef path, TuningFile &out, ErrorList &errors) {
  auto refuse = [&](const std::string &why) {
    return errors.add({ErrorCode::H0525, "tuning file '" + path.str() + "' can't be used: " + why, "",
                       "heddle tune MODEL -o FILE writes one"});
  };
  llvm::sys::fs::file_status status;
  if (std::error_code error = llvm::sys::fs::status(path, status))
    return refuse(error.message());
  if (status.type() != llvm::sys::fs::file_type::regular_file)
    return refuse("it is no regular file");
  if (status.getSize() > kMostFileBytes)
    return refuse("it is larger than any tuning file");
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return refuse(buffer.getError().message());
  out = parseTuningFile(llvm::sys::path::filename(path), (*buffer)->getBuffer());
  if (out.entries.empty() && !out.problems.empty())
    return refuse(out.problems.front());
  return success();
}
