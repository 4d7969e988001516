// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/targets/common/KernelName.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace heddle {

std::string getTypeWord(kernel::FuncOp func) {
  if (auto contract = dyn_cast<kernel::ContractOp>(*func.getRoot())) {
    using Form = kernel::ContractOp::Form;
    switch (contract.getForm()) {
    case Form::Integer:
      return contract.getSignedLhs() ? "s8s8" : "u8s8";
    case Form::BytesOfWeights:
      return "f32s8";
    case Form::HalfBytesOfWeights:
      return "f32s4";
    default:
      break;
    }
  }
  std::vector<std::string> words;
  for (Type type : llvm::concat<const Type>(func.getArgumentTypes(), func.getResultTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    std::string word;
    llvm::raw_string_ostream(word) << tensor.getElementType();
    if (!llvm::is_contained(words, word))
      words.push_back(word);
  }
  return llvm::join(words, "");
}

uint32_t hashKernel(kernel::FuncOp func, StringRef isa) {
  auto copy = cast<kernel::FuncOp>(func->clone());
  copy.setName("kernel");
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream, OpPrintingFlags().printGenericOpForm());
  copy->destroy();
  stream << isa;
  return static_cast<uint32_t>(llvm::xxh3_64bits(text));
}

} // namespace heddle
