#!/usr/bin/env python3
"""Writes the workloads: weights, input and expected output of each, and an ONNX model.

    python3 make_work.py FOLDER [NAME ...]      all workloads of models.py, or those named

Files newer than these scripts are kept. Needs torch (written with 1.13) and numpy, and onnx for the ONNX models.

<name>.safetensors  model.<key>: the parameters under their original names. input, output: computed in float64 by the model that
                    tests/train proves (a forecaster: tiny_time_mixer.py). A training has tokens, targets and losses instead:
                    the losses of its first steps, in float64. The metadata has config, a JSON object.
<name>.onnx         the model with fixed sizes and its weights
<name>.int8.onnx    the same, quantized
<name>.identity.onnx  returns an input of the same size unchanged, to measure the overhead of a call
works.json          title, training and number of threads of each workload
"""

import contextlib
import inspect
import json
import os
import sys

import models  # adds tests/ and tests/train/ to the path for the next imports
import mossformer2
import safetensors_file
import text_transformers
import tiny_time_mixer
import torch

AGREEMENT = 1e-10  # largest error allowed in float64, relative to the largest value


@contextlib.contextmanager
def whole(path):
    """Yields a temporary path and renames it to `path` at the end, because is_fresh() would accept a partial file."""
    yield path + ".tmp"
    os.replace(path + ".tmp", path)


def files(name, folder, with_onnx):
    endings = [".safetensors"]
    if with_onnx and not models.WORKS[name].training:
        endings += [".onnx", ".identity.onnx"] + ([".int8.onnx"] if models.WORKS[name].quantizes else [])
    return [os.path.join(folder, name + ending) for ending in endings]


def start(model, random):
    """Sets the parameters of `model` to random values, large enough to affect the output. Buffers keep their values."""
    state = model.state_dict()
    for name, parameter in model.named_parameters():
        shape = [size for size in parameter.shape if size > 1] or [1]  # a convolution of kernel size 1 is a linear layer
        state[name] = models.initial_value(name, shape, random).float().reshape(parameter.shape)
    model.load_state_dict(state)


def export(module, x, path):
    arguments = {"opset_version": 14, "input_names": ["input"], "output_names": ["output"]}
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        arguments["dynamo"] = False  # the dynamo exporter also needs onnxscript
    with whole(path) as unfinished:
        if x.is_floating_point():
            torch.onnx.export(module, x, unfinished, **arguments)
            return
        # Tracing keeps all results in memory, so the export uses a single text. Below, the batch size is set to len(x).
        import onnx

        torch.onnx.export(module, x[:1], unfinished, dynamic_axes={"input": {0: "batch"}, "output": {0: "batch"}}, **arguments)
        model = onnx.load(unfinished)
        for value in (*model.graph.input, *model.graph.output):
            value.type.tensor_type.shape.dim[0].dim_value = len(x)
        onnx.save(model, unfinished)


def quantize(path, quantized):
    import onnx
    import quantize_onnx

    with whole(quantized) as unfinished:
        onnx.save(quantize_onnx.quantize_dynamic(onnx.load(path)), unfinished)


def in_double_by_parts(model, x):
    """The output of a float64 model. Computes eight texts at a time, because all texts' attention scores need gigabytes."""
    if x.is_floating_point():
        return model(x.double())
    return torch.cat([model(part) for part in x.split(8)])


def expected(work, model, compute):
    """The result of `compute` on the reference model in float64. Exits if the timed model's result differs."""
    if work.kind == "ttm" and not tiny_time_mixer.prove() <= AGREEMENT:
        sys.exit(f"{work.title}: tiny_time_mixer.py is off by {tiny_time_mixer.prove():.1e}, expected at most {AGREEMENT:.0e}. "
                 "Correct it.")
    if work.kind in ("mossformer_block", "mossformer2_se", "kw_mlp") and not mossformer2.prove() <= AGREEMENT:
        sys.exit(f"{work.title}: mossformer2.py is off by {mossformer2.prove():.1e}, expected at most {AGREEMENT:.0e}. Correct it.")
    if work.kind in models.TEXTS and not text_transformers.prove() <= AGREEMENT:
        sys.exit(f"{work.title}: text_transformers.py is off by {text_transformers.prove():.1e}, expected at most {AGREEMENT:.0e}. "
                 "Correct it.")
    results = []
    for proven in (True, False):
        in_double = work.build(proven, torch.float64).eval()
        in_double.load_state_dict(model.state_dict())
        results.append(compute(in_double.double()))
    difference = ((results[1] - results[0]).abs().max() / results[0].abs().max()).item()
    if not difference <= AGREEMENT:
        sys.exit(f"{work.title}: the timed model is off by {difference:.1e}, expected at most {AGREEMENT:.0e}. "
                 "Correct models.py.")
    return results[0]


def write(name, folder, with_onnx):
    work = models.WORKS[name]
    random = torch.Generator().manual_seed(work.seed)
    paths = files(name, folder, with_onnx=True)
    for path in paths:  # removes outdated models
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)
    model = work.build().eval()
    start(model, random)
    tensors = {f"model.{key}": value for key, value in model.state_dict().items()}
    config = {**work.config, "kind": work.kind, "batch": work.batch, "tokens": work.tokens}
    if work.training:
        text = torch.randint(work.config["vocabulary"], (work.batch, work.tokens + 1), generator=random)
        tensors["tokens"], tensors["targets"] = text[:, :-1].clone(), text[:, 1:].clone()

        def losses(in_double):
            step = models.TrainingStep(in_double, tensors["tokens"], tensors["targets"], work.training)
            return torch.tensor([step() for _ in range(work.training["steps"])], dtype=torch.float64)

        tensors["losses"] = expected(work, model, losses)
        config["training"] = work.training
        summary = f"losses {[round(loss, 4) for loss in tensors['losses'].tolist()]}"
    else:
        x = work.inputs(random)
        with torch.no_grad():
            tensors["input"], tensors["output"] = x, expected(work, model, lambda in_double: in_double_by_parts(in_double, x))
        summary = f"largest output {tensors['output'].abs().max().item():.3g}"
        if with_onnx:
            try:
                export(model, x, paths[1])
                export(torch.nn.Identity(), x, paths[2])
                if work.quantizes:
                    quantize(paths[1], paths[3])
            except Exception as problem:  # if the export fails, only ONNX Runtime is left out
                print(f"ONNX Runtime is left out of {name}, because the export failed: {problem}", file=sys.stderr)
    with whole(paths[0]) as unfinished:
        safetensors_file.write_safetensors(unfinished, tensors, {"config": json.dumps(config)})
    print(f"made {name}: {summary}", flush=True)


def is_fresh(path):
    modules = (models, models.ten_steps, models.gradient_cases, mossformer2, text_transformers, tiny_time_mixer,
               safetensors_file)
    scripts = [__file__, os.path.join(os.path.dirname(os.path.abspath(__file__)), "quantize_onnx.py"),
               *(module.__file__ for module in modules)]
    return os.path.exists(path) and os.path.getmtime(path) > max(map(os.path.getmtime, scripts))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, names = sys.argv[1], sys.argv[2:] or list(models.WORKS)
    for name in names:
        if name not in models.WORKS:
            sys.exit(f"unknown workload {name}. Choose from {', '.join(models.WORKS)}")
    os.makedirs(folder, exist_ok=True)
    try:
        import onnx  # noqa: F401
        with_onnx = True
    except ImportError as problem:
        with_onnx = False
        print(f"No new ONNX models: {problem}. Install onnx (Debian, Ubuntu: python3-onnx).", file=sys.stderr)
    with whole(os.path.join(folder, "works.json")) as unfinished, open(unfinished, "w", encoding="utf-8") as file:
        json.dump({name: {"title": work.title, "training": bool(work.training), "threads": work.threads}
                   for name, work in models.WORKS.items()}, file)
    for name in names:
        if not all(map(is_fresh, files(name, folder, with_onnx))):
            write(name, folder, with_onnx)


if __name__ == "__main__":
    main()
