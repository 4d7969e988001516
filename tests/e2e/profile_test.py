# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heddle profile, and the memory that heddle inspect foretells: rows add up to the wall, reports have their schema and
the model's names, the memory of a run is what was said. What the times are is nobody's business here."""

import json
import os
import struct
import subprocess
import sys
import unittest
import unittest.mock
import xml.etree.ElementTree as ElementTree

import onnx

import case
import command
import models

ROW = {"name", "root", "is_runtime", "dispatches", "time_us", "p50_us", "share", "flops", "bytes", "gflops", "gbs",
       "percent_of_roofline", "bound_by", "nodes"}
BOUNDS = {"compute", "L1", "L2", "L3", "cache", "DRAM", "latency"}
SHAPE = ("--shape", "input_ids=2x16")

# Peak of resident memory beyond what was there before the artifact was loaded. A small artifact runs first: then the
# libraries' own pages, thread stacks and the interpreter's are there already. Results aren't copied, which would hold
# them twice.
MEASURE = """
import ctypes, pathlib, sys
import heddle, models
def resident(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))
def run(artifact, batch, length):
    with heddle.Program(artifact, threads=2, weights=weights) as program:
        feeds = models.feeds(program.inputs, batch, length)
        inputs = (heddle.handle * len(feeds))(*[heddle.to_tensor(array).value for array in feeds.values()])
        outputs = (heddle.handle * len(program.outputs))()
        for _ in range(3):
            heddle.check(heddle.LIBRARY.heddle_session_run(program.session, None, inputs, len(inputs), outputs,
                                                           len(outputs)))
        return resident("VmHWM")
small, artifact, batch, length, weights = *sys.argv[1:3], *map(int, sys.argv[3:])
run(small, 1, 16)
before = resident("VmRSS")
pathlib.Path("/proc/self/clear_refs").write_text("5")
print(run(artifact, batch, length) - before)
"""

# The mapping that a program's code lies in, and what perf is told of it.
PERF_MAP = """
import os, pathlib, sys
import heddle
with heddle.Program(sys.argv[1]):
    file = pathlib.Path(f"/tmp/perf-{os.getpid()}.map")
    kernels = file.read_text()
    file.unlink()
    code = int(kernels.split()[0], 16)
    for line in open("/proc/self/maps"):
        begin, end = (int(address, 16) for address in line.split()[0].split("-"))
        if begin <= code < end:
            print(line.strip())
    print(kernels)
"""


def text_section(artifact):
    """Address and size of the code proper in the kernel image of ARTIFACT: its largest executable section."""
    image = artifact.read_bytes()
    image = image[image.index(b"\x7fELF"):]
    offset, = struct.unpack_from("<Q", image, 40)
    count, = struct.unpack_from("<H", image, 60)
    sections = [struct.unpack_from("<IIQQQQ", image, offset + 64 * i) for i in range(count)]
    return max(((address, size) for _, _, flags, address, _, size in sections if flags & 4), key=lambda text: text[1])


class ProfileTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # TorchScript's exporter names nodes by the modules they came from.
        cls.model = next(path for path in models.exports() if path.parent.name.startswith("bert.ts-"))
        cls.nodes = {node.name for node in onnx.load(cls.model, load_external_data=False).graph.node}

    def profile(self, *options):
        run = command.heddle("profile", self.artifact(self.model), "--seconds", "0.05", *SHAPE, "--json", *options)
        return json.loads(run.stdout)

    def check_report(self, report):
        self.assertEqual(report["schema"], "heddle-profile-1")
        self.assertGreaterEqual(report["runs"], 10)
        self.assertEqual(report["shapes"]["input_ids"], [2, 16])
        for row in report["rows"]:
            self.assertEqual(set(row), ROW)
            self.assertLessEqual(set(row["nodes"]), self.nodes)
            self.assertTrue(row["nodes"] or row["is_runtime"])
        self.assertEqual([row["is_runtime"] for row in report["rows"]], [False] * (len(report["rows"]) - 1) + [True])
        self.assertAlmostEqual(sum(row["time_us"] for row in report["rows"]) / report["wall_us"], 1)
        self.assertAlmostEqual(sum(row["share"] for row in report["rows"]), 1)

    def test_kernels_add_up_to_the_wall(self):
        report = self.profile()
        self.check_report(report)
        kernels = [row for row in report["rows"] if not row["is_runtime"]]
        inspected = json.loads(command.heddle("inspect", self.artifact(self.model), "--json").stdout)
        self.assertEqual({row["name"]: row["dispatches"] for row in kernels},
                         {kernel["name"]: kernel["dispatch_count"] for kernel in inspected["kernels"]})
        for row in kernels:
            self.assertIn(row["bound_by"], BOUNDS)
            self.assertGreater(row["percent_of_roofline"], 0)
        self.assertEqual([row["time_us"] for row in kernels], sorted((row["time_us"] for row in kernels), reverse=True))

    def test_layers_are_the_models(self):
        report = self.profile("--by", "layer")
        self.check_report(report)
        layers = [row["name"] for row in report["rows"] if row["name"] and not row["is_runtime"]]
        self.assertGreaterEqual(len(layers), 2)
        for number, name in enumerate(layers):
            self.assertTrue(name.endswith(f"layer.{number}"), name)

    def layers(self, model):
        """The layers that a profile of MODEL shows, with the kernels of each."""
        run = command.heddle("profile", self.artifact(model), "--seconds", "0.05", *SHAPE, "--json", "--by", "layer")
        return [(row["name"], row["dispatches"]) for row in json.loads(run.stdout)["rows"]]

    def test_layers_of_modules_in_metadata_are_those_of_names(self):
        """The same model as torch.export writes it: nodes named by their operator, modules in the metadata."""
        model = onnx.load(self.model)
        for number, node in enumerate(model.graph.node):
            *modules, operator = node.name.strip("/").split("/")
            scopes = ["", *(".".join(modules[:depth + 1]) for depth in range(len(modules))), operator.lower()]
            node.name = f"node_{node.op_type}_{number}"
            node.metadata_props.add(key="pkg.torch.onnx.stack_trace", value="x" * 2000)
            node.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=str(scopes))
        exported = self.scratch / "exported.onnx"
        onnx.save(model, exported)
        self.assertEqual(self.layers(exported), self.layers(self.model))

    def test_layers_of_both_exporters_are_the_same(self):
        older, newer = (next(path for path in models.exports() if path.parent.name.startswith(name))
                        for name in ("bert.ts-", "bert.dynamo-"))
        names = [[name for name, _ in self.layers(path)] for path in (older, newer)]
        self.assertEqual(names[0], names[1])

    def test_csv_has_a_line_a_row(self):
        run = command.heddle("profile", self.artifact(self.model), "--seconds", "0.05", *SHAPE, "--by", "layer",
                             "--csv")
        lines = run.stdout.splitlines()
        self.assertTrue(lines[0].startswith("layer,dispatches,time_us,share,"))
        self.assertTrue(lines[-1].startswith("(runtime),"))

    def check_trace(self, path, tracks):
        events = json.loads(path.read_text())["traceEvents"]
        named = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        self.assertLessEqual(set(named.values()), tracks)
        spans = [event for event in events if event["ph"] == "X"]
        for tid in named:
            open_until = []
            own = [span for span in spans if span["tid"] == tid]
            for span in sorted(own, key=lambda span: (span["ts"], -span["dur"])):
                self.assertEqual(span["pid"], 1)
                self.assertGreaterEqual(span["dur"], 0)
                # Times are whole nanoseconds, written as microseconds.
                while open_until and open_until[-1] <= span["ts"] + 1e-6:
                    open_until.pop()
                if open_until:
                    self.assertLessEqual(span["ts"] + span["dur"], open_until[-1] + 1e-6, span["name"])
                open_until.append(span["ts"] + span["dur"])
        dispatches = [span for span in spans if "args" in span]
        for span in dispatches:
            self.assertLessEqual(set(span["args"]["nodes"]), self.nodes)
            self.assertTrue(any(span["name"].startswith(node) for node in span["args"]["nodes"]), span["name"])
        return {span["args"]["dispatch"] for span in dispatches}

    def test_the_trace_has_a_track_a_thread(self):
        path = self.scratch / "trace.json"
        report = self.profile("--trace", path, "--threads", "2")
        seen = self.check_trace(path, {"caller", "heddle-1"})
        self.assertEqual(seen, set(range(sum(row["dispatches"] for row in report["rows"]))))

    def test_the_chart_has_a_point_for_each_kernel(self):
        path = self.scratch / "roofline.svg"
        report = self.profile("--roofline", path)
        tree = ElementTree.parse(path)
        self.assertEqual(tree.getroot().tag, "{http://www.w3.org/2000/svg}svg")
        points = tree.findall(".//{http://www.w3.org/2000/svg}title")
        self.assertEqual(len(points), sum(row["flops"] > 0 and row["bytes"] > 0 for row in report["rows"]))

    def test_perf_is_told_all_code_of_a_kernel(self):
        """Each kernel from its entry on; code before the first entry would be some kernel's body without its name."""
        artifact = self.artifact(self.model)
        mapping, *lines = self.child(PERF_MAP, artifact, HEDDLE_PERF_MAP="1").split("\n")
        addresses, protection, *_, file = mapping.split()
        # perf takes names from its map where code is no file's.
        self.assertEqual((protection, file), ("r-xp", "0"))
        base = addresses.split("-")[0]
        entries = [line.split() for line in lines if line]
        spans = sorted((int(begin, 16) - int(base, 16), int(size, 16)) for begin, size, _ in entries)
        address, size = text_section(artifact)
        self.assertEqual(spans[0][0], address)
        for (begin, length), (following, _) in zip(spans, spans[1:]):
            self.assertEqual(begin + length, following)
        self.assertGreaterEqual(sum(spans[-1]), address + size)
        inspected = json.loads(command.heddle("inspect", artifact, "--json").stdout)
        self.assertEqual({name for *_, name in entries}, {kernel["name"] for kernel in inspected["kernels"]})

    def child(self, script, *arguments, **environment):
        """What SCRIPT prints in a process of its own."""
        run = subprocess.run([sys.executable, "-B", "-c", script, *map(str, arguments)], text=True, capture_output=True,
                             env=os.environ | {"PYTHONPATH": os.path.dirname(__file__)} | environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def check_memory(self, artifact, weights, batch, length):
        """The peak of a process that runs ARTIFACT is within 5 % of what was said."""
        run = command.heddle("inspect", artifact, "--memory", "--threads", "2", "--json", "--weights", weights,
                             "--shape", f"input_ids={batch}x{length}")
        said = json.loads(run.stdout)["memory"]["host_bytes"]
        measured = self.child(MEASURE, self.artifact(self.model), artifact, batch, length, int(weights == "copy"))
        self.assertLess(abs(int(measured) / said - 1), 0.05, f"{measured} against {said}")

    def test_memory_is_what_was_said(self):
        for weights, batch, length in (("map", 1, 128), ("copy", 8, 128)):
            with self.subTest(weights=weights, batch=batch, length=length):
                self.check_memory(self.minilm(), weights, batch, length)

    def test_memory_of_a_quantized_model_is_what_was_said(self):
        self.check_memory(self.artifact(models.fetched("quire-tagger") / "tagger.onnx"), "map", 1, 128)

    def test_memory_of_an_integer_table_is_what_was_said(self):
        """Its rows are smaller than the results made of them."""
        artifact = self.scratch / "w4a32.heddle"
        self.check_memory(command.compile_model(models.minilm(), artifact, "--quantize", "w4a32"), "map", 1, 128)

    @unittest.skipUnless(os.environ.get("VK_ICD_FILENAMES"), "no Vulkan driver for tests")
    def test_vulkan_has_a_track_and_times_of_its_own(self):
        artifact, trace = self.scratch / "vulkan.heddle", self.scratch / "vulkan.json"
        command.compile_model(self.model, artifact, "--target", "vulkan")
        run = command.heddle("profile", artifact, "--seconds", "0.05", *SHAPE, "--json", "--trace", trace)
        report = json.loads(run.stdout)
        self.check_report(report)
        self.assertEqual(report["device"], "vulkan")
        for row in report["rows"][:-1]:
            self.assertIn(row["bound_by"], BOUNDS)
            self.assertGreater(row["percent_of_roofline"], 0)
            self.assertGreater(row["time_us"], 0)
        limits, = report["machine"]["roofline"]
        self.assertEqual((limits["device"], limits["threads"]), ("vulkan", None))
        self.assertIn("llvmpipe", limits["name"])
        self.assertGreater(min(limits[name] for name in ("f32_gflops", "int8_gops", "l1_gbs", "dram_gbs")), 0)
        self.assertEqual(len(self.check_trace(trace, {"caller", "vulkan"})),
                         sum(row["dispatches"] for row in report["rows"]))
        memory = json.loads(command.heddle("inspect", artifact, "--memory", *SHAPE, "--json").stdout)["memory"]
        self.assertGreater(memory["device_weight_bytes"], 0)
        self.assertGreater(memory["device_arena_bytes"], 0)


    @unittest.skipUnless(os.environ.get("VK_ICD_FILENAMES"), "no Vulkan driver for tests")
    def test_vulkan_has_a_chart(self):
        artifact, path = self.scratch / "both.heddle", self.scratch / "vulkan.svg"
        command.compile_model(self.model, artifact, "--target", "cpu,vulkan")
        run = command.heddle("profile", artifact, "--seconds", "0.05", *SHAPE, "--json", "--roofline", path, "--device",
                             "vulkan:llvmpipe")
        report = json.loads(run.stdout)
        texts = "".join(ElementTree.parse(path).getroot().itertext())
        self.assertIn("on vulkan:llvmpipe (llvmpipe", texts)
        self.assertEqual(texts.count("bound by"),
                         2 * sum(row["flops"] > 0 and row["bytes"] > 0 for row in report["rows"]))
        self.assertEqual(report["machine"]["roofline"][0]["device"], "vulkan:llvmpipe")

    @unittest.skipUnless(os.environ.get("VK_ICD_FILENAMES"), "no Vulkan driver for tests")
    def test_vulkan_without_a_clock_has_limits_and_no_times(self):
        artifact, path = self.scratch / "clockless.heddle", self.scratch / "clockless.svg"
        command.compile_model(self.model, artifact, "--target", "vulkan")
        with unittest.mock.patch.dict(os.environ, HEDDLE_VULKAN_LIMITS="clockless=1"):
            run = command.heddle("profile", artifact, "--seconds", "0.05", *SHAPE, "--json", "--roofline", path)
        report = json.loads(run.stdout)
        self.assertIn("the device has no clock of its own: all time is the runtime's", report["machine"]["notes"])
        self.assertGreater(report["machine"]["roofline"][0]["f32_gflops"], 0)
        for row in report["rows"][:-1]:
            self.assertEqual([row[name] for name in ("gflops", "percent_of_roofline", "bound_by")], [None] * 3)
        self.assertIn("GB/s", "".join(ElementTree.parse(path).getroot().itertext()))

    @unittest.skipUnless(os.environ.get("VK_ICD_FILENAMES"), "no Vulkan driver for tests")
    def test_bench_knows_limits_of_every_device(self):
        artifact = self.scratch / "rows.heddle"
        command.compile_model(self.model, artifact, "--target", "vulkan")
        run = command.heddle("bench", self.artifact(self.model), artifact, "--seconds", "0.05", *SHAPE, "--threads",
                             "2", "--json")
        report = json.loads(run.stdout)
        self.assertEqual([(limits["device"], limits["threads"]) for limits in report["machine"]["roofline"]],
                         [("cpu", 1), ("cpu", 2), ("vulkan", None)])
        for row in report["rows"]:
            self.assertGreater(row["percent_of_roofline"], 0)


if __name__ == "__main__":
    unittest.main()
