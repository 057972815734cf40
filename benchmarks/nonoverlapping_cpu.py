"""How long the search for the largest benchmark without overlaps takes, for random matrices of 130 corruptions.

    python benchmarks/nonoverlapping_cpu.py

Prints, for some densities (the share of pairs below the threshold), the sizes found and seconds of processor time.
"""

from __future__ import annotations

import time

import numpy as np

from scuff.design import Selection, find_nonoverlapping
from scuff.metrics import Overlaps

COUNT, REPEATS = 130, 5
DENSITIES = (0.1, 0.5, 0.7, 0.8, 0.9, 0.92, 0.95, 0.98, 0.99)


def main() -> None:
    print("| density | largest set | sets as large | median | worst | proven |\n|---|---|---|---|---|---|")
    for density in DENSITIES:
        runs = [search(density, seed) for seed in range(REPEATS)]
        found, seconds = zip(*runs, strict=True)
        sizes = [len(one.members) for one in found]
        counts = [one.largest_subsets for one in found]
        columns = [
            f"{density:g}",
            f"{min(sizes)} to {max(sizes)}",
            f"{min(counts)} to {max(counts)}",
            f"{np.median(seconds):.2f} s",
            f"{max(seconds):.2f} s",
            f"{sum(one.proven for one in found)} of {REPEATS}",
        ]
        print(f"| {' | '.join(columns)} |")


def search(density: float, seed: int) -> tuple[Selection, float]:
    """One search with overlaps uniform between 0 and 1, where the threshold is the density itself."""
    matrix = np.random.default_rng(seed).random((COUNT, COUNT))
    matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T + np.eye(COUNT)
    overlaps = Overlaps(tuple(f"made-up/c{k}" for k in range(COUNT)), matrix, matrix, matrix)
    start = time.process_time()
    return find_nonoverlapping(overlaps, density), time.process_time() - start


if __name__ == "__main__":
    main()
