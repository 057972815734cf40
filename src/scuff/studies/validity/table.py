"""Shifts from a wide table of accuracies that somebody else made: a line per model, a column per kind of images."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.validity.shift_tables import (
    complete_shifts,
    model_names,
    name_families,
    read_named_table,
    to_numbers,
)
from scuff.metrics.validity.shifts import Shifts
from scuff.metrics.words import name_some, near_names
from scuff.studies.validity.columns import check_unit, find_columns
from scuff.studies.validity.mapping import COLUMN, UNITS, TableMapping, check_severities, read_mapping


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
    synthetic = find_columns(list(frame), mapping, check_severities(severities) or mapping.severities)
    if mapping.unit == "percent":
        check_unit({column: _numbers(frame, column) for column in _accuracy_columns(synthetic, mapping)}, mapping.clean)
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


# --- columns --------------------------------------------------------------------------------------------------------


def _open_table(table: pd.DataFrame | str | os.PathLike[str], mapping: TableMapping) -> pd.DataFrame:
    """The table, known by the names of the models."""
    if isinstance(table, pd.DataFrame):
        frame = table.rename(columns=str)
    else:
        words = [mapping.model, *([mapping.families[COLUMN]] if COLUMN in mapping.families else [])]
        frame = read_named_table(table, words)
    return frame.set_index(model_names(_column(frame, mapping.model)))


def _accuracy_columns(synthetic: Mapping[str, list[str]], mapping: TableMapping) -> list[str]:
    natural = [column for pair in mapping.natural.values() for column in pair if column is not None]
    return [mapping.clean, *natural, *(column for columns in synthetic.values() for column in columns)]


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
