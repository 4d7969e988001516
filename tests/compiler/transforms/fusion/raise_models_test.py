# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports of Transformer families: every attention, norm and GELU is raised, attention's form is right, and torch's
outputs still come out."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, str(pathlib.Path(os.environ["HEDDLE_SOURCE_DIR"]) / "tests/compiler/reference"))
import evaluate  # noqa: E402
from models_test import SHARED, input_names, missing  # noqa: E402

HEDDLE = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"]) / "bin/heddle"
TOLERANCE = 1e-5

# Attentions of each family: how many, query heads, key heads, and what their masks look at. Two layers each; encoders,
# decoders and cross attention count alone.
BOTH = "position+tensor"
FAMILIES = {
    "albert": (2, 4, 4, {"tensor"}), "bart": (6, 4, 4, {"tensor", "position", BOTH}),
    "bert": (2, 4, 4, {"tensor"}), "bert-classify": (2, 4, 4, {"tensor"}), "clip-text": (2, 4, 4, {BOTH}),
    "clip-vision": (2, 4, 4, {"none"}), "deberta-v2": (2, 4, 4, {"tensor"}), "dinov2": (2, 4, 4, {"none"}),
    "distilbert": (2, 4, 4, {"tensor"}), "falcon": (2, 4, 1, {BOTH}),
    "gemma2": (2, 4, 2, {BOTH}), "gpt-neox": (2, 4, 4, {BOTH}), "gpt2": (2, 4, 4, {BOTH}), "llama": (2, 4, 2, {BOTH}),
    "mistral-window": (2, 4, 2, {BOTH}), "modernbert": (4, 4, 4, {"tensor", BOTH}), "mpnet": (2, 4, 4, {"tensor"}),
    "nomic-like-rope-bert": (2, 4, 4, {"tensor"}), "opt": (2, 4, 4, {BOTH}), "qwen2": (2, 4, 2, {BOTH}),
    "qwen3": (2, 4, 2, {BOTH}), "t5": (6, 4, 4, {"tensor", "position"}), "t5-encoder": (2, 4, 4, {"tensor"}),
    "vit": (2, 4, 4, {"none"}), "wav2vec2": (2, 4, 4, {"none"}), "whisper": (6, 4, 4, {"none", BOTH}),
}
ENTRY = re.compile(r'\{heads = (\d+) : i64, kv_heads = (\d+) : i64, mask = "([^"]*)"')
# An operator that has no importer yet; the driver names it.
UNSUPPORTED = re.compile(r"error\[H0201\]")


class RaiseModelsTest(unittest.TestCase):
    def fusion(self, model, folder):
        """MODEL after the fusion phase as a text, or None where it can't be imported yet."""
        output = pathlib.Path(folder) / "fusion.mlir"
        run = subprocess.run([HEDDLE, "compile", model, "--compile-to", "fusion", "-o", output], capture_output=True,
                             text=True)
        if UNSUPPORTED.search(run.stderr):
            return None
        self.assertEqual(run.returncode, 0, run.stderr)
        return output.read_text()

    def models(self):
        # The exporter's own Attention operator says what it is; there is nothing to raise.
        found = [path for path in sorted(SHARED.glob("models/*/model.onnx"))
                 if path.parent.name.split(".")[0] in FAMILIES and not path.parent.name.endswith("sdpa23")]
        return found or missing(f"no models in {SHARED / 'models'}")

    def test_no_attention_norm_or_gelu_is_missed(self):
        seen = set()
        with tempfile.TemporaryDirectory() as folder:
            for model in self.models():
                family = model.parent.name.split(".")[0]
                text = self.fusion(model, folder)
                if text is None:
                    continue
                seen.add(family)
                count, heads, kv_heads, masks = FAMILIES[family]
                with self.subTest(model.parent.name):
                    entries = ENTRY.findall(text)
                    self.assertEqual(text.count("nn.softmax %"), 0)
                    self.assertEqual(len(entries), count)
                    self.assertEqual({(int(n), int(g)) for n, g, _ in entries}, {(heads, kv_heads)})
                    self.assertLessEqual({mask for _, _, mask in entries}, masks)
                    for part in ("nn.reduce mean", "nn.unary sqrt", "nn.unary erf"):
                        self.assertNotIn(part, text, "a norm or a GELU is left")
        self.assertEqual(seen, set(FAMILIES))

    def test_masks_of_the_operator_are_positions_too(self):
        models = sorted(SHARED.glob("models/*.dynamo-sdpa23/model.onnx"))
        if not models:
            missing(f"no models in {SHARED / 'models'}")
        with tempfile.TemporaryDirectory() as folder:
            for model in models:
                count, _, _, masks = FAMILIES[model.parent.name.split(".")[0]]
                with self.subTest(model.parent.name):
                    entries = ENTRY.findall(self.fusion(model, folder))
                    self.assertEqual(len(entries), count)
                    self.assertLessEqual({mask for _, _, mask in entries}, masks)

    def test_raised_models_give_torchs_outputs(self):
        with tempfile.TemporaryDirectory() as name:
            root, jobs, expected = pathlib.Path(name), [], []
            for model in self.models():
                for path in sorted(model.parent.glob("inputs_*.npz")):
                    inputs = dict(np.load(path))
                    folder = root / str(len(jobs))
                    jobs.append(evaluate.prepare(folder, model, [inputs[key] for key in input_names(model)]))
                    expected.append((model.parent.name, np.load(str(path).replace("inputs", "outputs"))["output"]))
            evaluate.evaluate(root, jobs, "heddle-fusion-pipeline")
            for number, (what, output) in enumerate(expected):
                actual = evaluate.outputs(root / str(number))
                if isinstance(actual, str) and UNSUPPORTED.search(actual):
                    continue
                with self.subTest(what):
                    self.assertNotIsInstance(actual, str, actual)
                    self.assertLessEqual(evaluate.difference(actual[0], output), TOLERANCE)


if __name__ == "__main__":
    unittest.main()
