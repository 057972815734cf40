"""Is a benchmark complete, and is it fair? Coverage and balance.

**Coverage**: which corruptions would a benchmark have noticed, though it does not hold them? By overlaps: those that
overlap enough with one of the benchmark. Directly: those against which training with the whole benchmark helps.

**Balance**: does a benchmark weigh all kinds of robustness alike? Each model was trained with one corruption of the
benchmark, which makes it robust to that one and whatever overlaps with it. If some of these models come out of the
benchmark far better than others, some kinds of robustness count more often than others. So a benchmark is balanced if
their mCE lie close together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scuff.metrics.evaluation.comparison import OVERALL
from scuff.metrics.evaluation.references import Reference
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.overlap.accuracies import (
    STANDARD,
    Accuracies,
    AccuracyTable,
    estimate,
    read_accuracies,
    robustness_scores,
)
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
    as_paper: bool = False,
    resampling: Resampling = DEFAULT,
) -> pd.DataFrame:
    """What training with a whole benchmark does against other corruptions: robustness scores with it and without.

    A table of corruption, standard (the score R = A_c / A_clean of the model trained on clean images), trained (of the
    model trained with the benchmark), difference, low, high, helped, harmed, n and interval. Training helped if the
    interval of the difference lies above 0, and harmed if it lies below; neither is so where there is no interval.

    Parameters
    ----------
    model
        The row of the model trained with the whole benchmark.
    tests
        Corruptions; by default all of the table.
    as_paper
        As the paper does, count by the difference alone: helped if it is above 0, harmed if it is below.

    Examples
    --------
    >>> table = np.array([[[0.9, 0.45, 0.81], [0.8, 0.72, 0.64]]])
    >>> table = Accuracies(("standard", "all:noc"), ("clean", "a/fog", "a/hue"), table)
    >>> found = direct_coverage(table, "all:noc", as_paper=True)
    >>> found[["corruption", "difference", "helped"]].round(3).values.tolist()
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
    table |= {"difference": gain.value, "low": gain.low, "high": gain.high}
    low, high = (gain.value, gain.value) if as_paper else (gain.low, gain.high)
    return pd.DataFrame({**table, "helped": low > 0, "harmed": high < 0, "n": gain.n, "interval": gain.interval})


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
    reference: Reference | str | None = None,
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
        Errors E* by the name of the entry, such as `load_reference("alexnet", "imagenet-noc")`, or a model of the
        table, whose errors of the same seed count. By default its standard model.

    Examples
    --------
    >>> table = np.array([[[0.9, 0.4, 0.6], [0.9, 0.8, 0.7], [0.9, 0.4, 0.8]]])
    >>> names = "a/fog", "a/snow"
    >>> result = balance(Accuracies(("standard", *names), ("clean", *names), table), names)
    >>> {name: round(value, 1) for name, value in result.mces.items()}, round(result.range.value, 1)
    ({'a/fog': 43.3, 'a/snow': 66.7}, 23.3)
    """
    errors = _relative_errors(accuracies, (STANDARD, *benchmark), benchmark, reference)

    def mces(a: np.ndarray) -> np.ndarray:
        return errors.ces(a)[..., errors.kept].mean(axis=-1)

    # Mirrored, as noise only drives the models apart.
    spreads = estimate(errors.table, lambda a: np.stack(spread(mces(a)[..., 1:]), axis=-1), resampling, mirrored=True)
    spans = np.stack([spreads.value, np.maximum(spreads.low, 0), np.maximum(spreads.high, 0)], axis=-1).tolist()
    range_, std = (Score(value, low, high, spreads.n, spreads.interval, errors.note) for value, low, high in spans)
    standard, *values = mces(errors.table.values).mean(axis=0).tolist()
    return Balance(dict(zip(benchmark, values, strict=True)), range_, std, standard)


def ce_table(
    accuracies: AccuracyTable,
    benchmark: Sequence[str],
    models: Sequence[str] | None = None,
    reference: Reference | str | None = None,
    *,
    resampling: Resampling = DEFAULT,
) -> pd.DataFrame:
    """The relative CE (percent) of models on every corruption of a benchmark, as in tables 1, 7 and 8 of the NOC paper.

    A table of model, corruption, value, low, high, n, interval and note; the corruption "all" is the mCE. Where a
    corruption hardly harms the reference, the CE is NaN, and the mCE goes without it, as in `balance`.

    Parameters
    ----------
    models
        Models of the table; by default the standard one, and those trained with a corruption of the benchmark.
    reference
        As for `balance`.

    Examples
    --------
    >>> table = np.array([[[0.9, 0.4, 0.6], [0.9, 0.8, 0.7], [0.9, 0.4, 0.8]]])
    >>> names = "a/fog", "a/snow"
    >>> found = ce_table(Accuracies(("standard", *names), ("clean", *names), table), names, ["a/fog"])
    >>> found[["corruption", "value"]].round(1).values.tolist()
    [['a/fog', 20.0], ['a/snow', 66.7], ['all', 43.3]]
    """
    accuracies = read_accuracies(accuracies)
    if models is None:
        models = [STANDARD, *(name for name in benchmark if name in accuracies.trained_on)]
    errors = _relative_errors(accuracies, tuple(models), benchmark, reference)

    def ces(a: np.ndarray) -> np.ndarray:
        each = np.where(errors.kept, errors.ces(a), 0)
        mean = each.sum(axis=-1, keepdims=True) / errors.kept.sum()
        return np.concatenate([each, mean], axis=-1).reshape(*a.shape[:-2], -1)

    found = estimate(errors.table, ces, resampling)
    is_defined = np.tile([*errors.kept, True], len(models))
    ends = {"value": found.value, "low": found.low, "high": found.high}
    numbers = {name: np.where(is_defined, each, np.nan) for name, each in ends.items()}
    keys = pd.MultiIndex.from_product([models, [*benchmark, OVERALL]], names=["model", "corruption"])
    about = {"n": found.n, "interval": found.interval, "note": errors.note}
    return pd.DataFrame({**numbers, **about}, keys).reset_index()


@dataclass(frozen=True, eq=False)
class _RelativeErrors:
    """Accuracies of models and of the reference; `ces` gives the CE of the models: (..., models, corruptions)."""

    table: Accuracies
    ces: Callable[[np.ndarray], np.ndarray]
    kept: np.ndarray  # corruptions that harm the reference enough
    note: str


def _relative_errors(
    accuracies: AccuracyTable, models: Sequence[str], benchmark: Sequence[str], reference: Reference | str | None
) -> _RelativeErrors:
    if not benchmark:
        raise ValueError("corruption errors need the corruptions of a benchmark, got none")
    name = STANDARD if reference is None else reference
    added = [name] if isinstance(name, str) and name not in models else []
    table = read_accuracies(accuracies).take((*models, *added), (CLEAN, *benchmark))
    place = table.row(name) if isinstance(name, str) else None

    def rises(a: np.ndarray) -> np.ndarray:  # how far errors rise above the clean one
        return a[..., :1] - a[..., 1:]

    scale = _reference_rises(name, benchmark) if isinstance(name, Reference) else rises(table.values)[:, place]
    kept = (scale.mean(axis=0) >= LEAST_RISE) & (scale.min(axis=0) > 0)
    if not kept.any():
        raise ValueError(f"no corruption of the benchmark raises the error of the reference by {LEAST_RISE:g} or more")

    def ces(a: np.ndarray) -> np.ndarray:
        rise = rises(a)
        with np.errstate(divide="ignore", invalid="ignore"):  # of corruptions that are left out
            return 100 * rise[..., : len(models), :] / (scale if place is None else rise[..., [place], :])

    left_out = [name for name, is_kept in zip(benchmark, kept, strict=True) if not is_kept]
    against = "a reference" if place is None else f"the {'standard model' if name == STANDARD else f'model of {name}'}"
    note = f"mCE against {against}{'' if place is None else ' of the table'}"
    note += f"; left out, as they hardly harm it: {', '.join(left_out)}" if left_out else ""
    return _RelativeErrors(table, ces, kept, note)


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
