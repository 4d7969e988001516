#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times Heddle and onnxruntime on one model in one interleaved run.

    build/python/bin/python3 tools/bench/peers.py MODEL.onnx MODEL.heddle --batch 1 --length 128 --threads 2

Each engine lives in a process of its own and rounds alternate, so that neither's threads disturb the other's turn and
a slow minute of the machine falls on both. Prints, per engine, the smallest, the median and the largest median of a
round. Token ids are random, masks are ones; `heddle bench` makes Heddle's inputs of the same shapes.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKER = "--worker"


def onnxruntime_worker(model, batch, length, threads):
    """Reads seconds from standard input, line by line; answers each with a median time in microseconds."""
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(0)
    feeds = {}
    for value in session.get_inputs():
        make = (lambda shape: random.integers(5, 1000, shape)) if "ids" in value.name else numpy.ones
        feeds[value.name] = make((batch, length)).astype(numpy.int64)
        if "type" in value.name:
            feeds[value.name][:] = 0
    for line in sys.stdin:
        samples, end = [], time.perf_counter() + float(line)
        while time.perf_counter() < end:
            begin = time.perf_counter()
            session.run(None, feeds)
            samples.append(time.perf_counter() - begin)
        print(statistics.median(samples) * 1e6, flush=True)


def heddle_round(arguments, inputs):
    """The median of one round of `heddle bench`."""
    shapes = [f"--shape={name}={arguments.batch}x{arguments.length}" for name in inputs]
    run = subprocess.run(
        [ROOT / "build/release/bin/heddle", "bench", arguments.artifact, *shapes, "--threads", str(arguments.threads),
         "--seconds", str(arguments.seconds), "--json"], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)["rows"][0]["p50_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("artifact")
    for name, default in (("batch", 1), ("length", 128), ("threads", 2), ("rounds", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=0.5, help="of measuring, per engine and round")
    parser.add_argument(WORKER, action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        onnxruntime_worker(arguments.model, arguments.batch, arguments.length, arguments.threads)
        return
    import onnx

    graph = onnx.load(arguments.model, load_external_data=False).graph
    inputs = [value.name for value in graph.input]
    worker = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], WORKER], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    results = {"heddle": [], "onnxruntime": []}
    for _ in range(arguments.rounds):
        results["heddle"].append(heddle_round(arguments, inputs))
        worker.stdin.write(f"{arguments.seconds}\n")
        worker.stdin.flush()
        results["onnxruntime"].append(float(worker.stdout.readline()))
    worker.stdin.close()
    worker.wait()
    for engine, medians in results.items():
        print(f"{engine:12} min {min(medians):9.0f} us   median {statistics.median(medians):9.0f} us   "
              f"max {max(medians):9.0f} us")
    ratio = statistics.median(results["onnxruntime"]) / statistics.median(results["heddle"])
    print(f"onnxruntime takes {ratio:.2f} times as long")


if __name__ == "__main__":
    main()
