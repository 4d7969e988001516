// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.top_k on every target against a stable sort. Values are only moved and compared: all results must be equal.

#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

/// The first |ranks| of x (a, b, 5) by |compare| along the loop that |map| names i.
std::string top_k(const std::string &bounds, const std::string &map, const std::string &resultMap,
                  const std::string &dims, const std::string &dimNumbers, const std::string &type,
                  const std::string &compare) {
  return llvm::formatv(R"(
kernel.func @top(%x: tensor<?x?x5x{5}> {{kernel.dims = array<i64: 0, 1>}, %a: index, %b: index, %k: index)
    -> (tensor<{3}x{5}> {{kernel.dims = array<i64: {4}>}, tensor<{3}xi64> {{kernel.dims = array<i64: {4}>}) {{
  %v, %i = kernel.top_k sizes(%a, %b, %k) bounds(affine_map<()[s0, s1, s2] -> ({0})>) ins(%x : tensor<?x?x5x{5}>)
      attributes {{indexing_maps = [affine_map<(p, q, i, r)[s0, s1, s2] -> ({1})>,
                                   affine_map<(p, q, i, r)[s0, s1, s2] -> ({2})>,
                                   affine_map<(p, q, i, r)[s0, s1, s2] -> ({2})>]} body {{
  ^bb0(%e: {5}):
    kernel.yield %e : {5}
  } precedes {{
  ^bb0(%l: {5}, %r: {5}):
    %first = {6} %l, %r : {5}
    kernel.yield %first : i1
  } : tensor<{3}x{5}>, tensor<{3}xi64>
  kernel.return %v, %i : tensor<{3}x{5}>, tensor<{3}xi64>
})",
                       bounds, map, resultMap, dims, dimNumbers, type, compare);
}

TEST(TopK, RanksTheMiddleDimension) {
  std::string text = top_k("s0, 5, s1, s2", "p, i, q", "p, r, q", "?x?x5", "0, 2", "f32", "arith.cmpf ogt,");
  check_kernel(text, "top", {{1, 1, 1}, {3, 7, 2}, {2, 100, 5}, {2, 9, 9}, {2, 9, 0}, {0, 9, 3}});
}

TEST(TopK, RanksTheFirstDimension) {
  std::string text = top_k("s1, 5, s0, s2", "i, p, q", "r, p, q", "?x?x5", "2, 1", "f64", "arith.cmpf olt,");
  check_kernel(text, "top", {{1, 1, 1}, {7, 3, 2}, {40, 2, 40}});
}

TEST(TopK, PutsEqualElementsInTheirOwnOrder) {
  // Integers from -9 to 9: rows of 100 have many equal ones.
  for (const char *type : {"i64", "i32", "i8"})
    check_kernel(top_k("s0, 5, s1, s2", "p, i, q", "p, r, q", "?x?x5", "0, 2", type, "arith.cmpi sgt,"), "top",
                 {{2, 100, 10}, {2, 100, 100}});
}

} // namespace
} // namespace heddle::conformance
