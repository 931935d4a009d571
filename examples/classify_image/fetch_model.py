#!/usr/bin/env python3
"""Fetches a checkpoint and its class names from timm: model.safetensors and imagenet_classes.txt, in the current folder.

    python3 fetch_model.py

Needs timm (0.9 or newer), safetensors and, once, the network: 78 MB.
"""

import timm
from safetensors.torch import save_file

model = timm.create_model("gmlp_s16_224.ra3_in1k", pretrained=True)
save_file({name: tensor.clone().contiguous() for name, tensor in model.state_dict().items()}, "model.safetensors")
names = timm.data.ImageNetInfo()
with open("imagenet_classes.txt", "w", encoding="utf-8") as file:
    file.writelines(names.index_to_description(i) + "\n" for i in range(names.num_classes()))
