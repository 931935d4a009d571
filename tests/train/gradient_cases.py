#!/usr/bin/env python3
"""Writes gradients of the originals' layers and models: the case files `*_grad.safetensors`.

    python3 gradient_cases.py                    writes them into ../reference, beside this script's folder
    python3 gradient_cases.py --out FOLDER       writes them to FOLDER
    python3 gradient_cases.py --check FOLDER     checks the models below against the case files of the originals in FOLDER:
                                                 outputs in float64, and gradients if the file has them

Needs torch (written with 1.13) and numpy. The models restate the originals with their parameter names; lucidrains' gMLP and
FLASH come from ten_steps.py.

A case file has the format of check_parity (model.<key>, input, mask, token_type_ids, output, output_f64, and the arguments in
the metadata), plus the float64 gradients of loss_f64 = sum(output_f64 * cotangent): grad.<key> for every parameter, under each
name if it is tied, and grad.input unless the input is token ids.
"""

import argparse
import json
import math
import os
import re
import sys
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

sys.dont_write_bytecode = True  # the next import must not create __pycache__

import ten_steps as lucidrains
from ten_steps import (ACTIVATIONS, FLASH, GmlpBlock, OffsetScale, PreNorm, Residual, RotaryEmbedding, ScaleNorm, T5Bias,
                       frequencies, make_norm, score_kernel)

# ---- lucidrains --------------------------------------------------------------------------------------------------------------


def pair(size):
    return size if isinstance(size, (tuple, list)) else (size, size)


class GMLPVision(nn.Module):
    def __init__(self, image_size, patch_size, num_classes, dim, depth, heads=1, ff_mult=4, channels=3, attn_dim=None,
                 prob_survival=1.0):
        super().__init__()
        self.patch = pair(patch_size)
        (height, width), (p, q) = pair(image_size), self.patch
        self.to_patch_embed = nn.Sequential(nn.Identity(), nn.Linear(channels * p * q, dim))
        self.layers = nn.ModuleList(
            Residual(PreNorm(dim, GmlpBlock(dim, dim * ff_mult, (height // p) * (width // q), attn_dim, False, "identity",
                                            heads, False))) for _ in range(depth))
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Identity(), nn.Linear(dim, num_classes))

    def forward(self, x):
        patches = F.unfold(x, self.patch, stride=self.patch).transpose(1, 2)  # row-major patches of (channel, row, column)
        x = self.to_patch_embed(patches)
        for layer in self.layers:
            x = layer(x)
        norm, _, head = self.to_logits
        return head(norm(x).mean(dim=1))


class GAU(nn.Module):
    def __init__(self, dim, query_key_dim=128, expansion_factor=2.0, add_residual=True, causal=False, dropout=0.0,
                 laplace_attn_fn=False, norm="layernorm"):
        super().__init__()
        hidden = int(expansion_factor * dim)
        self.causal, self.residual, self.kernel = causal, add_residual, score_kernel(laplace_attn_fn)
        self.norm = make_norm(norm, dim)
        self.rel_pos_bias = T5Bias(dim**0.5, causal)
        self.to_hidden = nn.Sequential(nn.Linear(dim, 2 * hidden), nn.SiLU())
        self.to_qk = nn.Sequential(nn.Linear(dim, query_key_dim), nn.SiLU())
        self.offsetscale = OffsetScale(2, query_key_dim)
        self.to_out = nn.Sequential(nn.Linear(hidden, dim))

    def forward(self, x, mask=None):
        n = x.shape[1]
        z = self.norm(x)
        v, gate = self.to_hidden(z).chunk(2, dim=-1)
        q, k = self.offsetscale(self.to_qk(z))
        attention = self.kernel((q @ k.transpose(1, 2) + self.rel_pos_bias(n)) / n)
        if mask is not None:
            attention = attention * mask[:, None, :]
        if self.causal:
            attention = attention.tril()
        out = self.to_out((attention @ v) * gate)
        return out + x if self.residual else out


# ---- timm --------------------------------------------------------------------------------------------------------------------


class SpatialGatingBlock(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.norm, self.proj = nn.LayerNorm(dim // 2), nn.Linear(length, length)

    def forward(self, x):
        u, v = x.chunk(2, dim=-1)
        return u * self.proj(self.norm(v).transpose(1, 2)).transpose(1, 2)


class MlpMixer(nn.Module):
    """MlpMixer with SpatialGatingBlock and GatedMlp."""

    class Block(nn.Module):
        def __init__(self, dim, hidden, length):
            super().__init__()
            self.norm = nn.LayerNorm(dim, eps=1e-6)
            self.mlp_channels = nn.ModuleDict({"fc1": nn.Linear(dim, hidden), "gate": SpatialGatingBlock(hidden, length),
                                               "fc2": nn.Linear(hidden // 2, dim)})

        def forward(self, x):
            mlp = self.mlp_channels
            return x + mlp["fc2"](mlp["gate"](F.gelu(mlp["fc1"](self.norm(x)))))

    def __init__(self, img_size, patch_size, num_blocks, embed_dim, mlp_ratio, num_classes, in_chans=3, entry=None, **_):
        super().__init__()
        (height, width), (p, q) = pair(img_size), pair(patch_size)
        self.stem = nn.ModuleDict({"proj": nn.Conv2d(in_chans, embed_dim, (p, q), stride=(p, q))})
        self.blocks = nn.ModuleList(
            self.Block(embed_dim, int(embed_dim * mlp_ratio), (height // p) * (width // q)) for _ in range(num_blocks))
        self.norm = nn.LayerNorm(embed_dim, eps=1e-6)
        self.head = nn.Linear(embed_dim, num_classes) if num_classes else nn.Identity()

    def forward(self, x, call="logits"):
        x = self.stem["proj"](x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return x if call == "features" else self.head(x.mean(dim=1))


# ---- labml -------------------------------------------------------------------------------------------------------------------


class GMLPBlock(nn.Module):
    """On [tokens, batch, d]; the mask [n, n, 1] multiplies the spatial weight."""

    def __init__(self, d_model, d_ffn, seq_len):
        super().__init__()
        self.norm, self.proj1, self.proj2 = nn.LayerNorm(d_model), nn.Linear(d_model, d_ffn), nn.Linear(d_ffn // 2, d_model)
        self.sgu = nn.Module()
        self.sgu.norm = nn.LayerNorm(d_ffn // 2)
        self.sgu.weight, self.sgu.bias = nn.Parameter(torch.zeros(seq_len, seq_len)), nn.Parameter(torch.ones(seq_len))

    def forward(self, x, mask=None):
        n = len(x)
        z1, z2 = F.gelu(self.proj1(self.norm(x))).chunk(2, dim=-1)
        weight = self.sgu.weight[:n, :n]
        if mask is not None:
            weight = weight * mask[:, :, 0]
        z2 = torch.einsum("ij,jbd->ibd", weight, self.sgu.norm(z2)) + self.sgu.bias[:n, None, None]
        return self.proj2(z1 * z2) + x


# ---- JunnYu: FLASH-Quad ------------------------------------------------------------------------------------------------------


def toeplitz(weight, length, n):
    """[i, j] is weight[length - 1 + j - i]."""
    return weight[length - 1 + torch.arange(n) - torch.arange(n)[:, None]]


def fused(projected, hidden, query_key):
    return projected.split([hidden, hidden, query_key], dim=-1)


class RsqrtScaleNorm(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps, self.scala = eps, nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * torch.rsqrt((x**2).mean(dim=-1, keepdim=True) + self.eps) * self.scala


def flash_quad_norm(form, dim, eps):
    return RsqrtScaleNorm(eps) if form == "scale_norm" else nn.LayerNorm(dim, eps=eps)


class FlashQuadGAU(nn.Module):
    def __init__(self, hidden_size, max_position_embeddings=512, expansion_factor=2, s=128, norm_type="layer_norm", eps=1e-5,
                 hidden_act="silu"):
        super().__init__()
        self.hidden, self.length = int(hidden_size * expansion_factor), max_position_embeddings
        self.act = ACTIVATIONS[hidden_act]
        self.LayerNorm = flash_quad_norm(norm_type, hidden_size, eps)
        self.uv = nn.Linear(hidden_size, 2 * self.hidden + s)
        self.weight, self.bias = nn.Parameter(torch.ones(2, s)), nn.Parameter(torch.zeros(2, s))
        self.w = nn.Parameter(torch.zeros(2 * self.length - 1))
        self.a, self.b = nn.Parameter(torch.zeros(1, s)), nn.Parameter(torch.zeros(1, s))  # for more than 512 positions; unused
        self.o = nn.Linear(self.hidden, hidden_size)

    @staticmethod
    def rotated(x):
        """Pairs (k, k + s/2)."""
        half = x.shape[-1] // 2
        frequency = 10000 ** -(torch.arange(half).to(x.dtype) / half)
        angle = torch.arange(x.shape[1]).to(x.dtype)[:, None] * frequency
        a, b = x.chunk(2, dim=-1)
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)

    def forward(self, x, mask=None, causal=False):
        u, v, base = fused(self.act(self.uv(self.LayerNorm(x))), self.hidden, self.weight.shape[1])
        q, k = (self.rotated(base * self.weight[i] + self.bias[i]) for i in range(2))
        attention = F.relu(q @ k.transpose(1, 2) / self.length + toeplitz(self.w, self.length, x.shape[1]))**2
        if mask is not None:
            attention = attention * mask[:, :, None] * mask[:, None, :]
        if causal:
            attention = attention.tril()
        return self.o(u * (attention @ v)) + x


class FLASHQuadModel(nn.Module):
    def __init__(self, vocab_size, hidden_size, num_hidden_layers, max_position_embeddings=512, s=128, expansion_factor=2,
                 norm_type="scale_norm", layer_norm_eps=1e-5, hidden_act="silu", type_vocab_size=2, pad_token_id=0, **_):
        super().__init__()
        self.pad = pad_token_id
        e = self.embeddings = nn.Module()
        e.word_embeddings = nn.Embedding(vocab_size, hidden_size)
        e.token_type_embeddings = nn.Embedding(type_vocab_size, hidden_size)
        e.scaledsin_scalar = nn.Parameter(torch.ones(1))
        angle = torch.arange(max_position_embeddings).float()[:, None] * frequencies(hidden_size)
        e.register_buffer("scaledsin_embeddings", torch.cat([angle.sin(), angle.cos()], dim=-1))
        e.register_buffer("position_ids", torch.arange(max_position_embeddings)[None])
        e.LayerNorm = flash_quad_norm(norm_type, hidden_size, layer_norm_eps)
        self.encoder = nn.Module()
        self.encoder.layer = nn.ModuleList(
            FlashQuadGAU(hidden_size, max_position_embeddings, expansion_factor, s, norm_type, layer_norm_eps, hidden_act)
            for _ in range(num_hidden_layers))

    def forward(self, ids, mask=None, token_type_ids=None):
        e = self.embeddings
        mask = (ids != self.pad).to(e.scaledsin_scalar.dtype) if mask is None else mask
        token_type_ids = torch.zeros_like(ids) if token_type_ids is None else token_type_ids
        x = e.word_embeddings(ids) + e.token_type_embeddings(token_type_ids)
        x = e.LayerNorm(x + e.scaledsin_embeddings[:ids.shape[1]] * e.scaledsin_scalar)
        for layer in self.encoder.layer:
            x = layer(x, mask)
        return x


class FLASHQuadForMaskedLM(nn.Module):
    def __init__(self, vocab_size, hidden_size, num_hidden_layers, norm_type="scale_norm", layer_norm_eps=1e-5,
                 hidden_act="silu", **others):
        super().__init__()
        self.flash_quad = FLASHQuadModel(vocab_size, hidden_size, num_hidden_layers, norm_type=norm_type,
                                         layer_norm_eps=layer_norm_eps, hidden_act=hidden_act, **others)
        self.act, self.cls = ACTIVATIONS[hidden_act], nn.Module()
        p = self.cls.predictions = nn.Module()
        p.bias = nn.Parameter(torch.zeros(vocab_size))
        p.transform = nn.Module()
        p.transform.dense = nn.Linear(hidden_size, hidden_size)
        p.transform.LayerNorm = flash_quad_norm(norm_type, hidden_size, layer_norm_eps)
        p.decoder = nn.Linear(hidden_size, vocab_size)
        p.decoder.weight, p.decoder.bias = self.flash_quad.embeddings.word_embeddings.weight, p.bias  # tied

    def forward(self, ids, mask=None, token_type_ids=None):
        p = self.cls.predictions
        x = self.flash_quad(ids, mask, token_type_ids)
        return p.decoder(p.transform.LayerNorm(self.act(p.transform.dense(x))))


# ---- JunnYu: FLASH -----------------------------------------------------------------------------------------------------------


class RenamedOffsetScale(OffsetScale):
    """OffsetScale with parameters named `weight` and `bias`."""

    def __init__(self, rows, dim):
        super().__init__(rows, dim)
        self.weight, self.bias = self.gamma, self.beta
        del self.gamma, self.beta

    def forward(self, x):
        return OffsetScale.forward(SimpleNamespace(gamma=self.weight, beta=self.bias), x)


class FLASHModel(nn.Module):
    def __init__(self, vocab_size, hidden_size, num_hidden_layers, group_size=256, query_key_dim=128, expansion_factor=2,
                 norm_type="scalenorm", max_position_embeddings=512, **_):
        super().__init__()
        self.embeddings, self.encoder = nn.Module(), nn.Module()
        self.embeddings.word_embeddings = nn.Embedding(vocab_size, hidden_size)
        self.embeddings.scale = nn.Parameter(torch.ones(1))
        rotary = RotaryEmbedding(min(32, query_key_dim))
        self.encoder.layers = nn.ModuleList()
        for _ in range(num_hidden_layers):
            layer = FLASH(hidden_size, group_size, query_key_dim, expansion_factor, rotary=rotary, norm=norm_type)
            layer.qk_offset_scale = RenamedOffsetScale(4, query_key_dim)
            self.encoder.layers.append(layer)

    def forward(self, ids, mask=None):
        x = self.embeddings.word_embeddings(ids)
        half = torch.arange(x.shape[2] // 2).to(x.dtype)  # not in checkpoints
        angle = torch.arange(x.shape[1]).to(x.dtype)[:, None] * 10000 ** (-2 * half / x.shape[2])
        x = x + torch.cat([angle.sin(), angle.cos()], dim=-1) * self.embeddings.scale
        for layer in self.encoder.layers:
            x = layer(x, mask)
        return x


# ---- JunnYu: GAU-alpha -------------------------------------------------------------------------------------------------------


class RowScaleOffset(nn.Module):
    def __init__(self, dim, use_bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim)) if use_bias else None

    def forward(self, x):
        return x * self.weight + (0 if self.bias is None else self.bias)


class GAULayer(nn.Module):
    def __init__(self, hidden_size, intermediate_size, attention_key_size=128, use_bias=False, normalization="softmax_plus",
                 attention_scale=True, activation="silu", eps=1e-12, **_):
        super().__init__()
        self.hidden, self.normalization, self.eps = intermediate_size, normalization, eps
        self.scale = attention_key_size**-0.5 if attention_scale else 1.0
        self.act = ACTIVATIONS["silu" if activation == "swish" else activation]
        self.gau = nn.ModuleDict({"i_dense": nn.Linear(hidden_size, 2 * intermediate_size + attention_key_size, bias=use_bias),
                                  "o_dense": nn.Linear(intermediate_size, hidden_size, bias=use_bias),
                                  "q_scaleoffset": RowScaleOffset(attention_key_size, use_bias),
                                  "k_scaleoffset": RowScaleOffset(attention_key_size, use_bias)})

    @staticmethod
    def rotated(x):
        """Pairs (2k, 2k + 1)."""
        width = x.shape[-1]
        angle = torch.arange(x.shape[1]).to(x.dtype)[:, None] * 10000 ** -(torch.arange(0, width, 2).to(x.dtype) / width)
        a, b = x[..., ::2], x[..., 1::2]
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)

    def weights(self, scores, mask):
        keys = torch.full((len(scores), 1, 1), float(scores.shape[-1]), dtype=scores.dtype)
        if mask is not None:
            keys = mask.sum(dim=-1)[:, None, None]
            scores = scores.masked_fill(mask[:, None, :] == 0, -1e4)
        if self.normalization == "squared_relu":
            return F.relu(scores)**2 / keys
        if self.normalization == "softmax_plus":
            factor = torch.log(keys) / math.log(512)
            scores = scores * (factor if mask is None else factor * mask[:, None, :] + 1 - mask[:, None, :])
        return scores.softmax(dim=-1)

    def forward(self, x, mask=None):
        gau = self.gau
        u, v, base = fused(self.act(gau["i_dense"](x)), self.hidden, gau["q_scaleoffset"].weight.shape[0])
        q, k = self.rotated(gau["q_scaleoffset"](base)), self.rotated(gau["k_scaleoffset"](base))
        x = x + gau["o_dense"](u * (self.weights(q @ k.transpose(1, 2) * self.scale, mask) @ v))
        return rms_norm(x, self.eps)


def rms_norm(x, eps):
    return x / torch.sqrt((x**2).mean(dim=-1, keepdim=True) + eps)


class GAUAlphaModel(nn.Module):
    def __init__(self, vocab_size, hidden_size, intermediate_size, num_hidden_layers, attention_key_size=128, use_bias=False,
                 normalization="softmax_plus", attention_scale=True, hidden_act="swish", layer_norm_eps=1e-12,
                 type_vocab_size=2, pad_token_id=0, max_position_embeddings=512, **_):
        super().__init__()
        self.pad, self.eps = pad_token_id, layer_norm_eps
        self.embeddings, self.encoder = nn.Module(), nn.Module()
        self.embeddings.word_embeddings = nn.Embedding(vocab_size, hidden_size)
        self.embeddings.token_type_embeddings = nn.Embedding(type_vocab_size, hidden_size)
        self.encoder.layer = nn.ModuleList(
            GAULayer(hidden_size, intermediate_size, attention_key_size, use_bias, normalization, attention_scale, hidden_act,
                     layer_norm_eps) for _ in range(num_hidden_layers))

    def forward(self, ids, mask=None, token_type_ids=None):
        e = self.embeddings
        mask = (ids != self.pad).to(e.word_embeddings.weight.dtype) if mask is None else mask
        token_type_ids = torch.zeros_like(ids) if token_type_ids is None else token_type_ids
        x = rms_norm(e.word_embeddings(ids) + e.token_type_embeddings(token_type_ids), self.eps)
        for layer in self.encoder.layer:
            x = layer(x, mask)
        return x


# ---- mmpose ------------------------------------------------------------------------------------------------------------------


class RTMCCBlock(nn.Module):
    """With self-attention and equal channels in and out."""

    def __init__(self, num_token, in_token_dims, out_token_dims, expansion_factor=2, s=128, eps=1e-5, act_fn="SiLU", bias=False,
                 use_rel_bias=True, attn_type="self-attn", pos_enc=False, **_):
        super().__init__()
        assert attn_type == "self-attn" and not pos_enc and in_token_dims == out_token_dims
        self.hidden, self.length, self.act = int(in_token_dims * expansion_factor), num_token, ACTIVATIONS[act_fn.lower()]
        self.ln = ScaleNorm(in_token_dims, eps)
        self.uv = nn.Linear(in_token_dims, 2 * self.hidden + s, bias=bias)
        self.gamma, self.beta = nn.Parameter(torch.ones(2, s)), nn.Parameter(torch.zeros(2, s))
        self.w = nn.Parameter(torch.zeros(2 * num_token - 1)) if use_rel_bias else None
        self.o = nn.Linear(self.hidden, out_token_dims, bias=bias)
        self.res_scale = nn.Module()
        self.res_scale.scale = nn.Parameter(torch.ones(in_token_dims))

    def forward(self, x):
        u, v, base = fused(self.act(self.uv(self.ln(x))), self.hidden, self.gamma.shape[1])
        q, k = (base * self.gamma[i] + self.beta[i] for i in range(2))
        scores = q @ k.transpose(1, 2)
        if self.w is not None:
            scores = scores + toeplitz(self.w, self.length, x.shape[1])
        attention = F.relu(scores / math.sqrt(k.shape[-1]))**2
        return x * self.res_scale.scale + self.o(u * (attention @ v))


CLASSES = {**lucidrains.CLASSES,
           ("lucidrains_gmlp", "gMLPVision"): GMLPVision,
           ("lucidrains_flash", "GAU"): GAU,
           ("timm_gmlp", "MlpMixer(SpatialGatingBlock, GatedMlp)"): MlpMixer,
           ("labml_gmlp", "GMLPBlock"): GMLPBlock,
           ("junnyu_flashquad", "GAU"): FlashQuadGAU,
           ("junnyu_flashquad", "FLASHQuadModel"): FLASHQuadModel,
           ("junnyu_flashquad", "FLASHQuadForMaskedLM"): FLASHQuadForMaskedLM,
           ("junnyu_flash", "FLASHModel"): FLASHModel,
           ("junnyu_gau_alpha", "GAULayer"): GAULayer,
           ("junnyu_gau_alpha", "GAUAlphaModel"): GAUAlphaModel,
           ("mmpose_rtmcc", "RTMCCBlock"): RTMCCBlock}

# ---- the cases ---------------------------------------------------------------------------------------------------------------

UPSTREAM = {"lucidrains_gmlp": "lucidrains/g-mlp-pytorch", "lucidrains_flash": "lucidrains/FLASH-pytorch",
            "timm_gmlp": "huggingface/pytorch-image-models",
            "labml_gmlp": "labmlai/annotated_deep_learning_paper_implementations",
            "junnyu_flashquad": "JunnYu/FLASHQuad_pytorch", "junnyu_flash": "JunnYu/FLASHQuad_pytorch",
            "junnyu_gau_alpha": "JunnYu/GAU-alpha-pytorch", "mmpose_rtmcc": "open-mmlab/mmpose"}
TIMM = "MlpMixer(SpatialGatingBlock, GatedMlp)"

CASES = []


def case(name, family, class_name, exercises, config, shape, ids=None, mask=None, types=False, call=None):
    """Adds a case. The input has this `shape` and consists of token ids below `ids` or of random features. `mask` is the
    type of the original's mask, or "causal"."""
    CASES.append(SimpleNamespace(name=name + "_grad", family=family, class_name=class_name, exercises=exercises, config=config,
                                 shape=shape, ids=ids, mask=mask, types=types, call=call or {}, seed=1000 + 100 * len(CASES)))


def gmlp_cases():
    def gmlp(name, exercises, shape, ids=None, **config):
        size = {"dim": 8, "seq_len": 9, "ff_mult": 2, **({"num_tokens": ids} if ids else {})}
        case(name, "lucidrains_gmlp", "gMLP", exercises, {**size, **config}, shape, ids=ids)

    gmlp("lucid_gmlp_causal_heads4_tanh_short", "heads, act on the gate, n < seq_len", [2, 6], ids=9, depth=1, causal=True,
         heads=4, act="tanh")
    gmlp("lucid_gmlp_circulant_causal_heads2_short", "scaled Toeplitz per head, n < seq_len", [2, 7], ids=9, depth=1,
         causal=True, heads=2, circulant_matrix=True, act="identity")
    gmlp("lucid_gmlp_circulant_noncausal", "scaled Toeplitz, n = seq_len", [2, 9, 8], depth=1,
         circulant_matrix=True, act="identity")
    gmlp("lucid_gmlp_shift1_causal", "token shift (0, 1), n < seq_len", [2, 7, 8], depth=1, causal=True, shift_tokens=1,
         act="identity")
    gmlp("lucid_gmlp_shift1_noncausal", "token shift (-1, 0, 1): 3 x 2 shifted features and 2 others", [2, 9, 8], depth=1,
         shift_tokens=1, act="identity")
    gmlp("lucid_amlp_noncausal", "tiny attention over all tokens", [2, 9, 8], depth=1, attn_dim=6, act="identity")
    gmlp("lucid_amlp_shift1_causal_tanh", "attention reads the shifted x, act after it is added", [2, 7], ids=9, depth=1,
         causal=True, shift_tokens=1, attn_dim=6, act="tanh")
    case("lucid_gmlpvision", "lucidrains_gmlp", "gMLPVision", "patches (c p1 p2) of an oblong image, mean after the norm",
         {"image_size": [4, 6], "patch_size": 2, "channels": 2, "num_classes": 5, "dim": 8, "depth": 1, "heads": 2,
          "ff_mult": 2, "attn_dim": 6}, [2, 2, 4, 6])


def flash_cases():
    def layer(kind, name, exercises, shape, mask=None, **config):
        case(name, "lucidrains_flash", kind, exercises, {"dim": 8, "query_key_dim": 6, "norm": "layernorm", **config}, shape,
             mask=mask)

    layer("GAU", "lucid_gau_noncausal", "T5 buckets on both sides up to logarithmic ones", [1, 17, 8])
    layer("GAU", "lucid_gau_laplace", "Laplace attention function", [2, 9, 8], laplace_attn_fn=True)
    layer("GAU", "lucid_gau_mask", "key mask, not causal", [2, 9, 8], mask=torch.bool)
    layer("GAU", "lucid_gau_scalenorm_noresidual", "ScaleNorm, no residual, causal with mask and Laplace", [2, 9, 8],
          mask=torch.bool, norm="scalenorm", add_residual=False, causal=True, laplace_attn_fn=True)
    layer("FLASH", "lucid_flash_noncausal_pad_mask_laplace_shift", "padding, mask, Laplace, token shift, ScaleNorm",
          [2, 11, 8], mask=torch.bool, group_size=4, rotary_dim=4, norm="scalenorm", laplace_attn_fn=True, shift_tokens=True)
    layer("FLASH", "lucid_flash_noncausal_noreduce", "own group's K^T V only, still / n", [2, 11, 8], group_size=4,
          rotary_dim=4, reduce_group_non_causal_attn=False)
    layer("FLASH", "lucid_flash_causal_pad_mask", "causal with padding and mask, no rotary", [2, 11, 8], mask=torch.bool,
          group_size=4, causal=True)
    case("lucid_flashtr_causal", "lucidrains_flash", "FLASHTransformer", "defaults, causal, padding",
         {"num_tokens": 9, "dim": 8, "depth": 2, "group_size": 4, "query_key_dim": 6, "causal": True}, [2, 10], ids=9)
    case("lucid_flashtr_noncausal_mask", "lucidrains_flash", "FLASHTransformer", "LayerNorm, mask, padding, no token shift",
         {"num_tokens": 9, "dim": 8, "depth": 1, "group_size": 4, "query_key_dim": 6, "norm_type": "layernorm",
          "shift_tokens": False}, [2, 10], ids=9, mask=torch.bool)


def other_cases():
    timm = {"entry": None, "patch_size": 2, "embed_dim": 6, "num_blocks": 1}
    case("timm_gmlp_batch", "timm_gmlp", TIMM, "two oblong images, ratio 6",
         {**timm, "img_size": [4, 6], "mlp_ratio": 6, "num_classes": 4}, [2, 3, 4, 6], call={"call": "logits"})
    case("timm_gmlp_features", "timm_gmlp", TIMM, "features of one channel, two blocks, no head",
         {**timm, "img_size": 4, "mlp_ratio": 2, "num_classes": 0, "in_chans": 1, "num_blocks": 2}, [2, 1, 4, 4],
         call={"call": "features"})
    case("labml_gmlp_block_causal_short", "labml_gmlp", "GMLPBlock",
         "causal mask, n < seq_len: masked and unused spatial weights have gradient 0",
         {"d_model": 8, "d_ffn": 20, "seq_len": 9}, [6, 2, 8], mask="causal",
         call={"layout": "[seq, batch, d]; mask [n, n, 1] bool, True = visible"})
    quad = {"hidden_size": 8, "max_position_embeddings": 14, "expansion_factor": 2, "s": 6}
    case("junnyu_gau_causal_mask_scalenorm", "junnyu_flashquad", "GAU", "half-split RoPE, Toeplitz bias, mask of rows and keys",
         {**quad, "norm_type": "scale_norm"}, [2, 10, 8], mask=torch.float32, call={"causal": True})
    bert = {"vocab_size": 9, "num_hidden_layers": 1}
    case("junnyu_flashquad_model", "junnyu_flashquad", "FLASHQuadModel", "token types, scaled sinusoid, mask from padding ids",
         {**quad, **bert, "norm_type": "scale_norm"}, [2, 10], ids=9, types=True)
    case("junnyu_flashquad_mlm", "junnyu_flashquad", "FLASHQuadForMaskedLM", "masked language model, tied decoder, layer_norm",
         {**quad, **bert, "norm_type": "layer_norm"}, [2, 10], ids=9)
    case("junnyu_flash_model", "junnyu_flash", "FLASHModel", "sinusoid that is in no checkpoint, mask, padding",
         {**bert, "hidden_size": 8, "max_position_embeddings": 16, "group_size": 4, "query_key_dim": 6}, [2, 10], ids=9,
         mask=torch.float32)
    alpha = {**bert, "hidden_size": 8, "intermediate_size": 12, "attention_key_size": 6, "max_position_embeddings": 16}
    case("gau_alpha_softmaxplus_mask", "junnyu_gau_alpha", "GAUAlphaModel", "softmax_plus with mask, two post-norm layers",
         {**alpha, "num_hidden_layers": 2}, [2, 10], ids=9, mask=torch.float32)
    case("gau_alpha_squaredrelu_bias", "junnyu_gau_alpha", "GAUAlphaModel", "squared_relu / l, biases, mask from padding ids",
         {**alpha, "normalization": "squared_relu", "use_bias": True}, [2, 10], ids=9)
    case("rtmcc_self_relbias", "mmpose_rtmcc", "RTMCCBlock", "Toeplitz bias inside the / sqrt(s), scaled shortcut",
         {"num_token": 9, "in_token_dims": 8, "out_token_dims": 8, "s": 6, "use_rel_bias": True}, [2, 9, 8])


# Mean and standard deviation of initial values, by class and parameter name. Replaces ten_steps.initial_value() for names that
# it does not know, and for classes that scale their scores differently.
VALUES = {
    r"LayerNorm\.(weight|scala)$|scaledsin_scalar$|circulant_pos_.$|gate\.proj\.bias$": (1.0, 0.2),
    r"gate\.proj\.weight$|sgu\.weight$": (0.0, 0.3),
    r"^GAU offsetscale\.gamma$": (0.0, 1.5),
    r"^GAU rel_pos_bias": (0.0, 1.0),
    r"rel_pos_bias": (0.0, 0.2),
    r"(to_hidden\.0|to_qk\.0|uv|i_dense)\.weight$": (0.0, 0.5),
    r"^RTMCCBlock gamma$": (0.0, 0.8),
    r"_scaleoffset\.weight$": (0.0, 2.0),
    r"( |encoder\.layer\.\d+\.)weight$": (0.0, 1.0),
    r"_scaleoffset\.bias$|( |encoder\.layer\.\d+\.)(bias|w|a|b)$|beta$|to_qk\.0\.bias$": (0.0, 0.3),
    r"qk_offset_scale\.(weight|gamma)$": (0.0, 0.7),
    r"word_embeddings\.weight$|token_type_embeddings\.weight$": (0.0, 0.6),
}


def initial_value(class_name, name, shape, random):
    for pattern, (mean, deviation) in VALUES.items():
        if re.search(pattern, f"{class_name} {name}"):
            return mean + deviation * torch.randn(shape, generator=random)
    if len(shape) == 4:  # a convolution, treated as a linear layer
        return initial_value(class_name, name, (shape[0], math.prod(shape[1:])), random).reshape(shape)
    return lucidrains.initial_value(name, shape, random).float()


def random_mask(form, shape, random):
    """Padding at the end of the second sequence and a gap in the first; for labml, a causal mask."""
    if form == "causal":
        return torch.ones(shape[0], shape[0], 1, dtype=torch.bool).tril_()
    mask = torch.ones(shape[:2], dtype=form)
    mask[1, -3:] = 0
    mask[0, int(torch.randint(1, shape[1] - 1, (), generator=random))] = 0
    return mask


def inputs_of(c, random):
    if c.ids is None:
        tensors = {"input": torch.randn(c.shape, generator=random)}
    else:
        ids = torch.randint(1, c.ids, c.shape, generator=random)
        if c.mask is None and "junnyu" in c.family:
            ids[1, -3:] = 0  # padding, from which the model derives its mask
        tensors = {"input": ids}
    if c.mask is not None:
        tensors["mask"] = random_mask(c.mask, c.shape, random)
    if c.types:
        tensors["token_type_ids"] = torch.randint(2, c.shape, generator=random)
    return tensors


def smallest_effect(model, tensors, call, expected):
    """Sets each parameter in turn to a neutral value (1 for the scale of a norm, else 0) and returns the smallest relative
    change of the output."""
    effects = {}
    for name, parameter in model.named_parameters():
        if name.split(".")[-1] in ("a", "b"):
            continue  # FLASHQuad uses `a` and `b` only for more than 512 positions
        kept = parameter.detach().clone()
        is_scale = re.search(r"[nN]orm\.(weight|scala|g)$|to_logits\.0\.weight$|ln\.g$|scale\.scale$|pos_emb\.scale$", name)
        parameter.data.fill_(1.0 if is_scale else 0.0)
        changed = lucidrains.outcome(model, tensors, call)["output_f64"]
        parameter.data.copy_(kept)
        effects[name] = ((changed - expected).abs().max() / expected.abs().max()).item()
    return min(effects.values())


def make_case(c, seed):
    """A model with random parameters in float32, and the inputs."""
    random = torch.Generator().manual_seed(seed)
    model = CLASSES[c.family, c.class_name](**c.config)
    for key, value in model.named_parameters():
        value.data.copy_(initial_value(c.class_name, key, value.shape, random))
    return model, inputs_of(c, random), random


def write_case(c, folder):
    for seed in range(c.seed, c.seed + 100):
        model, tensors, random = make_case(c, seed)
        in_float = lucidrains.outcome(model, tensors, c.call)["output_f64"]
        effect = smallest_effect(model, tensors, c.call, in_float)
        if effect > 0.02:
            break
    else:
        raise SystemExit(f"{c.name}: with every seed, some parameter barely affects the output")
    state = {key: value.clone() for key, value in model.state_dict().items()}

    model = model.double()
    shape = lucidrains.outcome(model, tensors, c.call)["output_f64"].shape
    cotangent = {"cotangent": torch.randn(shape, generator=random).double()}
    results = lucidrains.outcome(model, {**tensors, **cotangent}, c.call)
    output = results["output_f64"]
    config = {"family": c.family, "class": c.class_name, "config": c.config,
              "config_full": lucidrains.full_arguments(CLASSES[c.family, c.class_name], c.config), "seed": seed,
              "call": {**({} if c.ids is None and c.mask is None else {"mask": "mask" in tensors}), **c.call}}
    metadata = {"case": c.name, "family": c.family, "class": c.class_name, "config": json.dumps(config, sort_keys=True),
                "upstream": f"{UPSTREAM[c.family]}, restated in tests/train/gradient_cases.py", "torch": torch.__version__,
                "exercises": c.exercises, "max_abs_output": f"{output.abs().max().item():.6g}",
                "max_abs_err_f32_vs_f64": f"{(in_float - output).abs().max().item():.3g}",
                "min_param_effect": f"{effect:.3g}"}
    path = os.path.join(folder, c.name + ".safetensors")
    contents = {**{f"model.{key}": value for key, value in state.items()}, **tensors, **cotangent, "output": in_float, **results}
    lucidrains.write_safetensors(path, dict(sorted(contents.items())), metadata)
    print(f"{c.name:56s} {os.path.getsize(path):6d} bytes  f32 {metadata['max_abs_err_f32_vs_f64']:>8s}"
          f"  effect {metadata['min_param_effect']:>7s}")
    return os.path.getsize(path)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FOLDER", default=os.path.join(os.path.dirname(here), "reference"))
    parser.add_argument("--check", metavar="FOLDER")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.check:
        lucidrains.prove(arguments.check, CLASSES, 1e-10)
        return
    for collect in (gmlp_cases, flash_cases, other_cases):
        collect()
    print(sum(write_case(c, arguments.out) for c in CASES), "bytes in", len(CASES), "files")


if __name__ == "__main__":
    main()
