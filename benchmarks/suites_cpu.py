"""Milliseconds per image of every entry of a suite on one CPU core, without a peer: for suites that have none.

    python benchmarks/suites_cpu.py --suite c-bar-candidates-224

A batch of 16 pictures at the suite's size, uint8, through the public door; CPU time, which other work on the machine
disturbs least, the best of several rounds. An entry with levels is timed at its lowest, middle and highest, any other
as it is drawn.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch

import scuff


def pictures(size: int) -> np.ndarray:
    """Windows of scikit-image's and scikit-learn's pictures, repeated or cut to the size."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from golden.pictures import pictures_32, pictures_224

    return np.ascontiguousarray(pictures_32()[:16] if size <= 32 else pictures_224()[:, :size, :size])


def milliseconds(call, rounds: int) -> float:
    call()  # compiles, fills caches
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        call()
        best = min(best, time.thread_time() - start)
    return 1e3 * best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="c-bar-candidates-224")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()

    torch.set_num_threads(1)
    suite = scuff.load_suite(options.suite)
    x = pictures(suite.size)
    print(
        f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, {suite.name}, {x.shape}"
    )
    for entry in suite.entries:
        levels = suite.levels(entry)
        chosen = sorted({levels[0], levels[len(levels) // 2], levels[-1]}, key=levels.index)
        times = [
            milliseconds(lambda e=entry, s=s: scuff.corrupt(x, e, s, suite=suite), options.rounds) / len(x)
            for s in chosen
        ]
        print(f"{entry:>32}" + "".join(f"{t:>9.2f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
