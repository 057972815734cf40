"""Tables: a row per point, a column per feature, and one column of classes."""

from __future__ import annotations

import csv
import difflib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scuff.data.labelled_arrays import check_given, number_classes
from scuff.words import name_some

if TYPE_CHECKING:
    import pandas as pd

LABEL_COLUMNS = ("label", "class", "target", "y")


def read_table(path: Path, label: str | None = None) -> pd.DataFrame:
    """A CSV file with the names of its columns in the first line, among them `label`, if it is known."""
    import pandas as pd

    _check_first_line(path, _first_line(path), label)
    table = _read_csv(path, na_values=[""], low_memory=False)
    if not table.index.equals(pd.RangeIndex(len(table))):  # pandas takes the first cells for names of rows
        raise ValueError(f"{path}: rows have more cells than the first line has names; look for commas at their ends")
    names = [*map(str, table.columns)]
    unnamed = [name for name in names if name.startswith("Unnamed: ")]
    if unnamed:
        raise ValueError(
            f"{path}: column {names.index(unnamed[0])} has no name; if it holds row numbers, take it out (pandas: "
            "to_csv(..., index=False)), else give it a name"
        )
    return table


def split_table(
    name: str, table: pd.DataFrame, label: str
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """The features (n, d) of a table in float64, its labels, the classes' names, and the features' names.

    >>> import pandas as pd
    >>> split_table("doctest", pd.DataFrame({"size": [1, 2], "class": ["safe", "bad"]}), "class")
    (array([[1.],
           [2.]]), array([1, 0]), ('bad', 'safe'), ('size',))
    """
    columns = [*map(str, table.columns)]
    twice = [column for column, count in Counter(columns).items() if count > 1]
    if twice:
        raise ValueError(f"{name}: every column needs a name of its own, got {name_some(twice, 5)} more than once")
    features = tuple(column for column in columns if column != label)
    if not features:
        raise ValueError(f"{name}: expected columns of features beside the classes in {label!r}, found none")
    if not len(table):
        raise ValueError(f"{name} has no rows")
    place = columns.index(label)
    rest = table.iloc[:, [*range(place), *range(place + 1, len(columns))]]
    if all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in rest.dtypes):
        x = rest.to_numpy(np.float64)  # at once, as there may be very many columns
    else:
        x = np.stack([_numbers(name, rest.iloc[:, k], feature) for k, feature in enumerate(features)], axis=1)
    labels, class_names = _classes(f"{name}, column {label!r}", table.iloc[:, place])
    return x, labels, class_names, features


def label_column(name: str, table: pd.DataFrame, label: str | None) -> str:
    """The column with the classes: the one that was named, one that is called like it, or the last.

    >>> import pandas as pd
    >>> label_column("doctest", pd.DataFrame(columns=["Target", "size"]), None)
    'Target'
    """
    columns = [*map(str, table.columns)]
    candidates = _called(columns, label)
    if label is not None and not candidates:
        near = difflib.get_close_matches(label, columns, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"{name} has no column {label!r}; {hint}It has {name_some(columns, 5)}")
    if not columns:
        raise ValueError(f"{name} has no columns")
    if len(candidates) > 1:
        raise ValueError(
            f"{name}: which of {name_some(candidates, 5)} holds the classes? Name it as the label (--label)"
        )
    return candidates[0] if candidates else columns[-1]


def _called(columns: Sequence[str], label: str | None) -> list[str]:
    """The columns whose names say that they hold the classes."""
    return [column for column in columns if (column.lower() in LABEL_COLUMNS if label is None else column == label)]


def _first_line(path: Path) -> list[str]:
    """The first line that is not empty, as it stands: pandas makes 0.1, 0.1 to 0.1, 0.1.1."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            return next((line for line in csv.reader(file) if line), [])
    except (ValueError, csv.Error) as error:
        raise ValueError(f"cannot read {path} as a table: {error}") from error


def _read_csv(path: Path, **options: Any) -> pd.DataFrame:
    import pandas as pd

    try:  # only an empty cell is empty: a class may be called NA or None
        return pd.read_csv(path, encoding="utf-8-sig", keep_default_na=False, **options)
    except ValueError as error:  # of pandas, or of bytes that are no UTF-8
        raise ValueError(f"cannot read {path} as a table: {error}") from error


def _check_first_line(path: Path, names: list[str], label: str | None) -> None:
    """Refuse a first line that is a row: it would be lost."""
    if len(names) == 1 and (";" in names[0] or "\t" in names[0]):
        only = f"the single column {names[0]!r}"
        raise ValueError(f"{path}: expected commas between columns, got {only}; save it with commas")
    classes = _called(names, label)
    features = [name for name in names if name not in classes] if classes else names[:-1] or names
    if classes and features == [*map(str, range(len(features)))]:  # as pandas names the columns of an array
        return
    if features and 2 * sum(map(_is_number, features)) >= len(features):
        raise ValueError(
            f"{path}: expected the names of the columns in the first line, got {name_some(names, 5)}; add a line with "
            "names, words rather than numbers"
        )


def _numbers(name: str, column: pd.Series, feature: str) -> np.ndarray:
    """A column of features in float64. NaN is left for whoever looks at all of them."""
    import pandas as pd

    if pd.api.types.is_complex_dtype(column):
        raise ValueError(f"{name}: features must be real numbers, got complex ones in column {feature!r}")
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(np.float64, na_value=np.nan)
    numbers = pd.to_numeric(column.astype(object), errors="coerce")  # as objects, dates are no numbers
    wrong = (numbers.isna() & ~column.isna()).to_numpy()
    if not wrong.any():
        return numbers.to_numpy(np.float64, na_value=np.nan)
    row = int(wrong.argmax())
    raise ValueError(
        f"{name}: features must be numbers, but row {row} (counted from 0) has {str(column.iloc[row])!r} in column "
        f"{feature!r}; leave the column out, or turn its words into numbers"
    )


def _classes(name: str, column: pd.Series) -> tuple[np.ndarray, tuple[str, ...]]:
    import pandas as pd

    check_given(name, column.isna().to_numpy())
    values = column.to_numpy()
    if values.dtype.kind not in "biuf":
        is_number = pd.api.types.is_numeric_dtype(column)  # of pandas' own types
        values = column.to_numpy(np.float64) if is_number else values.astype(str)
    return number_classes(name, values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
