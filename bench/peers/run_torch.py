#!/usr/bin/env python3
"""Runs one work in PyTorch.

    echo 7 | python3 run_torch.py WORK.safetensors THREADS      THREADS of PyTorch; those of its BLAS are set by the environment

Prints a line of JSON when it is ready: how far its result is from the expected one, relative to the largest number. Then, for
each line with a number of runs that it reads, another with the milliseconds that they took, after one that is not counted.
A model is traced and frozen, which is a few percent faster than calling its module.
"""

import json
import sys
import time

import models  # sets up the path to what follows from tests
import torch
from safetensors_file import read_safetensors


def inference(model, tensors):
    """What to time, and how far the result is off."""
    x = tensors["input"]
    with torch.no_grad():
        frozen = torch.jit.freeze(torch.jit.trace(model.eval(), x))
        for _ in range(3):  # the first calls optimise
            y = frozen(x)
    error = (y.double() - tensors["output"]).abs().max() / tensors["output"].abs().max()
    return lambda: frozen(x), error.item()


def training(model, tensors, config):
    step = models.TrainingStep(model, tensors["tokens"], tensors["targets"], config["training"])
    return step, max(abs(step() - loss) / loss for loss in tensors["losses"].tolist())


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    torch.set_num_threads(int(sys.argv[2]))
    tensors, metadata = read_safetensors(sys.argv[1], torch.from_numpy)
    config = json.loads(metadata["config"])
    model = models.Work("", config["kind"], config["batch"], config["tokens"], config).build()
    model.load_state_dict({key[6:]: value for key, value in tensors.items() if key.startswith("model.")})
    call, error = training(model, tensors, config) if "losses" in tensors else inference(model, tensors)
    print(json.dumps({"runtime": f"PyTorch {torch.__version__}", "error": error}), flush=True)
    with torch.inference_mode("losses" not in tensors):
        for line in sys.stdin:
            times = []
            for _ in range(int(line) + 1):
                start = time.perf_counter()
                call()
                times.append(1e3 * (time.perf_counter() - start))
            print(json.dumps({"ms": times[1:]}), flush=True)


if __name__ == "__main__":
    main()
