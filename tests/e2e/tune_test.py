# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`heddle tune` from a model to a file and back, killed, interrupted, and on a device without compiler. What is faster
is nobody's business here; that a candidate which crashes costs only itself is in tests/golden/tune.golden."""

import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

import case
import command
import models

PATIENCE = 120
FIELDS = {"heddle_tuning", "device", "signature", "rows", "config", "ratio", "pairs", "producer"}


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class TuneTest(case.ArtifactTestCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # What the user of this machine has tuned is nothing to a test.
        os.environ["XDG_CONFIG_HOME"] = str(cls.scratch / "config")
        cls.model = models.exports()[0]
        # All runs start from a file, whose kernel the model doesn't have.
        cls.known = cls.scratch / "known.tuning.jsonl"
        cls.known.write_text(json.dumps(cls.line()) + "\n")

    @staticmethod
    def line():
        device = json.loads(command.heddle("devices", "--json").stdout)["devices"][0]["tuning_device"]
        return {"heddle_tuning": 1, "device": device, "signature": "f32_contract_x", "rows": "1", "config": {"a": 1},
                "ratio": 0.9, "pairs": 21, "producer": "heddle 0.0.1"}

    def arguments(self, output, seconds):
        return ["tune", self.model, "-o", output, "--time", f"{seconds}s", "--shape", "input_ids=2x5",
                "--tuning", self.known]

    def start(self, output, seconds, ratios):
        """A tuning run that has measured at least RATIOS pairs."""
        run = subprocess.Popen([command.HEDDLE, *map(str, self.arguments(output, seconds))], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        journal = pathlib.Path(f"{output}.work/journal.jsonl")
        deadline = time.monotonic() + PATIENCE
        while not journal.exists() or journal.read_text().count('"ratio"') < ratios:
            self.assertIsNone(run.poll(), run.stderr.read() if run.poll() is not None else "")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        return run

    def check_file(self, path, run):
        """Holds the file at PATH of the finished RUN, whose folder stays where time ran out."""
        device = json.loads(command.heddle("devices", "--json").stdout)["devices"][0]["tuning_device"]
        for line in lines_of(path):
            self.assertEqual(set(line), FIELDS)
            self.assertEqual(line["device"], device)
            self.assertLess(line["ratio"], 0.98)
            self.assertGreaterEqual(line["pairs"], 15)
        ran_out = "time ran out for" in run.stderr
        self.assertEqual(pathlib.Path(f"{path}.work").exists(), ran_out)
        self.assertEqual("out of time" in run.stdout, ran_out)

    def test_a_model_is_tuned_and_computes_the_same_with_it(self):
        path = self.scratch / "tuned.tuning.jsonl"
        run = command.heddle(*self.arguments(path, 10))
        self.assertRegex(run.stdout, r"kernel +rows +share_% ")
        self.assertIn(f"in {path}", run.stdout)
        self.check_file(path, run)
        tuned = command.compile_model(self.model, self.scratch / "tuned.heddle", "--tuning", path)
        outputs = [command.heddle("run", artifact, "--shape", "input_ids=2x5").stdout
                   for artifact in (tuned, self.artifact(self.model))]
        self.assertEqual(*outputs)

    def test_a_killed_run_goes_on_where_it_ended(self):
        path = self.scratch / "killed.tuning.jsonl"
        run = self.start(path, 60, 5)
        run.kill()
        run.communicate()
        journal = pathlib.Path(f"{path}.work/journal.jsonl")
        self.assertFalse(path.exists())
        # Its child has gone with it: nobody writes any more.
        before = journal.read_bytes()
        measured = before.count(b'"ratio"')
        # As if it had been killed in the midst of a line.
        journal.write_bytes(before[:-7])
        again = command.heddle(*self.arguments(path, 5))
        self.assertIn("dropped the last line, which is half-written", again.stderr)
        self.assertIn(f"going on with {measured - 1} measurements of an earlier run", again.stderr)
        self.assertNotIn("making candidates", again.stderr)
        self.check_file(path, again)

    def test_an_interrupted_run_keeps_what_it_has(self):
        path = self.scratch / "interrupted.tuning.jsonl"
        run = self.start(path, 60, 3)
        run.send_signal(signal.SIGINT)
        output, errors = run.communicate(timeout=PATIENCE)
        self.assertEqual(run.returncode, 0, errors)
        self.assertIn("interrupted; the same command goes on from here", errors)
        self.assertIn(f"in {path}", output)
        self.assertTrue(path.exists())

    def test_candidates_are_measured_where_no_compiler_is(self):
        artifact, path = self.scratch / "candidates.heddle", self.scratch / "measured.tuning.jsonl"
        command.heddle("tune", self.model, "--export-candidates", artifact, "--shape", "input_ids=2x5")
        os.environ["HEDDLE_COMPILER_LIBRARY"] = "/nowhere.so"
        self.addCleanup(os.environ.pop, "HEDDLE_COMPILER_LIBRARY")
        run = command.heddle("tune", "--measure", artifact, "-o", path, "--time", "5s")
        self.assertIn("the whole model was not compared", run.stderr)
        self.check_file(path, run)

    def test_a_line_for_the_same_kernel_replaces_the_older_one(self):
        old = self.line()
        others = [old | {"rows": "2-4"}, old | {"device": {"kind": "vulkan"}}]
        files = [self.scratch / name for name in ("a", "b")]
        files[0].write_text("".join(json.dumps(line) + "\n" for line in [old, others[0]]))
        files[1].write_text("".join(json.dumps(line) + "\n" for line in [others[1], old | {"config": {"a": 2}}]))
        merged = self.scratch / "c"
        command.heddle("tune", "--merge", *files, "-o", merged)
        self.assertCountEqual(lines_of(merged), [old | {"config": {"a": 2}}, *others])
        # Merging again changes nothing, in whatever order files without common lines come.
        again = self.scratch / "d"
        command.heddle("tune", "--merge", merged, "-o", again)
        self.assertEqual(again.read_bytes(), merged.read_bytes())


if __name__ == "__main__":
    unittest.main()
