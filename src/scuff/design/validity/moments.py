"""Correlations of many benchmarks at once, from the covariances of their corruptions.

The residual robustness of a benchmark is linear in those of its corruptions. With the memberships m (1 for a member, 0
otherwise), the covariances S of the corruptions over models, and their covariances t with a natural benchmark of
variance v, the Pearson correlation is

    r = m t / sqrt((m S m') v).

So a set of models, for example a resample of them, enters by S, t and v alone: what it costs does not depend on the
number of models. And the sum of r over benchmarks, sum(m / sqrt(m S m')) t / sqrt(v), needs no correlation of its own
for every natural benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

FLAT = 1e-12  # a share of the variance: what rounding leaves of a residual that is the same for all models
BLOCK = 1 << 22  # values of a block of benchmarks: 32 MiB. This bounds the memory; results do not depend on it


@dataclass(frozen=True, eq=False)
class Moments:
    """Covariances over R sets of models, of C corruptions and N natural benchmarks.

    Parameters
    ----------
    pairs
        (R, C (C + 1) / 2): of all pairs of corruptions i <= j, twice where i < j, so that m S m' is a plain sum.
    cross
        (R, C, N): of each corruption with each natural benchmark, divided by the standard deviation of the latter; NaN
        where that does not vary.
    scales
        (C,): the variances over all models, which tell rounding from variation.
    """

    pairs: np.ndarray
    cross: np.ndarray
    scales: np.ndarray


def find_moments(x: np.ndarray, y: np.ndarray, times: np.ndarray | None = None) -> Moments:
    """Moments of residuals x (n, C) and y (n, N) of n models, over sets where each occurs so many `times` (R, n).

    One set, with every model once, if `times` is not given.

    >>> x, y = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 3.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> found = find_moments(x, y)
    >>> found.pairs.round(3).tolist(), found.cross.round(3).tolist()
    ([[0.667, 2.0, 2.0]], [[[0.707], [1.414]]])
    """
    x, y = centre_columns(x), centre_columns(y)
    times = np.ones((1, len(x))) if times is None else times
    shares = times / times.sum(axis=1, keepdims=True)
    first, second = np.triu_indices(x.shape[1])
    with threadpool_limits(1, user_api="blas"):
        x_means, y_means = shares @ x, shares @ y
        pairs = shares @ (x[:, first] * x[:, second]) - x_means[:, first] * x_means[:, second]
        cross = (shares @ (x[:, :, None] * y[:, None]).reshape(len(x), -1)).reshape(-1, x.shape[1], y.shape[1])
        variances = shares @ (y * y) - y_means**2
    pairs[:, first < second] *= 2
    cross -= x_means[:, :, None] * y_means[:, None]
    flat = variances <= FLAT * np.mean(y * y, axis=0)
    cross /= np.sqrt(np.where(flat, np.nan, variances))[:, None]
    return Moments(pairs, cross, np.mean(x * x, axis=0))


def centre_columns(columns: np.ndarray) -> np.ndarray:
    """Columns minus their means; exactly 0 where a column does not vary, which rounding would hide.

    >>> centre_columns(np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])).tolist()
    [[0.0, -1.0], [0.0, 0.0], [0.0, 1.0]]
    """
    centred = columns - columns.mean(axis=0)
    flat = np.abs(centred).max(axis=0) <= FLAT * np.abs(columns).max(axis=0)
    return np.where(flat, 0.0, centred)


def find_members(benchmarks: Sequence[Sequence[str]], place: Mapping[str, int]) -> np.ndarray:
    """Memberships (benchmarks, C) of corruptions by their places: 1 for a member, 0 otherwise.

    >>> find_members([("fog", "snow"), ("snow",)], {"fog": 0, "snow": 1}).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    sizes = np.array([len(benchmark) for benchmark in benchmarks], int)
    columns = np.fromiter((place[name] for benchmark in benchmarks for name in benchmark), int, sizes.sum())
    members = np.zeros((len(benchmarks), len(place)))
    members[np.repeat(np.arange(len(benchmarks)), sizes), columns] = 1
    wrong = np.flatnonzero((members.sum(axis=1) != sizes) | (sizes == 0))
    if len(wrong):
        raise ValueError(
            f"a benchmark has at least one corruption, and each of them once; got {tuple(benchmarks[wrong[0]])}"
        )
    return members


def inverse_deviations(members: np.ndarray, moments: Moments) -> Iterator[tuple[slice, np.ndarray]]:
    """1 / sqrt(m S m') of benchmarks (B, C), block by block: which ones, and their values (R, block).

    0 where the benchmark does not vary over those models.
    """
    first, second = np.triu_indices(members.shape[1])
    step = max(1, BLOCK // sum(moments.pairs.shape))
    for start in range(0, len(members), step):
        block = slice(start, start + step)
        columns = np.ascontiguousarray(members[block].T)
        with threadpool_limits(1, user_api="blas"):
            variances = moments.pairs @ (columns[first] * columns[second])
        flat = variances <= FLAT * moments.scales @ columns
        if flat.any():
            variances[flat] = np.inf
        np.sqrt(variances, out=variances)
        yield block, np.divide(1.0, variances, out=variances)


def correlations_of(members: np.ndarray, moments: Moments) -> np.ndarray:
    """Correlations of benchmarks (B, C) with all natural ones, over the first set of models: (B, N).

    NaN where one of the two does not vary.

    >>> moments = find_moments(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]]), np.array([[0.0], [1.0], [2.0]]))
    >>> correlations_of(np.eye(2), moments).round(3).tolist()
    [[1.0], [-0.866]]
    """
    first = Moments(moments.pairs[:1], moments.cross[:1], moments.scales)
    inverse = np.zeros(len(members))
    for block, values in inverse_deviations(members, first):
        inverse[block] = values[0]
    inverse[inverse == 0] = np.nan
    return np.clip(members @ first.cross[0] * inverse[:, None], -1, 1)


def mean_correlations(members: np.ndarray, moments: Moments, weights: np.ndarray | None = None) -> np.ndarray:
    """The mean correlation of benchmarks (B, C) with all natural ones, over every set of models: (R, N).

    Benchmarks count by their weights (B,), or all alike. Those that do not vary over a set of models are left out
    there; NaN where none does.

    >>> moments = find_moments(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]]), np.array([[0.0], [1.0], [2.0]]))
    >>> mean_correlations(np.eye(2), moments).round(3).tolist()
    [[0.067]]
    """
    weights = np.ones(len(members)) if weights is None else weights
    sums, total = np.zeros((len(moments.pairs), members.shape[1])), np.zeros((len(moments.pairs), 1))
    for block, inverse in inverse_deviations(members, moments):
        with threadpool_limits(1, user_api="blas"):
            sums += inverse @ (members[block] * weights[block, None])
            total += weights[block].sum() if inverse.all() else (inverse > 0) @ weights[block, None]
    total[total == 0] = np.nan
    return np.clip(np.einsum("rc,rcn->rn", sums, moments.cross) / total, -1, 1)
