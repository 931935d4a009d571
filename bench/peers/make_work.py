#!/usr/bin/env python3
"""Writes what is compared: for each work its weights, input and expected output, and an ONNX model.

    python3 make_work.py FOLDER [NAME ...]      all works of models.py, or those named

A work whose file is younger than these scripts is not made again. Needs torch (written with 1.13) and numpy; onnx for the ONNX
models, which are left out without it.

<name>.safetensors holds model.<key> (the parameters, under lucidrains' names), `input`, and `output`, which was computed in
float64; for a training `tokens`, `targets` and `losses`, those of the first steps in float64. Its metadata has `config`, a JSON
object. <name>.onnx is the model with fixed sizes and its weights; <name>.identity.onnx passes an input of the same size on, to
know what a call costs that computes nothing. titles.json says what the works are called.
"""

import copy
import json
import os
import sys

import models  # sets up the path to what follows from tests
import torch
from safetensors_file import write_safetensors


def start(model, random):
    """Gives `model` parameters that matter; the constants stay."""
    state = model.state_dict()
    for name, parameter in model.named_parameters():
        state[name] = models.initial_value(name, parameter.shape, random).float()
    model.load_state_dict(state)


def export(module, x, path):
    torch.onnx.export(module, x, path, opset_version=14, input_names=["input"], output_names=["output"])


def write(name, work, folder, with_onnx):
    random = torch.Generator().manual_seed(work.seed)
    model = work.build().eval()
    start(model, random)
    tensors = {f"model.{key}": value for key, value in model.state_dict().items()}
    in_double = copy.deepcopy(model).double()
    config = {**work.config, "kind": work.kind, "batch": work.batch, "tokens": work.tokens}
    if work.training:
        text = torch.randint(work.config["vocabulary"], (work.batch, work.tokens + 1), generator=random)
        tensors["tokens"], tensors["targets"] = text[:, :-1].clone(), text[:, 1:].clone()
        step = models.TrainingStep(in_double, tensors["tokens"], tensors["targets"], work.training)
        tensors["losses"] = torch.tensor([step() for _ in range(work.training["steps"])], dtype=torch.float64)
        config["training"] = work.training
        summary = f"losses {[round(loss, 4) for loss in tensors['losses'].tolist()]}"
    else:
        x = torch.randn(work.batch, work.tokens, work.config["channels"], generator=random)
        with torch.no_grad():
            output = in_double(x.double())
        tensors["input"], tensors["output"] = x, output
        summary = f"largest output {output.abs().max().item():.3g}"
        if with_onnx:
            export(model, x, os.path.join(folder, name + ".onnx"))
            export(torch.nn.Identity(), x, os.path.join(folder, name + ".identity.onnx"))
    write_safetensors(os.path.join(folder, name + ".safetensors"), tensors, {"config": json.dumps(config)})
    print(f"made {name}: {summary}", flush=True)


def is_fresh(path):
    scripts = [__file__, models.__file__, models.ten_steps.__file__]
    return os.path.exists(path) and os.path.getmtime(path) > max(map(os.path.getmtime, scripts))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder, names = sys.argv[1], sys.argv[2:] or list(models.WORKS)
    os.makedirs(folder, exist_ok=True)
    try:
        import onnx  # noqa: F401
        with_onnx = True
    except ImportError:
        with_onnx = False
        print("no onnx: the ONNX models are left out (Debian, Ubuntu: python3-onnx; elsewhere the package onnx)")
    with open(os.path.join(folder, "titles.json"), "w", encoding="utf-8") as file:
        json.dump({name: work.title for name, work in models.WORKS.items()}, file)
    for name in names:
        if not is_fresh(os.path.join(folder, name + ".safetensors")):
            write(name, models.WORKS[name], folder, with_onnx)


if __name__ == "__main__":
    main()
