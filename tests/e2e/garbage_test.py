# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What people give to `heddle compile` that is no model: each is told what it is, with exit code 5, and nothing hangs,
crashes or leaves an artifact behind."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import random
import struct
import tarfile
import unittest
import zipfile
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import case
import command

CUT = 4096


def model(width=160):
    """A model of some 100 KB: two dense layers."""
    random_weights = np.random.default_rng(1).standard_normal
    weights = [numpy_helper.from_array(random_weights((width, width)).astype(np.float32), name) for name in ("v", "w")]
    nodes = [helper.make_node("MatMul", ["x", "v"], ["h"]), helper.make_node("MatMul", ["h", "w"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width]) for name in "xy"]
    graph = helper.make_graph(nodes, "whole", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def zipped(*names):
    """A zip archive with files of these NAMES."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, b"\x80\x02}q\x00." * 20)
    return out.getvalue()


def tarred():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        content = model().SerializeToString()
        entry = tarfile.TarInfo("model.onnx")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def png():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def safetensors():
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(8)


def field(number, content):
    """A field of a protobuf message: a message, a text or a number."""
    if isinstance(content, int):
        return bytes([number << 3, content])
    return bytes([number << 3 | 2, len(content)]) + content


def saved_model():
    """tensorflow.SavedModel with one graph tagged `serve`, and nothing in it."""
    return field(1, 1) + field(2, field(1, field(4, b"serve")) + field(2, field(1, b"")))


def graph_def():
    """tensorflow.GraphDef of two nodes."""
    return field(1, field(1, b"x") + field(2, b"Placeholder")) + field(1, field(1, b"y") + field(2, b"Relu"))


def noise(first, seed):
    return bytes([first]) + random.Random(seed).randbytes(8191)


PAGE = "<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 71303168\n"
NETWORK = '<?xml version="1.0"?>\n<net name="Model0" version="11"><layers/></net>\n'

# File name, content, what the message says it is.
KINDS = [
    ("empty.onnx", b"", "is empty"),
    ("pointer.onnx", POINTER, "is a Git LFS pointer"),
    ("zip.onnx", zipped("readme.txt"), "is a zip archive"),
    ("torchscript.pt", zipped("m/data.pkl", "m/constants.pkl", "m/code/m.py"), "is a TorchScript model"),
    ("checkpoint.pt", zipped("m/data.pkl", "m/data/0"), "is a PyTorch checkpoint"),
    ("model.keras", zipped("config.json", "model.weights.h5"), "is a Keras model"),
    ("arrays.npz", zipped("ids.npy"), "is an archive of NumPy arrays"),
    ("pickle.bin", pickle.dumps({"w": [1.0]}), "is a Python pickle"),
    ("old.pth", pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2) + bytes(64), "is a Python pickle"),
    ("gzip.gz", gzip.compress(b"model"), "is gzip-compressed"),
    ("bzip2.bz2", bz2.compress(b"model"), "is bzip2-compressed"),
    ("xz.xz", lzma.compress(b"model"), "is xz-compressed"),
    ("zstd.zst", b"\x28\xb5\x2f\xfd\x20\x05", "is zstd-compressed"),
    ("tar.tar", tarred(), "is a tar archive"),
    ("image.png", png(), "is a PNG image"),
    ("image.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0", "is a JPEG image"),
    ("paper.pdf", b"%PDF-1.7\n%\xe2\xe3\n", "is a PDF document"),
    ("config.json", json.dumps({"model_type": "bert"}), "is a JSON file"),
    ("page.html", PAGE, "is a web page"),
    ("config.yaml", "---\nmodel: bert\n", "is a YAML file"),
    ("notes.txt", "ir_version: 8\ngraph { name: 'x' }\n", "is a text file"),
    ("model.safetensors", safetensors(), "is a safetensors file"),
    ("model.gguf", b"GGUF" + struct.pack("<IQQ", 3, 0, 0), "is a GGUF file"),
    ("model.tflite", struct.pack("<I", 28) + b"TFL3" + bytes(64), "is a TensorFlow Lite model"),
    ("saved_model.pb", saved_model(), "is a TensorFlow SavedModel"),
    ("frozen.pb", graph_def(), "is a TensorFlow graph"),
    ("openvino.xml", NETWORK, "is an OpenVINO model"),
    ("other.xml", '<?xml version="1.0"?>\n<mxfile/>\n', "is an XML file"),
    ("openvino.bin", np.linspace(0.1, 1, 512, dtype=np.float32).tobytes(), "is of an unknown format"),
    ("model.ort", struct.pack("<I", 24) + b"ORTM" + bytes(64), "is a model in onnxruntime's own format"),
    ("model.h5", b"\x89HDF\r\n\x1a\n" + bytes(64), "is an HDF5 file"),
    ("program", b"\x7fELF" + bytes(64), "is a program or library"),
    ("artifact.heddle", b"HEDDLE\r\n" + bytes(56), "is a compiled artifact of Heddle"),
    ("zeros.onnx", bytes(10000), "is of an unknown format (it begins with 00 00 00 00)"),
    ("noise.onnx", noise(0xAB, 1), "is of an unknown format (it begins with ab "),
    # What begins as a model does is taken for one that is damaged.
    ("likely.onnx", noise(0x08, 2), "file is "),
    ("no_graph.onnx", onnx.ModelProto(ir_version=8, producer_name="p").SerializeToString(), "it has no graph"),
]


class GarbageTest(case.ArtifactTestCase):
    def assert_refused(self, path, words, code=5):
        out = self.scratch / "out.heddle"
        run = command.attempt("compile", path, "-o", out)
        self.assertEqual(run.returncode, code, run.stderr)
        self.assertRegex(run.stderr, r"error\[H05\d\d\]: ")
        self.assertIn(words, run.stderr)
        self.assertFalse(out.exists())
        self.assertEqual(list(self.scratch.glob("out.heddle*")), [], "a temporary file is left")

    def test_each_kind_of_file_is_told_what_it_is(self):
        for name, content, words in KINDS:
            with self.subTest(name=name):
                path = self.scratch / name
                path.write_bytes(content if isinstance(content, bytes) else content.encode())
                self.assert_refused(path, words)

    def test_the_name_of_a_file_does_not_matter(self):
        path = self.scratch / "innocent.onnx"
        path.write_bytes(png())
        self.assert_refused(path, "is a PNG image")
        whole = self.scratch / "model.png"
        whole.write_bytes(model().SerializeToString())
        self.assertEqual(command.attempt("compile", whole, "-o", self.scratch / "good.heddle").returncode, 0)

    def test_what_is_no_regular_file_is_refused_at_once(self):
        folder = self.scratch / "folder"
        folder.mkdir()
        pipe = self.scratch / "pipe"
        os.mkfifo(pipe)  # opening it would wait for a writer
        dangling = self.scratch / "dangling.onnx"
        dangling.symlink_to(self.scratch / "nowhere.onnx")
        for path, words in [(folder, "it is a folder"), (pipe, "it is no regular file"),
                            ("/dev/null", "it is no regular file"), (dangling, "No such file or directory"),
                            (self.scratch / "missing.onnx", "No such file or directory"),
                            (self.scratch / ("x" * 300 + ".onnx"), "File name too long")]:
            with self.subTest(path=path):
                self.assert_refused(path, words)

    def test_a_model_cut_anywhere_is_called_truncated(self):
        whole = model().SerializeToString()
        path = self.scratch / "cut.onnx"
        for length in range(CUT, len(whole), CUT):
            with self.subTest(length=length):
                path.write_bytes(whole[:length])
                self.assert_refused(path, f"file is truncated: {length} bytes of at least ")

    def test_the_end_of_a_model_is_missed_too(self):
        # Behind the graph there are only a few bytes: the versions of its operators.
        whole = model().SerializeToString()
        path = self.scratch / "cut.onnx"
        for missing in range(1, 7):
            with self.subTest(missing=missing):
                path.write_bytes(whole[:-missing])
                self.assert_refused(path, "error[H05")

    def test_weights_beside_the_model_are_checked_as_well(self):
        weights = np.ones((64, 64), np.float32)
        for number, (cut, words) in enumerate([(0, None), (4096, "ends past the end of the file"), (None, "refused")]):
            with self.subTest(cut=cut):
                folder = self.scratch / f"external{number}"
                folder.mkdir()
                proto = model(64)
                onnx.save(proto, folder / "m.onnx", save_as_external_data=True, location="m.data", size_threshold=0)
                data = folder / "m.data"
                if cut is None:
                    data.unlink()
                elif cut:
                    data.write_bytes(data.read_bytes()[:-cut])
                if words:
                    self.assert_refused(folder / "m.onnx", words)
                else:
                    command.compile_model(folder / "m.onnx", folder / "m.heddle")
                    self.assertGreater((folder / "m.heddle").stat().st_size, 2 * weights.nbytes)


if __name__ == "__main__":
    unittest.main()
