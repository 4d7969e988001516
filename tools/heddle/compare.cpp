// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The measure of all comparisons: max|a-b| / max|b| for each output.

#include "tools/heddle/compare.h"

#include "tools/heddle/element.h"
#include "tools/heddle/handles.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::cli {

Difference compareTensors(const heddle_tensor_t *actual, const heddle_tensor_t *expected) {
  Difference result;
  if (dimsOf(actual) != dimsOf(expected)) {
    result.sameShape = false;
    return result;
  }
  heddle_element_type_t actualType = heddle_tensor_type(actual), expectedType = heddle_tensor_type(expected);
  const char *a = static_cast<const char *>(heddle_tensor_data(actual));
  const char *b = static_cast<const char *>(heddle_tensor_data(expected));
  double largestExpected = 0;
  for (size_t i = 0; i < heddle_tensor_element_count(actual); ++i) {
    double x = loadElement(actualType, a), y = loadElement(expectedType, b);
    a += heddle_element_type_size(actualType);
    b += heddle_element_type_size(expectedType);
    if (std::isfinite(y))
      largestExpected = std::max(largestExpected, std::fabs(y));
    if (x == y || (std::isnan(x) && std::isnan(y)))
      continue;
    double difference = std::fabs(x - y);
    result.largest =
        std::max(result.largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
  }
  if (result.largest > 0)
    result.relative = result.largest / largestExpected;
  return result;
}

} // namespace heddle::cli
