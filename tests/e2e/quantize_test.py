# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`heddle compile --quantize`: sizes, what stays float, the loss that is reported and the one that is there, the search
for a bound, and that nothing of it depends on chance."""

import json
import sys
import unittest

import numpy as np
import onnx

import case
import command
import heddle
import models

sys.path.append(str(models.SOURCE / "tools/bench"))
import bert  # noqa: E402


def cosine(a, b):
    a, b = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    return a @ b / np.sqrt((a @ a) * (b @ b))


def relative_error(actual, expected):
    return np.abs(actual - expected).max() / np.abs(expected).max()


load_tests = models.load_share


class QuantizeTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.model = cls.scratch / "bert.onnx"
        # A table of words above 2 MB, so that it is quantised too.
        onnx.save(bert.Bert(layers=2, width=128, heads=4, hidden=320, vocabulary=5000).build(), cls.model)
        cls.plain = command.compile_model(cls.model, cls.scratch / "f32.heddle")
        cls.coded, cls.report = cls.compile_quantized("w8a8")

    @classmethod
    def compile_quantized(cls, name, *options):
        """The artifact made with OPTIONS and its report."""
        artifact, report = cls.scratch / f"{name}.heddle", cls.scratch / f"{name}.json"
        command.compile_model(cls.model, artifact, "--quantize", "w8a8", "--report", report, *options)
        return artifact, json.loads(report.read_text())

    def run_artifact(self, artifact, feeds):
        with heddle.Program(artifact) as program:
            return program.run(feeds)

    def feeds(self, batch=3, length=21):
        with heddle.Program(self.plain) as program:
            return models.feeds(program.inputs, batch, length)

    def test_the_artifact_is_small_and_says_so(self):
        self.assertLess(self.coded.stat().st_size, 0.4 * self.plain.stat().st_size)
        options = json.loads(command.heddle("inspect", self.coded, "--json").stdout)["options"]
        self.assertEqual(options["quantize"], "w8a8")

    def test_numbers_are_near_the_other_engines(self):
        feeds = self.feeds()
        expected = models.Oracle(self.model).run(feeds)
        for name, values in self.run_artifact(self.coded, feeds).items():
            # 8 bits of weights and activations over two layers of random weights: 1 % is measured, twice that allowed.
            self.assertLess(relative_error(values, expected[name]), 0.02)
            self.assertGreater(relative_error(values, expected[name]), 1e-4, "float by mistake")
            self.assertGreater(cosine(values, expected[name]), 0.999)

    def test_every_place_is_reported(self):
        places = self.report["quantization"]["places"]
        # Query, key and value are one product, then the output and two; tables of words, positions and types.
        products = [place for place in places if place["kind"] == "product"]
        self.assertEqual(len(products), 2 * 4)
        self.assertTrue(all(place["quantized"] for place in products))
        tables = [place.get("reason") for place in places if place["kind"] == "table"]
        self.assertEqual(sorted(tables, key=str), [None, "it has less than 2 MB", "it has less than 2 MB"])
        coded = [kernel for kernel in self.report["kernels"] if kernel["quantized"] == "yes: w8a8"]
        self.assertGreaterEqual(len(coded), 2 * 4)

    def test_the_loss_that_is_reported_is_there(self):
        """The report's inputs aren't known here; on others the loss is of the same size."""
        loss = self.report["quantization"]["loss"]
        feeds = self.feeds(batch=4, length=32)
        plain, coded = self.run_artifact(self.plain, feeds), self.run_artifact(self.coded, feeds)
        for output in loss["outputs"]:
            measured = relative_error(coded[output["name"]], plain[output["name"]])
            self.assertLess(abs(np.log(measured / output["relative_error"])), np.log(2))
            self.assertGreater(output["cosine"], 0.999)
            self.assertLessEqual(output["least_cosine"], output["cosine"])
        worst = [kernel["sqnr_db"] for kernel in loss["worst"]]
        self.assertEqual(worst, sorted(kernel["sqnr_db"] for kernel in loss["places"])[:5])
        self.assertTrue(all(20 < decibels < 60 for decibels in worst))
        for kernel in loss["places"]:
            self.assertEqual("outlier_channel" in kernel, kernel["kind"] == "product")
        # Weights of float as in the float artifact: all but its other sections.
        size = self.plain.stat().st_size
        self.assertAlmostEqual(loss["float_weight_bytes"], size, delta=0.1 * size)

    def test_what_is_excluded_stays_float(self):
        artifact, report = self.compile_quantized("none", "--exclude", "*")
        feeds = self.feeds()
        plain, none = self.run_artifact(self.plain, feeds), self.run_artifact(artifact, feeds)
        for name, values in none.items():
            self.assertEqual(values.tobytes(), plain[name].tobytes())
        reasons = {place.get("reason") for place in report["quantization"]["places"]}
        self.assertEqual(reasons, {"excluded", "it has less than 2 MB"})
        # One node of a merged projection stands for all of it.
        _, report = self.compile_quantized("query", "--exclude", "0.query.*")
        excluded = [place for place in report["quantization"]["places"] if place.get("reason") == "excluded"]
        self.assertEqual(len(excluded), 1)
        self.assertIn("0.key.MatMul", excluded[0]["nodes"])

    def test_tables_can_stay_float(self):
        artifact, report = self.compile_quantized("tables", "--embedding", "f32")
        reasons = [place.get("reason") for place in report["quantization"]["places"] if place["kind"] == "table"]
        self.assertIn("tables stay float", reasons)
        self.assertGreater(artifact.stat().st_size, self.coded.stat().st_size + 3 * 5000 * 128 * 0.9)

    def test_a_bound_is_kept_and_its_choice_can_be_given(self):
        bound = 0.6 * self.report["quantization"]["loss"]["relative_error"]
        artifact, report = self.compile_quantized("bound", "--max-loss", bound)
        loss = report["quantization"]["loss"]
        self.assertLessEqual(loss["relative_error"], bound)
        self.assertGreater(len(loss["exclude"]), 0)
        self.assertLess(len(loss["exclude"]), 2 * 4 + 1)
        again, _ = self.compile_quantized("again", *(word for node in loss["exclude"] for word in ("--exclude", node)))
        self.assertEqual(artifact.read_bytes(), again.read_bytes())

    def test_calibration_data_are_measured_on(self):
        folder = self.scratch / "samples"
        folder.mkdir()
        for i, feeds in enumerate((self.feeds(1, 9), self.feeds(2, 30))):
            np.savez(folder / f"{i}.npz", **feeds)
        lines = self.scratch / "ids.jsonl"
        lines.write_text('[5, 6, 7]\n\n[[5, 6], [7, 8]]\n{"input_ids": [9, 9], "attention_mask": [1, 1]}\n'
                         '{"input_ids": [4, 2]}\n')
        _, report = self.compile_quantized("calibrated", "--calibrate", folder, "--calibrate", lines)
        loss = report["quantization"]["loss"]
        self.assertEqual(loss["inputs"], "6 samples of calibration data")
        self.assertTrue(0.001 < loss["relative_error"] < 0.05)

    def test_outlier_channels_are_smoothed_by_data(self):
        """Two hidden channels reach 40 times as far as others, and count a fortieth."""
        model, lines = self.scratch / "outliers.onnx", self.scratch / "outliers.jsonl"
        random, weights = np.random.default_rng(7), {}
        for layer in range(2):
            wide = random.standard_normal((128, 320), dtype=np.float32) * 128 ** -0.5
            narrow = random.standard_normal((320, 128), dtype=np.float32) * 320 ** -0.5
            wide[:, [3, 77]] *= 40
            narrow[[3, 77]] /= 40
            weights |= {f"layer{layer}.intermediate.w": wide, f"layer{layer}.narrow.w": narrow}
        onnx.save(bert.Bert(layers=2, width=128, heads=4, hidden=320, vocabulary=1000, weights=weights).build(), model)
        lines.write_text("\n".join(str(random.integers(0, 1000, 20).tolist()) for _ in range(8)))
        losses = []
        for options in ((), ("--calibrate", lines)):
            report = self.scratch / "outliers.json"
            artifact = command.compile_model(model, self.scratch / "outliers.heddle", "--quantize", "w8a8", "--report",
                                             report, *options)
            losses.append(json.loads(report.read_text())["quantization"]["loss"])
        self.assertFalse(losses[0]["smoothed"])
        self.assertTrue(losses[1]["smoothed"])
        # 20 times nearer is measured; on other inputs, but of the same kind.
        distances = [1 - loss["outputs"][0]["cosine"] for loss in losses]
        self.assertLess(distances[1], 0.2 * distances[0])
        self.assertTrue(any(kernel.get("outlier_ratio", 0) > 20 for kernel in losses[0]["places"]))
        options = json.loads(command.heddle("inspect", artifact, "--json").stdout)["options"]
        self.assertEqual(options["calibrate"], "8 samples")
        # The artifact holds what its weights were smoothed by: each kernel agrees, not only the outputs.
        summary = command.heddle("verify", artifact, model).stdout
        self.assertRegex(summary, r"in step, 1 outputs; largest difference .*, bound 1\.0e-04")

    def test_calibration_data_that_do_not_fit_are_named(self):
        lines, array = self.scratch / "wrong.jsonl", self.scratch / "wrong.npz"
        np.savez(array, input_ids=np.ones((1, 3), np.float32), attention_mask=np.ones((1, 3), np.int64),
                 token_type_ids=np.zeros((1, 3), np.int64))
        for text, message in (('{"input_idz": [5]}', "the model has no input 'input_idz'"),
                              ('{"attention_mask": [1]}', "input 'input_ids' is missing"),
                              ("[5, 5000]", "index 5000 is out of range"), ("5", "expects a list of ids or an object"),
                              ('["a"]', "expects a list of ids"), ('{"input_ids": [5}', "expects a list of ids"),
                              ("[]", "expects a list of ids, got []"), ("[[5, 6], [7]]", "expects a list of ids"),
                              ('{"input_ids": 5}', "expects a list of ids, got 5")):
            lines.write_text(f"[1, 2]\n{text}\n")
            run = command.heddle("compile", self.model, "-o", self.scratch / "no.heddle", "--quantize", "w8a8",
                                 "--calibrate", lines, expect=2)
            self.assertIn(message, run.stderr)
            self.assertIn("wrong.jsonl, line 2", run.stderr)
        run = command.heddle("compile", self.model, "-o", self.scratch / "no.heddle", "--quantize", "w8a8",
                             "--calibrate", array, expect=2)
        self.assertRegex(run.stderr, "(?s)input 'input_ids' expects i64, got f32.*wrong.npz")

    def test_a_bound_that_nothing_keeps_is_missed(self):
        run = command.heddle("compile", self.model, "-o", self.scratch / "no.heddle", "--quantize", "w8a8",
                             "--max-loss", "1e-12", expect=1)
        self.assertIn("error[H0601]: nothing can be quantised within a loss of 1.0e-12", run.stderr)
        self.assertFalse((self.scratch / "no.heddle").exists())

    def test_outputs_of_integers_have_no_loss(self):
        model, weight = self.scratch / "ids.onnx", np.random.default_rng(1).standard_normal((64, 32), dtype=np.float32)
        nodes = [onnx.helper.make_node("MatMul", ["x", "w"], ["y"]), onnx.helper.make_node("ArgMax", ["y"], ["ids"])]
        graph = onnx.helper.make_graph(
            nodes, "ids", [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["rows", 64])],
            [onnx.helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, None)],
            [onnx.numpy_helper.from_array(weight, "w")])
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
        options = ("compile", model, "-o", self.scratch / "ids.heddle", "--quantize", "w8a8")
        self.assertIn("loss     not known: no output is of f32", command.heddle(*options).stderr)
        run = command.heddle(*options, "--max-loss", "0.1", expect=2)
        self.assertIn("the model has no output of f32 that could be bounded", run.stderr)

    def test_same_bytes_and_figures_every_time(self):
        again, report = self.compile_quantized("again", "--threads", "1")
        self.assertEqual(self.coded.read_bytes(), again.read_bytes())
        self.assertEqual(self.report["quantization"], report["quantization"])

    def test_measuring_can_be_left_out(self):
        # Whether attention is worth it takes measuring.
        measured, _ = self.compile_quantized("measured", "--attention-int8", "off")
        artifact, report = self.compile_quantized("unmeasured", "--attention-int8", "off", "--no-measure")
        self.assertEqual(measured.read_bytes(), artifact.read_bytes())
        self.assertEqual(report["quantization"]["not_measured"], "not asked for")
        self.assertNotIn("loss", report["quantization"])

    def test_pair_safe_weights_are_for_targets_that_need_them(self):
        def codes(*options):
            text = command.heddle("compile", self.model, "-o", "-", "--quantize", "w8a8", "--compile-to",
                                  "quantization", *options).stdout
            return text.count("pair_safe")
        self.assertEqual(codes("--target", "cpu:x86-64-v3"), 2 * 4)
        self.assertEqual(codes("--target", "cpu:x86-64-v3,cpu:znver4"), 2 * 4)
        self.assertEqual(codes("--target", "cpu:znver4"), 0)
        self.assertEqual(codes("--target", "cpu:x86-64-v3", "--no-pair-safe"), 0)

    def test_what_pair_safe_weights_cost_is_reported(self):
        _, safe = self.compile_quantized("safe", "--target", "cpu:x86-64-v3")
        _, unsafe = self.compile_quantized("unsafe", "--target", "cpu:x86-64-v3", "--no-pair-safe")
        without = safe["quantization"]["loss"]["outputs_without_pair_safe"]
        self.assertEqual(without, unsafe["quantization"]["loss"]["outputs"])
        self.assertNotEqual(without, safe["quantization"]["loss"]["outputs"])
        self.assertNotIn("outputs_without_pair_safe", unsafe["quantization"]["loss"])

    def test_verify_compares_each_kernel_with_the_quantised_model(self):
        # Codes are equal, so that what is left is the rounding of f32.
        self.assertRegex(command.heddle("verify", self.coded, self.model, "--tolerance", "1e-5").stdout, "in step")
        for options in (["--embedding", "f32"], ["--exclude", "1.*"], ["--target", "cpu:x86-64-v3"]):
            artifact, _ = self.compile_quantized("verified", "--no-measure", *options)
            command.heddle("verify", artifact, self.model)

    def test_verify_finds_a_changed_weight_of_a_quantised_model(self):
        changed = onnx.load(self.model)
        weight = next(value for value in changed.graph.initializer if list(value.dims) == [128, 320])
        array = onnx.numpy_helper.to_array(weight) * np.float32(1.01)
        weight.CopyFrom(onnx.numpy_helper.from_array(array, weight.name))
        onnx.save(changed, self.scratch / "changed.onnx")
        result = command.heddle("verify", self.coded, self.scratch / "changed.onnx", expect=1)
        self.assertIn("DIFFER", result.stdout)

    def attention_of(self, report):
        return [place for place in report["quantization"]["places"] if place["kind"] == "attention"]

    def test_attention_is_quantised_where_that_is_faster(self):
        _, report = self.compile_quantized("codes", "--target", "cpu:cascadelake,cpu:x86-64-v3")
        attention = self.attention_of(report)
        self.assertEqual([place["quantized"] for place in attention], [True, True])
        self.assertTrue(all(0.998 < place["cosine"] < 1 for place in attention))
        for targets, options, reason in (
                ("cpu:cascadelake", ["--attention-int8", "off"], "switched off"),
                ("cpu:cascadelake", ["--exclude", "0.*"], "excluded"),
                ("cpu:cascadelake", ["--no-measure"], "what it would lose isn't measured")):
            _, report = self.compile_quantized("float", "--target", targets, *options)
            self.assertEqual(self.attention_of(report)[0].get("reason"), reason)

    def test_attention_that_would_lose_too_much_stays_float(self):
        """A channel of a head's keys reaches 300 times as far as others. As a bias it changes nothing and is left out;
        as a weight it spoils codes, although queries don't look at it."""
        random, bias = np.random.default_rng(9), np.zeros(128, np.float32)
        bias[::32] = 300
        query, key = (random.standard_normal((128, 128), dtype=np.float32) * 128 ** -0.5 for _ in range(2))
        query[:, ::32] = 0
        key[:, ::32] *= 300
        for name, weights, kept in (("bias", {"layer0.key.b": bias}, True),
                                    ("weight", {"layer0.query.w": query, "layer0.query.b": 0 * bias,
                                                "layer0.key.w": key}, False)):
            model, path = self.scratch / f"{name}.onnx", self.scratch / f"{name}.json"
            onnx.save(bert.Bert(layers=2, width=128, heads=4, hidden=320, vocabulary=1000, weights=weights).build(),
                      model)
            command.compile_model(model, self.scratch / "codes.heddle", "--quantize", "w8a8", "--target",
                                  "cpu:cascadelake", "--report", path)
            report = json.loads(path.read_text())
            first, second = self.attention_of(report)
            self.assertEqual([first["quantized"], second["quantized"]], [kept, True])
            self.assertEqual(first["cosine"] > 0.998, kept)
            self.assertEqual(first.get("reason"), None if kept else "it would lose too much")
            self.assertGreater(report["quantization"]["loss"]["outputs"][0]["cosine"], 0.999)
            self.assertEqual(report["quantization"]["loss"]["exclude"], [])
            options = json.loads(command.heddle("inspect", self.scratch / "codes.heddle", "--json").stdout)["options"]
            self.assertEqual(options["attention-int8"], "auto")
            self.assertEqual(options.get("attention-float"), None if kept else "0.softmax")

    def test_attention_alone_can_be_quantised(self):
        """On any machine; bit for bit alone and in a batch, padded and not, on one thread and two."""
        artifact, path = self.scratch / "attention.heddle", self.scratch / "attention.json"
        command.compile_model(self.model, artifact, "--attention-int8", "on", "--report", path)
        report = json.loads(path.read_text())
        self.assertEqual([place["quantized"] for place in self.attention_of(report)], [True, True])
        self.assertEqual({kernel["quantized"] for kernel in report["kernels"] if "attention" in kernel["name"]},
                         {"yes: scores of 8 bits"})
        command.heddle("verify", artifact, self.model)
        feeds = self.feeds()
        plain, coded = self.run_artifact(self.plain, feeds), self.run_artifact(artifact, feeds)
        one = {name: values[1:2] for name, values in feeds.items()}
        padded = {name: np.pad(values, ((0, 0), (0, 19))) for name, values in one.items()}
        with heddle.Program(artifact, threads=1) as program:
            alone, longer = program.run(one), program.run(padded)
        for name, values in coded.items():
            length = values.shape[1]
            self.assertEqual(alone[name].tobytes(), np.ascontiguousarray(longer[name][:, :length]).tobytes())
            # Measured: 0.2 % of the largest value.
            self.assertLess(relative_error(values, plain[name]), 0.01)
            self.assertGreater(relative_error(values, plain[name]), 1e-5, "float by mistake")
            self.assertEqual(values[1:2].tobytes(), alone[name].tobytes())

    def calibration(self):
        """A file of the inputs that are compared with: values beyond those that were seen saturate."""
        path = self.scratch / "values.npz"
        np.savez(path, **self.feeds())
        return path

    def values_of(self, report):
        return [place for place in report["quantization"]["places"] if place["kind"] == "attention values"]

    def test_values_of_attention_are_quantised_by_data(self):
        """Bit for bit alone and in a batch, padded and not, on one thread and two; on two kinds of instructions."""
        feeds = self.feeds()
        plain = self.run_artifact(self.plain, feeds)
        one = {name: values[1:2] for name, values in feeds.items()}
        padded = {name: np.pad(values, ((0, 0), (0, 300))) for name, values in one.items()}
        for target in ("cpu:x86-64-v3", "cpu"):
            artifact, path = self.scratch / "values.heddle", self.scratch / "values.json"
            command.compile_model(self.model, artifact, "--attention-int8", "on", "--calibrate", self.calibration(),
                                  "--target", target, "--report", path)
            report = json.loads(path.read_text())
            self.assertTrue(all(place["quantized"] and 0.998 < place["cosine"] < 1 for place in self.values_of(report)))
            self.assertEqual({kernel["quantized"] for kernel in report["kernels"] if "attention" in kernel["name"]},
                             {"yes: scores of 8 bits, weights and values of 8 bits"})
            # The scales are in the artifact: it is compared kernel by kernel.
            self.assertIn("in step", command.heddle("verify", artifact, self.model).stdout)
            coded = self.run_artifact(artifact, feeds)
            with heddle.Program(artifact, threads=1) as program:
                alone, longer = program.run(one), program.run(padded)
            for name, values in coded.items():
                length = values.shape[1]
                self.assertEqual(alone[name].tobytes(), np.ascontiguousarray(longer[name][:, :length]).tobytes())
                self.assertEqual(values[1:2].tobytes(), alone[name].tobytes())
                # Measured: 0.4 % of the largest value.
                self.assertLess(relative_error(values, plain[name]), 0.01)
                self.assertGreater(relative_error(values, plain[name]), 1e-4, "float by mistake")

    def test_values_take_data(self):
        for options, reason in (((), "what its values reach takes calibration data"),
                                (("--calibrate", self.calibration()), None),
                                (("--calibrate", self.calibration(), "--attention-int8", "off"), "switched off")):
            _, report = self.compile_quantized("float", *options)
            self.assertEqual(self.values_of(report)[0].get("reason"), reason)

    def test_values_and_scores_stay_float_together_for_a_bound(self):
        _, report = self.compile_quantized("bound", "--calibrate", self.calibration(), "--max-loss", 0.008)
        self.assertLessEqual(report["quantization"]["loss"]["relative_error"], 0.008)
        # A name excludes both.
        self.assertGreater(len(report["quantization"]["loss"]["exclude"]), 0)
        self.assertEqual([place["quantized"] for place in self.attention_of(report)],
                         [place["quantized"] for place in self.values_of(report)])

    def test_values_that_would_lose_too_much_stay_float(self):
        """The values of the first key reach 1000 times as far as others, but no query looks at them."""
        random = np.random.default_rng(3)
        weights = {name: random.standard_normal((64, 64), dtype=np.float32) / 8 for name in "qkv"}
        for name in "qkv":
            weights[name][:2] = 0
        weights["q"][1], weights["k"][0], weights["v"][0] = 1, -1, 1
        inputs = random.standard_normal((1, 12, 64), dtype=np.float32)
        inputs[:, 0], inputs[:, :, 0], inputs[:, :, 1] = 0, 0, 1
        nodes, make = [], onnx.helper.make_node
        for name in "qkv":
            nodes += [make("MatMul", ["x", name], [name + "1"]), make("Reshape", [name + "1", "heads"], [name + "2"]),
                      make("Transpose", [name + "2"], [name + "3"], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])]
        nodes += [make("MatMul", ["q3", "k3"], ["scores"]), make("Mul", ["scores", "scale"], ["scaled"]),
                  make("Softmax", ["scaled"], ["weights"], name="softmax", axis=-1),
                  make("MatMul", ["weights", "v3"], ["y1"]), make("Transpose", ["y1"], ["y2"], perm=[0, 2, 1, 3]),
                  make("Reshape", ["y2", "joined"], ["y"])]
        constants = weights | {"heads": np.array([0, 0, 2, 32]), "joined": np.array([0, 0, 64]),
                               "scale": np.float32(32 ** -0.5)}
        value = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph(nodes, "values", [value("x", onnx.TensorProto.FLOAT, ["b", "s", 64])],
                                       [value("y", onnx.TensorProto.FLOAT, ["b", "s", 64])],
                                       [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()])
        model, data, path = (self.scratch / f"far{suffix}" for suffix in (".onnx", ".npz", ".json"))
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
        artifact = self.scratch / "far.heddle"
        for far, kept in ((1000, False), (2, True)):
            inputs[:, 0, 0] = far
            np.savez(data, x=inputs)
            command.compile_model(model, artifact, "--quantize", "w8a8", "--calibrate", data, "--target",
                                  "cpu:cascadelake", "--report", path)
            report = json.loads(path.read_text())
            (place,) = self.values_of(report)
            self.assertEqual(place["quantized"], kept)
            self.assertEqual(place["cosine"] > 0.998, kept)
            self.assertEqual(place.get("reason"), None if kept else "it would lose too much")
            options = json.loads(command.heddle("inspect", artifact, "--json").stdout)["options"]
            self.assertEqual("attention-float-values" in options, not kept)

    def test_sentences_of_a_real_encoder(self):
        model = models.minilm()
        plain = command.compile_model(model, self.scratch / "minilm.heddle")
        coded = command.compile_model(model, self.scratch / "minilm8.heddle", "--quantize", "w8a8")
        self.assertLess(coded.stat().st_size, 0.27 * plain.stat().st_size)
        with heddle.Program(plain) as program:
            feeds = models.feeds(program.inputs, 8, 24)
        expected, actual = self.run_artifact(plain, feeds), self.run_artifact(coded, feeds)
        for name, values in actual.items():
            if values.dtype == np.float32:
                cosines = [cosine(row, wanted) for row, wanted in zip(values, expected[name])]
                # What is promised of sentences; these ids are of rare words, some of them never trained.
                self.assertGreater(np.mean(cosines), 0.998)
                self.assertGreater(min(cosines), 0.99)


if __name__ == "__main__":
    unittest.main()
