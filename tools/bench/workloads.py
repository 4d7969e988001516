# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is compared: models at a batch, a length and a number of threads, with inputs that all engines share.

A Task is one such cell. `prepare` writes its files into the scratch folder once and gives the job that an engine's
worker reads: for each form of the model an ONNX file and its inputs, and what engines need that read no ONNX.
"""

import dataclasses
import json
import pathlib
import struct
import subprocess

import numpy as np
import onnx

import attention_models
import bert
from engines import is_fresh

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADS, HEAD_SIZE = 12, 64
ATTENTION_LENGTHS = (128, 512, 2048, 8192)
LENGTHS = (16, 128, 512)
# For tools that quantise with data, of each length: ranges found at one don't fit another. A batch of this size is
# never timed, so none of its inputs is.
CALIBRATION_SAMPLES = 7


@dataclasses.dataclass(frozen=True)
class Task:
    """A cell of the comparison; `length` is 0 for images."""
    model: str
    batch: int
    length: int
    threads: int

    @property
    def name(self):
        length = f" S{self.length}" if self.length else ""
        return f"{self.model} B{self.batch}{length} T{self.threads}"


def fetched(name):
    """The folder of what tools/fetch knows as NAME."""
    run = subprocess.run([ROOT / "tools/fetch", name], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr.strip())
    return pathlib.Path(run.stdout.strip())


def read_safetensors(path):
    """The f32 arrays of a safetensors file by name: a length, a JSON header with ranges, the data."""
    data = path.read_bytes()
    size, = struct.unpack_from("<Q", data)
    tensors = json.loads(data[8:8 + size])
    return {name: np.frombuffer(data, np.float32, offset=8 + size + entry["data_offsets"][0],
                                count=int(np.prod(entry["shape"]))).reshape(entry["shape"])
            for name, entry in tensors.items() if name != "__metadata__" and entry["dtype"] == "F32"}


def bert_weights(path, layers):
    """Weights for bert.Bert out of Hugging Face's safetensors file."""
    source = read_safetensors(path)
    weights = {f"embeddings.{kind}": source[f"embeddings.{long}_embeddings.weight"]
               for kind, long in (("word", "word"), ("position", "position"), ("type", "token_type"))}
    norms = {"embeddings.norm": "embeddings.LayerNorm"}
    for i in range(layers):
        layer = f"encoder.layer.{i}"
        norms[f"layer{i}.norm1"] = f"{layer}.attention.output.LayerNorm"
        norms[f"layer{i}.norm2"] = f"{layer}.output.LayerNorm"
        linears = {name: f"attention.self.{name}" for name in ("query", "key", "value")}
        linears |= {"output": "attention.output.dense", "intermediate": "intermediate.dense", "narrow": "output.dense"}
        for name, long in linears.items():
            weights[f"layer{i}.{name}.w"] = np.ascontiguousarray(source[f"{layer}.{long}.weight"].T)
            weights[f"layer{i}.{name}.b"] = source[f"{layer}.{long}.bias"]
    for name, long in norms.items():
        weights[name + ".gain"], weights[name + ".bias"] = source[long + ".weight"], source[long + ".bias"]
    return weights


def encoder_flops(rows, length, layers, width, hidden):
    """Products of weights and attention's two, a multiply-add counted as two; ROWS in all, LENGTH in a sequence."""
    return layers * rows * (8 * width * width + 4 * width * hidden + 4 * width * length)


class Encoder:
    """A BERT encoder written by bert.py, with SIZES as its arguments; |source|: a fetched folder with real weights."""
    lengths, is_quantizable = LENGTHS, True

    def __init__(self, source=None, **sizes):
        self.source, self.sizes, self.output = source, sizes, "last_hidden_state"

    def flops(self, task):
        sizes = {name: self.sizes[name] for name in ("layers", "width", "hidden")}
        return encoder_flops(task.batch * task.length, task.length, **sizes)

    def forms(self, folder, name, task):
        model, weights = folder / f"{name}.onnx", folder / f"{name}.weights.npz"
        if not is_fresh(weights, bert.__file__):
            given = self.source and bert_weights(fetched(self.source) / "model.safetensors", self.sizes["layers"])
            writer = bert.Bert(**self.sizes, weights=given)
            onnx.save(writer.build(), model)
            np.savez(weights, **writer.weights)
        return {"onnx": {"model": str(model)}}, {"bert": {"weights": str(weights), "heads": self.sizes["heads"]}}

    def feeds(self, task):
        random = np.random.default_rng([task.batch, task.length])
        shape = (task.batch, task.length)
        return {"input_ids": random.integers(5, self.sizes["vocabulary"], shape),
                "attention_mask": np.ones(shape, np.int64), "token_type_ids": np.zeros(shape, np.int64)}


class Published:
    """A model as somebody has published it: the only .onnx file of the fetched FOLDER; FLOPS counts a task's."""
    is_quantizable = True

    def __init__(self, folder, inputs, output, lengths, flops):
        self.folder, self.inputs, self.output, self.lengths, self.flops = folder, inputs, output, lengths, flops

    def forms(self, folder, name, task):
        return {"onnx": {"model": str(next(fetched(self.folder).glob("*.onnx")))}}, {}

    def feeds(self, task):
        random = np.random.default_rng([task.batch, task.length])
        make = {"ids": lambda: random.integers(5, 30000, (task.batch, task.length)),
                "mask": lambda: np.ones((task.batch, task.length), np.int64),
                "image": lambda: random.standard_normal((task.batch, 3, 224, 224), dtype=np.float32)}
        return {name: make[kind]() for name, kind in self.inputs.items()}


class Attention:
    """Attention alone under one mask: no weights, so nothing that the tools could quantise."""
    lengths, output, is_quantizable = ATTENTION_LENGTHS, "output", False

    def __init__(self, mask):
        self.mask = mask

    def flops(self, task):
        return 4 * task.batch * HEADS * HEAD_SIZE * attention_models.kept_pairs(self.mask, task.length)

    def forms(self, folder, name, task):
        result = {}
        for form in attention_models.forms_of(self.mask, task.batch, HEADS, task.length):
            model = folder / f"{name}-{form}-{task.batch}x{task.length}.onnx"
            if not is_fresh(model, attention_models.__file__):
                onnx.save(attention_models.build(form, self.mask, task.batch, HEADS, task.length, HEAD_SIZE), model)
            result[form] = {"model": str(model), "layout": attention_models.FORMS[form].layout}
        return result, {"attention": {"mask": self.mask, "window": attention_models.WINDOW}}

    def feeds(self, task):
        random = np.random.default_rng([task.batch, task.length])
        shape = (task.batch, HEADS, task.length, HEAD_SIZE)
        return {name: random.standard_normal(shape, dtype=np.float32) for name in ("query", "key", "value")}


def minilm_l3_flops(task):
    return encoder_flops(task.batch * task.length, task.length, layers=3, width=384, hidden=1536)


def vit_flops(task):
    """ViT-S/14 on 16 x 16 patches and a class token, then three transposed convolutions of 4 x 4 taps."""
    patches = 2 * 256 * 384 * 3 * 14 * 14
    decoder = sum(2 * 16 * pixels * channels * channels_out
                  for pixels, channels, channels_out in ((256, 384, 256), (1024, 256, 128), (4096, 128, 64)))
    encoder = encoder_flops(257, 257, layers=12, width=384, hidden=1536)
    return task.batch * (patches + encoder + decoder)


MODELS = {
    "minilm-l3": Published("minilm-l3", {"input_ids": "ids", "attention_mask": "mask"}, "onnx::Shape_422", LENGTHS,
                           minilm_l3_flops),
    "minilm-l6": Encoder("minilm-l6", layers=6, width=384, heads=12, hidden=1536, vocabulary=30522),
    "bert-base": Encoder(layers=12, width=768, heads=12, hidden=3072, vocabulary=30522, deviation=0.02),
    "vit": Published("vit-focus", {"input_image": "image"}, "output_importance", (0,), vit_flops),
    **{f"attention-{mask}": Attention(mask) for mask in attention_models.MASKS},
    # Not compared by default: small enough for a test of these tools.
    "tiny": Encoder(layers=2, width=48, heads=4, hidden=96, vocabulary=1000),
}
COMPARED = [name for name in MODELS if name != "tiny"]


def prepare(task, folder):
    """Writes what TASK needs into FOLDER; returns its job without an engine."""
    folder.mkdir(parents=True, exist_ok=True)
    model = MODELS[task.model]
    forms, extra = model.forms(folder, task.model, task)
    for form in forms.values():
        layout = form.setdefault("layout", "BNSD")
        form["feeds"] = str(folder / f"{task.model}-{task.batch}x{task.length}-{layout}.npz")
        feeds = {name: attention_models.in_layout(value, layout) if layout != "BNSD" else value
                 for name, value in model.feeds(task).items()}
        np.savez(form["feeds"], **feeds)
    if model.is_quantizable:
        extra["calibration"] = [str(folder / f"{task.model}-calibration-{length}.npz") for length in model.lengths]
        for path, length in zip(extra["calibration"], model.lengths):
            if not is_fresh(path, __file__):
                np.savez(path, **model.feeds(Task(task.model, CALIBRATION_SAMPLES, length, 1)))
    return {"task": dataclasses.asdict(task), "forms": forms, "output": model.output, "folder": str(folder), **extra}
