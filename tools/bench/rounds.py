# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rounds of several engines on one task: each engine in a process of its own, turn by turn, all samples pooled alike.

A slow minute of the machine so falls on every engine, and no engine's waiting threads disturb another's turn.
"""

import json
import pathlib
import statistics
import subprocess
import time

import numpy as np

# Waiting threads of the engine whose turn it was spin for some milliseconds before they sleep.
SETTLE_SECONDS = 0.05
# Engines sum in different orders: more than this and they don't compute the same.
AGREEMENT = 1e-3


class Worker:
    """An engine's process on one task."""

    def __init__(self, python, engine, job, job_path):
        self.result = pathlib.Path(f"{job_path}.{engine}.npy")
        self.result.unlink(missing_ok=True)
        self.errors = pathlib.Path(f"{job_path}.{engine}.log")
        self.samples = []
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [python, "-B", pathlib.Path(__file__).with_name("worker.py"), engine, job_path, self.result],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        answer = self.process.stdout.readline()
        self.facts = json.loads(answer) if answer else None

    @property
    def failure(self):
        """The last words of a process that died, else None."""
        if self.facts is not None and self.process.poll() is None:
            return None
        self.process.wait()
        lines = self.errors.read_text().strip().splitlines()
        return lines[-1][:300] if lines else f"ended with status {self.process.returncode}"

    def take_turn(self, seconds):
        """Adds the samples of one turn; whether the process lived through it."""
        time.sleep(SETTLE_SECONDS)
        try:
            self.process.stdin.write(f"{seconds}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return False
        answer = self.process.stdout.readline()
        self.samples += json.loads(answer) if answer else []
        return bool(answer)

    def output(self):
        return np.load(self.result).astype(np.float64)

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it died before it read its last turn
        self.process.stdout.close()
        self.process.wait()


def differences(workers):
    """max|a-b| / max|b| of each output, b the first one that isn't Heddle's, or the only one."""
    others = [name for name in workers if not name.startswith("heddle")]
    reference = workers[(others or list(workers))[0]].output()
    scale = np.abs(reference).max() or 1.0
    result = {}
    for name, worker in workers.items():
        output = worker.output()
        result[name] = (float(np.abs(output - reference).max() / scale) if output.shape == reference.shape
                        else float("inf"))
    return result


def run(python, names, job, rounds, seconds):
    """Times the engines NAMES on JOB; their results by name, as the JSON report has them."""
    job_path = pathlib.Path(job["folder"]) / "job.json"
    job_path.write_text(json.dumps(job))
    workers, results = {}, {}
    for name in names:
        worker = Worker(python, name, job, job_path)
        if worker.failure:
            results[name] = {"failure": worker.failure}
            worker.close()
        else:
            workers[name] = worker
    for _ in range(rounds):
        for name, worker in list(workers.items()):
            if not worker.take_turn(seconds):
                # An engine that dies half-way is reported with its reason, and the others go on.
                results[name] = {"failure": worker.failure}
                workers.pop(name).close()
    for worker in workers.values():
        worker.close()
    apart = differences(workers) if workers else {}
    for name, worker in workers.items():
        results[name] = {**worker.facts, "runs": len(worker.samples), "min_us": min(worker.samples),
                         "median_us": statistics.median(worker.samples), "samples_us": worker.samples,
                         "max_relative_difference": apart[name], "agrees": apart[name] <= AGREEMENT}
    return {name: results[name] for name in names}
