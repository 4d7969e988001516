// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms of --input: NAME=@file.npy, NAME=@file.npz:key, @file.npz, NAME=1,2,3, NAME=random:7, NAME=ones, NAME=-.

#include "tools/heddle/inputs.h"

#include "tools/heddle/files.h"
#include "tools/heddle/literal.h"
#include "tools/heddle/npy.h"
#include "tools/heddle/npz.h"
#include "tools/heddle/text.h"

#include <unistd.h>

namespace heddle::cli {

std::vector<const heddle_tensor_t *> RunInputs::pointers() const {
  std::vector<const heddle_tensor_t *> result;
  for (const TensorPtr &tensor : tensors)
    result.push_back(tensor.get());
  return result;
}

namespace {

class InputResolver {
public:
  InputResolver(const heddle_entry_info_t &entry, const std::vector<std::string> &shapes)
      : entry(entry), shapes(entry), fills(entry.input_count) {
    result.tensors.resize(entry.input_count);
    for (const std::string &argument : shapes)
      this->shapes.addArgument(argument);
  }

  void addArgument(const std::string &argument) {
    size_t equals = nameEnd(argument);
    std::string value = argument.substr(equals == std::string::npos ? 0 : equals + 1);
    if (equals != std::string::npos)
      addValue(findInput(entry, argument.substr(0, equals)), value);
    else if (entry.input_count == 1)
      addValue(0, value);
    else if (value.size() > 1 && value[0] == '@')
      addArchive(value.substr(1));
    else
      failUnnamed(value);
  }

  RunInputs finish(Missing missing, std::vector<TensorPtr> defaults) {
    // A shape asks for other values than the model's own.
    for (size_t i = 0; i < defaults.size(); ++i)
      if (!result.tensors[i] && !fills[i] && !shapes.has(i))
        result.tensors[i] = std::move(defaults[i]);
    for (size_t i = 0; i < entry.input_count; ++i)
      if (result.tensors[i])
        shapes.addTensor(i, result.tensors[i].get());
    if (missing == Missing::Refuse)
      refuseMissing();
    for (size_t i = 0; i < entry.input_count; ++i)
      if (!result.tensors[i])
        generate(i);
    return std::move(result);
  }

private:
  struct Generated {
    Fill fill;
    uint64_t seed;
  };

  [[noreturn]] void failUnnamed(const std::string &value) const {
    fail(Exit::Usage, "H0323", "--input " + value + " names no input", {}, "write NAME=...; " + listInputs(entry));
  }

  /// Position of the '=' behind the input's name. Names may hold a '=' themselves, and so may values without a name.
  size_t nameEnd(const std::string &argument) const {
    for (size_t at = argument.find('='); at != std::string::npos; at = argument.find('=', at + 1))
      for (size_t i = 0; i < entry.input_count; ++i)
        if (argument.compare(0, at, entry.inputs[i].name) == 0)
          return at;
    return argument[0] == '@' ? std::string::npos : argument.find('=');
  }

  void claim(size_t index) {
    if (result.tensors[index] || fills[index])
      fail(Exit::Usage, "H0322", "input '" + std::string(entry.inputs[index].name) + "' is given twice", {},
           listInputs(entry));
  }

  void addValue(size_t index, const std::string &value) {
    claim(index);
    const heddle_tensor_info_t &input = entry.inputs[index];
    if (value == "-")
      result.tensors[index] = fromBytes(readFile("-"), "standard input", input, {});
    else if (!value.empty() && value[0] == '@')
      result.tensors[index] = fromFile(value.substr(1), input);
    else if (value == "ones" || value == "zeros")
      fills[index] = Generated{value == "ones" ? Fill::Ones : Fill::Zeros, 0};
    else if (value == "random" || startsWith(value, "random:"))
      fills[index] = Generated{Fill::Random, parseSeed(value)};
    else
      result.tensors[index] = parseLiteral(value, input.type, input.rank);
  }

  static uint64_t parseSeed(const std::string &value) {
    if (value == "random")
      return 0;
    std::optional<int64_t> seed = parseCount(value.substr(value.find(':') + 1));
    if (!seed)
      fail(Exit::Usage, "H0323", "cannot understand '" + value + "'", {},
           "write random, or random:SEED with a whole number");
    return static_cast<uint64_t>(*seed);
  }

  /// A file name may hold a colon itself: what exists under the whole name is meant.
  static TensorPtr fromFile(const std::string &path, const heddle_tensor_info_t &input) {
    size_t colon = path.rfind(':');
    if (colon == std::string::npos || access(path.c_str(), F_OK) == 0)
      return fromBytes(readFile(path), path, input, {});
    std::string file = path.substr(0, colon);
    return fromBytes(readFile(file), file, input, path.substr(colon + 1));
  }

  static TensorPtr fromBytes(std::string bytes, const std::string &name, const heddle_tensor_info_t &input,
                             const std::string &key) {
    if (looksLikeZip(bytes)) {
      NpzReader archive(std::move(bytes), name);
      std::vector<std::string> keys = archive.keys();
      bool isOnly = keys.size() == 1 && !archive.has(input.name);
      return archive.read(!key.empty() ? key : isOnly ? keys[0] : input.name);
    }
    if (looksLikeNpy(bytes) || name != "standard input")
      return readNpy(bytes, name);
    return parseLiteral(bytes, input.type, input.rank);
  }

  /// Every array of the archive is the input of its name.
  void addArchive(const std::string &path) {
    std::string bytes = readFile(path);
    if (!looksLikeZip(bytes))
      failUnnamed("@" + path);
    NpzReader archive(std::move(bytes), path);
    for (const std::string &key : archive.keys()) {
      size_t index = findInput(entry, key);
      claim(index);
      result.tensors[index] = archive.read(key);
    }
  }

  void refuseMissing() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < entry.input_count; ++i)
      if (!result.tensors[i] && !fills[i])
        names.push_back("'" + std::string(entry.inputs[i].name) + "'");
    if (!names.empty())
      fail(Exit::Usage, "H0320", (names.size() == 1 ? "missing input " : "missing inputs ") + join(names, ", "), {},
           listInputs(entry) + "; --shape generates them");
  }

  void generate(size_t index) {
    const heddle_tensor_info_t &input = entry.inputs[index];
    Generated how = fills[index].value_or(Generated{naturalFill(input), 0});
    TensorPtr tensor = createTensor(input.type, shapes.shapeOf(index));
    // The index keeps inputs of one seed apart.
    fillTensor(tensor.get(), how.fill, how.seed + (uint64_t(index) << 32));
    if (!fills[index])
      result.generated.push_back(std::string(input.name) + " " + heddle_element_type_name(input.type) +
                                 describeDims(dimsOf(tensor.get())) + " " + describeFill(input.type, how.fill));
    result.tensors[index] = std::move(tensor);
  }

  const heddle_entry_info_t &entry;
  ShapeBindings shapes;
  std::vector<std::optional<Generated>> fills;
  RunInputs result;
};

} // namespace

NamedShapes shapesOf(const heddle_entry_info_t &entry, const RunInputs &run) {
  NamedShapes shapes;
  for (size_t i = 0; i < entry.input_count; ++i)
    shapes.emplace_back(entry.inputs[i].name, dimsOf(run.tensors[i].get()));
  return shapes;
}

RunInputs prepareInputs(const heddle_entry_info_t &entry, const std::vector<std::string> &inputs,
                        const std::vector<std::string> &shapes, Missing missing, std::vector<TensorPtr> defaults) {
  InputResolver resolver(entry, shapes);
  for (const std::string &argument : inputs)
    resolver.addArgument(argument);
  return resolver.finish(missing, std::move(defaults));
}

} // namespace heddle::cli
