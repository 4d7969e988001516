# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`accept cpu`: f32 on this machine's CPU, beside the best other engine and beside what the hardware gives."""

import dataclasses

import comparison
import engines
import probes
import workloads
from acceptance import AT_LEAST, AT_MOST, Bound

# Odd sizes and the multiple beside each: how much of its speed they must keep.
ODD_SIZES = {"127x768x768": "128x768x768", "129x768x768": "128x768x768", "128x767x768": "128x768x768",
             "128x769x768": "128x768x768", "128x768x767": "128x768x768", "128x768x769": "128x768x768"}
ODD_SHARE = 85
# Per cent of the measured f32 peak of one core, by the target's vectors.
GEMM, ATTENTION = {"x86-64-v3": 90, "x86-64-v4": 93}, {"x86-64-v3": 72, "x86-64-v4": 82}
GEMV_SHARE = 85


@dataclasses.dataclass
class Plan:
    """What the suite looks at. Ratios are (model, batch, length, bound) against the best other engine."""
    ratios: list
    attention_length: int
    attention_ratio: float
    mask_shares: dict  # of the time without a mask
    model: str         # whose threads, loading, memory and compiling count
    length: int
    scaling: float
    products: bool     # whether kernels alone are measured
    dispatch_us: float = 2
    compile_seconds: float = 30
    load_ms: float = 10
    memory_mb: float = 12
    first_run: float = 2


CPU = Plan(
    ratios=[("bert-base", 1, 128, 0.78), ("bert-base", 1, 16, 0.65), ("minilm-l6", 1, 128, 0.7),
            ("minilm-l6", 1, 16, 0.65), ("minilm-l6", 1, 512, 0.75), ("bert-base", 1, 512, 0.75),
            ("minilm-l6", 8, 128, 0.8), ("bert-base", 8, 128, 0.8), ("vit", 1, 0, 0.8)],
    attention_length=2048, attention_ratio=0.75, mask_shares={"causal": 0.56, "window": 0.2}, model="bert-base",
    length=128, scaling=1.85, products=True)
# All kinds of checks on a model that compiles at once, with bounds that say nothing: for the test of this tool.
TINY = Plan(ratios=[("tiny", 1, 16, 1e6)], attention_length=128, attention_ratio=1e6,
            mask_shares={"causal": 1e6}, model="tiny", length=16, scaling=0, products=False,
            dispatch_us=1e6, compile_seconds=1e6, load_ms=1e6, memory_mb=1e6, first_run=1e6)


def share(value):
    return "" if value is None else f", {value:.0f} % of peak"


def ratio_bound(row, bound):
    """The bound on Heddle's time against the best other engine of ROW."""
    ours = row["engines"]["heddle"]
    if row["ratio_min"] is None:
        detail = ours.get("failure", "no other engine gave the same numbers")
    else:
        rival = row["engines"][row["best_other"]]
        # The rival's share of the peak, too: no ratio can be below it.
        detail = (f"{ours['min_us'] / 1e3:.2f} ms{share(ours['percent_of_peak'])}; {row['best_other']} "
                  f"{rival['min_us'] / 1e3:.2f} ms{share(rival['percent_of_peak'])}; by medians "
                  f"{row['ratio_median']:.2f}")
    return Bound("ratios", f"{row['task']}: time against the best other engine", row["ratio_min"], "", AT_MOST, bound,
                 detail)


def ratios(plan, compared):
    rows = {(row["model"], row["batch"], row["length"]): row for row in compared["rows"]}
    for model, batch, length, bound in plan.ratios:
        row = rows[model, batch, length]
        yield ratio_bound(row, bound)
    full = rows["attention-full", 1, plan.attention_length]
    yield ratio_bound(full, plan.attention_ratio)
    for mask, bound in plan.mask_shares.items():
        masked = rows[f"attention-{mask}", 1, plan.attention_length]
        ours = [row["engines"]["heddle"].get("min_us") for row in (masked, full)]
        value = ours[0] / ours[1] if all(ours) else None
        detail = f"{ours[0] / 1e3:.2f} of {ours[1] / 1e3:.2f} ms" if all(ours) else "heddle fails"
        yield Bound("attention", f"attention S{plan.attention_length} {mask}: time as a share of the whole", value, "",
                    AT_MOST, bound, detail)


def kernel_bounds(settings, repetitions):
    """Kernels alone on one thread, for each kind of vectors that this machine has."""
    names = ["contract/128x3072x768", "contract_from_memory/1x3072x768", "attention/1x2048x2048"]
    names += [f"contract/{size}" for size in {**ODD_SIZES, **{even: even for even in ODD_SIZES.values()}}]
    rows = probes.kernels(names, settings, repetitions)
    for target in sorted({name.split("/")[0] for name in rows}):
        for kernel, bound, what in ((names[0], GEMM[target], "of the f32 peak"),
                                    (names[1], GEMV_SHARE, "of a plain multi-stream read"),
                                    (names[2], ATTENTION[target], "of the f32 peak")):
            row = rows[f"{target}/{kernel}"]
            unit = "GFLOP/s" if "gflops" in row else "GB/s"
            detail = f"{row['best_us']:.0f} us, {row.get('gflops', row.get('gbs')):.0f} of {row['limit']:.0f} {unit}"
            yield Bound("kernels", f"{target} {kernel} {what}", row["percent"], "%", AT_LEAST, bound, detail)
        for odd, even in ODD_SIZES.items():
            speeds = [rows[f"{target}/contract/{size}"]["gflops"] for size in (odd, even)]
            yield Bound("kernels", f"{target} contract/{odd} of the speed of {even}", 100 * speeds[0] / speeds[1], "%",
                        AT_LEAST, ODD_SHARE, f"{speeds[0]:.0f} of {speeds[1]:.0f} GFLOP/s")


def runtime_bounds(plan, settings):
    """Threads, loading, first run, memory and dispatches."""
    name = f"{plan.model} S{plan.length}"
    one, two = probes.scaling(plan.model, plan.length, settings)
    yield Bound("runtime", f"{name}: two threads against one", one / two, "times", AT_LEAST, plan.scaling,
                f"{one / 1e3:.2f} and {two / 1e3:.2f} ms, in turns")
    load_ms, first_us = probes.beginning(plan.model, plan.length, settings)
    artifact, _ = engines.heddle_artifact(settings.build, settings.scratch / f"{plan.model}.onnx", settings.scratch)
    size = artifact.stat().st_size / probes.MB
    yield Bound("runtime", f"{plan.model}: loading", load_ms, "ms", AT_MOST, plan.load_ms,
                f"{size:.0f} MB, least of {probes.STARTS} processes")
    yield Bound("runtime", f"{name}: first run against a warm one", first_us / two, "times", AT_MOST, plan.first_run,
                f"{first_us / 1e3:.2f} ms with the file cached, least of {probes.STARTS} processes")
    yield Bound("runtime", f"{plan.model}: warm memory beside the mapped artifact",
                probes.warm_memory(artifact, settings), "MB", AT_MOST, plan.memory_mb, "heddle bench, S128")
    small = probes.dispatch_microseconds(200, 1, 16, settings)
    yield Bound("runtime", "a dispatch of a small kernel, two threads in the pool", small[1], "us", AT_MOST,
                plan.dispatch_us, f"{small[0]:.2f} us with one")
    large = probes.dispatch_microseconds(100, 64, 256, settings)
    yield Bound("runtime", "a dispatch that two threads share, beyond half its time on one", large[1] - large[0] / 2,
                "us", AT_MOST, plan.dispatch_us, f"{large[0]:.2f} us on one, {large[1]:.2f} on two")


def compile_bounds(plan, settings):
    model = settings.scratch / f"{plan.model}.onnx"
    seconds, anonymous = probes.compiling(model, settings.scratch / "compiled.heddle", settings)
    size = model.stat().st_size / probes.MB
    yield Bound("compile", f"{plan.model}: compiling", seconds, "s", AT_MOST, plan.compile_seconds, f"{size:.0f} MB")
    yield Bound("compile", f"{plan.model}: anonymous memory of compiling", anonymous, "MB", AT_MOST, size / 2 + 300,
                "half the file and 300 MB")


def run(plan, settings, progress, is_quick):
    """The machine, all bounds in order and the comparison they come from."""
    tasks = [workloads.Task(model, batch, length, 2) for model, batch, length, _ in plan.ratios]
    tasks += [workloads.Task(f"attention-{mask}", 1, plan.attention_length, 2)
              for mask in ("full", *plan.mask_shares)]
    compared = comparison.compare(tasks, settings, progress)
    if len(compared["rows"]) < len(tasks):
        raise SystemExit("interrupted: bounds need all rows")
    bounds = list(ratios(plan, compared))
    if plan.products:
        progress("kernels alone")
        bounds += kernel_bounds(settings, 1 if is_quick else 5)
    progress("threads, loading, memory, dispatches")
    bounds += runtime_bounds(plan, settings)
    progress("compiling")
    bounds += compile_bounds(plan, settings)
    return compared["machine"], bounds, compared
