# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random nodes of the standard operator Attention, opset 23 to 25, give what its definition says in numpy: layouts,
grouped heads, masks of all ranks and types, soft caps, pasts, external caches, windows, half precision; scores in each
of their stages and probabilities as outputs.

Tolerance: 1e-4 relative, 1e-5 absolute, for sums of f32 in another order. In half precision all is computed in f32 from
the given halves, so that rounding the result is the only difference: half a unit in the last place of f16 or bf16.
"""

import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

import case
import command
import heddle
import models

COUNT = 24
NAMES = ("q", "k", "v", "mask", "past_key", "past_value", "length")
# What output qk_matmul_output is, by mode.
STAGES = ("scaled", "capped", "biased", "weights")
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(ml_dtypes.bfloat16): TensorProto.BFLOAT16, np.dtype(np.int64): TensorProto.INT64,
         np.dtype(np.bool_): TensorProto.BOOL}


def heads(rows, count):
    """(B, S, N * H) as (B, N, S, H)."""
    return rows.reshape(*rows.shape[:2], count, -1).transpose(0, 2, 1, 3)


def bias(feeds, attributes, opset, shape):
    """What is added to scores of SHAPE (B, N, S, T), -inf where a key isn't seen."""
    batch, _, rows, keys = shape
    mask = feeds.get("mask", np.zeros(1))
    if mask.dtype == np.bool_:
        mask = np.where(mask, 0.0, -np.inf)
    if opset >= 24 and "mask" in feeds:
        mask = np.pad(mask.astype(np.float64), [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])],
                      constant_values=-np.inf)
    length = feeds.get("length", np.full(batch, keys))[:, None, None]
    past = feeds["past_key"].shape[2] if "past_key" in feeds else 0
    offset = length - rows if "length" in feeds else past
    position, key = offset + np.arange(rows)[:, None], np.arange(keys)
    seen = (key < length) & np.full((batch, rows, keys), True)
    if attributes.get("is_causal"):
        seen &= key <= position
    if attributes.get("left_window_size", -1) >= 0:
        seen &= key >= position - attributes["left_window_size"]
    if attributes.get("right_window_size", -1) >= 0:
        seen &= key <= position + attributes["right_window_size"]
    return np.where(seen[:, None], mask, -np.inf) + np.zeros(shape)


def evaluate(feeds, attributes, opset, query_heads, key_heads):
    """The outputs y, present_key and present_value by the operator's definition in float64, and qk_matmul_output in all
    its modes."""
    q, k, v = (feeds[name].astype(np.float64) for name in NAMES[:3])
    is_rows = q.ndim == 3
    if is_rows:
        q, k, v = heads(q, query_heads), heads(k, key_heads), heads(v, key_heads)
    if "past_key" in feeds:
        k, v = np.concatenate([feeds["past_key"], k], 2), np.concatenate([feeds["past_value"], v], 2)
    group = query_heads // key_heads
    scaled = q @ np.repeat(k, group, 1).transpose(0, 1, 3, 2) * attributes.get("scale", q.shape[-1] ** -0.5)
    scores = scaled
    if "softcap" in attributes:
        scores = attributes["softcap"] * np.tanh(scores / attributes["softcap"])
    added = bias(feeds, attributes, opset, scores.shape)
    is_empty = added.max(-1, keepdims=True) == -np.inf
    logits = np.where(is_empty, 0, scores + added)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    weights = np.where(is_empty, 0, weights / weights.sum(-1, keepdims=True))
    y = weights @ np.repeat(v, group, 1)
    if is_rows:
        y = y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1)
    return y, k, v, (scaled, scores, scores + added, weights)


class Draw:
    """One random node: OPSET, ATTRIBUTES and FEEDS; DIMS are names or extents for the model."""

    def __init__(self, seed):
        self.random = random = np.random.default_rng(seed)
        self.opset, self.feeds, self.dims = int(random.choice([23, 24, 25])), {}, {}
        self.key_heads = int(random.integers(1, 4))
        self.query_heads = self.key_heads * int(random.integers(1, 4))
        self.sizes = {"b": random.integers(1, 4), "s": random.integers(1, 20), "k": random.integers(1, 40),
                      "p": random.integers(0, 9) if self.chance(0.35) else None}
        self.attributes = {name: value for name, value in [("softcap", 2.0), ("scale", 0.7), ("is_causal", 1)]
                           if self.chance(0.5)}
        for name in ("left_window_size", "right_window_size"):
            if self.opset >= 25 and self.chance(0.5):
                self.attributes[name] = int(random.integers(0, 5))
        self.mode = int(np.random.default_rng([seed, 1]).integers(4))
        self.float = np.random.default_rng([seed, 2]).choice([np.float32, np.float32, np.float16, ml_dtypes.bfloat16])
        self.add_tensors(int(random.choice([3, 8, 20])), int(random.choice([5, 8])))
        if self.chance(0.75):
            self.add_mask()

    def chance(self, probability):
        return self.random.random() < probability

    def add(self, name, dims, values=None):
        """Input NAME; DIMS are extents or names of sizes. Normal numbers unless there are VALUES."""
        shape = [int(self.sizes[dim]) if isinstance(dim, str) else dim for dim in dims]
        self.feeds[name] = self.random.standard_normal(shape).astype(self.float) if values is None else values(shape)
        self.dims[name] = dims

    def add_tensors(self, size, value_size):
        counts = (self.query_heads, self.key_heads, self.key_heads)
        is_rows = self.chance(0.5)
        for name, sequence, count, width in zip(NAMES, "skk", counts, (size, size, value_size)):
            self.add(name, ["b", sequence, count * width] if is_rows else ["b", count, sequence, width])
        if is_rows:
            self.attributes.update(q_num_heads=self.query_heads, kv_num_heads=self.key_heads)
        if self.sizes["p"] is not None:
            self.add("past_key", ["b", self.key_heads, "p", size])
            self.add("past_value", ["b", self.key_heads, "p", value_size])
        elif self.opset >= 24 and self.chance(0.5):
            self.add("length", ["b"], lambda shape: self.random.integers(0, self.sizes["k"] + 1, shape))
        self.sizes["t"] = self.sizes["k"] + (self.sizes["p"] or 0)

    def add_mask(self):
        dims = ["b", self.query_heads, "s", "t"][int(self.random.integers(0, 4)):]
        dims[:-1] = [1 if self.chance(0.4) else dim for dim in dims[:-1]]
        if self.opset >= 24 and self.chance(0.3):
            dims[-1] = int(self.random.integers(1, self.sizes["t"] + 1))
        kind = self.random.choice(["bool", "int", "float"])

        def values(shape):
            if kind == "bool":
                return self.random.random(shape) < 0.6
            if kind == "int":
                return self.random.integers(0, 2, shape)
            hidden = self.random.random(shape) < 0.3
            return np.where(hidden, -np.inf, self.random.standard_normal(shape)).astype(self.float)

        self.add("mask", dims, values)

    def save(self, path, outputs):
        inputs = [helper.make_tensor_value_info(name, TYPES[self.feeds[name].dtype], dims)
                  for name, dims in self.dims.items()]
        node = helper.make_node("Attention", [name if name in self.feeds else "" for name in NAMES], outputs,
                                qk_matmul_output_mode=self.mode, **self.attributes)
        results = [helper.make_tensor_value_info(name, TYPES[np.dtype(self.float)], None) for name in outputs]
        graph = helper.make_graph([node], "attention", inputs, results)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=10), path)


class AttentionTest(case.ArtifactTestCase):
    def test_random_nodes_give_what_the_operator_defines(self):
        model, artifact = self.scratch / "attention.onnx", self.scratch / "attention.heddle"
        for seed in models.share(range(COUNT)):
            draw = Draw(seed)
            outputs = ["y", "present_key", "present_value", STAGES[draw.mode]][:4 if draw.chance(0.5) else 3]
            with self.subTest(seed=seed, type=draw.float.__name__, opset=draw.opset, attributes=draw.attributes,
                              inputs=draw.dims):
                draw.save(model, outputs)
                compiled = command.attempt("compile", model, "-o", artifact)
                self.assertEqual(compiled.returncode, 0, compiled.stderr)
                with heddle.Program(artifact) as program:
                    actual = program.run(draw.feeds)
                *expected, stages = evaluate(draw.feeds, draw.attributes, draw.opset, draw.query_heads, draw.key_heads)
                rtol = {np.float32: 1e-4, np.float16: 6e-4, ml_dtypes.bfloat16: 5e-3}[draw.float]
                for name, values in zip(outputs, [*expected, stages[draw.mode]]):
                    self.assertEqual(actual[name].dtype, draw.float)
                    np.testing.assert_allclose(actual[name].astype(np.float64), values, rtol=rtol, atol=1e-5,
                                               err_msg=name)


if __name__ == "__main__":
    unittest.main()
