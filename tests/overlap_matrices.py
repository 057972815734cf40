"""Matrices of overlaps for tests of what is designed from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from scuff.metrics import Overlaps, read_overlaps


def to_overlaps(values: np.ndarray, names: Sequence[str] | None = None) -> Overlaps:
    """Overlaps from the upper half of a matrix; the names are a/0, a/1, ... unless they are given."""
    values = np.triu(values, 1)
    names = [f"a/{place}" for place in range(len(values))] if names is None else names
    return read_overlaps(pd.DataFrame(values + values.T + np.eye(len(values)), names, names))


def random_overlaps(count: int, seed: int, levels: int | None = None) -> Overlaps:
    """Uniform in 0..1; with `levels`, multiples of 1 / levels below 1, so that there are ties.

    If the levels are a power of 2, sums of them are exact, and ties are, too.
    """
    draw = np.random.default_rng(seed)
    if levels is None:
        return to_overlaps(draw.random((count, count)))
    return to_overlaps(draw.integers(0, levels, (count, count)) / levels)
