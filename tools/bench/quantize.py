# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Quantises a model as another engine's own tools do: `quantize.py KIND MODEL.onnx TARGET CALIBRATION.npz...`.

In a process of its own: these tools import a lot and hold the model several times, which the engine's process must not.
"""

import pathlib
import sys
import tempfile

import numpy as np


def samples(paths):
    """One by one, the inputs that each of PATHS holds as a batch."""
    batches = [dict(np.load(path)) for path in paths]
    return [{name: value[i:i + 1] for name, value in feeds.items()}
            for feeds in batches for i in range(len(next(iter(feeds.values()))))]


def onnxruntime_dynamic(model, target, _):
    """u8 activations with a range for the whole tensor, found at run time; s8 weights with a scale per channel."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(model, target, weight_type=QuantType.QInt8, per_channel=True)


def onnxruntime_static(model, target, calibration):
    """Q/DQ with ranges from calibration."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        left = iter(samples(calibration))

        def get_next(self):
            return next(self.left, None)

    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        prepared = pathlib.Path(folder) / "prepared.onnx"
        # What onnxruntime itself asks for first.
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        # Products of weights alone: with all operators, its default, MiniLM takes 1.2 times as long and is half as
        # much again off.
        quantize_static(prepared, target, Reader(), quant_format=QuantFormat.QDQ, per_channel=True,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8,
                        op_types_to_quantize=["MatMul", "Gemm", "Conv"], extra_options={"MatMulConstBOnly": True})


def openvino_weights(model, target, _):
    """Weights of 8 bits and a scale per channel; activations as the engine likes."""
    import nncf
    import openvino

    openvino.save_model(nncf.compress_weights(openvino.Core().read_model(model)), target, compress_to_fp16=False)


def openvino_static(model, target, calibration):
    """Post-training quantisation with the settings for transformers."""
    import nncf
    import openvino

    data = samples(calibration)
    quantized = nncf.quantize(openvino.Core().read_model(model), nncf.Dataset(data), subset_size=len(data),
                              model_type=nncf.ModelType.TRANSFORMER)
    openvino.save_model(quantized, target, compress_to_fp16=False)


KINDS = {function.__name__.replace("_", "-"): function
         for function in (onnxruntime_dynamic, onnxruntime_static, openvino_weights, openvino_static)}


def main():
    # nncf would import PyTorch where that is installed, for models that are none of ours.
    sys.modules["torch"] = None
    kind, model, target, *calibration = sys.argv[1:]
    KINDS[kind](pathlib.Path(model), pathlib.Path(target), calibration)


if __name__ == "__main__":
    main()
