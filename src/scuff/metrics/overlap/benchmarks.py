"""Is a benchmark complete, and is it fair? Coverage and balance.

**Coverage**: which corruptions would a benchmark have noticed, though it does not hold them? By overlaps: those that
overlap enough with one of the benchmark. Directly: those against which training with the whole benchmark helps.

**Balance**: does a benchmark weigh all kinds of robustness alike? Each model was trained with one corruption of the
benchmark, which makes it robust to that one and whatever overlaps with it. If some of these models come out of the
benchmark far better than others, some kinds of robustness count more often than others. So a benchmark is balanced if
their mCE lie close together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scuff.metrics.evaluation.references import Reference
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.overlap.accuracies import STANDARD, AccuracyTable, estimate, read_accuracies, robustness_scores
from scuff.metrics.overlap.scores import Overlaps, OverlapTable, read_overlaps
from scuff.metrics.score import Score

LEAST_RISE = 0.01  # of the reference's error: a corruption that harms it less is no measure of harm


def coverage(
    overlaps: OverlapTable, benchmark: Sequence[str], others: Sequence[str], threshold: float = 0.3
) -> pd.DataFrame:
    """For each of the others, the corruption of the benchmark that it overlaps with most, and whether that is enough.

    A table of corruption, nearest, overlap, low, high, covered (the overlap is above the threshold), certain, n and
    interval. It is certain that a corruption is covered if the interval of its nearest one lies above the threshold,
    and that it is not if the intervals of the whole benchmark lie below. Corruptions of the benchmark without overlaps
    are passed over; one of the others without is not covered, with an overlap of NaN.

    >>> table = pd.DataFrame([[1, 0, 0.4], [0, 1, 0.1], [0.4, 0.1, 1]], list("abc"), list("abc"))
    >>> coverage(table, ["a", "b"], ["c"])[["nearest", "overlap", "covered"]].values.tolist()
    [['a', 0.4, True]]
    """
    overlaps = read_overlaps(overlaps)
    members = [name for name in benchmark if name not in overlaps.undefined]
    if not members:
        raise ValueError(f"no corruption of the benchmark has overlaps; it has {', '.join(benchmark) or 'none'}")
    lines = [_nearest(overlaps, members, other, threshold) for other in others]
    columns = ["corruption", "nearest", "overlap", "low", "high", "covered", "certain"]
    return pd.DataFrame(lines, columns=columns).assign(n=overlaps.n, interval=overlaps.interval)


def direct_coverage(
    accuracies: AccuracyTable,
    model: str = "all:imagenet-noc",
    tests: Sequence[str] | None = None,
    *,
    resampling: Resampling = DEFAULT,
) -> pd.DataFrame:
    """What training with a whole benchmark does against other corruptions: robustness scores with it and without.

    A table of corruption, standard (the score R = A_c / A_clean of the model trained on clean images), trained (of the
    model trained with the benchmark), difference, low, high, helped (the difference is above 0), n and interval.

    Parameters
    ----------
    model
        The row of the model trained with the whole benchmark.
    tests
        Corruptions; by default all of the table.

    >>> from scuff.metrics import Accuracies
    >>> table = np.array([[[0.9, 0.45, 0.81], [0.8, 0.72, 0.64]]])
    >>> table = Accuracies(("standard", "all:noc"), ("clean", "a/fog", "a/hue"), table)
    >>> direct_coverage(table, "all:noc")[["corruption", "difference", "helped"]].round(3).values.tolist()
    [['a/fog', 0.4, True], ['a/hue', -0.1, False]]
    """
    accuracies = read_accuracies(accuracies)
    tests = [name for name in accuracies.tested_on if name != CLEAN] if tests is None else list(tests)
    if not tests:
        raise ValueError("direct coverage needs tests on corrupted images; the table has none")
    two = accuracies.take((STANDARD, model), (CLEAN, *tests))
    scores = robustness_scores(two)[tests]

    def difference(a: np.ndarray) -> np.ndarray:
        robustness = a[..., 1:] / a[..., :1]
        return robustness[..., 1, :] - robustness[..., 0, :]

    gain = estimate(two, difference, resampling)
    table = {"corruption": tests, "standard": scores.loc[STANDARD].to_numpy(), "trained": scores.loc[model].to_numpy()}
    table |= {"difference": gain.value, "low": gain.low, "high": gain.high, "helped": gain.value > 0}
    return pd.DataFrame({**table, "n": gain.n, "interval": gain.interval})


def _nearest(overlaps: Overlaps, members: Sequence[str], other: str, threshold: float) -> tuple:
    if other in overlaps.undefined:
        return other, "", np.nan, np.nan, np.nan, False, False
    scores = [overlaps.score(member, other) for member in members]
    nearest, best = max(zip(members, scores, strict=True), key=lambda pair: pair[1].value)
    covered = best.value > threshold
    certain = best.low > threshold if covered else all(score.high < threshold for score in scores)
    return other, nearest, best.value, best.low, best.high, covered, certain


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
    if reference is None:  # how far the error of the standard model rises above its clean one, (seeds, corruptions)
        rises = table.values[..., 0, :1] - table.values[..., 0, 1:]
    else:
        rises = _reference_rises(reference, benchmark)
    kept = (rises.mean(axis=0) >= LEAST_RISE) & (rises.min(axis=0) > 0)
    if not kept.any():
        raise ValueError(f"no corruption of the benchmark raises the error of the reference by {LEAST_RISE:g} or more")

    def mces(a: np.ndarray) -> np.ndarray:
        rise = (a[..., :1] - a[..., 1:])[..., kept]
        scale = rise[..., :1, :] if reference is None else rises[:, kept]
        return 100 * (rise / scale).mean(axis=-1)

    # Mirrored, as noise only drives the models apart.
    spreads = estimate(table, lambda a: np.stack(spread(mces(a)[..., 1:]), axis=-1), resampling, mirrored=True)
    left_out = [name for name, is_kept in zip(benchmark, kept, strict=True) if not is_kept]
    note = f"mCE against {'the standard model of the table' if reference is None else 'a reference'}"
    note += f"; left out, as they hardly harm it: {', '.join(left_out)}" if left_out else ""
    spans = np.stack([spreads.value, np.maximum(spreads.low, 0), np.maximum(spreads.high, 0)], axis=-1).tolist()
    range_, std = (Score(value, low, high, spreads.n, spreads.interval, note) for value, low, high in spans)
    standard, *values = mces(table.values).mean(axis=0).tolist()
    return Balance(dict(zip(benchmark, values, strict=True)), range_, std, standard)


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


def _reference_rises(reference: Reference, benchmark: Sequence[str]) -> np.ndarray:
    """How far the errors of a reference rise above its clean one, (1, corruptions)."""
    if reference.clean is None:
        raise ValueError("balance is by the relative corruption error, which needs the reference's clean error")
    entries = [name.rpartition("/")[2] for name in benchmark]
    lacking = [entry for entry in entries if entry not in reference.errors]
    if lacking:
        raise ValueError(f"the reference lacks {', '.join(lacking)}; it names {', '.join(reference.errors)}")
    return np.array([[np.mean(reference.errors[entry]) for entry in entries]]) - reference.clean
