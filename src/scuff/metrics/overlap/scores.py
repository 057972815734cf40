"""The overlapping score: how far training with one corruption helps against another, and the other way round.

Laugros, Caplier and Ospici (ImageNet-NOC). With A[i, j] the accuracy of the model trained with i on images corrupted by
j, 0 for the standard model and for clean images:

    R[i, j] = A[i, j] / A[i, 0]                                the robustness score
    G[i, j] = (R[i, j] - R[0, j]) / (R[j, j] - R[0, j])        what i gains against j, as a share of what j itself gains
    O[i, j] = max(0, (G[i, j] + G[j, i]) / 2)                  the overlapping score
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd

from scuff.files import write_by_rename
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.long_tables import read_csv
from scuff.metrics.overlap.accuracies import (
    COLUMNS,
    STANDARD,
    Accuracies,
    AccuracyTable,
    check_clean,
    estimate,
    read_accuracies,
)
from scuff.metrics.score import Score
from scuff.suites import Suite

Use = Literal["robustness", "accuracy"]
LEAST_GAIN = 0.01  # of the robustness score: a gain below it is hardly told from the noise of 10 000 images
ROUNDING = 1e-6  # how far a matrix in a file may be off


@dataclass(frozen=True, eq=False)
class Overlaps:
    """A symmetric matrix of overlapping scores with the ends of their intervals, all (n, n); the diagonal is 1.

    A corruption in `undefined` gains next to nothing from being trained on, so that the denominator of its scores
    vanishes: its row and column are NaN, and the text says how much it gained. `interval` says how intervals were
    found; `suites` holds the suites of the addresses in `names`.
    """

    names: tuple[str, ...]
    values: np.ndarray = field(repr=False)
    low: np.ndarray = field(repr=False)
    high: np.ndarray = field(repr=False)
    undefined: Mapping[str, str] = field(default_factory=dict)
    interval: str = ""
    n: int = 0  # what intervals rest on: seeds, or images
    suites: tuple[Suite, ...] = field(default=(), repr=False)

    def index(self, name: str) -> int:
        """The place of a corruption."""
        if name not in self.names:
            raise ValueError(f"there is no overlap with {name!r}; there are {', '.join(self.names)}")
        return self.names.index(name)

    def score(self, a: str, b: str) -> Score:
        """The score of a pair. Where it is undefined it is NaN, and its note says why."""
        pair = self.index(a), self.index(b)
        note = "; ".join(self.undefined[name] for name in dict.fromkeys((a, b)) if name in self.undefined)
        value, low, high = (float(matrix[pair]) for matrix in (self.values, self.low, self.high))
        return Score(value, low, high, self.n, self.interval, note)

    def take(self, names: Sequence[str]) -> Overlaps:
        """Some of the corruptions, in the given order."""
        names = tuple(names)
        places = [self.index(name) for name in names]
        values, low, high = (matrix[np.ix_(places, places)] for matrix in (self.values, self.low, self.high))
        undefined = {name: why for name, why in self.undefined.items() if name in names}
        return replace(self, names=names, values=values, low=low, high=high, undefined=undefined)

    def defined(self) -> Overlaps:
        """Those corruptions whose scores are numbers."""
        return self.take([name for name in self.names if name not in self.undefined])

    def mean_overlap(self, names: Sequence[str] | None = None) -> float:
        """The mean over all unordered pairs; NaN if there is no pair, or an undefined one."""
        values = (self if names is None else self.take(names)).values
        pairs = values[np.triu_indices(len(values), 1)]
        return float(pairs.mean()) if len(pairs) else np.nan

    def to_frame(self) -> pd.DataFrame:
        """The scores as a square table with the names on both sides."""
        return pd.DataFrame(self.values, list(self.names), list(self.names))

    def pairs(self) -> pd.DataFrame:
        """A line per unordered pair with its interval: the columns a, b, overlap, low, high, n, interval."""
        places = np.triu_indices(len(self.names), 1)
        a, b = (np.array(self.names, dtype=object)[place] for place in places)
        ends = {"overlap": self.values[places], "low": self.low[places], "high": self.high[places]}
        return pd.DataFrame({"a": a, "b": b, **ends, "n": self.n, "interval": self.interval})

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the scores, without intervals, as a square CSV table; `read_overlaps` reads it."""
        with write_by_rename(path) as file:
            self.to_frame().to_csv(file)
        return Path(path)


def overlaps(
    accuracies: AccuracyTable,
    names: Sequence[str] | None = None,
    *,
    use: Use = "robustness",
    least_gain: float = LEAST_GAIN,
    resampling: Resampling = DEFAULT,
) -> Overlaps:
    """The overlapping scores of all pairs of corruptions, with intervals.

    Several seeds give the mean of their scores (before it is cut at 0) and Student's interval. One seed gives the
    bootstrap over test images, the same ones for all models, if the table knows which images were right.

    Parameters
    ----------
    names
        Corruptions; by default all for which there is a model and a test.
    use
        "robustness" is the paper's definition; "accuracy" puts A in place of R, as the code of Syn2Nat does.
    least_gain
        A corruption that gains less from being trained on, R[j, j] - R[0, j] on average over seeds, is undefined.

    Examples
    --------
    >>> table = np.array([[[0.9, 0.5, 0.6], [0.9, 0.8, 0.7], [0.9, 0.65, 0.8]]])
    >>> names = "a/fog", "a/snow"
    >>> matrix = overlaps(Accuracies(("standard", *names), ("clean", *names), table))
    >>> matrix.to_frame().round(3).values.tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    accuracies = read_accuracies(accuracies)
    if use not in ("robustness", "accuracy"):
        raise ValueError(f"use must be 'robustness' or 'accuracy', got {use!r}")
    names = accuracies.corruptions if names is None else tuple(names)
    if not names:
        raise ValueError("overlaps need corruptions that were both trained with and tested on; the table has none")
    undefined = _find_undefined(_square(replace(accuracies, hits=None), names), names, use, least_gain)
    kept = [name for name in names if name not in undefined]
    rows, columns = np.triu_indices(len(kept), 1)
    scores = estimate(_square(accuracies, kept), lambda a: _mean_gains(a, use)[..., rows, columns], resampling)
    places = np.array([names.index(name) for name in kept], int)

    def matrix(pairs: np.ndarray) -> np.ndarray:
        values = np.full((len(names), len(names)), np.nan)
        values[places, places] = 1
        values[places[rows], places[columns]] = values[places[columns], places[rows]] = np.maximum(pairs, 0)
        return values

    value, low, high = map(matrix, (scores.value, scores.low, scores.high))
    return Overlaps(names, value, low, high, undefined, scores.interval, scores.n, accuracies.suites)


def overlap(
    accuracies: AccuracyTable,
    a: str,
    b: str,
    *,
    use: Use = "robustness",
    least_gain: float = LEAST_GAIN,
    resampling: Resampling = DEFAULT,
) -> Score:
    """The overlapping score of two corruptions; it takes three models and three tests. Arguments as in `overlaps`.

    >>> table = np.array([[[0.9, 0.5, 0.6], [0.9, 0.8, 0.7], [0.9, 0.65, 0.8]]])
    >>> names = "a/fog", "a/snow"
    >>> float(overlap(Accuracies(("standard", *names), ("clean", *names), table), *names)).__round__(3)
    0.5
    """
    names = tuple(dict.fromkeys((a, b)))
    return overlaps(accuracies, names, use=use, least_gain=least_gain, resampling=resampling).score(a, b)


OverlapTable: TypeAlias = Overlaps | AccuracyTable  # whatever `read_overlaps` takes


def read_overlaps(source: OverlapTable, suites: Sequence[Suite] = (), *, use: Use = "robustness") -> Overlaps:
    """Overlaps from a table of your own, a DataFrame or a CSV file: a square matrix, or accuracies.

    A matrix has the names of the corruptions on both sides; a corruption without scores has a row and a column of empty
    cells. Accuracies have the columns of `read_accuracies`, and become overlaps by `use` as in `overlaps`. What is read
    already stays as it is.

    >>> table = pd.DataFrame([[1, 0.2], [0.2, 1]], ["a/fog", "a/snow"], ["a/fog", "a/snow"])
    >>> read_overlaps(table).mean_overlap()
    0.2
    """
    if isinstance(source, Overlaps):
        return source
    if isinstance(source, Accuracies):
        return overlaps(source, use=use)
    frame = source if isinstance(source, pd.DataFrame) else read_csv(source)
    if any(name in COLUMNS for name in frame):
        return overlaps(read_accuracies(frame, suites), use=use)
    if use != "robustness":
        raise ValueError(f"overlaps by {use} follow from accuracies; this is a matrix of overlaps already")
    if not isinstance(source, pd.DataFrame) or len(frame.columns) == len(frame) + 1:  # first column: names
        frame = frame.set_index(frame.columns[0])
    names = tuple(map(str, frame.index))
    if names != tuple(map(str, frame.columns)) or len(set(names)) < len(names) or not names:
        raise ValueError(
            f"a matrix of overlaps is square, with the same names in the same order on both sides, each once; got "
            f"rows {', '.join(names) or 'of nothing'} and columns {', '.join(map(str, frame.columns)) or 'of nothing'}"
        )
    try:
        values = frame.to_numpy(float)
    except ValueError as error:
        raise ValueError(f"overlaps are numbers: {error}") from error
    empty = np.isnan(values).all(axis=1)
    _check_matrix(values, empty, names)
    values = (values + values.T) / 2  # without what the file rounded
    np.fill_diagonal(values, np.where(empty, np.nan, 1))
    undefined = {name: f"the matrix has no scores of {name}" for name, none in zip(names, empty, strict=True) if none}
    ends = np.where(np.eye(len(names)) > 0, values, np.nan)  # the diagonal is 1 by definition
    return Overlaps(names, values, ends, ends, undefined, "no intervals in a matrix that was read", 0, tuple(suites))


# --- agreement of two matrices, such as those of two seeds, recipes or networks -------------------------------------


@dataclass(frozen=True)
class Agreement:
    """How far two matrices of overlaps agree, over the pairs of corruptions for which both have a score.

    >>> print(Agreement(28, 0.98, 0.95, 0.01, 0.07, ("fog", "snow"), 0.964, 0.1))
    28 pairs: Pearson 0.98, Spearman 0.95; mean difference 0.01, largest 0.07 (fog, snow); 96 % on the same side of 0.1
    """

    pairs: int
    pearson: float
    spearman: float
    mean_difference: float  # of absolute values
    largest_difference: float
    largest_pair: tuple[str, str]
    same_side: float  # the share of pairs that are below the threshold in both, or in neither
    threshold: float

    def __str__(self) -> str:
        return (
            f"{self.pairs} pairs: Pearson {self.pearson:.2f}, Spearman {self.spearman:.2f}; mean difference "
            f"{self.mean_difference:.2f}, largest {self.largest_difference:.2f} ({', '.join(self.largest_pair)}); "
            f"{100 * self.same_side:.0f} % on the same side of {self.threshold:g}"
        )


def agreement(a: OverlapTable, b: OverlapTable, threshold: float = 0.1) -> Agreement:
    """Compare two matrices pair by pair. Correlations are NaN where all scores of a matrix are the same.

    The threshold is that of a design: pairs on the same side of it make the same graph, and so the same benchmark.

    >>> names = ["fog", "snow", "rain"]
    >>> first = pd.DataFrame([[1, 0.5, 0], [0.5, 1, 0.2], [0, 0.2, 1]], names, names)
    >>> second = pd.DataFrame([[1, 0.6, 0], [0.6, 1, 0.2], [0, 0.2, 1]], names, names)
    >>> print(agreement(first, second))
    3 pairs: Pearson 1.00, Spearman 1.00; mean difference 0.03, largest 0.10 (fog, snow); 100 % on the same side of 0.1
    """
    a, b = read_overlaps(a).defined(), read_overlaps(b).defined()
    names = [name for name in a.names if name in b.names]
    if len(names) < 2:
        raise ValueError(f"two matrices are compared on the corruptions of both, at least two; they share {len(names)}")
    pairs = list(combinations(names, 2))
    x, y = (np.array([matrix.score(*pair).value for pair in pairs]) for matrix in (a, b))
    off = np.abs(x - y)
    return Agreement(
        pairs=len(pairs),
        pearson=_correlate(x, y),
        spearman=_correlate(*(pd.Series(v).rank().to_numpy() for v in (x, y))),
        mean_difference=float(off.mean()),
        largest_difference=float(off.max()),
        largest_pair=pairs[off.argmax()],
        same_side=float(np.mean((x < threshold) == (y < threshold))),
        threshold=threshold,
    )


def _correlate(x: np.ndarray, y: np.ndarray) -> float:
    return np.nan if np.ptp(x) == 0 or np.ptp(y) == 0 else float(np.corrcoef(x, y)[0, 1])


# --- the arithmetic -------------------------------------------------------------------------------------------------


def _square(accuracies: Accuracies, names: Sequence[str]) -> Accuracies:
    """The standard model and those of the names, on clean images and on the names."""
    return accuracies.take((STANDARD, *names), (CLEAN, *names))


def _gains(a: np.ndarray, use: Use) -> np.ndarray:
    """R[i, j] - R[0, j] of the corruptions i and j, from (..., 1 + n, 1 + n) accuracies."""
    r = a / a[..., :1] if use == "robustness" else a
    return r[..., 1:, 1:] - r[..., :1, 1:]


def _mean_gains(a: np.ndarray, use: Use) -> np.ndarray:
    """(G + Gᵀ) / 2, before it is cut at 0."""
    gains = _gains(a, use)
    shares = gains / np.diagonal(gains, axis1=-2, axis2=-1)[..., None, :]
    return (shares + np.swapaxes(shares, -1, -2)) / 2


def _find_undefined(accuracies: Accuracies, names: Sequence[str], use: Use, least_gain: float) -> dict[str, str]:
    """The corruptions that gain too little from being trained with, and a sentence about each."""
    check_clean(accuracies.values[..., 0], accuracies.trained_on)
    gains = np.diagonal(_gains(accuracies.values, use), axis1=-2, axis2=-1)
    what = "robustness score" if use == "robustness" else "accuracy"
    undefined = {}
    for name, gain, least in zip(names, gains.mean(axis=0), gains.min(axis=0), strict=True):
        text = f"training with {name} raises the {what} on it by {gain:.4f}"
        if gain < least_gain:
            undefined[name] = f"{text}, less than {least_gain:g}: too little to divide by"
        elif least <= 0:
            undefined[name] = f"{text}, but by {least:.4f} with one of the seeds: nothing to divide by"
    return undefined


def _check_matrix(values: np.ndarray, empty: np.ndarray, names: Sequence[str]) -> None:
    both = empty[:, None] | empty
    for bad, what in (
        (~both & ~np.isfinite(values), "is not a number; a corruption without scores has an empty row and column"),
        (both & ~np.isnan(values), "is a number, but one of the two has an empty row"),
        (~both & ~np.isclose(values, values.T, 0, ROUNDING), "is not the same the other way round"),
        (~both & (np.eye(len(names)) > 0) & ~np.isclose(values, 1, 0, ROUNDING), "is on the diagonal and must be 1"),
        (values < 0, "is below 0"),
    ):
        if bad.any():
            a, b = np.argwhere(bad)[0]
            raise ValueError(f"the overlap of {names[a]} and {names[b]}, {values[a, b]:g}, {what}")
