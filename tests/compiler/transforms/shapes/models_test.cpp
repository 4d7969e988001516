// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Real models against the reference evaluator: every size and every element that the analysis claims is what comes out,
// and nn-infer-shapes changes no value.

#include "compiler/reference/Evaluator.h"
#include "compiler/transforms/fusion/Passes.h"
#include "compiler/transforms/shapes/Passes.h"
#include "compiler/transforms/shapes/ShapeAnalysis.h"
#include "mlir/Pass/PassManager.h"
#include "tests/compiler/import/onnx/import_support.h"
#include "llvm/ADT/StringMap.h"

#include <gtest/gtest.h>

#include <random>

namespace heddle::test {
namespace {

namespace fs = std::filesystem;
using mlir::func::FuncOp;
using reference::HostTensor;
using Inputs = std::vector<HostTensor>;

/// Sizes for a model's symbols, and inputs of these sizes. First dimensions are batches and all of one size: exporters
/// also give them different names where an index into another tensor silently needs them to be equal.
class Assignment {
public:
  Assignment(FuncOp func, const ShapeAnalysis &analysis, unsigned seed, unsigned limit)
      : random(seed), batch(1 + seed % 3), limit(limit) {
    for (mlir::BlockArgument argument : func.getArguments()) {
      llvm::SmallVector<int64_t> dims;
      for (ShapeExpr dim : analysis.getDims(argument))
        dims.push_back(*evaluate(dim, [&](ShapeExpr leaf) { return getSize(leaf); }));
      inputs.push_back(makeInput(llvm::cast<mlir::RankedTensorType>(argument.getType()).getElementType(), dims));
    }
  }

  /// The value of |expr|.
  std::optional<int64_t> value(ShapeExpr expr) {
    return evaluate(expr, [&](ShapeExpr leaf) {
      return leaf.getKind() == ShapeExprKind::Symbol ? getSize(leaf)
                                                     : inputs[leaf.getInput()].getInts()[leaf.getPosition()];
    });
  }

  bool holds(const ShapeCheck &check) {
    std::optional<int64_t> lhs = value(check.lhs), rhs = value(check.rhs);
    return lhs && rhs && (check.kind == rt::CheckKind::Equal ? *lhs == *rhs : *lhs <= *rhs);
  }

  Inputs inputs;

private:
  int64_t getSize(ShapeExpr symbol) {
    auto [found, isNew] = sizes.try_emplace(symbol.getName(), batch);
    if (isNew && symbol.getPosition() != 0)
      found->second = 1 + random() % limit;
    return found->second;
  }

  HostTensor makeInput(mlir::Type type, llvm::ArrayRef<int64_t> dims) {
    int64_t count = 1;
    for (int64_t dim : dims)
      count *= dim;
    if (!llvm::isa<mlir::IntegerType>(type)) {
      std::vector<double> values(count);
      for (double &value : values)
        value = static_cast<double>(random() % 2001) / 1000 - 1;
      return HostTensor(type, dims, std::move(values));
    }
    // Ids, masks and token types alike: small.
    std::vector<int64_t> values(count);
    for (int64_t &value : values)
      value = random() % 2;
    return HostTensor(type, dims, std::move(values));
  }

  std::mt19937 random;
  int64_t batch;
  unsigned limit;
  llvm::StringMap<int64_t> sizes;
};

/// Compares one result with what |analysis| says of it.
void compare(const ShapeAnalysis &analysis, Assignment &assignment, mlir::Value value, const HostTensor &tensor) {
  std::string op = value.getDefiningOp()->getName().getStringRef().str();
  llvm::ArrayRef<ShapeExpr> dims = analysis.getDims(value);
  ASSERT_EQ(static_cast<int64_t>(dims.size()), tensor.getRank()) << op;
  for (auto [i, dim] : llvm::enumerate(dims))
    ASSERT_EQ(assignment.value(dim), tensor.getDim(i)) << op << ": dimension " << i << ", " << dim.str();
  auto elements = analysis.getElements(value);
  for (size_t i = 0; elements && i < elements->size(); ++i)
    ASSERT_EQ(assignment.value((*elements)[i]), tensor.getInts()[i])
        << op << ": element " << i << ", " << (*elements)[i].str();
}

/// An assignment that all checks of |analysis| admit. Small sizes do for most models; sound needs some hundred samples.
std::unique_ptr<Assignment> findAssignment(FuncOp func, const ShapeAnalysis &analysis, unsigned seed) {
  for (unsigned attempt = 0; attempt < 400; ++attempt) {
    auto assignment = std::make_unique<Assignment>(func, analysis, 400 * seed + attempt, attempt < 200 ? 6 : 1000);
    if (llvm::all_of(analysis.getChecks(), [&](const ShapeCheck &check) { return assignment->holds(check); }))
      return assignment;
  }
  return nullptr;
}

std::vector<HostTensor> run(FuncOp func, const Inputs &inputs, const reference::Observer &observer) {
  auto results = reference::Evaluator(func).run(inputs, observer);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  return {results->begin(), results->end()};
}

/// Sizes and elements at two assignments, before and after the pass, whose outputs must have the same bits.
void checkModel(const fs::path &path) {
  SCOPED_TRACE(path.string());
  Import import = importFile(path);
  ASSERT_TRUE(import.module) << import.errors.str();
  FuncOp func = import.main();
  // As in the pipeline: some exports compute sizes from constants through floats.
  mlir::PassManager folding(import.context.get());
  folding.addNestedPass<FuncOp>(nn::createFoldConstantsPass());
  ASSERT_TRUE(mlir::succeeded(folding.run(*import.module)));
  std::vector<Inputs> inputs;
  std::vector<std::vector<HostTensor>> outputs;
  {
    std::unique_ptr<ShapeAnalysis> analysis = ShapeAnalysis::create(func);
    ASSERT_TRUE(analysis);
    for (unsigned seed : {1, 2}) {
      std::unique_ptr<Assignment> assignment = findAssignment(func, *analysis, seed);
      ASSERT_TRUE(assignment) << "no sizes pass the checks";
      inputs.push_back(assignment->inputs);
      outputs.push_back(run(func, assignment->inputs, [&](mlir::Value value, const HostTensor &tensor) {
        compare(*analysis, *assignment, value, tensor);
      }));
    }
  }
  mlir::PassManager passes(import.context.get());
  passes.addNestedPass<FuncOp>(nn::createInferShapesPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(*import.module)));
  for (auto [input, before] : llvm::zip(inputs, outputs)) {
    std::vector<HostTensor> after = run(func, input, nullptr);
    ASSERT_EQ(after.size(), before.size());
    for (auto [x, y] : llvm::zip(before, after)) {
      ASSERT_EQ(x.getDims(), y.getDims());
      ASSERT_EQ(x.toBytes(), y.toBytes());
    }
  }
}

bool isImportable(const fs::path &path) { return importFile(path).module.get() != nullptr; }

TEST(ShapeModels, SizesAndElementsOfSharedModelsAreAsEvaluated) {
  fs::path folder = folderFromEnvironment("HEDDLE_SHARED_DIR") / "models";
  if (!fs::is_directory(folder))
    HEDDLE_MISSING("no models in " << folder);
  unsigned count = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    fs::path path = entry.path() / "model.onnx";
    if (!entry.is_directory() || !isImportable(path))
      continue;
    checkModel(path);
    ++count;
  }
  // What can't be imported needs NonZero.
  EXPECT_GE(count, 123u);
}

} // namespace
} // namespace heddle::test
