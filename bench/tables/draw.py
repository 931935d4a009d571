#!/usr/bin/env python3
"""Writes the tables of measure_tables as Markdown and draws the plots.

    python3 draw.py TABLES.csv --markdown FOLDER [--plots FOLDER --draw PROGRAM]

PROGRAM is draw_lines; without it only the Markdown is written.
"""

import argparse
import csv
import os
import pathlib
import sys
from collections import defaultdict

sys.dont_write_bytecode = True  # no __pycache__ from the next import
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from curves import draw as draw_curves  # noqa: E402


def read(path):
    """Returns the values as tables[table][series][quantity][x]."""
    tables = defaultdict(lambda: defaultdict(lambda: defaultdict(dict)))
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tables[row["table"]][row["series"]][row["quantity"]][int(row["x"])] = float(row["value"])
    return tables


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def markdown(x_title, columns):
    """A Markdown table with a column for x and one for each pair (title, {x: value})."""
    lines = [f"| {x_title} |" + "".join(f" {title} |" for title, _ in columns), "|---:|" + "---:|" * len(columns)]
    for x in sorted({x for _, values in columns for x in values}):
        lines.append(f"| {x:,} |" + "".join(f" {figure(values[x]) if x in values else '–'} |" for _, values in columns))
    return "\n".join(lines) + "\n"


def crossing(a, b):
    """The x from which b stays below a, by log-linear interpolation; None if there is none."""
    xs = sorted(set(a) & set(b))
    behind = [x for x in xs if b[x] >= a[x]]
    if not behind:
        return xs[0]
    last = xs.index(behind[-1])
    if last + 1 == len(xs):
        return None
    x0, x1 = xs[last], xs[last + 1]
    r0, r1 = b[x0] / a[x0], b[x1] / a[x1]
    return x0 * (x1 / x0)**((r0 - 1) / (r0 - r1)) if r0 > r1 else x1


def lengths(table, plot):
    q = table["gMLP-base"]
    shares = [q["spatial share of time"], q["spatial share of flops"]]
    half = crossing(shares[0], {n: 0.5 for n in shares[0]})
    measured = half is not None and half > min(shares[0])
    plot("lengths.svg", "The spatial part of gMLP-base", ("tokens", "log"), ("share of the whole", "linear"),
         [("of the time", shares[0]), ("of the flops, n\N{NO-BREAK SPACE}/\N{NO-BREAK SPACE}(n\N{NO-BREAK SPACE}+\N{NO-BREAK SPACE}3d)", shares[1])],
         [(1536, "n = 3d")] + ([(half, "half of the time")] if measured else []))
    where = f"from about {round(half, -1):,.0f} tokens" if measured else "at no measured length"
    return markdown("tokens", [("ms", q["ms"]), ("by FFT, ms", q["transformed ms"]), ("of peak", q["of peak"]),
                               ("spatial share of time", shares[0]), ("spatial share of flops", shares[1]), ("the rest, of peak", q["rest of peak"]),
                               ("weights, MB", q["weights MB"]), ("scratch, MB", q["scratch MB"])]
                    ) + f"\nThe spatial part takes more than half the time {where}.\n"


def blocks(table, plot):
    names = ["Transformer block", "two GAU", "two FLASH"]
    ms = {name: table[name]["ms"] for name in names}
    pairs = [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    found = {(a, b): crossing(ms[a], ms[b]) for a, b in pairs}
    plot("blocks.svg", "The time per token, by length", ("tokens", "log"), ("µs per token", "log"),
         [(name, {n: 1e3 * t / n for n, t in ms[name].items()}) for name in names],
         [(x, f"{b} ahead of {a}") for (a, b), x in found.items() if x and x > min(ms[a])])
    columns = [(f"{name}, ms", ms[name]) for name in names] + [(f"{name}, scratch MB", table[name]["scratch MB"])
                                                               for name in names]
    weights = ", ".join(f"{name} {min(table[name]['weights MB'].values()):.1f} MB" for name in names)
    text = markdown("tokens", columns) + f"\nWeights: {weights}. "
    for (a, b), x in found.items():
        where = ("at any measured length" if x is None else "at every measured length" if x <= min(ms[a]) else
                 f"from about {round(x, -1):,.0f} tokens")
        text += f"{b.replace('two', 'Two')} {'are not' if x is None else 'are'} faster than "
        text += f"{a.replace('Transformer', 'a Transformer')} {where}. "
    return text.rstrip() + "\n"


def streaming(table, plot):
    rates = [(name, q["tokens/s"]) for name, q in table.items()]
    plot("streaming.svg", "Streaming: speed by position", ("position", "log"), ("tokens per second", "log"), rates)
    columns = [(f"{name}, tokens/s", values) for name, values in rates]
    columns += [(f"{name}, slowest step, ms", q["slowest ms"]) for name, q in table.items()]
    columns += [(f"{name}, state MB", q["state MB"]) for name, q in table.items()]
    flash = table["FLASH 12 layers"]["tokens/s"]
    text = markdown("position", columns)
    text += "\nLargest ratio of slowest step to median step: " + ", ".join(
        f"{name} {max(q['slowest of median'].values()):.1f}" for name, q in table.items()) + "."
    if 1000 in flash and 65536 in flash:
        text += (f" A step of FLASH with 12 layers takes {flash[1000] / flash[65536]:.2f} times as long at position 65,536 as at "
                 "1,000.")
    return text + "\n"


def threads(table, plot):
    plot("threads.svg", "Speed-up by threads", ("threads", "linear"), ("times as fast as one thread", "linear"),
         [(name, q["speed-up"]) for name, q in table.items()])
    counts = sorted({x for q in table.values() for x in q["ms"]})
    lines = ["| model |" + "".join(f" {n} thread{'s' * (n > 1)}, ms | of peak | × | scratch, MB |" for n in counts),
             "|---|" + "---:|---:|---:|---:|" * len(counts)]
    for name, q in table.items():
        lines.append(f"| {name} |" + "".join(
            f" {figure(q['ms'][n])} | {q['of peak'][n]:.2f} | {q['speed-up'][n]:.2f} | {figure(q['scratch MB'][n])} |"
            for n in counts))
    return "\n".join(lines) + "\n"


def busy(table, _):
    lines = ["| gMLP-S/16 batch 1 | idle machine: median, ms | worst | one busy processor: median, ms | worst |",
             "|---|---:|---:|---:|---:|"]
    for name, q in table.items():
        lines.append(f"| {name} |" + "".join(f" {figure(q['median ms'][n])} | {figure(q['worst ms'][n])} |" for n in (0, 1)))
    return "\n".join(lines) + "\n"


def callbacks(table, _):
    columns = ("median µs", "99.9 % µs", "slowest µs", "slowest / median")
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    for name, q in table.items():
        lines.append(f"| {name} |" + "".join(f" {figure(q[c][0])} |" for c in columns))
    return "\n".join(lines) + "\n"


def spatial(table, plot):
    plot("spatial.svg", "A spatial projection of 1,536 channels", ("tokens", "log"), ("ms", "log"),
         [(name, q["ms"]) for name, q in table.items()])
    columns = [(f"{name}, ms", q["ms"]) for name, q in table.items()]
    columns += [(f"{name}, weights MB", q["weights MB"]) for name, q in table.items() if "causal" not in name]
    columns += [(f"{name}, scratch MB", q["scratch MB"]) for name, q in table.items()]
    return markdown("tokens", columns)


def crossover(table, _):
    lengths = sorted({n for q in table.values() for n in q["ms"]})
    lines = ["| tokens |" + "".join(f" {n:,} |" for n in lengths), "|---|" + "---:|" * len(lengths)]
    lines += [f"| {name}, ms |" + "".join(f" {figure(q['ms'][n])} |" for n in lengths) for name, q in table.items()]
    found = []
    for plain, other, words in (("plain", "by FFT", "The FFT is"), ("causal plain", "causal tiles", "Causal tiles are")):
        where = crossing(table[plain]["ms"], table[other]["ms"])
        found.append(f"{words} faster than a plain matmul "
                     f"{'at no measured length' if where is None else f'from about {where:,.0f} tokens'}.")
    return "\n".join([*lines, "", " ".join(found)]) + "\n"


def weights(table, _):
    threads = sorted({n for q in table.values() for values in q.values() for n in values})
    lines = ["| model | weights | MB |" +
             "".join(f" {n} thread{'s' * (n > 1)}: tokens/s | × float32 | of a plain read |" for n in threads),
             "|---|---|---:|" + "---:|---:|---:|" * len(threads)]
    for name, q in table.items():
        for quantity in q:
            what, _, form = quantity.partition(" ")
            if what == "tokens/s":
                speeds = "".join(f" {figure(q[quantity][n])} | {q['x ' + form][n]:.2f} | {q['of-a-read ' + form][n]:.2f} |"
                                 for n in threads)
                lines.append(f"| {name} | {form} | {figure(q['MB ' + form][threads[0]])} |{speeds}")
    return "\n".join(lines) + "\n"


def products(table, _):
    threads = sorted({n for q in table.values() for n in q["float32 ms"]})
    lines = ["| model |" +
             "".join(f" {n} thread{'s' * (n > 1)}: float32, ms | of peak | bf16, ms | × |" for n in threads) + " error |",
             "|---|" + "---:|---:|---:|---:|" * len(threads) + "---:|"]
    for name, q in table.items():
        speeds = "".join(f" {figure(q['float32 ms'][n])} | {q['of peak'][n]:.2f} | {figure(q['bf16 ms'][n])} |"
                         f" {q['speed-up'][n]:.2f} |" for n in threads)
        lines.append(f"| {name} |{speeds} {q['error'][threads[0]]:.4f} |")
    return "\n".join(lines) + "\n"


def arithmetic(table, _):
    forms = list(next(iter(table.values())))
    lines = ["| model |" + "".join(f" {form} |" for form in forms), "|---|" + "---:|" * len(forms)]
    for name, q in table.items():
        lines.append(f"| {name} |" + "".join(f" {q[form][1]:.2f} |" for form in forms))
    return "\n".join(lines) + "\n"


def int8_forms(table, plot):
    return arithmetic(table, plot)  # this, too, has one ratio for each model and form


def opening(table, _):
    columns = [("open, ms", "open ms"), ("first result, ms", "first ms"), ("a run, ms", "run ms"), ("peak memory, MB", "most MB"),
               ("private at the end, MB", "own MB"), ("mapped from the file, MB", "file MB")]
    lines = ["| opened by |" + "".join(f" {title} |" for title, _ in columns), "|---|" + "---:|" * len(columns)]
    for name, q in table.items():
        function, _, rest = name.partition(" ")
        lines.append(f"| {f'`{function}` {rest}'.strip()} |" + "".join(f" {figure(q[quantity][1])} |" for _, quantity in columns))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables")
    parser.add_argument("--plots", default=".")
    parser.add_argument("--draw", metavar="PROGRAM")
    parser.add_argument("--markdown", required=True)
    options = parser.parse_args()
    tables = read(options.tables)
    for folder in (options.plots, options.markdown):
        os.makedirs(folder, exist_ok=True)

    def plot(name, *arguments):
        draw_curves(options.draw, os.path.join(options.plots, name), *arguments)

    for draw in (lengths, blocks, streaming, threads, busy, spatial, crossover, weights, products, int8_forms, callbacks,
                 arithmetic, opening):
        if draw.__name__ in tables:
            with open(os.path.join(options.markdown, draw.__name__ + ".md"), "w", encoding="utf-8") as file:
                file.write(draw(tables[draw.__name__], plot))


if __name__ == "__main__":
    main()
