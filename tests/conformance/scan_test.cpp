// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.scan on every target against plain loops: along any dimension, either way, with and without its own element,
// with captures. Terms are added in the order of the loop, so sums of up to 130 numbers of both signs differ from the
// interpreter's doubles by their own rounding alone.

#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

/// Scans x (i, j, 40) by |map|, which gives its index over two parallel loops and the scan, of |bounds|.
std::string scan(const std::string &bounds, const std::string &map, const std::string &combiner,
                 const std::string &type = "f32", const std::string &exclusive = "") {
  return llvm::formatv(R"(
kernel.func @scan(%x: tensor<?x?x40x{3}> {{kernel.dims = array<i64: 0, 1>}, %a: index, %b: index)
    -> (tensor<?x?x40x{3}> {{kernel.dims = array<i64: 0, 1>}) {{
  %y = kernel.scan sizes(%a, %b) bounds(affine_map<()[s0, s1] -> ({0})>) ins(%x : tensor<?x?x40x{3}>)
      attributes {{indexing_maps = [affine_map<(p, q, s)[s0, s1] -> ({1})>, affine_map<(p, q, s)[s0, s1] -> ({1})>],
                  input_count = 1 : i64, combiner = #kernel.combiner<{2}>{4}} body {{
  ^bb0(%e: {3}):
    kernel.yield %e : {3}
  } finish {{
  ^bb0(%acc: {3}):
    kernel.yield %acc : {3}
  } : tensor<?x?x40x{3}>
  kernel.return %y : tensor<?x?x40x{3}>
})",
                       bounds, map, combiner, type, exclusive);
}

const std::vector<std::vector<int64_t>> kShapes = {{1, 1}, {2, 3}, {5, 17}, {3, 130}, {2, 0}};
constexpr double kTolerance = 1e-5;

TEST(Scan, RunsAlongEachDimension) {
  check_kernel(scan("s0, s1, 40", "p, q, s", "sum"), "scan", kShapes, kTolerance);
  check_kernel(scan("s0, 40, s1", "p, s, q", "sum"), "scan", kShapes, kTolerance);
  check_kernel(scan("s1, 40, s0", "s, p, q", "sum"), "scan", kShapes, kTolerance);
}

TEST(Scan, RunsFromTheEnd) {
  check_kernel(scan("s0, s1, 40", "p, q, -s + 39", "sum"), "scan", kShapes, kTolerance);
  check_kernel(scan("s0, 40, s1", "p, -s + s1 - 1, q", "sum"), "scan", kShapes, kTolerance);
}

TEST(Scan, LeavesItsOwnElementOut) {
  check_kernel(scan("s0, s1, 40", "p, q, s", "sum", "f32", ", exclusive"), "scan", kShapes, kTolerance);
  check_kernel(scan("s0, 40, s1", "p, -s + s1 - 1, q", "maximum", "f64", ", exclusive"), "scan", kShapes);
}

TEST(Scan, CountsIntegersExactly) {
  for (const char *type : {"i64", "i32", "i16", "i8"}) {
    check_kernel(scan("s0, s1, 40", "p, q, s", "sum", type), "scan", kShapes);
    check_kernel(scan("s0, 40, s1", "p, s, q", "sum", type), "scan", kShapes);
    check_kernel(scan("s0, 40, s1", "p, s, q", "minimum", type), "scan", kShapes);
  }
}

/// Positions of tokens: the running count of kept ones, times the mask, plus an offset a row.
constexpr char kPositions[] = R"(
kernel.func @positions(%m: tensor<?x?xi64> {kernel.dims = array<i64: 0, 1>}, %c: tensor<?xi64> {kernel.dims = array<i64: 0>},
                       %b: index, %s: index) -> (tensor<?x?xi64> {kernel.dims = array<i64: 0, 1>}) {
  %y = kernel.scan sizes(%b, %s) bounds(affine_map<()[s0, s1] -> (s0, s1)>)
      ins(%m, %m, %c : tensor<?x?xi64>, tensor<?x?xi64>, tensor<?xi64>)
      attributes {indexing_maps = [affine_map<(i, j)[s0, s1] -> (i, j)>, affine_map<(i, j)[s0, s1] -> (i, j)>,
                                   affine_map<(i, j)[s0, s1] -> (i)>, affine_map<(i, j)[s0, s1] -> (i, j)>],
                  input_count = 1 : i64, combiner = #kernel.combiner<sum>} body {
  ^bb0(%e: i64):
    kernel.yield %e : i64
  } finish {
  ^bb0(%count: i64, %e: i64, %offset: i64):
    %p = arith.muli %count, %e : i64
    %r = arith.addi %p, %offset : i64
    kernel.yield %r : i64
  } : tensor<?x?xi64>
  kernel.return %y : tensor<?x?xi64>
})";

TEST(Scan, FinishesWithCaptures) { check_kernel(kPositions, "positions", {{1, 1}, {3, 9}, {17, 128}, {2, 0}}); }

} // namespace
} // namespace heddle::conformance
