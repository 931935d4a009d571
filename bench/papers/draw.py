#!/usr/bin/env python3
"""Writes the tables of compare_forms as Markdown, beside the papers' figures, and draws the curves.

    python3 draw.py TABLE.csv... --out FOLDER [--draw PROGRAM]

PROGRAM is draw_lines; without it only the Markdown is written. Fails if an ordering in CLAIMS does not hold.
"""

import argparse
import csv
import os
import pathlib
import statistics
import sys
from collections import defaultdict

sys.dont_write_bytecode = True  # no __pycache__ from the next import
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from curves import draw as draw_curves  # noqa: E402

# The papers' perplexities: gMLP (arXiv:2105.08050), Table 3, 128 tokens, 125,000 steps.
PAPER = {
    "gates": {"linear": "5.14 (92 M)", "additive": "4.97 (92 M)", "multiplicative": "4.53 (92 M)", "gMLP": "4.35 (102 M)"},
}

# The orderings that README.md claims, best first: every seed of a form is better than every seed of the next form.
CLAIMS = {
    "gates": [["gMLP", "split at their parameters", "additive", "multiplicative", "no mixing"],
              ["split at their parameters", "linear", "multiplicative"]],
    "weights": [["gMLP", "dense W", "dense W at gMLP's parameters"]],
    "starts": [["gMLP", "deviation 0.02"], ["gMLP", "deviation 1/√n and b = 0"],
               ["24 blocks", "24 blocks; deviation 1/√n and b = 0"],
               ["24 blocks; deviation 0.02", "24 blocks; deviation 1/√n and b = 0"]],
    "amlp": [["gMLP", "aMLP"]],
    "scaling": [["gMLP @ 96 channels", "gMLP @ 64 channels", "gMLP @ 40 channels", "gMLP @ 24 channels",
                 "Transformer @ 24 channels"],
                ["gMLP @ 40 channels", "Transformer @ 40 channels", "Transformer @ 24 channels"],
                ["gMLP @ 64 channels", "Transformer @ 64 channels", "Transformer @ 40 channels"],
                ["gMLP @ 96 channels", "Transformer @ 96 channels"]],
    "depth": [["gMLP @ 6 blocks", "gMLP @ 4 blocks", "gMLP @ 2 blocks"], ["gMLP @ 12 blocks", "gMLP @ 4 blocks"]],
    "attention": [["GAU relu²", "FLASH", "Transformer rotary and T5", "Transformer rotary"],
                  ["GAU relu²", "GAU softmax", "Transformer rotary and T5"]],
    "chunks": [["chunks of 64", "chunks of 16", "only global"], ["chunks of 256", "chunks of 16"],
               ["only local", "chunks of 16"], ["quadratic (GAU relu²)", "chunks of 16"]],
    "alignment": [["aMLP @ 16 tokens", "gMLP @ 16 tokens"], ["Transformer @ 16 tokens", "gMLP @ 16 tokens"],
                  ["aMLP @ 32 tokens", "gMLP @ 32 tokens"], ["aMLP @ 32 tokens", "Transformer @ 32 tokens"],
                  ["aMLP @ 32 tokens", "GAU @ 32 tokens"]],
}

TITLES = {"gates": "The forms of the gate", "starts": "The start of W", "weights": "Toeplitz and dense W",
          "attention": "GAU, FLASH and Transformers", "time": "The time of a training step", "amlp": "gMLP and aMLP",
          "scaling": "gMLP and Transformers by size", "depth": "Depth at equal parameters",
          "chunks": "FLASH's chunks and its parts", "alignment": "Pairs repeated across two segments"}

# The title and scale of the x-axis, for tables whose forms are named `family @ x`. Other tables are drawn as curves by step.
ABSCISSAE = {"scaling": ("parameters", "log"), "depth": ("blocks", "log"), "alignment": ("tokens", "log")}

RESULTS = {"alignment": "wrong answers"}  # what a table shows instead of perplexity


class Form:
    """The runs of a form: those that select its recipe, and one per seed with that recipe."""

    def __init__(self):
        self.chosen_from = {}  # recipe: result on the validation part
        self.recipe = None
        self.steps = 0
        self.by_step = defaultdict(lambda: defaultdict(dict))  # quantity: seed: x: value

    def add(self, row):
        seed, recipe, value = int(row["seed"]), (float(row["rate"]), float(row["warmup"])), float(row["value"])
        if seed == 0:
            if row["quantity"] == "result":
                self.chosen_from[recipe] = value
        else:
            self.recipe = recipe
            self.by_step[row["quantity"]][seed][int(row["x"])] = value
            if row["quantity"] == "result":
                self.steps = int(row["steps"])

    def last(self, quantity):
        return [values[max(values)] for _, values in sorted(self.by_step[quantity].items())]

    def results(self, table):
        """The results of all seeds on the test part."""
        return self.last(RESULTS.get(table, "result"))

    def curve(self, quantity):
        seeds = self.by_step[quantity].values()
        columns = {x: [values[x] for values in seeds] for x in set.intersection(*map(set, seeds))} if seeds else {}
        return {x: (statistics.mean(c), min(c), max(c)) for x, c in columns.items()}


def read(path):
    forms = defaultdict(Form)
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            forms[row["form"]].add(row)
    return {name: form for name, form in forms.items() if form.by_step}


def markdown(table, forms):
    result = RESULTS.get(table, "perplexity")
    lines = [f"| form | parameters | learning rate, warm-up (recipes tried) | steps | {result}, mean | least … largest "
             "| processor seconds per run | the paper |",
             "|---|---:|---|---:|---:|---:|---:|---:|"]
    for name, form in forms.items():
        found = form.results(table)
        lines.append(f"| {name.replace(' @ ', ', ')} | {form.last('parameters')[0]:,.0f} "
                     f"| {form.recipe[0]:g}, {form.recipe[1]:.0%} ({len(form.chosen_from)}) | {form.steps:,} "
                     f"| {statistics.mean(found):.3f} | {min(found):.3f} … {max(found):.3f} "
                     f"| {statistics.mean(form.last('seconds')):.0f} | {PAPER.get(table, {}).get(name, '–')} |")
    return "\n".join(lines) + "\n"


def times(forms):
    lengths = sorted(next(iter(forms.values())).by_step["ms"][1])
    lines = ["| bytes per sequence |" + "".join(f" {form}, ms |" for form in forms), "|---:|" + "---:|" * len(forms)]
    for x in lengths:
        lines.append(f"| {x:,} |" + "".join(f" {form.by_step['ms'][1][x]:,.0f} |" for form in forms.values()))
    return "\n".join(lines) + "\n"


def plot(program, folder, table, forms):
    path, title = os.path.join(folder, table + ".svg"), TITLES[table]
    if table == "time":
        curves = [(name, form.by_step["ms"][1]) for name, form in forms.items()]
        draw_curves(program, path, title, ("bytes per sequence", "log"), ("ms per step", "log"), curves)
    elif table in ABSCISSAE:
        families = defaultdict(dict)
        for name, form in forms.items():
            family, at = name.split(" @ ")
            x = form.last("parameters")[0] if table == "scaling" else float(at.split()[0])
            found = form.results(table)
            families[family][x] = (statistics.mean(found), min(found), max(found))
        y = ("linear" if table == "alignment" else "log")
        draw_curves(program, path, title, ABSCISSAE[table], (RESULTS.get(table, "perplexity of masked bytes"), y),
                    list(families.items()))
    else:
        curves = [(name, form.curve("perplexity")) for name, form in forms.items()]
        draw_curves(program, path, title, ("steps", "linear"), ("perplexity of masked bytes", "log"), curves)
    shares = [(name, form.curve("Toeplitz share")) for name, form in forms.items() if "Toeplitz share" in form.by_step]
    if shares:
        draw_curves(program, os.path.join(folder, "diagonals.svg"), "The share of ‖W‖² in the means of W's diagonals",
                    ("steps", "linear"), ("share", "linear"), shares)


def broken_claims(table, forms):
    for order in CLAIMS.get(table, []):
        for better, worse in zip(order, order[1:]):
            if better not in forms or worse not in forms:
                yield f"{table}: {better} or {worse} is missing"
            else:
                a, b = forms[better].results(table), forms[worse].results(table)
                if max(a) >= min(b):
                    yield f"{table}: {better} ({min(a):.3f} … {max(a):.3f}) is not better than {worse} ({min(b):.3f} … {max(b):.3f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--draw", metavar="PROGRAM")
    parser.add_argument("--partial", action="store_true", help="check no claims")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    broken = []
    for path in options.tables:
        table, forms = pathlib.Path(path).stem, read(path)
        text = times(forms) if table == "time" else markdown(table, forms)
        with open(os.path.join(options.out, table + ".md"), "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{table}\n\n{text}")
        plot(options.draw, options.out, table, forms)
        broken += [] if options.partial else broken_claims(table, forms)
    for line in broken:
        print("claim does not hold: " + line, file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
