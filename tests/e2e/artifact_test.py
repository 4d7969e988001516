# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Promises about artifacts: the same bytes each time, nothing else needed to run, weights never copied,
no growth over many shapes."""

import os
import pathlib
import shutil
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command
import heddle
import models

SHAPES = 2000
# Page tables, the allocator's own arenas and the plan cache settle within this.
GROWTH_BYTES = 8 << 20


def memory(key):
    """A field of this process's memory in bytes: VmRSS all, RssAnon what isn't backed by a file."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


class ArtifactTest(case.ArtifactTestCase):
    def test_compiling_twice_gives_the_same_bytes(self):
        elsewhere = self.scratch / "elsewhere"
        elsewhere.mkdir()
        for model in [models.minilm(), models.exports()[0]]:
            with self.subTest(model=model):
                # The folder and the thread count are no part of the artifact.
                copy = pathlib.Path(shutil.copy(model, elsewhere))
                again = command.compile_model(copy, elsewhere / "again.heddle", "--threads", 1)
                self.assertEqual(again.read_bytes(), self.artifact(model).read_bytes())

    def test_an_artifact_runs_after_its_model_is_gone(self):
        copy = pathlib.Path(shutil.copy(models.exports()[0], self.scratch / "gone.onnx"))
        artifact = command.compile_model(copy, self.scratch / "gone.heddle")
        oracle = models.Oracle(copy)
        feeds = models.feeds(oracle.inputs, 3, 16)
        expected = oracle.run(feeds)
        copy.unlink()
        with heddle.Program(artifact) as program:
            actual = program.run(feeds)
        for name, values in expected.items():
            self.assertLessEqual(models.difference(actual[name], values), 1e-5, name)

    def test_mapped_weights_are_not_copied(self):
        artifact = self.minilm()
        before, begin = memory("RssAnon"), time.perf_counter()
        with heddle.Program(artifact) as program:
            print(f"load: {(time.perf_counter() - begin) * 1e3:.2f} ms")  # for the reader; no test asserts a time
            program.run(models.feeds(program.inputs, 1, 16))
            grown = memory("RssAnon") - before
        weights = artifact.stat().st_size
        print(f"anonymous memory: {grown / 1e6:.1f} MB for an artifact of {weights / 1e6:.1f} MB")
        self.assertLess(grown, weights / 4)

    def test_thousands_of_shapes_do_not_grow_the_process(self):
        random = np.random.default_rng(7)
        sizes = [(int(random.integers(1, 5)), int(random.integers(1, 129))) for _ in range(SHAPES)]
        with heddle.Program(self.artifact(models.exports()[0])) as program:
            def run(pairs):
                for batch, length in pairs:
                    program.run(models.feeds(program.inputs, batch, length))
            # The largest shape first, then enough to fill the plan cache: later ones may only reuse.
            run([(4, 128)] + sizes[:SHAPES // 4])
            before = memory("VmRSS")
            run(sizes[SHAPES // 4:])
            grown = memory("VmRSS") - before
        print(f"growth over {SHAPES} shapes: {grown / 1e6:.2f} MB")
        self.assertLess(grown, GROWTH_BYTES)

    def test_a_file_that_shrinks_while_it_runs_is_the_cause_that_is_named(self):
        # Either the length that is asked for before each run tells, or the page that is gone: to a user both are one.
        weight = numpy_helper.from_array(np.ones((1024, 2048), np.float32), "w")
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "large",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1024])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2048])], [weight])
        model = self.scratch / "shrinks.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        artifact = command.compile_model(model, self.scratch / "shrinks.heddle")
        bench = subprocess.Popen([command.HEDDLE, "bench", artifact, "--seconds", "60"], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1.5)
        os.truncate(artifact, 1 << 17)
        _, errors = bench.communicate(timeout=60)
        self.assertEqual(bench.returncode, 5, errors)
        self.assertIn("error[H0507]", errors)


if __name__ == "__main__":
    unittest.main()
