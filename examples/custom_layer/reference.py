#!/usr/bin/env python3
"""Writes PyTorch's output and gradients of an EmaMlp to reference.safetensors, for ema_mlp_test.cpp.

    python3 reference.py            writes it beside this script
    python3 reference.py --check    proves that PyTorch still gives the same within 1e-12

Needs torch (written with 1.13) and numpy. Everything is in double precision. x, y and cotangent are rows of three sequences, one
after the other; grad.<parameter> and dx are the gradients of sum(y * cotangent).
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn

sys.dont_write_bytecode = True  # keeps __pycache__ out of tests/
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from safetensors_file import read_safetensors, write_safetensors  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parent / "reference.safetensors"
CONFIG = {"channels": 10, "hidden": 24}
LENGTHS = [50, 7, 1]


class EmaMlp(nn.Module):
    def __init__(self, channels, hidden):
        super().__init__()
        self.proj_in = nn.Sequential(nn.Linear(channels, hidden), nn.GELU())
        self.norm = nn.LayerNorm(hidden // 2)
        self.alpha = nn.Parameter(torch.zeros(hidden // 2))  # named as in Mega
        self.delta = nn.Parameter(torch.zeros(hidden // 2))
        self.proj_out = nn.Linear(hidden // 2, channels)

    def average(self, x):
        alpha, delta = self.alpha.sigmoid(), self.delta.sigmoid()
        y = [torch.zeros_like(alpha)]
        for x_t in x:
            y.append(alpha * x_t + (1 - alpha * delta) * y[-1])
        return torch.stack(y[1:])

    def forward(self, x):
        u, v = self.proj_in(x).chunk(2, dim=-1)
        return self.proj_out(u * self.average(self.norm(v)))


def compute():
    torch.manual_seed(5)
    model = EmaMlp(**CONFIG).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    x = torch.randn(sum(LENGTHS), CONFIG["channels"], dtype=torch.float64, requires_grad=True)
    cotangent = torch.randn(sum(LENGTHS), CONFIG["channels"], dtype=torch.float64)
    y = torch.cat([model(part) for part in x.split(LENGTHS)])
    (y * cotangent).sum().backward()
    tensors = {f"model.{name}": parameter for name, parameter in model.named_parameters()}
    tensors |= {f"grad.{name}": parameter.grad for name, parameter in model.named_parameters()}
    tensors |= {"x": x, "dx": x.grad, "y": y, "cotangent": cotangent}
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    tensors = compute()
    if parser.parse_args().check:
        stored, _ = read_safetensors(OUT)
        for name, array in tensors.items():
            assert np.abs(stored[name] - array).max() <= 1e-12 * max(1, np.abs(array).max()), name
        print(f"{len(tensors)} tensors match PyTorch {torch.__version__}")
        return
    write_safetensors(OUT, tensors, {"config": json.dumps(CONFIG), "lengths": json.dumps(LENGTHS)})
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
