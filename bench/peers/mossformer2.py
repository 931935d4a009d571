"""MossFormer2 for speech enhancement and KW-MLP, as PyTorch modules with the names of their published files.

Written from the papers (arXiv:2312.11825, arXiv:2110.07749) for speed: tables are computed once, masks and dropout left out.
prove() compares both with case files of the originals.
"""

import json
import math
import os

import torch
from safetensors_file import read_safetensors
from torch import nn

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "reference")


class ScaleNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.g, self.root = nn.Parameter(torch.ones(1)), math.sqrt(channels)

    def forward(self, x):
        return x * (self.g / (x.norm(dim=-1, keepdim=True) / self.root).clamp(min=1e-5))


class Depthwise(nn.Module):
    """x + the depthwise convolution of x over rows. The weight has upstream's name and shape."""

    def __init__(self, channels, taps, *tail):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(channels, 1, taps, *tail))
        self.channels, self.taps = channels, taps

    def forward(self, x):
        weight = self.weight.reshape(self.channels, 1, self.taps)
        return x + nn.functional.conv1d(x.transpose(1, 2), weight, padding=self.taps // 2, groups=self.channels).transpose(1, 2)


class Named(nn.Module):
    """Registers a module under nested names: Named(convolution, "sequential", "1", "conv")."""

    def __init__(self, module, *names):
        super().__init__()
        self.path = names
        self.add_module(names[0], module if len(names) == 1 else Named(module, *names[1:]))

    def forward(self, x):
        return getattr(self, self.path[0])(x)


class FFConvM(nn.Module):
    def __init__(self, channels, out, norm):
        super().__init__()
        self.mdl = nn.Sequential(norm(channels), nn.Linear(channels, out), nn.SiLU(),
                                 Named(Depthwise(out, 17), "sequential", "1", "conv"))

    def forward(self, x):
        return self.mdl(x)


class OffsetScale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.empty(4, width)), nn.Parameter(torch.empty(4, width))

    def forward(self, x):
        return (x * gamma + beta for gamma, beta in zip(self.gamma, self.beta))


def rotated(x, cos, sin):
    """x with its first channels rotated in interleaved pairs."""
    turned, rest = x[..., :2 * cos.shape[1]], x[..., 2 * cos.shape[1]:]
    a, b = turned[..., ::2], turned[..., 1::2]
    pairs = torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1)
    return torch.cat([pairs.flatten(-2), rest], dim=-1)


class Rotary(nn.Module):
    """Rotates interleaved pairs of the first channels. The table for `tokens` tokens is computed once, in `dtype`."""

    def __init__(self, width, tokens, dtype):
        super().__init__()
        freqs = 10000 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        angle = torch.arange(tokens, dtype=torch.float64)[:, None] * freqs
        self.register_buffer("freqs", freqs.float())
        self.register_buffer("cos", angle.cos().to(dtype), persistent=False)
        self.register_buffer("sin", angle.sin().to(dtype), persistent=False)

    def forward(self, x):
        return rotated(x, self.cos, self.sin)


class Attention(nn.Module):
    """FLASH_ShareA_FFConvM."""

    def __init__(self, channels, query_key, group, tokens, dtype):
        super().__init__()
        self.group = group
        self.to_hidden, self.to_qk = FFConvM(channels, 4 * channels, ScaleNorm), FFConvM(channels, query_key, ScaleNorm)
        self.qk_offset_scale = OffsetScale(query_key)
        self.rotary_pos_emb = Rotary(min(32, query_key), tokens, dtype)
        self.to_out = FFConvM(2 * channels, channels, ScaleNorm)

    def forward(self, x):
        n, g = x.shape[1], self.group
        shifted, rest = x.chunk(2, dim=-1)
        y = torch.cat([nn.functional.pad(shifted, (0, 0, 1, -1)), rest], dim=-1)
        hidden = self.to_hidden(y)
        quad_q, lin_q, quad_k, lin_k = (self.rotary_pos_emb(t) for t in self.qk_offset_scale(self.to_qk(y)))
        chunks = [slice(first, min(first + g, n)) for first in range(0, n, g)]
        quadratic = torch.cat([(quad_q[:, c] @ quad_k[:, c].transpose(1, 2) / g).relu().square() @ hidden[:, c] for c in chunks],
                              dim=1)
        mixed = quadratic + lin_q @ (lin_k.transpose(1, 2) @ hidden / n)
        v, u = hidden.chunk(2, dim=-1)
        mixed_v, mixed_u = mixed.chunk(2, dim=-1)
        return x + self.to_out(mixed_u * v * (mixed_v * u).sigmoid())


class Fsmn(nn.Module):
    """UniDeepFsmn."""

    def __init__(self, channels, order):
        super().__init__()
        self.linear, self.project = nn.Linear(channels, channels), nn.Linear(channels, channels, bias=False)
        self.conv1 = Depthwise(channels, 2 * order - 1, 1)

    def forward(self, x):
        return x + self.conv1(self.project(self.linear(x).relu()))


class GatedFsmn(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.to_u, self.to_v = FFConvM(channels, channels, nn.LayerNorm), FFConvM(channels, channels, nn.LayerNorm)
        self.fsmn = Fsmn(channels, 20)

    def forward(self, x):
        return self.to_v(x) * self.fsmn(self.to_u(x)) + x


class Pointwise(nn.Linear):
    """A linear layer stored as a convolution of kernel size 1."""

    def __init__(self, channels, out, bias=True):
        super().__init__(channels, out, bias)
        self.weight = nn.Parameter(torch.empty(out, channels, 1))

    def forward(self, x):
        return nn.functional.linear(x, self.weight.squeeze(-1), self.bias)


class GatedFsmnBlock(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        self.conv1 = nn.Sequential(Pointwise(channels, inner), nn.PReLU())
        self.norm1, self.norm2 = nn.LayerNorm(inner), nn.LayerNorm(inner)
        self.gated_fsmn, self.conv2 = GatedFsmn(inner), Pointwise(inner, channels)

    def forward(self, x):
        return x + self.conv2(self.norm2(self.gated_fsmn(self.norm1(self.conv1(x)))))


class Pair(nn.Module):
    """A layer of MossFormer2."""

    def __init__(self, channels, inner, query_key, group, tokens, dtype):
        super().__init__()
        self.attention = Attention(channels, query_key, group, tokens, dtype)
        self.fsmn = GatedFsmnBlock(channels, inner)

    def forward(self, x):
        return self.fsmn(self.attention(x))


class Blocks(nn.Module):
    """MossformerBlock_GFSMN."""

    def __init__(self, depth, channels, inner, query_key, group, tokens, dtype):
        super().__init__()
        self.layers = nn.ModuleList(Attention(channels, query_key, group, tokens, dtype) for _ in range(depth))
        self.fsmn = nn.ModuleList(GatedFsmnBlock(channels, inner) for _ in range(depth))

    def forward(self, x):
        for attention, fsmn in zip(self.layers, self.fsmn):
            x = fsmn(attention(x))
        return x


class Trunk(nn.Module):
    """MossFormerM."""

    def __init__(self, *sizes):
        super().__init__()
        self.mossformerM, self.norm = Blocks(*sizes), nn.LayerNorm(sizes[1], eps=1e-6)

    def forward(self, x):
        return self.norm(self.mossformerM(x))


class GlobalNorm(nn.Module):
    """A group norm over all rows and columns."""

    def __init__(self, channels):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        centred = x - x.mean(dim=(1, 2), keepdim=True)
        return centred * (centred.square().mean(dim=(1, 2), keepdim=True) + 1e-8).rsqrt() * self.weight + self.bias


class Positions(nn.Module):
    def __init__(self, channels, tokens, dtype):
        super().__init__()
        freqs = 10000 ** (-torch.arange(0, channels, 2, dtype=torch.float64) / channels)
        angle = torch.arange(tokens, dtype=torch.float64)[:, None] * freqs
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("inv_freq", freqs.float())
        self.register_buffer("table", torch.cat([angle.sin(), angle.cos()], dim=-1).to(dtype), persistent=False)

    def forward(self, x):
        return x + self.scale * self.table


class MaskNet(nn.Module):
    """MossFormer_MaskNet with one speaker."""

    def __init__(self, features, outputs, tokens, dtype, depth=24, channels=512, inner=256, query_key=128, group=256):
        super().__init__()
        self.norm, self.conv1d_encoder = GlobalNorm(features), Pointwise(features, channels, bias=False)
        self.pos_enc = Positions(channels, tokens, dtype)
        self.mdl = nn.Module()
        self.mdl.intra_mdl = Trunk(depth, channels, inner, query_key, group, tokens, dtype)
        self.mdl.intra_norm = GlobalNorm(channels)
        self.prelu, self.conv1d_out = nn.PReLU(), Pointwise(channels, channels)
        self.output, self.output_gate = nn.Sequential(Pointwise(channels, channels)), nn.Sequential(Pointwise(channels, channels))
        self.conv1_decoder = Pointwise(channels, outputs, bias=False)

    def forward(self, x):
        start = self.pos_enc(self.conv1d_encoder(self.norm(x)))
        h = self.conv1d_out(self.prelu(self.mdl.intra_norm(self.mdl.intra_mdl(start)) + start))
        return self.conv1_decoder(self.output(h).tanh() * self.output_gate(h).sigmoid()).relu()


class Enhancer(nn.Module):
    """TestNet."""

    def __init__(self, *sizes, **named):
        super().__init__()
        self.mossformer = MaskNet(*sizes, **named)

    def forward(self, x):
        return self.mossformer(x)


class KeywordGate(nn.Module):
    def __init__(self, channels, tokens):
        super().__init__()
        self.norm, self.proj = nn.LayerNorm(channels), nn.Conv1d(tokens, tokens, 1)

    def forward(self, x):
        passed, gate = x.chunk(2, dim=-1)
        return (self.proj.weight.squeeze(-1) @ self.norm(gate) + self.proj.bias[:, None]) * passed


class KeywordBlock(nn.Module):
    def __init__(self, channels, hidden, tokens):
        super().__init__()
        self.proj_in = nn.Sequential(nn.Linear(channels, hidden), nn.GELU())
        self.sgu, self.proj_out = KeywordGate(hidden // 2, tokens), nn.Linear(hidden // 2, channels)

    def forward(self, x):
        return self.proj_out(self.sgu(self.proj_in(x)))


class KeywordLayer(nn.Module):
    """x + norm(block(x)), under upstream's names."""

    def __init__(self, channels, *sizes):
        super().__init__()
        self.fn = nn.Module()
        self.fn.norm, self.fn.fn = nn.LayerNorm(channels), KeywordBlock(channels, *sizes)

    def forward(self, x):
        return x + self.fn.norm(self.fn.fn(x))


class KwMlp(nn.Module):
    """KW-MLP. Each input row is one second of sound: 98 frames of 40 features."""

    def __init__(self, classes=35, channels=64, hidden=256, depth=12, frames=98, features=40):
        super().__init__()
        self.shape = (frames, features)
        self.to_patch_embed = nn.Sequential(nn.Identity(), nn.Linear(features, channels))
        self.layers = nn.Sequential(*(KeywordLayer(channels, hidden, frames) for _ in range(depth)))
        self.to_logits = nn.Sequential(nn.LayerNorm(channels), nn.Identity(), nn.Linear(channels, classes))

    def forward(self, x):
        h = self.layers(self.to_patch_embed(x.reshape(-1, *self.shape)))
        return self.to_logits[2](self.to_logits[0](h).mean(dim=1))


def difference(case, model):
    """The largest error of `model` on a case file, in float64, relative to the largest output."""
    tensors, _ = read_safetensors(os.path.join(CASES, case + ".safetensors"), torch.from_numpy)
    state = {key[6:]: value for key, value in tensors.items() if key.startswith("model.")}
    channels = next((value.shape[0] for key, value in state.items() if key.endswith("output.0.bias")), None)
    state = {key: value[:channels] if ".conv1d_out." in key else value for key, value in state.items()}  # one speaker
    model.load_state_dict(state)
    with torch.no_grad():
        x, expected = tensors["input"].double(), tensors.get("output_f64_exactfreq", tensors["output_f64"])
        if x.dim() == 4:  # an image whose columns are frames
            x = x.squeeze(1).transpose(1, 2)
        y = model.double()(x)
    return ((y - expected).abs().max() / expected.abs().max()).item()


def prove():
    """The largest error of the models in this file, compared with recorded outputs of the original code."""
    trunk = Trunk(2, 12, 8, 8, 8, 21, torch.float64)
    masks = Enhancer(9, 11, 21, torch.float64, depth=2, channels=12, inner=6, query_key=8, group=8)
    keywords = KwMlp(5, 12, 48, 2, 13, 9)
    return max(difference("mf2_trunk2", trunk), difference("mf2_se_masknet", masks), difference("kwmlp_postnorm", keywords))
