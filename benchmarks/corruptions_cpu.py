"""Milliseconds per image of every entry of suites on a CPU, against peers in the same run: one table for a machine.

    make bench        (installs the peers beside us, then runs this)
    python benchmarks/corruptions_cpu.py [--suite imagenet-c syn2nat-candidates] [--cores 16] [--only fog snow]

A line has the times on one core at the lowest, middle and highest level, or as the entry is drawn, and how many copies
of the images would take as long: reading and writing them is the least that a corruption can do. Then the times of the
peer and their ratio to ours, where there is one (peers.py), and how much faster `--cores` are than one: as threads of
this process, and as processes of their own, which wait for each other only in the end.

Everybody gets the same 64 pictures of scikit-image and scikit-learn, uint8: a peer one at a time, as it only can, scuff
as one batch through its public door. Both keep the results of all pictures until the call is over. Times of one core
are CPU times, and torch, OpenCV and OpenBLAS may use one thread; those of several cores are by the clock, for 256
pictures at the middle level, so other work on the machine spoils them. All are the best of several rounds, in which
calls take turns. `--memory` prints instead how much memory each corruption takes for a batch of 256.
"""

from __future__ import annotations

import os

os.environ.update(
    OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1", NO_ALBUMENTATIONS_UPDATE="1"
)  # fmt: skip

import argparse
import math
import multiprocessing
import platform
import resource
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch
from peers import PEERS, Peer

import scuff
from scuff.suites import Suite


@lru_cache
def pictures(size: int, count: int) -> np.ndarray:
    """Windows of scikit-image's and scikit-learn's pictures, uint8, as many times over as it takes."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from golden.pictures import pictures_32, pictures_224

    windows = pictures_32() if size <= 32 else pictures_224()
    return np.resize(windows, (count, *windows.shape[1:]))


def least(calls: Sequence[Callable], rounds: int, clock: Callable[[], float] = time.thread_time) -> list[float]:
    """Seconds of each call: the best of several rounds, after one that compiles and fills caches."""
    best = [math.inf] * len(calls)
    for number in range(rounds + 1):
        for place, call in enumerate(calls):
            start = clock()
            call()
            if number:
                best[place] = min(best[place], clock() - start)
    return best


@dataclass
class Line:
    """What was measured of an entry: seconds an image, of each level; by the clock on one core, several, processes."""

    ours: list[float]
    theirs: list[float] = field(default_factory=list)
    clocks: list[float] = field(default_factory=list)


def measure(suite: Suite, entry: str, peer: Peer, cores: int, processes: Executor, rounds: int) -> Line:
    x, many = (pictures(suite.size, count) for count in (64, 256))
    levels = suite.levels(entry)
    chosen = sorted({levels[0], levels[len(levels) // 2], levels[-1]}, key=levels.index)
    line = Line([])
    for level in chosen:
        calls: list[Callable] = [partial(scuff.corrupt, x, entry, level, suite=suite)]
        if entry in peer:
            calls.append(partial(peer[entry], x, level))
        counts = [len(call()) for call in calls]  # the peer may leave some out
        times = [t / count for t, count in zip(least(calls, rounds), counts, strict=True)]
        line.ours.append(times[0])
        line.theirs += times[1:]
    if cores > 1:
        level = chosen[len(chosen) // 2]
        call = partial(scuff.corrupt, many, entry, level, suite=suite)
        ways = [partial(on_cores, n, call) for n in (1, cores)]
        ways.append(partial(in_processes, processes, cores, (suite.name, 256 // cores, entry, level)))
        line.clocks = least(ways, rounds, time.perf_counter)
        torch.set_num_threads(1)
    return line


def on_cores(cores: int, call: Callable) -> None:
    torch.set_num_threads(cores)
    call()


def in_processes(processes: Executor, cores: int, part: tuple) -> None:
    for task in [processes.submit(corrupt_part, *part) for _ in range(cores)]:
        task.result()


def corrupt_part(suite: str, count: int, entry: str, level: int | None) -> None:
    scuff.corrupt(pictures(scuff.load_suite(suite).size, count), entry, level, suite=suite)


def print_suite(suite: Suite, peer: Peer, only: list[str], cores: int, rounds: int) -> None:
    x, lines = pictures(suite.size, 64), {}
    copy = least([x.copy], 20)[0] / len(x)
    print(f"\n{suite.name}; a copy takes {1e3 * copy:.3f} ms an image")
    several = f"{f'{cores} cores':>10}{'processes':>11}" if cores > 1 else ""
    processes = ProcessPoolExecutor(cores, multiprocessing.get_context("spawn"))
    print(f"{'':>32}{'scuff':>27}{'copies':>8}{'peer':>27}{'ratio':>8}{several}")
    for entry in suite.benchmark() if peer else suite.entries:
        if only and entry not in only:
            continue
        line = lines[entry] = measure(suite, entry, peer, cores, processes, rounds)
        ratio = f"{sum(line.theirs) / sum(line.ours):.2f}" if line.theirs else ""
        text = f"{entry:>32}{_milliseconds(line.ours)}{np.mean(line.ours) / copy:>8.1f}"
        text += f"{_milliseconds(line.theirs)}{ratio:>8}"
        print(text + "".join(f"{line.clocks[0] / t:>10.2f}" for t in line.clocks[1:]), flush=True)
    processes.shutdown()
    ours, theirs = (sum(sum(getattr(line, name)) for line in lines.values()) for name in ("ours", "theirs"))
    if theirs:
        ratios = sorted((sum(line.theirs) / sum(line.ours), entry) for entry, line in lines.items())
        mean = math.exp(np.mean([math.log(ratio) for ratio, _ in ratios]))
        print(f"sum: {1e3 * theirs:.2f} ms against {1e3 * ours:.2f}, {theirs / ours:.1f} times; ", end="")
        print(f"geometric mean of the ratios {mean:.2f}; lowest: {', '.join(f'{e} {r:.2f}' for r, e in ratios[:5])}")
    if cores > 1 and lines:
        one, threads, apart = np.sum([line.clocks for line in lines.values()], axis=0)
        print(
            f"in the sum {cores} cores are {one / threads:.2f} times as fast as one, processes {one / apart:.2f} times"
        )


def _milliseconds(times: list[float]) -> str:
    return "".join(f"{1e3 * t:>9.3f}" for t in times).rjust(27)


def _peak_growth(name: str, severity: int, count: int, answer) -> None:
    torch.set_num_threads(1)
    x = pictures(224, count)
    scuff.corrupt(x[:8], f"imagenet-c/{name}", severity)  # loads compiled code, textures and libraries
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    scuff.corrupt(x, f"imagenet-c/{name}", severity)
    answer.put((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def memory(count: int) -> None:
    """Growth of the process's peak above what it holds with the batch loaded and a few images done, with results."""
    print(f"MiB for a batch of {count} uint8 images, severity 5, result included ({count * 3 * 224 * 224 / 2**20:.0f})")
    context = multiprocessing.get_context("spawn")
    for name in scuff.load_suite("imagenet-c").entries:
        answer = context.Queue()
        process = context.Process(target=_peak_growth, args=(name, 5, count, answer))
        process.start()
        print(f"{name:>18}{answer.get():>8.0f}", flush=True)
        process.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", default=["imagenet-c", "syn2nat-candidates"])
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these entries of a suite instead of all")
    options = parser.parse_args()
    if options.memory:
        memory(256)
        return
    torch.set_num_threads(1)
    print(f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, ", end="")
    print(f"numpy {np.__version__}; milliseconds an image, best of {options.rounds} rounds")
    for name in options.suite:
        peer: Peer = {}
        with suppress(ImportError):  # then it has no column
            peer = PEERS[name]() if name in PEERS else {}
        print_suite(scuff.load_suite(name), peer, options.only, options.cores, options.rounds)


if __name__ == "__main__":
    main()
