# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libheddle.so through ctypes: as much of runtime/include/heddle/heddle.h as timing an artifact takes."""

import ctypes

import numpy as np

size_t, i64, text, handle = ctypes.c_size_t, ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p
# The element types that models here have, by their values in heddle_element_type_t.
TYPES = {0: np.dtype(np.float32), 7: np.dtype(np.int64)}
NUMBERS = {dtype: number for number, dtype in TYPES.items()}
WEIGHTS = {"map": 0, "copy": 1}


class Dimension(ctypes.Structure):
    _fields_ = [("symbol", text), ("value", i64)]


class TensorInfo(ctypes.Structure):
    _fields_ = [("name", text), ("type", ctypes.c_int), ("rank", size_t), ("dims", ctypes.POINTER(Dimension))]


class EntryInfo(ctypes.Structure):
    _fields_ = [("name", text), ("inputs", ctypes.POINTER(TensorInfo)), ("input_count", size_t),
                ("outputs", ctypes.POINTER(TensorInfo)), ("output_count", size_t), ("dispatch_count", size_t),
                ("specializes", text)]


class ProgramInfo(ctypes.Structure):
    _fields_ = [("format_version", ctypes.c_uint32), ("executable_abi_version", ctypes.c_uint32),
                ("file_bytes", ctypes.c_uint64), ("program_bytes", ctypes.c_uint64),
                ("constant_bytes", ctypes.c_uint64), ("producer", text), ("model", text),
                ("options", handle), ("option_count", size_t), ("sections", handle), ("section_count", size_t),
                ("targets", handle), ("target_count", size_t), ("kernels", handle), ("kernel_count", size_t),
                ("entries", ctypes.POINTER(EntryInfo)), ("entry_count", size_t)]


class ProgramOptions(ctypes.Structure):
    _fields_ = [("device", text), ("target", text), ("weights", ctypes.c_int), ("verify_checksums", ctypes.c_int),
                ("inspect_only", ctypes.c_int), ("thread_pool", handle), ("vulkan_device", handle)]


class DispatchInfo(ctypes.Structure):
    _fields_ = [("index", size_t), ("kernel", text), ("root", text), ("nodes", handle), ("node_count", size_t),
                ("results", handle), ("result_count", size_t), ("items", i64), ("flops", i64), ("bytes", i64),
                ("nanoseconds", i64)]


Observer = ctypes.CFUNCTYPE(None, handle, ctypes.POINTER(DispatchInfo))


class Library:
    """The functions of libheddle.so at PATH. A failing status becomes a RuntimeError with its message."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        pointer = ctypes.POINTER
        for name, result, arguments in (
                ("status_message", text, [handle]), ("status_release", None, [handle]),
                ("tensor_wrap", handle, [ctypes.c_int, size_t, pointer(i64), handle, size_t, handle, handle,
                                         pointer(handle)]),
                ("tensor_type", ctypes.c_int, [handle]), ("tensor_rank", size_t, [handle]),
                ("tensor_dims", pointer(i64), [handle]), ("tensor_data", handle, [handle]),
                ("tensor_byte_length", size_t, [handle]),
                ("thread_pool_create", handle, [ctypes.c_uint, pointer(handle)]),
                ("program_load", handle, [text, pointer(ProgramOptions), pointer(handle)]),
                ("program_info", pointer(ProgramInfo), [handle]),
                ("session_create", handle, [handle, pointer(handle)]),
                ("session_set_observer", None, [handle, Observer, handle]),
                ("session_run", handle, [handle, text, pointer(handle), size_t, pointer(handle), size_t])):
            function = getattr(self.library, f"heddle_{name}")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)

    def check(self, status):
        if status:
            message = self.status_message(status).decode()
            self.status_release(status)
            raise RuntimeError(message)


class Program:
    """An artifact with a session and a pool of its own, which live as long as the process."""

    def __init__(self, library, artifact, threads, weights="map", device=None):
        self.library = library
        self.pool, self.program, self.session = handle(), handle(), handle()
        library.check(library.thread_pool_create(threads, ctypes.byref(self.pool)))
        options = ProgramOptions(weights=WEIGHTS[weights], thread_pool=self.pool, device=device and device.encode())
        library.check(library.program_load(str(artifact).encode(), ctypes.byref(options), ctypes.byref(self.program)))
        library.check(library.session_create(self.program, ctypes.byref(self.session)))
        entry = library.program_info(self.program).contents.entries[0]
        self.inputs = [entry.inputs[i].name.decode() for i in range(entry.input_count)]
        self.outputs = [entry.outputs[i].name.decode() for i in range(entry.output_count)]

    def wrap(self, array):
        """The address of a tensor over the memory of ARRAY."""
        out, dims = handle(), (i64 * array.ndim)(*array.shape)
        self.library.check(self.library.tensor_wrap(NUMBERS[array.dtype], array.ndim, dims, array.ctypes.data,
                                                    array.nbytes, None, None, ctypes.byref(out)))
        return out.value

    def view(self, tensor):
        """The memory of TENSOR as an array."""
        library = self.library
        shape = library.tensor_dims(tensor)[:library.tensor_rank(tensor)]
        memory = (ctypes.c_char * library.tensor_byte_length(tensor)).from_address(library.tensor_data(tensor))
        return np.frombuffer(memory, TYPES[library.tensor_type(tensor)]).reshape(shape)

    def bind(self, feeds, output):
        """A function that runs once on FEEDS and gives the array OUTPUT, which later runs overwrite."""
        # The tensors have no memory of their own.
        self.arrays = [np.ascontiguousarray(feeds[name]) for name in self.inputs]
        self.tensors = (handle * len(self.arrays))(*[self.wrap(array) for array in self.arrays])
        results = (handle * len(self.outputs))()
        arguments = (self.session, None, self.tensors, len(self.arrays), results, len(results))
        place, array = self.outputs.index(output), None

        def run():
            nonlocal array
            self.library.check(self.library.session_run(*arguments))
            if array is None:  # made by the first run
                array = self.view(results[place])
            return array

        return run

    def observe(self, run):
        """The dispatches of one call of RUN in order: kernel's name, root, operations, seconds."""
        seen = []

        @Observer
        def note(_, dispatch):
            info = dispatch.contents
            seen.append((info.kernel.decode(), info.root.decode(), info.flops, info.nanoseconds / 1e9))

        self.library.session_set_observer(self.session, note, None)
        run()
        self.library.session_set_observer(self.session, Observer(), None)
        return seen
