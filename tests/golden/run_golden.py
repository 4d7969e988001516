#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands of a .golden file and compares every word they say.

    run_golden.py [--update] [--compile | --artifact-tool PROGRAM] [--compiler-library FILE] [--lavapipe FILE]
                  HEDDLE FILE.golden

A case is a line `$ command`, run by bash in a folder with the files of fixtures.py, then what must come: lines of
standard output after `| `, lines of standard error as they are, `exit N`. `# ` starts a comment. --compile has the
artifact made by the compiler, --artifact-tool by make_artifact.cpp. Vulkan has no driver but in cases that set
VK_ICD_FILENAMES to $LAVAPIPE, the FILE of --lavapipe. --update writes what did come into the file, to be
read before it is committed.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import fixtures

# What cases may call besides `heddle`: Python with NumPy, the C API's driver, and a command as a user who isn't above
# permissions, as root is.
PRELUDE = f"""python() {{ "{sys.executable}" -B "$@"; }}
c_api() {{ python "{pathlib.Path(__file__).with_name("c_api.py")}" "$@"; }}
as_user() {{
  [ "$(id -u)" != 0 ] || local drop="setpriv --bounding-set=-dac_override,-dac_read_search"
  $drop bash -c "$(declare -f python c_api); \\"\\$@\\"" _ "$@"
}}
"""


def mask(line, folder):
    """LINE with what differs from run to run and from machine to machine left out."""
    line = line.replace(str(folder), "$TMP")
    line = re.sub(r"(cache/heddle/\w+)-[0-9a-f]{16}", r"\1-HASH", line)
    line = re.sub(r"^target cpu:\w+ \(.*\), ", "target cpu:HOST (FEATURES), ", line)
    line = re.sub(r"llvmpipe \(LLVM [0-9.]+, [0-9]+ bits\)", "llvmpipe", line)
    line = re.sub(r"^(\| cpu  +).*, 2 threads\)", r"\1NAME", line)
    line = re.sub(r"^(\| (caches|features|driver|memory|limits)  +).*", r"\1...", line)
    line = re.sub(r" [0-9.]+ +[0-9]+  faster$", " RATIO PAIRS faster", line)
    line = re.sub(r"\d+s left$", "TIME left", line)
    artifact = folder / "model.heddle"
    if artifact.exists():
        size = artifact.stat().st_size
        line = line.replace(f"{size // 2} of {size} bytes", "$HALF of $SIZE bytes")
    return line


def run(command, folder, environment):
    """The lines that a case should have, for COMMAND as it is."""
    result = subprocess.run(["bash", "-c", PRELUDE + command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=120)
    lines = ["| " + line if line else "|" for line in result.stdout.splitlines()]
    lines += [line.rstrip() for line in result.stderr.splitlines()]
    return [mask(line, folder) for line in lines] + [f"exit {result.returncode}"]


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
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--artifact-tool", type=pathlib.Path)
    parser.add_argument("--compiler-library", type=pathlib.Path)
    parser.add_argument("--lavapipe", type=pathlib.Path)
    parser.add_argument("heddle", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        # Nothing of the caller's environment may change a message, nor may the drivers of its GPUs; sanitizers keep
        # their options, and what is preloaded for their sake.
        environment = {key: value for key, value in os.environ.items()
                       if key.endswith("SAN_OPTIONS") or key == "LD_PRELOAD"}
        environment.update(PATH=f"{options.heddle.parent}:/usr/bin:/bin", HOME=str(folder), LC_ALL="C",
                           XDG_CACHE_HOME=f"{folder}/cache", HEDDLE_THREADS="2", VK_ICD_FILENAMES="/no/driver",
                           HEDDLE_LIBRARY=str(options.heddle.parent.parent / "lib" / "libheddle.so"))
        if options.lavapipe:
            environment["LAVAPIPE"] = str(options.lavapipe)
        if options.compiler_library:
            environment["HEDDLE_COMPILER_LIBRARY"] = str(options.compiler_library.resolve())
        fixtures.make(folder)
        if options.compile:
            # A target that doesn't depend on this machine.
            subprocess.run([options.heddle, "compile", "model.onnx", "-o", "model.heddle", "--target", "cpu:x86-64-v3"],
                           cwd=folder, env=environment, stderr=subprocess.DEVNULL, check=True)
            fixtures.make_artifacts(folder)
        elif options.artifact_tool:
            files = ("model.heddle", "shaders.heddle", "candidates.heddle")
            subprocess.run([options.artifact_tool, *(folder / name for name in files)], check=True)
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
