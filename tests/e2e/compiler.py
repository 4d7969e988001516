# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libheddle-compiler.so through ctypes: many small models are compiled in one process, where a command each would spend
its time on starting. The declarations mirror compiler/driver/heddle_compiler.h.
"""

import ctypes

import heddle

text = ctypes.c_char_p

# HEDDLE_COMPILER_API_VERSION of the header that is mirrored here.
API_VERSION = 9


class Options(ctypes.Structure):
    _fields_ = [("model_path", text), ("output_path", text), ("targets", text), ("shapes", ctypes.POINTER(text)),
                ("shape_count", ctypes.c_size_t), ("bucket", text), ("precision", text), ("quantize", text),
                ("embedding", text), ("excludes", ctypes.POINTER(text)), ("exclude_count", ctypes.c_size_t),
                ("no_measure", ctypes.c_int), ("max_loss", ctypes.c_double), ("samples", ctypes.c_void_p),
                ("samples_user", ctypes.c_void_p), ("no_pair_safe", ctypes.c_int), ("attention_int8", text),
                ("compile_to", text), ("dump_phases_to", text), ("report_path", text), ("thread_count", ctypes.c_uint),
                ("no_fusion", ctypes.c_int), ("tunings", ctypes.POINTER(text)), ("tuning_count", ctypes.c_size_t),
                ("user_tuning_count", ctypes.c_size_t), ("no_tuning", ctypes.c_int), ("devices", ctypes.POINTER(text)),
                ("device_count", ctypes.c_size_t), ("progress", ctypes.c_void_p), ("progress_user", ctypes.c_void_p)]


def load_library():
    """The library with the types of the functions used here."""
    library = ctypes.CDLL(str(heddle.BUILD / "lib/libheddle-compiler.so"))
    pointer = ctypes.POINTER(ctypes.c_void_p)
    if library.heddle_compiler_api_version() != API_VERSION:
        raise AssertionError("heddle_compiler.h has changed: change its mirror in this file")
    library.heddle_compiler_compile.restype = ctypes.c_int
    library.heddle_compiler_compile.argtypes = [ctypes.POINTER(Options), pointer, pointer]
    library.heddle_compiler_free.restype = None
    library.heddle_compiler_free.argtypes = [ctypes.c_void_p]
    return library


LIBRARY = load_library()


def compile_model(model, output, threads=1):
    """Compiles MODEL into OUTPUT for this host. Gives the exit code and the errors' text."""
    options = Options(model_path=str(model).encode(), output_path=str(output).encode(), thread_count=threads)
    errors = ctypes.c_void_p()
    code = LIBRARY.heddle_compiler_compile(ctypes.byref(options), None, ctypes.byref(errors))
    message = ctypes.string_at(errors.value).decode() if errors.value else ""
    LIBRARY.heddle_compiler_free(errors)
    return code, message
