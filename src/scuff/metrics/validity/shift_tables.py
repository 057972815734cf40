"""Shifts from tables: a DataFrame or a CSV file with columns of known names, or tables with missing values.

    model,clean,corrupted:imagenet-c/fog,corrupted:imagenet-c/frost,natural:imagenet-a,reference:imagenet-a
    resnet50,0.761,0.459,0.381,0.000,0.924
    ...

`reference:` is the accuracy on clean images of the classes that the natural benchmark has. Without it, the benchmark
has all classes, and `clean` serves. Readers of other sources bring them into one form first, for `make_shifts`:
accuracies of models by kind, name and severity. Kinds are "clean", whose name is empty, and the prefixes of columns;
corruptions are called `suite/entry`.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.long_tables import read_csv
from scuff.metrics.validity.shifts import CORRUPTED, LEAST_MODELS, SCORE, TABLES, Shifts
from scuff.words import name_some, near_names

WORDS = ("model", "clean", "family", "standard")
MOST_RARE = 3  # columns that are named for lacking most values
MISSING = ("", "-", "nan", "NaN", "NA", "N/A", "n/a", "null", "None")  # what tables write for no number
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}  # that a table may have where commas are expected

Place = str | os.PathLike[str]


def read_shifts(source: pd.DataFrame | Place) -> Shifts:
    """Shifts from a DataFrame or a CSV file with the columns shown above.

    There may be columns `score:NAME`, `family`, and `standard` (1 or 0), and no others. Models that lack a value are
    left out. One that lacks a family is a family of its own.
    """
    frame = source if isinstance(source, pd.DataFrame) else read_named_table(source, ("model", "family"))
    _check_columns(frame)
    values = frame.set_index(model_names(frame["model"]))
    numbers = pd.DataFrame({name: to_numbers(values[name]) for name in values if name not in ("model", "family")})
    tables = {}
    for prefix, table in TABLES.items():
        columns = numbers.filter(regex=f"^{prefix}")
        tables[table] = columns.set_axis(columns.columns.str.removeprefix(prefix), axis=1)
    families = None
    if "family" in values:
        families = values["family"].astype(object).where(~_is_blank(values["family"]), values.index.to_series())
    return complete_shifts(
        numbers["clean"],
        **tables,
        families=None if families is None else families.astype(str),
        standard=list(values.index[numbers["standard"] == 1]) if "standard" in values else None,
    )


def complete_shifts(
    clean: pd.Series,
    corrupted: pd.DataFrame,
    natural: pd.DataFrame,
    references: pd.DataFrame | None = None,
    scores: pd.DataFrame | None = None,
    *,
    families: pd.Series | None = None,
    standard: Sequence[str] | None = None,
) -> Shifts:
    """The models that have every value, out of tables that may lack some or be in another order.

    A natural benchmark without a column in `references` has all classes, and is compared with `clean`. `left_out` says
    which values the other models lack.
    """
    given = [table for table in (clean, corrupted, natural, references, scores) if table is not None]
    repeated = list(dict.fromkeys(name for table in given for name in table.index[table.index.duplicated()]))
    if repeated:
        raise ValueError(f"a model has one row, and {name_some(repeated)} has several")
    empty = pd.DataFrame(index=clean.index)
    references = empty if references is None else references.reindex(clean.index)
    references = references.assign(**{name: clean for name in natural if name not in references})
    strange = [name for name in references if name not in natural]
    if strange:
        raise ValueError(f"there is a reference for {name_some(strange)}, but no accuracy on that natural benchmark")
    tables = [corrupted, natural, references[list(natural)], empty if scores is None else scores]
    prefixed = [table.add_prefix(prefix) for prefix, table in zip(TABLES, tables, strict=True)]
    wide = pd.concat([clean.rename("clean"), *prefixed], axis=1)
    lacking = wide.isna()
    whole = list(wide.index[~lacking.any(axis=1)])
    if len(whole) < LEAST_MODELS:
        rarest = (~lacking).sum().sort_values(kind="stable").head(MOST_RARE)
        rare = ", ".join(f"{name} ({count} models)" for name, count in rarest.items())
        raise ValueError(
            f"{len(whole)} of {len(wide)} models have every value, and a correlation needs at least {LEAST_MODELS}; "
            f"rarest are {rare}"
        )
    return Shifts(  # type: ignore[misc]
        wide.loc[whole, "clean"],
        *(table.reindex(whole) for table in tables),
        families=None if families is None else families.reindex(whole),
        standard=None if standard is None else tuple(name for name in standard if name in whole),
        left_out={m: f"lacks {name_some(list(wide.columns[row]))}" for m, row in lacking.iterrows() if row.any()},
    )


def read_named_table(source: Place | bytes, words: Collection[str]) -> pd.DataFrame:
    """A CSV table in which some columns are words, even if they look like numbers or missing values.

    >>> read_named_table(b"model,val\\n121,0.5\\nNone,\\n", ["model"]).values.tolist()
    [['121', 0.5], ['None', nan]]
    """
    header = read_header(source)
    return read_csv(
        _opened(source),
        dtype={column: str for column in header if column in words},
        keep_default_na=False,
        na_values={column: list(MISSING) for column in header if column not in words},
    )


def read_header(source: Place | bytes) -> list[str]:
    """The columns of a CSV table; a repeated column or another separator is refused.

    >>> read_header(b"model,val\\na,0.5\\n")
    ['model', 'val']
    """
    # The first row is read as if it were values: as a header, pandas would rename repeated columns.
    header = read_csv(_opened(source), header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0].tolist()
    for separator, name in SEPARATORS.items():
        if len(header) == 1 and separator in header[0]:
            raise ValueError(
                f"the table has a single column, {header[0][:40]!r}: is it separated by {name}? Commas are expected"
            )
    _refuse_repeated(header)
    return header


def model_names(column: pd.Series) -> pd.Series:
    """The names of the models as texts; a row without one is refused."""
    blank = _is_blank(column)
    if blank.any():
        row = int(np.flatnonzero(blank)[0]) + 1
        raise ValueError(f"every row of the table must name its model, and row {row} of {len(column)} does not")
    return column.astype(str).rename("model")


def to_numbers(column: pd.Series) -> pd.Series:
    """A column of numbers, NaN for a missing one; any other word is refused by name.

    >>> to_numbers(pd.Series(["0.5", "", "NA"], name="clean")).tolist()
    [0.5, nan, nan]
    """
    numbers = pd.to_numeric(column, errors="coerce").astype(float)
    words = column[numbers.isna() & column.notna() & ~column.astype(str).str.strip().isin(MISSING)]
    if len(words):
        raise ValueError(f"the column {column.name} must hold numbers, got {words.iloc[0]!r} for {words.index[0]}")
    return numbers


def _opened(source: Place | bytes) -> Place | io.BytesIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source


def _refuse_repeated(columns: Iterable[str]) -> None:
    repeated = [name for name, count in Counter(columns).items() if count > 1 and name != ""]
    if repeated:
        raise ValueError(f"these columns occur twice: {name_some(repeated)}")


def _is_blank(column: pd.Series) -> pd.Series:
    return column.isna() | (column.astype(str).str.strip() == "")


def _check_columns(frame: pd.DataFrame) -> None:
    for column in ("model", "clean"):
        if column not in frame:
            raise ValueError(f"a table of shifts needs the columns model and clean; missing: {column}")
    _refuse_repeated(frame.columns)
    for column in map(str, frame):
        if column not in WORDS and not column.startswith(tuple(TABLES)):
            name = column.rpartition(":")[2]
            hint = near_names(column.lower(), [*WORDS, *(f"{prefix}{name}" for prefix in TABLES)])
            raise ValueError(f"the column {column!r} means nothing in a table of shifts: rename it or drop it; {hint}")


CLEAN = "clean"
NO_LEVEL = 0  # the severity of images that have none

Cell = tuple[str, str, int]  # kind, name, severity


def make_shifts(
    cells: Mapping[Cell, pd.Series], severities: Iterable[int] | None = None, *, scale: float = 1.0, **columns: Any
) -> Shifts:
    """Shifts from values that all have the same models as index, accuracies in units of 1 / `scale`.

    Corruptions count by their means over severities, the chosen ones or all. Models that lack a value are left out.
    Other `columns` are those of `metrics.read_shifts`, or None.

    >>> values = pd.Series([50, 40, 30, 20, 10], list("abcde"))
    >>> cells = {(CLEAN, "", 0): values, (CORRUPTED, "c/fog", 1): values, (CORRUPTED, "c/fog", 2): values - 10}
    >>> make_shifts(cells | {("natural:", "sketch", 0): values}, scale=100).corrupted.loc["a"].to_dict()
    {'c/fog': 0.45}
    """
    levels_of: dict[str, list[int]] = {}
    for kind, name, level in cells:
        if kind == CORRUPTED:
            levels_of.setdefault(name, []).append(level)
    values = {f"{kind}{name}": values for (kind, name, _), values in cells.items() if kind != CORRUPTED}
    for name, levels in _choose_levels(levels_of, check_severities(severities)).items():
        values[f"{CORRUPTED}{name}"] = np.mean([cells[CORRUPTED, name, level] for level in levels], axis=0)
    frame = pd.DataFrame({name: v if name.startswith(SCORE) else v / scale for name, v in values.items()})
    return read_shifts(frame.assign(model=frame.index, **{k: v for k, v in columns.items() if v is not None}))


def check_severities(severities: Iterable[int] | None, where: str = "severities") -> tuple[int, ...] | None:
    """Whole numbers from 1 on, sorted, each once; None stays None."""
    if severities is None:
        return None
    levels = list(severities) if isinstance(severities, Iterable) and not isinstance(severities, str) else [severities]
    if not levels or not all(type(level) is int and level >= 1 for level in levels):
        raise ValueError(f"{where} must be whole numbers from 1 on, as in [1, 3, 5], got {severities!r}")
    return tuple(sorted(set(levels)))


def _choose_levels(levels_of: dict[str, list[int]], severities: Sequence[int] | None) -> dict[str, list[int]]:
    """The severities of each corruption over which the mean is taken.

    Without a choice, all corruptions of a suite must have the same, or means would not be comparable.
    """
    graded = {name: sorted(levels) for name, levels in levels_of.items() if levels != [NO_LEVEL]}
    if severities is not None and not graded:
        raise ValueError(f"no corruption has severities to choose {name_some(severities)} from")
    first_of: dict[str, str] = {}
    for name, levels in graded.items():
        absent = [level for level in severities or () if level not in levels]
        if absent:
            raise ValueError(f"{name} has the severities {name_some(levels)}, not {name_some(absent)}")
        first = first_of.setdefault(name.rpartition("/")[0], name)
        if severities is None and levels != graded[first]:
            raise ValueError(
                f"corruptions must have the same severities to be comparable: {first} has {name_some(graded[first])}, "
                f"{name} has {name_some(levels)}; choose severities that all of them have"
            )
    return {name: list(severities or levels) if name in graded else levels for name, levels in levels_of.items()}
