// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which outputs of models of codes are taken for right, and which aren't.

#include "compiler/measure/NoiseBound.h"

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(NoiseBound, TheReferencesDirectionIsEnough) {
  EXPECT_TRUE(agreesButForCodes(1, {}));
  EXPECT_TRUE(agreesButForCodes(0.9999, {}));
  EXPECT_TRUE(agreesButForCodes(0.9999, {1.0, 1.0, 1.0}));
}

TEST(NoiseBound, WithoutNoiseNothingElseAgrees) {
  EXPECT_FALSE(agreesButForCodes(0.99989, {}));
  EXPECT_FALSE(agreesButForCodes(0.99989, {1.0, 1.0, 1.0}));
}

TEST(NoiseBound, TheFarthestRunCounts) {
  // A model whose codes noise turns: up to 1.23e-3, so that 2.46e-3 is allowed.
  EXPECT_TRUE(agreesButForCodes(0.99905, {0.99891, 0.99877, 0.99902}));
  EXPECT_TRUE(agreesButForCodes(0.99755, {0.99891, 0.99877, 0.99902}));
  EXPECT_FALSE(agreesButForCodes(0.99753, {0.99891, 0.99877, 0.99902}));
}

TEST(NoiseBound, AWrongKernelIsSeenBesideNoise) {
  // Four times as far as noise takes it; another sign; no number.
  EXPECT_FALSE(agreesButForCodes(0.9951, {0.99877, 0.99877, 0.99877}));
  EXPECT_FALSE(agreesButForCodes(-0.9999, {0.99877, 0.99877, 0.99877}));
  EXPECT_FALSE(agreesButForCodes(0, {0.99877, 0.99877, 0.99877}));
}

} // namespace
} // namespace heddle
