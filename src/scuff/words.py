"""How numbers and names are written for people: in tables, sentences and labels, on pages and in the terminal."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

Form = Callable[[float], str]  # how a number is written

NOTHING = "\u2013"  # what a table shows where there is no number


@dataclass(frozen=True)
class Fixed:
    """A form with so many digits after the point, of the value times a factor; the sign "+" is shown if asked for.

    >>> decimals(2)(0.12345), decimals(2)(-1), decimals(2)(float("nan"))
    ('0.12', '−1.00', '–')
    >>> percent(0.2345), percent(0.2345, 0), signed_percent(0.0123), signed_percent(-0.2)
    ('23.4', '23', '+1.2', '−20.0')
    """

    digits: int
    factor: float = 1
    sign: str = ""

    def __call__(self, value: float, digits: int | None = None) -> str:
        if math.isnan(value):
            return NOTHING
        return f"{self.factor * value:{self.sign}.{self.digits if digits is None else digits}f}".replace("-", "\u2212")


decimals = Fixed
plain, hundredths, fine = decimals(1), decimals(2), decimals(3)
percent = Fixed(1, 100)  # a share in per cent without the sign, for tables and axes that say so
signed_percent = Fixed(1, 100, "+")  # a difference of shares in percentage points


def percent_sign(share: float) -> str:
    """A share in per cent with the sign, which stays on the line of its number.

    >>> percent_sign(0.2345)
    '23.4\\xa0%'
    """
    return f"{percent(share)}\u00a0%"


def p_value(value: float) -> str:
    """A p-value; very small ones are not told apart.

    >>> p_value(0.034), p_value(1e-9), p_value(float("nan"))
    ('0.034', '< 0.001', '–')
    """
    return "< 0.001" if value < 0.001 else fine(value)


ROUNDING = 1e-12  # relative: less than this is no difference


def needed_decimals(low: float, high: float) -> int | None:
    """How many digits after the point an interval deserves; None where it has no width, but for rounding.

    Half its width has two digits that count if they are below 36, else one: the rule of the Particle Data Group.

    >>> needed_decimals(0.0118, 0.0409), needed_decimals(0.33, 0.42), needed_decimals(58, 78), needed_decimals(1, 1)
    (3, 2, 0, None)
    >>> needed_decimals(22.2222222222193, 22.2222222222251) is None
    True
    """
    half = (high - low) / 2
    if not ROUNDING * max(1, abs(low), abs(high)) < half < math.inf:
        return None
    first = math.floor(math.log10(half))  # place of the first digit that counts
    return max(0, (1 if half / 10**first < 3.55 else 0) - first)


def sharp(form: Form, low: float, high: float) -> Form:
    """The form with more digits after the point, where its own are too few for the interval.

    >>> sharp(percent, 0.112, 0.263)(0.2), sharp(percent, 0.0011, 0.0041)(0.0023)
    ('20.0', '0.23')
    """
    if not isinstance(form, Fixed):
        return form
    needed = needed_decimals(form.factor * low, form.factor * high)
    return replace(form, digits=max(form.digits, needed or 0))


def interval(low: float, high: float, form: Form = percent) -> str:
    """Both ends of an interval, or nothing where it is unknown.

    >>> interval(0.1, 0.25)
    '10.0 to 25.0'
    """
    return "" if math.isnan(low) or math.isnan(high) else f"{form(low)} to {form(high)}"


def interval_line(low: float, high: float, form: Form = percent) -> str:
    """An interval as a line of a label.

    >>> interval_line(0.1, 0.25), interval_line(0.1, float("nan"))
    ('95 % interval 10.0 to 25.0', 'no interval')
    """
    between = interval(low, high, form)
    return f"95 % interval {between}" if between else "no interval"


def bracketed(low: float, high: float, form: Form = percent) -> str:
    """An interval after its value in a sentence, or nothing where it is unknown.

    >>> bracketed(0.1, 0.25)
    ' (95 % interval 10.0 to 25.0)'
    """
    between = interval(low, high, form)
    return f" (95 % interval {between})" if between else ""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """A number and its noun, which ends in s if there are several, unless its plural is given.

    >>> count(1, "model"), count(250, "image"), count(3, "copy", "copies")
    ('1 model', '250 images', '3 copies')
    """
    return f"{grouped(number)} {noun if number == 1 else plural or f'{noun}s'}"


def grouped(number: float) -> str:
    """A whole number in groups of three digits, which a line never breaks."""
    return f"{number:,}".replace(",", "\u00a0")


def listed(words: Sequence[str]) -> str:
    """Words as in a sentence.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def name_some(names: Sequence[Any], most: int = 3) -> str:
    """Names in a sentence, not too many of them.

    >>> name_some(["a", "b"]), name_some(range(9)), name_some([])
    ('a, b', '0, 1, 2 and 6 more', 'none')
    """
    names = list(map(str, names))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) or "none") + more


def near_names(name: str, known: Iterable[str], *, cutoff: float = 0.6, most: int = 5) -> str:
    """What may have been meant by a name that is not known.

    >>> near_names("clena", ["clean", "model"]), near_names("q", ["clean", "model"])
    ('did you mean clean?', 'there are clean, model')
    """
    known = list(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=cutoff)
    return f"did you mean {', '.join(near)}?" if near else f"there are {name_some(known, most)}"


def join_notes(notes: Iterable[str]) -> str:
    """Several notes as one, each said once; those that are empty are left out.

    >>> join_notes(["few models", "", "few models", "no interval"])
    'few models; no interval'
    """
    return "; ".join(dict.fromkeys(filter(None, notes)))


def show_duration(seconds: float) -> str:
    """Seconds in words, as precisely as people want them.

    >>> show_duration(0.2), show_duration(12.3), show_duration(5400), show_duration(1e6)
    ('1 s', '12 s', '1.5 h', '11.6 days')
    """
    minute, hour, day = 60, 3600, 86400
    if seconds < 2 * minute:
        return f"{max(seconds, 1):.0f} s"
    if seconds < hour:
        return f"{seconds / minute:.0f} min"
    return f"{seconds / hour:.1f} h" if seconds < 2 * day else f"{seconds / day:.1f} days"


def sentence(text: str) -> str:
    """A clause as a sentence: with a capital letter and a full stop.

    >>> sentence("too few images")
    'Too few images.'
    """
    return f"{text[:1].upper()}{text[1:]}."


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


def reference_name(baseline: str) -> str:
    """A published reference as it is usually written; models keep the names that they were given."""
    return {"alexnet": "AlexNet"}.get(baseline, baseline)
