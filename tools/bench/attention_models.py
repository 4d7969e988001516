# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention alone as ONNX files of fixed shape, in the forms that engines know: the standard's operator Attention
(opset 23), the nodes that exporters write it out to, and com.microsoft's MultiHeadAttention.

Masks: full, causal, and a causal window of the WINDOW last keys. An engine is timed in the form that it runs fastest.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

WINDOW = 256
MASKS = ("full", "causal", "window")
# Scores that a form stores make it hopeless, and no machine's memory holds those of several engines at once.
LARGEST_SCORES_BYTES = 1 << 30


class Form:
    """One way to write attention down."""

    def __init__(self, name, opset, layout, masks):
        self.name, self.opset, self.layout, self.masks = name, opset, layout, masks


FORMS = {form.name: form for form in (
    Form("attention23", 23, "BNSD", MASKS),
    Form("decomposed", 17, "BNSD", MASKS),
    # The operator has causal masks of its own; a window would be a bias, which forfeits its fast path.
    Form("microsoft", 17, "BSND", ("full", "causal")))}


def forms_of(mask, batch, heads, length):
    """Names of the forms that can say MASK and don't fail for the size of scores."""
    scores = 4 * batch * heads * length * length
    return [form.name for form in FORMS.values()
            if mask in form.masks and (form.name != "decomposed" or scores <= LARGEST_SCORES_BYTES)]


def in_layout(array, layout):
    """ARRAY of (batch, heads, sequence, size) as LAYOUT has it; BSND has one row for all heads."""
    if layout == "BNSD":
        return array
    batch, heads, length, size = array.shape
    return np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(batch, length, heads * size)


def kept_pairs(mask, length):
    """Pairs of query and key that MASK keeps."""
    if mask == "full":
        return length * length
    reach = length if mask == "causal" else min(WINDOW, length)
    return reach * (reach + 1) // 2 + (length - reach) * reach


class _Graph:
    """Nodes and constants under way to a model."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def keep(self, mask, length):
        """The mask as booleans of (sequence, sequence), computed from positions as exporters do."""
        bounds = [self.constant(name, np.array(value)) for name, value in (("zero", 0), ("length", length), ("one", 1))]
        positions = self.add("Range", bounds, "positions")
        rows = self.add("Unsqueeze", [positions, self.constant("axis1", np.array([1]))], "rows")
        columns = self.add("Unsqueeze", [positions, self.constant("axis0", np.array([0]))], "columns")
        keep = self.add("LessOrEqual", [columns, rows], "past")
        if mask == "window":
            self.add("Sub", [rows, columns], "distance")
            self.add("Less", ["distance", self.constant("window", np.array(WINDOW))], "near")
            keep = self.add("And", ["past", "near"], "keep")
        return keep


def build(form, mask, batch, heads, length, size):
    """The model of attention under MASK in FORM; inputs query, key and value, output `output`."""
    graph, inputs = _Graph(), ["query", "key", "value"]
    if form == "attention23":
        masks = [graph.keep(mask, length)] if mask == "window" else []
        graph.add("Attention", inputs + masks, "output", is_causal=int(mask == "causal"))
    elif form == "microsoft":
        graph.add("MultiHeadAttention", inputs, "output", domain="com.microsoft", num_heads=heads,
                  unidirectional=int(mask == "causal"))
    else:
        graph.add("Transpose", ["key"], "transposed", perm=[0, 1, 3, 2])
        graph.add("MatMul", ["query", "transposed"], "products")
        scores = graph.add("Mul", ["products", graph.constant("scale", np.float32(size ** -0.5))], "scores")
        if mask != "full":
            lowest = graph.constant("lowest", np.float32(np.finfo(np.float32).min))
            scores = graph.add("Where", [graph.keep(mask, length), scores, lowest], "masked")
        graph.add("Softmax", [scores], "weights", axis=-1)
        graph.add("MatMul", ["weights", "value"], "output")
    shape = [batch, heads, length, size] if FORMS[form].layout == "BNSD" else [batch, length, heads * size]
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in [*inputs, "output"]}
    onnx_graph = helper.make_graph(graph.nodes, "attention", [values[name] for name in inputs], [values["output"]],
                                   graph.constants)
    opsets = [helper.make_opsetid("", FORMS[form].opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(onnx_graph, opset_imports=opsets[:2 if form == "microsoft" else 1],
                             ir_version=10 if form == "attention23" else 8)
