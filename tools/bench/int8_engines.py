# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engines' INT8 twins: the same models quantised as each engine's documentation recommends, and Heddle's schemes.

Functions as in engines.py. What an engine's own tools make of a model is kept in the scratch folder beside it.
"""

import pathlib
import sys

import engines


def heddle_w8a8(job, form, feeds):
    return engines.heddle(job, form, feeds, "w8a8", ("--quantize", "w8a8"))


def heddle_w8a32(job, form, feeds):
    return engines.heddle(job, form, feeds, "w8a32", ("--quantize", "w8a32"))


def quantized(engine, kind, job, form, feeds):
    """ENGINE with FORM's model quantised by KIND."""
    model = pathlib.Path(form["model"])
    target = pathlib.Path(job["folder"]) / f"{model.stem}.{kind}{'.xml' if engine is engines.openvino else '.onnx'}"
    tool, seconds = pathlib.Path(__file__).with_name("quantize.py"), 0.0
    if not engines.is_fresh(target, model, tool, *job["calibration"]):
        seconds = engines.finished([sys.executable, "-B", tool, kind, model, target, *job["calibration"]])
    loaded = engine(job, {**form, "model": str(target)}, feeds)
    loaded.compile_s = seconds
    return loaded


def onnxruntime_dynamic(job, form, feeds):
    return quantized(engines.onnxruntime, "onnxruntime-dynamic", job, form, feeds)


def onnxruntime_static(job, form, feeds):
    return quantized(engines.onnxruntime, "onnxruntime-static", job, form, feeds)


def openvino_weights(job, form, feeds):
    return quantized(engines.openvino, "openvino-weights", job, form, feeds)


def openvino_static(job, form, feeds):
    return quantized(engines.openvino, "openvino-static", job, form, feeds)


def ctranslate2_int8(job, form, feeds):
    # It quantises the f32 weights as it loads them, and every row of the activations as it comes.
    return engines.ctranslate2(job, form, feeds, "int8")
