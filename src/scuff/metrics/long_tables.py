"""Long tables: a line per value, whose other columns are its keys. They are read into arrays with an axis per key."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd

Place = str | os.PathLike[str]

# Before version 3, pandas reads numbers a bit off unless it is told not to; after, it is exact and must not be told.
EXACT_NUMBERS: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}


def read_long(
    source: pd.DataFrame | Place,
    what: str,
    axes: Sequence[Sequence[str]],
    values: Sequence[str],
    *,
    optional: str,
    whole: Collection[str],
    numbers: Collection[str] = (),
    ascending: Collection[str] = (),
) -> tuple[list[list[tuple]], list[np.ndarray]]:
    """The keys of every axis, and an array of each of the values, from a DataFrame or a CSV file.

    Parameters
    ----------
    what
        What errors call the values.
    axes
        The columns that make up each axis; several are combined as they occur.
    optional
        A column that may be absent if it would be 0 everywhere.
    whole, numbers
        Columns of whole numbers and of any numbers; the values are numbers, the others are words.
    ascending
        Columns whose axes are sorted; others keep the order of the table.

    Examples
    --------
    >>> frame = pd.DataFrame({"model": ["b", "b", "a", "a"], "noise": [1, 0, 1, 0], "score": [0.3, 0.4, 0.1, 0.2]})
    >>> axes, options = (["run"], ["model"], ["noise"]), {"optional": "run", "whole": ["run"], "ascending": ["noise"]}
    >>> keys, (scores,) = read_long(frame, "scores", axes, ["score"], **options)
    >>> keys[1:], scores.tolist()
    ([[('b',), ('a',)], [(0,), (1,)]], [[[0.4, 0.3], [0.2, 0.1]]])
    """
    keys = list(chain(*axes))
    if isinstance(source, pd.DataFrame):
        frame: pd.DataFrame = source
    else:  # a model called NA or 121 is neither missing nor a number
        words = [key for key in keys if key not in (*whole, *numbers)]
        missing_as = {value: ["", "NA", "nan", "NaN"] for value in values}
        frame = read_csv(source, dtype=dict.fromkeys(words, str), keep_default_na=False, na_values=missing_as)
    needed = [name for name in (*keys, *values) if name != optional]
    lacking = [name for name in needed if name not in frame]
    if lacking:
        raise ValueError(
            f"a table of {what} needs the columns {', '.join(needed)}, and {optional} if there are several; missing: "
            f"{', '.join(lacking)}"
        )
    if frame.empty:
        raise ValueError(f"the table of {what} is empty")
    repeated = [name for name in (*keys, *values) if list(frame.columns).count(name) > 1]
    if repeated:
        raise ValueError(f"the table of {what} has more than one column {repeated[0]}")
    frame = frame if optional in frame else frame.assign(**{optional: 0})
    for column in (*whole, *numbers, *values):
        kinds, kind = ("iu", "whole numbers") if column in whole else ("fiu", "numbers")
        if frame[column].dtype.kind not in kinds:
            raise ValueError(f"the column {column} must hold {kind}, got {frame[column].iloc[0]!r} among them")
    twice = frame.duplicated(keys)
    if twice.any():
        raise ValueError(f"a line of the table of {what} occurs twice: {_words(keys, frame.loc[twice, keys].iloc[0])}")
    known = [list(dict.fromkeys(zip(*(frame[key] for key in axis), strict=True))) for axis in axes]
    known = [sorted(axis) if axes[place][0] in ascending else axis for place, axis in enumerate(known)]
    index = pd.MultiIndex.from_tuples([tuple(chain(*parts)) for parts in product(*known)], names=keys)
    wide = frame.set_index(keys)[list(values)].reindex(index)
    missing = wide.isna().any(axis=1)
    if missing.any():
        first = _words(keys, wide.index[missing][0])
        raise ValueError(f"{missing.sum()} of {len(wide)} {what} are missing, the first for {first}")
    return known, [wide[value].to_numpy(float).reshape([len(axis) for axis in known]) for value in values]


def read_csv(path: Any, **options: Any) -> pd.DataFrame:
    """A CSV file as a table; one that is none is a ValueError that names it."""
    try:
        return pd.read_csv(path, **EXACT_NUMBERS, **options)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read {path} as a CSV table: {error}") from error


def _words(keys: Sequence[str], values: Sequence[Any]) -> str:
    """What a line of the table is about."""
    return ", ".join(f"{key} {value}" for key, value in zip(keys, values, strict=True))
