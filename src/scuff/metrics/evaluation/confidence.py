"""Calibration: whether a model that is 80 % sure is right 80 % of the time."""

from __future__ import annotations

import numpy as np
import pandas as pd

from scuff.metrics.estimate import Estimate, Group, scored
from scuff.metrics.evaluation.tables import Cells, Rows, read_cells
from scuff.metrics.intervals import DEFAULT, Resampling, wilson


@scored
def ece(rows: Rows, bins: int = 15, *, resampling: Resampling = DEFAULT) -> Estimate:
    """The expected calibration error, a fraction: Σ_b (n_b / n) · |confidence_b - accuracy_b|; 0 is calibrated.

    Over all rows that are given, clean and corrupted alike, in `bins` bins of equal width, (k / bins, (k + 1) / bins].
    Noise can only raise it: with few images a calibrated model has an ECE well above 0, and resamples lie higher still.
    So the interval is mirrored at the value, and cut at 0 and 1. Where it would lie below the value, it ends at the
    value: that says that the value is mostly noise.

    >>> from scuff.metrics import example_rows
    >>> print(ece(example_rows()))
    0.219 [0.195, 0.245] (n = 200; bootstrap over images 95 %)
    """
    # A column per bin, to which an image adds confidence - right for each of its cells there: their means add up.
    cells = read_cells(rows)
    bin_of = _bins(cells, bins)
    columns = np.zeros((len(cells.images), bins))
    assert cells.confidence is not None
    for cell in range(len(cells.keys)):
        gap = cells.confidence[cell] - ~cells.wrong[cell]
        columns[np.arange(len(columns)), bin_of[cell]] += gap  # each image falls into one bin: no index occurs twice
    group = Group(columns / len(cells.keys), cells.images, cells.source)
    return Estimate((group,), lambda m: np.abs(m).sum(axis=-1), mirrored=True, limits=(0.0, 1.0))


def reliability(rows: Rows, bins: int = 15, *, level: float = 0.95) -> pd.DataFrame:
    """The bins of the ECE: their limits, how many rows they hold, mean confidence, and accuracy with Wilson's interval.

    Several cells of one image are counted as if they were independent, so with corrupted rows the intervals are too
    narrow. Empty bins are NaN.

    >>> from scuff.metrics import example_rows
    >>> table = reliability(example_rows(), bins=4)
    >>> table["count"].tolist()
    [7, 66, 186, 741]
    """
    cells = read_cells(rows)
    bin_of = _bins(cells, bins).ravel()
    right = np.bincount(bin_of, weights=~cells.wrong.ravel(), minlength=bins)
    count = np.bincount(bin_of, minlength=bins)
    assert cells.confidence is not None
    sure = np.bincount(bin_of, weights=cells.confidence.ravel(), minlength=bins)
    some = np.where(count, count, np.nan)
    low, high = wilson(right, some, level)
    edges = np.arange(bins + 1) / bins
    empty = count == 0
    return pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "count": count,
            "confidence": sure / some,
            "accuracy": right / some,
            "low": np.where(empty, np.nan, low),
            "high": np.where(empty, np.nan, high),
        }
    )


def _bins(cells: Cells, bins: int) -> np.ndarray:
    if cells.confidence is None:
        raise ValueError("the rows lack the column confidence, on which calibration rests")
    sure = cells.confidence.astype(float)
    if not ((sure >= 0) & (sure <= 1 + 1e-6)).all():
        raise ValueError("confidence must be a probability between 0 and 1; found values outside, or NaN")
    return np.clip(np.ceil(sure * bins).astype(np.int64) - 1, 0, bins - 1)
