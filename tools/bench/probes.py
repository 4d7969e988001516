# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measurements of Heddle alone that `accept` needs: threads, loading, memory, compiling, dispatches, kernels."""

import dataclasses
import json
import pathlib
import re
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import engines
import isa
import rounds
import workloads

POLL_SECONDS = 0.02
STARTS = 5
MB = 1e6


def alternate(settings, jobs, engine="heddle"):
    """Workers of Heddle, on the CPU or as ENGINE says, on JOBS by name, timed turn by turn and closed."""
    workers = {}
    for name, job in jobs.items():
        path = settings.scratch / f"probe-{name}.json"
        path.write_text(json.dumps(job))
        workers[name] = rounds.Worker(settings.python, engine, job, path)
        if workers[name].failure:
            raise SystemExit(f"{engine} fails on {name}: {workers[name].failure}")
    for _ in range(settings.rounds):
        for name, worker in workers.items():
            if not worker.take_turn(settings.seconds):
                raise SystemExit(f"{engine} fails on {name}: {worker.failure}")
    for worker in workers.values():
        worker.close()
    return workers


def job_of(task, settings):
    return {**workloads.prepare(task, settings.scratch), "build": str(settings.build)}


def scaling(model, length, settings):
    """Least microseconds of MODEL on one thread and on two, in turns."""
    jobs = {str(threads): job_of(workloads.Task(model, 1, length, threads), settings) for threads in (1, 2)}
    workers = alternate(settings, jobs)
    return [min(workers[name].samples) for name in jobs]


def beginning(model, length, settings):
    """Milliseconds of loading and microseconds of the first run on two threads; the least of several processes."""
    job = job_of(workloads.Task(model, 1, length, 2), settings)
    facts = [alternate(dataclasses.replace(settings, rounds=0), {"start": job})["start"].facts for _ in range(STARTS)]
    return min(fact["load_s"] for fact in facts) * 1e3, min(fact["first_s"] for fact in facts) * 1e6


def resident_beside(pid, path):
    """Bytes of resident memory of process PID that aren't the mapping of PATH."""
    total, is_other = 0, True
    for line in pathlib.Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            is_other = not line.endswith(str(path))
        elif line.startswith("Rss:") and is_other:
            total += int(line.split()[1]) * 1024
    return total


def warm_memory(artifact, settings):
    """Megabytes that a warm process of `heddle bench` takes beside the mapped artifact, at its default shape."""
    seconds = 4
    process = subprocess.Popen([settings.build / "bin/heddle", "bench", artifact, "--seconds", str(seconds)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    # In the middle of its measuring: before that it may not be warm, after it the roofline takes memory of its own.
    time.sleep(seconds / 2)
    result = resident_beside(process.pid, artifact.resolve())
    process.wait()
    return result / MB


def compiling(model, artifact, settings):
    """Seconds of compiling MODEL and the most anonymous memory in megabytes."""
    begin, most = time.perf_counter(), 0
    process = subprocess.Popen(engines.heddle_command(settings.build, model, artifact), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while process.poll() is None:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        found = re.search(r"RssAnon:\s+(\d+) kB", status)  # gone once it ends
        most = max(most, int(found.group(1)) * 1024 if found else 0)
        time.sleep(POLL_SECONDS)
    if process.returncode:
        raise SystemExit(f"heddle compile {model} exits with {process.returncode}")
    return time.perf_counter() - begin, most / MB


def chain_model(path, count, rows, width):
    """Writes COUNT products of (rows, width) by square matrices, one after the other: a dispatch each. Returns the
    matrices."""
    random, nodes, matrices = np.random.default_rng(0), [], []
    for i in range(count):
        # Orthogonal, so that values keep their size through the chain.
        matrices.append(np.linalg.qr(random.standard_normal((width, width)))[0].astype(np.float32))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"x{i + 1}"], name=f"product{i}"))
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, width]) for name in ("x0", f"x{count}")]
    constants = [numpy_helper.from_array(matrix, f"w{i}") for i, matrix in enumerate(matrices)]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return matrices


def dispatch_microseconds(count, rows, width, settings):
    """Least microseconds of each product of a chain, on one thread and two, in turns."""
    model = settings.scratch / f"chain-{count}x{rows}x{width}.onnx"
    chain_model(model, count, rows, width)
    feeds = model.with_suffix(".npz")
    np.savez(feeds, x0=np.ones((rows, width), np.float32))
    form = {"model": str(model), "feeds": str(feeds), "layout": "BNSD"}
    jobs = {f"chain-{threads}": {"task": {"threads": threads, "batch": 1, "length": 0}, "forms": {"onnx": form},
                                 "output": f"x{count}", "folder": str(settings.scratch), "build": str(settings.build)}
            for threads in (1, 2)}
    workers = alternate(settings, jobs)
    return [min(workers[name].samples) / count for name in jobs]


def kernels(names, settings, repetitions):
    """Rows of heddle-kernel-bench for the cases NAMES, by full name; best repetition. On all targets of this machine,
    or on the one that all is held to."""
    pattern = "|".join(re.escape(name) for name in names)
    target = f"^{isa.held()}" if isa.held() else ""
    program = settings.build / "bin/heddle-kernel-bench"
    if not program.exists():
        raise SystemExit(f"there is no {program}: tools/dev/build release heddle-kernel-bench")
    run = subprocess.run([program, f"--benchmark_filter={target}/({pattern})/iterations",
                          f"--benchmark_repetitions={repetitions}", "--benchmark_format=json"],
                         capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"heddle-kernel-bench exits with {run.returncode}: {run.stderr[-400:]}")
    best = {}
    # It prints nothing at all where no case has such a name.
    for row in json.loads(run.stdout or '{"benchmarks": []}')["benchmarks"]:
        if row["run_type"] != "iteration":
            continue
        name = row["name"].split("/iterations")[0]
        if name not in best or row["percent"] > best[name]["percent"]:
            best[name] = row
    return best
