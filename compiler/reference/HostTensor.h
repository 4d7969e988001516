// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor in the evaluator's memory. Floats of any type are held as double and integers of any width as int64_t, so
// that the evaluation of an op is written once for all types.

#ifndef HEDDLE_COMPILER_REFERENCE_HOSTTENSOR_H
#define HEDDLE_COMPILER_REFERENCE_HOSTTENSOR_H

#include <cassert>
#include <memory>
#include <string>
#include <vector>

#include "compiler/reference/Numbers.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

namespace heddle::reference {

using Dims = llvm::SmallVector<int64_t, 4>;

/// A tensor with its elements in row-major order.
///
/// A value type: the elements are immutable and shared between copies, so copying and reshaping are cheap and a tensor
/// may be read from several threads. An element of type f32 need not be a value that f32 has: arithmetic is done in
/// double and rounds only where an op says so (nn.cast, quantisation) and in toBytes().
class HostTensor {
public:
  /// The most elements that the evaluator holds in one tensor; what is larger is reported, not allocated.
  static constexpr int64_t kMaxElements = int64_t(1) << 30;

  /// No tensor; only good to be assigned to.
  HostTensor() = default;
  /// Takes |values|, as many as |dims| say, for a float |elementType|.
  HostTensor(mlir::Type elementType, llvm::ArrayRef<int64_t> dims, std::vector<double> values);
  /// Takes |values|, as many as |dims| say, each in the form that IntFormat describes, for an integer |elementType|.
  HostTensor(mlir::Type elementType, llvm::ArrayRef<int64_t> dims, std::vector<int64_t> values);

  /// Widens elements laid out as ONNX's raw_data: little-endian, a bool in a byte, two 4-bit integers in a byte with
  /// the first in the low bits. Returns an error where the number of bytes doesn't fit |dims|.
  static llvm::Expected<HostTensor> fromBytes(mlir::Type elementType, llvm::ArrayRef<int64_t> dims,
                                              llvm::ArrayRef<char> bytes);
  /// The elements, rounded into their own type, in the layout that fromBytes reads.
  std::vector<char> toBytes() const;
  /// The number of bytes of |elementCount| elements in that layout.
  static int64_t getByteSize(mlir::Type elementType, int64_t elementCount);

  mlir::Type getElementType() const { return elementType; }
  llvm::ArrayRef<int64_t> getDims() const { return dims; }
  int64_t getRank() const { return dims.size(); }
  int64_t getDim(int64_t axis) const { return dims[axis]; }
  int64_t getNumElements() const { return isFloat() ? floats->size() : ints->size(); }
  bool isFloat() const { return floats != nullptr; }
  mlir::RankedTensorType getType() const { return mlir::RankedTensorType::get(dims, elementType); }

  llvm::ArrayRef<double> getFloats() const {
    assert(floats && "not a float tensor");
    return *floats;
  }
  llvm::ArrayRef<int64_t> getInts() const {
    assert(ints && "not an integer tensor");
    return *ints;
  }
  IntFormat getIntFormat() const { return IntFormat::of(elementType); }

  /// Calls |fn| with the elements, an ArrayRef of double or of int64_t.
  template <typename Fn> auto visit(Fn &&fn) const { return isFloat() ? fn(getFloats()) : fn(getInts()); }

  /// The same elements under other extents of the same product.
  HostTensor withDims(llvm::ArrayRef<int64_t> newDims) const;

private:
  mlir::Type elementType;
  Dims dims;
  std::shared_ptr<const std::vector<double>> floats;
  std::shared_ptr<const std::vector<int64_t>> ints;
};

/// `[2, 3]`, as messages print shapes.
std::string toString(llvm::ArrayRef<int64_t> dims);

/// The product of |dims|; an error where an extent is negative or the product is above HostTensor::kMaxElements.
llvm::Expected<int64_t> countElements(llvm::ArrayRef<int64_t> dims);

/// An error with |message|. The evaluator puts the node's name before it.
llvm::Error makeError(const llvm::Twine &message);

} // namespace heddle::reference

#endif // HEDDLE_COMPILER_REFERENCE_HOSTTENSOR_H
