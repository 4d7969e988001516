# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`accept int8`: what w8a8 costs and gains on this machine's CPU, beside other engines' INT8 and our own f32."""

import dataclasses

import accuracy
import catalog
import comparison
import engines
import probes
import workloads
from acceptance import AT_LEAST, AT_MOST, Bound

OURS, W8A8 = "heddle-w8a8", ("--quantize", "w8a8")
# With VNNI the product of bytes is one instruction, and so it is for the others.
VNNI = ("avx512vnni", "avxvnni")
# Compiling with OPTIONS makes the artifact at most this share of the f32 one.
SIZES = {W8A8: 0.27, (*W8A8, "--embedding", "f32"): 0.67}
MEAN_COSINE, LEAST_COSINE, SPEARMAN, NEIGHBOURS = 0.998, 0.99, 0.003, 0.5
# Products of bytes: what they must reach. Without VNNI the f32 peak is what tells, as the best known kernels do 1.87
# times as much by vpmaddubsw, which takes pairs that are safe, and 1.53 times by vpmaddwd.
PRODUCT_SIZE, VNNI_TARGET = "128x3072x768", "cascadelake"
PRODUCTS = (("x86-64-v3", "safe_byte_contract", "of_floats", "times", "against the f32 peak", 0.9 * 1.87),
            ("x86-64-v3", "byte_contract", "of_floats", "times", "against the f32 peak", 0.9 * 1.53),
            (VNNI_TARGET, "byte_contract", "percent", "%", "of the integer peak", 80))


@dataclasses.dataclass
class Plan:
    """What the suite looks at. Ratios are (model, length, bound with VNNI, bound without) against the best INT8."""
    ratios: list
    own: tuple        # the bounds on our time against our own f32, with VNNI and without
    largest_error: tuple  # (model, per cent of the largest output)
    embedding: dict   # model to the output that is embedded
    sized: str        # the model whose artifacts are compared
    sizes: dict
    products: bool    # whether kernels alone are measured


INT8 = Plan(
    ratios=[("bert-base", 128, 0.65, 0.75), ("bert-base", 16, 0.7, 0.8), ("minilm-l6", 128, 0.65, 0.75)],
    own=(0.35, 0.65), largest_error=("bert-base", 1.6),
    embedding={"minilm-l3": "461", "minilm-l6": "last_hidden_state"}, sized="minilm-l6", sizes=SIZES, products=True)
# All kinds of checks that need no fetched model, with bounds that say nothing: for the test of this tool.
TINY = Plan(ratios=[("tiny", 16, 1e6, 1e6)], own=(1e6, 1e6), largest_error=("tiny", 10), embedding={}, sized="tiny",
            sizes={W8A8: 1}, products=False)


def described(name, result):
    """An INT8 engine's time and what it is off."""
    return f"{name} {result['min_us'] / 1e3:.2f} ms, {100 * result['max_relative_difference']:.1f} % off"


def ratios(plan, rows, has_vnni):
    """Speed against the best other INT8 of each row and against our own f32."""
    for row, (*_, with_vnni, without) in zip(rows, plan.ratios):
        contest, results = row["quantized"], row["engines"]
        ours, f32 = results[OURS], results["heddle"]
        if contest["ratio_min"] is None:
            detail = ours.get("failure", "no other INT8 engine is there")
        else:
            best = contest["best_other"]
            detail = (f"{described('heddle', ours)}; {described(best, results[best])}; by medians "
                      f"{contest['ratio_median']:.2f}")
        yield Bound("ratios", f"{row['task']}: time against the best other INT8", contest["ratio_min"], "", AT_MOST,
                    with_vnni if has_vnni else without, detail)
        failure = ours.get("failure") or f32.get("failure")
        detail = failure or f"{ours['min_us'] / 1e3:.2f} of {f32['min_us'] / 1e3:.2f} ms"
        yield Bound("ratios", f"{row['task']}: time against our own f32", contest["ratio_to_f32"], "", AT_MOST,
                    plan.own[0 if has_vnni else 1], detail)


def largest_errors(plan, rows):
    model, bound = plan.largest_error
    for row in rows:
        if row["model"] == model:
            errors = {name: 100 * result["max_relative_difference"] for name, result in row["engines"].items()
                      if name in catalog.QUANTIZED and result.get("max_relative_difference") is not None}
            others = ", ".join(f"{name} {error:.1f} %" for name, error in errors.items() if name != OURS)
            yield Bound("accuracy", f"{row['task']}: largest error of the largest output", errors.get(OURS), "%",
                        AT_MOST, bound, row["engines"][OURS].get("failure", others))


def attempt(function):
    """FUNCTION's value and no failure, or None and what Heddle said."""
    try:
        return function(), None
    except RuntimeError as error:
        return None, str(error)


def embeddings(plan, settings, progress):
    """Embeddings of real texts: cosines to f32, and what becomes of two tasks."""
    if not plan.embedding:
        return
    texts = accuracy.read_texts()
    for name, output in plan.embedding.items():
        progress(f"{name}: {len(texts.ids)} texts")
        form = workloads.prepare(workloads.Task(name, 1, 16, 2), settings.scratch)["forms"]["onnx"]
        loss, failure = attempt(lambda: accuracy.loss(form["model"], output, W8A8, texts, settings))
        least = loss.cosines.argmin() if loss else None
        yield Bound("accuracy", f"{name}: mean cosine to f32", loss and float(loss.cosines.mean()), "", AT_LEAST,
                    MEAN_COSINE, failure or f"{len(texts.ids)} texts")
        yield Bound("accuracy", f"{name}: least cosine to f32", loss and float(loss.cosines[least]), "", AT_LEAST,
                    LEAST_COSINE, failure or f"a text of {len(texts.ids[least])} tokens")
        for what, scores, bound, unit in (
                ("Spearman's rho, Lee documents", loss and loss.spearman, SPEARMAN, ""),
                (f"{accuracy.NEIGHBOURS}-NN accuracy, s-labs", loss and loss.neighbours, NEIGHBOURS, "points")):
            detail = failure or f"{scores[0]:.4f} in f32, {scores[1]:.4f} quantised"
            yield Bound("accuracy", f"{name}: change of {what}", scores and abs(scores[0] - scores[1]), unit, AT_MOST,
                        bound, detail)


def sizes(plan, settings):
    model = settings.scratch / f"{plan.sized}.onnx"

    def size_with(*options):
        name = "".join([plan.sized, *options])
        return engines.heddle_artifact(settings.build, model, settings.scratch, name, *options)[0].stat().st_size

    plain = size_with()
    for options, bound in plan.sizes.items():
        size, failure = attempt(lambda: size_with(*options))
        yield Bound("size", f"{plan.sized} {' '.join(options)}: artifact against f32", size and size / plain, "",
                    AT_MOST, bound, failure or f"{size / probes.MB:.1f} of {plain / probes.MB:.1f} MB")


def kernel_bounds(settings, repetitions, has_vnni):
    """Products of bytes alone on one thread, for each kind of instructions that this machine has for them."""
    wanted = {f"{target}/{kernel}/{PRODUCT_SIZE}": bound for (target, kernel, *bound) in PRODUCTS
              if has_vnni or target != VNNI_TARGET}
    rows = probes.kernels([f"{kernel}/{PRODUCT_SIZE}" for _, kernel, *_ in PRODUCTS], settings, repetitions)
    for name, (counter, unit, what, bound) in wanted.items():
        row = rows.get(name)
        detail = "heddle-kernel-bench has no such case here"
        if row:
            detail = f"{row['best_us']:.0f} us, {row['gflops']:.0f} GOP/s, {row['percent']:.0f} % of its peak"
        yield Bound("kernels", f"{name} {what}", row and row[counter], unit, AT_LEAST, bound, detail)


def run(plan, settings, progress, is_quick):
    """The machine, all bounds in order and the comparison they come from."""
    tasks = [workloads.Task(model, 1, length, 2) for model, length, *_ in plan.ratios]
    compared = comparison.compare(tasks, settings, progress)
    if len(compared["rows"]) < len(tasks):
        raise SystemExit("interrupted: bounds need all rows")
    has_vnni = any(name in compared["machine"]["features"] for name in VNNI)
    bounds = [*embeddings(plan, settings, progress), *largest_errors(plan, compared["rows"]),
              *ratios(plan, compared["rows"], has_vnni)]
    if plan.products:
        progress("kernels alone")
        bounds += kernel_bounds(settings, 1 if is_quick else 5, has_vnni)
    progress("sizes")
    bounds += sizes(plan, settings)
    return compared["machine"], bounds, compared
