"""Shifts from a wide table of accuracies that somebody else made: a line per model, a column per kind of images."""

from __future__ import annotations

import difflib
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.accuracies import read_csv
from scuff.metrics.shift_tables import complete_shifts, model_names, name_families, to_numbers
from scuff.metrics.shifts import Shifts
from scuff.metrics.words import name_some, near_names
from scuff.studies.validity_mapping import (
    COLUMN,
    CORRUPTION,
    SEVERITY,
    UNITS,
    TableMapping,
    check_severities,
    read_mapping,
)
from scuff.suites import list_suites, load_suite

MISSING = ["", "-", "nan", "NaN", "NA", "N/A", "n/a", "null", "None"]  # what tables write for no number


def read_accuracy_table(
    table: pd.DataFrame | str | os.PathLike[str],
    mapping: TableMapping | Mapping[str, Any] | str | os.PathLike[str],
    *,
    severities: Iterable[int] | None = None,
) -> Shifts:
    """Shifts from a DataFrame or a CSV file, and a mapping that says what its columns mean.

    The mapping is a YAML file, or what would be in it; see `scuff.studies.validity_mapping`. `severities` are taken
    instead of those of the mapping. Models that lack a value are left out.

    >>> table = pd.DataFrame({"model": list("abcde"), "val": 70, "c.fog.1": 50, "c.fog.2": 30, "sketch": 20})
    >>> mapping = {"unit": "percent", "clean": "val", "synthetic": {"c": "c.{corruption}.{severity}"},
    ...            "natural": {"sketch": "sketch"}}
    >>> shifts = read_accuracy_table(table, mapping)
    >>> shifts.corrupted.loc["a"].to_dict(), shifts.references.loc["a"].to_dict()
    ({'c/fog': 0.4}, {'sketch': 0.7})
    """
    mapping = mapping if isinstance(mapping, TableMapping) else read_mapping(mapping)
    frame = _open_table(table, mapping)
    synthetic = _synthetic_columns(frame, mapping, check_severities(severities) or mapping.severities)
    _refuse_shared(synthetic, mapping)
    kept, left_out = _choose_models(frame, mapping)
    scale = UNITS[mapping.unit]
    clean = _numbers(kept, mapping.clean) / scale
    corrupted = {name: np.mean([_numbers(kept, c) for c in columns], axis=0) for name, columns in synthetic.items()}
    natural = {name: _numbers(kept, column) / scale for name, (column, _) in mapping.natural.items()}
    references = {name: _numbers(kept, c) / scale for name, (_, c) in mapping.natural.items() if c is not None}
    scores = {name: _numbers(kept, column) for name, column in mapping.scores.items()}
    shifts = complete_shifts(
        clean,
        pd.DataFrame(corrupted, index=kept.index) / scale,
        pd.DataFrame(natural, index=kept.index),
        pd.DataFrame(references, index=kept.index),
        pd.DataFrame(scores, index=kept.index),
        families=_families(kept, mapping.families),
        standard=_standard(frame, mapping),
    )
    return replace(shifts, left_out={**shifts.left_out, **left_out})


def read_named_table(content: bytes, words: Sequence[str]) -> pd.DataFrame:
    """A CSV table in which some columns are words, also those that look like numbers or like nothing.

    >>> read_named_table(b"model,val\\n121,0.5\\nNone,\\n", ["model"]).values.tolist()
    [['121', 0.5], ['None', nan]]
    """
    header = read_csv(io.BytesIO(content), nrows=0).columns
    return read_csv(
        io.BytesIO(content),
        dtype={column: str for column in header if column in words},
        keep_default_na=False,
        na_values={column: MISSING for column in header if column not in words},
    )


def common_levels(found: Mapping[str, Iterable[int]], severities: Sequence[int] | None) -> dict[str, list[int]]:
    """The levels of each corruption that count: those chosen, or all, which must then be the same for every one.

    >>> common_levels({"fog": [1, 2], "snow": [2, 1]}, None), common_levels({"fog": [1, 2], "snow": [1]}, [1])
    ({'fog': [1, 2], 'snow': [1, 2]}, {'fog': [1], 'snow': [1]})
    """
    found = {name: sorted(levels) for name, levels in found.items()}
    if severities is not None:
        for name, levels in found.items():
            absent = [level for level in severities if level not in levels]
            if absent:
                raise ValueError(f"{name} has the severities {name_some(levels)}, not {name_some(absent)}")
        return {name: list(severities) for name in found}
    if found:
        first, expected = next(iter(found.items()))
        other = next((name for name, levels in found.items() if levels != expected), None)
        if other is not None:
            raise ValueError(
                f"corruptions must have the same severities to be compared: {first} has {name_some(expected)}, {other} "
                f"has {name_some(found[other])}; choose severities that all have"
            )
    return found


# --- columns --------------------------------------------------------------------------------------------------------


def _open_table(table: pd.DataFrame | str | os.PathLike[str], mapping: TableMapping) -> pd.DataFrame:
    """The table, known by the names of the models."""
    if isinstance(table, pd.DataFrame):
        frame = table.rename(columns=str)
    else:
        words = [mapping.model, *([mapping.families[COLUMN]] if COLUMN in mapping.families else [])]
        frame = read_named_table(Path(table).read_bytes(), words)
    return frame.set_index(model_names(_column(frame, mapping.model)))


def _synthetic_columns(
    frame: pd.DataFrame, mapping: TableMapping, severities: Sequence[int] | None
) -> dict[str, list[str]]:
    """The columns of every corruption, `suite/entry`."""
    found = {}
    for suite, given in mapping.synthetic.items():
        columns = _matching(frame, suite, given, severities) if isinstance(given, str) else dict(given)
        found |= {f"{suite}/{entry}": its for entry, its in _in_order(suite, columns).items()}
    has_levels = any(isinstance(given, str) and SEVERITY in given for given in mapping.synthetic.values())
    if severities is not None and not has_levels:
        raise ValueError(f"there are no severities to choose {name_some(severities)} from: no pattern has {SEVERITY}")
    return found


def _matching(frame: pd.DataFrame, suite: str, pattern: str, severities: Sequence[int] | None) -> dict[str, list[str]]:
    """The columns that a pattern fits, by corruption, in the order of their levels."""
    expression = re.escape(pattern).replace(re.escape(CORRUPTION), r"(?P<corruption>[\w -]+)")
    fits = re.compile(expression.replace(re.escape(SEVERITY), r"(?P<severity>\d+)"))
    columns: dict[str, dict[int, str]] = {}
    for column in frame:
        match = fits.fullmatch(column)
        if match:
            level = int(match.groupdict().get("severity", 0))
            columns.setdefault(match["corruption"], {})[level] = column
    if not columns:
        near = difflib.get_close_matches(pattern, list(frame), n=3, cutoff=0.3)
        raise ValueError(
            f"no column fits the pattern {pattern!r} of {suite}; there are {name_some(near or list(frame), 5)}"
        )
    if SEVERITY not in pattern:
        return {corruption: list(its.values()) for corruption, its in columns.items()}
    levels = common_levels({f"{suite}/{corruption}": its for corruption, its in columns.items()}, severities)
    return {c: [its[level] for level in levels[f"{suite}/{c}"]] for c, its in columns.items()}


def _in_order(suite: str, columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """By the names of a suite that we know, and in its order; of another, as they are."""
    if suite not in list_suites():
        return columns
    known = load_suite(suite)
    named = {known.find(corruption): its for corruption, its in columns.items()}
    return {entry: named[entry] for entry in known.entries if entry in named}


def _refuse_shared(synthetic: Mapping[str, list[str]], mapping: TableMapping) -> None:
    """A column cannot be both a corruption and something else: a pattern may fit more than was meant."""
    others = {mapping.model: "model", mapping.clean: "clean"}
    others |= {column: f"natural.{name}" for name, (column, _) in mapping.natural.items()}
    others |= {column: f"natural.{name}.clean" for name, (_, column) in mapping.natural.items() if column is not None}
    others |= {column: f"scores.{name}" for name, column in mapping.scores.items()}
    for name, columns in synthetic.items():
        for column in columns:
            if column in others:
                raise ValueError(f"the column {column} is {others[column]} in the mapping, and {name} as well")
            others[column] = name


def _column(frame: pd.DataFrame, name: str) -> pd.Series:
    if name not in frame:
        raise ValueError(f"the table has no column {name!r}; {near_names(name, frame)}")
    found = frame[name]
    if isinstance(found, pd.DataFrame):
        raise ValueError(f"the table has {found.shape[1]} columns {name!r}")
    return found


def _numbers(frame: pd.DataFrame, name: str) -> pd.Series:
    return to_numbers(_column(frame, name))


# --- models ---------------------------------------------------------------------------------------------------------


def _choose_models(frame: pd.DataFrame, mapping: TableMapping) -> tuple[pd.DataFrame, dict[str, str]]:
    """The lines of the models that are asked for, and why others are not among them."""
    wanted, unwanted = mapping.models.get("include"), mapping.models.get("exclude", ())
    left_out = {}
    for model in frame.index:
        if wanted is not None and not any(e.search(model) for e in wanted):
            left_out[model] = "not among the models that the mapping includes"
        elif any(e.search(model) for e in unwanted):
            left_out[model] = "excluded by the mapping"
    if wanted is not None and not any(e.search(model) for e in wanted for model in frame.index):
        given = name_some([e.pattern for e in wanted])
        raise ValueError(
            f"no model matches models.include of the mapping, {given}; there are {name_some(list(frame.index))}"
        )
    return frame[[model not in left_out for model in frame.index]], left_out


def _families(frame: pd.DataFrame, families: Mapping[str, str]) -> pd.Series | None:
    """The family of every model; one that has none is a family of its own."""
    if not families:
        return None
    if COLUMN in families:
        return name_families(_column(frame, families[COLUMN]))
    return frame.index.to_series().map(
        lambda model: next((name for name, e in families.items() if re.search(e, model)), model)
    )


def _standard(frame: pd.DataFrame, mapping: TableMapping) -> tuple[str, ...] | None:
    for name in mapping.standard or ():
        if name not in frame.index:
            raise ValueError(
                f"standard names a model {name!r} that is not in the table; {near_names(name, frame.index)}"
            )
    return mapping.standard
