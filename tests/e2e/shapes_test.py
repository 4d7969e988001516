# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts for some shapes: `--shape` for one, `--bucket` for some lengths beside all others. They compute what the
artifact for all shapes computes, and say which shapes they take."""

import json
import re
import unittest

import numpy as np

import case
import command
import heddle
import models

LENGTHS = (16, 40)
# Families with one length, with a causal mask, with positions from a table, with two lengths.
MODELS = {"bert.ts-sdpa": "seq", "gpt2.ts-eager": "seq", "falcon.ts-sdpa": "seq", "t5-encoder.ts-sdpa": "seq"}
# Sums of a few hundred terms, against another engine's order.
BOUND = 1e-5


class ShapesTest(case.ArtifactTestCase):
    def model(self, name):
        model = models.SHARED / "models" / name / "model.onnx"
        return model if model.exists() else models.missing(f"no model {model}")

    def kept(self, feeds, output):
        """OUTPUT without what padding gives, which nobody reads and engines don't agree on."""
        return output[feeds["attention_mask"].astype(bool)] if output.ndim == 3 else output

    def run_all(self, artifact, feeds):
        with heddle.Program(artifact) as program:
            return [program.run(feed) for feed in feeds]

    def check(self, model, artifact, general, feeds):
        """ARTIFACT gives what GENERAL and onnxruntime give."""
        oracle = models.Oracle(model)
        feeds = [{name: feed[name] for name in oracle.inputs} for feed in feeds]
        for feed, actual, expected in zip(feeds, self.run_all(artifact, feeds), self.run_all(general, feeds)):
            theirs = oracle.run(feed)
            for name, value in actual.items():
                with self.subTest(length=feed["input_ids"].shape, output=name):
                    # The same sums in the same order: tiles don't depend on lengths.
                    np.testing.assert_array_equal(value, expected[name])
                    bound = models.difference(self.kept(feed, value), self.kept(feed, theirs[name]))
                    self.assertLessEqual(bound, BOUND)

    def test_buckets_give_the_numbers_of_all_lengths(self):
        for name, dimension in MODELS.items():
            model = self.model(name)
            oracle_inputs = models.Oracle(model).inputs
            # Two lengths with entry points of their own, two without.
            feeds = [models.feeds(oracle_inputs, 2, length) for length in (*LENGTHS, 7, 41)]
            artifact = self.scratch / f"{name}.buckets.heddle"
            sizes = ",".join(map(str, reversed(LENGTHS)))
            command.compile_model(model, artifact, "--bucket", f"{dimension}={sizes}")
            with self.subTest(name):
                self.check(model, artifact, self.artifact(model), feeds)

    def test_one_shape_gives_the_numbers_of_all(self):
        for name in MODELS:
            model = self.model(name)
            feeds = models.feeds(models.Oracle(model).inputs, 2, LENGTHS[0])
            artifact = self.scratch / f"{name}.shape.heddle"
            command.compile_model(model, artifact, "--shape", f"input_ids=2x{LENGTHS[0]}")
            with self.subTest(name):
                self.check(model, artifact, self.artifact(model), [feeds])

    def test_one_shape_refuses_the_others(self):
        model, artifact = self.model("bert.ts-sdpa"), self.scratch / "refuses.heddle"
        command.compile_model(model, artifact, "--shape", "input_ids=1x16")
        for batch, length in ((1, 17), (2, 16), (1, 0)):
            feeds = models.feeds(models.Oracle(model).inputs, batch, max(length, 1))
            feeds = {name: value[:, :length] for name, value in feeds.items()}
            with self.subTest(shape=(batch, length)), heddle.Program(artifact) as program:
                with self.assertRaisesRegex(heddle.Error, rf"H0305.*'input_ids' expects \[1,16\], got "
                                                                rf"\[{batch},{length}\]"):
                    program.run(feeds)
        run = command.attempt("run", artifact, "--shape", "input_ids=1x17")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("error[H0324]: input 'input_ids' expects shape [1,16], got [1,17]", run.stderr)

    def test_an_artifact_shows_its_buckets(self):
        model, artifact, report = self.model("bert.ts-sdpa"), self.scratch / "shown.heddle", self.scratch / "r.json"
        run = command.heddle("compile", model, "-o", artifact, "--bucket", "40,16,40", "--report", report)
        self.assertIn("buckets  seq=16,40, each with an entry point of its own\n", run.stderr)
        # The general one's, not those of all three.
        dispatches, kernels = map(int, re.search(r"program  (\d+) dispatches of (\d+) kernels", run.stderr).groups())
        self.assertLessEqual(kernels, dispatches)
        inspected = json.loads(command.heddle("inspect", "--json", artifact).stdout)
        entries = {entry["name"]: (entry["specializes"], entry["inputs"][0]["dims"]) for entry in inspected["entries"]}
        self.assertEqual(entries, {"main": (None, ["batch", "seq"]), "main_16": ("main", ["batch", 16]),
                                   "main_40": ("main", ["batch", 40])})
        self.assertEqual(inspected["options"]["bucket"], "seq=16,40")
        written = json.loads(report.read_text())
        self.assertEqual(written["buckets"], "seq=16,40")
        self.assertEqual({kernel["entry"] for kernel in written["kernels"]}, set(entries))
        # Weights are there once for all.
        alone = json.loads(command.heddle("inspect", "--json", self.artifact(model)).stdout)
        self.assertLess(inspected["constant_bytes"] - alone["constant_bytes"], alone["constant_bytes"] / 10)

    def test_the_order_of_sizes_is_no_matter(self):
        model = self.model("bert.ts-sdpa")
        artifacts = [command.compile_model(model, self.scratch / f"order{i}.heddle", "--bucket", bucket).read_bytes()
                     for i, bucket in enumerate(("16,40", "seq=40,16,16"))]
        self.assertEqual(*artifacts)

    def test_a_length_that_the_model_refuses_names_the_node(self):
        run = command.attempt("compile", self.model("bert.ts-sdpa"), "-o", self.scratch / "long.heddle", "--bucket",
                              "16,1024")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("error[H0209]: node '/m/embeddings/Add_1': expects operands that broadcast, got sizes 1024 and "
                      "512", run.stderr)

    def test_two_lengths_must_be_told_apart(self):
        run = command.attempt("compile", self.model("t5.ts-sdpa"), "-o", self.scratch / "two.heddle", "--bucket", "16")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("several dynamic dimensions behind their batch: seq, dec_seq", run.stderr)
        self.assertIn("name the one that is meant, as in --bucket seq=32,64", run.stderr)


if __name__ == "__main__":
    unittest.main()
