// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statuses and error codes.

#include <set>

#include "runtime/core/status.h"
#include "tests/runtime/test_support.h"

namespace heddle::test {
namespace {

using runtime::error;
using runtime::fail;

TEST(Status, SuccessIsNullAndHasEmptyTexts) {
  EXPECT_EQ(heddle_status_code(nullptr), HEDDLE_STATUS_OK);
  EXPECT_STREQ(heddle_status_error_code(nullptr), "");
  EXPECT_STREQ(heddle_status_message(nullptr), "");
  EXPECT_STREQ(heddle_status_context(nullptr), "");
  EXPECT_STREQ(heddle_status_help(nullptr), "");
  heddle_status_release(nullptr);
}

TEST(Status, CarriesItsTexts) {
  const status status{fail(error::H0304, "message", "help", "context")};
  EXPECT_EQ(status.code(), HEDDLE_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(status.text(), "error[H0304]: message\n  context\n  help: help");
}

TEST(Status, ErrorCodeImpliesTheKind) {
  const std::pair<error, heddle_status_code_t> expected[] = {{error::H0101, HEDDLE_STATUS_INVALID_ARGUMENT},
                                                             {error::H0309, HEDDLE_STATUS_INVALID_ARGUMENT},
                                                             {error::H0312, HEDDLE_STATUS_CANCELLED},
                                                             {error::H0313, HEDDLE_STATUS_OUT_OF_MEMORY},
                                                             {error::H0314, HEDDLE_STATUS_INVALID_ARGUMENT},
                                                             {error::H0401, HEDDLE_STATUS_DEVICE_UNAVAILABLE},
                                                             {error::H0402, HEDDLE_STATUS_DEVICE_UNAVAILABLE},
                                                             {error::H0403, HEDDLE_STATUS_INVALID_ARGUMENT},
                                                             {error::H0404, HEDDLE_STATUS_DEVICE_UNAVAILABLE},
                                                             {error::H0405, HEDDLE_STATUS_DEVICE_LOST},
                                                             {error::H0406, HEDDLE_STATUS_DEVICE_UNAVAILABLE},
                                                             {error::H0407, HEDDLE_STATUS_OUT_OF_MEMORY},
                                                             {error::H0408, HEDDLE_STATUS_DEVICE_UNAVAILABLE},
                                                             {error::H0409, HEDDLE_STATUS_DEVICE_UNAVAILABLE},
                                                             {error::H0501, HEDDLE_STATUS_IO},
                                                             {error::H0502, HEDDLE_STATUS_BAD_FILE},
                                                             {error::H0507, HEDDLE_STATUS_BAD_FILE},
                                                             {error::H0901, HEDDLE_STATUS_INTERNAL}};
  for (auto [code, kind] : expected) {
    const status status{fail(code, "message")};
    EXPECT_EQ(status.code(), kind) << status.error_code();
  }
}

TEST(Status, ControlCharactersOfAFileNeverReachATerminal) {
  const status status{fail(error::H0505, "node '\x1b[2J\n'")};
  EXPECT_EQ(status.message(), "node '?[2J?'");
}

TEST(Status, LackOfMemoryIsReportedWithoutMemory) {
  heddle_status_t first = runtime::out_of_memory();
  EXPECT_EQ(first, runtime::out_of_memory());
  EXPECT_EQ(heddle_status_code(first), HEDDLE_STATUS_OUT_OF_MEMORY);
  heddle_status_release(first);
  EXPECT_STREQ(heddle_status_error_code(first), "H0313");
}

TEST(Status, LongMessagesAreKeptWhole) {
  const std::string name(5000, 'n');
  EXPECT_EQ(runtime::format("node '%s'", name.c_str()), "node '" + name + "'");
}

TEST(ErrorCodes, AreUniqueAndExplained) {
  std::set<std::string> codes;
  size_t count = 0;
#define HEDDLE_ERROR(code, summary, explanation)                                                                       \
  ++count;                                                                                                             \
  codes.insert(#code);                                                                                                 \
  EXPECT_GT(sizeof(summary), 5u) << #code;                                                                             \
  EXPECT_GT(sizeof(explanation), 30u) << #code;
  HEDDLE_RUNTIME_ERROR_CODES(HEDDLE_ERROR)
#undef HEDDLE_ERROR
  EXPECT_EQ(codes.size(), count);
}

TEST(Version, IsThatOfTheBuild) { EXPECT_STREQ(heddle_version(), HEDDLE_BUILD_VERSION); }

} // namespace
} // namespace heddle::test
