// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention's regions at the current row and key, and the mask's analysis over a group of keys.

#include "compiler/targets/vulkan/AttentionShader.h"
#include "compiler/targets/vulkan/RegionPrinter.h"
#include "compiler/transforms/sparsity/TileTest.h"

using namespace mlir;

namespace heddle::vulkan {

SmallVector<unsigned> AttentionShader::findCaptures(ArrayRef<Region *> regions, bool ofKey) {
  SmallVector<unsigned> found;
  for (unsigned number = 0; number < op.getCaptures().size(); ++number) {
    // The score comes first among a score region's arguments.
    bool isUsed = llvm::any_of(regions, [&](Region *region) {
      unsigned leading = region->getNumArguments() - op.getCaptures().size();
      return !region->getArgument(leading + number).use_empty();
    });
    const Access &access = plan.getInput(op.getFirstCapture() + number);
    if (isUsed && ofKey != (access.uses(Loops::QueryHead) || access.uses(Loops::Row)))
      found.push_back(number);
  }
  return found;
}

StringRef AttentionShader::captureType(unsigned number) {
  unsigned binding = plan.bindings[op.getFirstCapture() + number];
  return ShaderEmitter::glslType(plan.getOperandType(binding).getElementType());
}

void AttentionShader::loadCaptures(ArrayRef<Region *> regions, bool ofKey) {
  for (unsigned number : findCaptures(regions, ofKey))
    captures[number] = !uniformCaptures[number].empty()
                           ? uniformCaptures[number]
                           : emitter.let(captureType(number), emitter.loadInput(op.getFirstCapture() + number, loops));
}

void AttentionShader::readKeyCaptures(ArrayRef<Region *> regions) {
  for (unsigned number : findCaptures(regions, /*ofKey=*/true)) {
    if (!uniformCaptures[number].empty())
      continue;
    std::string own = "own_capture_" + std::to_string(number);
    emitter.line(llvm::Twine(captureType(number)) + " " + own + "[READS];");
    openUnrolled("j", "READS");
    loops[Loops::Key] = "keys[j]";
    emitter.line(own + "[j] = " + emitter.loadInput(op.getFirstCapture() + number, loops) + ";");
    emitter.close();
  }
}

void AttentionShader::exchangeCaptures(ArrayRef<Region *> regions, const std::string &key) {
  for (unsigned number : findCaptures(regions, /*ofKey=*/true))
    captures[number] = !uniformCaptures[number].empty()
                           ? uniformCaptures[number]
                           : emitter.let(captureType(number), exchange("own_capture_" + std::to_string(number), key));
}

std::string AttentionShader::printRegion(Region &region, const std::string &leading) {
  SmallVector<std::string> arguments = captures;
  if (!leading.empty())
    arguments.insert(arguments.begin(), leading);
  auto yielded = RegionPrinter(emitter, loops).print(region, arguments);
  if (succeeded(yielded))
    return yielded->front();
  status = failure();
  return leading;
}

void AttentionShader::loadUniformCaptures() {
  for (unsigned number = 0; number < op.getCaptures().size(); ++number) {
    unsigned input = op.getFirstCapture() + number;
    const Access &access = plan.getInput(input);
    if (!hasMask || access.uses(Loops::QueryHead) || access.uses(Loops::Row) || access.uses(Loops::Key) ||
        op.getMask().getArgument(number).use_empty())
      continue;
    Type type = plan.getOperandType(plan.bindings[input]).getElementType();
    uniformCaptures[number] = emitter.let(ShaderEmitter::glslType(type), emitter.loadInput(input, loops), "all");
  }
}

std::pair<std::string, std::string> AttentionShader::testGroup(const std::string &low, const std::string &high) {
  // The test is built as a region whose arguments are what it asks for, and printed as any region.
  Region test;
  Block &body = test.emplaceBlock();
  OpBuilder b(op.getContext());
  b.setInsertionPointToStart(&body);
  SmallVector<std::string> names;
  auto add = [&](Type type, const std::string &name) -> Value {
    names.push_back(name);
    return body.addArgument(type, op.getLoc());
  };
  auto addRange = [&](const std::string &first, const std::string &last) {
    return sparsity::LoopRange{add(b.getIndexType(), first), add(b.getIndexType(), last)};
  };
  sparsity::TileScope scope;
  scope.wordBits = 32;
  for (unsigned loop : {Loops::Batch, Loops::KeyHead})
    scope.loops.push_back(addRange(loops[loop], loops[loop]));
  SmallVector<std::string> ends[2];
  for (auto [i, row] : {std::pair(0, "0"), {1, "TILE - 1"}}) {
    selectRow(row);
    ends[i] = loops;
  }
  scope.loops.push_back(addRange(ends[0][Loops::QueryHead], ends[1][Loops::QueryHead]));
  std::string firstRow = ends[0][Loops::Row], lastRow = ends[1][Loops::Row];
  if (plan.axisLoops[kX].size() > 1) {
    // Rows of several heads: any query.
    std::string isOne = ends[0][Loops::QueryHead] + " == " + ends[1][Loops::QueryHead];
    firstRow = emitter.let("int", isOne + " ? " + firstRow + " : 0");
    lastRow = emitter.let("int", isOne + " ? " + lastRow + " : " + emitter.bound(Loops::Row) + " - 1");
  }
  scope.loops.push_back(addRange(firstRow, lastRow));
  scope.loops.push_back(addRange(low, high));
  scope.getArgument = [&](unsigned number) -> Value {
    if (uniformCaptures[number].empty())
      return nullptr;
    return add(op.getMask().getArgument(number).getType(), uniformCaptures[number]);
  };
  scope.getSize = [&](Value size) -> Value {
    kernel::FuncOp func = plan.func;
    unsigned number = cast<BlockArgument>(size).getArgNumber();
    return number < func.getNumInputs() ? Value()
                                        : add(b.getIndexType(), emitter.sizeArgument(number - func.getNumInputs()));
  };
  sparsity::TileTruth truth = sparsity::buildTileTest(b, op.getLoc(), op.getMask(), scope);
  b.create<kernel::YieldOp>(op.getLoc(), ValueRange{truth.may, truth.all});
  auto yielded = RegionPrinter(emitter, loops).print(test, names);
  if (succeeded(yielded))
    return {(*yielded)[0], (*yielded)[1]};
  status = failure();
  return {"true", "false"};
}

} // namespace heddle::vulkan
