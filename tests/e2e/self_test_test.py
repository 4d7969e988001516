# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shaders that fail their self-test: another variant runs and the command says so; without one it ends with code 4.

Failures are pretended by HEDDLE_VULKAN_SELF_TEST; real ones are in tests/runtime/vulkan. Here every shader of a real
model has a case, and passes it on this machine's device.
"""

import os
import unittest

import case
import command
import models


# More than any kernel has.
VARIANTS = 16


class SelfTestTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.environ["HEDDLE_VULKAN_CACHE"] = "0"
        cls.artifact = cls.scratch / "self-test.heddle"
        command.compile_model(models.minilm(), cls.artifact, "--target", "vulkan")

    def run_model(self, self_test, shape="input_ids=1x9"):
        os.environ["HEDDLE_VULKAN_SELF_TEST"] = self_test
        try:
            return command.attempt("run", self.artifact, "--device", "vulkan", "--shape", shape)
        finally:
            del os.environ["HEDDLE_VULKAN_SELF_TEST"]

    def test_every_shader_passes_its_own(self):
        run = self.run_model("again")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("note:", run.stderr)

    def test_the_next_variant_runs_and_the_command_says_so(self):
        right = self.run_model("again", "input_ids=1x1")
        # Which variant of attention one row of queries takes is the device's; no other than it is tested.
        runs = (self.run_model(f"fail=attention/{variant}", "input_ids=1x1") for variant in range(VARIANTS))
        variant, run = next((variant, run) for variant, run in enumerate(runs) if "note:" in run.stderr)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, rf"note: variant {variant} of kernel '\w*attention\w*' isn't used on '.+', which "
                                     r"fails its self-test: HEDDLE_VULKAN_SELF_TEST says so")
        self.assertEqual(run.stdout, right.stdout)  # the order of all sums is that of every variant

    def test_without_a_variant_the_command_ends_with_code_4(self):
        run = self.run_model("fail=contract")
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertRegex(run.stderr, r"error\[H0409\]: kernel '\w*contract\w*' fails its self-test on '.+'")
        self.assertIn("--device cpu", run.stderr)
        self.assertEqual(run.stdout, "")

    def test_a_misspelt_word_is_refused(self):
        run = self.run_model("fale=contract")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("HEDDLE_VULKAN_SELF_TEST", run.stderr)


if __name__ == "__main__":
    unittest.main()
