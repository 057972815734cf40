"""Shifts from any wide table of accuracies: a row per model, and a mapping that says what the columns mean.

The mapping is a YAML file, or a dictionary with the same content:

    model: model                 # column of model names (default: model)
    unit: percent                # of accuracies: percent or fraction (default: fraction)
    clean: val                   # accuracy on clean images
    synthetic:                   # suite: a pattern, or its corruptions with their columns
      imagenet-c: "imagenet-c.{corruption}.{severity}_on-disk"
      my-suite: {fog: fog_column, rain: [rain_weak, rain_strong]}
    severities: [1, 3, 5]        # use only these (default: all)
    natural:                     # benchmark: a column; if it lacks classes, also the clean accuracy on its classes
      imagenet-a: {accuracy: imagenet-a, clean: val-on-imagenet-a-classes}
      imagenet-v2: imagenetv2-matched-frequency-format-val
    scores: {imagenet-p: mfr}    # synthetic benchmarks that are not accuracies; larger means less robust
    families: {resnet: "^resnet"}               # regular expressions, the first match counts; or {column: NAME}
    standard: [alexnet, resnet50]               # models without any intervention for robustness
    models: {include: ["resnet"], exclude: ["_pgd"]}    # regular expressions (default: all models)

Required are `clean`, `natural`, and one of `synthetic` and `scores`.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from scuff.metrics.validity import shift_tables
from scuff.metrics.validity.shift_tables import CLEAN, NO_LEVEL, Cell
from scuff.metrics.validity.shifts import CORRUPTED, NATURAL, REFERENCE, SCORE, Shifts
from scuff.readers import read_yaml
from scuff.suites import list_suites, load_suite
from scuff.words import name_some, near_names

UNITS = {"fraction": 1.0, "percent": 100.0}
CORRUPTION, SEVERITY = "{corruption}", "{severity}"
WORD, ANYTHING = r"[\w -]+", ".+"  # valid names of corruptions in a column; names that may have been meant
COLUMN = "column"  # of families: where the table itself names them
ROLES = {CLEAN: "clean", CORRUPTED: "{}", NATURAL: "natural.{}", REFERENCE: "natural.{}.clean", SCORE: "scores.{}"}

Place = str | os.PathLike[str]
Parser = Callable[[Any, str], Any]
Columns = dict[str, dict[int, list[str]]]  # of a suite, by corruption and severity


@dataclass(frozen=True)
class TableMapping:
    """A checked mapping, see above. `natural` has pairs: the column, and that of its clean classes or None."""

    clean: str
    natural: Mapping[str, tuple[str, str | None]]
    synthetic: Mapping[str, str | Mapping[str, list[str]]] = field(default_factory=dict)
    scores: Mapping[str, str] = field(default_factory=dict)
    model: str = "model"
    unit: str = "fraction"
    severities: tuple[int, ...] | None = None
    families: Mapping[str, str] = field(default_factory=dict)
    standard: tuple[str, ...] | None = None
    models: Mapping[str, list[str]] = field(default_factory=dict)


def read_accuracy_table(
    table: pd.DataFrame | Place,
    mapping: TableMapping | Mapping[str, Any] | Place,
    *,
    severities: Iterable[int] | None = None,
) -> Shifts:
    """Shifts from a DataFrame or a CSV file, and a mapping that says what its columns mean.

    `severities` override those of the mapping. Models that lack a value are left out.

    >>> table = pd.DataFrame({"model": list("abcde"), "val": 70, "c.fog.1": 50, "c.fog.2": 30, "sketch": 20})
    >>> mapping = {"unit": "percent", "clean": "val", "synthetic": {"c": "c.{corruption}.{severity}"},
    ...            "natural": {"sketch": "sketch"}}
    >>> shifts = read_accuracy_table(table, mapping)
    >>> shifts.corrupted.loc["a"].to_dict(), shifts.references.loc["a"].to_dict()
    ({'c/fog': 0.4}, {'sketch': 0.7})
    """
    mapping = mapping if isinstance(mapping, TableMapping) else read_mapping(mapping)
    if isinstance(table, pd.DataFrame):
        frame = table.rename(columns=str)
    else:
        frame = shift_tables.read_named_table(table, [mapping.model, mapping.families.get(COLUMN, mapping.model)])
    frame = frame.set_index(shift_tables.model_names(_column_of(frame, mapping.model)))
    columns = find_columns(list(frame), mapping)
    numbers = {name: shift_tables.to_numbers(_column_of(frame, name)) for names in columns.values() for name in names}
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
    shifts = shift_tables.make_shifts(
        {cell: pd.Series(values, kept.index) for cell, values in means.items()},
        mapping.severities if severities is None else severities,
        scale=UNITS[mapping.unit],
        family=_families(kept, mapping.families) if mapping.families else None,
        standard=None if mapping.standard is None else kept.index.isin(mapping.standard).astype(int),
    )
    return replace(shifts, left_out={**shifts.left_out, **left_out})


def read_mapping(source: Place | Mapping[str, Any]) -> TableMapping:
    """A mapping from a YAML file, or from a dictionary with the same content.

    >>> read_mapping({"clean": "val", "natural": {"sketch": "sk"}, "scores": {"imagenet-p": "mfr"}}).natural
    {'sketch': ('sk', None)}
    """
    given = source if isinstance(source, Mapping) else _load(source)
    _check_keys(given, list(PARSERS), "the mapping")
    missing = [key for key in ("clean", "natural") if not given.get(key)]
    missing += [] if given.get("synthetic") or given.get("scores") else ["synthetic or scores"]
    if missing:
        raise ValueError(f"a mapping must say which columns are {', '.join(missing)}; it has {', '.join(given)}")
    return TableMapping(**{key: PARSERS[key](value, key) for key, value in given.items() if value is not None})


def find_columns(columns: Sequence[str], mapping: TableMapping) -> dict[Cell, list[str]]:
    """The columns of every kind of images, several where a corruption is a mean over columns.

    >>> given = {"clean": "val", "natural": {"sketch": "sk"}, "synthetic": {"my": "c.{corruption}.{severity}"}}
    >>> find_columns(["val", "sk", "c.fog.1"], read_mapping(given))
    {('clean', '', 0): ['val'], ('natural:', 'sketch', 0): ['sk'], ('corrupted:', 'my/fog', 1): ['c.fog.1']}
    """
    cells = {(CLEAN, "", NO_LEVEL): [mapping.clean]}
    cells |= {(NATURAL, name, NO_LEVEL): [column] for name, (column, _) in mapping.natural.items()}
    cells |= {(SCORE, name, NO_LEVEL): [column] for name, column in mapping.scores.items()}
    patterns = []
    for suite, given in mapping.synthetic.items():
        if isinstance(given, str):
            patterns.append(given)
            matched = _match(columns, suite, given)
        else:
            matched = {corruption: {NO_LEVEL: names} for corruption, names in given.items()}
        for entry, levels in _as_in_suite(suite, matched).items():
            cells |= {(CORRUPTED, f"{suite}/{entry}", level): names for level, names in levels.items()}
    cells |= {(REFERENCE, name, NO_LEVEL): [c] for name, (_, c) in mapping.natural.items() if c is not None}
    # Each column has one role; only references may share theirs, also with the clean accuracy.
    roles = {mapping.model: ("model", False)}
    for (kind, name, _), names in cells.items():
        role, may_share = ROLES[kind].format(name), kind in (CLEAN, REFERENCE)
        for column in names:
            if column in roles and not (may_share and roles[column][1]):
                raise ValueError(f"the column {column} is {roles[column][0]} in the mapping, and {role} as well")
            roles[column] = role, may_share
    rest = [c for c in columns if c not in roles and not any(_compile(p).fullmatch(c) for p in patterns)]
    for pattern in patterns:
        odd = [column for column in rest if _compile(pattern, ANYTHING).fullmatch(column)]
        if odd:
            raise ValueError(
                f"{name_some(odd)} would fit the pattern {pattern!r}, but names of corruptions consist of letters, "
                "digits, _, - and blanks; rename these columns, or map corruptions to columns one by one"
            )
    return cells


def _match(columns: Sequence[str], suite: str, pattern: str) -> Columns:
    """The columns that a pattern fits."""
    matched: Columns = {}
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


def _as_in_suite(suite: str, matched: Columns) -> Columns:
    """Named and ordered as in a suite of the package; those of another suite stay as they are."""
    if suite not in list_suites():
        return matched
    known = load_suite(suite)
    named: Columns = {}
    for corruption, levels in matched.items():
        entry = known.find(corruption)
        if entry in named:
            both = [column for each in (named[entry], levels) for names in each.values() for column in names]
            raise ValueError(f"{name_some(both)} are all {suite}/{entry}, one of them as {corruption}")
        named[entry] = levels
    return {entry: named[entry] for entry in known.entries if entry in named}


def _column_of(frame: pd.DataFrame, name: str) -> pd.Series:
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
    included, excluded = (
        models[np.any([np.zeros(len(models), bool), *(_found(e, models) for e in each)], axis=0)]
        for each in (include, exclude)
    )
    if included.empty:
        raise ValueError(
            f"no model matches models.include of the mapping, {name_some(include)}; there are {name_some(models)}"
        )
    why = {True: "excluded by the mapping", False: "not among the models that the mapping includes"}
    return {m: why[m in included] for m in models if m not in included or m in excluded}


def _families(frame: pd.DataFrame, families: Mapping[str, str]) -> Sequence[str]:
    """The family of every model, empty if it has none."""
    if COLUMN in families:
        return _column_of(frame, families[COLUMN])
    found = {name: _found(expression, frame.index) for name, expression in families.items()}
    return [next((name for name in found if found[name][k]), "") for k in range(len(frame))]


def _found(expression: str, names: Iterable[str]) -> np.ndarray:
    """In which names a regular expression is found. Arrow needs no longer for one than for another."""
    return pc.match_substring_regex(pa.array(names, pa.string()), expression).to_numpy(zero_copy_only=False)


# --- parsers of a mapping: functions of a value and of its place in it, for error messages ----------------------------


def _load(path: Place) -> Mapping[str, Any]:
    content = read_yaml(Path(path).read_bytes(), f"the mapping {path}", Any)
    if not isinstance(content, dict):
        raise ValueError(f"the mapping {path} must say what columns mean, as in clean: val; got {content!r}")
    return content


def _check_keys(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"{where} has an unknown key {key!r}; {near_names(str(key), known)}")


def _each(parse: Parser, known: Sequence[str] = ()) -> Parser:
    """The parser of a mapping whose values are parsed one by one; `known` are its keys, if not any names."""

    def parse_all(values: Any, where: str) -> dict[str, Any]:
        if not isinstance(values, Mapping):
            raise ValueError(f"{where} must map names to columns or expressions, got {values!r}")
        _check_keys(values, known or list(values), where)
        return {str(name): parse(value, f"{where}.{name}") for name, value in values.items()}

    return parse_all


def _column(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise ValueError(f"{where} must be the name of a column, got {value!r}")
    return str(value)  # a column may be called 1


def _list(values: Any, where: str, parse: Parser = lambda value, _: str(value)) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{where} must be a list of names, got {values!r}")
    return [parse(value, where) for value in values]


def _expression(value: Any, where: str) -> str:
    expression = _column(value, where)
    try:
        _found(expression, [""])
    except pa.ArrowInvalid as error:
        raise ValueError(
            f"{where} must be a regular expression, without (?= and the like; got {value!r}: {error}"
        ) from error
    return expression


def _unit(value: Any, where: str) -> str:
    if not isinstance(value, str) or value not in UNITS:
        raise ValueError(f"{where} must be {' or '.join(UNITS)}, got {value!r}")
    return value


def _natural(value: Any, where: str) -> tuple[str, str | None]:
    pair = value if isinstance(value, Mapping) else {"accuracy": value}
    columns = _each(_column, ["accuracy", "clean"])({key: v for key, v in pair.items() if v}, where)
    if "accuracy" not in columns:
        raise ValueError(f"{where} must say which column is its accuracy, got {value!r}")
    return columns["accuracy"], columns.get("clean")


def _synthetic(value: Any, where: str) -> str | dict[str, list[str]]:
    if "/" in where:
        raise ValueError(f"synthetic names suites, and each suite its corruptions; got {where} with a / in it")
    if isinstance(value, str):
        if value.count(CORRUPTION) != 1 or value.count(SEVERITY) > 1:
            raise ValueError(
                f"the pattern of {where} needs {CORRUPTION} once, and {SEVERITY} once if there are severities; got "
                f"{value!r}. Single columns are written {{fog: COLUMN}}"
            )
        return value
    if not value or not isinstance(value, Mapping) or [] in value.values():
        raise ValueError(f"{where} must be a pattern or map corruptions to columns, got {value!r}")
    lists = {corruption: columns if isinstance(columns, list) else [columns] for corruption, columns in value.items()}
    return _each(partial(_list, parse=_column))(lists, where)


PARSERS: dict[str, Parser] = {
    "clean": _column,
    "natural": _each(_natural),
    "synthetic": _each(_synthetic),
    "scores": _each(_column),
    "model": _column,
    "unit": _unit,
    "severities": lambda value, where: shift_tables.check_severities(value, f"{where} of the mapping"),
    "families": _each(lambda value, where: (_column if where.endswith(f".{COLUMN}") else _expression)(value, where)),
    "standard": lambda value, where: tuple(_list(value, where)) or None,
    "models": _each(partial(_list, parse=_expression), ["include", "exclude"]),
}
