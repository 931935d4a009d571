#!/usr/bin/env python3
"""Converts a published checkpoint to one safetensors file that load_model() opens as it is.

    python3 convert.py INPUT [OUTPUT.safetensors] [--labels FILE] [--set KEY=VALUE]... [--part PREFIX] [--trust]

INPUT is a PyTorch file (.pth, .pt, .bin), a safetensors file, a folder with one of them and a config.json (a clone from
Hugging Face), or the name of a timm model, which timm then fetches. The names of its tensors tell its origin: timm
(gMLP, MLP-Mixer, gMixer, ResMLP), Facebook (ResMLP), lucidrains (g-mlp-pytorch, FLASH-pytorch), Keyword-MLP, JunnYu (FLASH-Quad,
FLASH, GAU-alpha), mmpose (RTMPose's head, RTMCCBlock), labml, fairseq (layers of LightConv models), granite-tsfm (TinyTimeMixer),
transformers (FNet, PatchTSMixer, ModernBERT, Llama, Mistral, Qwen2, Qwen3), gated attention, ClearerVoice-Studio (MossFormer2),
ESPnet and WeNet (E-Branchformer's encoder), BS-RoFormer (its transformers). The tensors keep their names. The configuration comes
from their shapes and, if there is one, the config.json beside them. A text transformer (ModernBERT, Llama, Mistral, Qwen2, Qwen3,
gated attention) needs its config.json, which goes into the output as it is: gated reads it when it opens the file. If gated
implements only a part of a model, only that part is converted.

Some options leave no trace in a file. Set them as in the original, or the results differ.

    --set trunk.causal=true            a gMLP that was built with causal=True
    --set trunk.block.chunk=128        a FLASH with group_size=128
    --set image.height=192             a picture that is not square

Needs torch; timm only to fetch models by name.
"""

import argparse
import json
import math
import pathlib
import pickle
import posixpath
import struct
import sys

import torch

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
          "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool}


# --- Files ---


def read_text(path):
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        encoding = "UTF-32" if path.read_bytes()[:4] in (b"\xff\xfe\0\0", b"\0\0\xfe\xff") else "UTF-16"
        sys.exit(f"{path}: the text is not in UTF-8. Convert it: iconv -f {encoding} -t UTF-8.")
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}.")


def read_json(path, kind=dict):
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        sys.exit(f"{path}: this is not valid JSON: {error}.")
    if not isinstance(value, kind):
        sys.exit(f"{path}: expected a JSON {'object' if kind is dict else 'array'}.")
    return value


def expect_file(path):
    try:
        with open(path, "rb") as file:
            beginning = file.read(24)
    except OSError as error:
        sys.exit(f"{path}: {error.strerror}.")
    if beginning.startswith(b"version https://git-lfs"):
        sys.exit(f"{path}: this is a Git-LFS pointer. Run `git lfs pull`, or download the file itself.")


def read_safetensors(path):
    expect_file(path)
    data, tensors = path.read_bytes(), {}
    try:
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + size])
        metadata = header.pop("__metadata__", {})
        for name, entry in header.items():
            if entry["dtype"] not in DTYPES:
                sys.exit(f"{path}: {name} is {entry['dtype']}, which is not supported.")
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            flat = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPES[entry["dtype"]]) if end > begin else torch.zeros(0)
            tensors[name] = flat.reshape(entry["shape"])
    except (struct.error, ValueError, KeyError, TypeError, AttributeError, RuntimeError, RecursionError):
        sys.exit(f"{path}: this is not a complete safetensors file. Download it again.")
    return tensors, metadata


def write_safetensors(path, tensors, metadata):
    words = {dtype: word for word, dtype in DTYPES.items()}
    order = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))  # aligns each tensor to its element size
    header, offset = {"__metadata__": metadata}, 0
    for name in order:
        end = offset + tensors[name].numel() * tensors[name].element_size()
        header[name] = {"dtype": words[tensors[name].dtype], "shape": list(tensors[name].shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            file.write(tensors[name].contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if tensors[name].numel() else b"")


def read_pickle(path, trust):
    expect_file(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=not trust)
    except pickle.UnpicklingError as error:
        sys.exit(f"{path}: {error}\nThe file contains objects other than tensors, as mmpose's files do. Loading them runs code "
                 "from the file. If you trust its author, add --trust.")
    except Exception as error:  # raised by code from the file, too
        reason = str(error).partition("\n")[0]
        sys.exit(f"{path}: torch cannot read this file: {type(error).__name__}: {reason}")
    if not isinstance(content, dict):
        sys.exit(f"{path}: expected a dictionary of tensors, got a {type(content).__name__}.")
    return content


def state_of(content):
    """The tensors by name, unwrapped from a checkpoint's dictionaries."""
    for key in ("state_dict", "model_state_dict", "model", "state_dict_ema", "model_ema"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    tensors = {name: value for name, value in content.items() if torch.is_tensor(value)}
    while tensors and all(name.startswith("module.") for name in tensors):
        tensors = {name[len("module."):]: value for name, value in tensors.items()}
    return tensors


def read_tensors(path, trust):
    return read_safetensors(path)[0] if path.suffix == ".safetensors" else state_of(read_pickle(path, trust))


def read_shards(index):
    """The tensors of transformers' sharded checkpoint, all of whose files are beside its `index`."""
    names = read_json(index).get("weight_map")
    if not isinstance(names, dict) or not names or not all(isinstance(name, str) for name in names.values()):
        sys.exit(f"{index}: expected an object \"weight_map\" from the tensors to their files.")
    files = sorted({pathlib.PurePath(name).name for name in names.values()})
    return {name: tensor for file in files for name, tensor in read_safetensors(index.parent / file)[0].items()}


def read_folder(path, trust):
    index = path / "model.safetensors.index.json"
    if index.exists():
        return read_shards(index)
    best = path / "last_best_checkpoint"  # ClearerVoice-Studio: a text file whose first line names the checkpoint
    named = [pathlib.PurePath(read_text(best).split("\n")[0].strip()).name] if best.exists() else []
    for name in (*named, "model.safetensors", "pytorch_model.bin", "model.pth"):
        if (path / name).is_file():
            return read_tensors(path / name, trust)
    sys.exit(f"{path}: expected a model.safetensors, pytorch_model.bin or model.pth in this folder.")


def fetch(name):
    try:
        import timm
    except ImportError:
        sys.exit(f"{name}: no such file; to fetch a model of that name, install timm.")
    try:
        model = timm.create_model(name, pretrained=True)
    except Exception as error:  # an unknown name, or no network
        sys.exit(f"{name}: there is no such file, and timm cannot fetch a model of that name: {str(error).partition(chr(10))[0]}")
    beside = {"pretrained_cfg": dict(model.pretrained_cfg), "num_classes": model.num_classes}
    subset = timm.data.infer_imagenet_subset(model)  # inferred from the number of classes
    if subset:
        info = timm.data.ImageNetInfo(subset)
        beside["label_names"] = [info.index_to_description(i) for i in range(model.num_classes)]
    return model.state_dict(), beside


def read(source, trust):
    """The tensors, and the config.json beside them."""
    path = pathlib.Path(source)
    if not path.exists():
        return fetch(source)
    config = folder_of(path) / "config.json"
    tensors = read_folder(path, trust) if path.is_dir() else read_tensors(path, trust)
    return tensors, read_json(config) if config.is_file() else {}


def folder_of(path):
    return path if path.is_dir() else path.parent


def json_files(source):
    """The JSON files of a published text transformer by their paths: its configuration and, if sentence-transformers wrote it,
    its modules and its pooling. They are packed as they are; gated/io/published_text.hpp reads them."""
    folder = folder_of(source)
    if not (folder / "config.json").is_file():
        sys.exit(f"{source}: the tensors do not show the heads, the rotary bases and ε. Put the model's config.json beside them.")
    paths = {"config.json", "modules.json", "1_Pooling/config.json"}
    if (folder / "modules.json").is_file():
        modules = [module for module in read_json(folder / "modules.json", list) if isinstance(module, dict)]
        paths.update(posixpath.normpath(posixpath.join(module["path"], "config.json")) for module in modules
                     if isinstance(module.get("path"), str))
    inside = (path for path in sorted(paths) if not path.startswith(("/", "../")))
    return {path: read_text(folder / path) for path in inside if (folder / path).is_file()}


# --- Configurations from shapes ---


class Shapes:
    """Looks up the shapes of tensors by the endings of their names."""

    def __init__(self, tensors):
        self.all = {name: list(tensor.shape) for name, tensor in tensors.items()}

    def prefix(self, ending):
        """The prefix of the first name with this ending, or None."""
        for name in sorted(self.all):
            if name == ending or name.endswith("." + ending):
                return name[:len(name) - len(ending)]
        return None

    def has(self, *endings):
        return all(self.prefix(ending) is not None for ending in endings)

    def of(self, ending):
        prefix = self.prefix(ending)
        if prefix is None:
            sys.exit(f"The file lacks a tensor whose name ends in {ending}.")
        return self.all[prefix + ending]

    def count(self, before, after):
        """The number of blocks i = 0, 1, … that have a tensor whose name ends in before + i + after."""
        i = 0
        while self.prefix(f"{before}{i}{after}") is not None:
            i += 1
        return i


GMLP = "gated.Stack<gated.GmlpBlock>"


def timm_images(shapes, beside, tokens, stem="stem."):
    """Shared by timm's image models. Images are assumed to be square unless the configuration beside the file states a size."""
    image_channels, down, across = shapes.of(stem + "proj.weight")[1:]
    described = {**beside, **(beside.get("pretrained_cfg") or {}), **(beside.get("model_args") or {})}
    if described.get("crop_mode") not in (None, "center"):
        sys.exit(f"config.json: crop_mode = {described['crop_mode']}, but gated crops the centre.")
    built = described.get("img_size")  # overrides the published size
    built = built if isinstance(built, list) else [built, built] if built else (described.get("input_size") or [0, 0, 0])[1:]
    size = [image_channels, *built]
    if len(size) != 3 or size[1] // down * (size[2] // across) != tokens:
        size = [image_channels, math.isqrt(tokens) * down, math.isqrt(tokens) * across]
    config = {"image": {"height": size[1], "width": size[2]}, "patch": {"height": down, "width": across},
              "image_channels": image_channels, "classes": shapes.of("head.weight")[0] if shapes.has("head.weight") else 0,
              "stem_norm": shapes.has(stem + "norm.weight") or shapes.has(stem + "norm.alpha"), "norm_eps": 1e-6}
    for theirs, ours in (("mean", "pixel_mean"), ("std", "pixel_deviation"), ("crop_pct", "crop_share"),
                         ("interpolation", "interpolation")):
        if described.get(theirs) is not None:
            value = described[theirs]
            config[ours] = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
    if described.get("global_pool") not in (None, "avg", ""):
        sys.exit(f"config.json: global_pool = {described['global_pool']}, but gated only computes the mean, or none.")
    if described.get("global_pool") == "":
        config["pooling"] = "tokens"
    return config


def timm_activation(beside):
    """The activation that the configuration beside the file states, as an option of gated, if it states one."""
    stated = (beside.get("model_args") or {}).get("act_layer")
    return {"activation": stated.lower()} if stated else {}


def timm_gmlp(shapes, beside):
    config = timm_images(shapes, beside, shapes.of("blocks.0.mlp_channels.gate.proj.weight")[0])
    config["trunk"] = {"channels": shapes.of("stem.proj.weight")[0],
                       "hidden": shapes.of("blocks.0.mlp_channels.fc1.weight")[0],
                       "depth": shapes.count("blocks.", ".norm.weight"), "norm_eps": 1e-6, "gate_norm_eps": 1e-5,
                       **timm_activation(beside)}
    return f"gated.ImageClassifier<{GMLP}>", config


IMAGENET = {"pixel_mean": [0.485, 0.456, 0.406], "pixel_deviation": [0.229, 0.224, 0.225]}


def mixer_classifier(token_mixer, channel_mixer):
    return f"gated.ImageClassifier<gated.Stack<gated.MixerBlock<gated.{token_mixer},gated.{channel_mixer}>>>"


def timm_mixer(shapes, beside):
    """MLP-Mixer, or gMixer if the input of fc2 is narrower than the output of fc1."""
    (wide, tokens), narrow = shapes.of("blocks.0.mlp_tokens.fc1.weight"), shapes.of("blocks.0.mlp_tokens.fc2.weight")[1]
    gated = wide != narrow
    config = {**(IMAGENET if gated else {}), **timm_images(shapes, beside, tokens)}
    config["trunk"] = {"depth": shapes.count("blocks.", ".norm1.weight"), "block": {
        "channels": shapes.of("stem.proj.weight")[0], "norm_eps": 1e-6,
        "token_mixer": {"hidden": narrow, **timm_activation(beside)},
        "channel_mixer": {"hidden": shapes.of("blocks.0.mlp_channels.fc2.weight")[1], **timm_activation(beside)}}}
    return mixer_classifier(*(("TokenGlu", "GluFeedForward") if gated else ("TokenMlp", "FeedForward"))), config


def resmlp(shapes, beside, stem="stem.", tokens="linear_tokens", channels="mlp_channels"):
    config = {**IMAGENET, **timm_images(shapes, beside, shapes.of(f"blocks.0.{tokens}.weight")[0], stem), "norm": "affine"}
    config["trunk"] = {"depth": shapes.count("blocks.", ".norm1.alpha"), "block": {
        "channels": shapes.of(stem + "proj.weight")[0], "token_norm": "affine", "channel_norm": "affine", "layer_scale": 1e-4,
        "channel_mixer": {"hidden": shapes.of(f"blocks.0.{channels}.fc1.weight")[0], **timm_activation(beside)}}}
    return mixer_classifier("TokenProjection", "FeedForward"), config


def facebook_resmlp(shapes, beside):
    return resmlp(shapes, beside, "patch_embed.", "attn", "mlp")


def lucidrains_trunk(shapes):
    inner = "fn.fn.fn." if shapes.has("layers.0.fn.fn.fn.proj_in.0.weight") else "fn.fn."
    hidden, channels = shapes.of(f"layers.0.{inner}proj_in.0.weight")
    sgu = f"layers.0.{inner}sgu."
    trunk = {"channels": channels, "hidden": hidden, "depth": shapes.count("layers.", ".fn.norm.weight")}
    if shapes.has(sgu + "circulant_pos_x"):
        trunk.update(spatial="scaled_toeplitz", heads=shapes.of(sgu + "weight")[0], length=shapes.of(sgu + "weight")[1])
    else:
        weight = shapes.of(sgu + ("weight" if shapes.has(sgu + "weight") else "proj.weight"))
        trunk["length"] = weight[1] if len(weight) == 3 and weight[2] != 1 else weight[0]
        trunk["heads"] = weight[0] if len(weight) == 3 and weight[2] != 1 else 1
    if shapes.has(f"layers.0.{inner}attn.to_qkv.weight"):
        trunk["attention_width"] = shapes.of(f"layers.0.{inner}attn.to_qkv.weight")[0] // 3
    return trunk


def lucidrains_vision(shapes, _):
    trunk = lucidrains_trunk(shapes)
    pixels = shapes.of("to_patch_embed.1.weight")[1]
    patch, grid = math.isqrt(pixels // 3), math.isqrt(trunk.pop("length"))
    return f"gated.ImageClassifier<{GMLP}>", {
        "image": {"height": grid * patch, "width": grid * patch}, "patch": {"height": patch, "width": patch},
        "classes": shapes.of("to_logits.2.weight")[0], "norm_eps": 1e-5, "trunk": trunk}


def is_square(area):
    return math.isqrt(area) ** 2 == area


def is_keyword_mlp(shapes):
    """KW-MLP has the tensor names of an early gMLPVision, but lacks its square patches on a square grid."""
    if not shapes.has("layers.0.fn.fn.sgu.proj.weight"):
        return False
    pixels, tokens = shapes.of("to_patch_embed.1.weight")[1], shapes.of("layers.0.fn.fn.sgu.proj.weight")[0]
    return not (pixels % 3 == 0 and is_square(pixels // 3) and is_square(tokens))


def kw_mlp(shapes, _):
    trunk = {**lucidrains_trunk(shapes), "norm_position": "res_post", "drop_path": 0.1}
    tokens, pixels = trunk.pop("length"), shapes.of("to_patch_embed.1.weight")[1]
    return f"gated.ImageClassifier<{GMLP}>", {
        "image": {"height": tokens, "width": pixels}, "patch": {"height": 1, "width": pixels}, "image_channels": 1,
        "classes": shapes.of("to_logits.2.weight")[0], "norm_eps": 1e-5, "pixel_mean": 0, "pixel_deviation": 1, "trunk": trunk}


def lucidrains_text(shapes, _):
    return f"gated.LanguageModel<{GMLP}>", {"vocabulary": shapes.of("to_embed.weight")[0], "head": {"form": "untied", "bias": True},
                                            "trunk": lucidrains_trunk(shapes)}


def flash_layer(shapes):
    query_key, channels = shapes.of("to_qk.0.weight")
    return {"channels": channels, "value": shapes.of("to_hidden.0.weight")[0] // 2, "query_key": query_key,
            "norm": "scale_norm" if shapes.has("norm.g") else "layer_norm"}


def flash_transformer(shapes, _):
    layer = flash_layer(Shapes_of_layers(shapes))
    layer.update(rotary="interleaved", rotary_dimensions=min(32, layer["query_key"]), token_shift=True)
    return "gated.LanguageModel<gated.Stack<gated.MixedChunkAttention>>", {
        "vocabulary": shapes.of("token_emb.weight")[0], "position": "sinusoid", "head": {"form": "untied", "bias": True},
        "trunk": {"depth": shapes.count("layers.", ".to_qk.0.weight"), "block": layer}}


def Shapes_of_layers(shapes):
    """Only the shapes inside the blocks; a norm outside them is ignored."""
    only = Shapes({})
    only.all = {name: shape for name, shape in shapes.all.items() if "layers." in name}
    return only


def flash(shapes, _):
    layer = flash_layer(shapes)
    if shapes.has("rotary_pos_emb.freqs"):
        layer.update(rotary="interleaved", rotary_dimensions=2 * shapes.of("rotary_pos_emb.freqs")[0])
    return "gated.MixedChunkAttention", layer


def gau(shapes, _):
    layer = flash_layer(shapes)
    layer.update(projection="separate", bias_inside_scale=True, relative_bias="t5",
                 relative_bias_scale=math.sqrt(layer["channels"]))
    return "gated.GatedAttentionUnit", layer


def junnyu_head(shapes):
    return shapes.has("cls.predictions.decoder.weight")


def flash_quad(shapes, _):
    vocabulary, channels = shapes.of("embeddings.word_embeddings.weight")
    query_key, length = shapes.of("layer.0.weight")[1], shapes.of("embeddings.scaledsin_embeddings")[0]
    norm = "scale_norm_rsqrt" if shapes.has("layer.0.LayerNorm.scala") else "layer_norm"
    layer = {"channels": channels, "value": shapes.of("layer.0.o.weight")[1], "query_key": query_key, "max_length": length,
             "relative_bias": "toeplitz", "rotary": "half", "norm": norm, "score_scale": "max_length",
             "mask_mode": "keys_and_queries"}
    head = {"form": "tied", "dense": True, "activation": "silu", "norm": norm, "bias": True} if junnyu_head(shapes) else {
        "form": "none"}
    return "gated.LanguageModel<gated.Stack<gated.GatedAttentionUnit>>", {
        "vocabulary": vocabulary, "token_types": shapes.of("embeddings.token_type_embeddings.weight")[0],
        "position": "sinusoid_table", "max_length": length, "embedding_norm": norm, "pad_token": 0, "head": head,
        "trunk": {"depth": shapes.count("layer.", ".o.weight"), "block": layer}}


def junnyu_flash(shapes, _):
    vocabulary, channels = shapes.of("embeddings.word_embeddings.weight")
    layer = flash_layer(Shapes_of_layers(shapes))
    layer.update(rotary="interleaved", rotary_dimensions=min(32, layer["query_key"]))
    return "gated.LanguageModel<gated.Stack<gated.MixedChunkAttention>>", {
        "vocabulary": vocabulary, "position": "sinusoid", "head": {"form": "tied" if junnyu_head(shapes) else "none", "bias": True},
        "trunk": {"depth": shapes.count("layers.", ".to_qk.0.weight"), "block": layer}}


def gau_alpha(shapes, _):
    vocabulary, channels = shapes.of("embeddings.word_embeddings.weight")
    bias = shapes.has("layer.0.gau.i_dense.bias")
    layer = {"channels": channels, "value": shapes.of("layer.0.gau.o_dense.weight")[1],
             "query_key": shapes.of("layer.0.gau.q_scaleoffset.weight")[0], "bias": bias, "offset_bias": bias, "norm": "rms",
             "norm_position": "post", "norm_eps": 1e-12, "kernel": "softmax_plus", "score_scale": "sqrt_width",
             "rotary": "interleaved"}
    return "gated.LanguageModel<gated.Stack<gated.GatedAttentionUnit>>", {
        "vocabulary": vocabulary, "token_types": shapes.of("embeddings.token_type_embeddings.weight")[0], "embedding_norm": "rms",
        "embedding_norm_eps": 1e-12, "pad_token": 0,
        "head": {"form": "tied", "norm": "none"} if junnyu_head(shapes) else {"form": "none"},
        "trunk": {"depth": shapes.count("layer.", ".gau.o_dense.weight"), "block": layer}}


def rtmcc(shapes, _):
    out, value = shapes.of("o.weight")
    channels, query_key = shapes.of("uv.weight")[1], shapes.of("gamma")[1]
    layer = {"channels": channels, "value": value, "query_key": query_key, "out": out, "bias": shapes.has("uv.bias"),
             "norm": "scale_norm", "score_scale": "sqrt_width", "bias_inside_scale": True,
             "residual": "scaled" if shapes.has("res_scale.scale") else "none"}
    if shapes.has("w"):
        layer.update(relative_bias="toeplitz", max_length=(shapes.of("w")[0] + 1) // 2)
    return "gated.GatedAttentionUnit", layer


def rtmcc_head(shapes, _):
    """RTMPose's head. Assumes two bins per pixel, and a feature map with the aspect ratio of the picture."""
    key_points, channels, kernel = shapes.of("final_layer.weight")[:3]
    height, width = shapes.of("cls_y.weight")[0] // 2, shapes.of("cls_x.weight")[0] // 2
    stride = max(math.isqrt(height * width // shapes.of("mlp.1.weight")[1]), 1)
    return "gated.PoseHead", {
        "feature_channels": channels, "features": {"height": height // stride, "width": width // stride},
        "input": {"height": height, "width": width}, "key_points": key_points, "kernel": kernel, "unit": rtmcc(shapes, _)[1],
        "simcc": {"sigma_x": round(math.sqrt(width / 8), 2), "sigma_y": round(math.sqrt(height / 8), 2)}}


def rtmcc_cross(shapes, _):
    return "gated.GatedCrossAttention", {
        "channels": shapes.of("uv.weight")[1], "key_channels": shapes.of("k_fc.weight")[1],
        "value_channels": shapes.of("v_fc.weight")[1], "value": shapes.of("o.weight")[1], "query_key": shapes.of("k_fc.weight")[0],
        "bias": shapes.has("uv.bias"), "residual": "scaled" if shapes.has("res_scale.scale") else "none"}


def labml(shapes, _):
    hidden, channels = shapes.of("proj1.weight")
    return "gated.GmlpBlock", {"length": shapes.of("sgu.weight")[0], "channels": channels, "hidden": hidden,
                               "length_policy": "slice"}


def light_conv_block(shapes, _):
    """A decoder layer is causal. There are heads * kernel predicted taps; configurations.hpp explains how to find both."""
    channels, width = shapes.of("linear2.weight")
    mixer = {"hidden": width, "glu": shapes.of("linear1.weight")[0] != width, "causal": shapes.has("conv_layer_norm.weight")}
    if shapes.has("conv.weight_linear.weight"):
        taps = shapes.of("conv.weight_linear.weight")[0]
        heads = math.gcd(taps, width)
        mixer.update(form="dynamic", heads=heads, kernel=taps // heads)
    else:
        taps = shapes.of("conv.weight")
        mixer.update(heads=taps[0], kernel=taps[-1])
    return "gated.MixerBlock<gated.LightConv,gated.FeedForward>", {
        "channels": channels, "norm_position": "post", "token_mixer": mixer,
        "channel_mixer": {"hidden": shapes.of("fc1.weight")[0], "activation": "relu"}}


def fnet_options(beside):
    """The activation, under gated's name, and ε: from config.json, or transformers' defaults."""
    stated = beside.get("hidden_act", "gelu_new")
    activation = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "swish": "silu"}.get(stated, stated)
    return activation, beside.get("layer_norm_eps", 1e-12)


def fnet_encoder(shapes, beside):
    activation, norm_eps = fnet_options(beside)
    hidden, channels = shapes.of("layer.0.intermediate.dense.weight")
    return "gated.Stack<gated.MixerBlock<gated.FourierMixing,gated.FeedForward>>", {
        "depth": shapes.count("layer.", ".fourier.output.LayerNorm.weight"),
        "block": {"channels": channels, "norm_position": "post", "norm_eps": norm_eps,
                  "channel_mixer": {"hidden": hidden, "activation": activation}}}


def fnet(shapes, beside):
    activation, norm_eps = fnet_options(beside)
    encoder, trunk = fnet_encoder(shapes, beside)
    pretraining = shapes.has("cls.seq_relationship.weight")
    words = shapes.has("cls.predictions.transform.dense.weight")
    return f"gated.LanguageModel<{encoder}>", {
        "vocabulary": shapes.of("embeddings.word_embeddings.weight")[0],
        "token_types": shapes.of("embeddings.token_type_embeddings.weight")[0], "position": "learned",
        "max_length": shapes.of("embeddings.position_embeddings.weight")[0], "embedding_norm": "layer_norm",
        "embedding_norm_eps": norm_eps, "embedding_projection": True, "pooler": True, "classes": 2 if pretraining else 0,
        "head": {"form": "tied" if words else "none", "dense": True, "activation": activation, "norm_eps": norm_eps, "bias": True},
        "trunk": trunk}


TEXT_TRANSFORMER = "gated.LanguageModel<gated.Stack<gated.MixerBlock<gated.SelfAttention,gated.GluFeedForward>>>"


def text_transformer(shapes, beside):
    """Only marks Llama, Mistral, Qwen2, Qwen3, gated attention and ModernBERT in ORIGINS: configuration() packs their
    config.json."""


def roformer(shapes, _):
    heads, channels = shapes.of("layers.0.0.to_gates.weight")
    prefix = shapes.prefix("layers.0.0.to_gates.weight")
    return "gated.Roformer", {
        "norm": "l2_norm" if prefix + "norm.gamma" in shapes.all else "none",
        "trunk": {"depth": shapes.count("layers.", ".0.to_gates.weight"), "block": {
            "channels": channels, "token_norm": "l2_norm", "channel_norm": "l2_norm", "norm_eps": 1e-12, "token_mixer": {
                "heads": heads, "head_width": shapes.of("layers.0.0.to_qkv.weight")[0] // (3 * heads),
                "rotary": "interleaved" if shapes.has("layers.0.0.rotary_embed.freqs") else "none", "gate": "per_head",
                "bias": False, "out_bias": False},
            "channel_mixer": {"hidden": shapes.of("layers.0.1.net.1.weight")[0]}}}}


def series_trunk(shapes, trunk, channels):
    mlp = ".feature_mixer.mlp.fc1.weight"
    levels = shapes.count(f"{trunk}.mixers.", ".mixer_layers.0" + mlp)
    first = f"{trunk}.mixers.0" + (".mixer_layers.0" if levels else "")
    depth = shapes.count(f"{trunk}.mixers.0.mixer_layers.", mlp) if levels else shapes.count(f"{trunk}.mixers.", mlp)
    own = {"channels": channels, "depth": depth, "levels": levels,
           "mixes_series": shapes.has(first + ".channel_feature_mixer.mlp.fc1.weight")}
    shared = {}
    if depth:
        wide, narrow = shapes.of(first + mlp)
        shared = {"expansion": wide // narrow, "gated": shapes.has(first + ".feature_mixer.gating_block.attn_layer.weight")}
    if own["mixes_series"]:
        shared["series"] = shapes.of(first + ".channel_feature_mixer.mlp.fc1.weight")[1]
    return own, shared


# The training losses of forecasters by gated's names.
LOSSES = {"mse": "squared", "mae": "absolute", "huber": "huber", "pinball": "quantile"}

# Options of a forecaster that leave no trace in its tensors but are in its config.json.
FORECASTER_FIELDS = {"num_input_channels": "series", "context_length": "context", "patch_stride": "stride", "norm_eps": "norm_eps",
                     "dropout": "dropout", "head_dropout": "head_dropout", "prediction_filter_length": "filter",
                     "prediction_channel_indices": "predicted", "exogenous_channel_indices": "known"}


def forecaster(shapes, beside, encoder="backbone.encoder.", mixes_single_patch=False):
    channels, patch = shapes.of(encoder + "patcher.weight")
    horizon, seen = shapes.of("head.base_forecast_block.weight")
    backbone, shared = series_trunk(shapes, encoder + "mlp_mixer_encoder", channels)
    adapts = shapes.has("decoder.adapter.weight")
    decoder_channels = shapes.of("decoder.adapter.weight")[0] if adapts else channels
    decoder, shared_too = series_trunk(shapes, "decoder.decoder_block", decoder_channels)
    config = {"patch": patch, "stride": patch, "horizon": horizon, "backbone": backbone, **shared, **shared_too,
              "has_decoder": adapts or decoder["depth"] > 0, "mixes_single_patch": mixes_single_patch,
              "raw_residual": shapes.has("decoder.decoder_raw_embedding.weight"),
              "position": "sinusoid" if shapes.has(encoder + "positional_encoder.position_enc") else "none"}
    if config["has_decoder"]:
        config["decoder"] = decoder
    config["resolutions"] = shapes.of(encoder + "freq_mod.0.weight")[0] if shapes.has(encoder + "freq_mod.0.weight") else 0
    width = (decoder if config["has_decoder"] else backbone)["channels"]
    config["context"] = (seen // width - (1 if config["resolutions"] else 0)) * patch
    mixing = "head.fcm_block."
    if shapes.has(mixing + "mlp.weight"):  # assumes that the known series come last
        predicted, of_all = shapes.of(mixing + "mlp.weight")
        mixes = shapes.has(mixing + "fcm_embedding.weight")
        window = shapes.of(mixing + "fcm_embedding.weight")[1] if mixes else 2 * beside.get("fcm_context_length", 1) + 1
        config["series"] = of_all // (2 * window if mixes else window)
        config["known"] = list(range(predicted, config["series"]))
        config["forecast_mixing"] = {"enabled": True, "context": window // 2, "past": beside.get("fcm_prepend_past", True),
                                     "past_offset": beside.get("fcm_prepend_past_offset") or 0,
                                     "gated": shapes.has(mixing + "fcm_gating_block.attn_layer.weight"),
                                     "depth": shapes.count(mixing + "exog_mixer.mixers.", ".feature_mixer.mlp.fc1.weight")}
    config.update({ours: beside[theirs] for theirs, ours in FORECASTER_FIELDS.items() if beside.get(theirs) is not None})
    if "scaling" in beside:
        config["scaling"] = {"std": "standard", True: "standard", "mean": "mean"}.get(beside["scaling"], "none")
    if config["position"] == "sinusoid" and beside.get("positional_encoding_type") == "random":
        config["position"] = "learned"
    return "gated.TinyTimeMixer", config


def patchtsmixer(shapes, beside):
    return forecaster(shapes, beside, "model.encoder.", mixes_single_patch=True)


def mask_network(shapes, network, speakers):
    trunk = network + "mdl.intra_mdl.mossformerM."
    layer, fsmn = trunk + "layers.0.", trunk + "fsmn.0."
    unit, memory = fsmn + "gated_fsmn.", fsmn + "gated_fsmn.fsmn."
    channels, features = shapes.of(network + "conv1d_encoder.weight")[:2]
    dilated = shapes.has(memory + "conv.conv2.weight")
    taps = shapes.of(memory + ("conv.conv1.weight" if dilated else "conv1.weight"))[2]
    return {"features": features, "outputs": shapes.of(network + "conv1_decoder.weight")[0], "speakers": speakers,
            "positions": shapes.has(network + "pos_enc.scale"), "trunk": {
                "depth": shapes.count(trunk + "layers.", ".to_qk.mdl.1.weight"), "block": {
                    "channels": channels,
                    "attention": {"value": shapes.of(layer + "to_hidden.mdl.1.weight")[0] // 2,
                                  "query_key": shapes.of(layer + "to_qk.mdl.1.weight")[0],
                                  "kernel": shapes.of(layer + "to_qk.mdl.3.sequential.1.conv.weight")[2],
                                  "norm": "scale_norm" if shapes.has(layer + "to_qk.mdl.0.g") else "layer_norm"},
                    "fsmn": {"inner": shapes.of(fsmn + "conv1.0.weight")[0], "hidden": shapes.of(memory + "linear.weight")[0],
                             "order": (taps + 1) // 2, "kernel": shapes.of(unit + "to_u.mdl.3.sequential.1.conv.weight")[2],
                             "dilated": dilated}}}}


def mossformer2_se(shapes, _):
    return "gated.MaskNetwork", mask_network(shapes, "mossformer.", 1)


def mossformer2_ss(shapes, _):
    speakers = shapes.of("mask_net.conv1d_out.bias")[0] // max(shapes.of("mask_net.output.0.bias")[0], 1)
    return "gated.SpeechSeparator", {"window": shapes.of("enc.conv1d.weight")[2],
                                     "masks": mask_network(shapes, "mask_net.", speakers)}


def branchformer(shapes, wenet=False):
    """E-Branchformer. Without position scores, the number of heads leaves no trace: heads are assumed to be 64 wide."""
    layer, gate = "encoders.0.", "encoders.0.cgmlp.csgu."
    channels, positions = shapes.of(layer + "norm_mha.weight")[0], shapes.has(layer + "attn.linear_pos.weight")
    norm_eps = 1e-5 if wenet else 1e-12
    block = {"channels": channels,
             "heads": shapes.of(layer + "attn.pos_bias_u")[0] if positions else max(channels // 64, 1),
             "position": ("key" if wenet else "offset") if positions else "none",
             "gate_hidden": shapes.of(layer + "cgmlp.channel_proj1.0.weight")[0],
             "gate_kernel": shapes.of(gate + "conv.weight")[2],
             "merge_kernel": shapes.of(layer + "depthwise_conv_fusion.weight")[2],
             "macaron": shapes.has(layer + "feed_forward_macaron.w_1.weight"),
             "feed_forward": shapes.has(layer + "feed_forward.w_1.weight"),
             "linear_after_convolution": shapes.has(gate + "linear.weight"), "norm_eps": norm_eps}
    if block["feed_forward"]:
        block["hidden"] = shapes.of(layer + "feed_forward.w_1.weight")[0]
    return "gated.Branchformer", {"input": "scaled" if positions else "placed", "norm_eps": norm_eps,
                                  "trunk": {"depth": shapes.count("encoders.", ".norm_mha.weight"), "block": block}}


def espnet(shapes, _):
    """ESPnet and WeNet use the same names; only WeNet stores a position table or CMVN statistics in the encoder."""
    return branchformer(shapes, shapes.has("embed.pos_enc.pe") or shapes.has("global_cmvn.istd"))


def without_unused_speakers(tensors):
    """Keeps only the first speaker's mask: MossFormer2_SE_48K never reads the others."""
    channels = tensors["mossformer.output.0.bias"].shape[0]
    return {name: tensor[:channels] if ".conv1d_out." in name else tensor for name, tensor in tensors.items()}


# Each origin, the function that derives its configuration, and the tensor-name endings that identify it (gated/io/origin.hpp).
ORIGINS = [
    ("timm", timm_gmlp, "blocks.0.mlp_channels.gate.proj.weight", "stem.proj.weight"),
    ("timm", timm_mixer, "blocks.0.mlp_tokens.fc1.weight", "stem.proj.weight"),
    ("timm", resmlp, "blocks.0.linear_tokens.weight", "stem.proj.weight"),
    ("Facebook, ResMLP", facebook_resmlp, "blocks.0.attn.weight", "blocks.0.gamma_1"),
    ("Keyword-MLP", kw_mlp, "to_patch_embed.1.weight", "proj_in.0.weight"),
    ("g-mlp-pytorch, gMLPVision", lucidrains_vision, "to_patch_embed.1.weight", "proj_in.0.weight"),
    ("g-mlp-pytorch, gMLP", lucidrains_text, "to_embed.weight", "proj_in.0.weight"),
    ("g-mlp-pytorch, gMLP without tokens", lambda shapes, _: (GMLP, lucidrains_trunk(shapes)), "layers.0.fn.norm.weight",
     "proj_in.0.weight"),
    ("FLASH-pytorch, FLASHTransformer", flash_transformer, "token_emb.weight", "qk_offset_scale.gamma"),
    ("FLASH-pytorch, FLASH", flash, "qk_offset_scale.gamma", "to_hidden.0.weight"),
    ("FLASH-pytorch, GAU", gau, "offsetscale.gamma", "to_hidden.0.weight"),
    ("FLASHQuad_pytorch, FLASH-Quad", flash_quad, "embeddings.scaledsin_scalar", "uv.weight"),
    ("FLASHQuad_pytorch, FLASH", junnyu_flash, "embeddings.scale", "qk_offset_scale.weight"),
    ("GAU-alpha-pytorch", gau_alpha, "embeddings.word_embeddings.weight", "q_scaleoffset.weight"),
    ("mmpose, RTMCCHead", rtmcc_head, "final_layer.weight", "cls_x.weight", "cls_y.weight"),
    ("mmpose, RTMCCBlock across", rtmcc_cross, "k_fc.weight", "uv.weight"),
    ("mmpose, RTMCCBlock", rtmcc, "ln.g", "uv.weight", "gamma"),
    ("labml, GMLPBlock", labml, "proj1.weight", "sgu.weight"),
    ("fairseq, LightConv layer", light_conv_block, "linear1.weight", "fc1.weight", "conv.weight"),
    ("fairseq, DynamicConv layer", light_conv_block, "linear1.weight", "fc1.weight", "conv.weight_linear.weight"),
    ("granite-tsfm, TinyTimeMixer", forecaster, "backbone.encoder.patcher.weight", "head.base_forecast_block.weight"),
    ("transformers, PatchTSMixer", patchtsmixer, "model.encoder.patcher.weight", "head.base_forecast_block.weight"),
    ("transformers, FNet", fnet, "embeddings.projection.weight", "fourier.output.LayerNorm.weight"),
    ("transformers, FNetEncoder", fnet_encoder, "layer.0.fourier.output.LayerNorm.weight", "layer.0.intermediate.dense.weight"),
    ("transformers, Llama, Mistral, Qwen2 or Qwen3", text_transformer, "embed_tokens.weight", "self_attn.q_proj.weight"),
    ("transformers, ModernBERT", text_transformer, "embeddings.tok_embeddings.weight", "attn.Wqkv.weight"),
    ("BS-RoFormer, Transformer", roformer, "layers.0.0.to_gates.weight", "layers.0.1.net.0.gamma"),
    ("ClearerVoice-Studio, MossFormer2_SE", mossformer2_se, "mossformer.conv1d_encoder.weight", "mossformer.conv1d_out.weight"),
    ("ClearerVoice-Studio, MossFormer2_SS", mossformer2_ss, "enc.conv1d.weight", "mask_net.conv1d_out.weight"),
    ("ESPnet or WeNet, E-Branchformer", espnet, "encoders.0.depthwise_conv_fusion.weight", "encoders.0.cgmlp.csgu.conv.weight"),
]

# Further conditions, for tensor names that fit more than one origin.
FITS = {kw_mlp: is_keyword_mlp}


def part_of(tensors, prefix):
    part = {name[len(prefix):]: tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    if not part:
        sys.exit(f"--part {prefix}: no tensor's name begins with this prefix.")
    return part


def set_option(config, assignment):
    """Sets an option in `config`; `assignment` is, for example, trunk.causal=true."""
    key, _, text = assignment.partition("=")
    *outer, last = key.split(".")
    for name in outer:
        config = config.setdefault(name, {})
        if not isinstance(config, dict):
            sys.exit(f"--set {assignment}: {name} has no options.")
    try:
        config[last] = json.loads(text)
    except json.JSONDecodeError:
        config[last] = text


def origin_of(source, tensors):
    """The entry of ORIGINS for the tensors."""
    shapes = Shapes(tensors)
    if any("residual_forecaster." in name for name in tensors):
        sys.exit(f"{source}: this is a TinyTimeMixer r3, a different model that gated does not support.")
    known = next((origin for origin in ORIGINS if shapes.has(*origin[2:]) and FITS.get(origin[1], lambda _: True)(shapes)), None)
    if known is None:
        sys.exit(f"{source}: the tensor names match no known origin: {', '.join(list(tensors)[:5])}, …")
    if known[1] is light_conv_block and any("encoder_attn." in name for name in tensors):
        sys.exit(f"{source}: these layers attend to an encoder, which gated does not support. To convert a layer of the encoder, "
                 "give its prefix, such as --part encoder.layers.0.")
    return known


def model_of(tensors, known, is_part):
    """The tensors of the model that gated implements, under the names that gated expects."""
    shapes, describe = Shapes(tensors), known[1]
    if describe is text_transformer:
        return tensors
    if describe in (rtmcc, rtmcc_cross, labml, light_conv_block) and not is_part:  # perhaps part of a larger model
        tensors = part_of(tensors, shapes.prefix(known[3]))
    elif len({shapes.prefix(mark) for mark in known[2:]}) == 1 and shapes.prefix(known[2]):
        tensors = part_of(tensors, shapes.prefix(known[2]))
    elif all(name.startswith("model.") for name in tensors):
        tensors = part_of(tensors, "model.")
    return without_unused_speakers(tensors) if describe is mossformer2_se else tensors


def configuration(describe, tensors, beside, arguments):
    """The metadata that states the model and its configuration."""
    if describe is text_transformer:
        if arguments.set:
            sys.exit(f"--set {arguments.set[0]}: a text transformer has the options of its config.json. Edit that file instead.")
        return {"architecture": TEXT_TRANSFORMER, **json_files(pathlib.Path(arguments.input))}
    architecture, config = describe(Shapes(tensors), beside)
    for assignment in arguments.set:
        set_option(config, assignment)
    return {"architecture": architecture, "config": json.dumps(config)}


def output_of(arguments):
    source = pathlib.Path(arguments.input)
    output = arguments.output or pathlib.Path((source.resolve().name if source.is_dir() else source.stem) + ".safetensors")
    if output.exists() and source.exists() and output.samefile(source):
        sys.exit(f"{output} is the input. Name another output.")
    return output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input")
    parser.add_argument("output", nargs="?", type=pathlib.Path)
    parser.add_argument("--labels", type=pathlib.Path, help="class names, one per line")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option that the file does not show")
    parser.add_argument("--part", help="convert only the tensors with this prefix, and strip it")
    parser.add_argument("--trust", action="store_true", help="read pickles that hold more than tensors; runs code from the file")
    arguments = parser.parse_args()

    tensors, beside = read(arguments.input, arguments.trust)
    if arguments.part:
        tensors = part_of(tensors, arguments.part)
    known = origin_of(arguments.input, tensors)
    tensors = model_of(tensors, known, is_part=bool(arguments.part))
    metadata = {**configuration(known[1], tensors, beside, arguments), "origin": known[0]}
    labels = read_text(arguments.labels).splitlines() if arguments.labels else beside.get("label_names")
    classes = json.loads(metadata.get("config", "{}")).get("classes", 0)
    if labels and arguments.labels and classes and len(labels) != classes:
        sys.exit(f"{arguments.labels}: {len(labels)} lines, but the model has {classes} classes.")
    if beside.get("loss") in LOSSES and known[1] in (forecaster, patchtsmixer):
        metadata["loss"] = json.dumps({"form": LOSSES[beside["loss"]], "delta": beside.get("huber_delta", 1.0),
                                       "quantile": beside.get("quantile", 0.5)})
    if labels:
        metadata["labels"] = json.dumps(labels, ensure_ascii=False)
    output = output_of(arguments)
    try:
        write_safetensors(output, tensors, metadata)
    except OSError as error:
        sys.exit(f"{output}: {error.strerror}.")
    print(f"{output}: {known[0]}, {sum(tensor.numel() for tensor in tensors.values()):,} elements in {len(tensors)} tensors")
    print(f"a {metadata['architecture']} with {metadata.get('config', 'its config.json')}")


if __name__ == "__main__":
    main()
