# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes out for one sequence doesn't depend on what it is batched with, on padding to its right or on threads:
the same bits, not just close ones."""

import unittest

import numpy as np

import case
import heddle
import models

BATCH = 5
LENGTHS = (1, 9, 31, 64, 130)


class InvarianceTest(case.ArtifactTestCase):
    def assert_same_bits(self, actual, expected, what):
        self.assertEqual(actual.shape, expected.shape, what)
        self.assertEqual(actual.tobytes(), expected.tobytes(), what)

    def alone_and_batched(self, model, threads):
        """For each sequence of a ragged batch: outputs alone at its own length, alone padded, and in the batch."""
        with heddle.Program(self.artifact(model), threads=threads) as program:
            full = models.feeds(program.inputs, BATCH, max(LENGTHS), seed=1)
            full["attention_mask"] = (np.arange(max(LENGTHS))[None] < np.array(LENGTHS)[:, None]).astype(np.int64)
            batched = program.run(full)
            for row, length in enumerate(LENGTHS):
                padded = program.run({name: values[row:row + 1] for name, values in full.items()})
                alone = program.run({name: values[row:row + 1, :length] for name, values in full.items()})
                yield length, alone, padded, {name: values[row:row + 1] for name, values in batched.items()}

    def check(self, model):
        one, two = (list(self.alone_and_batched(model, threads)) for threads in (1, 2))
        for (length, *results), (_, *others) in zip(one, two):
            for name, alone in results[0].items():
                # A per-token output has rows for padding as well, which mean nothing.
                rows = (slice(None), slice(length)) if alone.ndim > 1 and alone.shape[1] == length else ()
                for label, result in zip(("padded", "batched", "2 threads, alone", "2 threads, padded",
                                          "2 threads, batched"), results[1:] + others):
                    self.assert_same_bits(result[name][rows], alone[rows], f"{name}, length {length}, {label}")

    def test_minilm_rows_are_invariant(self):
        self.check(models.minilm())

    def test_exports_rows_are_invariant(self):
        for model in models.exports():
            if not model.parent.name.startswith("vit"):
                with self.subTest(model=model.parent.name):
                    self.check(model)

    def test_images_are_invariant(self):
        for model in models.exports():
            if model.parent.name.startswith("vit"):
                with self.subTest(model=model.parent.name), heddle.Program(self.artifact(model)) as program:
                    feeds = models.feeds(program.inputs, BATCH, 0)
                    batched = program.run(feeds)
                    for row in range(BATCH):
                        alone = program.run({name: values[row:row + 1] for name, values in feeds.items()})
                        for name, values in alone.items():
                            self.assert_same_bits(batched[name][row:row + 1], values, f"{name}, image {row}")


if __name__ == "__main__":
    unittest.main()
