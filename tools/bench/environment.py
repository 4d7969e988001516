# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The virtual environment of the other engines: build/bench-python, with the pinned packages of requirements.txt.

Each engine's part is installed by itself and stamped, so that a second run installs nothing and an engine that can't
be had costs the comparison that engine alone, by name and with pip's reason.
"""

import hashlib
import pathlib
import re
import subprocess
import sys

import catalog

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "build/bench-python"
REQUIREMENTS = pathlib.Path(__file__).with_name("requirements.txt")
BASE = "base"


def parts():
    """The requirements by engine."""
    text = REQUIREMENTS.read_text()
    names = re.split(r"^# engine (\w+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(names[::2], names[1::2]))


def install(engine, requirements):
    """Installs REQUIREMENTS; returns None, or why that failed."""
    stamp = FOLDER / f"{engine}.stamp"
    digest = hashlib.sha256(requirements.encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return None
    print(f"{engine}: installing into {FOLDER.relative_to(ROOT)}", file=sys.stderr)
    names = [line for line in requirements.splitlines() if line and not line.startswith("#")]
    # The list is complete, so nothing unpinned can slip in as a dependency.
    run = subprocess.run([FOLDER / "bin/python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
                          "--no-deps", *names], capture_output=True, text=True)
    if run.returncode:
        return f"pip: {(run.stderr.strip().splitlines() or ['no message'])[-1]}"
    stamp.write_text(digest)
    return None


def prepare(engines):
    """Makes the environment ready for ENGINES; returns its interpreter and {engine: why it is missing}."""
    python = FOLDER / "bin/python3"
    if not python.is_file():
        # Debian's own interpreter: another first on the PATH may lack wheels for the pinned versions.
        subprocess.run(["/usr/bin/python3", "-m", "venv", FOLDER], check=True)
    requirements = parts()
    failure = install(BASE, requirements[BASE])
    if failure:
        raise SystemExit(f"what every engine needs can't be installed: {failure}")
    failures = {}
    for engine in engines:
        # What a twin needs beyond its engine is only for making its model.
        parts_of = [catalog.package_of(engine), *(["nncf"] if engine in catalog.NEEDS_NNCF else [])]
        reasons = [install(part, requirements[part]) for part in parts_of if part in requirements]
        failures[engine] = next(filter(None, reasons), None)
    return python, {engine: reason for engine, reason in failures.items() if reason}
