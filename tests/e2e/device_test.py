# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Choosing a device: one artifact for the CPU and for Vulkan, or for Vulkan alone, under each command that executes."""

import functools
import json
import os
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command

ROWS, COLUMNS = 6, 10


def save_model(path):
    """y = relu(x @ w), of ROWS rows and any number of them."""
    w = numpy_helper.from_array(weight(), "w")
    ends = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", ROWS]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", COLUMNS])]
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Relu", ["p"], ["y"])]
    graph = helper.make_graph(nodes, "device", ends[:1], ends[1:], [w])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def weight():
    return np.random.default_rng(3).standard_normal((ROWS, COLUMNS)).astype(np.float32)


class DeviceTest(case.ArtifactTestCase):
    @classmethod
    @functools.lru_cache(maxsize=None)
    def model(cls):
        path = cls.scratch / "model.onnx"
        save_model(path)
        return path

    @classmethod
    @functools.lru_cache(maxsize=None)
    def compiled(cls, targets):
        name = targets.replace(",", "-").replace(":", "-")
        return command.compile_model(cls.model(), cls.scratch / f"{name}.heddle", "--target", targets)

    def run_model(self, artifact, *options, **environment):
        """What `heddle run` makes of ARTIFACT, and the product to compare it with."""
        x = np.random.default_rng(4).standard_normal((5, ROWS)).astype(np.float32)
        np.save(self.scratch / "x.npy", x)
        output = self.scratch / "y.npy"
        output.unlink(missing_ok=True)
        run = subprocess.run([command.HEDDLE, "run", artifact, "--input", f"x=@{self.scratch / 'x.npy'}", "-o", output,
                              *options], env=os.environ | environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        # Six products of numbers around 1 a sum, in any order.
        np.testing.assert_allclose(np.load(output), np.maximum(x @ weight(), 0), atol=1e-5)
        return run

    def selected(self, artifact, *options):
        """The device that runs ARTIFACT, under a roofline of its own."""
        report = json.loads(command.heddle("bench", artifact, "--seconds", "0.05", "--json", *options).stdout)
        row = report["rows"][0]
        self.assertGreater(row["percent_of_roofline"], 0)
        self.assertIn(row["device"], [roofline["device"] for roofline in report["machine"]["roofline"]])
        return row["device"]

    def test_runs_on_the_cpu_unless_told_otherwise(self):
        both = self.compiled("cpu,vulkan")
        self.run_model(both)
        self.assertEqual(self.selected(both), "cpu")

    def test_runs_on_vulkan_where_it_is_asked_for(self):
        both = self.compiled("cpu,vulkan")
        self.run_model(both, "--device", "vulkan")
        self.run_model(both, HEDDLE_DEVICE="vulkan:0")
        self.assertEqual(self.selected(both, "--device", "vulkan"), "vulkan")

    def test_runs_on_vulkan_where_there_is_nothing_else(self):
        alone = self.compiled("vulkan")
        self.run_model(alone)
        self.assertEqual(self.selected(alone), "vulkan")
        command.heddle("run", alone, "--shape", "x=1x6", "--device", "cpu", expect=4)

    def test_the_order_of_targets_is_not_the_users_affair(self):
        both = self.compiled("cpu,vulkan").read_bytes()
        self.assertEqual(both, self.compiled("vulkan,cpu").read_bytes())

    def test_verifies_each_device(self):
        both = self.compiled("cpu,vulkan")
        for device in ("cpu", "vulkan"):
            command.heddle("verify", both, self.model(), "--device", device)

    def test_compiles_a_model_for_the_device_that_runs_it(self):
        caches = {"XDG_CACHE_HOME": str(self.scratch / "cache")}
        self.run_model(self.model(), "--device", "vulkan", **caches)
        self.run_model(self.model(), **caches)
        targets = [json.loads(command.heddle("inspect", artifact, "--json").stdout)["targets"][0]["name"].split(":")[0]
                   for artifact in (self.scratch / "cache/heddle").glob("*.heddle")]
        self.assertEqual(sorted(targets), ["cpu", "vulkan"])

    def test_switches_reach_the_driver(self):
        # Each step submitted alone, and without what drivers get wrong: the same numbers.
        self.run_model(self.compiled("vulkan"), "--vulkan-serialize", "--vulkan-disable", "float16,dot,subgroup")

    def test_work_beyond_the_limits_of_the_device_ends_with_code_4(self):
        run = subprocess.run([command.HEDDLE, "run", self.compiled("vulkan"), "--shape", f"x=5x{ROWS}"],
                             env=os.environ | {"HEDDLE_VULKAN_LIMITS": "range=64"}, capture_output=True, text=True,
                             timeout=120)
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertRegex(run.stderr, r"(?m)^error\[H0406\]: ")
        self.assertIn("--device cpu", run.stderr)
        self.assertEqual(run.stdout, "")

    def test_devices_tells_what_each_would_run(self):
        lines = command.heddle("devices", self.compiled("cpu,vulkan")).stdout.splitlines()
        targets = [line for line in lines if line.startswith("targets")]
        self.assertEqual(len(targets), 2, lines)
        self.assertRegex(targets[0], "cpu:.*: selected$")
        self.assertRegex(targets[1], r"vulkan: selected, \d+ of \d+ kernels in their best form")


if __name__ == "__main__":
    unittest.main()
