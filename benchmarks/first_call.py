"""Seconds until the first result of every entry of a suite, in a process that has corrupted nothing before.

    python benchmarks/first_call.py --suite imagenet-c c-bar-candidates-224 noc-candidates syn2nat-candidates

One picture of 224 pixels, the last level. "cold": nothing has ever been compiled on this machine; "warm": another
process has made the same call. Both are CPU seconds on one core, of the call alone: torch and scuff are imported, numba
is not. With --batch N, the call has N pictures, which is enough work to be worth compiling for.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import multiprocessing
import platform
import tempfile
import time

import numpy as np
import torch

import scuff

SUITES = ("imagenet-c", "c-bar-candidates-224", "noc-candidates", "syn2nat-candidates")


def first_call(cache: str, suite: str, entry: str, batch: int) -> float:
    """CPU seconds of one call; in a process of its own, whose compiled code goes to the folder `cache`."""
    os.environ["NUMBA_CACHE_DIR"] = cache  # read when numba is imported, which is part of the call
    loaded = scuff.load_suite(suite)
    images = np.random.default_rng(0).integers(0, 256, (batch, 224, 224, 3), dtype=np.uint8)
    levels = loaded.listed_levels(entry)
    begin = time.process_time()
    scuff.corrupt(images, entry, levels[-1] if levels else None, suite=loaded)
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", default=SUITES)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--batch", type=int, default=1)
    options = parser.parse_args()

    print(f"{platform.machine()}, Python {platform.python_version()}, torch {torch.__version__}, batch {options.batch}")
    print(f"{'entry':>52}{'cold s':>9}{'warm s':>9}")
    _ = scuff.corrupt  # imported once, here: processes are forked from this one
    forks = multiprocessing.get_context("fork")
    for suite in options.suite:
        for entry in options.only or scuff.load_suite(suite).entries:
            with tempfile.TemporaryDirectory() as cache:
                seconds = []
                for _ in range(2):
                    with forks.Pool(1) as process:
                        seconds.append(process.apply(first_call, (cache, suite, entry, options.batch)))
            print(f"{suite + '/' + entry:>52}" + "".join(f"{s:>9.2f}" for s in seconds), flush=True)


if __name__ == "__main__":
    main()
