#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of a .golden file and compares every word they say.

    run_golden.py [--update] [--artifacts] HEDDLE FILE.golden

A case is a line `$ command`, run by bash in a folder with the files of fixtures.py, then what must come: lines of
standard output after `| `, lines of standard error as they are, `exit N`. `# ` starts a comment. --artifacts compiles
the artifacts that cases speak of. --update writes what did come into the file, to be read before it is committed.
"""

import argparse
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

import fixtures


# What cases may call besides `heddle`: the C API's driver.
PRELUDE = f'c_api() {{ "{sys.executable}" -B "{pathlib.Path(__file__).with_name("c_api.py")}" "$@"; }}\n'


def run(command, folder, environment):
    """The lines that a case should have, for COMMAND as it is."""
    result = subprocess.run(["bash", "-c", PRELUDE + command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=120)
    lines = ["| " + line if line else "|" for line in result.stdout.splitlines()]
    lines += [line.rstrip() for line in result.stderr.splitlines()]
    # The folder differs from run to run.
    return [line.replace(str(folder), "$TMP") for line in lines] + [f"exit {result.returncode}"]


def rewrite(text, folder, environment):
    """TEXT with the outcome of each command in place of what it says."""
    out = []
    lines = text.splitlines()
    while lines:
        line = lines.pop(0)
        out.append(line)
        if line.startswith("$ "):
            while lines and lines[0]:
                lines.pop(0)
            out += run(line[2:], folder, environment)
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--artifacts", action="store_true")
    parser.add_argument("heddle", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        # Nothing of the caller's environment may change a message; sanitizers keep their options.
        environment = {key: value for key, value in os.environ.items() if key.endswith("SAN_OPTIONS")}
        environment.update(PATH=f"{options.heddle.parent}:/usr/bin:/bin", HOME=str(folder), LC_ALL="C",
                           XDG_CACHE_HOME=f"{folder}/cache", HEDDLE_THREADS="2",
                           HEDDLE_LIBRARY=str(options.heddle.parent.parent / "lib" / "libheddle.so"))
        fixtures.make(folder)
        if options.artifacts:
            subprocess.run([options.heddle, "compile", "model.onnx", "-o", "model.heddle"], cwd=folder,
                           env=environment, stderr=subprocess.DEVNULL, check=True)
            fixtures.make_artifacts(folder)
        expected = options.file.read_text()
        actual = rewrite(expected, folder, environment)
    if actual == expected:
        return 0
    if options.update:
        options.file.write_text(actual)
        return 0
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), actual.splitlines(True), "expected",
                                               "actual"))
    return 1


if __name__ == "__main__":
    sys.exit(main())
