# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tools/bench on its smallest model: the reports have their schema and add up, and nobody is left out in silence. What
the times are is nobody's business here: CI machines are shared."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import unittest
import unittest.mock

import numpy as np

import case
import command
import models

BENCH = models.SOURCE / "tools/bench"
sys.path.append(str(BENCH))
import acceptance  # noqa: E402
import accuracy  # noqa: E402
import catalog  # noqa: E402
import comparison  # noqa: E402
import environment  # noqa: E402
import isa  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import workloads  # noqa: E402

BUILD = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"])
CPU_INFO = pathlib.Path("/proc/cpuinfo").read_text()
LIMITS = {"device", "name", "threads", "f32_gflops", "int8_gops", "l1_gbs", "l2_gbs", "l3_gbs", "cache_gbs",
          "dram_gbs"}


def row_of(**engines):
    """A row as `compare` measures it; microseconds by engine, negative ones of engines that disagree."""
    return {"threads": 1, "flops": 1e6, "engines": {
        name: {"min_us": abs(time), "median_us": 2 * abs(time), "agrees": time > 0} for name, time in engines.items()}}


class BenchTest(case.ArtifactTestCase):
    def run_tool(self, name, *arguments):
        """The table and the JSON report of a tool that succeeds."""
        path = self.scratch / f"{name}.json"
        common = ["--rounds", "2", "--seconds", "0.01", "--build", BUILD, "--scratch", self.scratch / "files",
                  "--python", sys.executable, "--json", path]
        run = subprocess.run([sys.executable, "-B", BENCH / name, *arguments, *common], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout, json.loads(path.read_text())

    def check_machine(self, machine):
        self.assertEqual({name for row in machine["roofline"] for name in row}, LIMITS)
        for row in machine["roofline"]:
            # A level is never slower than the one behind it; every one was measured.
            self.assertGreaterEqual(row["l1_gbs"], row["l2_gbs"])
            self.assertGreaterEqual(row["l3_gbs"], row["dram_gbs"])
            self.assertEqual(row["device"], "cpu")
            self.assertGreater(min(row[limit] for limit in LIMITS - {"device", "name", "cache_gbs"}), 0)
            self.assertIsNone(row["cache_gbs"], "a CPU's caches have names")

    def check_row(self, row, machine, rounds):
        peaks = {limits["threads"]: limits["f32_gflops"] for limits in machine["roofline"]}
        for engine in ("heddle", "onnxruntime"):
            result = row["engines"][engine]
            samples = result["samples_us"]
            self.assertEqual(result["runs"], len(samples))
            self.assertGreaterEqual(len(samples), 3 * rounds)
            self.assertEqual(result["min_us"], min(samples))
            self.assertEqual(result["median_us"], statistics.median(samples))
            self.assertAlmostEqual(result["gflops"], row["flops"] / min(samples) / 1e3)
            if row["threads"] in peaks:
                self.assertAlmostEqual(result["percent_of_peak"], 100 * result["gflops"] / peaks[row["threads"]])
            self.assertTrue(result["agrees"])
            # Sums in other orders, and nothing more.
            self.assertLess(result["max_relative_difference"], 1e-5)
        self.assertEqual(row["best_other"], "onnxruntime")
        ours, other = (row["engines"][engine] for engine in ("heddle", "onnxruntime"))
        self.assertAlmostEqual(row["ratio_min"], ours["min_us"] / other["min_us"])
        self.assertAlmostEqual(row["ratio_median"], ours["median_us"] / other["median_us"])

    def test_compare_adds_up_and_names_who_is_missing(self):
        table, result = self.run_tool("compare", "--models", "tiny", "--lengths", "16", "--batches", "1,8", "--threads",
                                      "1", "--engines", "heddle,onnxruntime,openvino")
        self.assertEqual(result["schema"], "heddle-compare-1")
        self.check_machine(result["machine"])
        self.assertEqual([row["task"] for row in result["rows"]], ["tiny B1 S16 T1", "tiny B8 S16 T1"])
        # Two layers of width 48, four heads, 96 hidden: products of weights, then of attention.
        self.assertEqual(result["rows"][0]["flops"], 2 * 16 * (2 * 4 * 48 * 48 + 2 * 2 * 48 * 96 + 2 * 2 * 48 * 16))
        for row in result["rows"]:
            self.check_row(row, result["machine"], rounds=2)
            self.assertIn(f"| {row['task']} | ", table)
        # The tests' own interpreter has no such package.
        self.assertEqual(list(result["missing"]), ["openvino"])
        self.assertEqual(list(result["versions"]), ["onnxruntime"])
        self.assertIn("- openvino: missing: ", table)

    def test_quantized_twins_have_a_contest_of_their_own(self):
        twins = ["onnxruntime-dynamic", "onnxruntime-static"]
        table, result = self.run_tool("compare", "--models", "tiny", "--lengths", "16", "--batches", "1", "--threads",
                                      "1", "--engines", ",".join(["heddle", "onnxruntime", *twins]))
        row, = result["rows"]
        self.check_row(row, result["machine"], rounds=2)
        for name in twins:
            self.assertTrue(row["engines"][name]["agrees"])
            # Further off than sums in other orders: it is quantised.
            self.assertGreater(row["engines"][name]["max_relative_difference"], 1e-4)
            self.assertIn(f"{100 * row['engines'][name]['max_relative_difference']:.1f} % off", table)
        self.assertEqual(row["quantized"]["best_other"], min(twins, key=lambda name: row["engines"][name]["min_us"]))
        self.assertIsNone(row["quantized"]["ratio_min"])

    def test_engines_are_held_to_an_older_instruction_set(self):
        table, result = self.run_tool("compare", "--models", "tiny", "--lengths", "16", "--batches", "1", "--threads",
                                      "1", "--engines", "heddle,onnxruntime", "--isa", "x86-64-v3")
        self.assertEqual(result["machine"]["held_to"], "x86-64-v3")
        self.assertIn("all engines held to x86-64-v3", table)
        # Heddle asks cpuid as the others do: what it names is what all were shown.
        self.assertIn("avx2", result["machine"]["features"])
        newer = [name for name in result["machine"]["features"] if name.startswith(("avx512", "amx", "avxvnni"))]
        self.assertEqual(newer, [])
        # An engine with AVX-512 all the same would have failed.
        self.check_row(result["rows"][0], result["machine"], rounds=2)

    def build_mask(self):
        library = self.scratch / "cpuid_mask.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, BENCH / "cpuid_mask.c"], check=True)
        return library

    @unittest.skipUnless("avx512f" in CPU_INFO, "only a machine with AVX-512 can run it")
    def test_code_for_avx512_is_found_out(self):
        source, evader = self.scratch / "evader.c", self.scratch / "evader.so"
        source.write_text('void evade(void) { __asm__ volatile("vpternlogd $255, %zmm16, %zmm16, %zmm16"); }\n')
        subprocess.run(["cc", "-mavx512f", "-shared", "-fPIC", "-o", evader, source], check=True)
        script = ("import ctypes, sys; mask, evader = map(ctypes.CDLL, sys.argv[1:]); ask = mask.cpuid_mask_was_evaded;"
                  "print(ask()); evader.evade(); print(ask())")
        run = subprocess.run([sys.executable, "-c", script, self.build_mask(), evader], capture_output=True, text=True,
                             env=os.environ | {"GLIBC_TUNABLES": isa.LIBC_WITHOUT_AVX512}, check=True)
        self.assertEqual(run.stdout.split(), ["0", "1"])

    def test_a_list_of_other_instructions_stops_the_program(self):
        library, sites = self.build_mask(), self.scratch / "sites.txt"
        heddle = BUILD.resolve() / "bin/heddle"
        # Its first bytes are the file's header.
        sites.write_text(f"{heddle.resolve()} 0\n")
        run = subprocess.run([heddle, "devices"], capture_output=True, text=True,
                             env=os.environ | {"LD_AUDIT": str(library), "CPUID_MASK_SITES": str(sites)})
        self.assertEqual(run.returncode, 126)
        self.assertIn("there is no cpuid where one was listed", run.stderr)

    def test_accept_reports_every_bound(self):
        table, result = self.run_tool("accept", "tiny", "--quick", "--engines", "heddle,onnxruntime")
        self.assertEqual((result["schema"], result["suite"]), ("heddle-accept-1", "tiny"))
        self.check_machine(result["machine"])
        self.assertEqual([row["group"] for row in result["bounds"]],
                         ["ratios"] * 2 + ["attention"] + ["runtime"] * 6 + ["compile"] * 2)
        for row in result["bounds"]:
            self.assertIsNotNone(row["value"], row["name"])
            holds = row["value"] <= row["bound"] if row["direction"] == "at most" else row["value"] >= row["bound"]
            self.assertEqual(row["pass"], holds)
            self.assertIn(row["name"], table)
        self.assertEqual((result["passed"], result["missed"]), (len(result["bounds"]), 0))
        for row in result["comparison"]["rows"]:
            self.check_row(row, result["machine"], rounds=2)

    def test_accept_vulkan_reports_every_bound(self):
        table, result = self.run_tool("accept", "tiny-vulkan", "--quick")
        self.assertEqual([row["group"] for row in result["bounds"]], ["dispatch"])
        for row in result["bounds"]:
            self.assertIsNotNone(row["value"], row["name"])
            self.assertTrue(row["pass"], row["name"])
            self.assertIn(row["name"], table)

    def test_accept_int8_reports_every_bound(self):
        table, result = self.run_tool("accept", "tiny-int8", "--quick", "--engines", "heddle,onnxruntime")
        self.assertEqual([row["group"] for row in result["bounds"]], ["accuracy", "ratios", "ratios", "size"])
        for row in result["bounds"]:
            self.assertIsNotNone(row["value"], row["name"])
            self.assertTrue(row["pass"], row["name"])
            self.assertIn(row["name"], table)
        compared, = result["comparison"]["rows"]
        self.assertIn("onnxruntime-static", compared["engines"])
        error, ratio, own, size = (row["value"] for row in result["bounds"])
        self.assertEqual(error, 100 * compared["engines"]["heddle-w8a8"]["max_relative_difference"])
        self.assertEqual([ratio, own], [compared["quantized"][name] for name in ("ratio_min", "ratio_to_f32")])
        files = self.scratch / "files"
        quantized, plain = (files / f"{name}.heddle" for name in ("tiny--quantizew8a8", "tiny"))
        self.assertEqual(size, quantized.stat().st_size / plain.stat().st_size)

    def test_embeddings_are_judged_by_neighbours_and_ranks(self):
        angles = np.array([0.0, 0.1, 0.35, 0.8, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 0.2])
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        # The first four are documents; the last sentence lies alone, far from those of its label.
        texts = accuracy.Texts([], 4, np.array([6.0, 4.0, 1.0, 5.0, 2.0, 3.0]), np.array([0, 0, 0, 0, 0, 0, 1, 1]))
        self.assertEqual(accuracy.neighbour_accuracy(vectors, texts), 100 * 6 / 8)
        distances = angles[[1, 2, 3, 2, 3, 3]] - angles[[0, 0, 0, 1, 1, 2]]
        expected = np.corrcoef(accuracy.ranks(-distances), accuracy.ranks(texts.human))[0, 1]
        self.assertAlmostEqual(accuracy.spearman(vectors, texts), expected)
        self.assertEqual(accuracy.ranks(np.array([3.0, 1.0, 3.0])).tolist(), [1.5, 0, 1.5])

    def test_a_bound_that_nobody_measured_is_missed(self):
        for direction in (acceptance.AT_MOST, acceptance.AT_LEAST):
            self.assertFalse(acceptance.Bound("", "", None, "", direction, 1).holds)
        self.assertTrue(acceptance.Bound("", "", 1, "", acceptance.AT_MOST, 1).holds)
        self.assertFalse(acceptance.Bound("", "", 0.9, "", acceptance.AT_LEAST, 1).holds)

    def test_engines_with_other_numbers_are_no_rivals(self):
        machine = {"roofline": [{"threads": 1, "f32_gflops": 10}]}
        row = report.complete(row_of(heddle=100, onnxruntime=200, iree=-50), machine)
        self.assertEqual((row["best_other"], row["ratio_min"]), ("onnxruntime", 0.5))
        self.assertEqual(row["engines"]["heddle"]["percent_of_peak"], 100)
        alone = report.complete(row_of(heddle=100, iree=-50), machine)
        self.assertEqual((alone["best_other"], alone["ratio_min"]), (None, None))

    def test_quantized_engines_are_no_rivals_of_f32(self):
        machine = {"roofline": []}
        row = report.complete(row_of(**{"heddle": 100, "heddle-w8a8": 60, "onnxruntime": 200, "onnxruntime-dynamic": 80,
                                        "openvino-static": -40}), machine)
        self.assertEqual((row["best_other"], row["ratio_min"]), ("onnxruntime", 0.5))
        expected = {"best_other": "onnxruntime-dynamic", "ratio_min": 0.75, "ratio_median": 0.75, "ratio_to_f32": 0.6}
        self.assertEqual(row["quantized"], expected)
        self.assertIsNone(report.complete(row_of(heddle=100, onnxruntime=200), machine)["quantized"])

    def test_quantized_engines_have_no_say_in_what_is_right(self):
        right = np.array([1.0, 2.0])
        outputs = {"heddle": right, "heddle-w8a8": right + 0.02, "onnxruntime-dynamic": right + 0.02,
                   "ctranslate2-int8": right + 0.02}
        apart = rounds.differences(outputs)
        self.assertEqual(apart["heddle"], 0)
        self.assertAlmostEqual(apart["heddle-w8a8"], 0.01)
        self.assertTrue(rounds.agrees(apart["heddle-w8a8"], "heddle-w8a8"))
        self.assertFalse(rounds.agrees(apart["heddle-w8a8"], "heddle"))

    def test_the_majority_says_what_is_right(self):
        right, wrong = np.array([1.0, 2.0]), np.array([1.0, 2.5])
        outputs = {"heddle": right, "onnxruntime": wrong, "openvino": right + 1e-7, "iree": np.array([np.nan, 2.0]),
                   "torch": right[:1]}
        apart = rounds.differences(outputs)
        self.assertEqual({name for name in outputs if rounds.agrees(apart[name])}, {"heddle", "openvino"})
        self.assertEqual(apart["openvino"], 0)
        self.assertAlmostEqual(apart["onnxruntime"], 0.25, 5)
        self.assertEqual((apart["iree"], apart["torch"]), (None, None))
        # Heddle is no witness of its own case: two that differ leave the other one right.
        self.assertEqual(rounds.differences({"heddle": right, "onnxruntime": wrong})["onnxruntime"], 0)

    def test_an_engine_that_dies_costs_only_its_own_times(self):
        names = ["heddle", "onnxruntime"]
        settings = comparison.Settings(sys.executable, BUILD, names, 2, 0.01, self.scratch / "files")
        take_turn = rounds.Worker.take_turn

        def kill_onnxruntime(worker, seconds):
            if "onnxruntime" in str(worker.result) and worker.samples:
                worker.process.kill()
                worker.process.wait()
            return take_turn(worker, seconds)

        with unittest.mock.patch.object(rounds.Worker, "take_turn", kill_onnxruntime):
            engines = comparison.measure(workloads.Task("tiny", 1, 16, 1), settings)["engines"]
        self.assertEqual(engines["onnxruntime"], {"failure": "ended with status -9"})
        self.assertTrue(engines["heddle"]["agrees"])
        self.assertEqual(engines["heddle"]["runs"], len(engines["heddle"]["samples_us"]))

    def test_every_engine_has_its_packages(self):
        for engine, requirements in environment.parts().items():
            self.assertIn(engine, (environment.BASE, "nncf", *catalog.ENGINES, *catalog.VULKAN))
            names = [line for line in requirements.splitlines() if line and not line.startswith("#")]
            self.assertTrue(names and all("==" in name for name in names), engine)

    def test_bench_states_the_share_of_the_roofline(self):
        artifact = self.scratch / "bench.heddle"
        self.run_tool("compare", "--models", "tiny", "--lengths", "16", "--batches", "1", "--threads", "1", "--engines",
                      "heddle,onnxruntime")
        command.compile_model(self.scratch / "files/tiny.onnx", artifact)
        run = command.heddle("bench", artifact, "--seconds", "0.01", "--threads", "1", "--json")
        result = json.loads(run.stdout)
        self.check_machine(result["machine"])
        self.assertEqual([limits["threads"] for limits in result["machine"]["roofline"]], [1])
        # A lower bound on time: nothing runs faster than the machine, but for what its limits missed under other load.
        self.assertGreater(result["rows"][0]["percent_of_roofline"], 0)


if __name__ == "__main__":
    unittest.main()
