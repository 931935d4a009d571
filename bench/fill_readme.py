#!/usr/bin/env python3
"""Puts measured tables into the README beside this script, each between its two marks.

    python3 fill_readme.py FILE.md ...      FILE names the table: build/peers/peers.md, build/tables/lengths.md, ...
"""

import os
import re
import sys

readme = os.path.join(os.path.dirname(os.path.abspath(__file__)), "README.md")
with open(readme, encoding="utf-8") as file:
    text = file.read()
for path in sys.argv[1:] or sys.exit(__doc__):
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path, encoding="utf-8") as file:
        table = file.read().strip()
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    text, count = marks.subn(lambda found: f"{found[1]}{table}\n{found[2]}", text)
    if count != 1:
        sys.exit(f"{readme} has no place called {name}")
with open(readme, "w", encoding="utf-8") as file:
    file.write(text)
