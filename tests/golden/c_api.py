# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One run through the C API, for the golden cases of the C API: `c_api.py ARTIFACT ARRAY.npy...`, inputs in order.

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


def main():
    program, session = ctypes.c_void_p(), ctypes.c_void_p()
    check(api.heddle_program_load(os.fsencode(sys.argv[1]), None, ctypes.byref(program)))
    check(api.heddle_session_create(program, ctypes.byref(session)))
    arrays = [np.ascontiguousarray(np.load(path)) for path in sys.argv[2:]]
    inputs = (ctypes.c_void_p * len(arrays))(*[wrap(array) for array in arrays])
    outputs = (ctypes.c_void_p * 1)()
    check(api.heddle_session_run(session, None, inputs, ctypes.c_size_t(len(arrays)), outputs, ctypes.c_size_t(1)))
    output = ctypes.c_void_p(outputs[0])
    print(api.heddle_tensor_dims(output)[:api.heddle_tensor_rank(output)])


main()
