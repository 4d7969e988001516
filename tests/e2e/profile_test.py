# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""heddle profile, and the memory that heddle inspect foretells: rows add up to the wall, reports have their schema and
the model's names, the memory of a run is what was said. What the times are is nobody's business here."""

import json
import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree

import onnx

import case
import command
import models

ROW = {"name", "root", "is_runtime", "dispatches", "time_us", "p50_us", "share", "flops", "bytes", "gflops", "gbs",
       "percent_of_roofline", "bound_by", "nodes"}
BOUNDS = {"compute", "L1", "L2", "L3", "DRAM", "latency"}
SHAPE = ("--shape", "input_ids=2x16")

# Peak of resident memory beyond what was there before the artifact was loaded.
MEASURE = """
import pathlib, sys
import heddle, models
def resident(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))
artifact, batch, length, weights = sys.argv[1], *map(int, sys.argv[2:])
feeds = models.feeds(["input_ids", "attention_mask"], batch, length)
before = resident("VmRSS")
pathlib.Path("/proc/self/clear_refs").write_text("5")
with heddle.Program(artifact, threads=2, weights=weights) as program:
    for _ in range(3):
        program.run(feeds)
    print(resident("VmHWM") - before)
"""


class ProfileTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Of all exporters TorchScript's alone names nodes by the modules they came from.
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

    def test_memory_is_what_was_said(self):
        for weights, batch, length in (("map", 1, 128), ("copy", 8, 128)):
            with self.subTest(weights=weights, batch=batch, length=length):
                run = command.heddle("inspect", self.minilm(), "--memory", "--threads", "2", "--json", "--weights",
                                     weights, "--shape", f"input_ids={batch}x{length}")
                said = json.loads(run.stdout)["memory"]["host_bytes"]
                arguments = [self.minilm(), str(batch), str(length), str(int(weights == "copy"))]
                folder = os.path.dirname(__file__)
                child = subprocess.run([sys.executable, "-B", "-c", MEASURE, *arguments], text=True,
                                       capture_output=True, env=os.environ | {"PYTHONPATH": folder})
                self.assertEqual(child.returncode, 0, child.stderr)
                # Besides, the interpreter and libraries touch some pages of their own: 2 MB here.
                self.assertLess(abs(int(child.stdout) - said), 0.05 * said + 3e6, f"{child.stdout} against {said}")

    @unittest.skipUnless(os.environ.get("VK_ICD_FILENAMES"), "no Vulkan driver for tests")
    def test_vulkan_has_a_track_and_times_of_its_own(self):
        artifact, trace = self.scratch / "vulkan.heddle", self.scratch / "vulkan.json"
        command.compile_model(self.model, artifact, "--target", "vulkan")
        run = command.heddle("profile", artifact, "--seconds", "0.05", *SHAPE, "--json", "--trace", trace)
        report = json.loads(run.stdout)
        self.check_report(report)
        self.assertEqual(report["device"], "vulkan")
        for row in report["rows"][:-1]:
            self.assertIsNone(row["bound_by"])
            self.assertGreater(row["time_us"], 0)
        self.assertEqual(len(self.check_trace(trace, {"caller", "vulkan"})),
                         sum(row["dispatches"] for row in report["rows"]))
        memory = json.loads(command.heddle("inspect", artifact, "--memory", *SHAPE, "--json").stdout)["memory"]
        self.assertGreater(memory["device_weight_bytes"], 0)
        self.assertGreater(memory["device_arena_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
