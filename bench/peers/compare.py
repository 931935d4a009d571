#!/usr/bin/env python3
"""Runs the workloads in gated, ONNX Runtime, oneDNN and PyTorch in turns, and writes one table. bench/run.sh calls it.

    python3 compare.py --ours PROGRAM --work FOLDER [--default PROGRAM] [--onnx PACKAGE] [--onednn PROGRAM] [--torch PYTHON]
                       [--out PEERS.md] [--threads N] [--quick] [--int8] [NAME ...]

Every runtime loads a workload once, proves that its result is the expected one, and waits. In each of seven rounds, every runtime
gets a turn of a few runs, so a disturbance of the machine hits them all; the table has the medians over all runs. Peers run at
the best of several settings, which are compared in turns before the rounds. --default names gated's program compiled without a
flag for this processor, which is treated as another peer. --int8 compares only gated and ONNX Runtime, in float and in int8.

A setting, a peer or a workload that fails is left out, with a message. The table is rewritten after each workload. The exit
status is 1 if a peer or a workload is missing.
"""

import argparse
import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS, TURN_SECONDS, MOST_RUNS = 7, 0.4, 500
PROBES, TOO_SLOW = 7, 1.5  # turns per setting; a setting is dropped if it takes over TOO_SLOW times as long as the fastest
PROBE_SECONDS = 60  # time limit for comparing settings
TOLERANCE = 1e-4  # largest error allowed in float32; the largest measured is 4e-5
INT8_TOLERANCE = 0.5  # large: it only rejects wrong models; the table shows the actual errors
DEFAULT, INT8, GROUPS, SMALL = "gated, -O2 alone", ", int8", ", int8 in groups", ", int8 weights"
FAULTS = (RuntimeError, OSError, ValueError)  # faults of one runtime; they do not stop the others


def say(text):
    print(text, file=sys.stderr, flush=True)


class Setting(NamedTuple):
    """How a peer is started: extra arguments, environment variables and the number of threads (0: not set)."""

    label: str
    arguments: tuple = ()
    environment: dict = {}
    threads: int = 0

    def plus(self, other):
        return Setting(f"{self.label}, {other.label}", self.arguments + other.arguments,
                       {**self.environment, **other.environment}, self.threads or other.threads)


class Runner:
    """A runtime that has loaded a workload and waits for its turn."""

    def __init__(self, command, setting=Setting(""), name=None, tolerance=TOLERANCE):
        self.setting, self.runs = setting, 1
        self.process = subprocess.Popen([*command, *setting.arguments], env={**os.environ, **setting.environment},
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.times, self.peaks = [], []
        try:
            ready = self.answer()
            self.name, self.build, self.flops = name or ready["runtime"], ready.get("build"), ready.get("flops")
            self.error = float("nan" if ready["error"] is None else ready["error"])  # JSON has no NaN
            self.same_alone = ready.get("same_alone")
            if not self.error <= tolerance:
                raise ValueError(f"the result of {self.name} is off by {self.error:.1e}, expected at most {tolerance:.0e}. "
                                 "Delete the workloads and run again.")
        except BaseException:
            self.stop()
            raise

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[0]} exited with code {self.process.wait()}. See its message above.")
        return json.loads(line)

    def turn(self, runs):
        print(runs, file=self.process.stdin, flush=True)
        answer = self.answer()
        time.sleep(0.5)  # lets this runtime's threads fall asleep: some spin for more than 50 ms
        return answer

    def probe(self):
        """Runs a short turn, returns the milliseconds of each run, and sets the number of runs in later turns."""
        times = self.turn(min(self.runs, 20))["ms"]
        self.runs = max(1, min(MOST_RUNS, round(1e3 * TURN_SECONDS / max(statistics.median(times), 1e-3))))
        return times

    def measure(self):
        answer = self.turn(self.runs)
        self.times += answer["ms"]
        if "peak" in answer:
            self.peaks.append(answer["peak"])

    def stop(self):
        """Ends the process. May be called repeatedly, even after the process has ended."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=60)  # a turn may be running
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def ms(self):
        return statistics.median(self.times)


def fastest(runners):
    """Measures the runners in turns, stops all except the fastest, and returns the fastest, or None if all fail."""
    times = {runner: [] for runner in runners}
    start = time.monotonic()
    for _ in range(PROBES):
        if time.monotonic() - start > PROBE_SECONDS:
            break
        for runner in list(times):
            try:
                times[runner] += runner.probe()
            except FAULTS as problem:
                say(f"  {runner.name}, {runner.setting.label}: {problem}")
                del times[runner]
        middle = {runner: statistics.median(of_runner) for runner, of_runner in times.items()}
        least = min(middle.values(), default=0)
        times = {runner: times[runner] for runner in times if middle[runner] <= TOO_SLOW * least}
    best = min(times, key=middle.get, default=None)
    for runner in runners:
        if runner is not best:
            runner.stop()
    return best


class Peer(NamedTuple):
    """A program to compare gated with. It runs with its fastest setting, plus each addition that makes it faster."""

    name: str
    command: list
    settings: list
    additions: list
    label: str = None  # shown in the table instead of the program's own name
    tolerance: float = TOLERANCE

    def start(self, settings, stack):
        """Starts a Runner for each setting and returns those that work. `stack` stops them when it closes."""
        runners = []
        for setting in settings:
            try:
                runners.append(Runner(self.command, setting, self.label, self.tolerance))
                stack.callback(runners[-1].stop)
            except FAULTS as problem:
                say(f"  {self.name}, {setting.label} is left out: {problem}")
        return runners

    def at_its_best(self, stack, quick):
        best = fastest(self.start(self.settings[:1] if quick else self.settings, stack))
        for addition in [] if quick or best is None else self.additions:
            best = fastest([best, *self.start([best.setting.plus(addition)], stack)]) or best
        if best is None:
            raise RuntimeError("no setting works. See the messages above.")
        return best


def has_avx512():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return "avx512f" in file.read()
    except OSError:
        return False


def torch_settings(threads):
    """The settings to compare. All but the first force AVX-512 where available: OpenBLAS and PyTorch may fail to detect it."""
    settings = [Setting("as installed", (str(threads),))]
    wide = {"OPENBLAS_CORETYPE": "SKYLAKEX", "ATEN_CPU_CAPABILITY": "avx512"} if has_avx512() else {}
    for blas, own in dict.fromkeys([(1, threads), (threads, 1), (threads, threads)]):
        label = f"OPENBLAS_NUM_THREADS={blas}, {own} of PyTorch" + "".join(f", {key}={value}" for key, value in wide.items())
        settings.append(Setting(label, (str(own),), {"OPENBLAS_NUM_THREADS": str(blas), **wide}, max(blas, own)))
    return settings


def large_pages():
    """Large pages for a peer, through glibc 2.35 or later; gated requests them itself."""
    library, version = platform.libc_ver()
    if library != "glibc" or tuple(map(int, version.split(".")[:2])) < (2, 35) or "GLIBC_TUNABLES" in os.environ:
        return []
    return [Setting("GLIBC_TUNABLES=glibc.malloc.hugetlb=1", (), {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"})]


def onnx_runtime(options, name, threads, int8=False):
    """Yields ONNX Runtime as a peer if its package and its model exist."""
    label, ending, format, tolerance = "ONNX Runtime", ".onnx", (), TOLERANCE
    if int8:
        label, ending, format, tolerance = label + INT8, ".int8.onnx", ("int8",), INT8_TOLERANCE
    if not options.onnx:
        return
    if not os.path.exists(os.path.join(options.work, name + ending)):
        say(f"{label} is left out of {name}: there is no {name}{ending}")
        return
    path = os.path.join(options.work, name + ".safetensors")
    settings = [Setting(f"{t} thread{'' if t == 1 else 's'}", (str(t), *format), threads=t)
                for t in dict.fromkeys([threads, 1])]
    yield Peer(label, ["node", os.path.join(HERE, "run_onnx.mjs"), options.onnx, path], settings, large_pages(),
               tolerance=tolerance)


def peers(options, name, is_training, threads):
    path = os.path.join(options.work, name + ".safetensors")
    if options.int8:
        for label, format in (("gated" + INT8, "int8-rows-products"), ("gated" + GROUPS, "int8-products"), ("gated" + SMALL, "int8")):
            yield Peer(label, [options.ours, path], [Setting(label, (str(threads), format))], [], label, INT8_TOLERANCE)
        yield from onnx_runtime(options, name, threads)
        yield from onnx_runtime(options, name, threads, int8=True)
        return
    if options.default:
        yield Peer(DEFAULT, [options.default, path], [Setting(DEFAULT, (str(threads),))], [], DEFAULT)
    if not is_training:
        yield from onnx_runtime(options, name, threads)
    if options.onednn and name.startswith("gmlp_"):  # run_onednn only runs gMLP trunks
        settings = [Setting(f"OMP_NUM_THREADS={t}", (str(t),), {"OMP_NUM_THREADS": str(t)}, t)
                    for t in dict.fromkeys([threads, 1])]
        yield Peer("oneDNN", [options.onednn, path], settings, large_pages())
    if options.torch:
        optimized = [] if is_training else [Setting("optimize_for_inference", ("--optimize",))]
        yield Peer("PyTorch", [options.torch, "-W", "ignore", os.path.join(HERE, "run_torch.py"), path],
                   torch_settings(threads), [*optimized, *large_pages()])


def compare(options, name, is_training, threads, failures):
    """Measures the runtimes in turn, round by round, and returns their Runners, ours first. Peers that fail are left out."""
    def leave_out(peer, problem):
        failures.append(f"{peer} is left out of {name}: {problem}")
        say(failures[-1])

    with contextlib.ExitStack() as stack:
        ours = Runner([options.ours, os.path.join(options.work, name + ".safetensors"), str(threads)],
                      Setting("", threads=threads))
        stack.callback(ours.stop)
        for _ in range(2):  # the first is a warm-up
            ours.probe()
        runners = [ours]
        for peer in peers(options, name, is_training, threads):
            try:
                runners.append(peer.at_its_best(stack, options.quick))
            except FAULTS as problem:
                leave_out(peer.name, problem)
        for round_number in range(1 if options.quick else ROUNDS):
            if sys.stderr.isatty():
                print(f"\r{name}: round {round_number + 1} ", end="", file=sys.stderr, flush=True)
            for runner in list(runners):
                try:
                    runner.measure()
                except FAULTS as problem:
                    if runner is ours:
                        raise
                    leave_out(runner.name, problem)
                    runners.remove(runner)
        if sys.stderr.isatty():
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return runners


def figure(ms):
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.3f}"


def contradictions(results):
    """A line for each peer that chose fewer threads for a workload than for a smaller one: a sign of a busy machine."""
    lines = []
    for name, (ours, *others) in results.items():
        for runner in (r for r in others if r.setting.threads):
            smaller = [other for other, (theirs, *rest) in results.items()
                       if 0 < theirs.flops < ours.flops and theirs.setting.threads == ours.setting.threads
                       and any(r.name == runner.name and r.setting.threads > runner.setting.threads for r in rest)]
            if smaller:
                lines.append(f"* {runner.name} was fastest with {runner.setting.label} for {name}, but used more threads for "
                             f"the smaller {', '.join(smaller)}: the machine was busy. Measure this row again.")
    return lines


def conditions(results, threads, numbers):
    samples = min(len(r.times) for runners in results.values() for r in runners)
    return (f"{threads} thread{'' if threads == 1 else 's'} unless a row says otherwise, {numbers}; medians of at least {samples} "
            "interleaved runs")


def table(title_of, results, threads):
    """Formats the table as Markdown, with notes on the settings below it."""
    kinds = [kind for kind in (DEFAULT, "ONNX Runtime", "oneDNN", "PyTorch")
             if any(r.name.startswith(kind) for runners in results.values() for r in runners)]
    versions = {kind: next(r.name for runners in results.values() for r in runners if r.name.startswith(kind))
                for kind in kinds}
    lines = ["| workload | gated, ms | of peak |" + "".join(f" {versions[kind]}, ms | × |" for kind in kinds)
             + " largest difference |", "|---|---:|---:|" + "---:|---:|" * len(kinds) + "---:|"]
    for name, (ours, *others) in results.items():
        share = f"{ours.flops / ours.ms * 1e3 / max(ours.peaks):.2f}" if ours.flops else "–"
        row = f"| {title_of[name]} | {figure(ours.ms)} | {share} |"
        for kind in kinds:
            peer = next((r for r in others if r.name.startswith(kind)), None)
            row += f" {figure(peer.ms)} | {peer.ms / ours.ms:.2f} |" if peer else " – | – |"
        lines.append(row + f" {max(r.error for r in [ours, *others]):.0e} |")
    peaks = sorted({round(max(ours.peaks) * 1e-9) for ours, *_ in results.values()})
    peak = f"{peaks[0]} GFLOP/s" if len(peaks) == 1 else f"{peaks[0]} to {peaks[-1]} GFLOP/s"
    lines += ["", f"{conditions(results, threads, 'float')}; largest measured peak: {peak}. × is the peer's "
              "time divided by gated's. The largest difference is that of the least accurate runtime from float64, relative to "
              "the largest value. gated runs with weights packed by `prepare()`, except in training."
              + (f" *{DEFAULT}* is compiled without a flag for this processor." if DEFAULT in kinds else "")]
    return "\n".join([*lines, *notes(results)]) + "\n"


def instructions():
    """The instructions that ONNX Runtime's MLAS chooses for integer products on this processor, and how many int8
    multiply-adds they do in the time of a float one (None: not known)."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = set(file.read().split())
    except OSError:
        return "unknown instructions", None
    for flag, name, rate in (("amx_int8", "AMX", 32), ("avx512_vnni", "AVX512-VNNI", 4), ("avx_vnni", "AVX-VNNI", 4),
                             ("avx512bw", "AVX-512 without VNNI", None), ("avx2", "AVX2 without VNNI", None)):
        if flag in flags:
            return name, rate
    return "instructions older than AVX2", None


def choice_of(named):
    """What selects the instructions of ONNX Runtime's integer products, for the text below the table."""
    option = (", which avoids the saturation of u8·s8 products, is off, as by default." if named.endswith("without VNNI") else
              " matters only without VNNI: a row without VNNI cannot be measured on this processor.")
    return (f"ONNX Runtime multiplies in int8 by {named}, which its library MLAS selects by CPUID; no session option and no "
            f"environment variable selects other instructions. The session option `session.x64quantprecision`{option}")


def int8_table(title_of, results, threads):
    """Formats the comparison of float with int8 as a Markdown table, with notes on the settings below it."""
    version = next((r.name.removesuffix(INT8) for _, *others in results.values() for r in others if r.name.startswith("ONNX")),
                   "ONNX Runtime")
    named, rate = instructions()
    ours = ["gated" + kind for kind in ("", INT8, GROUPS, SMALL)]
    lines = ["| workload | " + " | ".join(f"{name}, ms" for name in (*ours, version, f"{version}{INT8} by {named}")) +
             " | ONNX int8 / gated int8 | gated int8, of peak | error, int8 | error, in groups | error, int8 weights | error, ONNX int8 |", "|---|" + "---:|" * 12]
    for name, runners in results.items():
        of = {runner.name: runner for runner in runners}
        shown = [of.get(name) for name in (*ours, version, version + INT8)]
        int8, theirs = shown[1], shown[-1]
        columns = [figure(r.ms) if r else "–" for r in shown]
        columns += [f"{theirs.ms / int8.ms:.2f}" if theirs and int8 else "–"]
        share = shown[0].flops / int8.ms * 1e3 / (max(shown[0].peaks) * rate) if rate and int8 and shown[0].flops else None
        columns += [f"{share:.2f}" if share else "–"]
        columns += [f"{r.error:.1e}" if r else "–" for r in (*shown[1:4], theirs)]
        lines.append(" | ".join([f"| {title_of[name]}", *columns]) + " |")
    lines += ["", f"{conditions(results, threads, 'float and int8')}. The ratio is ONNX Runtime's int8 time divided by "
              "that of *gated, int8*. An error is the largest difference from the float64 result, divided by the largest value "
              f"of that result. The errors of the float runs, not shown, are below {TOLERANCE:.0e}. {choice_of(named)}"]
    if rate:
        lines[-1] += f" The peak of these instructions is taken as {rate} times the measured peak of float multiply-adds."
    batches = {name: checked for name, runners in results.items()
               if (checked := [r for r in runners if r.same_alone is not None])}
    if batches:
        wrong = [f"{name} of {r.name}" for name, runners in batches.items() for r in runners if r.same_alone is False]
        lines[-1] += (" gated's results for a sequence alone and in a batch " +
                      (f"DIFFER: {', '.join(wrong)}" if wrong else "have the same bits, in float and in int8") +
                      f" ({', '.join(batches)}).")
    return "\n".join([*lines, *notes(results)]) + "\n"


def notes(results):
    """The lines below a table: the settings and builds of the peers, and contradictory settings."""
    lines, settings, builds = [], {}, {}
    for name, (_, *others) in results.items():
        for runner in (r for r in others if not r.name.startswith("gated")):
            settings.setdefault(f"{runner.name}, {runner.setting.label}", []).append(name)
            if runner.build:
                builds[runner.name] = runner.build
    if settings:
        chosen = "; ".join(f"{setting}: {', '.join(names)}" for setting, names in settings.items())
        lines += ["", " ".join([f"Settings of the peers: {chosen}.",
                                *(f"{runtime} multiplies with {build}." for runtime, build in builds.items())])]
    if doubts := contradictions(results):
        lines += ["", "Settings that contradict each other:", "", *doubts]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--default")
    parser.add_argument("--onnx")
    parser.add_argument("--onednn")
    parser.add_argument("--torch")
    parser.add_argument("--out")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()

    with open(os.path.join(options.work, "works.json"), encoding="utf-8") as file:
        works = json.load(file)
    title_of = {name: work["title"] for name, work in works.items()}
    if options.out:
        with contextlib.suppress(FileNotFoundError):
            os.remove(options.out)  # left by an earlier run
    results, failures, text = {}, [], ""
    for name in options.names or works:
        try:
            runners = compare(options, name, works[name]["training"], works[name]["threads"] or options.threads, failures)
        except FAULTS as problem:
            failures.append(f"{name} is left out: {problem}")
            say(failures[-1])
            continue
        results[name] = runners
        print(f"{name}: " + ", ".join(f"{r.name} {figure(r.ms)} ms" for r in runners), flush=True)
        text = (int8_table if options.int8 else table)(title_of, results, options.threads)
        if options.out:
            with open(options.out + ".tmp", "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(options.out + ".tmp", options.out)
    print("\n" + text)
    if failures:
        sys.exit("\n".join(["The table is incomplete:", *failures]))


if __name__ == "__main__":
    main()
