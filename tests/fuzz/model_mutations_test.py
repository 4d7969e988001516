# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damaged model files and artifacts never crash anything: whatever bytes change, the command ends with an exit code
that it documents, and that isn't the one for a bug of ours.

Mutations are seeded, so a failure repeats; it prints the seed. HEDDLE_FUZZ_RUNS asks for more of them.
"""

import os
import pathlib
import random
import subprocess
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

HEDDLE = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"]) / "bin/heddle"
SHARED = pathlib.Path(os.environ["HEDDLE_SHARED_DIR"])
RUNS = int(os.environ.get("HEDDLE_FUZZ_RUNS", "60"))
MODELS = ("bert.ts-eager", "distilbert.dynamo-sdpa", "vit.ts-sdpa")
# Fine, wrong usage, not supported, device, bad file; never 70 and never a signal.
DOCUMENTED = (0, 2, 3, 4, 5)


def mutate(data, source):
    """DATA with a few bytes changed, cut out or doubled. Most structure lies outside the weights, near both ends."""
    data = bytearray(data)
    for _ in range(source.randint(1, 6)):
        place = source.choice([source.randrange(len(data)), source.randrange(min(4096, len(data))),
                               max(0, len(data) - 1 - source.randrange(30000))])
        kind = source.randrange(4)
        if kind == 0:
            data[place] = source.randrange(256)
        elif kind == 1:
            data[place] ^= 1 << source.randrange(8)
        elif kind == 2:
            del data[place:place + source.randint(1, 64)]
        else:
            data[place:place] = data[place:place + source.randint(1, 64)]
    return bytes(data)


class MutationsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="heddle-fuzz-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        if not (SHARED / "models").is_dir():
            if os.environ.get("CI"):
                self.fail(f"no models in {SHARED / 'models'}")
            self.skipTest(f"no models in {SHARED / 'models'}")

    def attempt(self, data, seed, suffix, *arguments):
        """Exit code of the command on a mutation of DATA; {} among the arguments stands for the file."""
        path = self.scratch / f"{seed}{suffix}"
        path.write_bytes(mutate(data, random.Random(seed)))
        command = [HEDDLE, *(str(path) if argument == "{}" else argument for argument in arguments)]
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
        path.unlink()
        return seed, run.returncode, run.stderr

    def hold(self, data, suffix, *arguments):
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            seeds = range(RUNS)
            for seed, code, errors in pool.map(lambda seed: self.attempt(data, seed, suffix, *arguments), seeds):
                self.assertIn(code, DOCUMENTED, f"seed {seed}: {errors[-2000:]}")
                if code:
                    self.assertRegex(errors, r"error\[H\d{4}\]", f"seed {seed}")

    def test_damaged_models_are_refused_or_compiled(self):
        for name in MODELS:
            with self.subTest(model=name):
                data = (SHARED / "models" / name / "model.onnx").read_bytes()
                self.hold(data, ".onnx", "compile", "{}", "-o", str(self.scratch / "out.heddle"))

    def test_damaged_artifacts_are_refused_or_described(self):
        # Described only: an artifact that still looks intact holds code, and changed code may do anything.
        model, artifact = SHARED / "models" / MODELS[0] / "model.onnx", self.scratch / "whole.heddle"
        subprocess.run([HEDDLE, "compile", model, "-o", artifact], check=True, capture_output=True)
        self.hold(artifact.read_bytes(), ".heddle", "inspect", "{}")


if __name__ == "__main__":
    unittest.main()
