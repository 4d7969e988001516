// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether this is a build with a sanitizer, which has a malloc of its own and is several times slower.

#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEDDLE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEDDLE_TEST_SANITIZED 1
#endif
#endif
