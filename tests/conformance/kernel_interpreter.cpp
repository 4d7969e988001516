// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tests/conformance/kernel_interpreter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "heddle/executable_abi.h"
#include "tests/conformance/scalar_ops.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace heddle::conformance {

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

namespace {

void set(host_tensor &tensor, int64_t position, const scalar &value) {
  if (isa<FloatType>(tensor.type))
    tensor.set_float(position, value.f);
  else
    tensor.set_int(position, value.i);
}

scalar read(const host_tensor &tensor, int64_t position) {
  if (isa<FloatType>(tensor.type))
    return scalar::of(tensor.get_float(position));
  return scalar::of_int(tensor.get_int(position));
}

class interpreter {
public:
  interpreter(kernel::FuncOp func, const std::vector<host_tensor> &inputs, const std::vector<int64_t> &sizes)
      : func_(func), root_(func.getRoot()), inputs_(inputs) {
    for (auto [i, size] : llvm::enumerate(sizes))
      outer_[func.getArgument(func.getNumInputs() + i)] = scalar::of_int(size);
    for (Value size : root_.getRootSizes())
      symbols_.push_back(outer_[size].i);
    for (AffineExpr bound : root_.getRootBounds().getResults())
      bounds_.push_back(evaluate(bound, {}, symbols_));
    for (unsigned i = 0; i < func.getResultTypes().size(); ++i)
      result_.outputs.emplace_back(cast<RankedTensorType>(func.getResultTypes()[i]).getElementType(),
                                   result_dims(func, i, sizes));
    dims_.assign(bounds_.size(), 0);
  }

  kernel_result run() {
    llvm::TypeSwitch<Operation *>(root_)
        .Case([&](kernel::MapOp op) {
          for_each(all_loops(), [&] { write(body(op.getBody(), elements(0, op.getInputs().size()))); });
        })
        .Case([&](kernel::RowwiseOp op) { run_rowwise(op); })
        .Case([&](kernel::ReduceOp op) { run_reduce(op); })
        .Case([&](kernel::ScanOp op) { run_scan(op); })
        .Case([&](kernel::ScatterOp op) { run_scatter(op); })
        .Case([&](kernel::TopKOp op) { run_top_k(op); })
        .Case([&](kernel::ContractOp op) { run_contract(op); })
        .Case([&](kernel::AttentionOp op) { run_attention(op); });
    return std::move(result_);
  }

private:
  using values = std::vector<scalar>;

  std::vector<unsigned> all_loops() const {
    std::vector<unsigned> loops(bounds_.size());
    for (unsigned i = 0; i < loops.size(); ++i)
      loops[i] = i;
    return loops;
  }

  void for_each(ArrayRef<unsigned> loops, llvm::function_ref<void()> action) {
    if (loops.empty())
      return action();
    for (int64_t i = 0; i < bounds_[loops.front()]; ++i) {
      dims_[loops.front()] = i;
      for_each(loops.drop_front(), action);
    }
  }

  int64_t position(AffineMap map, ArrayRef<int64_t> shape) {
    int64_t linear = 0;
    for (auto [expr, dim] : llvm::zip(map.getResults(), shape))
      linear = linear * dim + evaluate(expr, dims_, symbols_);
    return linear;
  }

  const host_tensor &tensor_of(Value value) { return inputs_[cast<BlockArgument>(value).getArgNumber()]; }

  values elements(unsigned begin, unsigned end) {
    values result;
    for (unsigned i = begin; i < end; ++i) {
      const host_tensor &tensor = tensor_of(root_.getRootInputs()[i]);
      result.push_back(read(tensor, position(root_.getInputMap(i), tensor.dims)));
    }
    return result;
  }

  /// |at| counted from the front of |dim| entries; nothing, and an error noted, where data says one outside.
  std::optional<int64_t> resolve(int64_t at, Type type, int64_t dim) {
    if (type.isIndex())
      return at;
    int64_t wrapped = at < 0 ? at + dim : at;
    if (wrapped >= 0 && wrapped < dim)
      return wrapped;
    if (!result_.error)
      result_.error = kernel_error{HEDDLE_KERNEL_INDEX_OUT_OF_RANGE, at, dim};
    return std::nullopt;
  }

  scalar gather(kernel::GatherOp op, llvm::DenseMap<Value, scalar> &environment) {
    const host_tensor &table = tensor_of(op.getTable());
    int64_t linear = 0;
    for (auto [index, dim] : llvm::zip(op.getIndices(), table.dims)) {
      std::optional<int64_t> at = resolve(environment[index].i, index.getType(), dim);
      if (!at)
        return scalar();
      linear = linear * dim + *at;
    }
    return read(table, linear);
  }

  values body(Region &region, const values &arguments) {
    llvm::DenseMap<Value, scalar> environment = outer_;
    for (auto [argument, value] : llvm::zip(region.getArguments(), arguments))
      environment[argument] = value;
    for (Operation &op : region.front().without_terminator()) {
      if (auto index = dyn_cast<kernel::IndexOp>(op)) {
        environment[index.getResult()] = scalar::of_int(dims_[index.getLoop()]);
        continue;
      }
      if (auto table = dyn_cast<kernel::GatherOp>(op)) {
        environment[table.getResult()] = gather(table, environment);
        continue;
      }
      values operands;
      for (Value operand : op.getOperands())
        operands.push_back(environment[operand]);
      if (is_integer_division(&op) && operands[1].i == 0) {
        if (!result_.error)
          result_.error = kernel_error{HEDDLE_KERNEL_DIVISION_BY_ZERO, 0, 0};
        operands[1].i = 1;
      }
      environment[op.getResult(0)] = evaluate_scalar(&op, operands);
    }
    values yielded;
    for (Value value : region.front().getTerminator()->getOperands())
      yielded.push_back(environment[value]);
    return yielded;
  }

  void write_one(unsigned result, const scalar &value) {
    // Results may be returned in another order than the root's.
    auto returned = func_.getBody().front().getTerminator()->getOperands();
    unsigned output = llvm::find(returned, root_->getResult(result)) - returned.begin();
    host_tensor &tensor = result_.outputs[output];
    set(tensor, position(root_.getResultMap(result), tensor.dims), value);
  }

  void write(const values &yielded) {
    for (unsigned i = 0; i < yielded.size(); ++i)
      write_one(i, yielded[i]);
  }

  void run_rowwise(kernel::RowwiseOp op) {
    std::vector<unsigned> outer = all_loops();
    unsigned row = outer.back();
    outer.pop_back();
    for_each(outer, [&] {
      values stats;
      auto with_stats = [&] {
        values arguments = elements(0, op.getInputs().size());
        arguments.insert(arguments.end(), stats.begin(), stats.end());
        return arguments;
      };
      for (auto [i, attr] : llvm::enumerate(op.getCombiners().getAsRange<kernel::CombinerAttr>())) {
        Region &stage = op.getStages()[i];
        scalar sum = neutral(attr.getValue(), stage.front().getTerminator()->getOperand(0).getType());
        kernel::Combiner combiner = attr.getValue();
        for_each({row}, [&] { sum = combine(combiner, sum, body(stage, with_stats())[0]); });
        stats.push_back(sum);
      }
      for_each({row}, [&] { write(body(op.getFinish(), with_stats())); });
    });
  }

  void run_reduce(kernel::ReduceOp op) {
    std::vector<unsigned> parallel, reduced;
    for (unsigned loop : all_loops())
      (llvm::is_contained(op.getReductionLoops(), loop) ? reduced : parallel).push_back(loop);
    auto combiners = llvm::to_vector(op.getCombiners().getAsRange<kernel::CombinerAttr>());
    unsigned count = op.getInputCount();
    for_each(parallel, [&] {
      values sums;
      for (auto [i, attr] : llvm::enumerate(combiners))
        sums.push_back(neutral(attr.getValue(), op.getBody().front().getTerminator()->getOperand(i).getType()));
      for_each(reduced, [&] {
        values terms = body(op.getBody(), elements(0, count));
        for (auto [i, attr] : llvm::enumerate(combiners))
          sums[i] = combine(attr.getValue(), sums[i], terms[i]);
      });
      for (unsigned loop : reduced)
        dims_[loop] = 0;
      values captures = elements(count, op.getInputs().size());
      sums.insert(sums.end(), captures.begin(), captures.end());
      write(body(op.getFinish(), sums));
    });
  }

  void run_scan(kernel::ScanOp op) {
    std::vector<unsigned> outer = all_loops();
    unsigned last = outer.back(), count = op.getInputCount();
    outer.pop_back();
    for_each(outer, [&] {
      scalar sum = neutral(op.getCombiner(), op.getBody().front().getTerminator()->getOperand(0).getType());
      for_each({last}, [&] {
        scalar next = combine(op.getCombiner(), sum, body(op.getBody(), elements(0, count))[0]);
        values arguments = elements(count, op.getInputs().size());
        arguments.insert(arguments.begin(), op.getExclusive() ? sum : next);
        write(body(op.getFinish(), arguments));
        sum = next;
      });
    });
  }

  void run_scatter(kernel::ScatterOp op) {
    host_tensor &result = result_.outputs[0];
    result.bytes = tensor_of(op.getInputs()[0]).bytes;
    for_each(all_loops(), [&] {
      values update = body(op.getBody(), elements(1, op.getInputs().size()));
      if (update.front().i == 0)
        return;
      std::vector<int64_t> at;
      for (AffineExpr expr : root_.getResultMap(0).getResults())
        at.push_back(evaluate(expr, dims_, symbols_));
      for (auto [i, dim] : llvm::enumerate(op.getScatteredDims())) {
        Type type = op.getBody().front().getTerminator()->getOperand(1 + i).getType();
        std::optional<int64_t> place = resolve(update[1 + i].i, type, result.dims[dim]);
        if (!place)
          return;
        at[dim] = *place;
      }
      int64_t linear = 0;
      for (auto [place, dim] : llvm::zip(at, result.dims))
        linear = linear * dim + place;
      set(result, linear, body(op.getCombine(), {read(result, linear), update.back()})[0]);
    });
  }

  void run_top_k(kernel::TopKOp op) {
    std::vector<unsigned> outer = all_loops();
    unsigned rank = outer.back(), row = rank - 1;
    outer.resize(outer.size() - 2);
    for_each(outer, [&] {
      values elements_of_row;
      for_each({row}, [&] { elements_of_row.push_back(body(op.getBody(), elements(0, op.getInputs().size()))[0]); });
      std::vector<int64_t> order(elements_of_row.size());
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return body(op.getPrecedes(), {elements_of_row[a], elements_of_row[b]})[0].i != 0;
      });
      for_each({rank}, [&] {
        write_one(0, elements_of_row[order[dims_[rank]]]);
        write_one(1, scalar::of_int(order[dims_[rank]]));
      });
    });
  }

  /// The element (k, n) of packed weights, of which |group| neighbours of k lie side by side.
  static scalar packed(const host_tensor &panels, int64_t k, int64_t n, int64_t group) {
    int64_t width = panels.dims[2];
    int64_t place = ((n / width) * panels.dims[1] + k / group) * width + n % width;
    return read(panels, panels.dims.size() == 4 ? place * group + k % group : place);
  }

  /// The product at the current indices.
  scalar multiply(kernel::ContractOp op, int64_t k, int64_t n) {
    using form = kernel::ContractOp::Form;
    scalar left = elements(0, 1)[0];
    const host_tensor &panels = tensor_of(op.getRhs());
    double scale = op.getBlockSize() ? packed(tensor_of(op.getInputs()[2]), k, n, *op.getBlockSize()).f : 1;
    switch (op.getForm()) {
    case form::Plain:
      return scalar::of(left.f * (op.getPackedRhs() ? packed(panels, k, n, 1) : elements(1, 2)[0]).f);
    case form::PairsOfBf16:
      return scalar::of(round_to_bf16(left.f) * packed(panels, k, n, 2).f);
    case form::Integer:
      // A signed byte with its highest bit flipped is 128 more.
      return scalar::of_int((op.getSignedLhs() ? left.i + 128 : left.i & 255) * packed(panels, k, n, 4).i);
    case form::BytesOfWeights:
      return scalar::of(left.f * scale * static_cast<double>(packed(panels, k, n, 1).i));
    case form::HalfBytesOfWeights: {
      int64_t code = packed(panels, k, n, 2).i >> (k % 2 * 4) & 15;
      return scalar::of(left.f * scale * static_cast<double>(code - 8));
    }
    }
    return scalar();
  }

  void run_contract(kernel::ContractOp op) {
    std::vector<unsigned> outer = all_loops();
    unsigned k = outer.back(), n = k - 1;
    outer.pop_back();
    bool is_integer = op.getForm() == kernel::ContractOp::Form::Integer;
    for_each(outer, [&] {
      double sum = 0;
      int64_t integer = 0;
      for_each({k}, [&] {
        scalar term = multiply(op, dims_[k], dims_[n]);
        sum += term.f;
        integer += term.i;
      });
      dims_[k] = 0;
      // Modulo 2^32.
      values arguments = {is_integer ? scalar::of_int(static_cast<int32_t>(integer)) : scalar::of(sum)};
      values captures = elements(op.getFirstCapture(), op.getInputs().size());
      arguments.insert(arguments.end(), captures.begin(), captures.end());
      write(body(op.getEpilogue(), arguments));
    });
  }

  //===--- Attention --------------------------------------------------------===//

  /// One query row: scores (keys), and which of them the mask keeps.
  struct attention_row {
    std::vector<double> scores;
    std::vector<bool> keep;
  };

  /// The current row of query or key, input |number|, as it multiplies.
  std::vector<double> factors_of(kernel::AttentionOp op, unsigned number) {
    std::vector<double> row;
    for_each({kernel::AttentionOp::HeadSize}, [&] { row.push_back(elements(number, number + 1)[0].f); });
    dims_[kernel::AttentionOp::HeadSize] = 0;
    if (op.getQkInt8())
      quantize_row(row);
    return row;
  }

  attention_row score_row(kernel::AttentionOp op, int64_t keys) {
    using loops = kernel::AttentionOp;
    unsigned first = op.getFirstCapture(), inputs = op.getInputs().size();
    double scale =
        op.getScale() ? op.getScale()->convertToDouble() : elements(*op.getScaleInput(), *op.getScaleInput() + 1)[0].f;
    attention_row row;
    std::vector<double> query = factors_of(op, 0);
    for (dims_[loops::Key] = 0; dims_[loops::Key] < keys; ++dims_[loops::Key]) {
      std::vector<double> key = factors_of(op, 1);
      double dot = std::inner_product(query.begin(), query.end(), key.begin(), 0.0);
      values captures = elements(first, inputs), arguments = captures;
      arguments.insert(arguments.begin(), scalar::of(scale * dot));
      row.scores.push_back(body(op.getScore(), arguments)[0].f);
      row.keep.push_back(body(op.getMask(), captures)[0].i != 0);
    }
    dims_[loops::Key] = 0;
    return row;
  }

  /// The greatest score of a row's keys |begin| to |end| that take part.
  static double greatest(const attention_row &row, size_t begin, size_t end) {
    double maximum = -INFINITY;
    for (size_t j = begin; j < end; ++j)
      if (row.keep[j])
        maximum = std::isnan(row.scores[j]) || row.scores[j] > maximum ? row.scores[j] : maximum;
    return maximum;
  }

  /// exp(score - maximum) of key |j|; with |is_coded| the code of 7 bits that it rounds to.
  static double weight_of(const attention_row &row, size_t j, double maximum, bool is_coded) {
    double weight = row.keep[j] && row.scores[j] != -INFINITY ? std::exp(row.scores[j] - maximum) : 0;
    return is_coded ? std::nearbyint(127 * weight) : weight;
  }

  /// The weights (all keys) of a row whose blocks of |block| keys have codes of their own.
  values weigh_blocks(const attention_row &row, size_t block) {
    double maximum = greatest(row, 0, row.keep.size()), sum = 0;
    values weights(bounds_[kernel::AttentionOp::Key]);
    for (size_t begin = 0; begin < row.keep.size(); begin += block) {
      size_t end = std::min(begin + block, row.keep.size());
      double own = greatest(row, begin, end), factor = own == -INFINITY ? 0 : std::exp(own - maximum);
      for (size_t j = begin; j < end; ++j) {
        double code = weight_of(row, j, own, /*is_coded=*/true);
        sum += weights[j].f = code == 0 ? 0 : code * factor;
      }
    }
    for (scalar &weight : weights)
      weight.f /= sum;
    return weights;
  }

  /// The current element of the value as it multiplies.
  double value_of(kernel::AttentionOp op) {
    double value = elements(2, 3)[0].f;
    if (!op.getPvInt8Block())
      return value;
    auto scale = static_cast<float>(elements(*op.getValueScaleInput(), *op.getValueScaleInput() + 1)[0].f);
    return quantize_value(value, scale);
  }

  /// weights (all keys) of a row and its logarithm of the sum; no weights where no key takes part.
  values weigh(kernel::AttentionOp op, const attention_row &row, double *lse) {
    *lse = -INFINITY;
    if (llvm::none_of(row.keep, [](bool kept) { return kept; }))
      return {};
    if (std::optional<uint64_t> block = op.getPvInt8Block())
      return weigh_blocks(row, *block);
    double maximum = greatest(row, 0, row.keep.size()), sum = 0;
    values weights(bounds_[kernel::AttentionOp::Key]);
    for (size_t j = 0; j < row.keep.size(); ++j)
      sum += weights[j].f = weight_of(row, j, maximum, /*is_coded=*/false);
    for (size_t j = 0; j < row.keep.size(); ++j)
      weights[j].f /= sum;
    *lse = maximum + std::log(sum);
    return weights;
  }

  /// What the probability region makes of |probabilities|, or of |filling| where there are none, for the first |keys|
  /// keys; those behind them weigh 0.
  values change_weights(kernel::AttentionOp op, const values &probabilities, int64_t keys, double filling) {
    using loops = kernel::AttentionOp;
    values weights(bounds_[loops::Key]);
    for (dims_[loops::Key] = 0; dims_[loops::Key] < keys; ++dims_[loops::Key]) {
      values arguments = elements(op.getFirstCapture(), op.getInputs().size());
      arguments.insert(arguments.begin(),
                       probabilities.empty() ? scalar::of(filling) : probabilities[dims_[loops::Key]]);
      weights[dims_[loops::Key]] = body(op.getProbability(), arguments)[0];
    }
    dims_[loops::Key] = 0;
    return weights;
  }

  /// The state of |row| for each part, written to the result: sums of weights times values, maximum, sum.
  void write_parts(kernel::AttentionOp op, const attention_row &row) {
    using loops = kernel::AttentionOp;
    int64_t size = *op.getPartSize(), columns = bounds_[loops::ValueSize], keys = row.keep.size();
    for (int64_t part = 0; part < result_.outputs[0].dims[0]; ++part) {
      double maximum = -std::numeric_limits<float>::max(), sum = 0;
      int64_t begin = std::min(part * size, keys), end = std::min(begin + size, keys);
      for (int64_t j = begin; j < end; ++j)
        maximum = row.keep[j] ? std::max(maximum, row.scores[j]) : maximum;
      std::vector<double> sums(columns, 0.0);
      for (int64_t j = begin; j < end; ++j) {
        double weight = weight_of(row, j, maximum, op.getPvInt8Block().has_value());
        sum += weight;
        for (int64_t e = 0; e < columns && weight != 0; ++e) {
          dims_[loops::Key] = j, dims_[loops::ValueSize] = e;
          sums[e] += weight * value_of(op);
        }
      }
      sums.push_back(maximum);
      sums.push_back(sum);
      dims_[loops::Key] = part;
      for (dims_[loops::ValueSize] = 0; dims_[loops::ValueSize] < columns + 2; ++dims_[loops::ValueSize])
        write_one(0, scalar::of(sums[dims_[loops::ValueSize]]));
      dims_[loops::Key] = dims_[loops::ValueSize] = 0;
    }
  }

  void run_attention(kernel::AttentionOp op) {
    using loops = kernel::AttentionOp;
    for_each({loops::Batch, loops::KeyHead, loops::QueryHead, loops::Row}, [&] {
      int64_t keys = bounds_[loops::Key];
      if (std::optional<unsigned> input = op.getKvLenInput())
        keys = std::clamp<int64_t>(elements(*input, *input + 1)[0].i, 0, keys);
      attention_row row = score_row(op, keys);
      if (op.getGivesParts())
        return write_parts(op, row);
      // Without the mask region a row that keeps no key would see them all.
      if (op.getFullyMasked() == "literal" && llvm::none_of(row.keep, [](bool kept) { return kept; }))
        row.keep.assign(row.keep.size(), true);
      double lse, filling = op.getFullyMasked() == "nan" ? NAN : 0.0;
      values probabilities = weigh(op, row, &lse), weights = probabilities;
      bool has_region = !op.getProbability().empty();
      if (has_region)
        weights = change_weights(op, probabilities, keys, filling);
      // out (value head size) = weights (keys) @ value (keys, value head size); a weight of 0 reads nothing
      for_each({loops::ValueSize}, [&] {
        double sum = weights.empty() && !has_region ? filling : 0;
        for_each({loops::Key}, [&] {
          double weight = weights.empty() ? 0 : weights[dims_[loops::Key]].f;
          if (weight != 0)
            sum += weight * value_of(op);
        });
        dims_[loops::Key] = 0;
        write_one(0, scalar::of(sum));
      });
      dims_[loops::ValueSize] = 0;
      if (op.getHasLse())
        write_one(1, scalar::of(lse));
      if (op.getHasProbabilities())
        for_each({loops::Key}, [&] {
          write_one(1 + op.getHasLse(), probabilities.empty() ? scalar::of(filling) : probabilities[dims_[loops::Key]]);
        });
      dims_[loops::Key] = 0;
    });
  }

  kernel::FuncOp func_;
  kernel::RootOpInterface root_;
  const std::vector<host_tensor> &inputs_;
  llvm::DenseMap<Value, scalar> outer_;
  std::vector<int64_t> symbols_, bounds_, dims_;
  kernel_result result_;
};

} // namespace

kernel_result interpret(kernel::FuncOp func, const std::vector<host_tensor> &inputs,
                        const std::vector<int64_t> &sizes) {
  return interpreter(func, inputs, sizes).run();
}

} // namespace heddle::conformance
