#!/usr/bin/env python3
"""Writes the results of compare_forms as Markdown, beside the papers' figures, and draws the curves.

    python3 draw.py RESULTS.csv --out FOLDER [--draw PROGRAM]

PROGRAM is draw_lines; without it only the Markdown is written. Fails if an ordering in CLAIMS does not hold.
"""

import argparse
import csv
import os
import pathlib
import statistics
import sys
from collections import defaultdict

sys.dont_write_bytecode = True  # the next import would leave a folder behind
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from curves import draw as draw_curves  # noqa: E402

# The papers' perplexities: gMLP (arXiv:2105.08050), Table 3, 128 tokens, 125,000 steps.
PAPER = {
    "gates": {"linear": "5.14 (92 M)", "additive": "4.97 (92 M)", "multiplicative": "4.53 (92 M)", "split": "4.35 (102 M)"},
}

# The orderings that README.md claims: a table, the number of steps from which the ordering holds, and the forms, best first.
# Every seed of a form must be better than every seed of the next form.
CLAIMS = [
    ("gates", 600, ["split", "additive", "linear", "no mixing"]),
    ("gates", 600, ["split", "multiplicative", "no mixing"]),
    ("weights", 250, ["toeplitz", "dense"]),
    ("attention", 600, ["FLASH", "GAU relu²", "GAU softmax", "Transformer rotary"]),
]


def read(path):
    """tables[table][form][quantity][seed][x] = value."""
    tables = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(dict))))
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tables[row["table"]][row["form"]][row["quantity"]][int(row["seed"])][int(row["x"])] = float(row["value"])
    return tables


def steps(quantities):
    return max(x for values in quantities["perplexity"].values() for x in values)


def finals(quantities, name):
    """The last value of each seed."""
    return [values[max(values)] for _, values in sorted(quantities[name].items())]


def trainings(name, forms):
    lines = ["| form | parameters | perplexity, mean | least … largest | seeds | s | the paper |", "|---|---:|---:|---|---:|---:|---:|"]
    for form, quantities in forms.items():
        found = finals(quantities, "perplexity")
        lines.append(f"| {form} | {finals(quantities, 'parameters')[0]:,.0f} | {statistics.mean(found):.2f} "
                     f"| {min(found):.2f} … {max(found):.2f} | {len(found)} | {statistics.mean(finals(quantities, 'seconds')):.0f} "
                     f"| {PAPER.get(name, {}).get(form, '–')} |")
    return "\n".join(lines) + "\n"


def times(forms):
    lengths = sorted({x for q in forms.values() for values in q["ms"].values() for x in values})
    lines = ["| bytes per sequence |" + "".join(f" {form}, ms |" for form in forms), "|---:|" + "---:|" * len(forms)]
    for x in lengths:
        lines.append(f"| {x:,} |" + "".join(f" {q['ms'][1][x]:,.0f} |" for q in forms.values()))
    return "\n".join(lines) + "\n"


TITLES = {"gates": "The forms of the gate", "starts": "The start of W", "weights": "Toeplitz and dense W",
          "attention": "GAU, FLASH and Transformers", "time": "The time of a training step", "amlp": "gMLP and aMLP"}


def plot(program, path, name, forms):
    curves = []
    for form, quantities in forms.items():
        seeds = quantities["ms" if name == "time" else "perplexity on the way"].values()
        columns = {x: [values[x] for values in seeds] for x in next(iter(seeds))}
        curves.append((form, {x: (statistics.mean(c), min(c), max(c)) for x, c in columns.items()}))
    x = ("bytes per sequence", "log") if name == "time" else ("steps", "linear")
    draw_curves(program, path, TITLES[name], x, ("ms per step" if name == "time" else "perplexity of masked bytes", "log"), curves)


def broken_claims(tables):
    for name, enough, order in CLAIMS:
        forms = tables.get(name)
        for better, worse in zip(order, order[1:]):
            if forms and better in forms and worse in forms and steps(forms[better]) >= enough:
                a, b = (finals(forms[form], "perplexity") for form in (better, worse))
                if max(a) >= min(b):
                    yield f"{name}: {better} ({min(a):.2f} … {max(a):.2f}) is not better than {worse} ({min(b):.2f} … {max(b):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results")
    parser.add_argument("--out", required=True)
    parser.add_argument("--draw", metavar="PROGRAM")
    options = parser.parse_args()
    tables = read(options.results)
    os.makedirs(options.out, exist_ok=True)
    for name, forms in tables.items():
        text = times(forms) if name == "time" else trainings(name, forms)
        with open(os.path.join(options.out, name + ".md"), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{name}\n\n{text}")
        plot(options.draw, os.path.join(options.out, name + ".svg"), name, forms)
    broken = list(broken_claims(tables))
    for line in broken:
        print("claim does not hold: " + line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
