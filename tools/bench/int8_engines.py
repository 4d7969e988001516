# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engines' INT8 twins: the same models quantised as each engine's documentation recommends, and Heddle's schemes.

Functions as in engines.py. What an engine's own tools make of a model is kept in the scratch folder beside it.
"""

import pathlib
import sys

import engines


def heddle_w8a8(job, form, feeds):
    return engines.heddle(job, form, feeds, "w8a8", ("--quantize", "w8a8"))


def quantized(kind, job, form, suffix, *calibration):
    """FORM with its model quantised by KIND."""
    model = pathlib.Path(form["model"])
    target = pathlib.Path(job["folder"]) / f"{model.stem}.{kind}.{suffix}"
    tool = pathlib.Path(__file__).with_name("quantize.py")
    seconds = 0.0
    if not engines.is_fresh(target, model, tool, *calibration):
        seconds = engines.finished([sys.executable, "-B", tool, kind, model, target, *calibration])
    return {**form, "model": str(target)}, seconds


def run_quantized(engine, kind, job, form, feeds, suffix, *calibration):
    form, seconds = quantized(kind, job, form, suffix, *calibration)
    loaded = engine(job, form, feeds)
    loaded.compile_s = seconds
    return loaded


def onnxruntime_dynamic(job, form, feeds):
    return run_quantized(engines.onnxruntime, "onnxruntime-dynamic", job, form, feeds, "onnx")


def onnxruntime_static(job, form, feeds):
    return run_quantized(engines.onnxruntime, "onnxruntime-static", job, form, feeds, "onnx", job["calibration"])


def openvino_weights(job, form, feeds):
    return run_quantized(engines.openvino, "openvino-weights", job, form, feeds, "xml")


def openvino_static(job, form, feeds):
    return run_quantized(engines.openvino, "openvino-static", job, form, feeds, "xml", job["calibration"])


def ctranslate2_int8(job, form, feeds):
    # It quantises the f32 weights as it loads them, and every row of the activations as it comes.
    return engines.ctranslate2(job, form, feeds, "int8")
