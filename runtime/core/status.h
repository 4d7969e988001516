// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How runtime code makes statuses: an error code from heddle/error_codes.h, which implies the status code, and texts
// in the form that interface.md gives for errors.

#pragma once

#include <memory>
#include <string>

#include <heddle/error_codes.h>
#include <heddle/heddle.h>

namespace heddle::runtime {

/// The codes of heddle/error_codes.h.
enum class error {
#define HEDDLE_ERROR(code, summary, explanation) code,
  HEDDLE_RUNTIME_ERROR_CODES(HEDDLE_ERROR)
#undef HEDDLE_ERROR
};

/// printf into a string.
std::string format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/// "[1,128]".
std::string format_dims(const int64_t *dims, size_t rank);

/// Makes a status. Control characters, which names from a file may hold, are replaced: texts reach terminals.
heddle_status_t fail(error code, std::string message, std::string help = {}, std::string context = {})
    __attribute__((returns_nonnull));

/// The one failure that needs no memory to report.
heddle_status_t out_of_memory() __attribute__((returns_nonnull));

/// The failure of a file whose tables contradict each other: |what|.
heddle_status_t damaged(const std::string &what) __attribute__((returns_nonnull));

/// Puts |context| before |status|'s context line ("in model.heddle, op Gather") unless it begins so, and returns the
/// status. Only for statuses that weren't handed out yet.
heddle_status_t with_context(heddle_status_t status, const std::string &context);

/// A status in hand where memory may give out before it is handed on.
struct status_releaser {
  void operator()(heddle_status_t status) const { heddle_status_release(status); }
};
using owned_status = std::unique_ptr<heddle_status_object_t, status_releaser>;

/// Gives |status| a line of help unless it has one, and returns it. Only for statuses that weren't handed out yet.
heddle_status_t with_help(heddle_status_t status, const std::string &help);

} // namespace heddle::runtime
