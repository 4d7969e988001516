# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The `heddle` command. HEDDLE_BUILD_DIR leads to the build that holds it."""

import os
import pathlib
import subprocess

HEDDLE = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"]) / "bin/heddle"


def attempt(*arguments):
    """Runs `heddle ARGUMENTS` and returns it finished, whatever came of it."""
    return subprocess.run([HEDDLE, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def heddle(*arguments, expect=0):
    """Runs `heddle ARGUMENTS` and returns it finished; fails unless it exits with EXPECT."""
    run = attempt(*arguments)
    if run.returncode != expect:
        raise AssertionError(f"heddle {' '.join(map(str, arguments))}: exit {run.returncode}\n{run.stdout}{run.stderr}")
    return run


def compile_model(model, artifact, *options):
    """Compiles MODEL into the file ARTIFACT and returns that path."""
    heddle("compile", model, "-o", artifact, *options)
    return artifact
