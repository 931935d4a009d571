#!/usr/bin/env python3
"""Runs one workload in PyTorch.

    echo 7 | python3 run_torch.py WORK.safetensors THREADS [--optimize]

THREADS sets PyTorch's threads; the environment sets those of its BLAS. Models are traced and frozen, which is a few percent faster
than calling the module. --optimize also passes them through torch.jit.optimize_for_inference.

Prints a line of JSON when ready: the largest difference from the expected result, relative to the largest expected value. Then
reads lines, each with a number of runs, and answers each with a line of JSON: the milliseconds of each run, after a warm-up run.
Times of a forward pass exclude the overhead of a call from Python, measured with a model that returns its input.
"""

import json
import re
import statistics
import sys
import time

import models  # adds tests/ and tests/train/ to the path for the next imports
import torch
from safetensors_file import read_safetensors


def frozen(module, x):
    example = x if x.is_floating_point() else x[:1]  # a single text, because tracing keeps all results in memory
    return torch.jit.freeze(torch.jit.trace(module.eval(), example))


def inference(model, tensors, optimize):
    """Returns the call to time, an empty call whose time is subtracted, and the relative error of the output."""
    x, expected = tensors["input"], tensors["output"]
    with torch.no_grad():
        nothing, model = frozen(torch.nn.Identity(), x), frozen(model, x)
        if optimize:
            model = torch.jit.optimize_for_inference(model)
        for _ in range(3):  # PyTorch optimizes during the first calls
            y = model(x)
            nothing(x)
    if y.shape != expected.shape:
        raise ValueError(f"the result has shape {tuple(y.shape)}, expected {tuple(expected.shape)}. "
                         "Delete the workload and run again.")
    error = (y.double() - expected).abs().max() / expected.abs().max()
    return lambda: model(x), lambda: nothing(x), error.item()


def opening(path, work, tensors):
    """Returns the call to time, None, and the relative error. The call opens the file, builds the module and runs it once."""
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
    """Returns the call to time, None, and the largest relative error of the losses."""
    step = models.TrainingStep(model, tensors["tokens"], tensors["targets"], config["training"])
    losses = torch.tensor([step() for _ in tensors["losses"]], dtype=torch.float64)
    return step, None, ((losses - tensors["losses"]) / tensors["losses"]).abs().max().item()  # NaN if any is NaN


def milliseconds(call, runs):
    """The milliseconds of each of `runs` calls, after a warm-up call."""
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return times[1:]


def blas():
    """The BLAS that PyTorch was built with and, on Linux, the libraries that it loaded."""
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
