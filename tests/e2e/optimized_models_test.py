# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that onnxruntime's optimiser has rewritten into com.microsoft's operators compile, give onnxruntime's numbers,
and report each of their attentions. Bound as in numbers_test.py: f32 sums in another order, relative to the largest."""

import json
import unittest

import onnx
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import AttentionMaskFormat, FusionOptions

import case
import command
import heddle
import models

BOUND = 1e-5


class OptimizedModelsTest(case.ArtifactTestCase):
    def optimize(self, model, name, mask_format, num_heads, hidden_size, model_type="bert"):
        """MODEL with its operators fused; MASK_FORMAT is what masks become where the optimiser can choose."""
        options = FusionOptions(model_type)
        options.attention_mask_format = mask_format
        fused = optimizer.optimize_model(str(model), model_type, num_heads=num_heads, hidden_size=hidden_size,
                                         opt_level=0, optimization_options=options)
        path = self.scratch / f"{name}.onnx"
        fused.save_model_to_file(str(path))
        return path

    def hold(self, model):
        """Holds MODEL against onnxruntime; returns what the report says of its attentions."""
        report, artifact = self.scratch / "report.json", self.scratch / f"{model.stem}.heddle"
        command.compile_model(model, artifact, "--report", report)
        oracle = models.Oracle(model)
        with heddle.Program(artifact) as program:
            for batch, length in models.shapes(oracle.inputs):
                feeds = models.feeds(oracle.inputs, batch, length)
                expected, actual = oracle.run(feeds), program.run(feeds)
                for name in oracle.outputs:
                    error = models.difference(actual[name], expected[name])
                    self.assertLessEqual(error, BOUND, f"output {name} at {batch}x{length}")
        return json.loads(report.read_text())["attention"]

    def hold_minilm(self, mask_format, mask):
        model = self.optimize(models.minilm(), f"minilm-{mask_format}", mask_format, 12, 384)
        operators = [node.op_type for node in onnx.load(model, load_external_data=False).graph.node]
        for operator in ("Attention", "EmbedLayerNormalization", "SkipLayerNormalization", "BiasGelu"):
            self.assertIn(operator, operators)
        attentions = self.hold(model)
        self.assertEqual([entry["mask"] for entry in attentions], [mask] * operators.count("Attention"))
        self.assertEqual({(entry["heads"], entry["kv_heads"]) for entry in attentions}, {("12", "12")})

    def test_minilm_with_lengths(self):
        self.hold_minilm(AttentionMaskFormat.MaskIndexEnd, "position+tensor")

    def test_minilm_without_a_mask(self):
        self.hold_minilm(AttentionMaskFormat.NoMask, "none")

    def test_exports(self):
        # What the optimiser finds of each one's two attentions; the others are raised here.
        for family, (model_type, found) in {"bert": ("bert", 2), "albert": ("bert", 1), "distilbert": ("bert", 2),
                                            "clip-vision": ("clip", 2)}.items():
            folder = models.SHARED / f"models/{family}.ts-eager"
            if not folder.is_dir():
                models.missing(f"no model {folder}")
            with self.subTest(family):
                model = self.optimize(folder / "model.onnx", family, AttentionMaskFormat.AttentionMask, 4, 48,
                                      model_type)
                self.assertEqual(sum(node.op_type == "Attention" for node in onnx.load(model).graph.node), found)
                attentions = self.hold(model)
                self.assertEqual([entry["heads"] for entry in attentions], ["4", "4"])


if __name__ == "__main__":
    unittest.main()
