"""A range of values from which every image draws its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Range:
    """Uniform between `low` and `high`; whole numbers, with both ends included, if both ends are whole.

    >>> Range(3, 8).is_whole, Range(0.5, 1.0).contains(0.75), str(Range(3, 8))
    (True, True, '3 .. 8')
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (is_number(self.low) and is_number(self.high) and self.low <= self.high):
            raise ValueError(f"a range needs two finite numbers, the smaller first; got {self.low!r}, {self.high!r}")

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def contains(self, value: float) -> bool:
        """Whether an image could draw this value."""
        return self.low <= value <= self.high and (not self.is_whole or isinstance(value, int))

    def __str__(self) -> str:
        return f"{self.low:g} .. {self.high:g}"


def is_number(value: Any) -> bool:
    """A finite number, of 64 bits if it is whole; True and False are none."""
    limit = 2**63 if isinstance(value, int) else float("inf")
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < limit


def as_range(pair: Sequence[float]) -> Range:
    """A pair of numbers as a range."""
    if len(pair) != 2:
        raise ValueError(f"a range is a pair of numbers, got {pair!r}")
    return Range(*pair)
