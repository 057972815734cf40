"""Seconds and memory for one large picture: is the cost of every corruption linear in pixels?

    python benchmarks/large_pictures.py --suite imagenet-c --size 1920 1080
    python benchmarks/large_pictures.py --suite imagenet-c --size 8000 6000 --only defocus_blur fog

A uint8 picture at the highest level, on all cores. "first" is the first call at that size, "again" one more, both by
the clock; "CPU" is the CPU time of the latter. "memory" is by how much the process grows at most, in pictures of
float32: the result is a quarter of one. Kernels are compiled before, on a small picture.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import resource
import time

import numpy as np
import torch

import scuff


def picture(width: int, height: int) -> np.ndarray:
    """Coarse noise: edges and smooth parts."""
    small = np.random.default_rng(0).integers(0, 256, (1, 3, height // 16 + 1, width // 16 + 1), dtype=np.uint8)
    large = torch.nn.functional.interpolate(torch.from_numpy(small).float(), (height, width), mode="bilinear")
    return large[0].permute(1, 2, 0).to(torch.uint8).contiguous().numpy()


def measure(x: np.ndarray, suite: str, entry: str, threads: int) -> tuple[float, float, float, float]:
    """Seconds of two calls, CPU seconds of the second, and the most that the process grew; in a process of its own."""
    torch.set_num_threads(threads)
    levels = scuff.load_suite(suite).listed_levels(entry)
    address, level = f"{suite}/{entry}", levels[-1] if levels else None
    scuff.corrupt(np.stack([x[:320, :320]] * 8), address, level)  # enough pictures that kernels are compiled
    with open("/proc/self/statm", encoding="ascii") as file:
        before = int(file.read().split()[1]) * resource.getpagesize()
    start = time.perf_counter()
    scuff.corrupt(x, address, level)
    middle, used = time.perf_counter(), time.process_time()
    scuff.corrupt(x, address, level)
    end, used = time.perf_counter(), time.process_time() - used
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return middle - start, end - middle, used, (peak - before) / (4 * x.size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="imagenet-c")
    parser.add_argument("--size", nargs=2, type=int, default=(1920, 1080), metavar=("WIDTH", "HEIGHT"))
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()

    threads = torch.get_num_threads()
    print(f"{platform.machine()}, {threads} cores, torch {torch.__version__}, {'{} x {}'.format(*options.size)}")
    print(f"{'entry':>32}{'first s':>9}{'again s':>9}{'CPU s':>9}{'memory':>9}")
    torch.set_num_threads(1)  # threads do not survive a fork
    _ = scuff.corrupt  # imported once, here: processes are forked from this one
    forks = multiprocessing.get_context("fork")
    # In a process of its own: torch may keep memory that it has freed, and the others would start with it.
    with forks.Pool(1) as process:
        x = process.apply(picture, options.size)
    for entry in options.only or scuff.load_suite(options.suite).entries:
        with forks.Pool(1) as process:
            numbers = process.apply(measure, (x, options.suite, entry, threads))
        print(f"{entry:>32}" + "".join(f"{number:>9.2f}" for number in numbers), flush=True)


if __name__ == "__main__":
    main()
