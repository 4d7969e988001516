// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products in plain loops. The innermost one runs along n, where every element has a sum of its own: the
// compiler vectorises it without changing the order of any sum.

#include "compiler/reference/MatMul.h"

#include <algorithm>

#include "compiler/reference/Indexing.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;

namespace heddle::reference {

namespace {

// 128 x 128 doubles of b (128 KiB) stay in the second-level cache while the rows of a pass by.
constexpr int64_t kBlock = 128;
// A task's rows: enough work to be worth a thread, few enough to share out a small product.
constexpr int64_t kRowsPerTask = 32;

// Signed overflow is undefined, so integers are multiplied as unsigned.
inline double toArithmetic(double value) { return value; }
inline uint64_t toArithmetic(int64_t value) { return static_cast<uint64_t>(value); }

// c (n) += a (k) @ b (k, n) with rows of b |stride| apart.
template <typename T> void multiplyRow(const T *a, const T *b, T *__restrict c, int64_t k, int64_t n, int64_t stride) {
  int64_t p = 0;
  // Four rows of b a pass: one load and one store of c for four products.
  for (; p + 4 <= k; p += 4, b += 4 * stride) {
    auto a0 = toArithmetic(a[p]), a1 = toArithmetic(a[p + 1]), a2 = toArithmetic(a[p + 2]), a3 = toArithmetic(a[p + 3]);
    const T *b0 = b, *b1 = b + stride, *b2 = b + 2 * stride, *b3 = b + 3 * stride;
    for (int64_t j = 0; j < n; ++j)
      c[j] = toArithmetic(c[j]) + ((a0 * toArithmetic(b0[j]) + a1 * toArithmetic(b1[j])) +
                                   (a2 * toArithmetic(b2[j]) + a3 * toArithmetic(b3[j])));
  }
  for (; p < k; ++p, b += stride)
    for (int64_t j = 0; j < n; ++j)
      c[j] = toArithmetic(c[j]) + toArithmetic(a[p]) * toArithmetic(b[j]);
}

template <typename T> void multiply(const T *a, const T *b, T *c, int64_t m, int64_t k, int64_t n) {
  for (int64_t p = 0; p < k; p += kBlock)
    for (int64_t j = 0; j < n; j += kBlock)
      for (int64_t i = 0; i < m; ++i)
        multiplyRow(a + i * k + p, b + p * n + j, c + i * n + j, std::min(kBlock, k - p), std::min(kBlock, n - j), n);
}

// The operands of a product as batches of matrices.
struct Shape {
  int64_t m, k, n;
  Dims batch;
  std::vector<int64_t> lhsOffsets, rhsOffsets;
};

// Leading dimensions of a matrix operand.
ArrayRef<int64_t> getBatchDims(ArrayRef<int64_t> dims) { return dims.drop_back(2); }

llvm::Expected<Shape> getShape(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs) {
  if (lhs.back() != rhs[rhs.size() - 2])
    return makeError("expects equal inner dimensions, got " + Twine(lhs.back()) + " and " + Twine(rhs[rhs.size() - 2]));
  llvm::Expected<Dims> batch = broadcastDims(getBatchDims(lhs), getBatchDims(rhs));
  if (!batch)
    return batch.takeError();
  Shape shape{lhs[lhs.size() - 2], lhs.back(), rhs.back(), *batch, {}, {}};
  auto getMatrixOffsets = [&](ArrayRef<int64_t> dims, int64_t matrixSize) {
    Dims strides = getBroadcastStrides(getBatchDims(dims), *batch);
    for (int64_t &stride : strides)
      stride *= matrixSize;
    return getOffsets(*batch, strides);
  };
  shape.lhsOffsets = getMatrixOffsets(lhs, shape.m * shape.k);
  shape.rhsOffsets = getMatrixOffsets(rhs, shape.k * shape.n);
  return shape;
}

template <typename T>
std::vector<T> multiplyBatches(MLIRContext *context, const Shape &shape, ArrayRef<T> lhs, ArrayRef<T> rhs) {
  int64_t m = shape.m, k = shape.k, n = shape.n;
  int64_t blocks = (m + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<T> out(shape.lhsOffsets.size() * m * n);
  // Tasks write disjoint rows, and a row's value doesn't depend on its task: threads change nothing.
  parallelFor(context, 0, shape.lhsOffsets.size() * blocks, [&](size_t task) {
    int64_t batch = task / blocks, row = task % blocks * kRowsPerTask;
    multiply(lhs.data() + shape.lhsOffsets[batch] + row * k, rhs.data() + shape.rhsOffsets[batch],
             out.data() + (batch * m + row) * n, std::min(kRowsPerTask, m - row), k, n);
  });
  return out;
}

} // namespace

void multiplyMatrices(const double *a, const double *b, double *c, int64_t m, int64_t k, int64_t n) {
  multiply(a, b, c, m, k, n);
}

void multiplyMatrices(const int64_t *a, const int64_t *b, int64_t *c, int64_t m, int64_t k, int64_t n) {
  multiply(a, b, c, m, k, n);
}

llvm::Expected<HostTensor> matmul(const HostTensor &lhs, const HostTensor &rhs, Type elementType) {
  if (lhs.getRank() == 0 || rhs.getRank() == 0)
    return makeError("expects operands of rank 1 or more");

  // A vector on the left is a row, on the right a column; the dimension added is dropped in the end.
  Dims lhsDims(lhs.getDims()), rhsDims(rhs.getDims());
  if (lhs.getRank() == 1)
    lhsDims.insert(lhsDims.begin(), 1);
  if (rhs.getRank() == 1)
    rhsDims.push_back(1);
  llvm::Expected<Shape> shape = getShape(lhsDims, rhsDims);
  if (!shape)
    return shape.takeError();
  Dims dims = shape->batch;
  if (lhs.getRank() > 1)
    dims.push_back(shape->m);
  if (rhs.getRank() > 1)
    dims.push_back(shape->n);
  if (auto count = countElements(dims); !count)
    return count.takeError();

  // out (batch, m, n) = lhs (batch, m, k) @ rhs (batch, k, n)
  MLIRContext *context = elementType.getContext();
  if (lhs.isFloat())
    return HostTensor(elementType, dims, multiplyBatches(context, *shape, lhs.getFloats(), rhs.getFloats()));
  std::vector<int64_t> out = multiplyBatches(context, *shape, lhs.getInts(), rhs.getInts());
  IntFormat format = IntFormat::of(elementType);
  for (int64_t &value : out)
    value = format.wrap(value);
  return HostTensor(elementType, dims, std::move(out));
}

} // namespace heddle::reference
