"""Suites and their corruptions for a page: what there is, how each is turned, and what one turn of it does."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from PIL import Image

from scuff.corruptions import get
from scuff.door import Resolved, corrupt, resolve_still, weighted_parameters
from scuff.pool import threads_limited
from scuff.ranges import Range
from scuff.sequences import resolve_sequence, sequence
from scuff.suites import Suite, list_suites, load_suite
from scuff.words import entry_name, percent

FINE_STEPS = 100  # of a range of severities
LEVEL_STEP = 0.05

_lock = threading.Lock()
_films: dict[Any, list[Image.Image]] = {}


@contextmanager
def _alone() -> Iterator[None]:
    """One corruption at a time, on one thread: of a single picture, sharing the work takes longer than doing it."""
    with _lock, threads_limited(1):
        yield


@dataclass(frozen=True)
class Turn:
    """One corruption of one picture: an entry of a suite, its severity (or the frame of a sequence), and the seed.

    Without a severity a picture draws its own. If `shared`, severities share their draws, so that one scene changes.
    """

    suite: Suite
    entry: str
    severity: float | None = None
    seed: int = 0
    shared: bool = True
    origin: str = "suite"  # how Python comes by a suite that is not bundled

    @property
    def is_sequence(self) -> bool:
        return get(self.suite.corruption(self.entry)).sequence

    @property
    def _options(self) -> dict[str, Any]:
        """What is passed beside the name and the severity."""
        options: dict[str, Any] = {"seed": self.seed} if self.seed else {}
        if self.shared and self.suite.listed_levels(self.entry) and self.severity is not None and not self.is_sequence:
            options["draws"] = "shared"
        return options

    def apply(self, image: Image.Image) -> Image.Image:
        """The corrupted picture; it is keyed by its pixels, as every single image is."""
        with _alone():
            if self.is_sequence:
                film = self._film(image)
                return film[self._frame(len(film))]
            return corrupt(image, self.entry, self._severity, suite=self.suite, **self._options)

    def frames(self, image: Image.Image) -> int | None:
        """How many frames a sequence has."""
        with _alone():
            return len(self._film(image)) if self.is_sequence else None

    def _frame(self, count: int = 1000) -> int:
        """Which frame of a sequence the dial is at."""
        return int(min(max(self.severity or 0, 0), count - 1))

    def _film(self, image: Image.Image) -> list[Image.Image]:
        """All frames. The last film is kept, since a dial asks for one frame of it after the other."""
        key = (self.suite.fingerprint(), self.entry, self.seed, image.mode, image.size, image.tobytes())
        if key not in _films:
            _films.clear()
            _films[key] = sequence(image, self.entry, suite=self.suite, seed=self.seed)
        return _films[key]

    @property
    def _severity(self) -> float | None:
        """A whole number as int, as levels and whole ranges want it."""
        return int(self.severity) if self.severity is not None and float(self.severity).is_integer() else self.severity

    def line(self) -> str:
        """The line of Python that does the same to a picture `image`."""
        is_bundled = self._is_bundled
        name = f"{self.suite.name}/{self.entry}" if is_bundled else self.entry
        options = {**self._options, **({} if is_bundled else {"suite": self.origin})}
        words = [f'"{name}"']
        if self.severity is not None and not self.is_sequence:
            words.append(f"{self._severity:g}" if isinstance(self._severity, float) else str(self._severity))
        for key, value in options.items():
            words.append(f'{key}="{value}"' if key == "draws" else f"{key}={value}")
        if self.is_sequence:
            return f"frame = scuff.sequence(image, {', '.join(words)})[{self._frame()}]"
        return f"corrupted = scuff.corrupt(image, {', '.join(words)})"

    @property
    def _is_bundled(self) -> bool:
        """Whether the suite is what its name stands for; an evaluation may have had an earlier version of it."""
        name = self.suite.name
        return name in list_suites() and load_suite(name).fingerprint() == self.suite.fingerprint()

    def explain(self, side: int) -> dict[str, Any]:
        """What the severity means, in sentences, and all parameters with their values for pictures of this side."""
        if self.is_sequence:
            plan = resolve_sequence(self.entry, suite=self.suite)
            return {"sentences": ["A sequence: the dial goes through its frames."], **_values(plan, side)}
        draws = {key: value for key, value in self._options.items() if key == "draws"}
        plan = resolve_still(self.entry, self._severity, suite=self.suite, **draws)
        return {"sentences": list(self._sentences(plan, side)), **_values(plan, side)}

    def _sentences(self, plan: Resolved, side: int) -> Iterator[str]:
        levels, between = self.suite.listed_levels(self.entry), self.suite.severity_range(self.entry)
        if self.severity is None:
            yield "This picture draws its own severity." if levels or between else "It has no severity to choose."
        elif between is not None:
            yield f"Fixed at {self.severity:g}, where the benchmark draws from {_text(between)}."
        elif self.severity == 0:
            yield "Severity 0 is the picture itself."
        else:
            below, share = int(self.severity), self.severity % 1
            start = f"level {below}" if below else "the picture itself"
            way = f"{percent(share, 0)} % of the way from {start} to level {below + 1}."
            yield way if share else f"Level {below} of {len(levels)}."
        lengths = ", ".join(name.replace("_", " ") for name in plan.corruption.lengths)
        if lengths and plan.size not in (None, side):
            yield f"Lengths ({lengths}) are made for {plan.size} pixels and scaled to {side}."


def catalogue(suites: Mapping[str, Suite]) -> list[dict[str, Any]]:
    """All suites with their entries, and how the severity of each is turned."""
    return [
        {
            "name": suite.name,
            "size": suite.size,
            "entries": [_entry(suite, entry) for entry in suite.entries],
        }
        for suite in suites.values()
    ]


def _entry(suite: Suite, entry: str) -> dict[str, Any]:
    corruption = get(suite.corruption(entry))
    return {
        "name": entry,
        "title": entry_name(entry),
        "group": suite.category(entry) or corruption.family,
        "text": [" ".join(paragraph.split()) for paragraph in corruption.text.split("\n\n")],
        "reference": corruption.reference,
        "size": suite.size_of(entry) or suite.size,
        "dial": _dial(suite, entry, corruption.sequence),
    }


def _dial(suite: Suite, entry: str, is_sequence: bool) -> dict[str, Any] | None:
    """From where to where a severity goes, where it begins, and whether it may be left to the picture."""
    if is_sequence:
        return {"name": "Frame", "low": 0, "high": 30, "step": 1, "start": 15, "may_draw": False}
    levels, between = suite.listed_levels(entry), suite.severity_range(entry)
    if levels:
        last, middle = levels[-1], (levels[-1] + 1) // 2
        dial = {"low": 0, "high": last, "step": LEVEL_STEP, "start": middle, "may_draw": suite.draws_levels}
    elif between is not None:
        step = 1 if between.is_whole else (between.high - between.low) / FINE_STEPS
        start = between.low + step * round((between.high - between.low) / step / 2)
        dial = {"low": between.low, "high": between.high, "step": step, "start": start, "may_draw": True}
    else:
        return None
    return {"name": "Severity", **dial, "levels": len(levels)}


def _values(plan: Resolved, side: int) -> dict[str, Any]:
    """The parameters: one value each, or the values of which results are averaged, with their weights."""
    if plan.choices:
        return {"parameters": []}
    if plan.corruption.sequence:
        return {"parameters": [[_word(name), _text(value)] for name, value in plan.parameters.items()]}
    terms = weighted_parameters(plan, side, True)
    if terms == [(1.0, None)]:
        return {"parameters": []}
    kept = sum(weight for weight, parameters in terms if parameters is None)
    listed = [["the clean picture", f"{percent(kept, 0)} %"]] if kept else []
    for name in plan.parameters:
        shares: dict[str, float] = {}
        for weight, parameters in terms:
            if parameters is not None:
                shares[_text(parameters[name])] = shares.get(_text(parameters[name]), 0.0) + weight
        averaged = ", ".join(f"{value} ({percent(weight, 0)} %)" for value, weight in shares.items())
        listed.append([_word(name), averaged if len(shares) > 1 else next(iter(shares))])
    return {"parameters": listed}


def _word(name: str) -> str:
    return name.replace("_", " ")


def _text(value: Any) -> str:
    return f"{value.low:g} to {value.high:g}" if isinstance(value, Range) else f"{value:.4g}"
