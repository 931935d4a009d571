#!/usr/bin/env python3
"""PyTorch's logits for the digits: digits_expected.safetensors.

    python3 expected_logits.py              writes it beside this script, for digits_gmlp.safetensors
    python3 expected_logits.py --check      checks that its logits are those of the checkpoint

Needs torch (written with 1.13) and numpy. The model restates timm's gMLP (MlpMixer with SpatialGatingBlock), with its parameter
names. The logits are computed in double and stored as F32, so the file does not depend on a machine's rounding.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True  # the import below then writes no __pycache__
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests"))
from safetensors_file import read_safetensors, write_safetensors  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent


def gmlp(p, config, images):
    """Returns the logits of timm's gMLP for images of shape [B, 1, 8, 8]."""

    def linear(name, x):
        return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])

    def norm(name, x, eps):
        return F.layer_norm(x, x.shape[-1:], p[f"{name}.weight"], p[f"{name}.bias"], eps)

    x = F.conv2d(images, p["stem.proj.weight"], p["stem.proj.bias"], stride=config["patch_size"]).flatten(2).transpose(1, 2)
    for i in range(config["depth"]):
        mlp = f"blocks.{i}.mlp_channels"
        u, v = F.gelu(linear(f"{mlp}.fc1", norm(f"blocks.{i}.norm", x, 1e-6))).chunk(2, dim=-1)
        v = linear(f"{mlp}.gate.proj", norm(f"{mlp}.gate.norm", v, 1e-5).transpose(1, 2)).transpose(1, 2)
        x = x + linear(f"{mlp}.fc2", u * v)
    return linear("head", norm("norm", x, 1e-6).mean(dim=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()

    tensors, metadata = read_safetensors(FOLDER / "digits_gmlp.safetensors", torch.from_numpy)
    config = json.loads(metadata["config"])
    table = np.loadtxt(FOLDER / "digits.csv", delimiter=",")[4::5]  # the rows with index % 5 == 4
    size = config["image_size"]
    images = torch.from_numpy((table[:, :-1] / 16 - config["mean"]) / config["std"]).reshape(-1, 1, size, size)
    with torch.no_grad():
        logits = gmlp({name: tensor.double() for name, tensor in tensors.items()}, config, images)
    right = int((logits.argmax(1).numpy() == table[:, -1]).sum())
    print(f"PyTorch {torch.__version__}: {right} of {len(table)} right")

    expected = FOLDER / "digits_expected.safetensors"
    if arguments.check:
        stored = read_safetensors(expected, torch.from_numpy)[0]["logits"].double()
        difference = float((logits - stored).abs().max())
        print(f"the largest difference from the stored logits is {difference:.1e}")
        raise SystemExit(0 if difference < 1e-5 else 1)
    note = "logits of digits_gmlp on every row with index % 5 == 4, pixel/16 normalised by mean 0.5 std 0.5"
    write_safetensors(expected, {"logits": logits.float()}, {"note": note})


if __name__ == "__main__":
    main()
