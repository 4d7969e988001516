// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/vulkan/WordWriter.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace heddle::vulkan {

static constexpr int64_t kWordBytes = 4;

/// Bytes of |result|'s elements where they lie side by side along |loop| and are less than a word; else 0.
static int64_t narrowBytes(const ShaderPlan &plan, unsigned result, unsigned loop) {
  const Access &access = plan.getResult(result);
  int64_t bytes = getDeviceBytes(plan.getOperandType(plan.getResultBinding(result)).getElementType());
  return bytes < kWordBytes && !access.isIrregularIn(loop) && access.strides[loop] == Polynomial(1) ? bytes : 0;
}

int64_t getWordElements(const ShaderPlan &plan, unsigned loop) {
  int64_t most = 1;
  for (unsigned result = 0; result < plan.root->getNumResults(); ++result)
    if (int64_t bytes = narrowBytes(plan, result, loop))
      most = std::max(most, kWordBytes / bytes);
  return most;
}

int64_t WordWriter::elementsPerWord(unsigned result) const {
  int64_t bytes = narrowBytes(emitter.plan, result, loop);
  return bytes ? kWordBytes / bytes : 0;
}

void WordWriter::begin(unsigned result) {
  int64_t perWord = elementsPerWord(result);
  if (!perWord)
    return;
  SmallVector<std::string> at(loops.begin(), loops.end());
  at[loop] = first;
  std::string address = emitter.let("int", emitter.address(emitter.plan.getResult(result), at), "start");
  std::string isWhole = emitter.let("bool",
                                    "(" + address + " & " + std::to_string(perWord - 1) + ") == 0 && " + first + " + " +
                                        std::to_string(count) + " <= " + emitter.bound(loop),
                                    "whole");
  int64_t numWords = count / perWord;
  std::string words = emitter.fresh("words");
  emitter.line("uint " + words + "[" + llvm::Twine(numWords) + "];");
  for (int64_t word = 0; word < numWords; ++word)
    emitter.line(words + "[" + llvm::Twine(word) + "] = 0u;");
  narrow.push_back({result, isWhole, words, address});
}

void WordWriter::store(unsigned result, const std::string &value) {
  auto found = llvm::find_if(narrow, [&](const Words &words) { return words.result == result; });
  if (found == narrow.end()) {
    emitter.storeResult(result, loops, value);
    return;
  }
  int64_t perWord = elementsPerWord(result);
  std::string place = emitter.let("int", loops[loop] + " - " + first, "place");
  std::string at = perWord == count ? "0" : place + " / " + std::to_string(perWord);
  std::string part = perWord == count ? place : "(" + place + " & " + std::to_string(perWord - 1) + ")";
  int64_t bits = 32 / perWord;
  emitter.line(found->words + "[" + at + "] |= (" + emitter.toBits(emitter.plan.getResultBinding(result), value) +
               " & " + llvm::Twine((1u << bits) - 1) + "u) << (" + part + " * " + llvm::Twine(bits) + ");");
  emitter.open("if (!" + found->isWhole + ")");
  emitter.storeResult(result, loops, value);
  emitter.close();
}

void WordWriter::end() {
  for (const Words &words : narrow) {
    int64_t perWord = elementsPerWord(words.result);
    emitter.open("if (" + words.isWhole + ")");
    for (int64_t word = 0; word < count / perWord; ++word)
      emitter.line(emitter.view(emitter.plan.getResultBinding(words.result), "uint",
                                words.address + " / " + llvm::Twine(perWord) + " + " + llvm::Twine(word)) +
                   " = " + words.words + "[" + llvm::Twine(word) + "];");
    emitter.close();
  }
}

} // namespace heddle::vulkan
