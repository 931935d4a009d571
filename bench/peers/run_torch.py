#!/usr/bin/env python3
"""Runs one work in PyTorch.

    echo 7 | python3 run_torch.py WORK.safetensors THREADS [--optimize]

THREADS are PyTorch's; those of its BLAS are set by the environment. A model is traced and frozen, which is a few percent faster
than calling its module; with --optimize it also goes through torch.jit.optimize_for_inference.

Prints a line of JSON when it is ready: how far its result is from the expected one, relative to the largest number. Then, for
each line with a number of runs that it reads, another with the milliseconds that they took, after one that is not counted. From
the times of a model it takes off what a call costs that computes nothing, so that PyTorch does not pay for Python.
"""

import json
import re
import statistics
import sys
import time

import models  # sets up the path to what follows from tests
import torch
from safetensors_file import read_safetensors


def frozen(module, x):
    return torch.jit.freeze(torch.jit.trace(module.eval(), x))


def inference(model, tensors, optimize):
    """What to time, a call that computes nothing, and how far the result is off."""
    x, expected = tensors["input"], tensors["output"]
    with torch.no_grad():
        nothing, model = frozen(torch.nn.Identity(), x), frozen(model, x)
        if optimize:
            model = torch.jit.optimize_for_inference(model)
        for _ in range(3):  # the first calls optimise
            y = model(x)
            nothing(x)
    if y.shape != expected.shape:
        raise ValueError(f"The result's shape is {tuple(y.shape)} instead of {tuple(expected.shape)}.")
    error = (y.double() - expected).abs().max() / expected.abs().max()
    return lambda: model(x), lambda: nothing(x), error.item()


def opening(path, work, tensors):
    """What to time: the file, the module and its first result; nothing to take off, and how far the result is off."""
    x, expected = tensors["input"], tensors["output"]

    def start():
        model = loaded(work, read_safetensors(path, torch.from_numpy)[0])
        with torch.no_grad():
            return model(x)

    return start, None, ((start().double() - expected).abs().max() / expected.abs().max()).item()


def loaded(work, tensors):
    model = work.build().eval()
    model.load_state_dict({key[6:]: value for key, value in tensors.items() if key.startswith("model.")})
    return model


def training(model, tensors, config):
    """What to time, nothing to take off, and how far the losses are off."""
    step = models.TrainingStep(model, tensors["tokens"], tensors["targets"], config["training"])
    losses = torch.tensor([step() for _ in tensors["losses"]], dtype=torch.float64)
    return step, None, ((losses - tensors["losses"]) / tensors["losses"]).abs().max().item()  # NaN if there is one


def milliseconds(call, runs):
    """Of so many calls, after one that is not counted."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return times[1:]


def blas():
    """What this PyTorch was built to multiply with, and, where one can see it, which library it has loaded for that."""
    built = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    try:
        with open("/proc/self/maps", encoding="utf-8") as file:
            loaded = sorted(set(re.findall(r"/(lib(?:blas|openblas|blis|mkl_rt)[^/\n]*)$", file.read(), re.MULTILINE)))
    except OSError:
        loaded = []
    return ", ".join([f"BLAS {built[1] if built else 'unknown'}", *loaded])


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[3:] not in ([], ["--optimize"]):
        sys.exit(__doc__)
    torch.set_num_threads(int(sys.argv[2]))
    tensors, metadata = read_safetensors(sys.argv[1], torch.from_numpy)
    config = json.loads(metadata["config"])
    work = models.Work("", config["kind"], config["batch"], config["tokens"], config)
    is_training = "losses" in tensors
    try:
        if is_training:
            call, nothing, error = training(loaded(work, tensors).train(), tensors, config)
        elif config.get("opens"):
            call, nothing, error = opening(sys.argv[1], work, tensors)
        else:
            call, nothing, error = inference(loaded(work, tensors), tensors, optimize=len(sys.argv) == 4)
    except (RuntimeError, ValueError) as problem:
        sys.exit(f"PyTorch: {problem}")
    print(json.dumps({"runtime": f"PyTorch {torch.__version__}", "build": blas(), "error": error}), flush=True)
    with torch.inference_mode(not is_training):
        for line in sys.stdin:
            cost = statistics.median(milliseconds(nothing, 7)) if nothing else 0.0
            print(json.dumps({"ms": [ms - cost for ms in milliseconds(call, int(line))], "call": cost}), flush=True)


if __name__ == "__main__":
    main()
