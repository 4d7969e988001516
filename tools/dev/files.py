# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The files of the repository, for the checks beside this one."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def git(*arguments):
    """Output lines of a git command in the repository."""
    run = subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True, text=True)
    return run.stdout.splitlines()


# Inputs of fuzzers: bytes, whatever they look like.
CORPUS = "tests/fuzz/corpus/"


def files():
    """Paths of all texts that are tracked or would be, from the root."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard")
    return sorted(name for name in names if (ROOT / name).is_file() and not name.startswith(CORPUS))


def sources(*suffixes):
    """Those whose name ends in one of SUFFIXES."""
    return [name for name in files() if name.endswith(suffixes)]
