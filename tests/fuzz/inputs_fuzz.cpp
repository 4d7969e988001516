// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libFuzzer harness of what `--input` reads: .npy files, .npz archives, and literals. The first byte says which, the
// second and third the type and rank that a literal is read with.

#include "tools/heddle/inputs.h"
#include "tools/heddle/literal.h"
#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

using namespace heddle::cli;

/// Reads both ends of what was made: a tensor that is shorter than its shape says shows here.
static void touch(const heddle_tensor_t *tensor) {
  const volatile char *data = static_cast<const char *>(heddle_tensor_data(tensor));
  if (size_t length = heddle_tensor_byte_length(tensor))
    (void)(data[0] + data[length - 1]);
}

static void readArchive(std::string_view bytes) {
  NpzReader archive{std::string(bytes), "fuzzed"};
  for (const std::string &key : archive.keys())
    touch(archive.read(key).get());
}

/// A text as the value of --input for an entry with two inputs. Values that name files are left out: the harness must
/// not read what lies on this machine.
static void prepare(std::string_view text) {
  if (text.find('@') != std::string_view::npos || text.find("=-") != std::string_view::npos)
    return;
  const heddle_dimension_t dims[] = {{"batch", -1}, {"", 2}};
  const heddle_tensor_info_t inputs[] = {{"input_ids", HEDDLE_ELEMENT_I64, 2, dims},
                                         {"x", HEDDLE_ELEMENT_F32, 1, dims}};
  heddle_entry_info_t entry = {};
  entry.name = "main";
  entry.inputs = inputs;
  entry.input_count = 2;
  const size_t split = text.find('\n');
  const std::string shape(split == std::string_view::npos ? std::string_view() : text.substr(split + 1));
  // Sizes of --shape are the user's own wish, however large: only their syntax is of interest here.
  if (std::count_if(shape.begin(), shape.end(), [](char c) { return c >= '0' && c <= '9'; }) > 4)
    return;
  for (const auto &tensor :
       prepareInputs(entry, {std::string(text.substr(0, split))},
                     shape.empty() ? std::vector<std::string>() : std::vector{shape}, Missing::Generate)
           .tensors)
    touch(tensor.get());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 3)
    return 0;
  const std::string_view bytes(reinterpret_cast<const char *>(data) + 3, size - 3);
  try {
    switch (data[0] % 4) {
    case 0:
      touch(readNpy(bytes, "fuzzed").get());
      break;
    case 1:
      readArchive(bytes);
      break;
    case 2:
      touch(parseLiteral(bytes, static_cast<heddle_element_type_t>(data[1] % 13), data[2] % 9).get());
      break;
    case 3:
      prepare(bytes);
      break;
    }
  } catch (const CommandError &) {
    // Refused in words, as it should be.
  }
  return 0;
}
