"""What a study of validity is asked for: numbers that are whole and large enough, and what is resampled."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

from scuff.metrics import Resampling, Shifts

Units = Literal["models", "families"]

LEAST_RESAMPLES = 100  # the ends of a 95 % interval are then the second or third from either side
FEW_FAMILIES = 10  # a bootstrap of fewer has few different resamples, and intervals that are too narrow


def check_resampling(resamples: int, seed: int) -> Resampling:
    """How intervals are found.

    >>> check_resampling(20, 0)
    Traceback (most recent call last):
    ...
    ValueError: an interval needs at least 100 resamples, got 20
    """
    if whole_number(resamples, "resamples") < LEAST_RESAMPLES:
        raise ValueError(f"an interval needs at least {LEAST_RESAMPLES} resamples, got {resamples}")
    if whole_number(seed, "the seed") < 0:
        raise ValueError(f"the seed must not be negative, got {seed}")
    return Resampling(count=int(resamples), seed=int(seed))


def check_count(count: int) -> int:
    """How many benchmarks a group may have."""
    if whole_number(count, "count") < 1:
        raise ValueError(f"count must be at least 1 benchmark of a group, got {count}")
    return int(count)


def check_sizes(search: int | Iterable[int]) -> list[int]:
    """Sizes of benchmarks to search, of which one may come alone.

    >>> check_sizes(3), check_sizes((3, 5))
    ([3], [3, 5])
    """
    given = search if isinstance(search, Iterable) and not isinstance(search, str) else [search]
    return [whole_number(size, "a size to search") for size in given]


def check_pairs(pairs: Sequence[tuple[int, int]] | tuple[int, int] | None) -> list[tuple[int, int]] | None:
    """Pairs of the number of categories and of corruptions of each, of which one may come alone.

    >>> check_pairs([(2, 3), (3, 2)]), check_pairs((2, 3))
    ([(2, 3), (3, 2)], [(2, 3)])
    """
    if pairs is None:
        return None
    wrong = f"pairs must be pairs of whole numbers, as in [(2, 3), (3, 2)], got {pairs!r}"
    if isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise ValueError(wrong)
    found = list(pairs)
    if found and not any(isinstance(pair, Iterable) for pair in found):
        found = [found]
    if not found or not all(isinstance(pair, Sequence) and len(pair) == 2 for pair in found):
        raise ValueError(wrong)
    return [tuple(whole_number(number, "a number of a pair") for number in pair) for pair in found]


def whole_number(value: Any, what: str) -> int:
    """An int out of anything that is one, also of NumPy's.

    >>> whole_number(2.5, "count")
    Traceback (most recent call last):
    ...
    ValueError: count must be a whole number, got 2.5
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{what} must be a whole number, got {value!r}") from None


def choose_units(shifts: Shifts, resample: Units | None) -> Shifts:
    """The table with families of models only if these are to be resampled."""
    if resample not in (None, *get_args(Units)):
        raise ValueError(f"resample must be {' or '.join(get_args(Units))}, got {resample!r}")
    if resample == "families" and shifts.families is None:
        raise ValueError("the table knows no families of models; a mapping names them, or a column family")
    return replace(shifts, families=None) if resample == "models" else shifts


def note_families(shifts: Shifts) -> list[str]:
    """What makes intervals by families rough."""
    if shifts.families is None:
        return []
    sizes = shifts.families.value_counts()
    few = [f"there are {len(sizes)} families of models"] if len(sizes) < FEW_FAMILIES else []
    if 2 * sizes.iloc[0] > len(shifts.models):
        few.append(f"the family {sizes.index[0]} has {sizes.iloc[0]} of the {len(shifts.models)} models")
    rough = "so that intervals by families are rough; compare those of --resample models"
    return [f"{' and '.join(few)}, {rough}"] if few else []
