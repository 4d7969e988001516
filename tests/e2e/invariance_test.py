# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes out for one sequence doesn't depend on what it is batched with, on padding to its right or on threads:
the same bits, not just close ones."""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper

import case
import command
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

    def attention(self, heads, key_heads):
        """An artifact of one node: queries (B, S, N * 32) by keys (B, T, M * 32) that a mask (B, 1, 1, T) keeps."""
        dims = {"q": ["b", "s", heads * 32], "k": ["b", "t", key_heads * 32], "v": ["b", "t", key_heads * 32],
                "mask": ["b", 1, 1, "t"]}
        inputs = [helper.make_tensor_value_info(name, TensorProto.BOOL if name == "mask" else TensorProto.FLOAT, shape)
                  for name, shape in dims.items()]
        node = helper.make_node("Attention", list(dims), ["y"], q_num_heads=heads, kv_num_heads=key_heads)
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["b", "s", heads * 32])
        model, opset = self.scratch / f"decode{heads}.onnx", helper.make_opsetid("", 23)
        onnx.save(helper.make_model(helper.make_graph([node], "decode", inputs, [output]), opset_imports=[opset],
                                    ir_version=10), model)
        return command.compile_model(model, model.with_suffix(".heddle"))

    def test_keys_shared_out_to_threads_change_no_bit(self):
        # Up to 16 rows the keys are taken in parts, more rows go through them at once: a row can't tell.
        for heads, key_heads in ((3, 3), (6, 2)):
            random, rows, keys, batch = np.random.default_rng(1), 20, 1100, 2
            q = random.standard_normal((batch, rows, heads * 32)).astype(np.float32)
            k, v = (random.standard_normal((batch, keys, key_heads * 32)).astype(np.float32) for _ in "kv")
            kept = np.arange(keys) < np.array([keys, 700])[:, None]
            artifact = self.attention(heads, key_heads)
            for threads in (1, 2):
                with heddle.Program(artifact, threads=threads) as program:
                    def run(batches, few, length):
                        part = slice(batches, batches + 1) if batches is not None else slice(None)
                        return program.run({"q": q[part, :few], "k": k[part, :length], "v": v[part, :length],
                                            "mask": kept[part, None, None, :length]})["y"]
                    whole = run(None, rows, keys)
                    for few in (1, 3, 16, 17):
                        what = f"{few} rows, {threads} threads, {heads} heads"
                        self.assert_same_bits(run(None, few, keys), whole[:, :few], what)
                        self.assert_same_bits(run(1, few, keys), whole[1:, :few], what + ", alone")
                        self.assert_same_bits(run(1, few, 700), whole[1:, :few], what + ", without padding")
            split, group = (batch, -1, heads, 32), heads // key_heads
            rows_of = lambda x: np.repeat(x.reshape(batch, keys, key_heads, 32), group, 2).astype(np.float64)
            scores = np.einsum("bsnd,btnd->bnst", q.reshape(split), rows_of(k)) * 32 ** -0.5
            weights = np.exp(np.where(kept[:, None, None], scores, -np.inf))
            expected = np.einsum("bnst,btnd->bsnd", weights / weights.sum(-1, keepdims=True), rows_of(v))
            # 1100 products and sums in f32.
            np.testing.assert_allclose(whole, expected.reshape(whole.shape), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
