"""Accuracies of models that were each trained on some corruption, tested on images with each corruption.

Overlap, coverage and balance are functions of this table, and `estimate` gives all of them their intervals: Student's
over seeds, or the bootstrap over test images. A study makes a table; one of your own will do:

    trained_on,tested_on,seed,accuracy
    standard,clean,0,0.94
    standard,noc-candidates/rain,0,0.71
    noc-candidates/rain,clean,0,0.93
    ...
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pandas as pd

from scuff.metrics.evaluation.tables import CLEAN as CLEAN
from scuff.metrics.intervals import DEFAULT, Resampling, percent, resample_means, student_half_width
from scuff.metrics.long_tables import read_long
from scuff.suites import Suite

STANDARD = "standard"  # the model that was trained on clean images only
COLUMNS = ("trained_on", "tested_on", "accuracy")
VALUES = 1 << 24  # of a block of columns: 128 MiB. This bounds the memory; results do not depend on it


@dataclass(frozen=True, eq=False)
class Accuracies:
    """Shares of right predictions, `values[s, i, j]`: seed s, the model trained with i, images corrupted by j.

    Corruptions are named by their addresses, `suite/entry`. Row `standard` is the model trained on clean images, column
    `clean` are clean images. `hits`, where it is known, says for every image whether it was right, (seeds, rows,
    columns, images); intervals rest on it if there is only one seed. `suites` holds the suites of the addresses.

    >>> table = Accuracies(("standard", "a/fog"), ("clean", "a/fog"), np.array([[[0.9, 0.5], [0.9, 0.8]]]))
    >>> table.corruptions, float(table.of("standard", "a/fog")[0])
    (('a/fog',), 0.5)
    """

    trained_on: tuple[str, ...]
    tested_on: tuple[str, ...]
    values: np.ndarray = field(repr=False)
    seeds: tuple[int, ...] = (0,)
    hits: np.ndarray | None = field(default=None, repr=False)
    images: int | None = None
    suites: tuple[Suite, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        shape = (len(self.seeds), len(self.trained_on), len(self.tested_on))
        if self.values.shape != shape:
            raise ValueError(f"expected accuracies (seeds, models, tests) = {shape}, got {self.values.shape}")
        if self.hits is not None and self.hits.shape[:3] != shape:
            raise ValueError(f"expected hits (seeds, models, tests, images) = {(*shape, '...')}, got {self.hits.shape}")
        for what, names in (("models", self.trained_on), ("tests", self.tested_on)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"these {what} occur twice: {', '.join(twice)}")
        bad = ~((self.values >= 0) & (self.values <= 1))
        if bad.any():
            _, row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"accuracies are shares from 0 to 1, got {self.values[bad][0]} for the model of "
                f"{self.trained_on[row]} on {self.tested_on[column]}"
            )

    @property
    def corruptions(self) -> tuple[str, ...]:
        """Those for which there is both a model trained with them, and a test."""
        return tuple(name for name in self.trained_on if name in self.tested_on)

    def of(self, trained_on: str, tested_on: str) -> np.ndarray:
        """The accuracies of one model on one test, one per seed."""
        return self.values[:, self.row(trained_on), self.column(tested_on)]

    def row(self, trained_on: str) -> int:
        """The place of a model."""
        return _place(self.trained_on, trained_on, "model trained with")

    def column(self, tested_on: str) -> int:
        """The place of a test."""
        return _place(self.tested_on, tested_on, "test on")

    def take(self, trained_on: Sequence[str], tested_on: Sequence[str]) -> Accuracies:
        """Some of the models and tests, in the given order."""
        rows, columns = [self.row(name) for name in trained_on], [self.column(name) for name in tested_on]
        chosen = np.ix_(range(len(self.seeds)), rows, columns)
        hits = None if self.hits is None else self.hits[chosen]
        return Accuracies(
            tuple(trained_on), tuple(tested_on), self.values[chosen], self.seeds, hits, self.images, self.suites
        )

    def to_frame(self) -> pd.DataFrame:
        """One line per seed, model and test: the columns trained_on, tested_on, seed, accuracy."""
        names = [self.seeds, self.trained_on, self.tested_on]
        index = pd.MultiIndex.from_product(names, names=["seed", "trained_on", "tested_on"])
        frame = pd.Series(self.values.ravel(), index, name="accuracy").reset_index()
        return frame[["trained_on", "tested_on", "seed", "accuracy"]]


AccuracyTable: TypeAlias = Accuracies | pd.DataFrame | str | os.PathLike[str]  # whatever `read_accuracies` takes


def read_accuracies(source: AccuracyTable, suites: Sequence[Suite] = ()) -> Accuracies:
    """A table from a DataFrame or a CSV file with the columns trained_on, tested_on, accuracy, and seed if several.

    Every model must have been tested on everything, with every seed. What is read already stays as it is.

    >>> frame = pd.DataFrame({"trained_on": ["standard"] * 2, "tested_on": ["clean", "a/fog"], "accuracy": [0.9, 0.5]})
    >>> read_accuracies(frame).values.tolist()
    [[[0.9, 0.5]]]
    """
    if isinstance(source, Accuracies):
        return source
    axes = ["seed"], ["trained_on"], ["tested_on"]
    keys, (values,) = read_long(source, "accuracies", axes, ["accuracy"], optional="seed", whole=["seed"])
    seeds, rows, columns = (tuple(name for (name,) in axis) for axis in keys)
    return Accuracies(rows, columns, values, tuple(map(int, seeds)), suites=tuple(suites))


def robustness_scores(accuracies: AccuracyTable) -> pd.DataFrame:
    """What is left of each model's accuracy, R = A_c / A_clean: models x tests, the mean over seeds.

    >>> table = Accuracies(("standard", "a/fog"), ("clean", "a/fog"), np.array([[[0.9, 0.45], [0.8, 0.72]]]))
    >>> robustness_scores(table)["a/fog"].round(3).to_dict()
    {'standard': 0.5, 'a/fog': 0.9}
    """
    accuracies = read_accuracies(accuracies)
    clean = accuracies.values[..., [accuracies.column(CLEAN)]]
    check_clean(clean, accuracies.trained_on)
    return pd.DataFrame((accuracies.values / clean).mean(axis=0), accuracies.trained_on, accuracies.tested_on)


def check_clean(clean: np.ndarray, models: Sequence[str]) -> None:
    """Refuse a model that is always wrong on clean images: its robustness is not defined."""
    bad = np.argwhere(clean == 0)
    if len(bad):
        raise ValueError(
            f"the model of {models[bad[0][1]]} has no right answer on clean images, with which robustness scores "
            "compare; was it trained?"
        )


@dataclass(frozen=True, eq=False)
class Estimated:
    """Several statistics of one table, and the ends of their intervals: arrays of one shape."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: int  # seeds, or images
    interval: str


def estimate(
    accuracies: Accuracies,
    statistic: Callable[[np.ndarray], np.ndarray],
    resampling: Resampling = DEFAULT,
    mirrored: bool = False,
) -> Estimated:
    """Statistics of accuracies (..., models, tests), as one array (..., k), with their intervals.

    Several seeds: the mean of what each seed gives, and Student's interval of that mean; it holds the randomness of
    training. One seed: the bootstrap over test images, all models and tests on the same ones; it does not. One seed of
    which it is not known which images were right: NaN. `mirrored` as in `metrics.estimate.Estimate`.

    >>> values = np.array([[[0.9, 0.5]], [[0.9, 0.6]], [[0.9, 0.7]]])
    >>> scores = estimate(Accuracies(("standard",), ("clean", "a/fog"), values, (0, 1, 2)), lambda a: a[..., 0, 1:])
    >>> scores.value.round(3).tolist(), scores.high.round(3).tolist(), scores.interval
    ([0.6], [0.848], 'Student t over seeds 95 %, 3 seeds')
    """
    each = statistic(accuracies.values)
    value, seeds, images = each.mean(axis=0), len(each), 0 if accuracies.hits is None else accuracies.hits.shape[-1]
    if seeds > 1:
        half = student_half_width(each, resampling.level)
        interval = f"Student t over seeds {percent(resampling.level)}, {seeds} seeds"
        return Estimated(value, value - half, value + half, seeds, interval)
    if accuracies.hits is None or images < 2:
        why = "one image" if images else "without a record of which images were right"
        return Estimated(value, value * np.nan, value * np.nan, 1, f"no interval: one seed, {why}")
    resampled = _resample(accuracies.hits[0], statistic, resampling)
    tail = (1 - resampling.level) / 2
    ends = np.nanquantile(np.where(np.isfinite(resampled), resampled, np.nan), [tail, 1 - tail], axis=0)
    low, high = ends.reshape(2, *value.shape)  # which numpy forgets if there are no statistics
    if mirrored:
        low, high = 2 * value - high, 2 * value - low
    return Estimated(value, low, high, images, f"{resampling}, without the randomness of training")


def _resample(hits: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], resampling: Resampling) -> np.ndarray:
    """The statistics of all resamples, (count, k), from hits (models, tests, images)."""
    models, tests, images = hits.shape
    rows = hits.reshape(models * tests, images)
    means = np.empty((resampling.count, len(rows)))
    step = max(1, VALUES // images)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        means[:, part] = resample_means(rows[part].T.astype(float), resampling)  # the same images for every part
    blocks = np.array_split(means, math.ceil(means.size / VALUES))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.concatenate([statistic(block.reshape(-1, models, tests)) for block in blocks])


def _place(names: tuple[str, ...], name: str, what: str) -> int:
    if name not in names:
        raise ValueError(f"there is no {what} {name!r}; there are {', '.join(names)}")
    return names.index(name)
