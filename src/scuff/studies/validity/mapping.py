"""What the columns of a table of accuracies mean: a mapping, from a YAML file or a dictionary.

    model: model                 # column of model names (default: model)
    unit: percent                # of accuracies: percent or fraction (default: fraction)
    clean: val                   # accuracy on clean images
    synthetic:                   # suite: a pattern, or its corruptions with their columns
      imagenet-c: "imagenet-c.{corruption}.{severity}_on-disk"
      my-suite: {fog: fog_column, rain: [rain_weak, rain_strong]}
    severities: [1, 3, 5]        # use only these (default: all)
    natural:                     # benchmark: a column; if it lacks classes, also the clean accuracy on its classes
      imagenet-a: {accuracy: imagenet-a, clean: val-on-imagenet-a-classes}
      imagenet-v2: imagenetv2-matched-frequency-format-val
    scores: {imagenet-p: mfr}    # synthetic benchmarks that are not accuracies; larger means less robust
    families: {resnet: "^resnet"}               # regular expressions, the first match counts; or {column: NAME}
    standard: [alexnet, resnet50]               # models without any intervention for robustness
    models: {include: ["resnet"], exclude: ["_pgd"]}    # regular expressions (default: all models)

Required are `clean`, `natural`, and one of `synthetic` and `scores`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from scuff.studies.validity.cells import check_severities
from scuff.words import near_names

UNITS = {"fraction": 1.0, "percent": 100.0}
CORRUPTION, SEVERITY = "{corruption}", "{severity}"
COLUMN = "column"  # of families: where the table itself names them

Parser = Callable[[Any, str], Any]


@dataclass(frozen=True)
class TableMapping:
    """A checked mapping; see the module's docstring.

    `synthetic` maps a suite to its pattern, or to {corruption: columns}. `natural` maps a benchmark to its column and
    that of the clean accuracy on its classes (None if it has all classes).
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
    models: Mapping[str, list[str]] = field(default_factory=dict)


def read_mapping(source: str | os.PathLike[str] | Mapping[str, Any]) -> TableMapping:
    """A mapping from a YAML file, or from a dictionary with the same content.

    >>> read_mapping({"clean": "val", "natural": {"sketch": "sk"}, "scores": {"imagenet-p": "mfr"}}).natural
    {'sketch': ('sk', None)}
    """
    given = source if isinstance(source, Mapping) else _load(source)
    _check_keys(given, list(PARSERS), "the mapping")
    missing = [key for key in ("clean", "natural") if not given.get(key)]
    missing += [] if given.get("synthetic") or given.get("scores") else ["synthetic or scores"]
    if missing:
        raise ValueError(f"a mapping must say which columns are {', '.join(missing)}; it has {', '.join(given)}")
    return TableMapping(**{key: PARSERS[key](value, key) for key, value in given.items() if value is not None})


def _load(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses repeated keys, of which YAML would silently take the last."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            for key, count in Counter(str(key.value) for key, _ in node.value).items():
                if count > 1:
                    raise ValueError(f"the mapping {path} has the key {key} {count} times; keep one of them")
            return super().construct_mapping(node, deep)

    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"cannot read the mapping {path}: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"the mapping {path} must say what columns mean, as in clean: val; got {content!r}")
    return content


# --- parsers: functions of a value and of its place in the mapping, for error messages --------------------------------


def _check_keys(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            raise ValueError(f"{where} has an unknown key {key!r}; {near_names(str(key), known)}")


def _each(parse: Parser, known: Sequence[str] = ()) -> Parser:
    """The parser of a mapping whose values are parsed one by one; `known` are its keys, if not any names."""

    def parse_all(values: Any, where: str) -> dict[str, Any]:
        if not isinstance(values, Mapping):
            raise ValueError(f"{where} must map names to columns or expressions, got {values!r}")
        _check_keys(values, known or list(values), where)
        return {str(name): parse(value, f"{where}.{name}") for name, value in values.items()}

    return parse_all


def _column(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)) or value == "":
        raise ValueError(f"{where} must be the name of a column, got {value!r}")
    return str(value)  # a column may be called 1


def _list(values: Any, where: str, parse: Parser = lambda value, _: str(value)) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{where} must be a list of names, got {values!r}")
    return [parse(value, where) for value in values]


def _expression(value: Any, where: str) -> str:
    try:
        return re.compile(_column(value, where)).pattern
    except re.error as error:
        raise ValueError(f"{where} must be a regular expression, got {value!r}: {error}") from error


def _unit(value: Any, where: str) -> str:
    if value not in UNITS:
        raise ValueError(f"{where} must be {' or '.join(UNITS)}, got {value!r}")
    return value


def _natural(value: Any, where: str) -> tuple[str, str | None]:
    pair = value if isinstance(value, Mapping) else {"accuracy": value}
    columns = _each(_column, ["accuracy", "clean"])({key: v for key, v in pair.items() if v}, where)
    if "accuracy" not in columns:
        raise ValueError(f"{where} must say which column is its accuracy, got {value!r}")
    return columns["accuracy"], columns.get("clean")


def _synthetic(value: Any, where: str) -> str | dict[str, list[str]]:
    if "/" in where:
        raise ValueError(f"synthetic names suites, and each suite its corruptions; got {where} with a / in it")
    if isinstance(value, str):
        if value.count(CORRUPTION) != 1 or value.count(SEVERITY) > 1:
            raise ValueError(
                f"the pattern of {where} needs {CORRUPTION} once, and {SEVERITY} once if there are severities; got "
                f"{value!r}. Single columns are written {{fog: COLUMN}}"
            )
        return value
    if not value or not isinstance(value, Mapping) or [] in value.values():
        raise ValueError(f"{where} must be a pattern or map corruptions to columns, got {value!r}")
    lists = {corruption: columns if isinstance(columns, list) else [columns] for corruption, columns in value.items()}
    return _each(lambda columns, place: [_column(column, place) for column in columns])(lists, where)


PARSERS: dict[str, Parser] = {
    "clean": _column,
    "natural": _each(_natural),
    "synthetic": _each(_synthetic),
    "scores": _each(_column),
    "model": _column,
    "unit": _unit,
    "severities": lambda value, where: check_severities(value, f"{where} of the mapping"),
    "families": _each(lambda value, where: (_column if where.endswith(f".{COLUMN}") else _expression)(value, where)),
    "standard": lambda value, where: tuple(_list(value, where)) or None,
    "models": _each(partial(_list, parse=_expression), ["include", "exclude"]),
}
