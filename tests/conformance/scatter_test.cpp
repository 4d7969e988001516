// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// kernel.scatter on every target against plain loops: rows and single elements, places that meet, in lanes and one by
// one, checked places. Nothing is summed but by the combine region, in the order of the loops, so floats agree to the
// rounding of a few additions.

#include <gtest/gtest.h>

#include "tests/conformance/kernel_harness.h"
#include "llvm/Support/FormatVariadic.h"

namespace heddle::conformance {
namespace {

/// Updates (i, |columns|) by |combine| to the rows of x (20, |columns|) that ids modulo 20 name.
std::string rows(const std::string &columns, const std::string &type, const std::string &combine) {
  return llvm::formatv(R"(
kernel.func @scatter(%x: tensor<20x{0}x{1}>, %ids: tensor<?xi64> {{kernel.dims = array<i64: 0>},
                     %u: tensor<?x{0}x{1}> {{kernel.dims = array<i64: 0>}, %n: index) -> tensor<20x{0}x{1}> {{
  %y = kernel.scatter sizes(%n) bounds(affine_map<()[s0] -> ({0}, s0)>)
      ins(%x, %ids, %u : tensor<20x{0}x{1}>, tensor<?xi64>, tensor<?x{0}x{1}>)
      attributes {{indexing_maps = [affine_map<(j, i)[s0] -> (0, j)>, affine_map<(j, i)[s0] -> (i)>,
                                   affine_map<(j, i)[s0] -> (i, j)>, affine_map<(j, i)[s0] -> (0, j)>],
                  num_parallel = 1 : i64, scattered_dims = array<i64: 0>, site = 0 : i64} body {{
  ^bb0(%id: i64, %e: {1}):
    %exists = arith.constant true
    kernel.yield %exists, %id, %e : i1, i64, {1}
  } combine {{
  ^bb0(%old: {1}, %update: {1}):
    {2}
    kernel.yield %r : {1}
  } : tensor<20x{0}x{1}>
  kernel.return %y : tensor<20x{0}x{1}>
})",
                       columns, type, combine);
}

// random_inputs gives ids from -9 to 9, so many of them meet, and some count from the end.
const std::vector<std::vector<int64_t>> kShapes = {{0}, {1}, {3}, {50}};

TEST(Scatter, ReplacesRows) {
  const char *replace = "%zero = arith.subf %old, %old : f32\n    %r = arith.addf %update, %zero : f32";
  for (const char *columns : {"1", "5", "16", "40"})
    check_kernel(rows(columns, "f32", replace), "scatter", kShapes);
}

TEST(Scatter, CombinesWhatMeetsInOrder) {
  check_kernel(rows("40", "f32", "%r = arith.addf %old, %update : f32"), "scatter", kShapes, 1e-5);
  check_kernel(rows("17", "i64", "%r = arith.subi %update, %old : i64"), "scatter", kShapes);
  check_kernel(rows("17", "i8", "%r = arith.maxsi %old, %update : i8"), "scatter", kShapes);
}

/// Elements along an inner dimension: another place in each lane, and no update where the index is odd.
std::string elements(const std::string &type) {
  return llvm::formatv(R"(
kernel.func @scatter(%x: tensor<?x20x33x{0}> {{kernel.dims = array<i64: 0>},
                     %ids: tensor<?x3x33xi32> {{kernel.dims = array<i64: 0>},
                     %u: tensor<?x3x33x{0}> {{kernel.dims = array<i64: 0>}, %n: index)
    -> (tensor<?x20x33x{0}> {{kernel.dims = array<i64: 0>}) {{
  %y = kernel.scatter sizes(%n) bounds(affine_map<()[s0] -> (s0, 33, 3)>)
      ins(%x, %ids, %u : tensor<?x20x33x{0}>, tensor<?x3x33xi32>, tensor<?x3x33x{0}>)
      attributes {{indexing_maps = [affine_map<(b, j, i)[s0] -> (b, 0, j)>, affine_map<(b, j, i)[s0] -> (b, i, j)>,
                                   affine_map<(b, j, i)[s0] -> (b, i, j)>, affine_map<(b, j, i)[s0] -> (b, 0, j)>],
                  num_parallel = 2 : i64, scattered_dims = array<i64: 1>, site = 0 : i64} body {{
  ^bb0(%id: i32, %e: {0}):
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : i32
    %odd = arith.andi %id, %one : i32
    %exists = arith.cmpi eq, %odd, %zero : i32
    kernel.yield %exists, %id, %e : i1, i32, {0}
  } combine {{
  ^bb0(%old: {0}, %update: {0}):
    kernel.yield %update : {0}
  } : tensor<?x20x33x{0}>
  kernel.return %y : tensor<?x20x33x{0}>
})",
                       type);
}

TEST(Scatter, PutsEachLaneInItsOwnPlace) {
  for (const char *type : {"f32", "f64", "i64", "i16", "i1"})
    check_kernel(elements(type), "scatter", {{0}, {1}, {3}});
}

/// Both dimensions are scattered: no lanes, and a copy of whole rows.
constexpr char kSingle[] = R"(
kernel.func @scatter(%x: tensor<10x?xf32> {kernel.dims = array<i64: 1>}, %ids: tensor<?x2xi64> {kernel.dims = array<i64: 0>},
                     %u: tensor<?xf32> {kernel.dims = array<i64: 0>}, %n: index, %m: index)
    -> (tensor<10x?xf32> {kernel.dims = array<i64: 1>}) {
  %y = kernel.scatter sizes(%n, %m) bounds(affine_map<()[s0, s1] -> (s0)>)
      ins(%x, %ids, %ids, %u : tensor<10x?xf32>, tensor<?x2xi64>, tensor<?x2xi64>, tensor<?xf32>)
      attributes {indexing_maps = [affine_map<(i)[s0, s1] -> (0, 0)>, affine_map<(i)[s0, s1] -> (i, 0)>,
                                   affine_map<(i)[s0, s1] -> (i, 1)>, affine_map<(i)[s0, s1] -> (i)>,
                                   affine_map<(i)[s0, s1] -> (0, 0)>],
                  num_parallel = 0 : i64, scattered_dims = array<i64: 0, 1>, site = 0 : i64} body {
  ^bb0(%a: i64, %b: i64, %e: f32):
    %exists = arith.constant true
    kernel.yield %exists, %a, %b, %e : i1, i64, i64, f32
  } combine {
  ^bb0(%old: f32, %update: f32):
    %r = arith.mulf %old, %update : f32
    kernel.yield %r : f32
  } : tensor<10x?xf32>
  kernel.return %y : tensor<10x?xf32>
})";

TEST(Scatter, FindsSingleElements) { check_kernel(kSingle, "scatter", {{0, 10}, {1, 10}, {30, 10}, {30, 50}}, 1e-5); }

TEST(Scatter, ReportsAPlaceOutside) {
  // Rows from -9 to 9 of only 3 columns: some index is out of range, and every target says which one and of how many.
  check_kernel(kSingle, "scatter", {{30, 3}});
}

} // namespace
} // namespace heddle::conformance
