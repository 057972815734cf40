"""Seconds and memory for one large picture: is the cost of every corruption linear in pixels?

    python benchmarks/large_pictures.py --suite imagenet-c --size 1920 1080
    python benchmarks/large_pictures.py --suite imagenet-c --size 8000 6000 --only defocus_blur fog

A uint8 picture at the highest level, on all cores. "first" is the first call at that size, "again" one more, both by
the clock; "CPU" is the CPU time of the latter. "memory" is by how much the process grows at most, in pictures of
float32: the result is a quarter of one. It is measured in a call of its own, in which what is freed goes back to the
system at once: what a corruption needs, not what the allocator keeps for later. Kernels are compiled before, on smaller
pictures. Linux only.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import platform
import time
from pathlib import Path

import numpy as np
import torch

import scuff

M_MMAP_THRESHOLD, KEPT = -3, 1 << 17  # malloc.h; bytes of a block, from which on it goes back when it is freed
LARGE = 600  # pixels


def picture(width: int, height: int) -> np.ndarray:
    """Coarse noise: edges and smooth parts."""
    small = np.random.default_rng(0).integers(0, 256, (1, 3, height // 16 + 1, width // 16 + 1), dtype=np.uint8)
    large = torch.nn.functional.interpolate(torch.from_numpy(small).float(), (height, width), mode="bilinear")
    return large[0].permute(1, 2, 0).to(torch.uint8).contiguous().numpy()


def prepare(x: np.ndarray, suite: str, entry: str, threads: int) -> tuple[str, int | None]:
    """Compile what is needed, on smaller pictures: a few, and one that counts as large; which cell to call."""
    torch.set_num_threads(threads)
    levels = scuff.load_suite(suite).listed_levels(entry)
    address, level = f"{suite}/{entry}", levels[-1] if levels else None
    scuff.corrupt(np.stack([x[:320, :320]] * 8), address, level)
    scuff.corrupt(x[:LARGE, :LARGE], address, level)
    return address, level


def measure_seconds(x: np.ndarray, *cell: str | int) -> tuple[float, float, float]:
    """Seconds of two calls, and CPU seconds of the second."""
    address, level = prepare(x, *cell)
    start = time.perf_counter()
    scuff.corrupt(x, address, level)
    middle, used = time.perf_counter(), time.process_time()
    scuff.corrupt(x, address, level)
    return middle - start, time.perf_counter() - middle, time.process_time() - used


def measure_memory(x: np.ndarray, *cell: str | int) -> float:
    """The most that the process grows, in pictures of float32."""
    ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, KEPT)
    address, level = prepare(x, *cell)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak so far is forgotten
    before = read_memory("VmRSS")
    scuff.corrupt(x, address, level)
    return (read_memory("VmHWM") - before) / (4 * x.size)


def read_memory(key: str) -> int:
    """Bytes, by the kernel's own account of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


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
        numbers = []
        for measure in (measure_seconds, measure_memory):
            with forks.Pool(1) as process:
                numbers += np.atleast_1d(process.apply(measure, (x, options.suite, entry, threads))).tolist()
        print(f"{entry:>32}" + "".join(f"{number:>9.2f}" for number in numbers), flush=True)


if __name__ == "__main__":
    main()
