"""Draws curves as SVG, with the program draw_lines."""

import subprocess


def draw(program, path, title, x, y, curves, marks=()):
    """`x` and `y` are (title, "log" or "linear"), `curves` (name, {x: value or (value, low, high)}), `marks` (x, text).

    Draws nothing without a program or for fewer than three points.
    """
    if program is None or len({at for _, points in curves for at in points}) < 3:
        return
    lines = [("title", title), ("x", *x), ("y", *y), *(("mark", *mark) for mark in sorted(marks, reverse=True))]
    for name, points in curves:
        lines.append(("curve", name.replace("d 128", "d\N{NO-BREAK SPACE}128")))
        lines += [("point", at, *(value if isinstance(value, tuple) else (value,))) for at, value in sorted(points.items())]
    text = "".join("\t".join(map(str, line)) + "\n" for line in lines)
    subprocess.run([program, path], input=text, text=True, encoding="utf-8", check=True)
