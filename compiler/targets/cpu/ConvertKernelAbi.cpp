// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pass cpu-convert-kernel-abi: from heddle_dispatch_t to the bare arguments of a kernel's body.

#include "compiler/targets/cpu/KernelEmitter.h"
#include "compiler/targets/cpu/Passes.h"

#include "heddle/executable_abi.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace heddle::cpu {

#define GEN_PASS_DEF_CONVERTKERNELABIPASS
#include "compiler/targets/cpu/Passes.h.inc"

namespace {

/// Leaves |body| to the functions of its module.
void hide(LLVM::LLVMFuncOp body) {
  body.setLinkage(LLVM::Linkage::Internal);
  body->removeAttr(kKernelAttrName);
  // Inlined, the arguments' noalias would only be as good as the inliner's metadata.
  Builder b(body.getContext());
  body.setPassthroughAttr(b.getArrayAttr({b.getStringAttr("noinline")}));
}

class EntryBuilder {
public:
  explicit EntryBuilder(LLVM::LLVMFuncOp body)
      : b(body), loc(body.getLoc()), pointer(LLVM::LLVMPointerType::get(body.getContext())), body(body) {}

  void build() {
    std::string name = body.getName().str();
    body.setName(name + ".body");
    hide(body);
    // Before all that it calls, so that a kernel's code reaches from its entry to the next kernel's: a profiler's map
    // of kernels knows entries only.
    b.setInsertionPointToStart(body->getBlock());
    auto type = LLVM::LLVMFunctionType::get(b.getI32Type(), {pointer, b.getI64Type(), b.getI64Type(), pointer});
    auto entry = b.create<LLVM::LLVMFuncOp>(loc, name, type);
    Block *block = entry.addEntryBlock(b);
    b.setInsertionPointToStart(block);
    Value dispatch = block->getArgument(0);
    Value bindings = load(pointer, dispatch, offsetof(heddle_dispatch_t, bindings));
    Value sizes = load(pointer, dispatch, offsetof(heddle_dispatch_t, sizes));

    SmallVector<Value> arguments;
    ArrayRef<Type> types = body.getFunctionType().getParams().drop_back(kNumTrailingArguments);
    int64_t numBindings = llvm::count_if(types, [](Type type) { return isa<LLVM::LLVMPointerType>(type); });
    constexpr int64_t kWord = sizeof(int64_t);
    for (auto [i, type] : llvm::enumerate(types)) {
      int64_t number = i;
      arguments.push_back(number < numBindings ? load(type, bindings, number * kWord)
                                               : load(type, sizes, (number - numBindings) * kWord));
    }
    arguments.push_back(block->getArgument(1));
    arguments.push_back(block->getArgument(2));
    arguments.push_back(block->getArgument(3));
    arguments.push_back(load(pointer, dispatch, offsetof(heddle_dispatch_t, error)));
    auto call = b.create<LLVM::CallOp>(loc, body, arguments);
    b.create<LLVM::ReturnOp>(loc, call.getResult());
  }

private:
  Value load(Type type, Value base, int64_t offset) {
    Value address = b.create<LLVM::GEPOp>(loc, pointer, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{offset});
    return b.create<LLVM::LoadOp>(loc, type, address);
  }

  OpBuilder b;
  Location loc;
  Type pointer;
  LLVM::LLVMFuncOp body;
};

class ConvertKernelAbiPass : public impl::ConvertKernelAbiPassBase<ConvertKernelAbiPass> {
public:
  void runOnOperation() override {
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<LLVM::LLVMFuncOp>())) {
      Attribute kind = func->getAttr(kKernelAttrName);
      if (!kind)
        continue;
      if (isa<StringAttr>(kind)) {
        hide(func);
        continue;
      }
      EntryBuilder(func).build();
      ++numEntries;
    }
  }
};

} // namespace

} // namespace heddle::cpu
