# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random nodes of com.microsoft's Attention, QAttention, MultiHeadAttention, GroupQueryAttention and RotaryEmbedding
give onnxruntime's numbers: masks of all ranks, fills, biases, packed tensors, pasts, caches, windows, soft caps, sinks.

Tolerance: 1e-4 relative, 1e-5 absolute, for sums of f32 in another order. A row whose keys are all hidden by -10000 is
a softmax of scores rounded to 2^-10, where one rounding more or less moves weights by 1e-3: such draws get 3e-3.
"""

import json
import unittest

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import case
import command
import heddle
import models

COUNT = 24
NAMES = {
    "Attention": "input weights bias mask_index past attention_bias past_sequence_length",
    "QAttention": "input weights bias input_scale weight_scale mask_index input_zero_point weight_zero_point past",
    "MultiHeadAttention": "query key value bias key_padding_mask attention_bias past_key past_value",
    "GroupQueryAttention": "query key value past_key past_value seqlens_k total_sequence_length cos_cache sin_cache "
                           "position_ids attention_bias head_sink k_scale v_scale q_norm_weight k_norm_weight",
    "RotaryEmbedding": "input position_ids cos_cache sin_cache",
    "RelativePositionBias": "bias_table query_length key_length",
    "GatedRelativePositionBias": "query_layer query_bias rel_pos weight bias eco_a",
}
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.int32): TensorProto.INT32, np.dtype(np.int64): TensorProto.INT64}


class Draw:
    """One random node: FEEDS, OUTPUTS and ATTRIBUTES. Extents in SIZES have names in the model, unless it is static."""

    def __init__(self, op, seed):
        self.op, self.random = op, np.random.default_rng([seed, len(op)])
        self.sizes, self.feeds, self.dims, self.constants = {}, {}, {}, set()
        self.attributes, self.outputs, self.rtol, self.tolerance = {}, ["y"], 1e-4, 1e-5
        self.is_static = self.chance(0.3)

    def chance(self, probability):
        return self.random.random() < probability

    def among(self, *options):
        return options[self.random.integers(len(options))]

    def add(self, name, dims, values=None):
        """Input NAME; DIMS are extents or names of sizes. Normal numbers unless there are VALUES."""
        shape = [int(self.sizes[dim]) if isinstance(dim, str) else dim for dim in dims]
        if values is None:
            values = self.random.standard_normal(shape).astype(np.float32)
        self.feeds[name] = np.asarray(values).reshape(shape)
        self.dims[name] = shape if self.is_static else dims

    def maybe(self, probability, **attributes):
        self.attributes.update({name: value for name, value in attributes.items() if self.chance(probability)})

    def model(self):
        inputs = [helper.make_tensor_value_info(name, TYPES[self.feeds[name].dtype], dims)
                  for name, dims in self.dims.items() if name not in self.constants]
        weights = [onnx.numpy_helper.from_array(self.feeds[name], name) for name in self.constants]
        node = helper.make_node(self.op, [name if name in self.feeds else "" for name in NAMES[self.op].split()],
                                self.outputs, domain="com.microsoft", **self.attributes)
        element = TYPES[next(values.dtype for values in self.feeds.values() if values.dtype.kind == "f")]
        results = [helper.make_tensor_value_info(name, element, None) for name in self.outputs if name]
        graph = helper.make_graph([node], "node", inputs, results, weights)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def inputs(self):
        return {name: values for name, values in self.feeds.items() if name not in self.constants}


def draw_mask(draw, name, forms, keys, has_past):
    """An integer mask NAME of one of FORMS, for keys of size KEYS."""
    batch, total = int(draw.sizes["b"]), int(draw.sizes[keys])
    form = draw.among(*forms)
    if form == "raw":
        draw.add(name, ["b", keys], (draw.random.random((batch, total)) < 0.7).astype(np.int32))
    elif form == "pairs":
        rows = int(draw.sizes["s"])
        draw.add(name, ["b", "s", keys], (draw.random.random((batch, rows, total)) < 0.7).astype(np.int32))
    elif form == "one":
        draw.add(name, ["b", 1], np.ones((batch, 1), np.int32))
    else:
        ends = draw.random.integers(1, total + 1, batch)
        starts = draw.random.integers(0, ends)
        lengths = {"ends": ends, "both": np.concatenate([ends, starts]),
                   "packed": np.concatenate([ends, np.zeros(2 * batch + 2)])}[form]
        extent = {"ends": draw.among("b", None), "both": None, "packed": None}[form]
        draw.sizes["lengths"] = len(lengths)
        draw.add(name, [extent or "lengths"], lengths.astype(np.int32))
    # Rows of which a query sees nothing: only through holes, or left padding before it.
    if name in draw.feeds and form in ("raw", "pairs", "both") and draw.attributes.get("mask_filter_value", -1e4) < -1:
        draw.tolerance = 3e-3


def draw_attention(seed):
    draw = Draw("Attention", seed)
    heads, size, width = int(draw.among(1, 2, 3)), int(draw.among(4, 8)), 12
    has_past = draw.chance(0.4)
    value_size = size if has_past or draw.chance(0.5) else 5
    draw.sizes.update(b=draw.random.integers(1, 4), s=draw.random.integers(1, 12), p=draw.random.integers(0, 6))
    draw.sizes["t"] = draw.sizes["s"] + (draw.sizes["p"] if has_past else 0)
    columns = heads * (2 * size + value_size)
    draw.attributes["num_heads"] = heads
    if value_size != size or draw.chance(0.3):
        draw.attributes["qkv_hidden_sizes"] = [heads * size, heads * size, heads * value_size]
    draw.maybe(0.4, unidirectional=1, scale=0.3)
    draw.maybe(0.5, mask_filter_value=draw.among(-1.5, -1e9, float(np.finfo(np.float32).min)))
    draw.add("input", ["b", "s", width])
    draw.add("weights", [width, columns])
    draw.constants.add("weights")
    if draw.chance(0.7):
        draw.add("bias", [columns])
        draw.constants.add("bias")
    if has_past:
        draw.add("past", [2, "b", heads, "p", size])
        draw.outputs.append("present")
    elif draw.chance(0.4):
        draw.add("attention_bias", [draw.among(1, "b"), draw.among(1, heads), "s", "t"])
    if draw.chance(0.8):
        draw_mask(draw, "mask_index", ["raw", "pairs", "one", "ends", "both", "packed"], "t", has_past)
    return draw


def draw_quantized(seed):
    """The same with a projection of codes, whose sizes are equal, and without a bias of the scores."""
    draw = draw_attention(seed)
    draw.op = "QAttention"
    draw.attributes.pop("qkv_hidden_sizes", None)
    draw.feeds.pop("attention_bias", None), draw.dims.pop("attention_bias", None)
    width, heads = draw.dims["weights"][0], draw.attributes["num_heads"]
    # The past's heads have a size already.
    columns = 3 * heads * (draw.dims["past"][4] if "past" in draw.dims else 4)
    code = np.dtype(draw.among(np.uint8, np.int8))
    shape = [columns] if draw.chance(0.5) else []
    draw.add("input", draw.dims["input"], draw.random.integers(0, 256, draw.feeds["input"].shape).astype(np.uint8))
    largest = 99 if code == np.uint8 else min(99, models.largest_weight_code())
    draw.add("weights", [width, columns], draw.random.integers(0, largest + 1, (width, columns)).astype(code))
    draw.add("bias", [columns])
    draw.add("input_scale", [], np.float32(0.02))
    draw.add("weight_scale", shape, draw.random.uniform(0.005, 0.01, shape).astype(np.float32))
    draw.add("input_zero_point", [], np.uint8(draw.random.integers(100, 150)))
    draw.add("weight_zero_point", shape, draw.random.integers(40, 60, shape).astype(code))
    draw.constants.update(["bias", "weight_scale", "weight_zero_point"])
    return draw


def draw_multi_head(seed):
    draw = Draw("MultiHeadAttention", seed)
    heads, size = int(draw.among(1, 2, 3)), int(draw.among(4, 8))
    form = draw.among("self", "past", "cross", "cache")
    value_size = size if form in ("past", "cache") else int(draw.among(size, 5))
    draw.sizes.update(b=draw.random.integers(1, 4), s=draw.random.integers(1, 12), p=draw.random.integers(1, 6))
    keys = "s" if form in ("self", "past") else "l"
    draw.sizes["l"] = draw.random.integers(1, 15)
    draw.sizes["t"] = draw.sizes[keys] + (draw.sizes["p"] if form == "past" else 0)
    total = "t" if form == "past" else keys
    draw.attributes["num_heads"] = heads
    draw.maybe(0.4, scale=0.3, **({"unidirectional": 1} if keys == "s" else {}))
    draw.maybe(0.5, mask_filter_value=draw.among(-1.5, -1e9, float(np.finfo(np.float32).min)))
    draw.add("query", ["b", "s", heads * size])
    is_cache = form == "cache"
    draw.add("key", ["b", heads, keys, size] if is_cache else ["b", keys, heads * size])
    draw.add("value", ["b", heads, keys, value_size] if is_cache else ["b", keys, heads * value_size])
    if draw.chance(0.5):
        draw.add("bias", [heads * (2 * size + value_size)])
    if form == "past":
        for name in ("past_key", "past_value"):
            draw.add(name, ["b", heads, "p", size])
    if form == "past" or draw.chance(0.3):
        draw.outputs += ["present_key", "present_value"]
        if draw.chance(0.4):
            draw.outputs.append("qk")
    if draw.chance(0.4):
        draw.add("attention_bias", [draw.among(1, "b"), draw.among(1, heads), "s", total])
    if draw.chance(0.7):
        draw_mask(draw, "key_padding_mask", ["raw", "pairs", "ends", "packed"], total, form == "past")
    return draw


def draw_grouped(seed):
    draw = Draw("GroupQueryAttention", seed)
    key_heads, size = int(draw.among(1, 2)), 32
    heads = key_heads * int(draw.among(1, 2, 3))
    form = draw.among("prompt", "buffered prompt", "step", "chunk")
    batch = 1 if form == "chunk" else int(draw.random.integers(1, 4))
    rows = 1 if form == "step" else int(draw.random.integers(2, 9))
    if form in ("prompt", "buffered prompt"):
        totals = draw.random.integers(1, rows + 1, batch)
        totals[draw.random.integers(batch)] = rows
    else:
        totals = draw.random.integers(rows + 1, 20, batch)
    longest = int(totals.max())
    # A buffer that has room for all, or a past that grows.
    is_growing = form in ("step", "chunk") and draw.chance(0.4)
    capacity = longest - rows if is_growing else int(draw.random.integers(longest, 24))
    draw.sizes.update(b=batch, s=rows, p=capacity, t=longest)
    draw.attributes.update(num_heads=heads, kv_num_heads=key_heads)
    draw.maybe(0.4, scale=0.3, softcap=2.0, local_window_size=int(draw.random.integers(1, 6)))
    if "local_window_size" not in draw.attributes:
        draw.maybe(0.2, causal=0)
    if draw.chance(0.3):
        draw.add("query", ["b", "s", (heads + 2 * key_heads) * size])
    else:
        draw.add("query", ["b", "s", heads * size])
        draw.add("key", ["b", "s", key_heads * size])
        draw.add("value", ["b", "s", key_heads * size])
    if form != "prompt":
        # Behind each length there is what a longer run left.
        draw.add("past_key", ["b", key_heads, "p", size])
        draw.add("past_value", ["b", key_heads, "p", size])
    draw.add("seqlens_k", draw.among(["b"], ["b", 1]), (totals - 1).astype(np.int32))
    draw.add("total_sequence_length", draw.among([], [1]), np.int32(longest))
    if draw.chance(0.6):
        width = int(draw.among(size, size // 2))
        draw.attributes["do_rotary"] = 1
        draw.maybe(0.5, rotary_interleaved=1)
        angles = draw.random.random((40, width // 2)) * 6
        draw.add("cos_cache", [40, width // 2], np.cos(angles).astype(np.float32))
        draw.add("sin_cache", [40, width // 2], np.sin(angles).astype(np.float32))
        if draw.chance(0.3):
            draw.add("position_ids", ["b", "s"], draw.random.integers(0, 20, (batch, rows)))
    if draw.chance(0.3):
        draw.add("attention_bias", [draw.among(1, "b"), draw.among(1, heads), "s", "t"])
    sink = draw.among("none", "none", "smooth", "head")
    if sink == "smooth":
        draw.attributes["smooth_softmax"] = 1
    elif sink == "head":
        draw.add("head_sink", [heads])
    draw.outputs += ["present_key", "present_value"]
    return draw


def draw_grouped_half(seed):
    """The same in f16, whose sums onnxruntime takes in f16 here and there: eight units in its last place."""
    draw = draw_grouped(seed)
    draw.feeds = {name: values.astype(np.float16) if values.dtype == np.float32 else values
                  for name, values in draw.feeds.items()}
    draw.rtol, draw.tolerance = 4e-3, 4e-3
    return draw


def draw_rotary(seed):
    draw = Draw("RotaryEmbedding", seed)
    heads, size = int(draw.among(1, 2, 3)), 8
    draw.sizes.update(b=draw.random.integers(1, 4), s=draw.random.integers(1, 9))
    width = int(draw.among(size, size, 4))
    is_rows = draw.chance(0.5)
    draw.add("input", ["b", "s", heads * size] if is_rows else ["b", heads, "s", size])
    if width != size:
        draw.attributes.update(rotary_embedding_dim=width, num_heads=heads)
    draw.maybe(0.5, interleaved=1)
    places = draw.random.integers(0, 20, (int(draw.sizes["b"]), int(draw.sizes["s"])))
    if draw.chance(0.5):
        draw.add("position_ids", ["b", "s"], places)
    else:
        draw.add("position_ids", [1], places[0, :1])
    angles = draw.random.random((40, width // 2)) * 6
    draw.add("cos_cache", [40, width // 2], np.cos(angles).astype(np.float32))
    draw.add("sin_cache", [40, width // 2], np.sin(angles).astype(np.float32))
    return draw


def valid_rows(draw, name, values):
    """VALUES without rows that the operator leaves open: queries behind their sequence's end."""
    if draw.op != "GroupQueryAttention" or name != "y":
        return values
    totals = draw.feeds["seqlens_k"].reshape(-1) + 1
    is_prompt = draw.feeds["total_sequence_length"].reshape(-1)[0] == values.shape[1]
    return np.concatenate([rows[:total] if is_prompt else rows for rows, total in zip(values, totals)])


class MicrosoftAttentionTest(case.ArtifactTestCase):
    def run_heddle(self, model, feeds):
        onnx.save(model, self.scratch / "node.onnx")
        compiled = command.attempt("compile", self.scratch / "node.onnx", "-o", self.scratch / "node.heddle")
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        with heddle.Program(self.scratch / "node.heddle") as program:
            return program.run(feeds)

    def hold(self, make, count=COUNT):
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        for seed in models.share(range(count)) if count > 1 else [0]:
            draw = make(seed)
            with self.subTest(seed=seed, attributes=draw.attributes, inputs=draw.dims, sizes=draw.sizes):
                session = onnxruntime.InferenceSession(draw.model().SerializeToString(), options,
                                                       providers=["CPUExecutionProvider"])
                expected = session.run(None, draw.inputs())
                actual = self.run_heddle(draw.model(), draw.inputs())
                for name, values in zip(draw.outputs, expected):
                    np.testing.assert_allclose(valid_rows(draw, name, actual[name]), valid_rows(draw, name, values),
                                               rtol=draw.rtol, atol=draw.tolerance, err_msg=name)

    def hold_to(self, draw, expected):
        """Holds DRAW, which onnxruntime's CPU kernels refuse, to the array or draw EXPECTED."""
        actual = self.run_heddle(draw.model(), draw.inputs())["y"]
        if isinstance(expected, Draw):
            expected = self.run_heddle(expected.model(), expected.inputs())["y"]
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)

    def test_packed_heads_are_the_same_as_apart(self):
        heads, size = 3, 4
        for packs_query in (True, False):
            packed, apart = Draw("MultiHeadAttention", 0), Draw("MultiHeadAttention", 0)
            parts = [packed.random.standard_normal((2, 5, heads, size)).astype(np.float32) for _ in range(3)]
            for draw in (packed, apart):
                draw.attributes.update(num_heads=heads)
                draw.sizes.update(b=2, s=5)
                draw.add("bias", [3 * heads * size], np.arange(3 * heads * size, dtype=np.float32) / 20)
            for name, part in zip(("query", "key", "value"), parts):
                apart.add(name, ["b", "s", heads * size], part)
            if packs_query:
                packed.add("query", ["b", "s", heads, 3, size], np.stack(parts, 3))
            else:
                packed.add("query", ["b", "s", heads * size], parts[0])
                packed.add("key", ["b", "s", heads, 2, size], np.stack(parts[1:], 3))
            self.hold_to(packed, apart)

    def test_a_square_mask_shows_its_last_rows(self):
        most, total, rows = 9, 7, 4
        square, pairs = Draw("Attention", 0), Draw("Attention", 0)
        mask = np.tril((square.random.random((2, 1, most, most)) < 0.7) | np.eye(most, dtype=bool)).astype(np.int32)
        for draw in (square, pairs):
            draw.random = np.random.default_rng(1)
            draw.attributes.update(num_heads=2)
            draw.outputs.append("present")
            draw.sizes.update(b=2, s=rows, p=total - rows, m=most, t=total)
            draw.add("input", ["b", "s", 8])
            draw.add("weights", [8, 24])
            draw.add("bias", [24])
            draw.add("past", [2, "b", 2, "p", 4])
        square.add("mask_index", ["b", 1, "m", "m"], mask)
        pairs.add("mask_index", ["b", "s", "t"], mask[:, 0, total - rows:total, :total])
        self.hold_to(square, pairs)

    def test_rows_whose_keys_are_all_hidden(self):
        # What each fill makes of them differs: another distribution, equal weights, NaN. Fills that add up would too.
        for fill in (-np.inf, -1e4, -1e9, float(np.finfo(np.float32).min)):
            for unidirectional in (0, 1):
                draw = Draw("MultiHeadAttention", 1)
                draw.attributes.update(num_heads=1, unidirectional=unidirectional, mask_filter_value=fill)
                draw.sizes.update(b=2, s=4)
                for name in ("query", "key", "value"):
                    draw.add(name, ["b", "s", 4])
                draw.add("key_padding_mask", ["b", "s"], np.array([[0, 0, 0, 0], [0, 0, 1, 1]], np.int32))
                draw.tolerance = 3e-3
                self.hold(lambda _, draw=draw: draw, 1)

    def test_report(self):
        draw = Draw("GroupQueryAttention", 0)
        draw.attributes.update(num_heads=4, kv_num_heads=2, do_rotary=1)
        draw.sizes.update(b=1, s=3)
        for name, channels in (("query", 64), ("key", 32), ("value", 32)):
            draw.add(name, ["b", "s", channels])
        draw.add("seqlens_k", ["b"], np.array([2], np.int32))
        draw.add("total_sequence_length", [], np.int32(3))
        for name in ("cos_cache", "sin_cache"):
            draw.add(name, [8, 8])
        onnx.save(draw.model(), self.scratch / "node.onnx")
        report = self.scratch / "report.json"
        command.compile_model(self.scratch / "node.onnx", self.scratch / "node.heddle", "--report", report)
        entry, = json.loads(report.read_text())["attention"]
        self.assertEqual({name: entry[name] for name in ("heads", "kv_heads", "mask", "position")},
                         {"heads": "4", "kv_heads": "2", "mask": "position", "position": "rotary"})

    def test_relative_position_bias(self):
        # The buckets that the T5 paper's code gives for some distances, as its implementations print them.
        known = {False: {0: 0, -15: 15, -16: 16, -18: 16, -19: 17, -31: 21, -64: 26, -113: 31, -128: 31, 5: 0},
                 True: {-8: 8, 0: 0, 1: 17, 8: 24, 128: 31, -16: 10, -32: 12, -64: 14}}
        for is_bidirectional, buckets in known.items():
            draw = Draw("RelativePositionBias", 0)
            draw.attributes.update(max_distance=128, is_bidirectional=int(is_bidirectional))
            # Declared (buckets, heads), stored by heads.
            table = np.arange(32)[None] + 100 * np.arange(2)[:, None]
            draw.add("bias_table", [32, 2], table.astype(np.float32))
            draw.add("query_length", [1], np.array([130]))
            draw.add("key_length", [1], np.array([130]))
            bias = self.run_heddle(draw.model(), draw.inputs())["y"]
            self.assertEqual(bias.shape, (1, 2, 130, 130))
            for distance, bucket in buckets.items():
                query = max(0, -distance)
                self.assertEqual(bias[0, 0, query, query + distance], bucket, distance)
            np.testing.assert_array_equal(bias[0, 1], bias[0, 0] + 100)

    def test_gated_relative_position_bias(self):
        heads, size, width = 2, 4, 8
        draw = Draw("GatedRelativePositionBias", 0)
        draw.attributes.update(num_heads=heads)
        draw.sizes.update(b=2, s=5)
        draw.add("query_layer", ["b", "s", heads * size])
        draw.add("query_bias", [heads * size])
        draw.add("rel_pos", [1, heads, "s", "s"])
        draw.add("weight", [size, width])
        draw.add("bias", [width])
        draw.add("eco_a", [1, heads, 1, 1])
        feeds = draw.feeds
        query = (feeds["query_layer"] + feeds["query_bias"]).reshape(2, 5, heads, size).transpose(0, 2, 1, 3)
        columns = query @ feeds["weight"] + feeds["bias"]
        gates = 1 / (1 + np.exp(-columns.reshape(2, heads, 5, 2, width // 2).sum(-1)))
        update, reset = gates[..., :1], gates[..., 1:]
        self.hold_to(draw, (update * (reset * feeds["eco_a"] - 1) + 2) * feeds["rel_pos"])

    def test_norms_of_query_and_key(self):
        normed, plain = draw_grouped(0), draw_grouped(0)
        for draw in (normed, plain):
            draw.outputs = ["y"]
            for name, values in {"query": 0.5, "key": 2.0, "value": 1.0}.items():
                shape = (2, 4, {"query": 64}.get(name, 32))
                numbers = np.random.default_rng(3).standard_normal(shape) * values
                draw.feeds[name] = numbers.astype(np.float32)
                draw.dims[name] = list(shape)
            for name in ("past_key", "past_value", "attention_bias", "head_sink", "position_ids"):
                draw.feeds.pop(name, None), draw.dims.pop(name, None)
            for name, values in {"seqlens_k": [3, 3], "total_sequence_length": [4]}.items():
                draw.feeds[name], draw.dims[name] = np.array(values, np.int32), [len(values)]
            draw.attributes = {"num_heads": 2, "kv_num_heads": 1}
        for name, heads in (("query", 2), ("key", 1)):
            weight = np.random.default_rng(heads).standard_normal(32).astype(np.float32)
            normed.add(f"{name[0]}_norm_weight", [32], weight)
            values = plain.feeds[name].reshape(2, 4, heads, 32)
            scale = 1 / np.sqrt(np.mean(values**2, -1, keepdims=True) + 1e-6)
            plain.feeds[name] = (values * scale * weight).reshape(2, 4, -1).astype(np.float32)
        self.hold_to(normed, plain)

    def test_attention(self):
        self.hold(draw_attention)

    def test_attention_with_a_projection_of_codes(self):
        self.hold(draw_quantized)

    def test_multi_head_attention(self):
        self.hold(draw_multi_head)

    def test_group_query_attention(self):
        self.hold(draw_grouped)

    def test_group_query_attention_in_half_precision(self):
        self.hold(draw_grouped_half, 8)

    def test_rotary_embedding(self):
        self.hold(draw_rotary)


if __name__ == "__main__":
    unittest.main()
