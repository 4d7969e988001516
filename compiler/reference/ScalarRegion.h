// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interprets a region of scalar arith and math ops, as roots carry them. The block is translated once into a list of
// steps over numbered slots and then run for each element, so that an op costs one indirect call.

#ifndef HEDDLE_COMPILER_REFERENCE_SCALARREGION_H
#define HEDDLE_COMPILER_REFERENCE_SCALARREGION_H

#include <cstdint>
#include <vector>

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace heddle::reference {

/// One scalar: a float of any type as double; an integer or index sign-extended to 64 bits, an i1 as 0 or 1.
union Scalar {
  double number;
  int64_t integer;
};

inline Scalar makeScalar(double number) {
  Scalar scalar;
  scalar.number = number;
  return scalar;
}
inline Scalar makeScalar(int64_t integer) {
  Scalar scalar;
  scalar.integer = integer;
  return scalar;
}

/// What a region does that is no arithmetic, for whoever runs regions with ops of a dialect's own. The functions may
/// keep state: a run calls them in the order of the ops.
class ScalarHost {
public:
  virtual ~ScalarHost() = default;
  /// The result of |op|, which ScalarRegion doesn't know.
  virtual Scalar evaluate(mlir::Operation *op, llvm::ArrayRef<Scalar> operands) = 0;
  /// A division by zero is met; its result will be 0.
  virtual void divideByZero() {}
  /// What a machine may make of |exact|, the result of an op that rounds. With |isCorrect| it gives the nearest number
  /// there is: sums and products; else one not far off.
  virtual double round(double exact, bool isCorrect) { return exact; }
};

/// A block of scalar ops, ready to be run. Floats are computed in double and rounded by arith.truncf alone; integers
/// wrap at the width of their type, an index at 64 bits. Division by zero gives 0, for which MLIR has no value.
/// Immutable after creation, so one may be run from several threads, each with slots of its own.
class ScalarRegion {
public:
  /// Translates |block|, whose terminator's operands are the results. An error names the first op that isn't scalar
  /// arith or math, or that reads a value from outside other than a constant.
  static llvm::Expected<ScalarRegion> create(mlir::Block &block);
  /// The same for a block that may also read |outer|, which become arguments behind the block's own, and have ops of
  /// the dialect |foreign|, which a host evaluates.
  static llvm::Expected<ScalarRegion> create(mlir::Block &block, mlir::ValueRange outer, llvm::StringRef foreign);

  size_t getNumArguments() const { return argumentCount; }
  size_t getNumResults() const { return results.size(); }

  /// Working memory for run(), to be kept between calls.
  std::vector<Scalar> makeSlots() const { return initialSlots; }
  /// Runs the block on the arguments in slots[0] to slots[getNumArguments() - 1].
  void run(llvm::MutableArrayRef<Scalar> slots) const;
  void run(llvm::MutableArrayRef<Scalar> slots, ScalarHost &host) const;
  /// Result |index| of the last run.
  Scalar getResult(llvm::ArrayRef<Scalar> slots, size_t index = 0) const { return slots[results[index]]; }

private:
  friend class ScalarTranslator;

  struct Step;
  using Function = Scalar (*)(const Step &step, Scalar a, Scalar b, Scalar c);
  struct Step {
    Function function;
    uint32_t operands[3];
    uint32_t result;
    /// Bits of the operands' and of the result's integer type; a float's are unused.
    uint8_t operandWidth, resultWidth;
    /// A comparison's predicate, or the float type that arith.truncf rounds to.
    uint64_t detail;
    /// What a host is told of it.
    enum class Event : uint8_t { None, Rounds, RoundsRoughly, Divides, Foreign } event;
  };
  /// An op of another dialect, which a step names by its first operand.
  struct ForeignOp {
    mlir::Operation *op;
    llvm::SmallVector<uint32_t> operands;
  };

  size_t argumentCount = 0;
  std::vector<Step> steps;
  std::vector<Scalar> initialSlots; // holds the constants
  std::vector<uint32_t> results;
  std::vector<ForeignOp> foreignOps;
};

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_SCALARREGION_H
