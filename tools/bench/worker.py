# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One engine on one task, in a process of its own: `worker.py ENGINE JOB.json RESULT.npy`.

Loads the model, in each form that the engine may take, and keeps the fastest; then says so in one line of JSON. Every
line "SECONDS" on standard input is answered by a line of JSON with the microseconds of each run in that time. All
engines warm up in the same way: other engines have had the caches in between.
"""

import json
import os
import sys
import time

import numpy as np

import catalog
import isa

LEAST_RUNS = 3
WARM_UP = 0.1  # of the seconds to measure


def run_for(run, seconds):
    """Runs for SECONDS and at least LEAST_RUNS times; microseconds of each."""
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < LEAST_RUNS or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        samples.append((time.perf_counter() - begin) * 1e6)
    return samples


def load_fastest(engine, job):
    """The engine's fastest form with its name, first run in seconds and output."""
    best, failures = None, []
    names = {id(form): name for name, form in job["forms"].items()}
    for form in catalog.forms_for(engine, job):
        try:
            loaded = catalog.load(engine, job, form, dict(np.load(form["feeds"])))
            begin = time.perf_counter()
            output = loaded.run()
            first_s = time.perf_counter() - begin
            output = np.array(output, copy=True)
            least = min(run_for(loaded.run, 0.0))
            isa.check_held()
        except Exception as error:  # the engine's own: whatever it says is the reason
            failures.append(f"{names[id(form)]}: {type(error).__name__}: {error}"[:300])
            continue
        if best is None or least < best[0]:
            best = (least, loaded, names[id(form)], form, first_s, output)
    if best is None:
        raise SystemExit("; ".join(failures))
    return best[1:], failures


def main():
    engine, job_path, result_path = sys.argv[1:]
    job = json.load(open(job_path))
    # Answers go where standard output leads; what an engine prints goes to standard error.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    (loaded, name, form, first_s, output), failures = load_fastest(engine, job)
    if form["layout"] == "BSND":
        batch, length, _ = output.shape
        heads = np.load(job["forms"]["attention23"]["feeds"])["query"].shape[1]
        output = output.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3)
    np.save(result_path, output)
    print(json.dumps({"form": name, "load_s": loaded.load_s, "first_s": first_s, "compile_s": loaded.compile_s,
                      "failures": failures}), file=answers)
    for line in sys.stdin:
        run_for(loaded.run, float(line) * WARM_UP)
        print(json.dumps(run_for(loaded.run, float(line))), file=answers)


if __name__ == "__main__":
    main()
