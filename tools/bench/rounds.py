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

import catalog

# Waiting threads of the engine whose turn it was spin for some milliseconds before they sleep.
SETTLE_SECONDS = 0.05
# Engines sum in different orders: more than this and they don't compute the same.
AGREEMENT = 1e-3
# What INT8 loses is reported. Speed bought with more than this, six times what Heddle promises, is another bargain.
QUANTIZED_AGREEMENT = 0.1


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


def distance(output, reference):
    """max|a-b| / max|b|, or None where shapes differ or either has a number that isn't finite."""
    if output.shape != reference.shape:
        return None
    apart = np.abs(output - reference).max() / (np.abs(reference).max() or 1.0)
    return float(apart) if np.isfinite(apart) else None


def agrees(apart, engine=None):
    """Whether a distance is what ENGINE may have: a quantised one may be further off."""
    return apart is not None and apart <= (QUANTIZED_AGREEMENT if engine in catalog.QUANTIZED else AGREEMENT)


def differences(outputs):
    """Each output's distance from the one that most others agree with; the first of these that isn't Heddle's. What is
    quantised has no say where anything else is there."""
    voters = {name: output for name, output in outputs.items() if name not in catalog.QUANTIZED} or outputs
    supporters = {name: sum(agrees(distance(other, output)) for other in voters.values())
                  for name, output in voters.items()}
    reference = max(voters, key=lambda name: (supporters[name], not catalog.is_ours(name)))
    return {name: distance(output, outputs[reference]) for name, output in outputs.items()}


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
    apart = differences({name: worker.output() for name, worker in workers.items()}) if workers else {}
    for name, worker in workers.items():
        results[name] = {**worker.facts, "runs": len(worker.samples), "min_us": min(worker.samples),
                         "median_us": statistics.median(worker.samples), "samples_us": worker.samples,
                         "max_relative_difference": apart[name], "agrees": agrees(apart[name], name)}
    return {name: results[name] for name in names}
