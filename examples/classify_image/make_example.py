#!/usr/bin/env python3
"""Makes pictures, a small checkpoint, and the answers of PyTorch and Pillow, which end_to_end.cmake compares with classify_image's.

    python3 make_example.py             writes four.png, waves.jpg, waves.safetensors and expected.txt beside this script
    python3 make_example.py --check     checks that PyTorch and Pillow still give expected.txt

Needs torch (written with 1.13), Pillow (9.4) and numpy. four.png is a scanned digit of ../classify_digits/digits.csv, enlarged,
on a background; waves.jpg is drawn here, and waves.safetensors is a colour gMLP with random weights and timm's names.
"""

import argparse
import json
import pathlib
import sys

import numpy as np
import torch
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = HERE.parent / "classify_digits"
sys.dont_write_bytecode = True  # keeps __pycache__ out of classify_digits/
sys.path.append(str(DIGITS))
from expected_logits import gmlp, read_safetensors, write_safetensors  # noqa: E402

WAVES = {"architecture": "timm.gmlp", "img_size": 32, "patch_size": 8, "in_chans": 3, "num_blocks": 2, "embed_dim": 16,
         "mlp_ratio": 4, "num_classes": 6}


def write_pictures():
    table = np.loadtxt(DIGITS / "digits.csv", delimiter=",")
    digit = np.rint(table[4, :64].reshape(8, 8) / 16 * 255).astype(np.uint8)
    assert table[4, 64] == 4
    large = np.asarray(Image.fromarray(digit).resize((200, 200), Image.Resampling.BICUBIC))
    Image.fromarray(np.pad(large, ((0, 0), (50, 50)))).save(HERE / "four.png")  # wider than tall

    y, x = np.mgrid[0:90, 0:120]
    waves = [127 + 120 * np.sin(x / 7.0 + y / 11.0), 127 + 120 * np.cos(x / 13.0 - y / 5.0), (x + y) * 255.0 / 208]
    Image.fromarray(np.stack(waves, axis=2).astype(np.uint8)).save(HERE / "waves.jpg", quality=90)


def write_checkpoint():
    torch.manual_seed(1)
    dim, hidden, tokens, classes = 16, 64, 16, WAVES["num_classes"]
    shapes = {"stem.proj": (dim, 3, 8, 8), "head": (classes, dim), "norm": (dim,)}
    for i in range(WAVES["num_blocks"]):
        mlp = f"blocks.{i}.mlp_channels"
        shapes |= {f"blocks.{i}.norm": (dim,), f"{mlp}.fc1": (hidden, dim), f"{mlp}.fc2": (dim, hidden // 2),
                   f"{mlp}.gate.norm": (hidden // 2,), f"{mlp}.gate.proj": (tokens, tokens)}
    tensors = {}
    for name, shape in shapes.items():
        tensors[f"{name}.weight"] = torch.randn(shape) * 0.3 + (1 if len(shape) == 1 else 0)
        tensors[f"{name}.bias"] = torch.randn(shape[0]) * 0.3 + (1 if name.endswith("gate.proj") else 0)
    write_safetensors(HERE / "waves.safetensors", tensors, {"config": json.dumps(WAVES)})


def top(picture, checkpoint, size, crop):
    """The lines that classify_image should print: timm's preprocessing in Pillow, then the model in PyTorch, in double."""
    tensors, metadata = read_safetensors(checkpoint, torch.from_numpy)
    config = json.loads(metadata["config"])
    config = {"depth": config.get("depth", config.get("num_blocks")), "patch_size": config["patch_size"]}
    image = Image.open(picture).convert("RGB" if tensors["stem.proj.weight"].shape[1] == 3 else "L")
    target, (width, height) = int(size / crop), image.size
    short, long = min(width, height), max(width, height)
    resized = (target, int(target * long / short))
    image = image.resize(resized if width <= height else resized[::-1], Image.Resampling.BICUBIC)
    left, upper = int(round((image.size[0] - size) / 2)), int(round((image.size[1] - size) / 2))
    pixels = np.asarray(image.crop((left, upper, left + size, upper + size))).reshape(size, size, -1)
    x = torch.from_numpy((pixels.transpose(2, 0, 1) / 255.0 - 0.5) / 0.5)[None]
    with torch.no_grad():
        probabilities = gmlp({name: tensor.double() for name, tensor in tensors.items()}, config, x).softmax(1)[0]
    lines = [f"{picture.name}: {width} x {height} pixels"]
    for label in probabilities.argsort(descending=True)[:5]:
        lines.append(f"  {100 * probabilities[label]:6.2f} %  class {label}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.check:
        write_pictures()
        write_checkpoint()
    expected = "\n".join(top(HERE / "four.png", DIGITS / "digits_gmlp.safetensors", 8, 1.0) + [""] +
                         top(HERE / "waves.jpg", HERE / "waves.safetensors", 32, 0.875)) + "\n"
    print(expected, end="")
    if arguments.check:
        raise SystemExit(0 if (HERE / "expected.txt").read_text() == expected else 1)
    (HERE / "expected.txt").write_text(expected)


if __name__ == "__main__":
    main()
