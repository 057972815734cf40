"""Means over seeds with their intervals."""

from __future__ import annotations

import math

import pandas as pd

from scuff.metrics.intervals import student_half_width

INTERVALS = "Student's over seeds, 95 %; none where there is one seed."


def over_seeds(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """The mean of a column for every value of another: the columns `by`, value, low, high, n.

    >>> table = pd.DataFrame({"size": [1, 1, 2], "error": [0.2, 0.4, 0.1]})
    >>> over_seeds(table, "size", "error").round(3).values.tolist()
    [[1.0, 0.3, -0.971, 1.571, 2.0], [2.0, 0.1, nan, nan, 1.0]]
    """
    rows = []
    for key, values in table.groupby(by)[column]:
        half = float(student_half_width(values.to_numpy(float))) if len(values) > 1 else math.nan
        rows.append((key, values.mean(), values.mean() - half, values.mean() + half, len(values)))
    return pd.DataFrame(rows, columns=[by, "value", "low", "high", "n"])
