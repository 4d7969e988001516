# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX's own tests of attention and rotation, compiled and run: the operators, and their definitions written out.

The bounds are those of onnx's runner, 1e-3 relative, with 1e-5 absolute where it has 1e-7: its expected values are
numpy's f32, whose cancelled sums differ by more. Tests in half precision get a unit in the last place of their type.
"""

import pathlib
import re
import unittest

import numpy as np
import onnx
from onnx import numpy_helper

import case
import command
import heddle

NODES = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
PATTERN = re.compile("test_(attention|rotary_embedding)")


def load(path):
    return numpy_helper.to_array(onnx.load_tensor(path))


def read(folder, kind, values):
    """Tensors of KIND by the names of VALUES, the model's inputs or outputs."""
    paths = [folder / f"test_data_set_0/{kind}_{number}.pb" for number in range(len(values))]
    return {value.name: load(path) for value, path in zip(values, paths)}


class OnnxNodesTest(case.ArtifactTestCase):
    def hold(self, folder):
        graph = onnx.load(folder / "model.onnx").graph
        compiled = command.attempt("compile", folder / "model.onnx", "-o", self.scratch / "node.heddle")
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        with heddle.Program(self.scratch / "node.heddle") as program:
            actual = program.run(read(folder, "input", graph.input))
        for name, expected in read(folder, "output", graph.output).items():
            self.assertEqual(actual[name].dtype, expected.dtype, name)
            bounds = {"rtol": 2e-3, "atol": 1e-3} if expected.dtype == np.float16 else {"rtol": 1e-3, "atol": 1e-5}
            np.testing.assert_allclose(actual[name], expected, err_msg=name, **bounds)

    def test_attention_and_rotation(self):
        folders = sorted(path for path in NODES.iterdir() if PATTERN.match(path.name))
        self.assertGreaterEqual(len(folders), 144)
        for folder in folders:
            with self.subTest(folder.name):
                self.hold(folder)


if __name__ == "__main__":
    unittest.main()
