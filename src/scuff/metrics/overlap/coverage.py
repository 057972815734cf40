"""Coverage: which corruptions would a benchmark have noticed, though it does not hold them?

Two answers. By overlaps: a corruption is covered if it overlaps enough with one of the benchmark. Directly: train with
the whole benchmark, and look whether that helps against the corruption.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.overlap.accuracies import STANDARD, AccuracyTable, read_accuracies
from scuff.metrics.overlap.scores import Overlaps, OverlapTable, read_overlaps, robustness_scores
from scuff.metrics.overlap.uncertainty import estimate


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
    gain = estimate(two, _difference, resampling)
    table = {"corruption": tests, "standard": scores.loc[STANDARD].to_numpy(), "trained": scores.loc[model].to_numpy()}
    table |= {"difference": gain.value, "low": gain.low, "high": gain.high, "helped": gain.value > 0}
    return pd.DataFrame({**table, "n": gain.n, "interval": gain.interval})


def _nearest(overlaps: Overlaps, members: Sequence[str], other: str, threshold: float) -> tuple:
    if other in overlaps.undefined:
        return other, "", np.nan, np.nan, np.nan, False, False
    scores = [overlaps.score(member, other) for member in members]
    best = max(range(len(members)), key=lambda k: scores[k].value)
    value, low, high = scores[best].value, scores[best].low, scores[best].high
    covered = value > threshold
    certain = low > threshold if covered else all(score.high < threshold for score in scores)
    return other, members[best], value, low, high, covered, certain


def _difference(a: np.ndarray) -> np.ndarray:
    r = a[..., 1:] / a[..., :1]
    return r[..., 1, :] - r[..., 0, :]
