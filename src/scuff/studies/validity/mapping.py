"""What the columns of a table of accuracies mean: a mapping, from a YAML file or given as it is.

    model: model                 # the column of names (default: model)
    unit: percent                # of accuracies: percent or fraction (default: fraction)
    clean: val                   # accuracy on clean images
    synthetic:                   # suite: a pattern, or its corruptions with their columns
      imagenet-c: "imagenet-c.{corruption}.{severity}_on-disk"
      my-suite: {fog: fog_column, rain: [rain_weak, rain_strong]}
    severities: [1, 3, 5]        # only these (default: all that there are)
    natural:                     # benchmark: a column; with the accuracy on clean images of its classes, if not of all
      imagenet-a: {accuracy: imagenet-a, clean: val-on-imagenet-a-classes}
      imagenet-v2: imagenetv2-matched-frequency-format-val
    scores: {imagenet-p: mfr}    # of synthetic benchmarks that are no accuracies; the larger, the less robust
    families: {resnet: "^resnet"}               # by regular expressions, the first that fits; or {column: NAME}
    standard: [alexnet, resnet50]               # models without any intervention for robustness
    models: {include: ["resnet"], exclude: ["_pgd"]}    # regular expressions; default: all models

Only `clean`, `natural`, and one of `synthetic` and `scores` are needed.
"""

from __future__ import annotations

import difflib
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

UNITS = {"fraction": 1.0, "percent": 100.0}
CORRUPTION, SEVERITY = "{corruption}", "{severity}"
COLUMN = "column"  # of families: where the table says it itself


@dataclass(frozen=True)
class TableMapping:
    """A mapping whose every part has been checked; see the text of the module.

    `synthetic` maps a suite to its pattern, or to {corruption: columns}. `natural` maps a benchmark to its column and
    that of the clean accuracy on its classes, None if it has all.
    """

    clean: str
    natural: Mapping[str, tuple[str, str | None]]
    synthetic: Mapping[str, str | Mapping[str, list[str]]] = field(default_factory=dict)
    scores: Mapping[str, str] = field(default_factory=dict)
    model: str = "model"
    unit: str = "fraction"
    severities: tuple[int, ...] | None = None
    families: Mapping[str, str] = field(default_factory=dict)
    standard: tuple[str, ...] | None = None
    models: Mapping[str, tuple[re.Pattern[str], ...]] = field(default_factory=dict)


def read_mapping(source: str | os.PathLike[str] | Mapping[str, Any]) -> TableMapping:
    """A mapping from a YAML file, or from what such a file holds.

    >>> read_mapping({"clean": "val", "natural": {"sketch": "sk"}, "scores": {"imagenet-p": "mfr"}}).natural
    {'sketch': ('sk', None)}
    """
    given = source if isinstance(source, Mapping) else _load(source)
    _refuse_unknown(given, [f.name for f in fields(TableMapping)], "the mapping")
    missing = [key for key in ("clean", "natural") if not given.get(key)]
    missing += [] if given.get("synthetic") or given.get("scores") else ["synthetic or scores"]
    if missing:
        raise ValueError(f"a mapping must say which columns are {', '.join(missing)}; it has {', '.join(given)}")
    unit = given.get("unit", "fraction")
    if unit not in UNITS:
        raise ValueError(f"unit must be {' or '.join(UNITS)}, got {unit!r}")
    return TableMapping(
        clean=_text(given["clean"], "clean"),
        natural={name: _natural(name, value) for name, value in _entries(given, "natural")},
        synthetic={suite: _synthetic(suite, value) for suite, value in _entries(given, "synthetic")},
        scores={name: _text(value, f"scores.{name}") for name, value in _entries(given, "scores")},
        model=_text(given.get("model", "model"), "model"),
        unit=unit,
        severities=check_severities(given.get("severities"), "severities of the mapping"),
        families={name: _family(name, value) for name, value in _entries(given, "families")},
        standard=tuple(_texts(given["standard"], "standard")) if given.get("standard") else None,
        models=_choice(given.get("models") or {}),
    )


def check_severities(severities: Iterable[int] | None, what: str = "severities") -> tuple[int, ...] | None:
    """Whole numbers from 1 on, in order and each once; None stays None."""
    if severities is None:
        return None
    found = list(severities) if isinstance(severities, Iterable) and not isinstance(severities, str) else [severities]
    if not found or not all(type(level) is int and level >= 1 for level in found):
        raise ValueError(f"{what} must be whole numbers from 1 on, as in [1, 3, 5], got {severities!r}")
    return tuple(sorted(set(found)))


def _load(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML would silently take the last of several values."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            for key, count in Counter(str(key.value) for key, _ in node.value).items():
                if count > 1:
                    raise ValueError(f"the mapping {path} has the key {key} {count} times; leave one of them")
            return super().construct_mapping(node, deep)

    try:
        found = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read the mapping {path}: {error}") from error
    if not isinstance(found, dict):
        raise ValueError(f"the mapping {path} must say what columns mean, as in clean: val; got {found!r}")
    return found


def _refuse_unknown(given: Mapping[str, Any], known: list[str], where: str) -> None:
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}?" if near else f"it knows {', '.join(known)}"
            raise ValueError(f"{where} has an unknown key {key!r}; {hint}")


def _entries(given: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    found = given.get(key) or {}
    if not isinstance(found, Mapping):
        raise ValueError(f"{key} must map names to columns, got {found!r}")
    return [(str(name), value) for name, value in found.items()]


def _text(value: Any, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise ValueError(f"{what} must be the name of a column, got {value!r}")
    return str(value)  # a column may be called 1


def _texts(values: Any, what: str) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{what} must be a list of names, got {values!r}")
    return [str(value) for value in values]


def _natural(name: str, value: Any) -> tuple[str, str | None]:
    if not isinstance(value, Mapping):
        return _text(value, f"natural.{name}"), None
    _refuse_unknown(value, ["accuracy", "clean"], f"natural.{name}")
    if "accuracy" not in value:
        raise ValueError(f"natural.{name} must say which column is its accuracy, got {dict(value)!r}")
    clean = value.get("clean")
    return _text(value["accuracy"], f"natural.{name}.accuracy"), clean and _text(clean, f"natural.{name}.clean")


def _synthetic(suite: str, value: Any) -> str | dict[str, list[str]]:
    if "/" in suite:
        raise ValueError(f"synthetic names suites, and each its corruptions; got {suite!r}, with / in it")
    if isinstance(value, str):
        if value.count(CORRUPTION) != 1 or value.count(SEVERITY) > 1:
            raise ValueError(
                f"the pattern of synthetic.{suite} needs {CORRUPTION} once, and {SEVERITY} once if there are levels; "
                f"got {value!r}. Single columns are written {{fog: COLUMN}}"
            )
        return value
    if not isinstance(value, Mapping) or not value:
        raise ValueError(f"synthetic.{suite} must be a pattern or map corruptions to columns, got {value!r}")
    found = {}
    for corruption, columns in value.items():
        where = f"synthetic.{suite}.{corruption}"
        found[str(corruption)] = [_text(c, where) for c in (columns if isinstance(columns, list) else [columns])]
        if not found[str(corruption)]:
            raise ValueError(f"{where} has no column")
    return found


def _family(name: str, value: Any) -> str:
    return _text(value, f"families.{name}") if name == COLUMN else _expression(value, f"families.{name}").pattern


def _choice(given: Any) -> dict[str, tuple[re.Pattern[str], ...]]:
    if not isinstance(given, Mapping):
        raise ValueError(f"models must have include or exclude, lists of regular expressions; got {given!r}")
    _refuse_unknown(given, ["include", "exclude"], "models")
    return {key: tuple(_expression(e, f"models.{key}") for e in _texts(given[key], f"models.{key}")) for key in given}


def _expression(value: Any, what: str) -> re.Pattern[str]:
    try:
        return re.compile(_text(value, what))
    except re.error as error:
        raise ValueError(f"{what} must be a regular expression, got {value!r}: {error}") from error
