# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`accept tune`: how far `heddle tune` comes from slow starts, whether it finds gains that aren't there, and what an
exhaustive search finds that it doesn't. Times are ratios of pairs of runs in turns, on this machine and these
threads."""

import dataclasses
import json
import random
import statistics
import subprocess

import numpy as np

import candidates
import comparison
import workloads
from acceptance import AT_LEAST, AT_MOST, Bound

SLOW, AS_BEFORE, EXHAUSTIVE = 1.5, 1.03, 1.05
PAIRS = 31
# Of a kernel: more than a search of minutes tries, so that some are slow.
CANDIDATES = 64


@dataclasses.dataclass
class Plan:
    """What the suite looks at: MODEL at LENGTH on the CPU, tuned for SECONDS from each of SEEDS."""
    model: str
    length: int
    threads: int
    seeds: int
    seconds: int
    kernels: int        # that are searched exhaustively
    vulkan_model: str | None
    slow: float = SLOW  # that a start must be
    bound: float = AS_BEFORE
    exhaustive: float = EXHAUSTIVE


TUNE = Plan(model="bert-base", length=128, threads=2, seeds=5, seconds=300, kernels=3, vulkan_model="minilm-l3")
# A test of this tool: small enough, and with bounds that say nothing.
TINY = Plan(model="tiny", length=16, threads=1, seeds=1, seconds=10, kernels=1, vulkan_model=None, slow=0, bound=1e6,
            exhaustive=1e6)


class Bench:
    """A model's artifacts and runs of `heddle`, for one device."""

    def __init__(self, plan, settings, model, device):
        self.plan, self.settings, self.device = plan, settings, device
        self.folder = settings.scratch / f"tune-{device}"
        self.folder.mkdir(parents=True, exist_ok=True)
        job = workloads.prepare(workloads.Task(model, 1, plan.length, plan.threads), settings.scratch)
        form = job["forms"]["onnx"]
        self.model, self.output = form["model"], job["output"]
        self.feeds = dict(np.load(form["feeds"]))
        self.shapes = [option for name, array in self.feeds.items()
                       for option in ("--shape", f"{name}={'x'.join(map(str, array.shape))}")]
        devices = json.loads(self.heddle("devices", "--json"))["devices"]
        self.fingerprint = next(found["tuning_device"] for found in devices
                                if found["name"].split(":")[0] == device and not found["problem"])
        if device == "cpu":
            self.fingerprint["threads"] = plan.threads

    def heddle(self, *arguments):
        run = subprocess.run([self.settings.build / "bin/heddle", *map(str, arguments)], capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"heddle {' '.join(map(str, arguments))}: {run.stderr.strip()[-600:]}")
        return run.stdout

    def compile(self, name, *tunings):
        """A function that runs the model once, with tiles of TUNINGS alone or of the table."""
        artifact = self.folder / f"{name}.heddle"
        options = [option for path in tunings for option in ("--tuning", path)] or ["--no-tuning"]
        self.heddle("compile", self.model, "-o", artifact, "--target", self.device, *options)
        program = candidates.load(self.settings.build, artifact, self.plan.threads, self.device)
        run = program.bind(self.feeds, self.output)
        run()
        return run

    def export(self):
        """An artifact with candidates for the model, and its groups."""
        artifact = self.folder / "candidates.heddle"
        self.heddle("tune", self.model, "--export-candidates", artifact, "--target", self.device, "--candidates",
                    CANDIDATES, "--no-tuning", *self.shapes)
        return artifact, candidates.groups(self.settings.build, artifact)

    def tune(self, name, seconds, *tunings):
        """The file that tuning from TUNINGS, or the table, finds."""
        path = self.folder / f"{name}.tuning.jsonl"
        path.unlink(missing_ok=True)
        options = [option for tuning in tunings for option in ("--tuning", tuning)] or ["--no-tuning"]
        print(self.heddle("tune", self.model, "-o", path, "--time", f"{seconds}s", "--device", self.device, "--threads",
                          self.plan.threads, *self.shapes, *options))
        return path

    def line(self, signature, rows, config):
        return json.dumps({"heddle_tuning": 1, "device": self.fingerprint, "signature": signature, "rows": rows,
                           "config": config, "ratio": 1, "pairs": 0, "producer": "accept tune"}) + "\n"


def ratio(baseline, other, pairs=PAIRS):
    """The median of OTHER's time by BASELINE's over PAIRS pairs; who goes first alternates."""
    ratios = []
    for i in range(pairs):
        first, second = (baseline, other) if i % 2 else (other, baseline)
        times = [candidates.seconds(first), candidates.seconds(second)]
        ratios.append(times[0] / times[1] if first is other else times[1] / times[0])
    return statistics.median(ratios)


def slow_config(config, source, highest):
    """CONFIG with other tiles of at most HIGHEST rows where it has such, which multiply too little at a time."""
    if "row_tile" not in config:
        return config
    rows = source.randint(1, highest)
    if "block_q" in config:  # attention, whose width is not free
        return config | {"row_tile": rows}
    return config | {"row_tile": rows, "column_vectors": source.randint(1, 4 // rows),
                     "rows_per_item": rows * source.randint(4, 32)}


def slow_start(bench, groups, table, seed):
    """A file with a random legal config of each kernel, by which the model is slow, and how slow; drawn again until it
    is, from lower tiles of rows."""
    source, path = random.Random(seed), bench.folder / f"slow-{seed}.tuning.jsonl"
    for highest in (3, 2, 1):
        # The compiler puts what it expects to be slow last.
        draw = [slow_config(source.choice(group.configs[len(group.configs) * (3 - highest) // 4:]), source, highest)
                for group in groups]
        path.write_text("".join(bench.line(group.signature, group.rows, config) for group, config in zip(groups, draw)))
        slowness = ratio(table, bench.compile(f"slow-{seed}", path), 7)
        if slowness >= bench.plan.slow:
            break
    return path, slowness


def starts(plan, bench, groups, table, seconds, seeds):
    for seed in range(seeds):
        path, slowness = slow_start(bench, groups, table, seed)
        yield Bound("starts", f"seed {seed}: how slow the start is", slowness, "", AT_LEAST, plan.slow)
        found = bench.tune(f"found-{seed}", seconds, path)
        value = ratio(table, bench.compile(f"found-{seed}", path, found))
        count = len(found.read_text().splitlines())
        yield Bound("starts", f"seed {seed}: time after {seconds} s against the table's", value, "", AT_MOST,
                    plan.bound, f"{count} kernels changed")


def right_start(plan, bench, table, seconds):
    found = bench.tune("right", seconds)
    value = ratio(table, bench.compile("right", found))
    count = len(found.read_text().splitlines())
    yield Bound("starts", f"the right table: time after {seconds} s against before", value, "", AT_MOST, plan.bound,
                f"{count} kernels changed" if count else "no gain")


def exhaustively(plan, bench, artifact, groups, seconds):
    """What tuning takes of a kernel against the best of all its candidates."""
    path = bench.folder / "measured.tuning.jsonl"
    path.unlink(missing_ok=True)
    print(bench.heddle("tune", "--measure", artifact, "-o", path, "--time", f"{seconds}s", "--device", bench.device,
                       "--threads", plan.threads))
    found = {(line["signature"], line["rows"]): line["config"] for line in map(json.loads, path.open())}
    program = candidates.load(bench.settings.build, artifact, plan.threads, bench.device)
    for index, group in enumerate(groups[:plan.kernels]):
        runs = candidates.runs(program, index, group)
        rough = [1.0] + [ratio(runs[0], run, 5) for run in runs[1:]]
        # The first look chooses, the second judges; what tuning took is judged as they are.
        taken = group.configs.index(found.get((group.signature, group.rows), group.configs[0]))
        best = sorted(range(len(runs)), key=rough.__getitem__)[:4]
        exact = {i: ratio(runs[0], runs[i]) if i else 1.0 for i in {taken, *best}}
        least = min(exact.values())
        yield Bound("search", f"{group.signature}: what tuning takes against the best of {len(runs)}",
                    exact[taken] / least, "", AT_MOST, plan.exhaustive,
                    f"the best takes {least:.3f} of the table's time")


def run(plan, settings, progress, is_quick):
    """The machine, all bounds in order; nothing is compared with others."""
    settings.scratch.mkdir(parents=True, exist_ok=True)
    seconds, seeds = (min(plan.seconds, 120), 1) if is_quick else (plan.seconds, plan.seeds)
    bench = Bench(plan, settings, plan.model, "cpu")
    progress("candidates")
    artifact, groups = bench.export()
    table = bench.compile("table")
    progress("starts")
    bounds = [*starts(plan, bench, groups, table, seconds, seeds), *right_start(plan, bench, table, seconds)]
    progress("exhaustive search")
    bounds += exhaustively(plan, bench, artifact, groups, seconds)
    if plan.vulkan_model:
        progress("Vulkan")
        bench = Bench(plan, settings, plan.vulkan_model, "vulkan")
        artifact, groups = bench.export()
        bounds += starts(plan, bench, groups, bench.compile("table"), seconds, 1)
    return comparison.machine(settings), bounds, None
