#!/usr/bin/env python3
"""Runs the work in gated, ONNX Runtime and PyTorch by turns, and writes one table. bench/run.sh calls it.

    python3 compare.py --ours PROGRAM --work FOLDER [--onnx PACKAGE] [--torch PYTHON] [--out PEERS.md] [--threads N] [--quick]
                       [NAME ...]

Every runtime loads a work once, shows that its result is the expected one, and then waits. In each of seven rounds each gets a
turn of a few runs, one after the other, so that what disturbs the machine disturbs all of them; the table has the medians over
all runs. The peers run at the best of several settings, found before the rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, TURN_SECONDS, MOST_RUNS = 7, 0.4, 500
TOLERANCE = 1e-4  # in float32; what is measured is below 1e-5


class Runner:
    """A runtime that has loaded a work and waits for its turn."""

    def __init__(self, label, command, environment=None):
        self.label = label
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        self.times, self.peaks = [], []
        try:
            ready = self.answer()
        except BaseException:
            self.stop()
            raise
        self.name, self.error, self.flops = ready["runtime"], ready["error"], ready.get("flops")

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.label} stopped with code {self.process.wait()}")
        return json.loads(line)

    def turn(self, runs):
        print(runs, file=self.process.stdin, flush=True)
        answer = self.answer()
        time.sleep(0.05)  # until its threads sleep
        return answer

    def probe(self):
        """The milliseconds of a run, roughly; decides how many runs a turn has."""
        once = statistics.median(self.turn(1)["ms"])
        self.runs = max(1, min(MOST_RUNS, round(1e3 * TURN_SECONDS / max(once, 1e-3))))
        return statistics.median(self.turn(min(self.runs, 20))["ms"])

    def measure(self):
        answer = self.turn(self.runs)
        self.times += answer["ms"]
        if "peak" in answer:
            self.peaks.append(answer["peak"])

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

    @property
    def ms(self):
        return statistics.median(self.times)


def best(makers):
    """The fastest of several settings; each is a function that makes a Runner."""
    fastest, least = None, float("inf")
    for make in makers:
        runner = make()
        ms = runner.probe()
        if ms < least:
            fastest, least, runner = runner, ms, fastest
        if runner is not None:
            runner.stop()
    return fastest


def has_avx512():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return "avx512f" in file.read()
    except OSError:
        return False


def torch_settings(threads):
    """Label, PyTorch's threads, environment. OpenBLAS and PyTorch do not always find out what a new processor can do."""
    settings = [("as installed", threads, {})]
    wide = {"OPENBLAS_CORETYPE": "SKYLAKEX", "ATEN_CPU_CAPABILITY": "avx512"} if has_avx512() else {}
    for blas, own in dict.fromkeys([(1, threads), (threads, 1), (threads, threads)]):
        label = f"OPENBLAS_NUM_THREADS={blas}, {own} of PyTorch" + "".join(f", {key}={value}" for key, value in wide.items())
        settings.append((label, own, {"OPENBLAS_NUM_THREADS": str(blas), **wide}))
    return settings


def peers(options, name):
    """For each peer a list of functions that make its Runners."""
    path = os.path.join(options.work, name + ".safetensors")
    if options.onnx and os.path.exists(os.path.join(options.work, name + ".onnx")):
        script = os.path.join(HERE, "run_onnx.mjs")
        yield [lambda t=t: Runner(f"{t} thread{'' if t == 1 else 's'}", ["node", script, options.onnx, path, str(t)])
               for t in dict.fromkeys([options.threads, 1])]
    if options.torch:
        script = os.path.join(HERE, "run_torch.py")
        yield [lambda s=s: Runner(s[0], [options.torch, "-W", "ignore", script, path, str(s[1])], s[2])
               for s in torch_settings(options.threads)]


def compare(options, name):
    """The Runners of all runtimes after their turns, ours first."""
    path = os.path.join(options.work, name + ".safetensors")
    runners = [Runner("", [options.ours, path, str(options.threads)])]
    try:
        runners[0].probe()
        for makers in peers(options, name):
            try:
                runners.append(best(makers[:1] if options.quick else makers))
            except (RuntimeError, OSError, ValueError) as problem:
                print(f"  a peer is left out: {problem}", file=sys.stderr)
        for runner in runners:
            if not runner.error <= TOLERANCE:
                raise SystemExit(f"{name}: {runner.name} is off by {runner.error:.1e}. This is not the same work.")
        for round_number in range(1 if options.quick else ROUNDS):
            if sys.stderr.isatty():
                print(f"\r{name}: round {round_number + 1} ", end="", file=sys.stderr, flush=True)
            for runner in runners:
                runner.measure()
        if sys.stderr.isatty():
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    finally:
        for runner in runners:
            runner.stop()
    return runners


def figure(ms):
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.3f}"


def table(title_of, results, threads):
    """Markdown, and beneath it the settings."""
    kinds = [kind for kind in ("ONNX Runtime", "PyTorch")
             if any(r.name.startswith(kind) for runners in results.values() for r in runners)]
    versions = {kind: next(r.name for runners in results.values() for r in runners if r.name.startswith(kind))
                for kind in kinds}
    lines = ["| work | gated, ms | of peak |" + "".join(f" {versions[kind]}, ms | × |" for kind in kinds)
             + " largest difference |", "|---|---:|---:|" + "---:|---:|" * len(kinds) + "---:|"]
    for name, (ours, *others) in results.items():
        row = f"| {title_of[name]} | {figure(ours.ms)} | {ours.flops / ours.ms * 1e3 / max(ours.peaks):.2f} |"
        for kind in kinds:
            peer = next((r for r in others if r.name.startswith(kind)), None)
            row += f" {figure(peer.ms)} | {peer.ms / ours.ms:.2f} |" if peer else " – | – |"
        lines.append(row + f" {max(r.error for r in [ours, *others]):.0e} |")
    peaks = sorted({round(max(ours.peaks) * 1e-9) for ours, *_ in results.values()})
    peak = f"{peaks[0]} GFLOP/s" if len(peaks) == 1 else f"{peaks[0]} to {peaks[-1]} GFLOP/s"
    samples = min(len(r.times) for runners in results.values() for r in runners)
    lines += ["", f"{threads} thread{'' if threads == 1 else 's'}, float; medians of at least {samples} runs, by turns; peak, "
              f"the best beside each work: {peak}. A ratio above 1 says how many times as long the peer takes. The difference "
              "is the worst of all runtimes to the result in float64, relative to the largest number. Settings of the peers:", ""]
    settings = {}
    for name, (_, *others) in results.items():
        for runner in others:
            settings.setdefault(f"{runner.name}, {runner.label}", []).append(name)
    lines += [f"* {setting}: {', '.join(names)}" for setting, names in settings.items()]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--onnx")
    parser.add_argument("--torch")
    parser.add_argument("--out")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()

    with open(os.path.join(options.work, "titles.json"), encoding="utf-8") as file:
        title_of = json.load(file)
    results = {}
    for name in options.names or title_of:
        results[name] = runners = compare(options, name)
        print(f"{name}: " + ", ".join(f"{r.name} {figure(r.ms)} ms" for r in runners), flush=True)
    text = table(title_of, results, options.threads)
    print("\n" + text)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
