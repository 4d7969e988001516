# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Artifacts of `heddle tune --export-candidates`, through runtime/include/heddle/candidates.h."""

import ctypes
import dataclasses
import json
import pathlib
import time

from heddle_library import Library, Program, ProgramOptions, handle, size_t, text

TIMING = 0


class Candidate(ctypes.Structure):
    _fields_ = [("entry", text), ("config", text), ("seconds", ctypes.c_double)]


class CandidateGroup(ctypes.Structure):
    _fields_ = [("signature", text), ("rows", text), ("kernel", text), ("nodes", handle), ("node_count", size_t),
                ("share", ctypes.c_double), ("dispatches", size_t), ("has_expected", ctypes.c_int),
                ("input_count", size_t), ("output_count", size_t), ("candidates", ctypes.POINTER(Candidate)),
                ("candidate_count", size_t)]


@dataclasses.dataclass
class Group:
    signature: str
    rows: str
    inputs: int
    outputs: int
    entries: list
    configs: list


def library_of(build):
    library = Library(pathlib.Path(build) / "lib/libheddle.so")
    pointer = ctypes.POINTER
    for name, result, arguments in (
            ("candidate_group", pointer(CandidateGroup), [handle, size_t]),
            ("candidate_inputs_create", handle, [handle, size_t, ctypes.c_int, pointer(handle), size_t])):
        function = getattr(library.library, f"heddle_{name}")
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library


def load(build, artifact, threads, device):
    return Program(library_of(build), artifact, threads, device=device)


def groups(build, artifact):
    """The groups of ARTIFACT, those that take most time first; needs no device."""
    library, program = library_of(build), handle()
    options = ProgramOptions(inspect_only=1)
    library.check(library.program_load(str(artifact).encode(), ctypes.byref(options), ctypes.byref(program)))
    found = []
    while group := library.candidate_group(program, len(found)):
        info = group.contents
        own = [info.candidates[i] for i in range(info.candidate_count)]
        found.append(Group(info.signature.decode(), info.rows.decode(), info.input_count, info.output_count,
                           [candidate.entry for candidate in own], [json.loads(candidate.config) for candidate in own]))
    return found


def runs(program, index, group):
    """A function for each candidate of GROUP, number INDEX of PROGRAM, that runs it once."""
    library, inputs = program.library, (handle * group.inputs)()
    library.check(library.candidate_inputs_create(program.program, index, TIMING, inputs, group.inputs))
    outputs = (handle * group.outputs)()

    def make(entry):
        arguments = (program.session, entry, inputs, group.inputs, outputs, group.outputs)
        return lambda: library.check(library.session_run(*arguments))

    return [make(entry) for entry in group.entries]


def seconds(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin
