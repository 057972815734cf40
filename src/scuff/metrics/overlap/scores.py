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
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from scuff.files import write_by_rename
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.long_tables import read_csv
from scuff.metrics.overlap.accuracies import COLUMNS, STANDARD, Accuracies, AccuracyTable, read_accuracies
from scuff.metrics.overlap.uncertainty import estimate
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
    matrices = []
    for pairs in (scores.value, scores.low, scores.high):
        matrix = np.eye(len(kept))
        matrix[rows, columns] = matrix[columns, rows] = np.maximum(pairs, 0)
        matrices.append(_put(matrix, names, kept))
    return Overlaps(names, *matrices, undefined, scores.interval, scores.n, accuracies.suites)  # type: ignore[call-arg, arg-type]


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


def robustness_scores(accuracies: AccuracyTable) -> pd.DataFrame:
    """What is left of each model's accuracy, R = A_c / A_clean: models x tests, the mean over seeds.

    >>> table = Accuracies(("standard", "a/fog"), ("clean", "a/fog"), np.array([[[0.9, 0.45], [0.8, 0.72]]]))
    >>> robustness_scores(table)["a/fog"].round(3).to_dict()
    {'standard': 0.5, 'a/fog': 0.9}
    """
    accuracies = read_accuracies(accuracies)
    clean = accuracies.values[..., [accuracies.column(CLEAN)]]
    _check_clean(clean, accuracies.trained_on)
    return pd.DataFrame((accuracies.values / clean).mean(axis=0), accuracies.trained_on, accuracies.tested_on)


OverlapTable: TypeAlias = Overlaps | AccuracyTable  # whatever `read_overlaps` takes


def read_overlaps(source: OverlapTable, suites: Sequence[Suite] = ()) -> Overlaps:
    """Overlaps from a table of your own, a DataFrame or a CSV file: a square matrix, or accuracies.

    A matrix has the names of the corruptions on both sides; a corruption without scores has a row and a column of empty
    cells. Accuracies have the columns of `read_accuracies`. What is read already stays as it is.

    >>> table = pd.DataFrame([[1, 0.2], [0.2, 1]], ["a/fog", "a/snow"], ["a/fog", "a/snow"])
    >>> read_overlaps(table).mean_overlap()
    0.2
    """
    if isinstance(source, Overlaps):
        return source
    if isinstance(source, Accuracies):
        return overlaps(source)
    frame: Any = source if isinstance(source, pd.DataFrame) else read_csv(source)
    if any(name in COLUMNS for name in frame):
        return overlaps(read_accuracies(frame, suites))
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
    _check_clean(accuracies.values[..., 0], accuracies.trained_on)
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


def _put(matrix: np.ndarray, names: Sequence[str], kept: Sequence[str]) -> np.ndarray:
    """The matrix of the kept names among all names, NaN elsewhere."""
    whole = np.full((len(names), len(names)), np.nan)
    places = [names.index(name) for name in kept]
    whole[np.ix_(places, places)] = matrix
    return whole


def _check_clean(clean: np.ndarray, models: Sequence[str]) -> None:
    bad = np.argwhere(clean == 0)
    if len(bad):
        raise ValueError(
            f"the model of {models[bad[0][1]]} has no right answer on clean images, with which robustness scores "
            "compare; was it trained?"
        )


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
