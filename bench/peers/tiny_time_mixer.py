"""IBM's TinyTimeMixer on single series, as PyTorch modules with the names of its published files.

Written from the papers (arXiv:2401.03955, arXiv:2306.09364) twice: plainly, as the original does it, and for speed, without
transposing to mix patches. prove() compares the plain version with a case file of the original.
"""

import json
import os

import torch
from safetensors_file import read_safetensors
from torch import nn

CASE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "reference", "ttm_grad.safetensors")


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width, eps=1e-5)

    def forward(self, x):
        return self.norm(x)


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn_layer = nn.Linear(width, width)

    def forward(self, x):
        return x * self.attn_layer(x).softmax(dim=-1)


class FeatureMixer(nn.Module):
    """Mixes the features of a patch."""

    def __init__(self, width, features):
        super().__init__()
        self.norm, self.mlp, self.gating_block = Norm(features), Mlp(width), Gate(width)

    def mix(self, x):
        return self.gating_block(self.mlp(x))

    def forward(self, x):
        return x + self.mix(self.norm(x))


class PlainPatchMixer(FeatureMixer):
    """Mixes the patches of a series, with the same weights for each feature."""

    def mix(self, x):
        return super().mix(x.transpose(1, 2)).transpose(1, 2)


class PatchMixer(FeatureMixer):
    """PlainPatchMixer without transposing x."""

    def mix(self, x):
        def project(linear, z):
            return linear.weight @ z + linear.bias[:, None]

        h = project(self.mlp.fc2, nn.functional.gelu(project(self.mlp.fc1, x)))
        return h * project(self.gating_block.attn_layer, h).softmax(dim=1)


class Layer(nn.Module):
    def __init__(self, patches, features, proven):
        super().__init__()
        self.patch_mixer = (PlainPatchMixer if proven else PatchMixer)(patches, features)
        self.feature_mixer = FeatureMixer(features, features)

    def forward(self, x):
        return self.feature_mixer(self.patch_mixer(x))


class Level(nn.Module):
    """Layers for smaller patches: a reshape, which moves no data, splits each patch into `parts` parts."""

    def __init__(self, patches, features, parts, depth, proven):
        super().__init__()
        self.shape = (patches * parts, features // parts)
        self.mixer_layers = nn.ModuleList(Layer(*self.shape, proven) for _ in range(depth))

    def forward(self, x):
        h = x.reshape(-1, *self.shape)
        for layer in self.mixer_layers:
            h = layer(h)
        return h.reshape(x.shape)


class Mixers(nn.Module):
    def __init__(self, mixers):
        super().__init__()
        self.mixers = nn.ModuleList(mixers)

    def forward(self, x):
        for mixer in self.mixers:
            x = mixer(x)
        return x


class Encoder(nn.Module):
    def __init__(self, c, patches, proven):
        super().__init__()
        self.patcher = nn.Linear(c["patch_length"], c["d_model"])
        self.mlp_mixer_encoder = Mixers(Level(patches, c["d_model"], 2 ** level, c["num_layers"], proven)
                                        for level in reversed(range(c["adaptive_patching_levels"])))

    def forward(self, patches):
        return self.mlp_mixer_encoder(self.patcher(patches))


class Backbone(nn.Module):
    def __init__(self, *arguments):
        super().__init__()
        self.encoder = Encoder(*arguments)

    def forward(self, patches):
        return self.encoder(patches)


class Decoder(nn.Module):
    def __init__(self, c, patches, proven):
        super().__init__()
        self.adapter = nn.Linear(c["d_model"], c["decoder_d_model"])
        self.decoder_block = Mixers(Layer(patches, c["decoder_d_model"], proven) for _ in range(c["decoder_num_layers"]))

    def forward(self, x):
        return self.decoder_block(self.adapter(x))


class Head(nn.Module):
    def __init__(self, c, patches):
        super().__init__()
        self.base_forecast_block = nn.Linear(patches * c["decoder_d_model"], c["prediction_length"])

    def forward(self, x):
        return self.base_forecast_block(x.flatten(1))


class TinyTimeMixer(nn.Module):
    """Forecasts of series, one per row. `c` has the fields of a config.json."""

    def __init__(self, c, proven):
        super().__init__()
        self.patch = c["patch_length"]
        patches = c["context_length"] // self.patch
        self.backbone, self.decoder = Backbone(c, patches, proven), Decoder(c, patches, proven)
        self.head = Head(c, patches)

    def forward(self, x):
        x = x.reshape(-1, x.shape[-1])
        location = x.mean(dim=-1, keepdim=True)
        centred = x - location
        scale = ((centred * centred).mean(dim=-1, keepdim=True) + 1e-5).sqrt()
        patches = (centred / scale).reshape(x.shape[0], -1, self.patch)
        return self.head(self.decoder(self.backbone(patches))) * scale + location


def prove():
    """The largest difference between the plain model and the original, relative to the largest value, in float64."""
    tensors, metadata = read_safetensors(CASE, torch.from_numpy)
    model = TinyTimeMixer(json.loads(metadata["config"])["config_full"], proven=True).double()
    model.load_state_dict({key[6:]: value.double() for key, value in tensors.items() if key.startswith("model.")})
    x, expected = tensors["input"].double(), tensors["output_f64"].transpose(1, 2).flatten(0, 1)  # each item: times × series
    with torch.no_grad():
        return ((model(x.transpose(1, 2)) - expected).abs().max() / expected.abs().max()).item()
