# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bounds and what became of them: the form of every suite that `accept` runs, as JSON and as a table."""

import dataclasses

SCHEMA = "heddle-accept-1"
AT_MOST, AT_LEAST = "at most", "at least"


@dataclasses.dataclass
class Bound:
    """A claim of speed or size. |value| is None where nothing was measured, which |detail| explains: that is a miss."""
    group: str
    name: str
    value: float | None
    unit: str
    direction: str
    bound: float
    detail: str = ""

    @property
    def holds(self):
        if self.value is None:
            return False
        return self.value <= self.bound if self.direction == AT_MOST else self.value >= self.bound


def machine_text(machine):
    """What a figure must be read with."""
    widths = [name for name in ("avx512f", "avx2", "neon") if name in machine["features"]]
    held = f" (all engines held to {machine['held_to']})" if machine["held_to"] else ""
    return f"{machine['cpu']}, {(widths or ['no vectors'])[0]}{held}, {machine['threads']} threads"


def as_json(suite, machine, bounds, comparison):
    """The whole report; COMPARISON is what `compare` reports of the same run, None where nothing was compared."""
    return {"schema": SCHEMA, "suite": suite, "machine": machine,
            "bounds": [{**dataclasses.asdict(bound), "machine": machine_text(machine), "pass": bound.holds}
                       for bound in bounds],
            "passed": sum(bound.holds for bound in bounds), "missed": sum(not bound.holds for bound in bounds),
            "comparison": comparison}


def number(value):
    if value is None:
        return "not measured"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(report):
    """The bounds in Markdown."""
    lines = [f"On {machine_text(report['machine'])}; load average up to {report['machine']['load_average']:.1f}.", "",
             "| what | value | bound | | how |", "|---|---|---|---|---|"]
    for row in report["bounds"]:
        unit = f" {row['unit']}" if row["unit"] else ""
        value = number(row["value"]) + (unit if row["value"] is not None else "")
        lines.append(f"| {row['name']} | {value} | {row['direction']} {row['bound']:g}{unit} | "
                     f"{'pass' if row['pass'] else 'MISS'} | {row['detail']} |")
    return "\n".join(lines) + f"\n\n{report['passed']} bounds hold, {report['missed']} are missed.\n"
