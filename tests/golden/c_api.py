# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run through the C API, for the golden cases of the C API: `c_api.py [--OPTION=VALUE]... ARTIFACT ARRAY.npy...`,
inputs in order, `-` for one that is left out. Options are fields of heddle_program_options_t.

Prints the status in the form of the command's errors, or the outputs' shapes. What else appears on standard output or
standard error would be the library's own, which promises to print nothing.
"""

import ctypes
import os
import sys

import numpy as np

TYPES = ["float32", "float64", "float16", None, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
         "uint64", "bool"]

PARTS = ["error_code", "message", "context", "help"]

api = ctypes.CDLL(os.environ["HEDDLE_LIBRARY"])
for name in PARTS:
    function = getattr(api, f"heddle_status_{name}")
    function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_char_p
api.heddle_tensor_dims.restype = ctypes.POINTER(ctypes.c_int64)
api.heddle_tensor_rank.restype = ctypes.c_size_t
for name in ("program_load", "session_create", "session_run", "tensor_wrap"):
    getattr(api, f"heddle_{name}").restype = ctypes.c_void_p


def check(status):
    """Prints STATUS and leaves with the code of its kind, unless it is success."""
    if not status:
        return
    part = {name: getattr(api, f"heddle_status_{name}")(status).decode() for name in PARTS}
    print(f"error[{part['error_code']}]: {part['message']}", file=sys.stderr)
    if part["context"]:
        print("  " + part["context"], file=sys.stderr)
    if part["help"]:
        print("  help: " + part["help"], file=sys.stderr)
    code = api.heddle_status_code(ctypes.c_void_p(status))
    api.heddle_status_release(ctypes.c_void_p(status))
    sys.exit(code)


def wrap(array):
    """A tensor over ARRAY's memory, which must outlive it."""
    tensor = ctypes.c_void_p()
    dims = (ctypes.c_int64 * array.ndim)(*array.shape)
    check(api.heddle_tensor_wrap(TYPES.index(array.dtype.name), ctypes.c_size_t(array.ndim), dims,
                                 ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), None, None,
                                 ctypes.byref(tensor)))
    return tensor


class ProgramOptions(ctypes.Structure):
    _fields_ = [("device", ctypes.c_char_p), ("target", ctypes.c_char_p), ("weights", ctypes.c_int),
                ("verify_checksums", ctypes.c_int), ("inspect_only", ctypes.c_int), ("thread_pool", ctypes.c_void_p),
                ("vulkan_device", ctypes.c_void_p)]


def parse(arguments):
    """The program's options and what is left of ARGUMENTS."""
    options = ProgramOptions()
    while arguments[0].startswith("--"):
        name, value = arguments.pop(0)[2:].split("=")
        setattr(options, name, int(value) if value.isdigit() else value.encode())
    return options, arguments


def main():
    program, session = ctypes.c_void_p(), ctypes.c_void_p()
    options, arguments = parse(sys.argv[1:])
    check(api.heddle_program_load(os.fsencode(arguments[0]), ctypes.byref(options), ctypes.byref(program)))
    check(api.heddle_session_create(program, ctypes.byref(session)))
    arrays = [None if path == "-" else np.ascontiguousarray(np.load(path)) for path in arguments[1:]]
    inputs = (ctypes.c_void_p * len(arrays))(*[None if array is None else wrap(array) for array in arrays])
    outputs = (ctypes.c_void_p * 1)()
    check(api.heddle_session_run(session, None, inputs, ctypes.c_size_t(len(arrays)), outputs, ctypes.c_size_t(1)))
    output = ctypes.c_void_p(outputs[0])
    print(api.heddle_tensor_dims(output)[:api.heddle_tensor_rank(output)])


main()
