#!/usr/bin/env python3
"""Ten training steps of three small language models in PyTorch, which the training tests repeat.

    python3 ten_steps.py                    writes ten_steps_{gmlp,amlp,flash}.safetensors beside this script
    python3 ten_steps.py --out FOLDER       writes them to FOLDER
    python3 ten_steps.py --check FOLDER     checks the models below against the case files of the originals in FOLDER

Needs torch (written with 1.13) and numpy. The models restate lucidrains' gMLP and FLASHTransformer, with their parameter names.

A file holds
  model.<key>   the parameters before the first step (F64, but exact in float32, so both runs start from equal values), and
                the constant tables, rounded to float32 as the originals store them
  tokens        [10, B, N] a batch per step; targets [10, B, N] the next tokens, -100 if ignored
  losses_f64, norms_f64, losses_f32, norms_f32
                [10] the loss of each step and the norm of its gradient before clipping, from runs in float64 and float32
  rates         [10] the learning rate of each step
  final.<key>   model.<key> after ten steps in float64
Its metadata has `config`, a JSON object: family, class and arguments as in the case files, and `training`, all other settings.
"""

import argparse
import inspect
import json
import math
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.dont_write_bytecode = True  # the next import must not create __pycache__
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from safetensors_file import read_safetensors, write_safetensors  # noqa: E402

# ---- gMLP and aMLP: lucidrains/g-mlp-pytorch 0.1.5 ---------------------------------------------------------------------------

ACTIVATIONS = {"identity": lambda x: x, "tanh": torch.tanh, "silu": F.silu, "gelu": F.gelu, "relu": F.relu}


class TinyAttention(nn.Module):
    def __init__(self, dim, dim_out, dim_inner, causal):
        super().__init__()
        self.causal, self.scale = causal, dim_inner**-0.5
        self.to_qkv = nn.Linear(dim, 3 * dim_inner, bias=False)
        self.to_out = nn.Linear(dim_inner, dim_out)

    def forward(self, x):
        q, k, v = self.to_qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) * self.scale
        if self.causal:
            future = torch.ones(scores.shape[1:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, -torch.finfo(scores.dtype).max)
        return self.to_out(scores.softmax(dim=-1) @ v)


class SpatialGatingUnit(nn.Module):
    def __init__(self, dim, dim_seq, causal, act, heads, circulant_matrix):
        super().__init__()
        self.causal, self.act, self.heads, self.circulant = causal, ACTIVATIONS[act], heads, circulant_matrix
        self.norm = nn.LayerNorm(dim // 2)
        self.weight = nn.Parameter(torch.zeros((heads, dim_seq) if circulant_matrix else (heads, dim_seq, dim_seq)))
        self.bias = nn.Parameter(torch.ones(heads, dim_seq))
        if circulant_matrix:
            self.circulant_pos_x = nn.Parameter(torch.ones(heads, dim_seq))
            self.circulant_pos_y = nn.Parameter(torch.ones(heads, dim_seq))

    def spatial_weight(self):
        if not self.circulant:
            return self.weight
        length = self.weight.shape[1]
        back = torch.arange(length)[:, None] - torch.arange(length)  # i - j; the last weight is on the diagonal
        toeplitz = self.weight[:, length - 1 - back.clamp(min=0)].tril()
        return toeplitz * self.circulant_pos_x[:, :, None] * self.circulant_pos_y[:, None, :]

    def forward(self, x, gate_res=None):
        res, gate = x.chunk(2, dim=-1)
        weight, bias = self.spatial_weight(), self.bias
        if self.causal:
            n = x.shape[1]
            weight, bias = weight[:, :n, :n].tril(), bias[:, :n]
        gate = self.norm(gate).unflatten(-1, (self.heads, -1))
        gate = (torch.einsum("hij,bjhc->bihc", weight, gate) + bias.t()[:, :, None]).flatten(2)
        if gate_res is not None:
            gate = gate + gate_res
        return self.act(gate) * res


class GmlpBlock(nn.Module):
    def __init__(self, dim, dim_ff, seq_len, attn_dim, causal, act, heads, circulant_matrix):
        super().__init__()
        self.proj_in = nn.Sequential(nn.Linear(dim, dim_ff), nn.GELU())
        self.attn = TinyAttention(dim, dim_ff // 2, attn_dim, causal) if attn_dim else None
        self.sgu = SpatialGatingUnit(dim_ff, seq_len, causal, act, heads, circulant_matrix)
        self.proj_out = nn.Linear(dim_ff // 2, dim)

    def forward(self, x):
        return self.proj_out(self.sgu(self.proj_in(x), self.attn(x) if self.attn else None))


class PreShiftTokens(nn.Module):
    def __init__(self, shifts, fn):
        super().__init__()
        self.shifts, self.fn = tuple(shifts), fn

    def forward(self, x):
        if self.shifts == (0,):
            return self.fn(x)
        width = x.shape[-1] // len(self.shifts)
        parts = list(x.split(width, dim=-1))
        parts[:len(self.shifts)] = [F.pad(part, (0, 0, by, -by)) for part, by in zip(parts, self.shifts)]
        return self.fn(torch.cat(parts, dim=-1))


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.norm, self.fn = nn.LayerNorm(dim), fn

    def forward(self, x):
        return self.fn(self.norm(x))


class Residual(nn.Module):
    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, x):
        return x + self.fn(x)


class GMLP(nn.Module):
    """gMLP, or aMLP if attn_dim is given. Without num_tokens, input and output are features, and there is no final norm."""

    def __init__(self, dim, depth, seq_len, num_tokens=None, heads=1, ff_mult=4, attn_dim=None, prob_survival=1.0, causal=False,
                 circulant_matrix=False, shift_tokens=0, act="identity"):
        super().__init__()
        shifts = range(0 if causal else -shift_tokens, shift_tokens + 1)
        self.to_embed = nn.Embedding(num_tokens, dim) if num_tokens else nn.Identity()
        self.layers = nn.ModuleList(
            Residual(PreNorm(dim, PreShiftTokens(shifts, GmlpBlock(dim, dim * ff_mult, seq_len, attn_dim, causal, act, heads,
                                                                   circulant_matrix)))) for _ in range(depth))
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens)) if num_tokens else nn.Identity()

    def forward(self, x):
        x = self.to_embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.to_logits(x)


# ---- FLASH: lucidrains/FLASH-pytorch 0.1.9 -----------------------------------------------------------------------------------


class ScaleNorm(nn.Module):
    def __init__(self, dim, eps=1e-5):
        super().__init__()
        self.scale, self.eps = dim**-0.5, eps
        self.g = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x / (x.norm(dim=-1, keepdim=True) * self.scale).clamp(min=self.eps) * self.g


def make_norm(form, dim):
    return {"layernorm": nn.LayerNorm, "scalenorm": ScaleNorm}[form](dim)


class OffsetScale(nn.Module):
    def __init__(self, rows, dim):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(rows, dim)), nn.Parameter(torch.zeros(rows, dim))

    def forward(self, x):
        return (x[..., None, :] * self.gamma + self.beta).unbind(dim=-2)


class T5Bias(nn.Module):
    def __init__(self, scale, causal, buckets=32, max_distance=128):
        super().__init__()
        self.scale, self.causal, self.buckets, self.max_distance = scale, causal, buckets, max_distance
        self.relative_attention_bias = nn.Embedding(buckets, 1)

    def forward(self, n):
        back = torch.arange(n)[:, None] - torch.arange(n)  # query minus key
        buckets, offset = self.buckets, 0
        if self.causal:
            back = back.clamp(min=0)
        else:
            buckets //= 2
            offset = (back < 0).long() * buckets
            back = back.abs()
        exact = buckets // 2
        far = torch.log(back.clamp(min=1).float() / exact) / math.log(self.max_distance / exact) * (buckets - exact)
        far = (exact + far.long()).clamp(max=buckets - 1)
        return self.relative_attention_bias(offset + torch.where(back < exact, back, far))[..., 0] * self.scale


def frequencies(dim):
    """10000^(-2k / dim), rounded to float32 as in checkpoints."""
    return 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim)


class RotaryEmbedding(nn.Module):
    """Rotates the pairs (2k, 2k + 1) of the first `dim` features."""

    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freqs", frequencies(dim))

    def forward(self, x):
        angle = torch.arange(x.shape[1]).to(x.dtype)[:, None] * self.freqs
        turned, rest = x.split([2 * len(self.freqs), x.shape[-1] - 2 * len(self.freqs)], dim=-1)
        a, b = turned.unflatten(-1, (-1, 2)).unbind(dim=-1)
        pairs = torch.stack([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], dim=-1)
        return torch.cat([pairs.flatten(-2), rest], dim=-1)


class ScaledSinusoid(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("inv_freq", frequencies(dim))

    def forward(self, x):
        angle = torch.arange(x.shape[1]).to(x.dtype)[:, None] * self.inv_freq
        return torch.cat([angle.sin(), angle.cos()], dim=-1) * self.scale


def score_kernel(laplace):
    mean, deviation = math.sqrt(0.5), math.sqrt(0.25 / math.pi)
    return (lambda x: 0.5 * (1 + torch.erf((x - mean) / (deviation * math.sqrt(2))))) if laplace else lambda x: F.relu(x)**2


class FLASH(nn.Module):
    def __init__(self, dim, group_size=256, query_key_dim=128, expansion_factor=2.0, causal=False, dropout=0.0, rotary=None,
                 rotary_dim=None, norm="layernorm", shift_tokens=False, laplace_attn_fn=False,
                 reduce_group_non_causal_attn=True):
        super().__init__()
        self.group, self.causal, self.shift = group_size, causal, shift_tokens
        self.reduce, self.kernel = reduce_group_non_causal_attn, score_kernel(laplace_attn_fn)
        hidden = int(dim * expansion_factor)
        self.rotary_pos_emb = RotaryEmbedding(rotary_dim) if rotary_dim else rotary
        self.rel_pos_bias = T5Bias(query_key_dim**0.5, causal)
        self.norm = make_norm(norm, dim)
        self.to_hidden = nn.Sequential(nn.Linear(dim, 2 * hidden), nn.SiLU())
        self.to_qk = nn.Sequential(nn.Linear(dim, query_key_dim), nn.SiLU())
        self.qk_offset_scale = OffsetScale(4, query_key_dim)
        self.to_out = nn.Linear(hidden, dim)

    def forward(self, x, mask=None):
        n, g = x.shape[1], self.group
        z = self.norm(x)
        if self.shift:
            shifted, rest = z.chunk(2, dim=-1)  # for an odd width, the first half is larger
            z = torch.cat([F.pad(shifted, (0, 0, 1, -1)), rest], dim=-1)
        v, gate = self.to_hidden(z).chunk(2, dim=-1)
        quad_q, lin_q, quad_k, lin_k = self.qk_offset_scale(self.to_qk(z))
        keep = torch.ones(x.shape[:2], dtype=torch.bool) if mask is None else mask.bool()
        lin_k = lin_k * keep[..., None]
        if self.rotary_pos_emb is not None:
            quad_q, lin_q, quad_k, lin_k = map(self.rotary_pos_emb, (quad_q, lin_q, quad_k, lin_k))

        def grouped(t):
            return F.pad(t, (0, 0, 0, -n % g)).unflatten(1, (-1, g))

        quad_q, lin_q, quad_k, lin_k, v = map(grouped, (quad_q, lin_q, quad_k, lin_k, v))
        keep = grouped(keep[..., None])[..., 0]

        attention = self.kernel(quad_q @ quad_k.transpose(2, 3) / g + self.rel_pos_bias(g)) * keep[:, :, None, :]
        kv = lin_k.transpose(2, 3) @ v
        if self.causal:
            attention = attention.tril()
            kv = kv / g
            kv = kv.cumsum(dim=1) - kv  # sums over earlier groups only
        else:
            kv = kv / n
            if self.reduce:
                kv = kv.sum(dim=1, keepdim=True)
        mixed = (attention @ v + lin_q @ kv).flatten(1, 2)[:, :n]
        return self.to_out(gate * mixed) + x


class FLASHTransformer(nn.Module):
    def __init__(self, dim, num_tokens, depth, group_size=256, query_key_dim=128, expansion_factor=2.0, causal=False,
                 attn_dropout=0.0, norm_type="scalenorm", shift_tokens=True, laplace_attn_fn=False,
                 reduce_group_non_causal_attn=True):
        super().__init__()
        rotary = RotaryEmbedding(min(32, query_key_dim))  # shared by all layers
        self.token_emb = nn.Embedding(num_tokens, dim)
        self.abs_pos_emb = ScaledSinusoid(dim)
        self.layers = nn.ModuleList(
            FLASH(dim, group_size, query_key_dim, expansion_factor, causal, rotary=rotary, norm=norm_type,
                  shift_tokens=shift_tokens, laplace_attn_fn=laplace_attn_fn,
                  reduce_group_non_causal_attn=reduce_group_non_causal_attn) for _ in range(depth))
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_tokens))

    def forward(self, x, mask=None):
        x = self.token_emb(x)
        x = x + self.abs_pos_emb(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.to_logits(x)


# ---- the proof ---------------------------------------------------------------------------------------------------------------

CLASSES = {("lucidrains_gmlp", "gMLP"): GMLP,
           ("lucidrains_flash", "FLASH"): FLASH,
           ("lucidrains_flash", "FLASHTransformer"): FLASHTransformer}


def full_arguments(make, given):
    """The arguments of a class, including defaults."""
    parameters = inspect.signature(make).parameters.items()
    defaults = {key: value.default for key, value in parameters if value.default is not value.empty}
    defaults.pop("rotary", None)  # a module shared by layers, not a setting
    return {**defaults, **given}


def in_double(tensor):
    return tensor.double() if tensor.is_floating_point() else tensor


def outcome(model, tensors, call):
    """The results that a case file stores: output, loss and gradients, computed in the scalar type of `model`."""
    scalar = next(model.parameters()).dtype
    inputs = {key: value.to(scalar) if value.is_floating_point() else value for key, value in tensors.items()
              if key in ("input", "mask", "token_type_ids")}
    x = inputs.pop("input").clone()
    x.requires_grad_(x.is_floating_point())
    output = model(x, **inputs, **{key: call[key] for key in ("causal", "call") if key in call})
    results = {"output_f64": output.detach()}
    if "cotangent" in tensors:
        loss = (output * tensors["cotangent"].to(scalar)).sum()
        loss.backward()
        results["loss_f64"] = loss.detach()[None]
        for key, value in [*model.state_dict(keep_vars=True).items(), ("input", x)]:  # unlike parameters(), includes tied names
            if value.requires_grad:
                results[f"grad.{key}"] = torch.zeros_like(value) if value.grad is None else value.grad
    return results


def prove(folder, classes, tolerance):
    """Runs the cases of `classes` in `folder` in float64 and compares outputs and gradients."""
    worst, count = 0.0, 0
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".safetensors"):
            continue
        tensors, metadata = read_safetensors(os.path.join(folder, name), torch.from_numpy)
        make = classes.get((metadata.get("family"), metadata.get("class")))
        if make is None:
            continue
        config = json.loads(metadata["config"])
        model = make(**{**config["config_full"], **config["config"]}).double()
        model.load_state_dict({key[6:]: in_double(value) for key, value in tensors.items() if key.startswith("model.")})
        results = outcome(model, tensors, config["call"])
        missing = [key for key in tensors if key.startswith("grad.") and key not in results]
        errors = {key: ((results[key] - tensors[key]).abs().max() / tensors[key].abs().max().clamp(min=1e-300)).item()
                  for key in results if key in tensors}
        gradients = max((error for key, error in errors.items() if key.startswith("grad.")), default=None)
        print(f"{name:56s} {errors['output_f64']:8.1e}" + ("" if gradients is None else f"   gradients {gradients:8.1e}"))
        if missing or not max(errors.values()) <= tolerance:
            raise SystemExit(f"{name}: the results differ from the original's. Missing: {missing}; errors: {errors}")
        worst, count = max(worst, *errors.values()), count + 1
    print(f"{count} cases, largest error {worst:.1e}, relative to the largest element of each tensor")
    if count == 0:
        raise SystemExit(f"{folder}: no case")


# ---- the steps ---------------------------------------------------------------------------------------------------------------

STEPS, VOCABULARY, IGNORED = 10, 23, -100
TRAINING = {"optimizer": "AdamW", "rate": 3e-3, "betas": [0.9, 0.98], "eps": 1e-8, "weight_decay": 0.05, "clip_norm": 1.0,
            "schedule": "linear warm-up, then cosine", "warmup_steps": 3, "steps": STEPS, "final_fraction": 0.1,
            "label_smoothing": 0.0, "ignored_target": IGNORED}
RUNS = {  # `logits` scales the last weights so that gradient norms lie on both sides of clip_norm
    "gmlp": {"seed": 1, "logits": 0.45, "batch": 3, "tokens": 12, "family": "lucidrains_gmlp", "class": "gMLP",
             "label_smoothing": 0.1, "config": {"num_tokens": VOCABULARY, "dim": 16, "depth": 2, "seq_len": 12, "causal": True,
                                                "act": "identity"}},
    "amlp": {"seed": 2, "logits": 0.2, "batch": 3, "tokens": 12, "family": "lucidrains_gmlp", "class": "gMLP",
             "config": {"num_tokens": VOCABULARY, "dim": 16, "depth": 2, "seq_len": 12, "causal": True, "attn_dim": 8,
                        "act": "identity"}},
    "flash": {"seed": 3, "logits": 1.0, "batch": 3, "tokens": 19, "family": "lucidrains_flash", "class": "FLASHTransformer",
              "config": {"num_tokens": VOCABULARY, "dim": 16, "depth": 2, "group_size": 8, "query_key_dim": 12,
                         "causal": True}},
}


def initial_value(name, shape, random):
    """A random tensor, exact in float32 and scaled so that the parameter `name` affects the output."""
    leaf = name.rsplit(".", 1)[-1]
    is_norm = "norm" in name or "to_logits.0" in name
    if leaf in ("g", "scale") or is_norm and leaf == "weight":
        mean, deviation = 1.0, 0.15
    elif "sgu" in name and leaf == "bias" and not is_norm:
        mean, deviation = 1.0, 0.2
    elif leaf in ("gamma", "beta"):
        mean, deviation = 0.0, 0.4
    elif "rel_pos_bias" in name or leaf == "bias":
        mean, deviation = 0.0, 0.1
    elif name in ("to_embed.weight", "token_emb.weight"):
        mean, deviation = 0.0, 0.8
    elif "sgu" in name:
        mean, deviation = 0.0, 0.3 / math.sqrt(shape[-1])
    else:
        mean, deviation = 0.0, 1 / math.sqrt(shape[-1])
    return (mean + deviation * torch.randn(shape, generator=random)).double()


def decays(name, parameter):
    """Whether weight decay applies: to channel projections and token embeddings, not to token mixing, positions, norms or
    biases."""
    return (name.endswith(".weight") and parameter.dim() == 2
            and not any(part in name for part in ("sgu", "rel_pos_bias", "offset_scale")))


def rate_at(step, training):
    warmup, last = training["warmup_steps"], training["final_fraction"]
    if step < warmup:
        return training["rate"] * (step + 1) / warmup
    progress = (step - warmup) / (training["steps"] - warmup)
    return training["rate"] * (last + (1 - last) * 0.5 * (1 + math.cos(math.pi * progress)))


def batches(run, random):
    """Random tokens, 80 % of which follow a rule, with next-token targets. Two of three batches ignore some targets."""
    shape = (STEPS, run["batch"], run["tokens"] + 1)
    text = torch.randint(VOCABULARY, shape, generator=random)
    follows = torch.rand(shape, generator=random) < 0.8
    for t in range(1, shape[2]):
        text[..., t] = torch.where(follows[..., t], (5 * text[..., t - 1] + 3) % VOCABULARY, text[..., t])
    tokens, targets = text[..., :-1].clone(), text[..., 1:].clone()
    targets[1::3, :, :4] = IGNORED  # the start of each sequence
    targets[2::3, 1, -5:] = IGNORED  # the end of one sequence
    return tokens, targets


def train(model, tokens, targets, training):
    """Trains the model in place; returns the losses, gradient norms and learning rates of all steps."""
    named = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    groups = [{"params": [p for name, p in named if decays(name, p)], "weight_decay": training["weight_decay"]},
              {"params": [p for name, p in named if not decays(name, p)], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=training["rate"], betas=training["betas"], eps=training["eps"])
    losses, norms, rates = [], [], []
    for step in range(training["steps"]):
        rates.append(rate_at(step, training))
        for group in optimizer.param_groups:
            group["lr"] = rates[-1]
        optimizer.zero_grad()
        logits = model(tokens[step])
        loss = F.cross_entropy(logits.flatten(0, 1), targets[step].flatten(), ignore_index=IGNORED,
                               label_smoothing=training["label_smoothing"])
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_([p for _, p in named], training["clip_norm"]).item())
        losses.append(loss.item())
        optimizer.step()
    return losses, norms, rates


def write_run(name, folder):
    run = RUNS[name]
    training = {**TRAINING, "label_smoothing": run.get("label_smoothing", 0.0)}
    random = torch.Generator().manual_seed(run["seed"])
    make = CLASSES[run["family"], run["class"]]

    def build():
        return make(**run["config"])

    model = build().double()
    start = {key: value.clone() for key, value in model.state_dict().items()}  # includes constants
    start.update({key: initial_value(key, value.shape, random) for key, value in model.named_parameters()})
    start["to_logits.1.weight"] = (run["logits"] * start["to_logits.1.weight"]).float().double()
    tokens, targets = batches(run, random)

    model.load_state_dict(start)
    losses, norms, rates = train(model, tokens, targets, training)
    in_float = build()
    in_float.load_state_dict({key: value.float() for key, value in start.items()})
    losses_f32, norms_f32, _ = train(in_float, tokens, targets, training)

    clipped = sum(norm > training["clip_norm"] for norm in norms)
    assert 0 < clipped < STEPS, f"{name}: {clipped} of {STEPS} steps are clipped: {norms}"
    training["decayed"] = [key for key, value in model.named_parameters() if decays(key, value)]
    config = {key: run[key] for key in ("family", "class", "config", "seed")}
    config.update(config_full=full_arguments(make, run["config"]), call={}, training=training)
    tensors = {f"model.{key}": value for key, value in start.items()}
    tensors.update({f"final.{key}": value for key, value in model.state_dict().items()})
    tensors.update(tokens=tokens, targets=targets, losses_f64=torch.tensor(losses, dtype=torch.float64),
                   losses_f32=torch.tensor(losses_f32), norms_f64=torch.tensor(norms, dtype=torch.float64),
                   norms_f32=torch.tensor(norms_f32), rates=torch.tensor(rates, dtype=torch.float64))
    path = os.path.join(folder, f"ten_steps_{name}.safetensors")
    tensors = dict(sorted(tensors.items()))
    write_safetensors(path, tensors, {"case": f"ten_steps_{name}", "family": run["family"], "class": run["class"],
                                      "config": json.dumps(config), "torch": torch.__version__,
                                      "command": "python3 tests/train/ten_steps.py"})
    print(f"{os.path.basename(path)}: {os.path.getsize(path)} bytes, loss {losses[0]:.3f} to {losses[-1]:.3f}, "
          f"{clipped} of {STEPS} steps clipped")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", metavar="FOLDER", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--check", metavar="FOLDER")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.check:
        prove(arguments.check, CLASSES, 1e-12)
    else:
        for name in RUNS:
            write_run(name, arguments.out)


if __name__ == "__main__":
    main()
