// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One version, that of the header, which a test compares with the build's.

#include <heddle/heddle.h>

#define HEDDLE_TEXT_OF(number) #number
#define HEDDLE_TEXT(number) HEDDLE_TEXT_OF(number)

const char *heddle_version(void) {
  return HEDDLE_TEXT(HEDDLE_VERSION_MAJOR) "." HEDDLE_TEXT(HEDDLE_VERSION_MINOR) "." HEDDLE_TEXT(HEDDLE_VERSION_PATCH);
}
