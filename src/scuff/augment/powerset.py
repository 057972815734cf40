"""All 512 subsets of the nine operations of AugMix: schemes that are as different as schemes of one kind can be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from scuff.augment.augmix import NINE

SUBSETS = 2 ** len(NINE)


def subset_number(names: Iterable[str]) -> int:
    """The number of a subset: bit k stands for operation k of `NINE`.

    >>> subset_number([]), subset_number(["shear_x", "translate_x"]), subset_number(NINE)
    (0, 5, 511)
    """
    names = list(names)
    if unknown := [name for name in names if name not in NINE]:
        raise ValueError(f"the powerset has no operation {unknown[0]!r}; there are {', '.join(NINE)}")
    return sum(1 << NINE.index(name) for name in set(names))


def subset_of(number: int) -> tuple[str, ...]:
    """The operations of a subset, in the order of `NINE`.

    >>> subset_of(5)
    ('shear_x', 'translate_x')
    """
    if not 0 <= number < SUBSETS:
        raise ValueError(f"subsets of the nine operations have the numbers 0 to {SUBSETS - 1}, got {number}")
    return tuple(name for k, name in enumerate(NINE) if number >> k & 1)


def subset_address(number: int) -> str:
    """How a subset is called among all schemes.

    >>> subset_address(5), subset_address(0)
    ('powerset:shear_x+translate_x', 'powerset:none')
    """
    return f"powerset:{'+'.join(subset_of(number)) or 'none'}"


def powerset(count: int | None = None, seed: int = 0) -> list[str]:
    """The addresses of all 512 subsets, or of `count` of them.

    The empty and the full subset are always among them. All sizes between have equally many, as far as there are so
    many; the seed decides which. More of them include those that fewer were.

    >>> len(powerset()), len(powerset(64)), powerset(64)[0]
    (512, 64, 'powerset:none')
    """
    count = SUBSETS if count is None else count
    if not 2 <= count <= SUBSETS:
        raise ValueError(f"the powerset has 2 to {SUBSETS} subsets to give, got {count}")
    drawn = sorted(range(1, SUBSETS - 1), key=lambda number: _digest(seed, number))
    seen = [0] * len(NINE)
    rank = {}
    for number in drawn:  # the first of each size come before the second of any
        rank[number] = seen[number.bit_count()]
        seen[number.bit_count()] += 1
    chosen = sorted(drawn, key=rank.__getitem__)[: count - 2]
    return [subset_address(number) for number in sorted([0, SUBSETS - 1, *chosen])]


def _digest(seed: int, number: int) -> bytes:
    return hashlib.blake2b(f"{seed}|{number}".encode(), digest_size=8).digest()
