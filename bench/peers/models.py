"""The workloads, as PyTorch modules.

Most are lucidrains' models as restated in tests/train, where they are proven against the originals. The gating unit, the rotary
embedding, FLASH and GAU are rewritten here for speed. They have the same parameters and results, but no empty masks, no padding,
no sums over a single head, and no tables recomputed in each call. make_work.py compares the two versions.
"""

import os
import sys
from dataclasses import dataclass, field

import torch
from torch import nn

sys.dont_write_bytecode = True  # the imports below must not create __pycache__
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "train"))

import ten_steps  # noqa: E402
import gradient_cases  # noqa: E402
import mossformer2  # noqa: E402
import text_transformers  # noqa: E402
import tiny_time_mixer  # noqa: E402
from ten_steps import FLASH, GMLP, RotaryEmbedding, SpatialGatingUnit, decays, initial_value  # noqa: E402,F401


class Gate(SpatialGatingUnit):
    """SpatialGatingUnit with one head: a batched product instead of an einsum."""

    def forward(self, x, gate_res=None):
        res, gate = x.chunk(2, dim=-1)
        weight = self.weight[0].tril() if self.causal else self.weight[0]
        return (weight @ self.norm(gate) + self.bias.t()) * res


class Gmlp(GMLP):
    """gMLP with these gates."""

    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        for module in self.modules():
            if isinstance(module, SpatialGatingUnit):
                module.__class__ = Gate  # both classes have the same parameters


class Rotary(RotaryEmbedding):
    """RotaryEmbedding with a table computed once and rounded once to `dtype`."""

    def __init__(self, dim, tokens, dtype):
        super().__init__(dim)
        angle = torch.arange(tokens, dtype=torch.float64)[:, None] * self.freqs
        self.register_buffer("cos", angle.cos().to(dtype), persistent=False)
        self.register_buffer("sin", angle.sin().to(dtype), persistent=False)

    def forward(self, x):
        return mossformer2.rotated(x, self.cos, self.sin)


class Flash(FLASH):
    """FLASH without a mask, for sequence lengths divisible by the group size."""

    def forward(self, x):
        batch, n, _ = x.shape
        g = self.group
        z = self.norm(x)
        shifted, rest = z.chunk(2, dim=-1)
        z = torch.cat([nn.functional.pad(shifted, (0, 0, 1, -1)), rest], dim=-1)
        v, gate = self.to_hidden(z).chunk(2, dim=-1)
        quad_q, lin_q, quad_k, lin_k = (self.rotary_pos_emb(t).view(batch, n // g, g, -1)
                                        for t in self.qk_offset_scale(self.to_qk(z)))
        v = v.reshape(batch, n // g, g, -1)
        attention = self.kernel(quad_q @ quad_k.transpose(2, 3) / g + self.rel_pos_bias(g))
        kv = lin_k.transpose(2, 3) @ v
        if self.causal:
            attention = attention.tril()
            kv = kv / g
            kv = kv.cumsum(dim=1) - kv  # the sum over the earlier groups
        else:
            kv = kv.sum(dim=1, keepdim=True) / n
        mixed = (attention @ v + lin_q @ kv).view(batch, n, -1)
        return self.to_out(gate * mixed) + x


class FlashTrunk(nn.Module):
    """The layers of FLASHTransformer: features in, features out. All layers share `rotary`."""

    def __init__(self, layer, dim, depth, causal, rotary):
        super().__init__()
        self.layers = nn.ModuleList(
            layer(dim, causal=causal, rotary=rotary, norm="scalenorm", shift_tokens=True) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Gau(gradient_cases.GAU):
    """GAU without a mask, for a fixed number of tokens: freezing the model then precomputes the bias table."""

    def __init__(self, dim, tokens):
        super().__init__(dim)
        self.tokens = tokens

    def forward(self, x):
        z = self.norm(x)
        v, gate = self.to_hidden(z).chunk(2, dim=-1)
        q, k = self.offsetscale(self.to_qk(z))
        attention = self.kernel((q @ k.transpose(1, 2) + self.rel_pos_bias(self.tokens)) / self.tokens)
        return self.to_out((attention @ v) * gate) + x


class Mlp(nn.Module):
    """timm's Mlp."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim)

    def forward(self, x):
        return self.fc2(nn.functional.gelu(self.fc1(x)))


class TokenMlp(Mlp):
    """Mlp over the tokens of each channel, without transposing x."""

    def forward(self, x):
        return self.fc2.weight @ nn.functional.gelu(self.fc1.weight @ x + self.fc1.bias[:, None]) + self.fc2.bias[:, None]


class TransposedMlp(Mlp):
    """Mlp over tokens, as in timm's MixerBlock."""

    def forward(self, x):
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class MixerBlock(nn.Module):
    """timm's MixerBlock."""

    def __init__(self, dim, tokens, proven):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.mlp_tokens = (TransposedMlp if proven else TokenMlp)(tokens, dim // 2)
        self.mlp_channels = Mlp(dim, 4 * dim)

    def forward(self, x):
        x = x + self.mlp_tokens(self.norm1(x))
        return x + self.mlp_channels(self.norm2(x))


class Affine(nn.Module):
    """timm's Affine."""

    def __init__(self, dim):
        super().__init__()
        self.alpha, self.beta = nn.Parameter(torch.ones(1, 1, dim)), nn.Parameter(torch.zeros(1, 1, dim))

    def forward(self, x):
        return torch.addcmul(self.beta, self.alpha, x)


class ResBlock(nn.Module):
    """timm's ResBlock. Only if `proven`, it transposes x to mix tokens, as timm does."""

    def __init__(self, dim, tokens, proven):
        super().__init__()
        self.norm1, self.norm2 = Affine(dim), Affine(dim)
        self.linear_tokens = nn.Linear(tokens, tokens)
        self.mlp_channels = Mlp(dim, 4 * dim)
        self.ls1, self.ls2 = nn.Parameter(torch.ones(dim)), nn.Parameter(torch.ones(dim))
        self.proven = proven

    def mix_tokens(self, x):
        if self.proven:
            return self.linear_tokens(x.transpose(1, 2)).transpose(1, 2)
        return self.linear_tokens.weight @ x + self.linear_tokens.bias[:, None]

    def forward(self, x):
        x = x + self.ls1 * self.mix_tokens(self.norm1(x))
        return x + self.ls2 * self.mlp_channels(self.norm2(x))


class MixerTrunk(nn.Module):
    """The blocks of one of timm's mixers: features in, features out."""

    def __init__(self, block, dim, depth, tokens, proven):
        super().__init__()
        self.blocks = nn.ModuleList(block(dim, tokens, proven) for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


TEXTS = {"text_encoder": text_transformers.Encoder, "text_decoder": text_transformers.Decoder}


@dataclass
class Work:
    """One row of the table. compare_peers.cpp builds its model from `config`. If not 0, `threads` overrides --threads."""

    title: str
    kind: str
    batch: int
    tokens: int
    config: dict
    seed: int = 1
    training: dict = field(default_factory=dict)
    threads: int = 0
    quantizes: bool = True  # quantize_onnx.py has no rule for convolutions

    def inputs(self, random):
        """Random input: features, or the ids of texts padded at the end."""
        c = self.config
        if self.kind not in TEXTS:
            return torch.randn(self.batch, self.tokens, c["channels"], generator=random)
        ids = torch.randint(c["model"].get("pad_token_id", c["model"]["vocab_size"]), (self.batch, self.tokens), generator=random)
        for row, length in zip(ids, c["lengths"]):
            row[length:] = c["model"].get("pad_token_id", 0)
        return ids

    def build(self, proven=False, dtype=torch.float32):
        """The timed model or, if `proven`, its unoptimized reference. Parameters are float32, precomputed tables `dtype`."""
        c = self.config
        if self.kind in ("gmlp", "train_gmlp"):
            return (GMLP if proven else Gmlp)(c["channels"], c["depth"], self.tokens, ff_mult=c["hidden"] // c["channels"],
                                              causal=c["causal"], num_tokens=c.get("vocabulary"))
        if self.kind == "flash":
            layer, rotary = (FLASH, RotaryEmbedding(32)) if proven else (Flash, Rotary(32, self.tokens, dtype))
            return FlashTrunk(layer, c["channels"], c["depth"], c["causal"], rotary)
        if self.kind in ("mixer", "resmlp"):
            block = MixerBlock if self.kind == "mixer" else ResBlock
            return MixerTrunk(block, c["channels"], c["depth"], self.tokens, proven)
        if self.kind == "mossformer_block":
            return mossformer2.Pair(c["channels"], 256, 128, 256, self.tokens, dtype)
        if self.kind == "mossformer2_se":
            return mossformer2.Enhancer(c["channels"], 961, self.tokens, dtype)
        if self.kind == "kw_mlp":
            return mossformer2.KwMlp()
        if self.kind in TEXTS:
            return TEXTS[self.kind](c["model"], self.tokens, proven, dtype)
        if self.kind == "ttm":
            return tiny_time_mixer.TinyTimeMixer(c["model"], proven)
        return gradient_cases.GAU(c["channels"]) if proven else Gau(c["channels"], self.tokens)


def gmlp(title, batch, tokens, channels, hidden, depth):
    return Work(f"{title}, batch {batch}", "gmlp", batch, tokens,
                {"channels": channels, "hidden": hidden, "depth": depth, "causal": False})


def opening(title, tokens, channels, hidden, depth):
    """Each run opens the file, builds the model and its workspace, and computes one result."""
    work = gmlp(title, 1, tokens, channels, hidden, depth)
    work.title = f"opening {title} and its first result"
    work.config["opens"] = True
    return work


def mixer(title, kind, batch, channels, depth):
    return Work(f"{title} trunk L{depth} d{channels} n196, batch {batch}", kind, batch, 196,
                {"channels": channels, "depth": depth})


def forecaster(series, threads=0):
    """granite-timeseries-ttm-r1."""
    model = {"context_length": 512, "patch_length": 64, "patch_stride": 64, "d_model": 192, "num_layers": 2,
             "adaptive_patching_levels": 3, "decoder_num_layers": 2, "decoder_d_model": 128, "prediction_length": 96}
    title = f"TinyTimeMixer 512-96-r1, {series} series" + (", one thread" if threads == 1 else "")
    return Work(title, "ttm", series, 1, {"channels": 512, "model": model}, threads=threads)


def flash(causal):
    return Work(f"FLASH 12 layers d512 e1024 s128 c256 n4096, {'' if causal else 'non-'}causal", "flash", 1, 4096,
                {"channels": 512, "depth": 12, "causal": causal})


def granite(what, lengths):
    """The shape of granite-embedding-small-english-r2: ids in, a vector per text out."""
    model = {"vocab_size": 50368, "hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 12,
             "num_attention_heads": 12, "global_attn_every_n_layers": 3, "local_attention": 128, "global_rope_theta": 80000.0,
             "local_rope_theta": 10000.0, "norm_eps": 1e-5, "pad_token_id": 50283}
    return Work(f"granite-embedding-small L12 d384, {len(lengths)} texts {what}", "text_encoder", len(lengths), max(lengths),
                {"channels": 384, "model": model, "lengths": lengths}, quantizes=False)


def smollm(tokens):
    """The shape of SmolLM2-135M: a prompt in, the logits of its last token out."""
    model = {"vocab_size": 49152, "hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30,
             "num_attention_heads": 9, "num_key_value_heads": 3, "rope_theta": 100000.0, "rms_norm_eps": 1e-5,
             "tie_word_embeddings": True}
    return Work(f"SmolLM2-135M L30 d576, prefill of {tokens} tokens", "text_decoder", 1, tokens,
                {"channels": 576, "model": model, "lengths": [tokens]}, quantizes=False)


RAGGED = text_transformers.lengths(count=64, median=30, deviation=1.2, most=512, seed=1)  # in tokens: mean 59, maximum 512

WORKS = {
    "gmlp_s16_b8": gmlp("gMLP-S/16 trunk L30 d256 h1536 n196", 8, 196, 256, 1536, 30),
    "gmlp_s16_b1": gmlp("gMLP-S/16 trunk L30 d256 h1536 n196", 1, 196, 256, 1536, 30),
    "open_gmlp_s16": opening("gMLP-S/16 trunk L30 d256 h1536 n196", 196, 256, 1536, 30),
    "gmlp_nlp_b8": gmlp("gMLP NLP L8 d512 h3072 n512", 8, 512, 512, 3072, 8),
    "gmlp_nlp_b1": gmlp("gMLP NLP L8 d512 h3072 n512", 1, 512, 512, 3072, 8),
    "mixer_b16_b8": mixer("Mixer-B/16", "mixer", 8, 768, 12),
    "mixer_b16_b1": mixer("Mixer-B/16", "mixer", 1, 768, 12),
    "resmlp_24_b8": mixer("ResMLP-24", "resmlp", 8, 384, 24),
    "resmlp_24_b1": mixer("ResMLP-24", "resmlp", 1, 384, 24),
    "flash": flash(False),
    "flash_causal": flash(True),
    "gau_head": Work("GAU d256 e512 s128, 17 tokens", "gau", 1, 17, {"channels": 256}),
    "ttm_b1": forecaster(1),
    "ttm_b64": forecaster(64),
    "ttm_b1_alone": forecaster(1, threads=1),
    "ttm_b64_alone": forecaster(64, threads=1),
    "mossformer_block": Work("MossFormer2 block d512, 500 frames", "mossformer_block", 1, 500, {"channels": 512},
                             quantizes=False),
    "mossformer2_se": Work("MossFormer2 SE 48K mask network, 500 frames", "mossformer2_se", 1, 500, {"channels": 180},
                           quantizes=False),
    "mossformer2_se_alone": Work("MossFormer2 SE 48K mask network, 500 frames, one thread", "mossformer2_se", 1, 500,
                                 {"channels": 180}, threads=1, quantizes=False),
    "kw_mlp": Work("KW-MLP, one second", "kw_mlp", 1, 1, {"channels": 98 * 40}),
    "granite_ragged": granite(f"of {min(RAGGED)} to {max(RAGGED)} tokens, {sum(RAGGED)} in all", RAGGED),
    "granite_equal": granite("of 60 tokens", [60] * 64),
    "smollm_prefill": smollm(512),
    "train_gmlp": Work("training step, causal gMLP d256 L4 n256 ff×4, vocabulary 256, batch 8, AdamW", "train_gmlp", 8, 256,
                       {"channels": 256, "hidden": 1024, "depth": 4, "causal": True, "vocabulary": 256},
                       training={"rate": 1e-3, "weight_decay": 0.05, "steps": 3}),
}


class TrainingStep:
    """A training step on one batch: forward pass, backward pass and AdamW update. Can be called repeatedly."""

    def __init__(self, model, tokens, targets, training):
        self.model, self.tokens, self.targets = model, tokens, targets
        named = list(model.named_parameters())
        groups = [{"params": [p for name, p in named if decays(name, p)], "weight_decay": training["weight_decay"]},
                  {"params": [p for name, p in named if not decays(name, p)], "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=training["rate"])

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)  # by default, PyTorch 1.13 fills gradients with zeros
        loss = nn.functional.cross_entropy(self.model(self.tokens).flatten(0, 1), self.targets.flatten())
        loss.backward()
        self.optimizer.step()
        return loss.item()
