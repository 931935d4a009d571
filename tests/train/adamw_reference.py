#!/usr/bin/env python3
"""Writes adamw_reference.hpp: results of torch.optim.AdamW and clip_grad_norm_ for the parameters of kinds.hpp.

Usage: python3 adamw_reference.py > adamw_reference.hpp

Values and gradients are exact binary fractions, the same in every language, so only results are written: for each case, the
parameters after steps 1, 2 and 10, then both moments.
"""

import torch

SIZES = {"weight": 15, "bias": 3, "norm": 5, "spatial": 6, "position": 4, "embedding": 8}
KEPT_STEPS = (1, 2, 10)
CASES = {
    # name: (default weight decay, {parameter: (learning-rate factor, weight decay), or None if frozen}, maximum gradient norm)
    "plain": (0.0, {}, None),
    "decay": (0.1, {"weight": (1, 0.1), "embedding": (1, 0.1)}, None),
    "uniform": (0.1, {name: (1, 0.1) for name in SIZES}, None),
    "groups": (0.1, {"weight": (0.25, 0.5), "bias": (2, 0), "embedding": (1, 0.1), "norm": None}, None),
    "clipped": (0.1, {"weight": (1, 0.1), "embedding": (1, 0.1)}, 0.5),
}


def start(parameter, i):
    return ((7 * i + 5 * parameter) % 23 - 11) / 8


def gradient(parameter, i, step):
    return ((5 * i + 3 * parameter + 11 * step) % 19 - 9) / 64 * 4.0 ** (i % 3 - 1)


def rate(step):
    return 0.03 / (1 + step)


def run(case, dtype):
    decay, own, largest = CASES[case]
    parameters, groups = [], []
    for number, (name, size) in enumerate(SIZES.items()):
        p = torch.nn.Parameter(torch.tensor([start(number, i) for i in range(size)], dtype=dtype))
        parameters.append(p)
        if own.get(name, ()) is not None:
            factor, weight_decay = own.get(name, (1, 0))
            groups.append({"params": [p], "factor": factor, "weight_decay": weight_decay})
    trained = [p for group in groups for p in group["params"]]
    optimizer = torch.optim.AdamW(groups, lr=1, weight_decay=decay)
    kept, norms = [], []
    for step in range(max(KEPT_STEPS)):
        for number, p in enumerate(parameters):
            p.grad = torch.tensor([gradient(number, i, step) for i in range(len(p))], dtype=dtype)
        if largest is not None:
            norms.append(torch.nn.utils.clip_grad_norm_(trained, largest).item())
        for group in optimizer.param_groups:
            group["lr"] = rate(step) * group["factor"]
        optimizer.step()
        if step + 1 in KEPT_STEPS:
            kept += [x for p in parameters for x in p.tolist()]
    for moment in ("exp_avg", "exp_avg_sq"):
        for p in parameters:
            kept += optimizer.state[p][moment].tolist() if p in optimizer.state else [0.0] * len(p)
    return kept, norms


def show(name, values, dtype):
    digits, scalar, suffix = (9, "float", "f") if dtype == torch.float32 else (17, "double", "")
    words = []
    for x in values:
        word = f"{x:.{digits}g}"
        words.append(word + ("" if "." in word or "e" in word else ".0") + suffix)
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > 127:
            lines.append(line)
            line = "   "
        line += " " + word + ","
    lines.append(line)
    print(f"inline constexpr {scalar} {name}_{scalar}[] = {{")
    print("\n".join(lines))
    print("};")


print("#pragma once\n")
print(f"/// Written by adamw_reference.py with PyTorch {torch.__version__.split('+')[0]}. The script describes the arrays.\n")
print("// clang-format off\n")
print("namespace gated::test {\n")
for dtype in (torch.float32, torch.float64):
    for case in CASES:
        values, norms = run(case, dtype)
        show(case, values, dtype)
        if norms:
            show(case + "_norms", norms, dtype)
print("\n}  // namespace gated::test")
