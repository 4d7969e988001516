# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records of the repository's TableGen files, read by llvm-tblgen itself."""

import json
import subprocess

from files import ROOT

LLVM = "/usr/lib/llvm-19"


def records(path, base):
    """The records of PATH that derive from BASE and are defined there or in files of ours that it includes."""
    command = [f"{LLVM}/bin/llvm-tblgen", "-dump-json", "-I", f"{LLVM}/include", "-I", ROOT, ROOT / path]
    dump = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [dump[name] for name in dump["!instanceof"].get(base, []) if not name.startswith("anonymous")]
