// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The object behind heddle_status_t, and the kind of failure that each error code stands for.

#include "runtime/core/status.h"

#include <cstdarg>
#include <cstdio>
#include <new>
#include <utility>

#include "runtime/core/border.h"

using namespace heddle::runtime;

struct heddle_status_object_t {
  heddle_status_code_t code;
  const char *error_code;
  std::string message;
  std::string context;
  std::string help;
};

namespace {

const char *const error_names[] = {
#define HEDDLE_ERROR(code, summary, explanation) #code,
    HEDDLE_RUNTIME_ERROR_CODES(HEDDLE_ERROR)
#undef HEDDLE_ERROR
};

/// The code's hundreds say what kind of failure it is; few codes differ from their neighbours.
heddle_status_code_t status_code_of(error code) {
  switch (code) {
  case error::H0312:
    return HEDDLE_STATUS_CANCELLED;
  case error::H0313:
    return HEDDLE_STATUS_OUT_OF_MEMORY;
  case error::H0403:
    return HEDDLE_STATUS_INVALID_ARGUMENT;
  case error::H0405:
    return HEDDLE_STATUS_DEVICE_LOST;
  case error::H0407:
    return HEDDLE_STATUS_OUT_OF_MEMORY;
  case error::H0501:
    return HEDDLE_STATUS_IO;
  case error::H0901:
    return HEDDLE_STATUS_INTERNAL;
  default:
    break;
  }
  if (code >= error::H0502)
    return HEDDLE_STATUS_BAD_FILE;
  if (code >= error::H0401)
    return HEDDLE_STATUS_DEVICE_UNAVAILABLE;
  return HEDDLE_STATUS_INVALID_ARGUMENT;
}

std::string without_control_characters(std::string text) {
  for (char &c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return text;
}

/// Built before main, so that reporting the lack of memory takes none.
heddle_status_object_t out_of_memory_status{HEDDLE_STATUS_OUT_OF_MEMORY, "H0313", "out of memory", {}, {}};

} // namespace

namespace heddle::runtime {

std::string format(const char *pattern, ...) {
  // Nearly every message fits; a long list of names gets a second pass.
  char buffer[1024];
  va_list arguments;
  va_start(arguments, pattern);
  va_list again;
  va_copy(again, arguments);
  int length = vsnprintf(buffer, sizeof(buffer), pattern, arguments);
  va_end(arguments);
  std::string text;
  if (length > 0 && static_cast<size_t>(length) < sizeof(buffer)) {
    text.assign(buffer, static_cast<size_t>(length));
  } else if (length > 0) {
    text.resize(static_cast<size_t>(length) + 1);
    vsnprintf(&text[0], text.size(), pattern, again);
    text.pop_back();
  }
  va_end(again);
  return text;
}

std::string format_dims(const int64_t *dims, size_t rank) {
  std::string text = "[";
  for (size_t i = 0; i < rank; ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

heddle_status_t fail(error code, std::string message, std::string help, std::string context) {
  auto *status = new (std::nothrow) heddle_status_object_t{
      status_code_of(code), error_names[static_cast<int>(code)], without_control_characters(std::move(message)),
      without_control_characters(std::move(context)), without_control_characters(std::move(help))};
  return status ? status : out_of_memory();
}

heddle_status_t out_of_memory() { return &out_of_memory_status; }

heddle_status_t damaged(const std::string &what) {
  return fail(error::H0505, "the artifact is damaged: " + what, "copy it again, or compile the model again");
}

heddle_status_t with_context(heddle_status_t status, const std::string &context) {
  if (!status || status == &out_of_memory_status || status->context.compare(0, context.size(), context) == 0)
    return status;
  heddle_status_t result = at_border([&] {
    status->context = without_control_characters(context) + (status->context.empty() ? "" : ", ") + status->context;
    return status;
  });
  // Without memory for the context the failure behind it can't be told either.
  if (result != status)
    heddle_status_release(status);
  return result;
}

heddle_status_t with_help(heddle_status_t status, const std::string &help) {
  if (!status || status == &out_of_memory_status || !status->help.empty())
    return status;
  heddle_status_t result = at_border([&] {
    status->help = without_control_characters(help);
    return status;
  });
  if (result != status)
    heddle_status_release(status);
  return result;
}

} // namespace heddle::runtime

heddle_status_code_t heddle_status_code(heddle_status_t status) { return status ? status->code : HEDDLE_STATUS_OK; }
const char *heddle_status_error_code(heddle_status_t status) { return status ? status->error_code : ""; }
const char *heddle_status_message(heddle_status_t status) { return status ? status->message.c_str() : ""; }
const char *heddle_status_context(heddle_status_t status) { return status ? status->context.c_str() : ""; }
const char *heddle_status_help(heddle_status_t status) { return status ? status->help.c_str() : ""; }

void heddle_status_release(heddle_status_t status) {
  if (status != &out_of_memory_status)
    delete status;
}
