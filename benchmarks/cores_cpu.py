"""How much faster several cores are than one, for a batch of 256 pictures of 224 pixels.

    python benchmarks/cores_cpu.py --cores 1 2 16

Milliseconds per image by the clock, the best of several rounds, in which the numbers of cores take turns; then the
ratio to the first number of cores. Severity 3, or as it is drawn. Other work on the machine spoils the ratios.
"""

from __future__ import annotations

import argparse
import math
import platform
import time

import numpy as np
import torch

import scuff


def pictures(count: int) -> np.ndarray:
    """Coarse noise: edges and smooth parts."""
    small = torch.randint(0, 256, (count, 3, 15, 15), generator=torch.Generator().manual_seed(0)).float()
    large = torch.nn.functional.interpolate(small, (224, 224), mode="bilinear")
    return large.permute(0, 2, 3, 1).to(torch.uint8).contiguous().numpy()


def seconds(call, cores: list[int], rounds: int) -> list[float]:
    """The least seconds of a call with each number of cores."""
    best = [math.inf] * len(cores)
    call()  # compiles, fills caches
    for _ in range(rounds):
        for place, count in enumerate(cores):
            torch.set_num_threads(count)
            start = time.perf_counter()
            call()
            best[place] = min(best[place], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", default="imagenet-c")
    parser.add_argument("--cores", nargs="+", type=int, default=[1, torch.get_num_threads()])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    suite, x = scuff.load_suite(options.suite), pictures(256)
    print(f"{platform.machine()}, torch {torch.__version__}, {options.suite}")
    print(f"{'cores':>32}" + "".join(f"{count:>9}" for count in options.cores))
    sums = np.zeros(len(options.cores))
    for entry in options.only or suite.benchmark():
        level = 3 if suite.listed_levels(entry) else None
        best = seconds(lambda e=entry, s=level: scuff.corrupt(x, e, s, suite=suite), options.cores, options.rounds)
        sums += best
        times = "".join(f"{1e3 * t / len(x):>9.3f}" for t in best)
        print(f"{entry:>32}{times}" + "".join(f"{best[0] / t:>7.1f} x" for t in best[1:]), flush=True)
    print(f"{'all':>32}{'':>{9 * len(sums)}}" + "".join(f"{sums[0] / total:>7.1f} x" for total in sums[1:]))


if __name__ == "__main__":
    main()
