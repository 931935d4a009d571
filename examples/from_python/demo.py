"""Classifies digits, forecasts births and continues a text: python3 demo.py [FOLDER in which to save the results]"""

import os
import sys
import numpy as np
import gated

examples = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

digits = np.loadtxt(f"{examples}/classify_digits/digits.csv", delimiter=",", dtype=np.float32)[4::5]  # held out from training
scores = gated.Model(f"{examples}/classify_digits/digits_gmlp.safetensors").run(digits[:, :64] / 8 - 1)
print(f"digits    {(scores.argmax(1) == digits[:, 64]).sum()} of {len(digits)} right")

model = gated.Model(f"{examples}/forecast/births_ttm.safetensors", threads=2)
births = np.loadtxt(f"{examples}/forecast/us_births_daily.csv", delimiter=",", skiprows=1, usecols=1, dtype=np.float32)
forecast = model.run(births[None, -model.about.columns:])
print("forecast  births of the next week:", *forecast[0, :7].round().astype(int))

text = list(b"And Noah opened the gate")
state = gated.Model(f"{examples}/generate_text/bible.int8.safetensors").start()
logits = state.extend(text)[-1]
for _ in range(60):
    text.append(int(logits.argmax()))
    logits = state.extend(text[-1:])[0]
print("text     ", bytes(text).decode())

if len(sys.argv) > 1:
    for name, numbers in {"scores": scores, "forecast": forecast, "logits": logits[None]}.items():
        np.save(f"{sys.argv[1]}/{name}.npy", numbers)
