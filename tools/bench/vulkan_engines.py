# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engines that run on a Vulkan device; engines.py says what a job, a form and the result are."""

import pathlib
import time

import numpy as np

import engines

DEVICE = "vulkan"


def program(build, model, folder):
    """Heddle's program of MODEL on the Vulkan device, the seconds of loading and of compiling it."""
    from heddle_library import Library, Program

    name = f"{pathlib.Path(model).stem}.vulkan"
    artifact, compile_s = engines.heddle_artifact(build, model, folder, name, "--target", DEVICE)
    library = Library(pathlib.Path(build) / "lib/libheddle.so")
    begin = time.perf_counter()
    return Program(library, artifact, 1, device=DEVICE), time.perf_counter() - begin, compile_s


def heddle_vulkan(job, form, feeds):
    loaded, load_s, compile_s = program(job["build"], form["model"], job["folder"])
    return engines.Loaded(loaded.bind(feeds, job["output"]), load_s, compile_s)


def ncnn(job, form, feeds):
    """A chain of products, as ncnn's Gemm layers in f32."""
    import ncnn as engine

    if engine.get_gpu_count() == 0:
        raise RuntimeError("finds no Vulkan device")
    chain = np.load(job["product"])
    matrices = [chain[name] for name in chain.files]
    rows = feeds["x0"].shape[0]
    stem = pathlib.Path(form["model"]).with_suffix(".ncnn")
    lines = ["7767517", f"{len(matrices) + 1} {len(matrices) + 1}", "Input x0 0 1 x0"]
    for i, matrix in enumerate(matrices):
        depth, columns = matrix.shape
        # Neither factor transposed, the second one constant, no addend.
        lines.append(f"Gemm product{i} 1 1 x{i} x{i + 1} 2=0 3=0 5=1 7={rows} 8={columns} 9={depth} 10=-1")
    stem.with_suffix(".param").write_text("\n".join(lines) + "\n")
    with stem.with_suffix(".bin").open("wb") as file:
        for matrix in matrices:
            file.write(np.zeros(1, np.uint32).tobytes() + np.ascontiguousarray(matrix, np.float32).tobytes())
    begin = time.perf_counter()
    net = engine.Net()
    net.opt.use_vulkan_compute = True
    # f32 throughout, as ours.
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    if net.load_param(str(stem.with_suffix(".param"))) or net.load_model(str(stem.with_suffix(".bin"))):
        raise RuntimeError("can't load its own form of the product")
    load_s = time.perf_counter() - begin

    def run():
        extractor = net.create_extractor()
        extractor.input("x0", engine.Mat(feeds["x0"]))
        status, output = extractor.extract(job["output"])
        if status:
            raise RuntimeError(f"extract gives {status}")
        return np.array(output)

    return engines.Loaded(run, load_s)
