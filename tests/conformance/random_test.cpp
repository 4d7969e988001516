// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random maps and reductions: loops of random length, known at compile time or not, operands that walk them in any
// order, stand still along some, start at an offset, step or divide. What finds wrongly merged loops and strides.

#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"

namespace heddle::conformance {
namespace {

/// Text of one random kernel and the sizes to run it with.
class random_kernel {
public:
  random_kernel(unsigned seed, bool reduces) : random_(seed), reduces_(reduces) {
    unsigned loops = pick(1, 4);
    for (unsigned loop = 0; loop < loops; ++loop) {
      static const int64_t lengths[] = {1, 1, 2, 3, 5, 7, 15, 16, 17, 32, 33, 40};
      lengths_.push_back(lengths[pick(0, 11)]);
      dynamic_.push_back(pick(0, 2) == 0);
      if (dynamic_.back()) {
        size_of_.push_back(sizes_.size());
        sizes_.push_back(lengths_.back());
      } else {
        size_of_.push_back(-1);
      }
      reduced_.push_back(reduces && pick(0, 1) == 0);
    }
    if (reduces && !llvm::is_contained(reduced_, true))
      reduced_[pick(0, loops - 1)] = true;
    unsigned inputs = pick(1, 3);
    for (unsigned i = 0; i < inputs; ++i)
      add_input();
    result_ = make_result();
  }

  const std::vector<int64_t> &sizes() const { return sizes_; }

  std::string text() const {
    std::string arguments, names, types, maps, body, block;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      std::string name = "%x" + std::to_string(i), element = "%e" + std::to_string(i);
      arguments += name + ": " + inputs_[i].type + inputs_[i].dims + ", ";
      names += (i ? ", " : "") + name;
      types += (i ? ", " : "") + inputs_[i].type;
      maps += "affine_map<" + prefix() + inputs_[i].map + ">, ";
      block += (i ? ", " : "") + element + ": f32";
      std::string sum = "%s" + std::to_string(i);
      body += i == 0 ? "    %s0 = arith.addf %e0, %e0 : f32\n"
                     : "    " + sum + " = arith.subf %s" + std::to_string(i - 1) + ", " + element + " : f32\n";
    }
    std::string last = "%s" + std::to_string(inputs_.size() - 1);
    if (uses_index_) {
      body += "    %i = kernel.index 0\n    %j = arith.index_cast %i : index to i32\n";
      body += "    %f = arith.sitofp %j : i32 to f32\n    %t = arith.addf " + last + ", %f : f32\n";
      last = "%t";
    }
    for (size_t i = 0; i < sizes_.size(); ++i)
      arguments += "%n" + std::to_string(i) + ": index, ";
    arguments.resize(arguments.size() - 2);
    maps += "affine_map<" + prefix() + result_.map + ">";
    std::string sizes;
    for (size_t i = 0; i < sizes_.size(); ++i)
      sizes += (i ? ", %n" : "%n") + std::to_string(i);
    std::string text = "kernel.func @random(" + arguments + ") -> (" + result_.type + result_.dims + ") {\n";
    text += std::string("  %y = kernel.") + (reduces_ ? "reduce " : "map ") +
            (sizes.empty() ? "" : "sizes(" + sizes + ") ") + "bounds(affine_map<" + bounds() + ">) ins(" + names +
            " : " + types + ")\n      attributes {indexing_maps = [" + maps + "]" + reduction() + "} " +
            (reduces_ ? "body " : "") + "{\n  ^bb0(" + block + "):\n" + body + "    kernel.yield " + last +
            " : f32\n  }";
    if (reduces_)
      text += " finish {\n  ^bb0(%acc: f32):\n    kernel.yield %acc : f32\n  }";
    return text + " : " + result_.type + "\n  kernel.return %y : " + result_.type + "\n}\n";
  }

private:
  struct operand {
    std::string type, dims, map;
  };

  unsigned pick(unsigned low, unsigned high) { return std::uniform_int_distribution<unsigned>(low, high)(random_); }

  std::string loop_name(unsigned loop) const { return "d" + std::to_string(loop); }
  std::string symbols() const {
    std::string text;
    for (size_t i = 0; i < sizes_.size(); ++i)
      text += (i ? ", s" : "s") + std::to_string(i);
    return sizes_.empty() ? "" : "[" + text + "]";
  }
  std::string prefix() const {
    std::string text = "(";
    for (unsigned loop = 0; loop < lengths_.size(); ++loop)
      text += (loop ? ", " : "") + loop_name(loop);
    return text + ")" + symbols() + " -> ";
  }
  std::string bounds() const {
    std::string text = "()" + symbols() + " -> (";
    for (unsigned loop = 0; loop < lengths_.size(); ++loop)
      text +=
          (loop ? ", " : "") + (dynamic_[loop] ? "s" + std::to_string(size_of_[loop]) : std::to_string(lengths_[loop]));
    return text + ")";
  }
  std::string reduction() const {
    if (!reduces_)
      return "";
    std::string loops;
    for (unsigned loop = 0; loop < lengths_.size(); ++loop)
      if (reduced_[loop])
        loops += (loops.empty() ? "" : ", ") + std::to_string(loop);
    return ", reduction_loops = array<i64: " + loops + ">, input_count = " + std::to_string(inputs_.size()) +
           " : i64, combiners = [#kernel.combiner<sum>]";
  }

  /// Appends a dimension that exactly loop |loop| walks.
  void add_dimension(operand &to, std::string &dims, unsigned loop) {
    bool is_dynamic = dynamic_[loop];
    to.type += (is_dynamic ? "?" : std::to_string(lengths_[loop])) + "x";
    if (is_dynamic)
      dims += (dims.empty() ? "" : ", ") + std::to_string(size_of_[loop]);
    to.map += (to.map.size() > 1 ? ", " : "") + loop_name(loop);
  }

  /// Appends a dimension of known size that loop |loop|, of known length, walks in some odd way.
  void add_odd_dimension(operand &to, unsigned loop) {
    std::string name = loop_name(loop), expr;
    int64_t size = lengths_[loop];
    switch (pick(0, 3)) {
    case 0:
      expr = name + " * 2 + 1", size = 2 * size + 1;
      break;
    case 1:
      expr = name + " floordiv 3", size = (size - 1) / 3 + 1;
      break;
    case 2:
      expr = name + " mod 16", size = std::min<int64_t>(size, 16);
      break;
    default:
      expr = name + " floordiv 16, " + name + " mod 16";
      to.type += std::to_string((size - 1) / 16 + 1) + "x", size = 16;
    }
    to.type += std::to_string(size) + "x";
    to.map += (to.map.size() > 1 ? ", " : "") + expr;
  }

  std::vector<unsigned> shuffled_loops() {
    std::vector<unsigned> loops(lengths_.size());
    for (unsigned i = 0; i < loops.size(); ++i)
      loops[i] = i;
    // Often in order, as models have it: that is where loops merge.
    if (pick(0, 2) == 0)
      std::shuffle(loops.begin(), loops.end(), random_);
    return loops;
  }

  static operand finish_operand(operand made, const std::string &dims) {
    made.type = "tensor<" + made.type + "f32>";
    made.map += ")";
    if (!dims.empty())
      made.dims = " {kernel.dims = array<i64: " + dims + ">}";
    return made;
  }

  void add_input() {
    operand made{"", "", "("};
    std::string dims;
    for (unsigned loop : shuffled_loops()) {
      unsigned kind = pick(0, 9);
      if (kind == 0)
        continue; // the operand stands still along this loop
      if (kind == 1 && !dynamic_[loop])
        add_odd_dimension(made, loop);
      else
        add_dimension(made, dims, loop);
    }
    inputs_.push_back(finish_operand(made, dims));
  }

  operand make_result() {
    operand made{"", "", "("};
    std::string dims;
    for (unsigned loop : shuffled_loops())
      if (!reduced_[loop])
        add_dimension(made, dims, loop);
    uses_index_ = pick(0, 4) == 0;
    return finish_operand(made, dims);
  }

  std::mt19937 random_;
  bool reduces_, uses_index_ = false;
  std::vector<int64_t> lengths_, sizes_, size_of_;
  std::vector<bool> dynamic_, reduced_;
  std::vector<operand> inputs_;
  operand result_;
};

/// Kernels of each kind: where the runtime loads an artifact for each run, fewer.
unsigned count_seeds() { return runnable_targets().front() == "vulkan" ? 16 : 80; }

TEST(Random, MapsComputeWhatTheyMean) {
  for (unsigned seed = 1; seed <= count_seeds(); ++seed) {
    random_kernel kernel(seed, false);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + kernel.text());
    check_kernel(kernel.text(), "random", {kernel.sizes()});
    if (HasFailure())
      return;
  }
}

TEST(Random, ReductionsComputeWhatTheyMean) {
  for (unsigned seed = 1; seed <= count_seeds(); ++seed) {
    random_kernel kernel(seed, true);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + kernel.text());
    check_kernel(kernel.text(), "random", {kernel.sizes()}, 1e-4);
    if (HasFailure())
      return;
  }
}

} // namespace
} // namespace heddle::conformance
