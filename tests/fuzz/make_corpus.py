#!/usr/bin/env python3
"""Writes the initial inputs of each fuzz target to corpus/<target>/seed_*; findings are added by hand.

Needs only Python. The JPEG files are checked in: Python cannot write JPEG.
"""

import io
import json
import pathlib
import random
import struct
import zipfile
import zlib

corpus = pathlib.Path(__file__).parent / "corpus"


def write(target, name, data):
    path = corpus / target / f"seed_{name}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


# --- csv: one byte of options (header lines + 4 * separator), then the table ---

for name, options, table in [
    ("numbers", 0, "1,2,3\n4,5,6\n"),
    ("floats", 0, "0.5,-1e-3,1e308\r\nnan,-inf,+7\r\n"),
    ("header", 1, "a,b\n1,2\n"),
    ("semicolons", 4, " 1 ;\t2\n3;4"),
    ("bom", 0, "\ufeff1\n2\n"),
    ("ragged", 0, "1,2\n3\n"),
    ("empty_line", 0, "1\n\n2\n"),
    ("tiny", 0, "1e-50,4.9e-324,1e-400\n"),
    ("large", 0, "3.5e38,1e400\n"),
    ("tabs", 8, "1\t2\n"),
    ("empty_fields", 0, ",\n,\n"),
]:
    write("csv", name, bytes([options]) + table.encode())

# --- safetensors: whole files ---


def tensors_file(tensors, metadata=None, data=None):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, offset, body = {}, 0, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(values)]}
        offset += len(values)
        body += values
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + (body if data is None else data)


def floats(*shape):
    count = 1
    for size in shape:
        count *= size
    return ("F32", list(shape), struct.pack(f"<{count}f", *(i / 8 for i in range(count))))


write("safetensors", "empty", tensors_file({}))
write("safetensors", "one", tensors_file({"a": floats(2, 3)}))
sizes = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1,
         "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1}
write("safetensors", "dtypes", tensors_file({d: (d, [2], bytes(range(2 * n))) for d, n in sizes.items()}))
write("safetensors", "scalar", tensors_file({"s": ("F64", [], struct.pack("<d", 1e300))}))
write("safetensors", "no_elements", tensors_file({"z": ("F32", [0, 4], b"")}))
write("safetensors", "gap", tensors_file({"a": floats(2)}, data=bytes(16)))
write("safetensors", "short", tensors_file({"a": floats(2)}, data=bytes(4)))
write("safetensors", "long_header", struct.pack("<Q", 1 << 40) + b"{}")
write("safetensors", "deep", struct.pack("<Q", 64) + b"[" * 64)
write("safetensors", "overflow", tensors_file({"a": ("F32", [1 << 40, 1 << 40], b"")}))

text_word = "gated.LanguageModel<gated.Stack<gated.GmlpBlock>>"
image_word = "gated.ImageClassifier<gated.Stack<gated.GmlpBlock>>"
small_trunk = {"length": 2, "channels": 1, "hidden": 2, "depth": 1}
block = {"norm.weight": floats(1), "norm.bias": floats(1), "proj_in.weight": floats(2, 1), "proj_in.bias": floats(2),
         "gate.norm.weight": floats(1), "gate.norm.bias": floats(1), "gate.proj.weight": floats(1, 2, 2),
         "gate.proj.bias": floats(1, 2), "proj_out.weight": floats(1, 1), "proj_out.bias": floats(1)}
trunk = {f"trunk.blocks.0.{name}": tensor for name, tensor in block.items()}
text = {"embedding.weight": floats(3, 1), **trunk, "head.norm.weight": floats(1), "head.norm.bias": floats(1)}
text_metadata = {"architecture": text_word, "config": json.dumps({"vocabulary": 3, "trunk": small_trunk})}
write("safetensors", "language_model", tensors_file(text, text_metadata))
write("safetensors", "language_model_missing", tensors_file(trunk, text_metadata))
image = {"patch_embedding.weight": floats(1, 1, 1, 1), "patch_embedding.bias": floats(1), **trunk, "norm.weight": floats(1),
         "norm.bias": floats(1), "head.weight": floats(2, 1), "head.bias": floats(2)}
write("safetensors", "classifier", tensors_file(image, {
    "architecture": image_word,
    "config": json.dumps({"image": {"height": 1, "width": 2}, "patch": {"height": 1, "width": 1}, "image_channels": 1,
                          "classes": 2, "trunk": small_trunk})}))
write("safetensors", "timm", tensors_file({}, {"config": json.dumps({
    "architecture": "timm.gmlp", "img_size": [8, 8], "patch_size": 4, "embed_dim": 6, "num_blocks": 2, "num_classes": 3,
    "mlp_ratio": 2.0, "stem_norm": True, "global_pool": "avg", "entry": "gmlp_ti16_224"})}))
write("safetensors", "hostile_depth", tensors_file(text, {
    "architecture": text_word,
    "config": json.dumps({"vocabulary": 3, "trunk": {**small_trunk, "depth": 1 << 62}})}))

# --- configuration: a line with the architecture, then JSON ---

gmlp = {"length": 6, "channels": 4, "hidden": 8, "depth": 2, "gate": "split", "spatial": "dense", "length_policy": "exact",
        "causal": True, "heads": 2, "attention_width": 3, "attention_bias": True, "token_shift": 1, "norm_position": "pre",
        "activation": "gelu", "gate_activation": "identity", "norm_eps": 1e-5, "gate_norm_eps": 1e-5, "drop_path": 0.5}
head = {"form": "untied", "dense": True, "activation": "silu", "norm": "layer_norm", "norm_eps": 1e-5, "bias": True}
mixed = {"channels": 4, "value": 6, "query_key": 4, "chunk": 2, "projection": "separate", "activation": "silu",
         "norm": "layer_norm", "norm_eps": 1e-5, "kernel": "relu2", "relative_bias": "t5", "offset_scale_order": "lucidrains",
         "reduction": "sum", "rotary": "interleaved", "rotary_dimensions": 2, "rotary_base": 10000.0, "token_shift": True,
         "causal": True}
unit = {"channels": 4, "value": 6, "query_key": 4, "out": 0, "max_length": 9, "projection": "fused", "bias": True,
        "offset_bias": True, "activation": "silu", "norm": "scale_norm", "norm_position": "post", "norm_eps": 1e-5,
        "kernel": "relu2", "score_scale": "max_length", "divide_by_keys": False, "bias_inside_scale": True,
        "relative_bias": "toeplitz", "relative_bias_scale": 2.0, "rotary": "half", "rotary_dimensions": 0,
        "rotary_base": 10000.0, "mask_mode": "keys", "causal": False, "residual": "scaled"}
configurations = {
    text_word: [
        {"vocabulary": 5, "token_types": 2, "position": "none", "embedding_norm": "none", "head": head, "trunk": gmlp},
        {"vocabulary": 5, "position": "sinusoid", "embedding_norm": "scale_norm_rsqrt",
         "trunk": {**gmlp, "spatial": "toeplitz", "gate": "multiplicative", "attention_width": 0}},
        {"vocabulary": 5, "head": {"form": "tied"},
         "trunk": {**gmlp, "spatial": "scaled_toeplitz", "gate": "linear", "norm_position": "post"}},
        {"vocabulary": 5, "trunk": {**gmlp, "depth": 1000000000000}},
        {"vocabulary": 5, "trunk": {**gmlp, "length": 9223372036854775807, "heads": -1}},
    ],
    image_word: [
        {"image": {"height": 4, "width": 6}, "patch": {"height": 2, "width": 3}, "image_channels": 2, "classes": 3,
         "pooling": "class_token", "stem_norm": True, "pre_logits": True, "norm_eps": 1e-6, "pixel_mean": 0.5,
         "pixel_deviation": 0.5, "trunk": {**gmlp, "length": 0}},
        {"image": {"height": 4, "width": 4}, "patch": {"height": 2, "width": 2}, "classes": 0, "pooling": "tokens",
         "trunk": {"channels": 4, "hidden": 8, "gate": "additive", "activation": "relu2"}},
    ],
    "gated.LanguageModel<gated.Stack<gated.MixedChunkAttention>>": [
        {"vocabulary": 5, "position": "sinusoid", "max_length": 0, "head": {**head, "form": "tied"},
         "trunk": {"depth": 2, "block": mixed}},
        {"vocabulary": 5, "position": "sinusoid_table", "max_length": 9, "head": {"form": "none"},
         "trunk": {"depth": 1, "block": {**mixed, "causal": False, "reduction": "own_chunk", "relative_bias": "toeplitz",
                                         "projection": "fused", "kernel": "laplace", "offset_scale_order": "paper"}}},
    ],
    "gated.LanguageModel<gated.Stack<gated.GatedAttentionUnit>>": [
        {"vocabulary": 5, "token_types": 2, "position": "sinusoid_table", "max_length": 9, "embedding_norm": "layer_norm",
         "embedding_norm_eps": 1e-5, "pad_token": 0, "head": head, "trunk": {"depth": 2, "block": unit}},
        {"vocabulary": 5, "trunk": {"depth": 1, "block": {
            **unit, "kernel": "softmax_plus", "score_scale": "sqrt_width", "divide_by_keys": True, "norm": "rms",
            "relative_bias": "none"}}},
        {"vocabulary": 5, "trunk": {"depth": 2, "block": {**unit, "causal": True}}},
    ],
}
names = ["GmlpLanguageModel", "GmlpImageClassifier", "FlashLanguageModel", "GauEncoder"]


def mixer_block(token, channel, **options):
    return {"channels": 4, "token_norm": "layer_norm", "channel_norm": "layer_norm", "norm_position": "pre", "norm_eps": 1e-6,
            "drop_path": 0.5, "token_mixer": token, "channel_mixer": channel, **options}


def patches(block):
    return {"image": {"height": 4, "width": 6}, "patch": {"height": 2, "width": 3}, "image_channels": 2, "classes": 3,
            "trunk": {"depth": 2, "block": block}}


mixers = {
    "MixerImageClassifier": ("gated.ImageClassifier<gated.Stack<gated.MixerBlock<gated.TokenMlp,gated.FeedForward>>>", [
        patches(mixer_block({"hidden": 3}, {"hidden": 8})),
        {**patches(mixer_block({"hidden": 3, "norm": True}, {"hidden": 8}, channels_first=True)),
         "position_grid": {"height": 3, "width": 2}},
    ]),
    "GmixerImageClassifier": ("gated.ImageClassifier<gated.Stack<gated.MixerBlock<gated.TokenGlu,gated.GluFeedForward>>>", [
        patches(mixer_block({"hidden": 3, "activation": "silu"}, {"hidden": 8})),
    ]),
    "ResmlpImageClassifier": (
        "gated.ImageClassifier<gated.Stack<gated.MixerBlock<gated.TokenProjection,gated.FeedForward>>>", [
            patches(mixer_block({"length": 0}, {"hidden": 8}, token_norm="affine", channel_norm="affine", layer_scale=0.1)),
            patches(mixer_block({"length": 9223372036854775807}, {"hidden": 8})),
        ]),
    "Fnet": ("gated.LanguageModel<gated.Stack<gated.MixerBlock<gated.FourierMixing,gated.FeedForward>>>", [
        {"vocabulary": 5, "token_types": 2, "position": "learned", "max_length": 9, "pooler": True, "classes": 2,
         "embedding_projection": True,
         "trunk": {"depth": 2, "block": mixer_block({}, {"hidden": 8}, norm_position="post")}},
    ]),
    "TextTransformer": ("gated.LanguageModel<gated.Stack<gated.MixerBlock<gated.SelfAttention,gated.GluFeedForward>>>", [
        {"vocabulary": 5, "final_norm": "rms_norm", "pooling": "mean", "unit_length": True, "head": {"form": "none"},
         "trunk": {"depth": 3, "kinds": [0, 1], "block": mixer_block({"heads": 2, "causal": True}, {"hidden": 6}), "others": [
             mixer_block({"heads": 2, "key_value_heads": 1, "head_width": 2, "causal": True, "window": 2, "rotary": "half",
                          "query_key_norm": "rms_norm", "gate": "per_head", "bias": False, "gate_bias": True, "out_bias": False},
                         {"hidden": 6}, token_norm="none")]}},
        {"vocabulary": 5, "trunk": {"kinds": [-1], "block": mixer_block({"heads": 2, "window": 9223372036854775807}, {"hidden": 6})}},
    ]),
    "Roformer": ("gated.Roformer", [
        {"norm": "l2_norm", "trunk": {"block": mixer_block({"heads": 2, "gate": "per_channel"}, {"hidden": 6})}},
    ]),
    "PoseHead": ("gated.PoseHead", [
        {"feature_channels": 3, "features": {"height": 4, "width": 2}, "input": {"height": 8, "width": 6}, "key_points": 5,
         "kernel": 3, "norm_eps": 1e-5, "unit": {**unit, "score_scale": "sqrt_width", "norm_position": "res_post"},
         "simcc": {"split_ratio": 1.5, "visibility": True, "beta": 150.0, "sigma_x": 4.9, "sigma_y": 5.66}},
        {"feature_channels": 9223372036854775807, "key_points": -1, "kernel": 4, "simcc": {"split_ratio": 1e300}},
    ]),
}
training = {"optimizer": {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.01,
                          "decayed_roles": ["weight", "embedding"],
                          "groups": [{"path": "trunk", "learning_rate_factor": 0.1, "weight_decay": None, "frozen": False}]},
            "schedule": {"form": "cosine", "warmup": 2, "steps": 9, "final_fraction": 0.1}, "clip_norm": 1.0,
            "average_decay": 0.9, "micro_batches": 2, "progress": {"steps": 3, "random": [1, 2, 3, 4]}}
words = set()


def collect(value):
    if isinstance(value, dict):
        for key, member in value.items():
            words.add(key)
            collect(member)
    elif isinstance(value, list):
        for member in value:
            collect(member)
    elif isinstance(value, str):
        words.add(value)


for name, (architecture, variants) in zip(names, configurations.items()):
    for i, configuration in enumerate(variants):
        write("configuration", f"{name}_{i}", f"{architecture}\n{json.dumps(configuration)}".encode())
        collect(configuration)
    whole = {"model": variants[0], **training}
    write("configuration", f"training_{name}", f"gated.Training<{architecture}>\n{json.dumps(whole)}".encode())
    collect(whole)
    words.add(architecture)
for name, (architecture, variants) in mixers.items():
    for i, configuration in enumerate(variants):
        write("configuration", f"{name}_{i}", f"{architecture}\n{json.dumps(configuration)}".encode())
        collect(configuration)
    words.add(architecture)
dictionary = "".join('"\\"%s\\""\n' % word for word in sorted(words))
(corpus.parent / "configuration.dict").write_text("# Written by make_corpus.py.\n" + dictionary)

# --- numpy: .npy files, and .npz files, which start with PK ---


def npy(kind, shape, values, by_columns=False, version=1):
    header = f"{{'descr': {kind}, 'fortran_order': {by_columns}, 'shape': {shape}, }}".encode()
    header += b" " * (63 - (len(header) + (10 if version == 1 else 12)) % 64) + b"\n"
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + values


def npz(files):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as out:
        for name, content in files.items():
            out.writestr(zipfile.ZipInfo(name), content)
    return archive.getvalue()


numpy_floats = npy("'<f4'", "(2, 3)", struct.pack("<6f", 1, -2.5, 3e38, 0, float("inf"), float("nan")))
write("numpy", "floats", numpy_floats)
write("numpy", "by_columns", npy("'<f8'", "(3, 2)", struct.pack("<6d", *range(6)), by_columns=True))
write("numpy", "version_2", npy("'<i2'", "(4,)", struct.pack("<4h", 1, 2, -3, 4), version=2))
write("numpy", "scalar", npy("'<f2'", "()", b"\0\x3c"))
write("numpy", "four_axes", npy("'|u1'", "(1, 2, 2, 1)", bytes(range(4))))
write("numpy", "empty", npy("'<i8'", "(0, 9223372036854775807)", b""))
write("numpy", "bool", npy("'|b1'", "(3,)", b"\0\1\2"))
write("numpy", "big_endian", npy("'>f4'", "(1,)", bytes(4)))
write("numpy", "fields", npy("[('a', '<f4'), ('b', '<i4')]", "(1,)", bytes(8)))
write("numpy", "overflow", npy("'<f4'", "(4611686018427387904, 4611686018427387904, 0)", b""))
write("numpy", "short", npy("'<f4'", "(5,)", bytes(4)))
write("numpy", "archive", npz({"a.npy": numpy_floats, "b/c.npy": npy("'<i4'", "(2,)", bytes(8))}))
write("numpy", "empty_archive", npz({}))
write("numpy", "other_archive", npz({"readme.txt": b"no array"}))

# --- wav ---


def wav_chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + bytes(len(data) % 2)


def wav(*chunks):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav_format(tag, channels, rate, bits, extension=b""):
    size = channels * bits // 8
    return wav_chunk(b"fmt ", struct.pack("<HHIIHH", tag, channels, rate, rate * size, size, bits) + extension)


def wav_extension(bits, tag):
    return struct.pack("<HHIH", 22, bits, 0, tag) + bytes.fromhex("000000001000800000aa00389b71")


wav_samples = wav_chunk(b"data", struct.pack("<4h", 0, 32767, -32768, 1))
write("wav", "pcm16", wav(wav_format(1, 1, 16000, 16), wav_samples))
write("wav", "stereo", wav(wav_format(1, 2, 48000, 16), wav_samples))
write("wav", "pcm24", wav(wav_format(1, 1, 8000, 24), wav_chunk(b"data", bytes([1, 0, 128]))))
write("wav", "pcm32", wav(wav_format(1, 1, 96000, 32), wav_chunk(b"data", struct.pack("<2i", 2**31 - 1, -2**31))))
write("wav", "floats", wav(wav_format(3, 1, 44100, 32, bytes(2)), wav_chunk(b"fact", struct.pack("<I", 2)),
                           wav_chunk(b"data", struct.pack("<2f", 1e-40, -2))))
write("wav", "nan", wav(wav_format(3, 1, 44100, 32), wav_chunk(b"data", struct.pack("<f", float("nan")))))
write("wav", "extensible", wav(wav_format(0xFFFE, 2, 48000, 32, wav_extension(24, 1)), wav_chunk(b"data", bytes(8))))
write("wav", "list", wav(wav_chunk(b"LIST", b"INFOx"), wav_format(1, 1, 16000, 16), wav_samples, wav_chunk(b"junk", b"")))
write("wav", "bytes", wav(wav_format(1, 1, 16000, 8), wav_chunk(b"data", b"1234")))
write("wav", "truncated", wav(wav_format(1, 1, 16000, 16), wav_samples)[:-3])

# --- image: PNG files ---


def png(width, height, depth, kind, rows, extra=b"", interlaced=0):
    def chunk(tag, data):
        return struct.pack(">I", len(data)) + tag + data + struct.pack(">I", zlib.crc32(tag + data))

    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def palette(*colours):
    data = b"".join(bytes(c) for c in colours)
    return struct.pack(">I", len(data)) + b"PLTE" + data + struct.pack(">I", zlib.crc32(b"PLTE" + data))


write("image", "grey", png(3, 2, 8, 0, b"\0\1\2\3\1\4\5\6"))
write("image", "rgb", png(2, 2, 8, 2, b"\2\1\2\3\4\5\6\3\7\x08\x09\x0a\x0b\x0c"))
write("image", "rgba", png(1, 2, 8, 6, b"\4\1\2\3\4\4\5\6\7\x08"))
write("image", "grey_alpha", png(1, 1, 8, 4, b"\0\1\2"))
write("image", "bits", png(9, 1, 1, 0, b"\0\xaa\x80"))
write("image", "deep", png(1, 1, 16, 2, b"\0\1\2\3\4\5\6"))
write("image", "palette", png(4, 1, 2, 3, b"\0\x1b", palette((1, 2, 3), (4, 5, 6), (7, 8, 9), (0, 0, 0))))
write("image", "interlaced", png(3, 3, 8, 0, bytes(16), interlaced=1))
write("image", "huge", png(30000, 8000, 8, 0, bytes(64)))
write("image", "short", png(3, 3, 8, 0, bytes(3)))

# --- c_interface: calls, each a byte and its choices ---

for seed in range(12):
    write("c_interface", seed, random.Random(seed).randbytes(3000))
