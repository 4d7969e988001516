# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs models through heddle-evaluate, many in one process, and compares what comes out."""

import os
import pathlib
import subprocess

import numpy as np

PROGRAM = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"]) / "tests/bin/heddle-evaluate"


def prepare(folder, model, inputs):
    """A job: MODEL's inputs, a list of arrays in the model's order, written under FOLDER."""
    (folder / "inputs").mkdir(parents=True)
    (folder / "outputs").mkdir()
    for index, array in enumerate(inputs):
        # A scalar has no order; ascontiguousarray would make a vector of it.
        np.save(folder / f"inputs/{index}.npy", np.ascontiguousarray(array).reshape(np.shape(array)))
    return f"{model}\t{folder}/inputs\t{folder}/outputs"


def evaluate(folder, jobs, passes=""):
    """Runs JOBS, of which prepare() made each, after PASSES, a pipeline as heddle-opt takes it."""
    (folder / "jobs.txt").write_text("".join(job + "\n" for job in jobs))
    subprocess.run([PROGRAM, folder / "jobs.txt", passes], check=True)


def outputs(folder):
    """The arrays that the job of FOLDER gave, or its error as a text."""
    error = folder / "outputs/error.txt"
    if error.exists():
        return error.read_text().strip()
    return [np.load(folder / f"outputs/{index}.npy") for index in range(len(list((folder / "outputs").iterdir())))]


def difference(actual, expected):
    """max|a - b| / max|b| of floats, equal NaNs and infinities set aside; 0 or inf for integers and bools."""
    if actual.shape != expected.shape:
        return np.inf
    if expected.dtype.kind not in "f":
        return 0.0 if np.array_equal(actual.astype(expected.dtype), expected) else np.inf
    expected = expected.astype(np.float64)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if same.all():
        return 0.0
    if not np.isfinite(actual[~same]).all() or not np.isfinite(expected[~same]).all():
        return np.inf
    return np.abs(actual - expected)[~same].max() / max(np.abs(expected[np.isfinite(expected)]).max(), 1e-30)
