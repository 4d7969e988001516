# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that people have published: a ViT with a convolutional decoder, a tagger and a turn detector of Q/DQ, an
encoder and a decoder with dynamic quantisation. Their attention is raised, or the report says why not, and their
numbers are onnxruntime's."""

import json
import re
import unittest

import numpy as np
import tokenizers

import case
import command
import heddle
import models

BOUND = 1e-5
# Where activations are rounded to integers, one unit in the last place upstream moves a rounding: the direction holds.
COSINE = 0.9999
DECODER_COSINE = 0.999


def cosine(actual, expected):
    actual, expected = (values.astype(np.float64).ravel() for values in (actual, expected))
    return actual @ expected / np.linalg.norm(actual) / np.linalg.norm(expected)


def ids(random, batch, length):
    """Token ids and a mask whose last row is half padding."""
    mask = np.ones((batch, length), np.int64)
    mask[-1, (length + 1) // 2:] = 0
    return random.integers(5, 1000, (batch, length)) * mask, mask


class RealModelsTest(case.ArtifactTestCase):
    def compile(self, package, file):
        """Path, artifact and the report's attentions of FILE out of PACKAGE."""
        model = models.fetched(package) / file
        artifact, report = self.scratch / f"{model.stem}.heddle", self.scratch / f"{model.stem}.json"
        command.compile_model(model, artifact, "--report", report)
        return model, artifact, json.loads(report.read_text())["attention"]

    def outputs(self, model, artifact, feeds, as_written=True):
        """Pairs of our and the other engine's outputs."""
        # As written: what its optimiser makes of quantised tensors rounds in other places (cosine 0.999 to itself).
        expected = models.Oracle(model, as_written).run(feeds)
        with heddle.Program(artifact) as program:
            actual = program.run(feeds)
        return [(actual[name], expected[name]) for name in expected]

    def test_vit_with_a_decoder_of_convolutions(self):
        model, artifact, attentions = self.compile("vit-focus", "vit_s_focus.onnx")
        self.assertEqual([entry["raised"] for entry in attentions], [True] * 12)
        image = np.random.default_rng(0).standard_normal((1, 3, 224, 224), dtype=np.float32)
        for actual, expected in self.outputs(model, artifact, {"input_image": image}):
            self.assertLessEqual(models.difference(actual, expected), BOUND)

    def test_encoder_and_decoder_with_dynamic_quantisation(self):
        tokens, mask = ids(np.random.default_rng(1), 2, 17)
        model, artifact, attentions = self.compile("flan-t5-small-int8", "encoder.onnx")
        self.assertEqual([entry["raised"] for entry in attentions], [True] * 8)
        self.verify(model, artifact)
        # Optimised, as it multiplies exactly then on every CPU, and by the same numbers as written.
        feeds = {"input_ids": tokens, "attention_mask": mask}
        (actual, states), = self.outputs(model, artifact, feeds, as_written=False)
        self.assertGreaterEqual(cosine(actual, states), COSINE)

        model, artifact, attentions = self.compile("flan-t5-small-int8", "decoder.onnx")
        self.assertEqual([entry["raised"] for entry in attentions], [True] * 16)
        feeds = {"input_ids": tokens[:, :5], "encoder_hidden_states": states, "encoder_attention_mask": mask}
        for actual, expected in self.outputs(model, artifact, feeds, as_written=False):
            # Scores without a scale make the softmax sharp: one moved rounding is seen by all that follows.
            self.assertGreaterEqual(cosine(actual, expected), DECODER_COSINE)

    def verify(self, model, artifact):
        """Each kernel against the reference, on the codes that came before it; the outputs of both alone."""
        summary = command.heddle("verify", artifact, model).stdout
        self.assertIn("in step", summary)
        for found in re.findall("output, cosine ([0-9.]+)", summary):
            self.assertGreaterEqual(float(found), COSINE, summary)

    def test_turn_detector_of_quantised_tensors(self):
        model, artifact, attentions = self.compile("smart-turn", "smart-turn-v3.2-cpu.onnx")
        self.assertEqual([entry["raised"] for entry in attentions], [True] * 4)
        self.verify(model, artifact)
        features = np.random.default_rng(3).standard_normal((3, 80, 800), dtype=np.float32)
        for actual, expected in self.outputs(model, artifact, {"input_features": features}):
            self.assertGreaterEqual(cosine(actual, expected), COSINE)

    def test_tagger_of_quantised_tensors(self):
        model, artifact, attentions = self.compile("quire-tagger", "tagger.onnx")
        # Scores and probabilities become integers and floats again inside the kernel.
        self.assertEqual([entry["raised"] for entry in attentions], [True] * 6)
        self.verify(model, artifact)
        tokens, mask = ids(np.random.default_rng(2), 2, 17)
        for actual, expected in self.outputs(model, artifact, {"input_ids": tokens, "attention_mask": mask}):
            self.assertGreaterEqual(cosine(actual, expected), COSINE)

        tokenizer = tokenizers.Tokenizer.from_file(str(model.with_name("tokenizer.json")))
        tags = json.loads(model.with_name("tag_vocab.json").read_text())["tags"]
        sentence = tokenizer.encode("Their is a problem with the the plan .")
        tokens = np.array([sentence.ids])
        with heddle.Program(artifact) as program:
            logits = program.run({"input_ids": tokens, "attention_mask": np.ones_like(tokens)})["logits"][0]
        changed = [(word, tags[tag]) for word, tag in zip(sentence.tokens, logits.argmax(-1)) if tags[tag] != "$KEEP"]
        self.assertEqual(changed, [("Their", "$REPLACE_There"), ("the", "$DELETE")])


if __name__ == "__main__":
    unittest.main()
