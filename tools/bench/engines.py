# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The engines: from a job (workloads.prepare) and one form of its model to a function that runs it once.

Each gets what its documentation recommends for latency: given threads, f32 throughout, inputs and outputs shared where
it can share them. All import their engine late: a process holds one engine, and one that is missing harms no other.
"""

import os
import pathlib
import subprocess
import sys
import time

import numpy as np

import isa


class Loaded:
    """A model ready to run: `run` gives the output as an array; `load_s` and `compile_s` are what that took."""

    def __init__(self, run, load_s, compile_s=0.0):
        self.run, self.load_s, self.compile_s = run, load_s, compile_s


def is_fresh(target, *sources):
    """Whether TARGET is there and no older than SOURCES."""
    target = pathlib.Path(target)
    return target.exists() and all(target.stat().st_mtime >= pathlib.Path(source).stat().st_mtime for source in sources)


def finished(command, **options):
    """Runs COMMAND; its last words are the reason where it fails. Returns its seconds."""
    begin = time.perf_counter()
    run = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if run.returncode:
        lines = [line for line in run.stderr.splitlines() if line.strip()]
        raise RuntimeError(next((line for line in lines if "error" in line), (lines or ["no message"])[-1])[:200])
    return time.perf_counter() - begin


def heddle_command(build, model, artifact, *options):
    """The command that compiles MODEL for what OPTIONS or the engines are held to, else for this machine."""
    target = ["--target", f"cpu:{isa.held()}"] if isa.held() and "--target" not in options else []
    return [pathlib.Path(build) / "bin/heddle", "compile", model, "-o", artifact, *target, *options]


def heddle_artifact(build, model, folder, name=None, *options):
    """The artifact of MODEL in FOLDER, compiled unless it is fresh, and the seconds that took."""
    build, model = pathlib.Path(build), pathlib.Path(model)
    artifact = pathlib.Path(folder) / ".".join(filter(None, [name or model.stem, isa.held(), "heddle"]))
    if is_fresh(artifact, model, build / "bin/heddle", *build.glob("lib/libheddle*.so")):
        return artifact, 0.0
    return artifact, finished(heddle_command(build, model, artifact, *options))


def heddle(job, form, feeds, scheme=None, options=(), weights="map"):
    """SCHEME names what OPTIONS make of the model; None: f32."""
    from heddle_library import Library, Program

    name = scheme and f"{pathlib.Path(form['model']).stem}.{scheme}"
    artifact, compile_s = heddle_artifact(job["build"], form["model"], job["folder"], name, *options)
    library = Library(pathlib.Path(job["build"]) / "lib/libheddle.so")
    begin = time.perf_counter()
    program = Program(library, artifact, job["task"]["threads"], weights)
    load_s = time.perf_counter() - begin
    return Loaded(program.bind(feeds, job["output"]), load_s, compile_s)


def heddle_copy(job, form, feeds):
    return heddle(job, form, feeds, weights="copy")


def onnxruntime(job, form, feeds):
    import onnxruntime as engine

    options = engine.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = job["task"]["threads"], 1
    options.log_severity_level = 3
    begin = time.perf_counter()
    session = engine.InferenceSession(form["model"], options, providers=["CPUExecutionProvider"])
    load_s = time.perf_counter() - begin
    return Loaded(lambda: session.run([job["output"]], feeds)[0], load_s)


def openvino(job, form, feeds):
    import openvino as engine

    begin = time.perf_counter()
    # Its default precision is bf16 where the CPU has that; ours is f32.
    request = engine.Core().compile_model(form["model"], "CPU", {
        "INFERENCE_NUM_THREADS": job["task"]["threads"], "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    load_s = time.perf_counter() - begin
    return Loaded(lambda: request.infer(feeds, share_inputs=True, share_outputs=True)[job["output"]], load_s)


def iree_fixed_model(job, form, feeds, target):
    """Writes the model with the shapes of FEEDS to TARGET: dynamic batch and length fail in IREE 3.13."""
    import onnx

    model = onnx.load(form["model"])
    sizes = {}
    for value in model.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape):
            if dimension.dim_param:
                sizes[dimension.dim_param] = size
                dimension.dim_value = size
    for value in model.graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            if dimension.dim_param in sizes:
                dimension.dim_value = sizes[dimension.dim_param]
    del model.graph.value_info[:]
    # Its importer wants every tensor's type; shape inference takes files below protobuf's 2 GB.
    onnx.save(onnx.shape_inference.infer_shapes(model, data_prop=True), target)


def iree(job, form, feeds):
    import onnx

    task, tools = job["task"], pathlib.Path(sys.executable).parent
    cpu = isa.held() or "host"
    stem = pathlib.Path(job["folder"]) / f"{pathlib.Path(form['model']).stem}.{task['batch']}x{task['length']}.{cpu}"
    fixed, mlir, module = (pathlib.Path(f"{stem}.{kind}") for kind in ("fixed.onnx", "mlir", "vmfb"))
    compile_s = 0.0
    if not is_fresh(module, form["model"]):
        iree_fixed_model(job, form, feeds, fixed)
        compile_s = finished([tools / "iree-import-onnx", fixed, "--opset-version", "17", "-o", mlir])
        # At its default limit of stack allocations whole models fail to compile for AVX2.
        compile_s += finished([tools / "iree-compile", mlir, "-o", module, "--iree-hal-target-device=local",
                               "--iree-hal-local-target-device-backends=llvm-cpu", f"--iree-llvmcpu-target-cpu={cpu}",
                               "--iree-opt-level=O3", "--iree-llvmcpu-stack-allocation-limit=262144"])
        fixed.unlink()
        mlir.unlink()
    os.environ["IREE_PY_RUNTIME_FLAGS"] = f"--task_topology_group_count={task['threads']}"
    import iree.runtime as engine

    begin = time.perf_counter()
    loaded = engine.load_vm_flatbuffer_file(str(module), driver="local-task")
    names = [name for name in loaded.vm_module.function_names if not name.startswith("__") and "$async" not in name]
    load_s = time.perf_counter() - begin
    graph = onnx.load(form["model"], load_external_data=False).graph
    place = [value.name for value in graph.output].index(job["output"])
    arguments = [feeds[value.name] for value in graph.input]

    def run():
        results = getattr(loaded, names[0])(*arguments)
        return np.asarray(results[place] if isinstance(results, tuple) else results)

    return Loaded(run, load_s, compile_s)


def ctranslate2_model(job, folder):
    """Writes CTranslate2's form of the job's BERT into FOLDER, from the weights that bert.py used."""
    import ctranslate2 as engine
    from ctranslate2.specs import common_spec, transformer_spec

    weights = np.load(job["bert"]["weights"])
    layers = sum(name.endswith("norm1.gain") for name in weights)
    encoder = transformer_spec.TransformerEncoderSpec(
        layers, job["bert"]["heads"], pre_norm=False, activation=common_spec.Activation.GELU, layernorm_embedding=True,
        num_source_embeddings=2, embeddings_merge=common_spec.EmbeddingsMerge.ADD)
    encoder.scale_embeddings = False

    def norm(spec, name):
        spec.gamma, spec.beta = weights[name + ".gain"], weights[name + ".bias"]

    def linear(spec, *names):
        spec.weight = np.concatenate([np.ascontiguousarray(weights[name + ".w"].T) for name in names])
        spec.bias = np.concatenate([weights[name + ".b"] for name in names])

    encoder.embeddings[0].weight, encoder.embeddings[1].weight = weights["embeddings.word"], weights["embeddings.type"]
    encoder.position_encodings.encodings = weights["embeddings.position"]
    norm(encoder.layernorm_embedding, "embeddings.norm")
    for i, layer in enumerate(encoder.layer):
        linear(layer.self_attention.linear[0], *(f"layer{i}.{name}" for name in ("query", "key", "value")))
        linear(layer.self_attention.linear[1], f"layer{i}.output")
        linear(layer.ffn.linear_0, f"layer{i}.intermediate")
        linear(layer.ffn.linear_1, f"layer{i}.narrow")
        norm(layer.self_attention.layer_norm, f"layer{i}.norm1")
        norm(layer.ffn.layer_norm, f"layer{i}.norm2")
    model = transformer_spec.TransformerEncoderModelSpec(encoder)
    model.config.layer_norm_epsilon = 1e-12
    model.register_vocabulary([f"token{i}" for i in range(len(weights["embeddings.word"]))])
    model.validate()
    model.optimize()
    folder.mkdir(exist_ok=True)
    model.save(str(folder))
    return engine


def ctranslate2(job, form, feeds, compute_type="float32"):
    # It would import PyTorch where that is installed, whose threads and OpenMP library would then disturb it.
    sys.modules["torch"] = None
    import ctranslate2 as engine

    weights = pathlib.Path(job["bert"]["weights"])
    folder = weights.with_suffix(".ctranslate2")
    if not is_fresh(folder / "model.bin", weights):
        ctranslate2_model(job, folder)
    begin = time.perf_counter()
    encoder = engine.Encoder(str(folder), device="cpu", compute_type=compute_type, inter_threads=1,
                             intra_threads=job["task"]["threads"])
    load_s = time.perf_counter() - begin
    ids = engine.StorageView.from_array(feeds["input_ids"].astype(np.int32))
    lengths = engine.StorageView.from_array(np.full(len(feeds["input_ids"]), feeds["input_ids"].shape[1], np.int32))
    types = feeds["token_type_ids"].tolist()
    return Loaded(lambda: np.asarray(encoder.forward_batch(ids, lengths, types).last_hidden_state), load_s)


def torch(job, form, feeds):
    import torch as engine

    engine.set_num_threads(job["task"]["threads"])
    tensors = [engine.from_numpy(feeds[name]) for name in ("query", "key", "value")]
    options = {"is_causal": job["attention"]["mask"] == "causal"}
    if job["attention"]["mask"] == "window":
        positions = engine.arange(job["task"]["length"])
        distance = positions[:, None] - positions[None]
        options = {"attn_mask": (distance >= 0) & (distance < job["attention"]["window"])}

    def run():
        with engine.no_grad():
            return engine.nn.functional.scaled_dot_product_attention(*tensors, **options).numpy()

    return Loaded(run, 0.0)
