#!/usr/bin/env python3
"""Writes a case file for check_parity. Needs torch and safetensors.

    from write_case import write_case
    model = timm.create_model("gmlp_ti16_224", num_classes=10)  # or your model with its checkpoint; then skip the next line
    torch.nn.init.normal_(model.head.weight, std=0.02)          # a new head is zero, and so are its logits
    write_case("my_model.safetensors", model, torch.randn(2, 3, 224, 224),
               "timm_gmlp", "MlpMixer(SpatialGatingBlock, GatedMlp)", {"entry": "gmlp_ti16_224", "num_classes": 10})
"""

import copy, json, torch
from safetensors.torch import save_file

def write_case(path, model, x, family, class_name, arguments):
    model = model.eval()
    x64 = x.double() if x.is_floating_point() else x  # token ids stay integers
    with torch.no_grad():
        y, y64 = model(x), copy.deepcopy(model).double()(x64)
    tensors = {f"model.{key}": value for key, value in model.state_dict().items()}
    tensors.update(input=x, output=y, output_f64=y64)
    # Gradients (optional), of sum(output * cotangent) in double.
    double, cotangent = copy.deepcopy(model).double(), torch.randn_like(y64)
    x64 = x64.clone().requires_grad_() if x.is_floating_point() else x64
    (double(x64) * cotangent).sum().backward()
    tensors.update({f"grad.{key}": value.grad for key, value in double.named_parameters() if value.grad is not None})
    tensors.update(cotangent=cotangent, **({"grad.input": x64.grad} if x.is_floating_point() else {}))
    save_file({key: value.clone().contiguous() for key, value in tensors.items()}, path, metadata={
        "family": family,
        "class": class_name,
        "config": json.dumps({"config": arguments}),
        "max_abs_err_f32_vs_f64": str((y - y64).abs().max().item()),
    })
