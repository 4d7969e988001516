// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints tensors.

#include "tools/heddle/print.h"

#include "tools/heddle/element.h"
#include "tools/heddle/handles.h"

#include <algorithm>

namespace heddle::cli {

namespace {

class TensorPrinter {
public:
  explicit TensorPrinter(const heddle_tensor_t *tensor) : tensor(tensor), dims(dimsOf(tensor)) {
    // NumPy's rule: from more than 1000 elements on, three at both ends of each axis.
    edge = heddle_tensor_element_count(tensor) > 1000 ? 3 : INT64_MAX / 2;
    visit(0, 0, [&](size_t offset) { width = std::max(width, element(offset).size()); });
  }

  std::string print() {
    printAxis(0, 0);
    return out;
  }

private:
  std::string element(size_t offset) const {
    heddle_element_type_t type = heddle_tensor_type(tensor);
    const char *data = static_cast<const char *>(heddle_tensor_data(tensor));
    return formatElement(type, data + offset * heddle_element_type_size(type), 6);
  }

  bool isShown(int64_t index, int64_t size) const { return index < edge || index >= size - edge; }

  /// Calls |action| with the offset of each element that is shown.
  template <typename Action> void visit(size_t axis, size_t offset, const Action &action) const {
    if (axis == dims.size())
      return action(offset);
    for (int64_t i = 0; i < dims[axis]; ++i) {
      if (!isShown(i, dims[axis]))
        i = dims[axis] - edge;
      visit(axis + 1, offset * static_cast<size_t>(dims[axis]) + static_cast<size_t>(i), action);
    }
  }

  void printAxis(size_t axis, size_t offset) {
    if (axis == dims.size()) {
      std::string text = element(offset);
      out.append(width - text.size(), ' ').append(text);
      return;
    }
    // The last axis runs along a line, others start a line for each index.
    std::string separator = axis + 1 == dims.size() ? ", " : ",\n" + std::string(axis + 1, ' ');
    out += '[';
    for (int64_t i = 0; i < dims[axis]; ++i) {
      if (i)
        out += separator;
      if (!isShown(i, dims[axis])) {
        out += "..." + separator;
        i = dims[axis] - edge;
      }
      printAxis(axis + 1, offset * static_cast<size_t>(dims[axis]) + static_cast<size_t>(i));
    }
    out += ']';
  }

  const heddle_tensor_t *tensor;
  std::vector<int64_t> dims;
  int64_t edge;
  size_t width = 0;
  std::string out;
};

} // namespace

std::string summarizeTensor(const heddle_tensor_t *tensor) {
  constexpr size_t shown = 4;
  heddle_element_type_t type = heddle_tensor_type(tensor);
  const char *data = static_cast<const char *>(heddle_tensor_data(tensor));
  size_t count = heddle_tensor_element_count(tensor);
  std::string out;
  for (size_t i = 0; i < std::min(count, shown); ++i)
    out += (i ? ", " : "") + formatElement(type, data + i * heddle_element_type_size(type), 6);
  return heddle_tensor_rank(tensor) == 0 ? out : "[" + out + (count > shown ? ", ...]" : "]");
}

std::string formatTensor(const std::string &name, const heddle_tensor_t *tensor) {
  return name + " " + heddle_element_type_name(heddle_tensor_type(tensor)) + describeDims(dimsOf(tensor)) + "\n" +
         TensorPrinter(tensor).print() + "\n";
}

} // namespace heddle::cli
