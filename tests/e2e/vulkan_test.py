# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models on Vulkan: the numbers that the CPU gives, rows that depend on nothing but themselves, one artifact for both.

One export of each of FAMILIES; HEDDLE_TEST_ALL=1 in the environment takes all exports, which lasts half an hour on a
software device.
"""

import json
import os
import unittest
import unittest.mock

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

import candidates_test
import case
import cases_test
import command
import heddle
import models

# Sums in another order than the exporter's.
BOUND = 1e-5
# families_test.py says why; nothing beyond them is refused.
REFUSED_ON_CPU = ("longformer", "switch-encoder")
LENGTHS = (1, 9, 33, 64)
# Each has something that the others lack: kinds of masks and positions, heads, convolutions, caches, embeddings.
FAMILIES = ("albert", "bert-classify", "deberta-v2", "gpt2", "llama", "mistral-window", "modernbert", "mpnet", "swin",
            "t5", "vit", "wav2vec2", "whisper")
TAKES_ALL = bool(os.environ.get("HEDDLE_TEST_ALL"))


def exports():
    """One export of each of FAMILIES, or all there are."""
    found = sorted(models.SHARED.glob("models/*/model.onnx"))
    if not found:
        models.missing(f"no models in {models.SHARED / 'models'}")
    if TAKES_ALL:
        return found
    families = {}
    for model in found:
        family, _, form = model.parent.name.partition(".")
        if family in FAMILIES and (form == "ts-sdpa" or family not in families):
            families[family] = model
    return list(families.values())


def model_of_halves():
    """f16 as input, weights and results, f16 to f32 and back, f32 to bf16 and back."""
    weights = np.random.default_rng(1).standard_normal((24, 17)).astype(np.float16)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]),
             helper.make_node("Softmax", ["product"], ["weights"], axis=-1),
             helper.make_node("Cast", ["weights"], ["wide"], to=TensorProto.FLOAT),
             helper.make_node("Sqrt", ["wide"], ["root"]),
             helper.make_node("Cast", ["root"], ["half"], to=TensorProto.FLOAT16),
             helper.make_node("Cast", ["x"], ["float"], to=TensorProto.FLOAT),
             helper.make_node("Cast", ["float"], ["brief"], to=TensorProto.BFLOAT16),
             helper.make_node("Cast", ["brief"], ["again"], to=TensorProto.FLOAT)]
    types = {"product": TensorProto.FLOAT16, "half": TensorProto.FLOAT16, "brief": TensorProto.BFLOAT16,
             "again": TensorProto.FLOAT}
    graph = helper.make_graph(nodes, "halves", [helper.make_tensor_value_info("x", TensorProto.FLOAT16, ["b", 24])],
                              [helper.make_tensor_value_info(name, kind, None) for name, kind in types.items()],
                              [onnx.numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


class VulkanTest(case.ArtifactTestCase):
    def compiled(self, model, *options):
        """The artifact of MODEL for the CPU and for Vulkan."""
        name = "-".join([model.parent.name, model.stem, *(option.lstrip("-") for option in options)])
        artifact = self.scratch / f"{name}.heddle"
        if not artifact.exists():
            command.compile_model(model, artifact, "--target", "cpu,vulkan", *options)
        return artifact

    def check_numbers(self, model, artifact):
        with heddle.Program(artifact, device="vulkan") as program:
            for inputs in sorted(model.parent.glob("inputs_*.npz")):
                expected = np.load(inputs.with_name(inputs.name.replace("inputs", "outputs")))
                actual = program.run(np.load(inputs))
                for name, values in zip(program.outputs, expected.values()):
                    self.assertLessEqual(models.difference(actual[name], values), BOUND, f"{inputs.name} {name}")

    def test_every_family_gives_its_numbers(self):
        for model in exports():
            name = model.parent.name
            if name.startswith(REFUSED_ON_CPU):
                continue
            with self.subTest(model=name):
                artifact = self.scratch / f"{name}.heddle"
                command.compile_model(model, artifact, "--target", "vulkan")
                self.check_numbers(model, artifact)

    def check_case(self, folder, meta, artifact):
        with heddle.Program(artifact, device="vulkan") as program:
            for run in meta["runs"]:
                feeds = {value["name"]: np.load(folder / value["file"]) for value in run["inputs"]}
                if meta["right"] == "error":
                    self.assertRaises(heddle.Error, program.run, feeds)
                    continue
                actual = program.run(feeds)
                for value in run["outputs"]:
                    expected = np.load(folder / value["file"])
                    self.assertTrue(cases_test.close(actual[value["name"]], expected, meta["tolerance"]),
                                    f"{value['name']}: expects\n{expected}\ngot\n{actual[value['name']]}")

    def test_cases_of_other_engines_are_right(self):
        paths = sorted(models.SHARED.glob("cases/*/meta.json"))
        for path in models.share(paths):
            folder, meta = path.parent, json.loads(path.read_text())
            # What no target loads is cases_test's.
            if meta["right"] == "error" and meta["phase"] == "load":
                continue
            with self.subTest(case=folder.name):
                artifact = self.scratch / f"{folder.name}.heddle"
                command.compile_model(folder / "model.onnx", artifact, "--target", "vulkan")
                self.check_case(folder, meta, artifact)

    def test_the_same_artifact_runs_on_both_devices(self):
        artifact = self.compiled(models.minilm())
        with heddle.Program(artifact) as cpu, heddle.Program(artifact, device="vulkan") as vulkan:
            for batch, length in ((1, 1), (3, 33), (1, 128)):
                feeds = models.feeds(cpu.inputs, batch, length)
                ours, theirs = vulkan.run(feeds), cpu.run(feeds)
                for name, values in theirs.items():
                    self.assertLessEqual(models.difference(ours[name], values), BOUND, f"{batch}x{length} {name}")

    def test_halves_are_those_of_the_cpu(self):
        model, artifact = self.scratch / "halves.onnx", self.scratch / "halves.heddle"
        onnx.save(model_of_halves(), model)
        command.compile_model(model, artifact, "--target", "cpu:x86-64-v3,cpu:x86-64-v4,vulkan")
        with heddle.Program(artifact) as cpu, heddle.Program(artifact, device="vulkan") as vulkan:
            for batch in (1, 3, 130):
                x = np.random.default_rng(batch).standard_normal((batch, 24)).astype(np.float16)
                # Numbers below the normal ones, and none.
                x.flat[:3] = 6e-8, -3e-6, 0.0
                ours, theirs = vulkan.run({"x": x}), cpu.run({"x": x})
                brief = x.astype(np.float32).astype(ml_dtypes.bfloat16)
                for name, exact in (("brief", brief), ("again", brief.astype(np.float32))):
                    self.assertEqual(ours[name].tobytes(), exact.tobytes(), f"{batch} {name}")
                    self.assertEqual(theirs[name].tobytes(), exact.tobytes(), f"{batch} {name}, CPU")
                # Sums in f32 differ by their order, so that some results round to a neighbour.
                for name in ("product", "half"):
                    np.testing.assert_allclose(ours[name].astype(np.float32), theirs[name].astype(np.float32),
                                               rtol=2**-10, atol=1e-6, err_msg=f"{batch} {name}")

    def test_models_run_where_little_can_be_bound(self):
        # 47 MB of embeddings (12 MB as codes) a MiB at a time, weights and activations in slices.
        lowered = {"HEDDLE_VULKAN_LIMITS": "range=1048576,shared=16384,groups=256"}
        for options in ((), ("--quantize", "w8a8", "--no-measure")):
            artifact = self.compiled(models.minilm(), *options)
            with heddle.Program(artifact, device="vulkan") as whole:
                feeds = models.feeds(whole.inputs, 2, 65)
                expected = whole.run(feeds)
            with unittest.mock.patch.dict(os.environ, lowered), heddle.Program(artifact, device="vulkan") as program:
                for name, values in program.run(feeds).items():
                    self.assertEqual(values.tobytes(), expected[name].tobytes(), f"{options} {name}")
            if options:
                continue
            with heddle.Program(artifact) as cpu:
                for name, values in cpu.run(feeds).items():
                    self.assertLessEqual(models.difference(expected[name], values), BOUND, name)

    def test_rows_are_invariant(self):
        for options in ((), ("--quantize", "w8a8", "--no-measure")):
            with heddle.Program(self.compiled(models.minilm(), *options), device="vulkan") as program:
                full = models.feeds(program.inputs, len(LENGTHS), max(LENGTHS), seed=1)
                mask = np.arange(max(LENGTHS))[None] < np.array(LENGTHS)[:, None]
                full["attention_mask"] = mask.astype(np.int64)
                batched = program.run(full)
                for row, length in enumerate(LENGTHS):
                    padded = program.run({name: values[row:row + 1] for name, values in full.items()})
                    alone = program.run({name: values[row:row + 1, :length] for name, values in full.items()})
                    for name, values in alone.items():
                        # A per-token output has rows for padding as well, which mean nothing.
                        rows = (slice(None), slice(length)) if values.ndim > 1 and values.shape[1] == length else ()
                        for label, other in (("padded", padded[name]), ("batched", batched[name][row:row + 1])):
                            self.assertEqual(other[rows].tobytes(), values[rows].tobytes(), f"{name} {length} {label}")

    def test_quantised_models_agree_with_the_reference(self):
        # Kernel by kernel: integers are those of the reference bit for bit, given the codes that the device stored.
        artifact = self.compiled(models.minilm(), "--quantize", "w8a8", "--no-measure")
        run = command.heddle("verify", artifact, models.minilm(), "--device", "vulkan", "--shape", "input_ids=2x9")
        self.assertIn("ok", run.stdout + run.stderr)


class CandidatesTest(candidates_test.CandidatesTestCase):
    device, targets = "vulkan", b"vulkan"

    def test_candidates_of_shaders_give_the_expected_results(self):
        self.check_all(most_candidates=3, shapes=candidates_test.SHAPES[:1])


if __name__ == "__main__":
    unittest.main()
