"""Writes expected.json, the results that test.mjs expects: those of demo.py with the native library in portable arithmetic.
With --check, compares the file with these results instead:

    GATED_LIBRARY=build/release/libgated.so python3 cmake/packaging/npm/expected.py [--check]
"""

import json
import os
import runpy
import sys

here = os.path.dirname(os.path.abspath(__file__))
from_python = f"{here}/../../../examples/from_python"
check = sys.argv[1:] == ["--check"]
sys.dont_write_bytecode = True
sys.path.insert(0, from_python)
import gated

gated._call("gated_use", None, b"portable")
sys.argv[1:] = []
demo = runpy.run_path(f"{from_python}/demo.py")
numbers = {
    "right": int((demo["scores"].argmax(1) == demo["digits"][:, 64]).sum()),
    "scores": demo["scores"][0].astype(float).tolist(),
    "forecast": demo["forecast"][0].astype(float).tolist(),
    "text": bytes(demo["text"]).decode(),
    "logits": demo["logits"].astype(float).tolist(),
}
if check:
    sys.exit(json.load(open(f"{here}/expected.json")) != numbers and "expected.json is out of date. Omit --check to update it.")
json.dump(numbers, open(f"{here}/expected.json", "w"))
