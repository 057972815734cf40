"""One core: correlations of 10 000 benchmarks with 5 natural ones over 200 models, against plain loops in the same run.

    python benchmarks/validity.py

Prints seconds (the best of three rounds) for the correlations alone, and for the means of ten groups with intervals
from 1000 resamples of models. The loops take the mean of a benchmark's columns and call np.corrcoef once for all
natural benchmarks, or scipy.stats.pearsonr for each of them, which gives p-values too; the latter on every tenth
benchmark only. Both must agree with ours to 1e-10. Residuals are made up: a common part, and noise of each corruption.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import resource
import time

import numpy as np
import pandas as pd
from scipy.stats import pearsonr

from scuff.design import benchmark_correlations, group_validity
from scuff.metrics import Shifts, read_shifts

MODELS, NATURAL, BENCHMARKS, GROUPS, ROUNDS = 200, 5, 10_000, 10, 3
CANDIDATES = (19, 40)
TOLERANCE = 1e-10


def main() -> None:
    print(
        f"{BENCHMARKS} benchmarks, {NATURAL} natural ones, {MODELS} models; seconds, and how often ours goes into it\n"
    )
    print("| corruptions | correlations | with 1000 resamples | np.corrcoef | ratio | scipy.stats.pearsonr | ratio |")
    print("|---|---|---|---|---|---|---|")
    for candidates in CANDIDATES:
        shifts, benchmarks = make_shifts(candidates), make_benchmarks(candidates)
        groups = {str(number): benchmarks[number::GROUPS] for number in range(GROUPS)}
        ours, found = best(benchmark_correlations, shifts, benchmarks)
        means, _ = best(group_validity, shifts, groups)
        columns = [f"{candidates}", f"{ours:.3f}", f"{means:.2f}"]
        for loop, every in ((loop_corrcoef, 1), (loop_pearsonr, 10)):
            seconds, expected = best(loop, shifts, benchmarks[::every])
            off = np.abs(found[::every] - expected).max()
            if not off <= TOLERANCE:
                raise SystemExit(f"{loop.__name__} and ours differ by {off}")
            columns += [f"{seconds * every:.2f}", f"{seconds * every / ours:.0f}"]
        print(f"| {' | '.join(columns)} |", flush=True)
    print(f"\npeak memory of all this: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB")


def best(function, *arguments):
    """The shortest time of several rounds, and the result."""
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        result = function(*arguments)
        rounds.append(time.perf_counter() - start)
    return min(rounds), result


def loop_corrcoef(shifts: Shifts, benchmarks: list[tuple[str, ...]]) -> np.ndarray:
    place, x, y = as_arrays(shifts)
    means = (x[:, [place[name] for name in benchmark]].mean(axis=1) for benchmark in benchmarks)
    return np.array([np.corrcoef(mean, y, rowvar=False)[0, 1:] for mean in means])


def loop_pearsonr(shifts: Shifts, benchmarks: list[tuple[str, ...]]) -> np.ndarray:
    place, x, y = as_arrays(shifts)
    means = (x[:, [place[name] for name in benchmark]].mean(axis=1) for benchmark in benchmarks)
    return np.array([[pearsonr(mean, column).statistic for column in y.T] for mean in means])


def as_arrays(shifts: Shifts) -> tuple[dict[str, int], np.ndarray, np.ndarray]:
    x = shifts.synthetic_residuals()
    return {name: number for number, name in enumerate(x)}, x.to_numpy(), shifts.natural_residuals().to_numpy()


def make_shifts(candidates: int) -> Shifts:
    draw = np.random.default_rng(0)
    common = draw.uniform(0.1, 0.3, (MODELS, 1))
    lost = common + draw.uniform(0, 0.3, (MODELS, candidates + NATURAL))
    names = [*(f"corrupted:made-up/c{k}" for k in range(candidates)), *(f"natural:n{k}" for k in range(NATURAL))]
    table = pd.DataFrame(0.8 - lost, columns=names)
    return read_shifts(table.assign(model=table.index.astype(str), clean=0.8))


def make_benchmarks(candidates: int) -> list[tuple[str, ...]]:
    """Of 3 to 18 corruptions each."""
    draw = np.random.default_rng(0)
    names = np.array([f"made-up/c{k}" for k in range(candidates)])
    sizes = draw.integers(3, 19, BENCHMARKS)
    return [tuple(names[draw.choice(candidates, size, replace=False)].tolist()) for size in sizes]


if __name__ == "__main__":
    main()
