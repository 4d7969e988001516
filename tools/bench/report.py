# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a comparison amounts to: ratios, fractions of the machine's peak, and the Markdown table."""

import catalog

SCHEMA = "heddle-compare-1"


def peak_gflops(machine, threads):
    """The measured peak of THREADS threads, or None."""
    return next((row["f32_gflops"] for row in machine["roofline"] if row["threads"] == threads), None)


def complete(row, machine):
    """Adds to ROW, a task with its engines' results, what follows from them; returns it."""
    timed = {name: result for name, result in row["engines"].items() if "min_us" in result}
    peak = peak_gflops(machine, row["threads"])
    for result in timed.values():
        # From the shortest run: what the engine can do, not what its neighbours left it.
        result["gflops"] = row["flops"] / result["min_us"] / 1e3
        result["percent_of_peak"] = 100 * result["gflops"] / peak if peak else None
    row.update(contest({name: result for name, result in timed.items() if name not in catalog.QUANTIZED}, "heddle"))
    quantized = {name: result for name, result in timed.items() if name in catalog.QUANTIZED}
    row["quantized"] = contest(quantized, "heddle-w8a8") if quantized else None
    if quantized:
        both = [timed.get(name) for name in ("heddle-w8a8", "heddle")]
        row["quantized"]["ratio_to_f32"] = both[0]["min_us"] / both[1]["min_us"] if all(both) else None
    return row


def contest(timed, ours):
    """Which other engine of TIMED is the best, and the ratios of OURS to it."""
    others = {name: result for name, result in timed.items() if not catalog.is_ours(name) and result["agrees"]}
    best = min(others, key=lambda name: others[name]["min_us"], default=None)
    result = {"best_other": best, "ratio_min": None, "ratio_median": None}
    if ours in timed and others:
        result["ratio_min"] = timed[ours]["min_us"] / others[best]["min_us"]
        result["ratio_median"] = timed[ours]["median_us"] / min(other["median_us"] for other in others.values())
    return result


def cell(engine, row):
    """What the table says of ENGINE in ROW."""
    result = row["engines"].get(engine)
    if result is None:
        return ""
    if "failure" in result:
        return "fails"
    text = f"{result['min_us'] / 1e3:.2f} / {result['median_us'] / 1e3:.2f}"
    if engine in catalog.QUANTIZED:
        apart = result["max_relative_difference"]
        text += " (not finite)" if apart is None else f" ({100 * apart:.1f} % off)"
    elif result["percent_of_peak"] is not None:
        text += f" ({result['percent_of_peak']:.0f} %)"
    return text if result["agrees"] else text + " WRONG"


def ratio(value):
    return "" if value is None else f"{value:.2f}"


def machine_line(machine):
    """The machine in one line of text."""
    peaks = ", ".join(f"{row['f32_gflops']:.0f} GFLOP/s and {row['dram_gbs']:.0f} GB/s on {row['threads']} thread(s)"
                      for row in machine["roofline"])
    held = f"; all engines held to {machine['held_to']}" if machine["held_to"] else ""
    return f"{machine['cpu']}{held}; measured limits {peaks}; load average up to {machine['load_average']:.1f}"


def markdown(report):
    """The report as a table, one line a task, with what is missing or failed below it."""
    engines = list(dict.fromkeys(name for row in report["rows"] for name in row["engines"]))
    head = ["task", *engines, "best other", "ratio of minima", "ratio of medians", "largest difference"]
    is_quantized = any(row["quantized"] for row in report["rows"])
    head += ["best other INT8", "ratio of minima", "ratio of medians", "to our f32"] if is_quantized else []
    what = "share of the measured peak" + ("; of INT8 the largest error" if is_quantized else "")
    lines = [f"Minimum / median in milliseconds ({what}). {machine_line(report['machine'])}.", "",
             "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in report["rows"]:
        apart = [result["max_relative_difference"] for name, result in row["engines"].items()
                 if result.get("agrees") and name not in catalog.QUANTIZED]
        cells = [row["task"], *(cell(name, row) for name in engines), row["best_other"] or "", ratio(row["ratio_min"]),
                 ratio(row["ratio_median"]), f"{max(apart):.0e}" if apart else ""]
        if is_quantized:
            own = row["quantized"] or dict.fromkeys(("best_other", "ratio_min", "ratio_median", "ratio_to_f32"))
            cells += [own["best_other"] or "", *(ratio(own[name]) for name in list(own)[1:])]
        lines.append("| " + " | ".join(cells) + " |")
    notes = [f"- {engine}: missing: {reason}" for engine, reason in report["missing"].items()]
    notes += [f"- {row['task']}, {engine}: {result['failure']}" for row in report["rows"]
              for engine, result in row["engines"].items() if "failure" in result]
    return "\n".join(lines + ([""] + notes if notes else [])) + "\n"
