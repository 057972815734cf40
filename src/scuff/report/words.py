"""How numbers and names are written in a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

NOTHING = "\u2013"  # what a table shows where there is no number


def percent(share: float, digits: int = 1) -> str:
    """A share as per cent without the sign, for tables and axes that say so.

    >>> percent(0.2345), percent(float("nan"))
    ('23.4', '–')
    """
    return _number(100 * share, f".{digits}f")


def percent_sign(share: float) -> str:
    """A share as per cent with the sign, which stays on the line of its number.

    >>> percent_sign(0.2345)
    '23.4\\xa0%'
    """
    return f"{percent(share)}\u00a0%"


def signed_percent(share: float, digits: int = 1) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> signed_percent(0.0123), signed_percent(-0.2)
    ('+1.2', '−20.0')
    """
    return _number(100 * share, f"+.{digits}f")


def plain(value: float) -> str:
    """A number that is no share: one digit after the point."""
    return _number(value, ".1f")


def fine(value: float) -> str:
    """A number near 1: three digits after the point."""
    return _number(value, ".3f")


def hundredths(value: float) -> str:
    """A score from 0 to about 1: two digits after the point."""
    return _number(value, ".2f")


def interval(low: float, high: float, write=percent) -> str:
    """Both ends of an interval, or nothing where it is unknown.

    >>> interval(0.1, 0.25)
    '10.0 to 25.0'
    """
    return "" if math.isnan(low) or math.isnan(high) else f"{write(low)} to {write(high)}"


def bracketed(low: float, high: float, write=percent) -> str:
    """An interval after its value in a sentence, or nothing where it is unknown.

    >>> bracketed(0.1, 0.25)
    ' (95 % interval 10.0 to 25.0)'
    """
    between = interval(low, high, write)
    return f" (95 % interval {between})" if between else ""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun, which ends in s if there are several, unless its plural is given.

    >>> count(1, "model"), count(250, "image"), count(3, "copy", "copies")
    ('1 model', '250 images', '3 copies')
    """
    return f"{grouped(number)} {noun if number == 1 else plural or f'{noun}s'}"


def grouped(number: int) -> str:
    """A whole number in groups of three digits, which a line never breaks."""
    return f"{number:,}".replace(",", "\u00a0")


def entry_name(entry: str) -> str:
    """The name of a suite's entry for people: words instead of underscores."""
    return entry.replace("_", " ")


def short_names(addresses: Sequence[str]) -> dict[str, str]:
    """Addresses `suite/entry` for people: the entry, and its suite where several suites have one of that name.

    >>> short_names(["a/fog", "a/light_rain", "b/fog"])
    {'a/fog': 'fog (a)', 'a/light_rain': 'light rain', 'b/fog': 'fog (b)'}
    """
    parts = {address: address.rpartition("/") for address in addresses}
    entries = [entry for _, _, entry in parts.values()]
    return {
        address: entry_name(entry) + (f" ({suite})" if entries.count(entry) > 1 else "")
        for address, (suite, _, entry) in parts.items()
    }


def cell_name(entry: str, severity: int) -> str:
    """An entry at a severity; 0 stands for an entry without levels.

    >>> cell_name("jpeg_compression", 3), cell_name("rain", 0)
    ('jpeg compression, severity 3', 'rain')
    """
    return entry_name(entry) + (f", severity {severity}" if severity else "")


def class_name(names: Sequence[str], number: int) -> str:
    """The name of a class, or its number where names are not known."""
    return names[number] if 0 <= number < len(names) else f"class {number}"


def _number(value: float, form: str) -> str:
    return NOTHING if math.isnan(value) else format(value, form).replace("-", "\u2212")


def reference_name(baseline: str) -> str:
    """A published reference as it is usually written; models keep the names that they were given."""
    return {"alexnet": "AlexNet"}.get(baseline, baseline)


def listed(words: Sequence[str]) -> str:
    """Words as in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
