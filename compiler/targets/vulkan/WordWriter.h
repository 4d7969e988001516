// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results of less than a word that lie side by side along a loop: an invocation that computes as many neighbours as a
// word holds writes the word, where it starts at one and none is missing. Elsewhere each element is written on its own,
// which takes two atomic operations.

#ifndef HEDDLE_COMPILER_TARGETS_VULKAN_WORDWRITER_H
#define HEDDLE_COMPILER_TARGETS_VULKAN_WORDWRITER_H

#include "compiler/targets/vulkan/ShaderEmitter.h"

namespace heddle::vulkan {

/// Elements of |loop| that an invocation should compute at a time for the sake of the narrowest result along it: 4, 2,
/// or 1 where no result is narrow.
int64_t getWordElements(const ShaderPlan &plan, unsigned loop);

/// Writes the results of |count| neighbours of |loop| from |first| on.
class WordWriter {
public:
  /// |loops|: names of the current indices; that of |loop| changes between begin and store.
  WordWriter(ShaderEmitter &emitter, llvm::SmallVectorImpl<std::string> &loops, unsigned loop, int64_t count,
             std::string first)
      : emitter(emitter), loops(loops), loop(loop), count(count), first(std::move(first)) {}

  /// Before the loop over the neighbours, for each result that is stored.
  void begin(unsigned result);
  /// The element of |result| at the current indices.
  void store(unsigned result, const std::string &value);
  /// Behind that loop.
  void end();

private:
  struct Words {
    unsigned result;
    std::string isWhole, words, address; ///< names; |address| in elements
  };
  int64_t elementsPerWord(unsigned result) const;

  ShaderEmitter &emitter;
  llvm::SmallVectorImpl<std::string> &loops;
  unsigned loop;
  int64_t count;
  std::string first;
  llvm::SmallVector<Words> narrow;
};

} // namespace heddle::vulkan

#endif // HEDDLE_COMPILER_TARGETS_VULKAN_WORDWRITER_H
