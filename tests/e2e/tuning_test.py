# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts with tiles from tuning files: the same numbers, told in report and artifact, and the table wherever a file
doesn't fit. How such files are found is heddle tune's; these are written by hand."""

import json
import os
import unittest

import numpy as np
import onnx
from onnx import helper

import case
import command
import heddle

TARGET = "cpu:x86-64-v3"
ROWS = (1, 3, 20, 64, 65, 300)
FILE = "hand.tuning.jsonl"


def product(path):
    """A model of one product with weights of its own: x[n,36] to y[n,88]."""
    random = np.random.default_rng(7)
    weights = onnx.numpy_helper.from_array(random.standard_normal((36, 88), dtype=np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], "tuned",
                              [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 36])],
                              [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["n", 88])], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


class TuningTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = product(cls.scratch / "product.onnx")
        cls.plain, cls.kernel, _ = cls.compile("plain", "--no-tuning")
        info = json.loads(command.heddle("inspect", cls.plain, "--json").stdout)
        cls.device = {"kind": "cpu", "features": info["targets"][0]["features"]}

    @classmethod
    def compile(cls, name, *options):
        """The artifact, what the report says of its one kernel, and what was said on standard error."""
        artifact, report = cls.scratch / f"{name}.heddle", cls.scratch / f"{name}.json"
        run = command.heddle("compile", cls.model, "-o", artifact, "--target", TARGET, "--report", report, *options)
        cls.report = json.loads(report.read_text())
        return artifact, cls.report["kernels"][0], run.stderr

    def entry(self, rows, device=None, **numbers):
        """A line for the kernel: what the table has for TARGET but NUMBERS."""
        config = {"branch_masks": 1, "column_vectors": 1, "few_row_vectors": 4, "few_rows": 2, "grain_work": 131072,
                  "prefetch_rows": 1, "row_tile": 6, "rows_per_item": 60, "split_row_tail": 1, **numbers}
        return json.dumps({"heddle_tuning": 1, "device": device or self.device, "signature": self.kernel["signature"],
                           "rows": rows, "config": config, "ratio": 0.9, "pairs": 21, "producer": "by hand"})

    def write(self, *lines, name=FILE):
        path = self.scratch / name
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def run_all(self, artifact):
        random = np.random.default_rng(3)
        with heddle.Program(artifact) as program:
            return [program.run({"x": random.standard_normal((rows, 36), dtype=np.float32)})["y"] for rows in ROWS]

    def options(self, artifact):
        info = json.loads(command.heddle("inspect", artifact, "--json").stdout)
        return info["options"]

    def test_tiles_change_and_numbers_stay(self):
        file = self.write(self.entry("65-256", row_tile=4, rows_per_item=32, column_vectors=2),
                          self.entry("1", few_rows=1, few_row_vectors=8))
        artifact, kernel, said = self.compile("tuned", "--tuning", file)
        tiles = kernel["tiles"][TARGET]
        self.assertIn(f"(from {FILE} (same ISA) for rows 1, {FILE} (same ISA) for rows 65-256, else table)", tiles)
        self.assertIn("buckets", tiles)
        self.assertEqual(self.report["tuning"], f"{FILE} (2)")
        self.assertEqual(self.options(artifact)["tuning"], f"{FILE} (2)")
        self.assertNotEqual(kernel["name"], self.kernel["name"])
        self.assertIn(f"tuning   {FILE} (2)", said)
        for rows, tuned, plain in zip(ROWS, self.run_all(artifact), self.run_all(self.plain)):
            with self.subTest(rows=rows):
                np.testing.assert_array_equal(tuned, plain)

    def test_the_same_files_give_the_same_bytes(self):
        file = self.write(self.entry("5-16", row_tile=2, rows_per_item=16))
        first, _, _ = self.compile("first", "--tuning", file)
        folder = self.scratch / "elsewhere"
        folder.mkdir(exist_ok=True)
        second, _, _ = self.compile("second", "--tuning", file.rename(folder / FILE))
        self.assertEqual(first.read_bytes(), second.read_bytes())
        self.assertNotEqual(first.read_bytes(), self.plain.read_bytes())

    def test_the_users_folder_counts_unless_no_tuning_says_otherwise(self):
        folder = self.scratch / "config/heddle"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "mine.tuning.jsonl").write_text(self.entry("2-4", row_tile=4, rows_per_item=60) + "\n")
        (folder / "notes.txt").write_text("no tuning file\n")
        (folder / "odd.tuning.jsonl").write_text("no JSON\n")
        before = os.environ.get("XDG_CONFIG_HOME")
        os.environ["XDG_CONFIG_HOME"] = str(self.scratch / "config")
        try:
            _, kernel, said = self.compile("users")
            plain, _, _ = self.compile("again", "--no-tuning")
            named = self.write(self.entry("2-4", row_tile=3, rows_per_item=60))
            _, overridden, _ = self.compile("named", "--tuning", named)
        finally:
            os.environ.pop("XDG_CONFIG_HOME")
            if before is not None:
                os.environ["XDG_CONFIG_HOME"] = before
        self.assertIn("mine.tuning.jsonl (same ISA) for rows 2-4", kernel["tiles"][TARGET])
        self.assertIn("odd.tuning.jsonl' can't be used: line 1: isn't JSON", said)
        self.assertEqual(plain.read_bytes(), self.plain.read_bytes())
        self.assertIn(f"{FILE} (same ISA) for rows 2-4", overridden["tiles"][TARGET])

    def test_what_does_not_fit_is_said_and_the_table_serves(self):
        good = self.entry("17-64", row_tile=5, rows_per_item=60)
        file = self.write("half a line {", self.entry("1", row_tile=1000), self.entry("2-4", warp=9),
                          self.entry("any", row_tile=2), good)
        artifact, kernel, said = self.compile("partly", "--tuning", file)
        signature = self.kernel["signature"]
        self.assertIn(f"{FILE}, line 1: isn't JSON", said)
        self.assertIn(f"{FILE}: the config for {signature}, rows 1 has 'row_tile' of 1000, expects 1 to 16; "
                      "the table serves", said)
        self.assertIn("rows 2-4 has 'warp', which this kernel has no use for", said)
        self.assertEqual(len(self.report["tuning_rejected"]), 2)
        self.assertEqual(self.options(artifact)["tuning"], f"{FILE} (1)")
        self.assertIn("for rows 17-64, else table", kernel["tiles"][TARGET])

    def test_entries_of_other_devices_are_left_alone(self):
        other = {"kind": "cpu", "features": ["avx2", "fma", "avx512f"]}
        file = self.write(self.entry("1", device=other), self.entry("1", device={"kind": "vulkan"}))
        artifact, kernel, said = self.compile("foreign", "--tuning", file)
        self.assertEqual(artifact.read_bytes(), self.plain.read_bytes())
        self.assertIn("(from table)", kernel["tiles"][TARGET])
        self.assertIn(f"{FILE}: its entries are all for other devices than the targets; none is used", said)

    def test_files_that_are_none_are_errors(self):
        output = self.scratch / "none.heddle"
        for path, why in ((self.scratch / "missing.tuning.jsonl", "No such file or directory"),
                          (self.scratch, "it is no regular file"), (self.model, "line 1: isn't JSON")):
            with self.subTest(why):
                run = command.heddle("compile", self.model, "-o", output, "--tuning", path, expect=5)
                self.assertIn("error[H0525]", run.stderr)
                self.assertIn(why, run.stderr)
                self.assertFalse(output.exists())
        run = command.heddle("compile", self.model, "-o", output, "--tuning", self.model, "--no-tuning", expect=2)
        self.assertIn("--no-tuning and --tuning exclude each other", run.stderr)


if __name__ == "__main__":
    unittest.main()
