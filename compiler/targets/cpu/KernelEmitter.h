// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the generators of all roots share: the function of one kernel, its operands as flat memrefs, index arithmetic
// from affine expressions and polynomials, the loop over work items, and loads and stores of 16 lanes at once.

#ifndef HEDDLE_COMPILER_TARGETS_CPU_KERNELEMITTER_H
#define HEDDLE_COMPILER_TARGETS_CPU_KERNELEMITTER_H

#include <functional>
#include <map>
#include <string>

#include "compiler/targets/cpu/KernelPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace heddle::cpu {

/// Attribute on the generated function: its arguments follow the body's convention, see ConvertKernelAbi.cpp.
inline constexpr llvm::StringLiteral kKernelAttrName = "cpu.kernel";
/// Its value on a function that another one calls for some numbers of rows.
inline constexpr llvm::StringLiteral kBucketWord = "bucket";
/// Arguments of the generated function behind the bindings and sizes: begin, end, scratch, error record.
inline constexpr unsigned kNumTrailingArguments = 4;

/// Which elements one emitted value stands for.
struct Lanes {
  /// kLanes, or 1 for scalar code.
  int64_t width = 1;
  /// The loop whose next |width| steps are the lanes; its current index is the first of them, a multiple of width.
  unsigned loop = 0;
  /// vector<width x i1>, or null where all lanes exist. The first lane always exists.
  mlir::Value mask;
};

class KernelEmitter {
public:
  /// Creates the function of |plan|'s kernel before it and opens its body.
  KernelEmitter(mlir::OpBuilder &builder, const KernelPlan &plan);

  mlir::OpBuilder &b;
  const mlir::Location loc;
  const KernelPlan &plan;
  mlir::func::FuncOp function;
  mlir::Value scratch; // memref<?xf32>

  //===--- Index arithmetic ------------------------------------------------===//
  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value left, mlir::Value right);
  mlir::Value mul(mlir::Value left, mlir::Value right);
  mlir::Value sub(mlir::Value left, mlir::Value right);
  mlir::Value min(mlir::Value left, mlir::Value right);
  mlir::Value floorDiv(mlir::Value left, int64_t right);
  mlir::Value less(mlir::Value left, mlir::Value right);
  /// Value of a polynomial or symbolic expression, computed once at the function's start.
  mlir::Value size(const Polynomial &polynomial);
  mlir::Value size(mlir::AffineExpr expr);
  mlir::Value bound(unsigned loop) { return size(plan.nest.bounds[loop]); }
  /// |expr| at the given loop indices, which may be vectors of index.
  mlir::Value evaluate(mlir::AffineExpr expr, llvm::ArrayRef<mlir::Value> loops);
  /// Element number of |access| at the given loop indices; loops without a value count as 0.
  mlir::Value address(const Access &access, llvm::ArrayRef<mlir::Value> loops);

  //===--- Control ---------------------------------------------------------===//
  /// Runs |body| for each work item with its digits; see ItemSpace.
  void forEachItem(llvm::function_ref<void(llvm::ArrayRef<mlir::Value>)> body);
  /// scf.for without carried values.
  void forLoop(mlir::Value begin, mlir::Value end, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// scf.for with carried values.
  llvm::SmallVector<mlir::Value>
  forLoop(mlir::Value begin, mlir::Value end, int64_t step, mlir::ValueRange init,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  /// scf.if without results.
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body, llvm::function_ref<void()> otherwise = nullptr);
  /// Runs |body| over loop |lanes.loop| from |begin| to |end|, 16 lanes at a time, the last ones masked.
  void forVectors(unsigned loop, mlir::Value begin, mlir::Value end,
                  llvm::function_ref<void(mlir::Value, const Lanes &)> body);
  /// Mask of the lanes below |count|, which is at least 1.
  mlir::Value maskBelow(mlir::Value count);
  /// Where |failed| (i1) holds, writes the error record and makes the kernel return |code|.
  void failIf(mlir::Value failed, int32_t code, int64_t site, mlir::Value value, mlir::Value limit);
  /// Ends the function.
  void finish();

  //===--- Memory ----------------------------------------------------------===//
  mlir::Value getBinding(unsigned number) const { return bindings[number]; }
  mlir::Value getSize(unsigned number) const { return sizes[number]; }
  /// The elements of binding |number| by |access|; scalar where all lanes share one.
  mlir::Value load(unsigned number, const Access &access, llvm::ArrayRef<mlir::Value> loops, const Lanes &lanes);
  void store(mlir::Value value, unsigned number, const Access &access, llvm::ArrayRef<mlir::Value> loops,
             const Lanes &lanes);
  /// Stores 16 columns of rows that are neighbours in memory, so that a row's lanes lie apart: |rows| holds a vector
  /// for each. |loops| are the first row's, and all |lanes| exist.
  void storeColumns(llvm::ArrayRef<mlir::Value> rows, unsigned number, const Access &access,
                    llvm::ArrayRef<mlir::Value> loops, const Lanes &lanes);
  /// Elements |address|, |address| + 1, ... of binding |number|.
  mlir::Value loadUnit(mlir::Value memory, mlir::Type elementType, mlir::Value address, const Lanes &lanes);
  /// Type of the elements of binding |number|, before storage.
  mlir::Type getElementType(unsigned number) const;
  /// The inverses of the three loads that follow.
  void storeUnit(mlir::Value value, mlir::Value memory, mlir::Type elementType, mlir::Value address,
                 const Lanes &lanes);
  void storeLanes(mlir::Value value, mlir::Value memory, mlir::Type elementType, mlir::Value addresses,
                  const Lanes &lanes);
  void storeScalar(mlir::Value value, mlir::Value memory, mlir::Type elementType, mlir::Value address);
  /// One element per lane, at |addresses| (vector of index).
  mlir::Value loadLanes(mlir::Value memory, mlir::Type elementType, mlir::Value addresses, const Lanes &lanes);
  mlir::Value loadScalar(mlir::Value memory, mlir::Type elementType, mlir::Value address);
  /// Address of each lane, as a vector of index.
  mlir::Value laneAddresses(const Access &access, llvm::ArrayRef<mlir::Value> loops, const Lanes &lanes);
  /// |base|, |base| + 1, ...
  mlir::Value iota(mlir::Value base);
  /// |value| in all lanes, if it is a scalar.
  mlir::Value broadcast(mlir::Value value, int64_t width);
  mlir::Value zero(mlir::Type type);

private:
  void createFunction();
  mlir::Value atPrologue(llvm::function_ref<mlir::Value()> make);
  mlir::Value combine(mlir::AffineExprKind kind, mlir::Value left, mlir::Value right, bool isNonNegative);

  llvm::SmallVector<mlir::Value> bindings, sizes;
  mlir::Value begin, end, errorRecord;
  mlir::Value status;        // memref<i32>; null where the kernel can't fail
  mlir::Operation *prologue; // what is computed once stands before it
  std::map<std::vector<std::pair<Polynomial::Monomial, int64_t>>, mlir::Value> polynomials;
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> expressions;
};

/// |rows|, a power of two of vectors of 16 lanes, lane by lane: as many vectors, which hold a lane of all rows, then
/// the next lane of all. 16 rows are transposed.
llvm::SmallVector<mlir::Value> interleave(KernelEmitter &emitter, llvm::ArrayRef<mlir::Value> rows);

/// Type of |type|'s elements in memory: i1 is stored as one byte, bf16 as the word that it is.
mlir::Type getStorageType(mlir::Type type);
/// Type of |type|'s elements as values: bf16 is an f32 whose low half is zero. LLVM has no bf16 without its
/// instructions: it calls a library to round, and even to select between two.
mlir::Type getValueType(mlir::Type type);

} // namespace heddle::cpu

#endif // HEDDLE_COMPILER_TARGETS_CPU_KERNELEMITTER_H
