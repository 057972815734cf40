"""A Suite: which corruptions a benchmark holds, and their parameters at every severity.

    suite: my-suite            # its name
    version: 1                 # a changed number is a new version
    size: 224                  # the image side that lengths in pixels are meant for
    severities: 5
    validation: [speckle_noise]
    entries:
      fog: {strength: [1.5, 2.0, 2.5, 2.5, 3.0], decay: 2.0}

A list gives one value per severity, anything else holds for all of them. A suite names corruptions but does not know
them: whether a name exists is found out by whoever brings the two together.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from scuff.files import write_by_rename


class SuiteError(ValueError):
    """A suite file, or a request to a suite, that makes no sense; the message says which part and why."""


@dataclass(frozen=True)
class Suite:
    """A validated benchmark; `entries` maps a corruption's name to {parameter: value or list of values}."""

    name: str
    version: int
    size: int
    severities: int
    entries: Mapping[str, Mapping[str, Any]] = field(repr=False)
    validation: tuple[str, ...] = ()
    about: str = ""
    reference: str = ""

    def __post_init__(self) -> None:
        _validate(self)

    def benchmark(self) -> list[str]:
        """The entries that count for the benchmark's score: all but the validation ones."""
        return [name for name in self.entries if name not in self.validation]

    def parameters(self, entry: str, severity: int) -> dict[str, Any]:
        """The parameters of an entry at a severity from 1 to `severities`."""
        self.check_entry(entry)
        if isinstance(severity, bool) or not isinstance(severity, int) or not 1 <= severity <= self.severities:
            raise SuiteError(f"severity must be a whole number from 1 to {self.severities}, got {severity!r}")
        return {p: v[severity - 1] if isinstance(v, list) else v for p, v in self.entries[entry].items()}

    def check_entry(self, entry: str) -> None:
        """Refuse a name that is no entry, with suggestions."""
        if entry not in self.entries:
            near = difflib.get_close_matches(entry, self.entries, n=3, cutoff=0.5) or list(self.entries)
            raise SuiteError(f"the suite {self.name} has no entry {entry!r}; did you mean {', '.join(near)}?")

    def to_dict(self) -> dict[str, Any]:
        """The content of the YAML file."""
        return {
            "suite": self.name,
            "version": self.version,
            "size": self.size,
            "severities": self.severities,
            "about": self.about,
            "reference": self.reference,
            "validation": list(self.validation),
            "entries": {entry: dict(parameters) for entry, parameters in self.entries.items()},
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the YAML file, by rename, so that a reader never sees half of it."""
        with write_by_rename(path) as file:
            yaml.safe_dump(self.to_dict(), file, sort_keys=False, default_flow_style=None, width=120, encoding="utf-8")
        return Path(path)


def _validate(suite: Suite) -> None:
    def need(good: bool, what: str) -> None:
        if not good:
            raise SuiteError(f"suite {suite.name!r}: {what}")

    need(isinstance(suite.name, str) and suite.name != "" and "/" not in suite.name, "the name must be text without /")
    for key in ("version", "size", "severities"):
        value = getattr(suite, key)
        need(type(value) is int and value >= 1, f"{key} must be a whole number of at least 1, got {value!r}")
    need(isinstance(suite.entries, Mapping) and len(suite.entries) > 0, "entries must map names to parameters")
    for entry, parameters in suite.entries.items():
        need(isinstance(entry, str) and isinstance(parameters, Mapping), f"entry {entry!r} must map names to values")
        for parameter, value in parameters.items():
            values = value if isinstance(value, list) else [value]
            where = f"{entry}.{parameter}"
            need(
                not isinstance(value, list) or len(value) == suite.severities,
                f"{where} must be one value or a list of {suite.severities}, got {value!r}",
            )
            need(
                all(isinstance(v, (int, float)) and not isinstance(v, bool) and abs(v) < float("inf") for v in values),
                f"{where} must hold finite numbers, got {value!r}",
            )
    for entry in suite.validation:
        need(entry in suite.entries, f"validation names {entry!r}, which is no entry")


def list_suites() -> list[str]:
    """The names of the suites that come with the package."""
    return list(_bundled_names())


@lru_cache
def _bundled_names() -> tuple[str, ...]:
    files = resources.files(__package__).iterdir()
    return tuple(sorted(f.name[: -len(".yaml")] for f in files if f.name.endswith(".yaml")))


def list_corruptions(suite: str | os.PathLike[str] | None = None) -> list[str]:
    """The addresses `suite/name` of one suite, or of all that come with the package.

    >>> list_corruptions("cifar10-c")[:2]
    ['cifar10-c/gaussian_noise', 'cifar10-c/shot_noise']
    """
    suites = [load_suite(s) for s in (list_suites() if suite is None else [suite])]
    return [f"{s.name}/{entry}" for s in suites for entry in s.entries]


def load_suite(source: str | os.PathLike[str]) -> Suite:
    """A suite by its name, or from a YAML file of your own.

    >>> load_suite("imagenet-c").parameters("fog", 3)
    {'strength': 2.5, 'decay': 1.7}
    """
    text = os.fspath(source)
    if text in _bundled_names():
        return _load_bundled(text)
    if text.endswith((".yaml", ".yml")) or os.path.exists(text):
        try:
            return _parse(Path(text).read_text(encoding="utf-8"), text)
        except OSError as error:
            raise SuiteError(f"cannot read the suite file {text}: {error.strerror}") from error
    near = difflib.get_close_matches(text, list_suites(), n=3, cutoff=0.4)
    hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(list_suites())}."
    raise SuiteError(f"no suite is called {text!r}; {hint} A file of your own ends in .yaml")


@lru_cache
def _load_bundled(name: str) -> Suite:
    return _parse((resources.files(__package__) / f"{name}.yaml").read_text(encoding="utf-8"), name)


def _parse(text: str, where: str) -> Suite:
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SuiteError(f"{where} is not valid YAML: {error}") from error
    if not isinstance(data, dict) or "suite" not in data:
        raise SuiteError(f"{where} is no suite: expected a mapping with the keys suite, version, size, entries")
    data["name"] = data.pop("suite")
    data["validation"] = tuple(data.get("validation") or ())
    known = {f.name for f in fields(Suite)}
    unknown, missing = sorted(set(data) - known), sorted({"version", "size", "severities", "entries"} - set(data))
    if unknown or missing:
        raise SuiteError(f"{where}: unknown keys {unknown or 'none'}, missing keys {missing or 'none'}")
    return Suite(**data)
