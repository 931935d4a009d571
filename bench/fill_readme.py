#!/usr/bin/env python3
"""Copies measured tables into the README beside this script, each between its markers. A table that has markers in the
project's README goes there, too, without the notes below it.

    python3 fill_readme.py FILE.md ...      the file's name is the table's: build/peers/peers.md, build/tables/lengths.md, ...

Refuses files in a folder called `partial`, which come from quick or partial runs.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def fill(readme, name, table, needed):
    with open(readme, encoding="utf-8") as file:
        text = file.read()
    marks = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
    text, count = marks.subn(lambda found: f"{found[1]}{table}\n{found[2]}", text)
    if needed and count != 1:
        sys.exit(f"{readme}: {count} pairs of markers for {name}, expected 1: <!-- begin {name} --> and <!-- end {name} -->.")
    with open(readme, "w", encoding="utf-8") as file:
        file.write(text)


for path in sys.argv[1:] or sys.exit(__doc__):
    if os.path.basename(os.path.dirname(os.path.abspath(path))) == "partial":
        sys.exit(f"{path} is from a quick or partial run. Nothing was copied. Do a full run first.")

for path in sys.argv[1:]:
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path, encoding="utf-8") as file:
        table = file.read().strip()
    fill(os.path.join(HERE, "README.md"), name, table, needed=True)
    rows = "\n".join(line for line in table.split("\n") if line.startswith("|"))
    fill(os.path.join(HERE, "..", "README.md"), name, rows, needed=False)
