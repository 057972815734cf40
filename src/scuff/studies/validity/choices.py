"""The options of a study of validity, checked: numbers that are whole and large enough, and what is resampled."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from scuff.metrics import Shifts

Units = Literal["models", "families"]

LEAST_RESAMPLES = 100  # the ends of a 95 % interval are then the second or third value from either side
FEW_FAMILIES = 10  # a bootstrap of fewer has few different resamples, and intervals that are too narrow


def whole_number(value: Any, what: str, least: int = 1) -> int:
    """An int from any whole number, NumPy's included.

    >>> whole_number(2.5, "count")
    Traceback (most recent call last):
    ...
    ValueError: count must be a whole number of at least 1, got 2.5
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise ValueError(f"{what} must be a whole number of at least {least}, got {value!r}")
    return number


def check_sizes(search: int | Iterable[int]) -> list[int]:
    """Sizes of benchmarks to search; a single one may come alone.

    >>> check_sizes(3), check_sizes((3, 5))
    ([3], [3, 5])
    """
    sizes = search if isinstance(search, Iterable) and not isinstance(search, str) else [search]
    return [whole_number(size, "a size to search") for size in sizes]


def check_pairs(pairs: Sequence[tuple[int, int]] | tuple[int, int] | None) -> list[tuple[int, int]] | None:
    """Pairs of the number of categories and of corruptions of each; a single one may come alone.

    >>> check_pairs([(2, 3), (3, 2)]), check_pairs((2, 3))
    ([(2, 3), (3, 2)], [(2, 3)])
    """
    if pairs is None:
        return None
    numbers = list(pairs) if isinstance(pairs, Iterable) else []
    if numbers and not any(isinstance(pair, Iterable) for pair in numbers):
        numbers = [numbers]
    if not numbers or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in numbers):
        raise ValueError(f"pairs must be pairs of whole numbers, as in [(2, 3), (3, 2)], got {pairs!r}")
    return [tuple(whole_number(number, "a number of a pair") for number in pair) for pair in numbers]  # type: ignore[attr-defined, misc]


def choose_units(shifts: Shifts, resample: Units | None) -> Shifts:
    """The table with families of models only if these are to be resampled."""
    if resample not in (None, *get_args(Units)):
        raise ValueError(f"resample must be {' or '.join(get_args(Units))}, got {resample!r}")
    if resample == "families" and shifts.families is None:
        raise ValueError("the table has no families of models; a mapping names them, or a column family")
    return replace(shifts, families=None) if resample == "models" else shifts


def note_families(shifts: Shifts) -> list[str]:
    """What makes intervals by families unreliable."""
    if shifts.families is None:
        return []
    sizes = shifts.families.value_counts()
    reasons = [f"there are {len(sizes)} families of models"] if len(sizes) < FEW_FAMILIES else []
    if 2 * sizes.iloc[0] > len(shifts.models):
        reasons.append(f"the family {sizes.index[0]} has {sizes.iloc[0]} of the {len(shifts.models)} models")
    rough = "so that intervals by families are rough; compare those of --resample models"
    return [f"{' and '.join(reasons)}, {rough}"] if reasons else []
