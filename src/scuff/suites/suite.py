"""A Suite: which corruptions a benchmark holds, and their parameters.

    suite: my-suite            # its name
    version: 1                 # a changed number is a new version
    size: 224                  # the image side that lengths in pixels are meant for
    severities: 5
    validation: [speckle_noise]
    entries:
      fog: {strength: [1.5, 2.0, 2.5, 2.5, 3.0], decay: 2.0}         # five levels
      rain: {count: {from: 12, to: 120}, scale: 1.0}                 # every image draws its own
      haze: {corruption: fog, strength: 1.0, decay: 2.0}             # a name of your own for a corruption

A list gives one value per severity. A mapping `from`, `to` is a range from which every image draws its own value: whole
numbers if both ends are whole. Anything else holds always. An entry with a list has the levels 1, 2, ...; one without
is called without a severity, and if it has one range, a severity fixes the value inside it. With `draws_levels: true`
every image draws its own level too. An entry that was made for another image side than the suite says so itself, as in
`image_size: 32`; with `fixed_lengths: true` lengths are taken as they are, whatever the size. A suite names corruptions
but does not know them: whether a name exists is found out by whoever brings the two together.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from scuff.files import NAME_RULE, is_file_name, write_by_rename
from scuff.ranges import Range, is_number
from scuff.readers import read_yaml

MOST = {"size": 100_000, "severities": 100}  # beyond which a number must be a mistake
ENTRY_LISTS = ("validation", "compare_to_first")
ABOUT_ENTRY = ("corruption", "image_size")  # what an entry says of itself; all else are parameters

Levels = tuple[int | None, ...]  # the severities of an entry: 1, 2, ..., or None alone if it has no levels


class SuiteError(ValueError):
    """A suite file, or a request to a suite, that makes no sense; the message says which part and why."""


@dataclass(frozen=True)
class Suite:
    """A validated benchmark; `entries` maps a name to {parameter: value, Range, or list of values by severity}.

    `aliases` are further names of entries. `categories` groups entries, where the authors of the benchmark do. In
    sequences, a prediction is compared to that of the frame before, in those of `compare_to_first` to that of frame 0.
    With `fixed_lengths`, lengths in pixels do not scale with images. With `draws_levels`, no entry has levels to be
    called with: every image draws its own. `monotone` names the levels of an entry that lead away from the clean image,
    where these are not all of them; see `scuff.suites.paths`.
    """

    name: str
    version: int
    size: int
    entries: Mapping[str, Mapping[str, Any]] = field(repr=False)
    severities: int | None = None
    validation: tuple[str, ...] = ()
    about: str = ""
    reference: str = ""
    aliases: Mapping[str, str] = field(default_factory=dict, repr=False)
    categories: Mapping[str, list[str]] = field(default_factory=dict, repr=False)
    compare_to_first: tuple[str, ...] = ()
    draws_levels: bool = False
    fixed_lengths: bool = False
    monotone: Mapping[str, list[int]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _validate(self)

    def __hash__(self) -> int:  # mappings have none
        return hash((self.name, self.version))

    def benchmark(self) -> list[str]:
        """The entries that count for the benchmark's score: all but the validation ones."""
        return [name for name in self.entries if name not in self.validation]

    def corruption(self, entry: str) -> str:
        """The name of the corruption that an entry applies: its own, unless the file says otherwise."""
        return self.entries[entry].get("corruption", entry)

    def size_of(self, entry: str) -> int | None:
        """The image side that the lengths of an entry are meant for; None where they are the same on all images."""
        return None if self.fixed_lengths else self.entries[entry].get("image_size", self.size)

    def category(self, entry: str) -> str:
        """The first category that names an entry, or an empty text."""
        return next((category for category, group in self.categories.items() if entry in group), "")

    def levels(self, entry: str) -> Levels:
        """The severities at which a benchmark applies an entry: 1, 2, ..., or None alone if it has no levels."""
        return (None,) if self.draws_levels else self.listed_levels(entry) or (None,)

    def listed_levels(self, entry: str) -> tuple[int, ...]:
        """The levels that the file gives to an entry, from which images draw theirs if the suite says so."""
        graded = any(isinstance(value, list) for value in self.entries[entry].values())
        return tuple(range(1, (self.severities or 0) + 1)) if graded else ()

    def choose(
        self,
        only: Sequence[str] | str | None = None,
        severities: Sequence[int] | int | None = None,
        validation: bool = False,
    ) -> dict[str, Levels]:
        """The entries of a run and their levels: the benchmark at all levels, unless the arguments say otherwise.

        `only` names entries, validation ones too; `validation` takes in all of these; `severities` selects levels, and
        leaves entries without levels as they are.
        """
        only = [only] if isinstance(only, str) else only
        severities = [severities] if isinstance(severities, int) else severities
        if only is not None and not only:
            raise SuiteError("no corruption is chosen")
        if severities is not None and not severities:
            raise SuiteError("no severity is chosen")
        offered = self.entries if validation else self.benchmark()
        wanted = set(offered if only is None else map(self.find, only))
        chosen = {entry: self._choose_levels(entry, severities) for entry in self.entries if entry in wanted}
        if severities is not None and not any(levels != (None,) for levels in chosen.values()):
            raise SuiteError(f"these entries of {self.name} have no severities to choose from: {', '.join(chosen)}")
        return chosen

    def _choose_levels(self, entry: str, severities: Sequence[int] | None) -> Levels:
        if severities is None or self.levels(entry) == (None,):
            return self.levels(entry)
        for severity in severities:
            self._check_level(entry, severity)
        return tuple(sorted(set(severities)))

    def severity_range(self, entry: str) -> Range | None:
        """The range inside which a severity may be fixed: that of the entry's only ranged parameter."""
        ranges = [value for value in self.entries[entry].values() if isinstance(value, Range)]
        return ranges[0] if len(ranges) == 1 and not self.listed_levels(entry) else None

    def parameters(self, entry: str, severity: float | None = None) -> dict[str, Any]:
        """The parameters of an entry at a severity; a `Range` among them is drawn by every image for itself."""
        entry = self.find(entry)
        values = {p: v for p, v in self.entries[entry].items() if p not in ABOUT_ENTRY}
        if self.listed_levels(entry):
            self._check_level(entry, severity)
            assert isinstance(severity, int)
            return {p: v[severity - 1] if isinstance(v, list) else v for p, v in values.items()}
        if severity is None:
            return values
        between = self.severity_range(entry)
        if between is None:
            raise SuiteError(f"{self.name}/{entry} has no severities; leave the severity out, got {severity!r}")
        if not is_number(severity) or not between.contains(severity):
            kind = "a whole number" if between.is_whole else "a number"
            raise SuiteError(
                f"the severity of {self.name}/{entry} must be {kind} within {between}, or be left out so that every "
                f"image draws its own; got {severity!r}"
            )
        return {p: severity if isinstance(v, Range) else v for p, v in values.items()}

    def _check_level(self, entry: str, severity: Any) -> None:
        if severity is None:
            raise SuiteError(f"{self.name}/{entry} needs a severity from 1 to {self.severities}")
        if isinstance(severity, bool) or not isinstance(severity, int) or not 1 <= severity <= (self.severities or 0):
            raise SuiteError(f"severity must be a whole number from 1 to {self.severities}, got {severity!r}")

    def find(self, name: str) -> str:
        """The entry of that name or alias; a wrong one is answered with suggestions."""
        name = self.aliases.get(name, name)
        if name not in self.entries:
            near = difflib.get_close_matches(name, self.entries, n=3, cutoff=0.5) or list(self.entries)
            raise SuiteError(f"the suite {self.name} has no entry {name!r}; did you mean {', '.join(near)}?")
        return name

    def to_dict(self) -> dict[str, Any]:
        """The content of the YAML file."""
        content = {"suite": self.name, "version": self.version, "size": self.size}
        if self.severities is not None:
            content["severities"] = self.severities
        for key in ("about", "reference", "aliases", "categories", "draws_levels", "fixed_lengths", "monotone"):
            if getattr(self, key):
                content[key] = getattr(self, key)
        for key in ENTRY_LISTS:
            if getattr(self, key):
                content[key] = list(getattr(self, key))
        content["entries"] = {e: {p: _plain(v) for p, v in values.items()} for e, values in self.entries.items()}
        return content

    def fingerprint(self) -> str:
        """A hash of what determines the pixels. Two files of one name and version may differ while a suite is made."""
        whole = self.to_dict()
        content = [whole[key] for key in ("suite", "size", "entries", "draws_levels", "fixed_lengths") if key in whole]
        return hashlib.blake2b(json.dumps(content, sort_keys=True).encode(), digest_size=8).hexdigest()

    def to_yaml(self) -> str:
        """The text of the file that `load_suite` reads."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False, default_flow_style=None, width=120)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the YAML file atomically, so that a reader never sees half of it."""
        with write_by_rename(path) as file:
            file.write(self.to_yaml().encode())
        return Path(path)


def parse_suite(text: str, where: str) -> Suite:
    """A suite from the text of a YAML file; `where` is its name in error messages."""
    try:
        data = read_yaml(text, where, Any)
    except ValueError as error:
        raise SuiteError(str(error)) from error
    if isinstance(data, dict) and not data.get("entries", True):
        raise SuiteError(f"{where}: entries must map names to parameters; there are none")
    return suite_from_dict(data, where)


def suite_from_dict(data: Any, where: str) -> Suite:
    """A suite from the content of its file, as `Suite.to_dict` gives it."""
    if not isinstance(data, dict) or "suite" not in data:
        raise SuiteError(f"{where} is no suite: expected a mapping with the keys suite, version, size, entries")
    data = {("name" if key == "suite" else key): value for key, value in data.items()}
    for key in ENTRY_LISTS:
        entries = data.get(key) or ()
        if not isinstance(entries, (list, tuple)):
            raise SuiteError(f"{where}: {key} must be a list of entries, got {entries!r}")
        data[key] = tuple(entries)
    known = {f.name for f in fields(Suite)}
    unknown, missing = sorted(map(str, set(data) - known)), sorted({"version", "size", "entries"} - set(data))
    if unknown or missing:
        raise SuiteError(f"{where}: unknown keys {unknown or 'none'}, missing keys {missing or 'none'}")
    if isinstance(data["entries"], dict):
        data["entries"] = {e: _with_ranges(values, f"{where}: {e}") for e, values in data["entries"].items()}
    return Suite(**data)


def _with_ranges(values: Any, where: str) -> Any:
    """The mappings `from`, `to` among an entry's values as Range; what is no mapping is left for the validation."""
    if not isinstance(values, dict):
        return values
    out = {}
    for parameter, value in values.items():
        if isinstance(value, dict):
            if set(value) != {"from", "to"}:
                raise SuiteError(f"{where}.{parameter}: a range is written {{from: LOW, to: HIGH}}, got {value!r}")
            try:
                value = Range(value["from"], value["to"])
            except ValueError as error:
                raise SuiteError(f"{where}.{parameter}: {error}") from error
        out[parameter] = value
    return out


def _plain(value: Any) -> Any:
    return {"from": value.low, "to": value.high} if isinstance(value, Range) else value


def _validate(suite: Suite) -> None:
    def need(good: bool, what: str) -> None:
        if not good:
            raise SuiteError(f"suite {suite.name!r}: {what}")

    need(is_file_name(suite.name), f"the name must be {NAME_RULE}")
    for key in ("version", "size", "severities"):
        value = getattr(suite, key)
        good = (type(value) is int and 1 <= value <= MOST.get(key, value)) or (key == "severities" and value is None)
        most = f"from 1 to {MOST[key]}" if key in MOST else "of at least 1"
        need(good, f"{key} must be a whole number {most}, got {value!r}")
    for key in ("about", "reference"):
        need(isinstance(getattr(suite, key), str), f"{key} must be text, got {getattr(suite, key)!r}")
    for key in ("draws_levels", "fixed_lengths"):
        need(isinstance(getattr(suite, key), bool), f"{key} must be true or false, got {getattr(suite, key)!r}")
    need(isinstance(suite.entries, Mapping), f"entries must map names to parameters, got {suite.entries!r}")
    for entry, parameters in suite.entries.items():
        need(is_file_name(entry), f"the name of an entry becomes a folder and must be {NAME_RULE}; got {entry!r}")
        need(isinstance(parameters, Mapping), f"entry {entry!r} must map names to values")
        for parameter, value in parameters.items():
            where = f"{entry}.{parameter}"
            if parameter == "corruption":
                need(isinstance(value, str), f"{where} must be the name of a corruption, got {value!r}")
                continue
            if parameter == "image_size":
                good = type(value) is int and 1 <= value <= MOST["size"]
                need(good, f"{where} must be a whole number of pixels, from 1 to {MOST['size']}, got {value!r}")
            need(
                not isinstance(value, list) or len(value) == suite.severities,
                f"{where} must be one value, a range, or a list of {suite.severities or 'severities'}, got {value!r}",
            )
            values = value if isinstance(value, list) else [value]
            good = isinstance(value, Range) or all(map(is_number, values))
            need(good, f"{where} must hold finite numbers, got {value!r}")
    for key in ENTRY_LISTS:
        for entry in getattr(suite, key):
            need(isinstance(entry, str) and entry in suite.entries, f"{key} names {entry!r}, which is no entry")
    for key, names in (("aliases", suite.aliases), ("categories", suite.categories)):
        good = isinstance(names, Mapping) and all(isinstance(name, str) for name in names)
        need(good, f"{key} must map names to entries, got {names!r}")
    need(isinstance(suite.monotone, Mapping), f"monotone must map entries to their levels, got {suite.monotone!r}")
    for entry, stops in suite.monotone.items():
        need(entry in suite.entries, f"monotone names {entry!r}, which is no entry")
        levels = [level for level in suite.listed_levels(entry) if isinstance(stops, list) and level in stops]
        good = stops == levels and (not levels or levels[-1] == suite.severities)
        need(good, f"monotone.{entry} must be levels in rising order, up to the last one, or [], got {stops!r}")
    for name, group in suite.categories.items():
        need(isinstance(group, (list, tuple)), f"the category {name!r} must be a list of entries, got {group!r}")
    for entry in [*suite.aliases.values(), *(e for group in suite.categories.values() for e in group)]:
        known = isinstance(entry, str) and entry in suite.entries
        need(known, f"aliases or categories name {entry!r}, which is no entry")
