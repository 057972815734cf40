"""Which columns of a wide table are which corruption, and whether a mapping may mean what it says of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from scuff.metrics.words import name_some
from scuff.studies.validity.mapping import CORRUPTION, SEVERITY, TableMapping
from scuff.suites import list_suites, load_suite

WORD, ANYTHING = r"[\w -]+", ".+"  # what may stand for a corruption in the name of a column; what might be meant
Columns = dict[str, list[str]]  # of each corruption


def find_columns(columns: Sequence[str], mapping: TableMapping, severities: Sequence[int] | None) -> Columns:
    """The columns of every corruption, `suite/entry`; several where there are levels.

    >>> given = {"clean": "val", "natural": {"sketch": "sk"}, "synthetic": {"my": "c.{corruption}.{severity}"}}
    >>> from scuff.studies.validity.mapping import read_mapping
    >>> find_columns(["val", "sk", "c.fog.2", "c.fog.1"], read_mapping(given), None)
    {'my/fog': ['c.fog.1', 'c.fog.2']}
    """
    found = {}
    for suite, given in mapping.synthetic.items():
        its = _fitting(columns, suite, given, severities) if isinstance(given, str) else dict(given)
        found |= {f"{suite}/{entry}": names for entry, names in _in_order(suite, its).items()}
    if severities is not None and not any(SEVERITY in pattern for pattern in _patterns(mapping)):
        raise ValueError(f"there are no severities to choose {name_some(severities)} from: no pattern has {SEVERITY}")
    roles = _roles(found, mapping)
    _refuse_odd([column for column in columns if column not in roles], mapping)
    return found


def check_unit(values: Mapping[str, pd.Series], clean: str) -> None:
    """Refuse columns that are not in percent, as the others are; `clean` is that of the accuracy on clean images.

    A column of zeros is the same in every unit.
    """
    largest = {column: float(its.max()) for column, its in values.items()}
    small = [column for column, most in largest.items() if 0 < most <= 1]
    if small and len(small) == sum(most > 0 for most in largest.values()):
        raise ValueError(
            f"unit is percent, but no accuracy is above 1 ({clean} goes up to {largest[clean]:g}); they seem to be "
            "fractions: write unit: fraction"
        )
    if small:
        first = small[0]
        most = max(largest.values())
        raise ValueError(
            f"unit is percent, but {name_some(small)} {'seems' if len(small) == 1 else 'seem'} to hold fractions: over "
            f"all models, {first} goes up to {largest[first]:g}, and other columns to {most:g}; bring all to one unit, "
            "or leave it out of the mapping"
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


# --- patterns -------------------------------------------------------------------------------------------------------


def _patterns(mapping: TableMapping) -> list[str]:
    return [given for given in mapping.synthetic.values() if isinstance(given, str)]


def _expression(pattern: str, corruption: str = WORD) -> re.Pattern[str]:
    """What columns of a pattern look like, where a corruption may be called so."""
    escaped = re.escape(pattern).replace(re.escape(CORRUPTION), f"(?P<corruption>{corruption})")
    return re.compile(escaped.replace(re.escape(SEVERITY), r"(?P<severity>\d+)"))


def _fitting(columns: Sequence[str], suite: str, pattern: str, severities: Sequence[int] | None) -> Columns:
    """The columns that a pattern fits, by corruption, in the order of their levels."""
    fits = _expression(pattern)
    found: dict[str, dict[int, str]] = {}
    for match in filter(None, map(fits.fullmatch, columns)):
        level, its = int(match.groupdict().get("severity", 0)), found.setdefault(match["corruption"], {})
        if level in its:
            raise ValueError(
                f"the columns {its[level]} and {match[0]} are both {suite}/{match['corruption']} at severity {level}; "
                "drop one of them"
            )
        its[level] = match[0]
    if not found:
        near = difflib.get_close_matches(pattern, columns, n=3, cutoff=0.3)
        raise ValueError(
            f"no column fits the pattern {pattern!r} of {suite}; there are {name_some(near or columns, 5)}"
        )
    if SEVERITY not in pattern:
        return {corruption: list(its.values()) for corruption, its in found.items()}
    levels = common_levels({f"{suite}/{corruption}": its for corruption, its in found.items()}, severities)
    return {c: [its[level] for level in levels[f"{suite}/{c}"]] for c, its in found.items()}


def _refuse_odd(columns: Iterable[str], mapping: TableMapping) -> None:
    """Columns that would fit a pattern but for the name of their corruption must not be overlooked."""
    patterns = _patterns(mapping)
    rest = [column for column in columns if not any(_expression(p).fullmatch(column) for p in patterns)]
    for pattern in patterns:
        odd = [column for column in rest if _expression(pattern, ANYTHING).fullmatch(column)]
        if odd:
            raise ValueError(
                f"{name_some(odd)} would fit the pattern {pattern!r}, but names of corruptions have letters, digits, "
                "_, - and blanks alone; rename these columns, or map corruptions to columns one by one"
            )


def _in_order(suite: str, columns: Columns) -> Columns:
    """By the names of a suite that we know, and in its order; of another, as they are."""
    if suite not in list_suites():
        return columns
    known = load_suite(suite)
    named: Columns = {}
    for corruption, its in columns.items():
        entry = known.find(corruption)
        if entry in named:
            raise ValueError(f"{name_some([*named[entry], *its])} are all {suite}/{entry}, one of them as {corruption}")
        named[entry] = its
    return {entry: named[entry] for entry in known.entries if entry in named}


# --- what a column is -----------------------------------------------------------------------------------------------


def _roles(synthetic: Columns, mapping: TableMapping) -> dict[str, str]:
    """What each column is, which must be one thing; but a reference may be shared, and the clean accuracy serve as one.

    A pattern may fit more than was meant, and a line of a mapping may have been copied.
    """
    given = [(mapping.model, "model"), (mapping.clean, "clean")]
    given += [(column, f"natural.{name}") for name, (column, _) in mapping.natural.items()]
    given += [(column, f"scores.{name}") for name, column in mapping.scores.items()]
    given += [(column, name) for name, columns in synthetic.items() for column in columns]
    roles: dict[str, str] = {}
    for column, role in given:
        if column in roles:
            raise ValueError(f"the column {column} is {roles[column]} in the mapping, and {role} as well")
        roles[column] = role
    for name, (_, reference) in mapping.natural.items():
        if reference is not None and roles.setdefault(reference, "reference") not in ("clean", "reference"):
            raise ValueError(
                f"the column {reference} is {roles[reference]} in the mapping, and natural.{name}.clean as well"
            )
    return roles
