# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`accept vulkan`: shaders beside shaders written by hand, a model beside the sum of its kernels, products beside
another Vulkan engine. On a software device these are overheads and the shape of shaders, not the speed of any GPU."""

import dataclasses
import re
import subprocess

import numpy as np

import comparison
import probes
import rounds
import vulkan_engines
import workloads
from acceptance import AT_LEAST, AT_MOST, Bound

BY_HAND, SUM_OF_KERNELS, SHARE_OF_PRODUCTS = 0.8, 1.15, 70
RIVAL = "ncnn"
OBSERVED_RUNS = 5


@dataclasses.dataclass
class Plan:
    """What the suite looks at."""
    model: str | None  # its time against its kernels', at LENGTH
    length: int
    # Rows, width and number of products, each by a square matrix: against the other engine.
    chains: list
    # A chain whose products cost nothing: microseconds of each at most.
    dispatches: tuple
    dispatch_us: float
    shaders: bool  # whether shaders are timed beside those by hand


VULKAN = Plan(model="bert-base", length=128, chains=[(128, 768, 1), (128, 768, 12), (16, 768, 1)],
              dispatches=(1, 16, 64), dispatch_us=50, shaders=True)
# What needs neither another engine nor a benchmark, with a bound that says nothing: for the test of this tool.
TINY = Plan(model=None, length=0, chains=[], dispatches=(1, 16, 8), dispatch_us=1e6, shaders=False)


def shaders(settings):
    """Each case of heddle-shader-bench: our rate against that of the shader by hand."""
    program = settings.build / "bin/heddle-shader-bench"
    if not program.exists():
        raise SystemExit(f"there is no {program}: tools/dev/build release heddle-shader-bench")
    run = subprocess.run([program, "--processor-time"], capture_output=True, text=True, check=False)
    rows = re.findall(r"^(\S+) +(\S+) +(\S+) +(\S+) +(\S+)$", run.stdout, flags=re.MULTILINE)
    if run.returncode or not rows:
        raise SystemExit(f"heddle-shader-bench exits with {run.returncode}: {run.stderr[-400:]}")
    for name, ours, by_hand, rate, ratio in rows:
        if name != "case":
            yield Bound("shaders", f"{name}: rate against a shader by hand", float(ratio), "", AT_LEAST, BY_HAND,
                        f"{ours} us, by hand {by_hand} us, {rate} Gop/s")


def model(plan, settings):
    """The whole model against its kernels one by one, and against the rate of its own products."""
    task = workloads.Task(plan.model, 1, plan.length, 1)
    job = probes.job_of(task, settings)
    form = job["forms"]["onnx"]
    program, _, _ = vulkan_engines.program(settings.build, form["model"], settings.scratch)
    run = program.bind(dict(np.load(form["feeds"])), job["output"])
    run()
    observed = [program.observe(run) for _ in range(OBSERVED_RUNS)]
    kernels = [min(times) for times in zip(*([seconds for *_, seconds in dispatches] for dispatches in observed))]
    products = [(flops / seconds) for (_, root, flops, _), seconds in zip(observed[0], kernels) if root == "contract"]
    worker = probes.alternate(settings, {"model": job}, "heddle-vulkan")["model"]
    # As many as each kernel had: the best of more would be better.
    whole, operations = min(worker.samples[:OBSERVED_RUNS]) / 1e6, sum(flops for _, _, flops, _ in observed[0])
    detail = f"{whole * 1e3:.0f} ms; {len(kernels)} kernels alone {sum(kernels) * 1e3:.0f} ms"
    yield Bound("model", f"{task.name}: time against the sum of its kernels", whole / sum(kernels), "", AT_MOST,
                SUM_OF_KERNELS, detail)
    rate, best = operations / whole / 1e9, float(np.median(products)) / 1e9
    yield Bound("model", f"{task.name}: rate against that of its products", 100 * rate / best, "%", AT_LEAST,
                SHARE_OF_PRODUCTS, f"{rate:.1f} of {best:.1f} GFLOP/s")


def chain_job(rows, width, count, settings):
    """A job of COUNT products, for engines that read ONNX and for one that reads matrices."""
    path = settings.scratch / f"chain-{count}x{rows}x{width}.onnx"
    matrices = probes.chain_model(path, count, rows, width)
    feeds, product = path.with_suffix(".npz"), path.with_suffix(".matrices.npz")
    np.savez(feeds, x0=np.ones((rows, width), np.float32))
    np.savez(product, **{f"w{i}": matrix for i, matrix in enumerate(matrices)})
    form = {"model": str(path), "feeds": str(feeds), "layout": "BNSD"}
    return {"task": {"threads": 1, "batch": 1, "length": 0}, "forms": {"onnx": form}, "product": str(product),
            "output": f"x{count}", "folder": str(settings.scratch), "build": str(settings.build)}


def chains(plan, settings):
    """Products against the other engine's, turn by turn."""
    for rows, width, count in plan.chains:
        name = f"{count} products of {rows}x{width}x{width}"
        job = chain_job(rows, width, count, settings)
        results = rounds.run(settings.python, ["heddle-vulkan", RIVAL], job, settings.rounds, settings.seconds)
        ours, other = results["heddle-vulkan"], results[RIVAL]
        failure = ours.get("failure") or other.get("failure") or (None if other["agrees"] else f"{RIVAL} is off")
        detail = failure or f"{ours['min_us'] / 1e3:.2f} ms, {RIVAL} {other['min_us'] / 1e3:.2f} ms"
        yield Bound("products", f"{name}: time against {RIVAL}", None if failure else ours["min_us"] / other["min_us"],
                    "", AT_MOST, 1, detail)


def dispatching(plan, settings):
    rows, width, count = plan.dispatches
    worker = probes.alternate(settings, {"chain": chain_job(rows, width, count, settings)}, "heddle-vulkan")["chain"]
    yield Bound("dispatch", f"a dispatch in a chain of {count}, with its share of the run", min(worker.samples) / count,
                "us", AT_MOST, plan.dispatch_us, f"a run of {min(worker.samples):.0f} us")


def run(plan, settings, progress, is_quick):
    """The machine, all bounds in order; nothing is compared on the CPU."""
    settings.scratch.mkdir(parents=True, exist_ok=True)
    bounds = []
    for name, group in (("shaders by hand", shaders if plan.shaders else None),
                        ("model", (lambda settings: model(plan, settings)) if plan.model else None),
                        ("products", lambda settings: chains(plan, settings)),
                        ("dispatches", lambda settings: dispatching(plan, settings))):
        if group:
            progress(name)
            bounds += group(settings)
    return comparison.machine(settings), bounds, None
