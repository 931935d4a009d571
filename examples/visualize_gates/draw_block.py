#!/usr/bin/env python3
"""Draws the picture of the repository's README: a gMLP block, and filters that a trained one has learned.

    python3 draw_block.py block.png

Needs numpy and matplotlib. The filters are of ../classify_digits/mnist_gmlp.safetensors.
"""

import pathlib
import sys

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch  # noqa: E402

sys.dont_write_bytecode = True  # the next import would leave a folder behind
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from safetensors_file import read_safetensors  # noqa: E402

BLOCK, PLACES = 1, (3, 5, 8, 10)  # the second block; the patches in these rows and columns


def box(axes, x, y, text, width=1.5, colour="0.93"):
    axes.add_patch(FancyBboxPatch((x - width / 2, y - 0.28), width, 0.56, boxstyle="round,pad=0.02,rounding_size=0.08",
                                  facecolor=colour, edgecolor="0.35", linewidth=0.9))
    axes.text(x, y, text, ha="center", va="center", fontsize=8.5)


def arrow(axes, start, end, bend=0.0):
    axes.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=9, color="0.35", linewidth=0.9,
                                   connectionstyle=f"arc3,rad={bend}"))


def draw_block(axes):
    axes.set_xlim(-0.4, 10.6)
    axes.set_ylim(-1.75, 1.75)
    axes.axis("off")
    axes.text(-0.3, 0, "x", fontsize=11, va="center", style="italic")
    box(axes, 1.15, 0, "norm", 1.1)
    box(axes, 2.85, 0, "channels\nU, GELU", 1.5)
    box(axes, 5.15, -0.75, "norm", 1.1)
    box(axes, 6.95, -0.75, "tokens\nW v + b", 1.5, "#f6d5c3")
    box(axes, 9.0, 0, "channels\nV", 1.3)
    axes.text(7.75, 0.35, "⊙", fontsize=17, ha="center", va="center")
    axes.text(4.7, 0.42, "u, one half", fontsize=8, color="0.3")
    axes.text(2.75, -0.72, "v, the other", fontsize=8, color="0.3")
    arrow(axes, (-0.1, 0), (0.6, 0))
    arrow(axes, (1.7, 0), (2.1, 0))
    arrow(axes, (3.6, 0.05), (7.55, 0.35))
    arrow(axes, (3.6, -0.1), (4.6, -0.7))
    arrow(axes, (5.7, -0.75), (6.2, -0.75))
    arrow(axes, (7.7, -0.6), (7.75, 0.12))
    arrow(axes, (7.95, 0.3), (8.35, 0.05))
    axes.text(10.05, 0, "+", fontsize=13, ha="center", va="center")
    arrow(axes, (9.65, 0), (9.92, 0))
    arrow(axes, (10.18, 0), (10.6, 0))
    axes.plot([0.2, 0.2, 10.05], [0, 1.25, 1.25], color="0.35", linewidth=0.9)
    arrow(axes, (10.05, 1.25), (10.05, 0.14))
    axes.set_title("A gMLP block: a matrix W over the tokens, learned and the same for\nevery input, gates half of the channels",
                   fontsize=8.5)


def draw_filters(axes):
    tensors, _ = read_safetensors(ROOT / "examples/classify_digits/mnist_gmlp.safetensors")
    weight = tensors[f"blocks.{BLOCK}.mlp_channels.gate.proj.weight"]
    side = int(round(np.sqrt(len(weight))))
    chosen = weight[[row * side + column for row in PLACES for column in PLACES]]
    scale = np.quantile(np.abs(chosen), 0.995)
    pitch = side + 1
    mosaic = np.full((len(PLACES) * pitch - 1,) * 2, np.nan)
    for k, (i, j) in enumerate(np.ndindex(len(PLACES), len(PLACES))):
        mosaic[i * pitch:i * pitch + side, j * pitch:j * pitch + side] = chosen[k].reshape(side, side)
        axes.plot(j * pitch + PLACES[j], i * pitch + PLACES[i], "+", color="black", markersize=3.5, markeredgewidth=0.7)
    axes.imshow(mosaic, cmap="RdBu_r", vmin=-scale, vmax=scale, interpolation="nearest")
    axes.axis("off")
    axes.set_title("Learned rows of W: what the patch at +\nadds (red) or subtracts (blue), on MNIST", fontsize=8.5)


def main():
    canvas, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.0), dpi=200, gridspec_kw={"width_ratios": [2.7, 1]})
    draw_block(left)
    draw_filters(right)
    canvas.tight_layout()
    canvas.savefig(sys.argv[1], metadata={"Software": None})


if __name__ == "__main__":
    main()
