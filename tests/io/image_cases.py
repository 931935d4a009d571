#!/usr/bin/env python3
"""Writes image_cases.safetensors, results of Pillow on small pictures, for image_resize_test.cpp and image_reader_test.cpp.

    python3 image_cases.py              writes it beside this script
    python3 image_cases.py --check      checks that Pillow's results are unchanged

Needs Pillow (written with 9.4) and numpy. Tensors are U8, height x width x channels:
  resize.<k>.in, resize.<k>.out, resize.<k>.bilinear    Image.resize(..., BICUBIC) and BILINEAR
  crop.<k>.in, crop.<k>.out        torchvision's Resize(shortest edge) and CenterCrop, restated
  grey.in, grey.out                convert("L");  palette, grey_alpha: convert("RGB") of the PNG files below
  <name>.file                      the bytes of a PNG or JPEG file;  <name>.pixels its pixels
"""

import argparse
import io
import pathlib
import sys

import numpy as np
from PIL import Image

sys.dont_write_bytecode = True  # the next import must not create __pycache__
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from safetensors_file import read_safetensors, write_safetensors  # noqa: E402

OUT = pathlib.Path(__file__).resolve().parent / "image_cases.safetensors"
RESIZES = [  # width, height, channels -> width, height
    ((40, 30, 3), (17, 13)), ((40, 30, 3), (53, 61)), ((9, 31, 1), (31, 9)), ((13, 7, 4), (13, 3)), ((13, 7, 2), (5, 7)),
    ((1, 1, 3), (6, 5)), ((1, 20, 3), (3, 7)), ((20, 1, 3), (7, 4)), ((33, 21, 3), (1, 1)), ((8, 8, 1), (8, 8)),
    ((97, 64, 3), (24, 16)), ((2, 3, 1), (37, 29)), ((200, 3, 1), (7, 2))]
CROPS = [  # width, height, channels, model's edge, crop share
    (50, 37, 3, 28, 0.875), (37, 50, 3, 28, 0.875), (31, 31, 1, 16, 1.0), (61, 90, 3, 24, 0.9), (20, 90, 1, 30, 0.875),
    (41, 57, 3, 13, 0.875)]


def picture(width, height, channels, seed):
    """Smooth waves, noise, and black-and-white edges, at which bicubic resizing overshoots."""
    random = np.random.default_rng(seed)
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    waves = 127 + 90 * np.sin(x * (0.2 + 0.1 * c) + y * 0.15 * (seed + 1))
    values = waves + random.normal(0, 25, waves.shape)
    values = np.where((x // 5 + y // 4) % 5 == 0, 255.0 * (c % 2 == 0), values)
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def resize(array, size, method=Image.Resampling.BICUBIC):
    """Resizes each channel separately, because Pillow premultiplies alpha when it resizes an RGBA image."""
    planes = [np.asarray(Image.fromarray(array[:, :, c]).resize(size, method)) for c in range(array.shape[2])]
    return np.stack(planes, axis=2)


def evaluation_crop(array, edge, share):
    """torchvision's Resize and CenterCrop, composed like timm's transforms_imagenet_eval()."""
    height, width = array.shape[:2]
    target = int(edge / share)
    short, long = min(width, height), max(width, height)
    new_short, new_long = target, int(target * long / short)
    size = (new_short, new_long) if width <= height else (new_long, new_short)
    array = resize(array, size)
    left, top = int(round((size[0] - edge) / 2.0)), int(round((size[1] - edge) / 2.0))
    return array[top:top + edge, left:left + edge]


def cases():
    tensors = {}
    for k, (shape, size) in enumerate(RESIZES):
        tensors[f"resize.{k}.in"] = picture(*shape, k)
        tensors[f"resize.{k}.out"] = resize(tensors[f"resize.{k}.in"], size)
        tensors[f"resize.{k}.bilinear"] = resize(tensors[f"resize.{k}.in"], size, Image.Resampling.BILINEAR)
    whole = picture(33, 18, 3, 50)  # resizing all channels at once gives the same result
    assert (np.asarray(Image.fromarray(whole).resize((11, 40), Image.Resampling.BICUBIC)) == resize(whole, (11, 40))).all()
    for k, (width, height, channels, edge, share) in enumerate(CROPS):
        tensors[f"crop.{k}.in"] = picture(width, height, channels, 100 + k)
        tensors[f"crop.{k}.out"] = evaluation_crop(tensors[f"crop.{k}.in"], edge, share)

    colours = Image.fromarray(picture(43, 26, 3, 200))
    tensors["grey.in"] = np.asarray(colours)
    tensors["grey.out"] = np.asarray(colours.convert("L"))[:, :, None]

    smooth = np.clip(picture(64, 48, 3, 0) * 0.2 + np.mgrid[0:48, 0:64].sum(0)[:, :, None] * 1.5, 0, 255).astype(np.uint8)
    files = {"palette": (colours.quantize(16), "PNG", {}), "grey_alpha": (Image.fromarray(picture(9, 7, 2, 3), "LA"), "PNG", {}),
             "jpeg": (Image.fromarray(smooth), "JPEG", {"quality": 90}),
             "jpeg_grey": (Image.fromarray(smooth[:, :, 0]), "JPEG", {"quality": 90, "progressive": True})}
    for name, (image, form, options) in files.items():
        data = io.BytesIO()
        image.save(data, form, **options)
        tensors[f"{name}.file"] = np.frombuffer(data.getvalue(), np.uint8)
        decoded = np.asarray(Image.open(io.BytesIO(data.getvalue())).convert("RGB"))
        tensors[f"{name}.pixels"] = decoded
    return tensors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    tensors = cases()
    if arguments.check:
        stored, _ = read_safetensors(OUT)
        for name, array in tensors.items():
            assert name.endswith(".file") or np.array_equal(stored[name], array), name
        print(f"{len(tensors)} tensors match Pillow")
    else:
        write_safetensors(OUT, tensors, {"note": f"made by image_cases.py with Pillow {Image.__version__}"})
        print(OUT, OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
