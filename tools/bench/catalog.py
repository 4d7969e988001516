# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engines by name: which there are, which of them are quantised, what each can take. Imports none of them."""

import importlib

# heddle-copy: with --weights=copy.
ENGINES = ("heddle", "heddle-copy", "onnxruntime", "openvino", "ctranslate2", "iree", "torch")
# The same engines with the model in INT8; each has its own way, some have two.
TWINS = {"heddle": ("heddle-w8a8", "heddle-w8a32"), "onnxruntime": ("onnxruntime-dynamic", "onnxruntime-static"),
         "openvino": ("openvino-weights", "openvino-static"), "ctranslate2": ("ctranslate2-int8",)}
QUANTIZED = tuple(twin for twins in TWINS.values() for twin in twins)
# What makes their models is a package of its own.
NEEDS_NNCF = TWINS["openvino"]
# The engines that run on Vulkan, of which no comparison on a CPU says anything.
VULKAN = ("heddle-vulkan", "ncnn")
# What an engine reads: ONNX files, or, where it is named here, another part of the job. Only what has weights can be
# quantised, and only that comes with inputs for calibration.
NEEDS = {"ctranslate2": "bert", "torch": "attention", **dict.fromkeys(QUANTIZED, "calibration"),
         "ctranslate2-int8": "bert", "ncnn": "product"}
READS_NO_ONNX = ("ctranslate2", "ctranslate2-int8", "torch", "ncnn")


def package_of(engine):
    """The part of requirements.txt that ENGINE or its twin needs."""
    return engine.split("-")[0]


def is_ours(engine):
    return package_of(engine) == "heddle"


def with_twins(engines):
    """ENGINES and those of their twins that aren't among them."""
    return list(dict.fromkeys([*engines, *(twin for engine in engines for twin in TWINS.get(engine, ()))]))


def forms_for(engine, job):
    """The forms of the job's model to try; none where the engine can't take it at all."""
    if NEEDS.get(engine, "forms") not in job:
        return []
    forms = list(job["forms"].values())
    # Those take the inputs alone.
    return [next(form for form in forms if form["layout"] == "BNSD")] if engine in READS_NO_ONNX else forms


def load(engine, job, form, feeds):
    """ENGINE with FORM of the job's model, ready to run: see engines.Loaded."""
    module = "int8_engines" if engine in QUANTIZED else "vulkan_engines" if engine in VULKAN else "engines"
    return getattr(importlib.import_module(module), engine.replace("-", "_"))(job, form, feeds)
