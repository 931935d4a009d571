"""Text transformers as PyTorch modules, written from the formulas: ModernBERT (arXiv:2412.13663) and Llama (arXiv:2302.13971).

Parameters have the names of transformers' files. `proven` models follow the printed formulas, text by text and head by head,
without padding; prove() compares them with the originals' outputs. Timed models read a padded batch, as is usual, in a form
that runtimes can fuse: tables are computed once, the queries' table includes the scale of the scores, each kind of layer has
one mask, and heads that share keys are rows of one product.
"""

import json
import os

import torch
from safetensors_file import read_safetensors
from torch import nn
from torch.nn import functional as F

REFERENCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "reference")


def lengths(count, median, deviation, most, seed):
    """`count` text lengths: the quantiles (i + ½) / count of a log-normal distribution, clamped to 1 … `most` and shuffled."""
    at = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    drawn = (median * torch.exp(deviation * 2 ** 0.5 * torch.erfinv(2 * at - 1))).round().long().clamp(1, most)
    return drawn[torch.randperm(count, generator=torch.Generator().manual_seed(seed))].tolist()


def rotation(tokens, width, base):
    """cos and sin of the rotary angles t · base^(-2i/width) of token t and channel pair i: tokens × width/2, float64."""
    angle = torch.arange(tokens, dtype=torch.float64)[:, None] * base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    return angle.cos(), angle.sin()


def rotated_plainly(x, base):
    """Applies the rotary embedding to one head: rotates each channel pair (i, i + width/2) of x, tokens × width."""
    cos, sin = rotation(*x.shape, base)
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def attended_plainly(q, k, v, heads, key_heads, base, allowed):
    """Attention within one text. q is tokens × (heads · width)."""
    width, outputs = q.shape[-1] // heads, []
    for head in range(heads):
        mine, shared = (slice(h * width, (h + 1) * width) for h in (head, head * key_heads // heads))
        scores = rotated_plainly(q[:, mine], base) @ rotated_plainly(k[:, shared], base).t() / width ** 0.5
        outputs.append(scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1) @ v[:, shared])
    return torch.cat(outputs, dim=-1)


class Attend(nn.Module):
    """Attention in each text of a padded batch, batch × tokens × heads·width; `mask` is added to the scores."""

    def __init__(self, tokens, heads, key_heads, width, base, dtype):
        super().__init__()
        self.shape, self.heads, self.key_heads = (tokens, width), heads, key_heads
        cos, sin = rotation(tokens, width, base)
        for name, scale in (("q", width ** -0.5), ("k", 1.0)):
            self.register_buffer("cos_" + name, (torch.cat([cos, cos], -1) * scale).to(dtype), persistent=False)
            self.register_buffer("sin_" + name, (torch.cat([-sin, sin], -1) * scale).to(dtype), persistent=False)

    def rotated(self, x, cos, sin):
        half = self.shape[1] // 2
        return x * cos + torch.cat([x[..., half:], x[..., :half]], dim=-1) * sin

    def forward(self, q, k, v, mask):
        (tokens, width), batch, share = self.shape, q.shape[0], self.heads // self.key_heads
        q = self.rotated(q.view(batch, tokens, self.heads, width).transpose(1, 2), self.cos_q, self.sin_q)
        k, v = (x.view(batch, tokens, self.key_heads, width).transpose(1, 2) for x in (k, v))
        k = self.rotated(k, self.cos_k, self.sin_k)
        if share == 1:
            y = (q @ k.transpose(2, 3) + mask).softmax(dim=-1) @ v
        else:
            scores = q.reshape(batch, self.key_heads, share * tokens, width) @ k.transpose(2, 3)
            weights = (scores.view(batch, self.heads, tokens, tokens) + mask).softmax(dim=-1)
            y = (weights.view(batch, self.key_heads, share * tokens, tokens) @ v).view(batch, self.heads, tokens, width)
        return y.transpose(1, 2).reshape(batch, tokens, self.heads * width)


class LayerNorm(nn.Module):
    """LayerNorm without bias. Adds zeros, because ONNX Runtime fuses a LayerNorm with a bias."""

    def __init__(self, dim, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps
        self.register_buffer("zeros", torch.zeros(dim), persistent=False)

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.zeros, self.eps)


class RmsNorm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return self.weight * (x / (x.pow(2).mean(-1, keepdim=True) + self.eps).sqrt())


def linear(inputs, outputs):
    return nn.Linear(inputs, outputs, bias=False)


class EncoderLayer(nn.Module):
    def __init__(self, c, i, tokens, dtype):
        super().__init__()
        d, f, self.heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
        self.is_local = i % c["global_attn_every_n_layers"] != 0
        self.base, self.reach = c["local_rope_theta" if self.is_local else "global_rope_theta"], c["local_attention"] // 2
        self.attn_norm = nn.Identity() if i == 0 else LayerNorm(d, c["norm_eps"])
        self.attn = nn.ModuleDict({"Wqkv": linear(d, 3 * d), "Wo": linear(d, d)})
        self.mlp_norm = LayerNorm(d, c["norm_eps"])
        self.mlp = nn.ModuleDict({"Wi": linear(d, 2 * f), "Wo": linear(f, d)})
        self.attend = Attend(tokens, self.heads, self.heads, d // self.heads, self.base, dtype) if tokens else None

    def forward(self, h, masks):
        q, k, v = self.attn["Wqkv"](self.attn_norm(h)).chunk(3, dim=-1)
        if self.attend:
            y = self.attend(q, k, v, masks[self.is_local])
        else:
            distance = torch.arange(len(h))[:, None] - torch.arange(len(h))
            allowed = distance.abs() <= (self.reach if self.is_local else len(h))
            y = attended_plainly(q, k, v, self.heads, self.heads, self.base, allowed)
        h = h + self.attn["Wo"](y)
        gate, up = self.mlp["Wi"](self.mlp_norm(h)).chunk(2, dim=-1)
        return h + self.mlp["Wo"](F.gelu(gate) * up)


class Encoder(nn.Module):
    """ModernBertModel with granite's pooling: the first token's state, scaled to norm 1. Input: ids, batch × tokens."""

    def __init__(self, c, tokens, proven, dtype):
        super().__init__()
        self.pad, padded = c["pad_token_id"], 0 if proven else tokens
        self.embeddings = nn.ModuleDict({"tok_embeddings": nn.Embedding(c["vocab_size"], c["hidden_size"]),
                                         "norm": LayerNorm(c["hidden_size"], c["norm_eps"])})
        self.layers = nn.ModuleList(EncoderLayer(c, i, padded, dtype) for i in range(c["num_hidden_layers"]))
        self.final_norm = LayerNorm(c["hidden_size"], c["norm_eps"])
        if padded:
            distance = (torch.arange(tokens)[:, None] - torch.arange(tokens)).abs()
            self.register_buffer("window", self.hidden(distance <= c["local_attention"] // 2, dtype), persistent=False)

    @staticmethod
    def hidden(allowed, dtype):
        return torch.zeros(allowed.shape, dtype=dtype).masked_fill(~allowed, torch.finfo(dtype).min / 4)

    def states(self, ids, masks=None):
        h = self.embeddings["norm"](self.embeddings["tok_embeddings"](ids))
        for layer in self.layers:
            h = layer(h, masks)
        return self.final_norm(h)

    def forward(self, ids):
        if hasattr(self, "window"):
            padding = (ids == self.pad).to(self.window.dtype)[:, None, None, :] * (torch.finfo(self.window.dtype).min / 4)
            first = self.states(ids, (padding, padding + self.window))[:, 0]
        else:
            first = torch.stack([self.states(row[row != self.pad])[0] for row in ids])
        return first / first.norm(dim=-1, keepdim=True)


class DecoderLayer(nn.Module):
    def __init__(self, c, tokens, dtype):
        super().__init__()
        d, f, self.heads, self.key_heads = (c[name] for name in ("hidden_size", "intermediate_size", "num_attention_heads",
                                                                 "num_key_value_heads"))
        width, self.base = d // self.heads, c["rope_theta"]
        self.input_layernorm, self.post_attention_layernorm = (RmsNorm(d, c["rms_norm_eps"]) for _ in range(2))
        self.self_attn = nn.ModuleDict({"q_proj": linear(d, self.heads * width), "k_proj": linear(d, self.key_heads * width),
                                        "v_proj": linear(d, self.key_heads * width), "o_proj": linear(self.heads * width, d)})
        self.mlp = nn.ModuleDict({"gate_proj": linear(d, f), "up_proj": linear(d, f), "down_proj": linear(f, d)})
        self.attend = Attend(tokens, self.heads, self.key_heads, width, self.base, dtype) if tokens else None

    def forward(self, h, mask):
        x = self.input_layernorm(h)
        q, k, v = (self.self_attn[name + "_proj"](x) for name in "qkv")
        if self.attend:
            y = self.attend(q, k, v, mask)
        else:
            allowed = torch.ones(len(h), len(h), dtype=torch.bool).tril()
            y = attended_plainly(q, k, v, self.heads, self.key_heads, self.base, allowed)
        h = h + self.self_attn["o_proj"](y)
        x = self.post_attention_layernorm(h)
        return h + self.mlp["down_proj"](F.silu(self.mlp["gate_proj"](x)) * self.mlp["up_proj"](x))


class Decoder(nn.Module):
    """LlamaForCausalLM: the logits of the last token of each text, batch × V."""

    def __init__(self, c, tokens, proven, dtype):
        super().__init__()
        self.embed_tokens = nn.Embedding(c["vocab_size"], c["hidden_size"])
        self.layers = nn.ModuleList(DecoderLayer(c, 0 if proven else tokens, dtype) for _ in range(c["num_hidden_layers"]))
        self.norm = RmsNorm(c["hidden_size"], c["rms_norm_eps"])
        self.lm_head = None if c["tie_word_embeddings"] else linear(c["hidden_size"], c["vocab_size"])
        if not proven:
            seen = torch.ones(tokens, tokens, dtype=torch.bool).tril()
            self.register_buffer("causal", Encoder.hidden(seen, dtype), persistent=False)

    def states(self, ids, mask=None):
        h = self.embed_tokens(ids)
        for layer in self.layers:
            h = layer(h, mask)
        return h

    def logits(self, h):
        return self.norm(h) @ (self.lm_head or self.embed_tokens).weight.t()

    def forward(self, ids):
        if hasattr(self, "causal"):
            return self.logits(self.states(ids, self.causal)[:, -1])
        return self.logits(torch.stack([self.states(row)[-1] for row in ids]))


def prove():
    """The larger error of the two reference models in float64: max |y - y'| / max |y'|, where y' is the original's output."""
    def case(name, build, compute):
        tensors, metadata = read_safetensors(os.path.join(REFERENCE, name + ".safetensors"), torch.from_numpy)
        model = build(json.loads(metadata["config"])["config_full"], 0, True, torch.float64).double()
        model.load_state_dict({key.removeprefix("model.").removeprefix("model."): value.double()
                               for key, value in tensors.items() if key.startswith("model.")})
        expected = tensors["output_f64"]
        with torch.no_grad():
            y = torch.stack([compute(model, row) for row in tensors["input"]])
        return ((y - expected).abs().max() / expected.abs().max()).item()

    return max(case("modernbert_window", Encoder, lambda model, row: model.states(row)),
               case("llama_lowvar", Decoder, lambda model, row: model.logits(model.states(row))))
