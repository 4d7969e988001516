# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a comparison amounts to: ratios, fractions of the machine's peak, and the Markdown table."""

SCHEMA = "heddle-compare-1"


def is_ours(engine):
    return engine.startswith("heddle")


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
    others = {name: result for name, result in timed.items() if not is_ours(name) and result["agrees"]}
    row["best_other"] = min(others, key=lambda name: others[name]["min_us"], default=None)
    ours = timed.get("heddle")
    row["ratio_min"] = row["ratio_median"] = None
    if ours and others:
        row["ratio_min"] = ours["min_us"] / others[row["best_other"]]["min_us"]
        row["ratio_median"] = ours["median_us"] / min(result["median_us"] for result in others.values())
    return row


def cell(engine, row):
    """What the table says of ENGINE in ROW."""
    result = row["engines"].get(engine)
    if result is None:
        return ""
    if "failure" in result:
        return "fails"
    text = f"{result['min_us'] / 1e3:.2f} / {result['median_us'] / 1e3:.2f}"
    if result["percent_of_peak"] is not None:
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
    lines = [f"Minimum / median in milliseconds (share of the measured peak). {machine_line(report['machine'])}.", "",
             "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in report["rows"]:
        apart = [result["max_relative_difference"] for result in row["engines"].values() if result.get("agrees")]
        cells = [row["task"], *(cell(name, row) for name in engines), row["best_other"] or "", ratio(row["ratio_min"]),
                 ratio(row["ratio_median"]), f"{max(apart):.0e}" if apart else ""]
        lines.append("| " + " | ".join(cells) + " |")
    notes = [f"- {engine}: missing: {reason}" for engine, reason in report["missing"].items()]
    notes += [f"- {row['task']}, {engine}: {result['failure']}" for row in report["rows"]
              for engine, result in row["engines"].items() if "failure" in result]
    return "\n".join(lines + ([""] + notes if notes else [])) + "\n"
