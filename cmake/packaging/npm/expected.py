"""Writes expected.json, the numbers that test.mjs expects, with the native library; with --check, compares instead:

    GATED_LIBRARY=build/release/libgated.so python3 cmake/packaging/npm/expected.py [--check]
"""

import json
import os
import sys
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
examples = f"{here}/../../../examples"
sys.dont_write_bytecode = True
sys.path.insert(0, f"{examples}/from_python")
import gated

gated._call("gated_use", None, b"portable")
digits = np.loadtxt(f"{examples}/classify_digits/digits.csv", delimiter=",", dtype=np.float32)[4::5]
scores = gated.Model(f"{examples}/classify_digits/digits_gmlp.safetensors").run(digits[:, :64] / 8 - 1)
model = gated.Model(f"{examples}/forecast/births_ttm.safetensors")
births = np.loadtxt(f"{examples}/forecast/us_births_daily.csv", delimiter=",", skiprows=1, usecols=1, dtype=np.float32)
text = list(b"And Noah opened the gate")
state = gated.Model(f"{examples}/generate_text/bible.int8.safetensors").start()
logits = state.extend(text)[-1]
for _ in range(60):
    text.append(int(logits.argmax()))
    logits = state.extend(text[-1:])[0]

numbers = {
    "right": int((scores.argmax(1) == digits[:, 64]).sum()),
    "scores": scores[0].astype(float).tolist(),
    "forecast": model.run(births[None, -model.about.columns:])[0].astype(float).tolist(),
    "text": bytes(text).decode(),
    "logits": logits.astype(float).tolist(),
}
if "--check" in sys.argv:
    sys.exit(json.load(open(f"{here}/expected.json")) != numbers and "expected.json has other numbers")
json.dump(numbers, open(f"{here}/expected.json", "w"))
