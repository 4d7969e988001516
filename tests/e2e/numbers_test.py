# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real models give onnxruntime's numbers at every batch and length, padded rows included, and the Lee documents'
similarities rank as people rank them."""

import json
import unittest

import numpy as np
import tokenizers

import case
import command
import heddle
import models

BOUND = 1e-5
# What onnxruntime scores on the same documents with the same tokenizer, untruncated.
LEE_SPEARMAN = 0.5092
LEE_BOUND = 0.0003


def ranks(values):
    """Ranks of VALUES; equal ones share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((2 * ends - counts - 1) / 2)[inverse]


class NumbersTest(case.ArtifactTestCase):
    def compare(self, model, bound=BOUND):
        """Holds every output at every shape against onnxruntime; returns the largest difference."""
        oracle = models.Oracle(model)
        worst = 0.0
        with heddle.Program(self.artifact(model)) as program:
            self.assertEqual(program.outputs, oracle.outputs)
            for batch, length in models.shapes(oracle.inputs):
                feeds = models.feeds(oracle.inputs, batch, length)
                expected, actual = oracle.run(feeds), program.run(feeds)
                for name in oracle.outputs:
                    error = models.difference(actual[name], expected[name])
                    worst = max(worst, error)
                    self.assertLessEqual(error, bound, f"output {name} at {batch}x{length}")
        return worst

    def test_minilm_agrees_with_onnxruntime(self):
        print(f"minilm-l3: {self.compare(models.minilm()):.1e}")

    def test_weight_only_int8_encoder_agrees_and_its_attention_is_raised(self):
        model = models.fetched("minilm-l6-int8") / "model.onnx"
        report = self.scratch / "minilm-l6-int8.json"
        command.compile_model(model, self.scratch / "minilm-l6-int8.heddle", "--report", report)
        self.assertEqual([entry["raised"] for entry in json.loads(report.read_text())["attention"]], [True] * 6)
        # Twice as deep as the others: both engines may be BOUND off the exact numbers, to opposite sides.
        print(f"minilm-l6-int8: {self.compare(model, 2 * BOUND):.1e}")

    def test_exports_agree_with_onnxruntime(self):
        for model in models.exports():
            with self.subTest(model=model.parent.name):
                print(f"{model.parent.name}: {self.compare(model):.1e}")

    def test_exports_agree_with_their_exporter(self):
        for model in models.exports():
            for inputs in sorted(model.parent.glob("inputs_*.npz")):
                with self.subTest(model=model.parent.name, inputs=inputs.name):
                    expected = np.load(inputs.with_name(inputs.name.replace("inputs", "outputs")))
                    with heddle.Program(self.artifact(model)) as program:
                        actual = program.run(np.load(inputs))
                    for name, values in zip(program.outputs, expected.values()):
                        self.assertLessEqual(models.difference(actual[name], values), BOUND, name)

    def test_minilm_ranks_the_lee_documents_as_onnxruntime_does(self):
        folder = models.fetched("lee")
        tokenizer = tokenizers.Tokenizer.from_file(str(models.fetched("minilm-tokenizer") / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(512)
        documents = (folder / "lee.cor").read_text("latin-1").splitlines()
        embeddings = []
        with heddle.Program(self.minilm()) as program:
            for document in documents:
                ids = np.array([tokenizer.encode(document).ids], np.int64)
                embeddings.append(program.run({"input_ids": ids, "attention_mask": np.ones_like(ids)})["461"][0])
        embeddings = np.array(embeddings, np.float64)
        embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
        pairs = np.triu_indices(len(documents), 1)
        human = np.loadtxt(folder / "similarities0-1.txt")[pairs]
        spearman = np.corrcoef(ranks((embeddings @ embeddings.T)[pairs]), ranks(human))[0, 1]
        print(f"Lee documents: Spearman {spearman:.4f}")
        self.assertAlmostEqual(spearman, LEE_SPEARMAN, delta=LEE_BOUND)


if __name__ == "__main__":
    unittest.main()
