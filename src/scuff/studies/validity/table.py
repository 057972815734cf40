"""Shifts from any wide table of accuracies: a row per model, and a mapping that says what the columns mean."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.validity.shift_tables import model_names, read_named_table, to_numbers
from scuff.metrics.validity.shifts import CORRUPTED, NATURAL, REFERENCE, SCORE, Shifts
from scuff.studies.validity.cells import CLEAN, NO_LEVEL, Cell, make_shifts
from scuff.studies.validity.mapping import COLUMN, CORRUPTION, SEVERITY, UNITS, TableMapping, read_mapping
from scuff.suites import list_suites, load_suite
from scuff.words import name_some, near_names

WORD, ANYTHING = r"[\w -]+", ".+"  # valid names of corruptions in a column; names that may have been meant
ROLES = {CLEAN: "clean", CORRUPTED: "{}", NATURAL: "natural.{}", REFERENCE: "natural.{}.clean", SCORE: "scores.{}"}


def read_accuracy_table(
    table: pd.DataFrame | str | os.PathLike[str],
    mapping: TableMapping | Mapping[str, Any] | str | os.PathLike[str],
    *,
    severities: Iterable[int] | None = None,
) -> Shifts:
    """Shifts from a DataFrame or a CSV file, and a mapping that says what its columns mean.

    The mapping is a YAML file or a dictionary with the same content; see `scuff.studies.validity.mapping`. `severities`
    override those of the mapping. Models that lack a value are left out.

    >>> table = pd.DataFrame({"model": list("abcde"), "val": 70, "c.fog.1": 50, "c.fog.2": 30, "sketch": 20})
    >>> mapping = {"unit": "percent", "clean": "val", "synthetic": {"c": "c.{corruption}.{severity}"},
    ...            "natural": {"sketch": "sketch"}}
    >>> shifts = read_accuracy_table(table, mapping)
    >>> shifts.corrupted.loc["a"].to_dict(), shifts.references.loc["a"].to_dict()
    ({'c/fog': 0.4}, {'sketch': 0.7})
    """
    mapping = mapping if isinstance(mapping, TableMapping) else read_mapping(mapping)
    frame = _open_table(table, mapping)
    columns = find_columns(list(frame), mapping)
    numbers = {name: to_numbers(_column(frame, name)) for names in columns.values() for name in names}
    if mapping.unit == "percent":
        accuracies = [name for (kind, _, _), names in columns.items() if kind != SCORE for name in names]
        _check_percent({name: float(numbers[name].max()) for name in accuracies})
    for name in mapping.standard or ():
        if name not in frame.index:
            raise ValueError(f"standard names a model {name!r}, which the table lacks; {near_names(name, frame.index)}")
    left_out = _left_out(frame.index, **mapping.models)
    chosen = ~frame.index.isin(left_out)
    kept = frame[chosen]
    means = {cell: np.mean([numbers[name][chosen] for name in names], axis=0) for cell, names in columns.items()}
    cells = {cell: pd.Series(values, kept.index) for cell, values in means.items()}
    shifts = make_shifts(
        cells,
        mapping.severities if severities is None else severities,
        scale=UNITS[mapping.unit],
        families=_families(kept, mapping.families) if mapping.families else None,
        standard=None if mapping.standard is None else kept.index.isin(mapping.standard).astype(int),
    )
    return replace(shifts, left_out={**shifts.left_out, **left_out})


def find_columns(columns: Sequence[str], mapping: TableMapping) -> dict[Cell, list[str]]:
    """The columns of every kind of images, several where a corruption is a mean over columns.

    >>> given = {"clean": "val", "natural": {"sketch": "sk"}, "synthetic": {"my": "c.{corruption}.{severity}"}}
    >>> find_columns(["val", "sk", "c.fog.1"], read_mapping(given))
    {('clean', '', 0): ['val'], ('natural:', 'sketch', 0): ['sk'], ('corrupted:', 'my/fog', 1): ['c.fog.1']}
    """
    cells = {(CLEAN, "", NO_LEVEL): [mapping.clean]}
    cells |= {(NATURAL, name, NO_LEVEL): [column] for name, (column, _) in mapping.natural.items()}
    cells |= {(SCORE, name, NO_LEVEL): [column] for name, column in mapping.scores.items()}
    patterns = {suite: given for suite, given in mapping.synthetic.items() if isinstance(given, str)}
    for suite, given in mapping.synthetic.items():
        if suite in patterns:
            matched = _match(columns, suite, given)  # type: ignore[arg-type]
        else:
            matched = {corruption: {NO_LEVEL: names} for corruption, names in given.items()}  # type: ignore[union-attr]
        for entry, levels in _by_suite(suite, matched).items():
            cells |= {(CORRUPTED, f"{suite}/{entry}", level): names for level, names in levels.items()}
    cells |= {(REFERENCE, name, NO_LEVEL): [c] for name, (_, c) in mapping.natural.items() if c is not None}
    used = _check_roles(cells, mapping.model)
    rest = [c for c in columns if c not in used and not any(_compile(p).fullmatch(c) for p in patterns.values())]
    for pattern in patterns.values():
        odd = [column for column in rest if _compile(pattern, ANYTHING).fullmatch(column)]
        if odd:
            raise ValueError(
                f"{name_some(odd)} would fit the pattern {pattern!r}, but names of corruptions consist of letters, "
                "digits, _, - and blanks; rename these columns, or map corruptions to columns one by one"
            )
    return cells


def _match(columns: Sequence[str], suite: str, pattern: str) -> dict[str, dict[int, list[str]]]:
    """The columns that a pattern fits, by corruption and severity."""
    matched: dict[str, dict[int, list[str]]] = {}
    for match in filter(None, map(_compile(pattern).fullmatch, columns)):
        level, levels = int(match.groupdict().get("severity", NO_LEVEL)), matched.setdefault(match["corruption"], {})
        if level in levels:
            raise ValueError(
                f"the columns {levels[level][0]} and {match[0]} are both {suite}/{match['corruption']} at severity "
                f"{level}; drop one of them"
            )
        levels[level] = [match[0]]
    if not matched:
        near = difflib.get_close_matches(pattern, columns, n=3, cutoff=0.3)
        raise ValueError(
            f"no column fits the pattern {pattern!r} of {suite}; there are {name_some(near or columns, 5)}"
        )
    return matched


def _compile(pattern: str, corruption: str = WORD) -> re.Pattern[str]:
    escaped = re.escape(pattern).replace(re.escape(CORRUPTION), f"(?P<corruption>{corruption})")
    return re.compile(escaped.replace(re.escape(SEVERITY), r"(?P<severity>\d+)"))


def _by_suite(suite: str, matched: dict[str, dict[int, list[str]]]) -> dict[str, dict[int, list[str]]]:
    """Named and ordered as in a suite of the package; those of another suite stay as they are."""
    if suite not in list_suites():
        return matched
    known, named = load_suite(suite), {}  # type: ignore[var-annotated]
    for corruption, levels in matched.items():
        entry = known.find(corruption)
        if entry in named:
            both = [column for each in (named[entry], levels) for names in each.values() for column in names]
            raise ValueError(f"{name_some(both)} are all {suite}/{entry}, one of them as {corruption}")
        named[entry] = levels
    return {entry: named[entry] for entry in known.entries if entry in named}


def _check_roles(cells: Mapping[Cell, Sequence[str]], model: str) -> set[str]:
    """All columns, each of which must have one role; only references may be shared, also with the clean accuracy."""
    roles = {model: ("model", False)}
    for (kind, name, _), columns in cells.items():
        role, may_share = ROLES[kind].format(name), kind in (CLEAN, REFERENCE)
        for column in columns:
            if column in roles and not (may_share and roles[column][1]):
                raise ValueError(f"the column {column} is {roles[column][0]} in the mapping, and {role} as well")
            roles[column] = role, may_share
    return set(roles)


def _open_table(table: pd.DataFrame | str | os.PathLike[str], mapping: TableMapping) -> pd.DataFrame:
    """The table with the names of the models as its index."""
    if isinstance(table, pd.DataFrame):
        frame = table.rename(columns=str)
    else:
        frame = read_named_table(table, [mapping.model, mapping.families.get(COLUMN, mapping.model)])
    return frame.set_index(model_names(_column(frame, mapping.model)))


def _column(frame: pd.DataFrame, name: str) -> pd.Series:
    if name not in frame:
        raise ValueError(f"the table has no column {name!r}; {near_names(name, frame)}")
    column = frame[name]
    if isinstance(column, pd.DataFrame):
        raise ValueError(f"the table has {column.shape[1]} columns {name!r}")
    return column


def _check_percent(largest: Mapping[str, float]) -> None:
    """Refuse columns that seem to hold fractions, by their largest values. Zeros are the same in every unit."""
    small = [column for column, value in largest.items() if 0 < value <= 1]
    if small:
        raise ValueError(
            f"unit is percent, but {name_some(small)} {'seems' if len(small) == 1 else 'seem'} to hold fractions: over "
            f"all models, {small[0]} goes up to {largest[small[0]]:g}, all columns to {max(largest.values()):g}; "
            "convert all to one unit, write unit: fraction, or leave them out of the mapping"
        )


def _left_out(models: pd.Index, include: Sequence[str] = ("",), exclude: Sequence[str] = ()) -> dict[str, str]:
    """The models that the mapping does not ask for, and why."""
    included, excluded = (models[[any(re.search(e, m) for e in each) for m in models]] for each in (include, exclude))
    if included.empty:
        raise ValueError(
            f"no model matches models.include of the mapping, {name_some(include)}; there are {name_some(models)}"
        )
    why = {True: "excluded by the mapping", False: "not among the models that the mapping includes"}
    return {m: why[m in included] for m in models if m not in included or m in excluded}


def _families(frame: pd.DataFrame, families: Mapping[str, str]) -> Sequence[str]:
    """The family of every model, empty if it has none."""
    if COLUMN in families:
        return _column(frame, families[COLUMN])
    return [next((name for name, e in families.items() if re.search(e, model)), "") for model in frame.index]
