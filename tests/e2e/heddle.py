# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libheddle.so through ctypes: one process loads an artifact once and runs it many times, which the command can't.

The declarations mirror runtime/include/heddle/heddle.h; what a test doesn't need isn't here, and structures are those
of tools/bench. HEDDLE_BUILD_DIR leads to the build.
"""

import ctypes
import os
import pathlib
import sys

import ml_dtypes
import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tools/bench"))
from heddle_library import ProgramInfo, ProgramOptions, handle, i64, size_t, text  # noqa: E402

BUILD = pathlib.Path(os.environ["HEDDLE_BUILD_DIR"])
MAX_RANK = 8
# heddle_element_type_t by value
TYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int32, np.int64, np.uint8,
         np.uint16, np.uint32, np.uint64, np.bool_]


class Error(Exception):
    """A status other than success: its code ("H0301") and its message."""


def load_library():
    """libheddle.so with the types of the functions used here."""
    library = ctypes.CDLL(str(BUILD / "lib/libheddle.so"))
    pointer = ctypes.POINTER
    signatures = {
        "heddle_status_error_code": (text, [handle]),
        "heddle_status_message": (text, [handle]),
        "heddle_status_release": (None, [handle]),
        "heddle_tensor_wrap": (handle, [ctypes.c_int, size_t, pointer(i64), handle, size_t, handle, handle,
                                        pointer(handle)]),
        "heddle_tensor_release": (None, [handle]),
        "heddle_tensor_type": (ctypes.c_int, [handle]),
        "heddle_tensor_rank": (size_t, [handle]),
        "heddle_tensor_dims": (pointer(i64), [handle]),
        "heddle_tensor_data": (handle, [handle]),
        "heddle_tensor_byte_length": (size_t, [handle]),
        "heddle_thread_pool_create": (handle, [ctypes.c_uint, pointer(handle)]),
        "heddle_thread_pool_release": (None, [handle]),
        "heddle_program_load": (handle, [text, pointer(ProgramOptions), pointer(handle)]),
        "heddle_program_release": (None, [handle]),
        "heddle_program_info": (pointer(ProgramInfo), [handle]),
        "heddle_session_create": (handle, [handle, pointer(handle)]),
        "heddle_session_release": (None, [handle]),
        "heddle_candidate_inputs_create": (handle, [handle, size_t, ctypes.c_int, pointer(handle), size_t]),
        "heddle_candidate_compare": (handle, [handle, size_t, pointer(handle), size_t, pointer(ctypes.c_double)]),
        "heddle_session_run": (handle, [handle, text, pointer(handle), size_t, pointer(handle), size_t]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


LIBRARY = load_library()


def check(status):
    """Raises Error unless STATUS is success."""
    if status:
        code, message = LIBRARY.heddle_status_error_code(status), LIBRARY.heddle_status_message(status)
        error = Error(code.decode(), message.decode())
        LIBRARY.heddle_status_release(status)
        raise error


def to_tensor(array):
    """A tensor over the memory of ARRAY, which must be contiguous and outlive it."""
    dims = (i64 * MAX_RANK)(*array.shape)
    out = handle()
    # An empty array may have no memory of its own; the runtime wants an address all the same.
    check(LIBRARY.heddle_tensor_wrap(TYPES.index(array.dtype.type), array.ndim, dims, array.ctypes.data, array.nbytes,
                                     None, None, ctypes.byref(out)))
    return out


def to_array(tensor):
    """A copy of TENSOR as an array; releases the tensor."""
    shape = LIBRARY.heddle_tensor_dims(tensor)[:LIBRARY.heddle_tensor_rank(tensor)]
    data = ctypes.string_at(LIBRARY.heddle_tensor_data(tensor), LIBRARY.heddle_tensor_byte_length(tensor))
    array = np.frombuffer(data, TYPES[LIBRARY.heddle_tensor_type(tensor)]).reshape(shape)
    LIBRARY.heddle_tensor_release(tensor)
    return array


class Program:
    """An artifact with one session: `program.run(input_ids=..., attention_mask=...)` gives a dictionary of outputs."""

    def __init__(self, path, threads=0, weights=0, target=None, device=None):
        self.pool, self.program, self.session = handle(), handle(), handle()
        check(LIBRARY.heddle_thread_pool_create(threads, ctypes.byref(self.pool)))
        options = ProgramOptions(weights=weights, thread_pool=self.pool, target=target and target.encode(),
                                 device=device and device.encode())
        check(LIBRARY.heddle_program_load(str(path).encode(), ctypes.byref(options), ctypes.byref(self.program)))
        check(LIBRARY.heddle_session_create(self.program, ctypes.byref(self.session)))
        entry = LIBRARY.heddle_program_info(self.program).contents.entries[0]
        self.inputs = [entry.inputs[i].name.decode() for i in range(entry.input_count)]
        self.outputs = [entry.outputs[i].name.decode() for i in range(entry.output_count)]

    def run(self, feeds):
        """Outputs by name for FEEDS, arrays by name."""
        unknown = set(feeds) - set(self.inputs)
        if unknown:
            raise Error("", f"no inputs {unknown}, but {self.inputs}")
        # Not ascontiguousarray, which gives a scalar a dimension. What is left out is null: its default stands.
        arrays = [np.array(feeds[name], order="C") if name in feeds else None for name in self.inputs]
        tensors = (handle * len(arrays))(*[None if array is None else to_tensor(array).value for array in arrays])
        results = (handle * len(self.outputs))()
        try:
            check(LIBRARY.heddle_session_run(self.session, None, tensors, len(arrays), results, len(results)))
        finally:
            for tensor in tensors:
                LIBRARY.heddle_tensor_release(tensor)
        return {name: to_array(tensor) for name, tensor in zip(self.outputs, results)}

    def close(self):
        """Gives everything up; the program can't be used afterwards."""
        LIBRARY.heddle_session_release(self.session)
        LIBRARY.heddle_program_release(self.program)
        LIBRARY.heddle_thread_pool_release(self.pool)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
