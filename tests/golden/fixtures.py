# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files that golden cases speak of: a small model, its artifact, and everything that can be wrong with both."""

import struct
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LFS_POINTER = """version https://git-lfs.github.com/spec/v1
oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393
size 71303168
"""


def save_model(path, nodes, inputs, outputs, initializers):
    graph = helper.make_graph(nodes, "golden", inputs, outputs, initializers)
    domains = sorted({"", *(node.domain for node in nodes)})
    opsets = [helper.make_opsetid(domain, 1 if domain else 17) for domain in domains]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    path.write_bytes(model.SerializeToString())


def tensor(name, kind, *dims):
    return helper.make_tensor_value_info(name, kind, dims)


def weights(name, *dims):
    values = np.arange(np.prod(dims), dtype=np.float32).reshape(dims) / 8
    return numpy_helper.from_array(values, name)


def make_models(folder):
    # ids (batch, sequence) -> rows of a table of 10 -> plus bias (batch, sequence, 4); make_artifact.cpp has it again
    ids = tensor("ids", TensorProto.INT64, "batch", "sequence")
    bias = tensor("bias", TensorProto.FLOAT, "batch", "sequence", 4)
    result = tensor("result", TensorProto.FLOAT, "batch", "sequence", 4)
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], name="/embed/Gather"),
             helper.make_node("Add", ["rows", "bias"], ["result"], name="/dense/Add")]
    save_model(folder / "model.onnx", nodes, [ids, bias], [result], [weights("table", 10, 4)])

    # The same with positions 0, 1, ... from a table of 8 in place of the bias.
    nodes = [helper.make_node("Gather", ["table", "ids"], ["rows"], name="/embed/Gather"),
             helper.make_node("Shape", ["ids"], ["length"], name="/position/Shape", start=1, end=2),
             helper.make_node("Slice", ["positions", "zero", "length"], ["place"], name="/position/Slice"),
             helper.make_node("Add", ["rows", "place"], ["result"], name="/position/Add")]
    zero = numpy_helper.from_array(np.array([0]), "zero")
    save_model(folder / "positions.onnx", nodes, [ids], [result],
               [weights("table", 10, 4), weights("positions", 8, 4), zero])

    odd = [helper.make_node("FooBar", ["x"], ["a"], name="/odd/FooBar", domain="com.acme"),
           helper.make_node("FooBar", ["a"], ["b"], name="/odd/FooBar_1", domain="com.acme"),
           helper.make_node("NonMaxSuppression", ["b", "b"], ["y"], name="/odd/Nms")]
    x = tensor("x", TensorProto.FLOAT, 1, 2, 4)
    save_model(folder / "odd.onnx", odd, [x], [tensor("y", TensorProto.INT64, "n", 3)], [])

    shapes = [helper.make_node("MatMul", ["x", "w"], ["y"], name="/dense/MatMul")]
    save_model(folder / "misfit.onnx", shapes, [x], [tensor("y", TensorProto.FLOAT, 1, 2, 4)], [weights("w", 5, 4)])


def make_defaults(folder):
    # rows (n, 3) times scale plus offset, both of which have defaults; a table of shapes can't be set.
    ends = [tensor(name, TensorProto.FLOAT, "n", 3) for name in ("rows", "result")]
    nodes = [helper.make_node("Mul", ["rows", "scale"], ["scaled"], name="/Mul"),
             helper.make_node("Add", ["scaled", "offset"], ["sum"], name="/Add"),
             helper.make_node("Reshape", ["sum", "shape"], ["result"], name="/Reshape")]
    inputs = ends[:1] + [tensor("scale", TensorProto.FLOAT), tensor("offset", TensorProto.FLOAT, 3),
                         tensor("shape", TensorProto.INT64, 2)]
    constants = [numpy_helper.from_array(np.float32(2), "scale"), weights("offset", 3),
                 numpy_helper.from_array(np.array([-1, 3]), "shape")]
    save_model(folder / "defaults.onnx", nodes, inputs, ends[1:], constants)


def make_choice(folder):
    """An If decided by an input, whose branches give one row and all rows."""
    def branch(kind):
        return helper.make_graph([helper.make_node(kind, ["rows"], ["r"])], kind, [],
                                 [tensor("r", TensorProto.FLOAT, "n", 3)])
    node = helper.make_node("If", ["first"], ["result"], name="/choice", then_branch=branch("ReduceMax"),
                            else_branch=branch("Neg"))
    ends = [tensor(name, TensorProto.FLOAT, "n", 3) for name in ("rows", "result")]
    save_model(folder / "choice.onnx", [node], ends[:1] + [tensor("first", TensorProto.BOOL)], ends[1:], [])


def make_rude(folder):
    """Names that would turn a terminal red, were they printed as they are."""
    nodes = [helper.make_node("Foo\x1b[31m", ["x\x1b[31m"], ["y"], name="/a\x1b[31m\n/b")]
    save_model(folder / "rude.onnx", nodes, [tensor("x\x1b[31m", TensorProto.FLOAT, 2)],
               [tensor("y", TensorProto.FLOAT, 2)], [])
    nodes[0].op_type = "Neg"
    save_model(folder / "red.onnx", nodes, [tensor("x\x1b[31m", TensorProto.FLOAT, 2)],
               [tensor("y", TensorProto.FLOAT, 2)], [])


def make_external(folder, name, location, length, offset=0):
    """A model whose weight lies in LOCATION, said to be LENGTH bytes at OFFSET."""
    w = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 4], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, "offset": str(offset), "length": str(length)}.items():
        w.external_data.add(key=key, value=value)
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="/dense/MatMul")
    ends = [tensor(name, TensorProto.FLOAT, "n", 4) for name in "xy"]
    save_model(folder / name, [node], ends[:1], ends[1:], [w])


def make_damaged_models(folder):
    model = (folder / "model.onnx").read_bytes()
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "truncated.onnx").write_bytes(model[:len(model) * 6 // 10])
    (folder / "pointer.onnx").write_text(LFS_POINTER)
    (folder / "notes.onnx").write_text("ir_version: 8\n")
    (folder / "page.onnx").write_text("<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n")
    with zipfile.ZipFile(folder / "archive.onnx", "w") as archive:
        archive.writestr("model.onnx", model)
    make_external(folder, "lost_data.onnx", "lost.bin", 64)
    (folder / "short.bin").write_bytes(bytes(48))
    make_external(folder, "short_data.onnx", "short.bin", 64)
    make_external(folder, "outside_data.onnx", "../outside.bin", 64)
    (folder / "pointer.bin").write_text(LFS_POINTER)
    make_external(folder, "pointer_data.onnx", "pointer.bin", 64, offset=4096)
    (folder / "link.bin").symlink_to("short.bin")
    make_external(folder, "linked_data.onnx", "link.bin", 64)


def make_arrays(folder):
    np.save(folder / "ids.npy", np.array([[1, 2, 3]]))
    np.save(folder / "ids32.npy", np.array([[1, 2, 3]], dtype=np.int32))
    np.save(folder / "long_ids.npy", np.zeros((1, 9), dtype=np.int64))
    np.save(folder / "ids16.npy", np.array([[1, 2, 3]], dtype=np.int16))
    np.save(folder / "doubles.npy", np.zeros((1, 3, 4)))
    np.save(folder / "big_ids.npy", np.array([[1, 10, 3]]))
    np.save(folder / "floats.npy", np.zeros((1, 3), dtype=np.float32))
    np.save(folder / "flat.npy", np.zeros(8, dtype=np.int64))
    np.save(folder / "bias.npy", np.zeros((1, 3, 4), dtype=np.float32))
    np.save(folder / "long_bias.npy", np.zeros((1, 4, 4), dtype=np.float32))
    np.save(folder / "wide_bias.npy", np.zeros((1, 3, 5), dtype=np.float32))
    np.save(folder / "words.npy", np.array(["one", "two"]))
    np.savez_compressed(folder / "inputs.npz", ids=np.array([[1, 2, 3]]), bias=np.ones((1, 3, 4), dtype=np.float32))
    (folder / "cut.npy").write_bytes((folder / "ids.npy").read_bytes()[:140])


def make_artifacts(folder):
    """Damaged copies of model.heddle, and files that are none. Layout: runtime/include/heddle/artifact.fbs."""
    good = (folder / "model.heddle").read_bytes()

    def patched(name, offset, data):
        (folder / name).write_bytes(good[:offset] + data + good[offset + len(data):])

    tables, = struct.unpack_from("<Q", good, 24)
    patched("older.heddle", 8, struct.pack("<I", 0))
    patched("newer.heddle", 8, struct.pack("<I", 99))
    patched("damaged.heddle", tables + 40, bytes([good[tables + 40] ^ 0xFF]))
    # A weight, which nothing looks at until somebody asks.
    at = good.index(np.array([0.125, 0.25, 0.375], np.float32).tobytes())
    patched("flipped.heddle", at, bytes([good[at] ^ 0xFF]))
    (folder / "truncated.heddle").write_bytes(good[:len(good) // 2])
    (folder / "empty.heddle").write_bytes(b"")
    (folder / "pointer.heddle").write_text(LFS_POINTER)
    (folder / "page.heddle").write_text("hello\n")
    make_foreign(folder / "foreign.heddle", good)


def make_foreign(path, good):
    """The artifact GOOD as if for a CPU with a feature that none has: each `avx2` becomes `avx9`."""
    offset, length = struct.unpack_from("<QQ", good, 24)
    tables = good[offset:offset + length].replace(b"\4\0\0\0avx2\0", b"\4\0\0\0avx9\0")
    header = good[:40] + struct.pack("<Q", xxh64(tables)) + good[48:offset]
    path.write_bytes(header + tables + good[offset + length:])


def xxh64(data):
    """XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md)."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5, mask = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5, 2**64 - 1

    def rotate(value, bits):
        value &= mask
        return (value << bits | value >> (64 - bits)) & mask

    def lane_round(lane, value):
        return rotate(lane + value * p2, 31) * p1 & mask

    end = len(data) // 32 * 32
    if end:
        lanes = [p1 + p2 & mask, p2, 0, -p1 & mask]
        for stripe in struct.iter_unpack("<4Q", data[:end]):
            lanes = [lane_round(lane, value) for lane, value in zip(lanes, stripe)]
        total = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            total = ((total ^ lane_round(0, lane)) * p1 + p4) & mask
    else:
        total = p5
    total = total + len(data) & mask
    rest = data[end:]
    while len(rest) >= 8:
        total = (rotate(total ^ lane_round(0, struct.unpack_from("<Q", rest)[0]), 27) * p1 + p4) & mask
        rest = rest[8:]
    if len(rest) >= 4:
        total = (rotate(total ^ struct.unpack_from("<I", rest)[0] * p1, 23) * p2 + p3) & mask
        rest = rest[4:]
    for byte in rest:
        total = rotate(total ^ byte * p5, 11) * p1 & mask
    total = (total ^ total >> 33) * p2 & mask
    total = (total ^ total >> 29) * p3 & mask
    return total ^ total >> 32


def make(folder):
    """Fills FOLDER with all that needs no compiler."""
    make_models(folder)
    make_defaults(folder)
    make_choice(folder)
    make_rude(folder)
    make_damaged_models(folder)
    make_arrays(folder)
