# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A comparison from options to report: which tasks, which engines, on what machine. `compare` and `accept` call it."""

import dataclasses
import importlib.metadata
import itertools
import json
import os
import pathlib
import subprocess

import catalog
import engines
import isa
import report
import rounds
import workloads

SCRATCH = workloads.ROOT / "build/bench"
# The package whose version stands for the engine's.
PACKAGES = {"onnxruntime": "onnxruntime", "openvino": "openvino", "ctranslate2": "ctranslate2",
            "iree": "iree-base-runtime", "torch": "torch"}


@dataclasses.dataclass
class Settings:
    """How to measure. |missing|: engines that could not be installed, with the reason."""
    python: str
    build: pathlib.Path
    engines: list
    rounds: int
    seconds: float
    scratch: pathlib.Path = SCRATCH
    missing: dict = dataclasses.field(default_factory=dict)


def machine(settings):
    """The machine and its roofline as `heddle bench` measures them, from a run of the smallest model."""
    task = workloads.Task("tiny", 1, 16, 1)
    form = workloads.prepare(task, settings.scratch)["forms"]["onnx"]
    heddle = settings.build / "bin/heddle"
    try:
        artifact, _ = engines.heddle_artifact(settings.build, form["model"], settings.scratch)
    except RuntimeError as error:
        raise SystemExit(f"{heddle} can't compile the smallest model: {error}") from error
    run = subprocess.run([heddle, "bench", artifact, "--seconds", "0.01", "--json"], capture_output=True, text=True,
                         check=True)
    result = json.loads(run.stdout)["machine"]
    result["held_to"] = isa.held()
    # Other work on the machine: half of what makes a comparison worth anything.
    result["load_average"] = os.getloadavg()[0]
    return result


def find_versions(settings):
    """The engines' versions; an engine that isn't installed becomes a missing one."""
    result = {}
    for name in settings.engines:
        package = PACKAGES.get(catalog.package_of(name))
        if name in settings.missing or not package:
            continue
        try:
            result[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            settings.missing[name] = f"{settings.python} has no package {package}"
    return result


def tasks(models, lengths, batches, threads):
    """All tasks of these, in the models' order; a model takes part with those of LENGTHS that it has."""
    result = []
    for name, batch, count in itertools.product(models, batches, threads):
        own = workloads.MODELS[name].lengths
        # Images have no length, attention alone has longer ones than sentences.
        chosen = own if own == (0,) else [length for length in lengths if length in own]
        result += [workloads.Task(name, batch, length, count) for length in chosen]
    return result


def measure(task, settings):
    """One row of the report."""
    job = workloads.prepare(task, settings.scratch)
    job["build"] = str(settings.build)
    names = [name for name in settings.engines if name not in settings.missing and catalog.forms_for(name, job)]
    results = rounds.run(settings.python, names, job, settings.rounds, settings.seconds)
    return {"task": task.name, **dataclasses.asdict(task), "flops": workloads.MODELS[task.model].flops(task),
            "engines": results}


def raise_limits(facts, again):
    """Takes into FACTS what AGAIN, measured later, saw the machine do: other work hides limits, nothing adds to any."""
    for row, later in zip(facts["roofline"], again["roofline"]):
        row.update({limit: max(rate, later[limit]) for limit, rate in row.items() if isinstance(rate, (int, float))})
    facts["load_average"] = max(facts["load_average"], again["load_average"])


def compare(chosen, settings, progress):
    """The report of all tasks CHOSEN; PROGRESS is called with each row's name. An interrupt ends it with the rows so
    far: a whole run takes more than an hour."""
    facts, versions = machine(settings), find_versions(settings)
    result = {"schema": report.SCHEMA, "machine": facts, "versions": versions, "missing": settings.missing,
              "settings": {"rounds": settings.rounds, "seconds": settings.seconds}, "rows": []}
    try:
        for task in chosen:
            progress(task.name)
            result["rows"].append(measure(task, settings))
            raise_limits(facts, machine(settings))
    except KeyboardInterrupt:
        progress("interrupted: the rows so far")
    for row in result["rows"]:
        report.complete(row, facts)
    return result
