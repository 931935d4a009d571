#!/usr/bin/env python3
"""What PyTorch makes of a cgMLP and its gradients: the file reference.safetensors, for convolutional_gating_test.cpp.

    python3 reference.py            writes it beside this script
    python3 reference.py --check    proves that PyTorch still gives the same within 1e-12

Needs torch (written with 1.13) and numpy. The classes restate ESPnet's ConvolutionalGatingMLP and ConvolutionalSpatialGatingUnit
(use_linear_after_conv=False) with their parameter names. Everything is in double precision: model.<name>, x, y and cotangent are
rows of three sequences of the given lengths, one after the other; grad.model.<name> and grad.x belong to sum(y * cotangent).
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import torch
from torch import nn

sys.dont_write_bytecode = True  # the next import would leave a folder behind
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from safetensors_file import read_safetensors, write_safetensors  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parent / "reference.safetensors"
CONFIG = {"channels": 20, "hidden": 44, "kernel": 31, "norm_eps": 1e-12, "gate_activation": "sigmoid"}
LENGTHS = [50, 7, 1]


class ConvolutionalSpatialGatingUnit(nn.Module):
    def __init__(self, size, kernel_size, norm_eps):
        super().__init__()
        channels = size // 2
        self.norm = nn.LayerNorm(channels, eps=norm_eps)
        self.conv = nn.Conv1d(channels, channels, kernel_size, 1, (kernel_size - 1) // 2, groups=channels)
        self.act = nn.Sigmoid()

    def forward(self, x):
        x_r, x_g = x.chunk(2, dim=-1)
        x_g = self.conv(self.norm(x_g).transpose(1, 2)).transpose(1, 2)
        return x_r * self.act(x_g)


class ConvolutionalGatingMLP(nn.Module):
    def __init__(self, size, linear_units, kernel_size, norm_eps):
        super().__init__()
        self.channel_proj1 = nn.Sequential(nn.Linear(size, linear_units), nn.GELU())
        self.csgu = ConvolutionalSpatialGatingUnit(linear_units, kernel_size, norm_eps)
        self.channel_proj2 = nn.Linear(linear_units // 2, size)

    def forward(self, x):
        return self.channel_proj2(self.csgu(self.channel_proj1(x)))


def compute():
    torch.manual_seed(5)
    model = ConvolutionalGatingMLP(CONFIG["channels"], CONFIG["hidden"], CONFIG["kernel"], CONFIG["norm_eps"]).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
    x = torch.randn(sum(LENGTHS), CONFIG["channels"], dtype=torch.float64, requires_grad=True)
    cotangent = torch.randn(sum(LENGTHS), CONFIG["channels"], dtype=torch.float64)
    y = torch.cat([model(part[None])[0] for part in x.split(LENGTHS)])  # one by one, to avoid padding
    (y * cotangent).sum().backward()
    tensors = {f"model.{name}": parameter for name, parameter in model.named_parameters()}
    tensors |= {f"grad.model.{name}": parameter.grad for name, parameter in model.named_parameters()}
    tensors |= {"x": x, "grad.x": x.grad, "y": y, "cotangent": cotangent}
    return {name: tensor.detach().numpy() for name, tensor in tensors.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    tensors = compute()
    if arguments.check:
        stored, _ = read_safetensors(OUT)
        for name, array in tensors.items():
            assert np.abs(stored[name] - array).max() <= 1e-12 * max(1, np.abs(array).max()), name
        print(f"{len(tensors)} tensors are what PyTorch {torch.__version__} gives")
        return
    write_safetensors(OUT, tensors, {"config": json.dumps(CONFIG), "lengths": json.dumps(LENGTHS)})
    print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
