#!/usr/bin/env python3
"""Puts measured tables where they belong, each between its two marks: into the README beside this script, and, without what
stands below the table, into the project's, where that has a place for it.

    python3 fill_readme.py FILE.md ...      FILE names the table: build/peers/peers.md, build/tables/lengths.md, ...

What lies in a folder called `partial` is of a quick run or of part of one, and is refused.
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
        sys.exit(f"{readme} has no place called {name}")
    with open(readme, "w", encoding="utf-8") as file:
        file.write(text)


for path in sys.argv[1:] or sys.exit(__doc__):
    if os.path.basename(os.path.dirname(os.path.abspath(path))) == "partial":
        sys.exit(f"{path} is of a quick run, or of part of one. Nothing has been filled in.")

for path in sys.argv[1:]:
    name = os.path.splitext(os.path.basename(path))[0]
    with open(path, encoding="utf-8") as file:
        table = file.read().strip()
    fill(os.path.join(HERE, "README.md"), name, table, needed=True)
    rows = "\n".join(line for line in table.split("\n") if line.startswith("|"))
    fill(os.path.join(HERE, "..", "README.md"), name, rows, needed=False)
