#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Executes the examples in the op descriptions of a dialect: each must parse, verify, and survive a round trip through
the generic form.

    op_examples.py OPS_TD HEDDLE_OPT

An example is a block fenced by ```mlir. Where it isn't a function, it becomes the body of one whose arguments are the
values that it uses but doesn't define: their types are written inline (`%v : type`) or, in order, after the last colon.
"""

import pathlib
import re
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools/dev"))
sys.dont_write_bytecode = True
from tablegen import records  # noqa: E402


def split_types(text):
    """The types of a comma-separated list, of which a tensor's may contain no comma at depth 0."""
    types, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "<([") - (character in ">)]")
        if character == "," and depth == 0:
            types.append(text[start:position].strip())
            start = position + 1
    return [*types, text[start:].strip()] if text.strip() else []


def wrap(example):
    """EXAMPLE as a function; its operands' types are those before the last arrow."""
    if "func.func" in example:
        return example
    inline = dict(re.findall(r"(%\w+) : (tensor<[^>]*>)", example))
    signature = example.rsplit(" : (", 1)[-1] if " : (" in example else ""
    listed = split_types(re.split(r"\)\s*->", signature)[0]) if signature else []
    defined = {name for names in re.findall(r"^\s*((?:%\w+(?:, )?)+) =", example, re.M) for name in names.split(", ")}
    used = [name for name in dict.fromkeys(re.findall(r"%\w+", example)) if name not in defined]
    types = iter(listed)
    arguments = [f"{name}: {inline.get(name) or next(types, 'untyped')}" for name in used]
    return f"func.func @example({', '.join(arguments)}) {{\n{example}\nreturn\n}}\n"


def opt(tool, text, *flags):
    """Output and errors of heddle-opt."""
    run = subprocess.run([tool, *flags], input=text, capture_output=True, text=True, timeout=60)
    return run.stdout if run.returncode == 0 else None, run.stderr


def fault(tool, name, example):
    """What is wrong with one example, or None."""
    if name not in example:
        return "its example doesn't contain it"
    direct, errors = opt(tool, wrap(example))
    if direct is None:
        return f"its example is refused:\n{errors}"
    generic, _ = opt(tool, direct, "--mlir-print-op-generic")
    back, errors = opt(tool, generic)
    return None if back == direct else f"its example changes in a round trip:\n{errors}"


def main(path, tool):
    faults = examples = 0
    for record in records(path, "Op"):
        name = pathlib.Path(path).parent.name + "." + record["opName"]
        blocks = re.findall(r"```mlir\n(.*?)```", record["description"], re.S)
        problems = [fault(tool, name, block) for block in blocks] or ["it has no example"]
        examples += len(blocks)
        for problem in filter(None, problems):
            faults += 1
            print(f"{path}: {name}: {problem}")
    print(f"{examples} examples, {faults} faults")
    return 1 if faults or not examples else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
