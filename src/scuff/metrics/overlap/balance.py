"""Balance: does a benchmark weigh all kinds of robustness alike?

Each model was trained with one corruption of the benchmark, which makes it robust to that one and whatever overlaps
with it. If some of these models come out of the benchmark far better than others, some kinds of robustness count more
often than others. So a benchmark is balanced if their mCE lie close together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from scuff.metrics.evaluation.references import Reference
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.overlap.accuracies import STANDARD, AccuracyTable, read_accuracies
from scuff.metrics.overlap.uncertainty import estimate
from scuff.metrics.score import Score

LEAST_RISE = 0.01  # of the reference's error: a corruption that harms it less is no measure of harm


@dataclass(frozen=True)
class Balance:
    """The relative mCE (percent) of every model trained with one corruption, their range and standard deviation.

    Smaller is better balanced. `standard` is the mCE of the model trained on clean images. `range` and `std` are means
    over seeds of what each seed gives; their note says what errors are measured against, and what was left out.
    """

    mces: dict[str, float] = field(repr=False)
    range: Score
    std: Score
    standard: float


def balance(
    accuracies: AccuracyTable,
    benchmark: Sequence[str],
    reference: Reference | None = None,
    *,
    resampling: Resampling = DEFAULT,
) -> Balance:
    """The spread of mCE on a benchmark over models that were each trained with one of its corruptions.

        CE_c = 100 · (E_c - E_clean) / (E*_c - E*_clean)        mCE = mean over c

    A corruption whose denominator is below 0.01 is left out of the mean, and the note names it.

    Parameters
    ----------
    benchmark
        Addresses of corruptions; there must be a model and a test for each.
    reference
        Errors E* by the name of the entry, such as `load_reference("alexnet", "imagenet-noc")`. By default those of the
        standard model of the same table, with the same seed.

    >>> from scuff.metrics import Accuracies
    >>> table = np.array([[[0.9, 0.4, 0.6], [0.9, 0.8, 0.7], [0.9, 0.4, 0.8]]])
    >>> names = "a/fog", "a/snow"
    >>> result = balance(Accuracies(("standard", *names), ("clean", *names), table), names)
    >>> {name: round(value, 1) for name, value in result.mces.items()}, round(result.range.value, 1)
    ({'a/fog': 43.3, 'a/snow': 66.7}, 23.3)
    """
    if not benchmark:
        raise ValueError("balance needs the corruptions of a benchmark, got none")
    table = read_accuracies(accuracies).take((STANDARD, *benchmark), (CLEAN, *benchmark))
    rises = _own_rises(table.values) if reference is None else _reference_rises(reference, benchmark)
    kept = (rises.mean(axis=0) >= LEAST_RISE) & (rises.min(axis=0) > 0)
    if not kept.any():
        raise ValueError(f"no corruption of the benchmark raises the error of the reference by {LEAST_RISE:g} or more")

    def mces(a: np.ndarray) -> np.ndarray:
        rise = (a[..., :1] - a[..., 1:])[..., kept]
        scale = rise[..., :1, :] if reference is None else rises[:, kept]
        return 100 * (rise / scale).mean(axis=-1)

    def statistic(a: np.ndarray) -> np.ndarray:
        return np.stack(spread(mces(a)[..., 1:]), axis=-1)

    spreads = estimate(table, statistic, resampling, mirrored=True)  # as noise only drives the models apart
    ends = np.maximum(spreads.low, 0), np.maximum(spreads.high, 0)
    note = _describe(reference, [name for name, use in zip(benchmark, kept, strict=True) if not use])
    scores = [Score(*map(float, v), spreads.n, spreads.interval, note) for v in zip(spreads.value, *ends, strict=True)]  # type: ignore[call-arg, arg-type]
    standard, *values = mces(table.values).mean(axis=0).tolist()
    return Balance(dict(zip(benchmark, values, strict=True)), *scores, standard)  # type: ignore[call-arg, arg-type]


def spread(values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The range, largest minus smallest, and the standard deviation (of a population: divided by n) of some numbers.

    Of an array, along its last axis.

    >>> table_2b = 83, 79, 83, 83, 81, 90, 79, 88  # ImageNet-NOC
    >>> [round(float(number), 1) for number in spread(table_2b)]
    [11.0, 3.7]
    """
    values = np.asarray(values, float)
    if not values.size:
        raise ValueError("the spread of no numbers is not defined")
    return np.ptp(values, axis=-1), values.std(axis=-1)


def _own_rises(a: np.ndarray) -> np.ndarray:
    """How far the error of the standard model rises above its clean one, (seeds, corruptions)."""
    return a[..., 0, :1] - a[..., 0, 1:]


def _reference_rises(reference: Reference, benchmark: Sequence[str]) -> np.ndarray:
    """The same of a reference, (1, corruptions)."""
    if reference.clean is None:
        raise ValueError("balance is by the relative corruption error, which needs the reference's clean error")
    entries = [name.rpartition("/")[2] for name in benchmark]
    lacking = [entry for entry in entries if entry not in reference.errors]
    if lacking:
        raise ValueError(f"the reference lacks {', '.join(lacking)}; it names {', '.join(reference.errors)}")
    return np.array([[np.mean(reference.errors[entry]) for entry in entries]]) - reference.clean


def _describe(reference: Reference | None, left_out: Sequence[str]) -> str:
    against = f"mCE against {'the standard model of the table' if reference is None else 'a reference'}"
    return f"{against}; left out, as they hardly harm it: {', '.join(left_out)}" if left_out else against
