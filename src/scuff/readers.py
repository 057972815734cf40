"""YAML and JSON of any origin, read so that what comes out is plain, small and of a stated form.

A form is a type: `dict[str, list[int]]`, `str | None`, a TypedDict. Whatever does not have it is a ValueError that says
where the file is wrong, before anybody works with it.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Hashable
from types import UnionType
from typing import Any, NotRequired, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

import yaml

MOST_VALUES = 50_000  # in a YAML file, with its aliases written out
TOO_MANY = f"it holds more than {MOST_VALUES} values"
DEEPEST = 100  # lists in lists
LEAST_WHOLE, MOST_WHOLE = -(2**63), 2**64 - 1
CALLED = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
}

AnyMapping = dict[str, Any]


def read_json(content: str | bytes, where: str, form: Any = AnyMapping) -> Any:
    """The content of a JSON file of a form.

    >>> read_json('{"seeds": [0, 1]}', "run.json", dict[str, list[int]])
    {'seeds': [0, 1]}
    """
    try:
        value = json.loads(content)
        _check_plain(value)
    except RecursionError as error:
        raise ValueError(f"{where} is not readable as JSON: it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"{where} is not readable as JSON: {error}") from error
    return _of_form(value, form, where)


def read_yaml(content: str | bytes, where: str, form: Any = AnyMapping) -> Any:
    """The content of a YAML file of a form. Keys that occur twice, and aliases that expand without end, are refused.

    >>> read_yaml("a: &a [1, 2]\\nb: *a", "some.yaml")
    {'a': [1, 2], 'b': [1, 2]}
    """
    try:
        loader = _Loader(content)
        node = loader.get_single_node()
        if node is not None and _count(node, {}) > MOST_VALUES:
            raise ValueError(f"with its aliases written out {TOO_MANY}")
        value = None if node is None else loader.construct_document(node)
        _check_plain(value)
    except RecursionError as error:
        raise ValueError(f"{where} is not valid YAML: it is nested too deeply") from error
    except (yaml.YAMLError, ValueError) as error:
        raise ValueError(f"{where} is not valid YAML: {error}") from error
    return _of_form(value, form, where)


def _of_form(value: Any, form: Any, where: str) -> Any:
    try:
        check_form(value, form)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    return value


def check_form(value: Any, form: Any, where: str = "") -> None:
    """Refuse a value that does not have a form; `where` is its place in the file.

    >>> check_form({"cells": {"train": {"done": "many"}}}, dict[str, dict[str, dict[str, int]]])
    Traceback (most recent call last):
    ...
    ValueError: cells.train.done: expected a whole number, got 'many'
    """
    if not _fits(value, form):
        raise ValueError(f"{where}{where and ': '}expected {_called(form)}, got {reprlib.repr(value)}")
    if get_origin(form) in (Union, UnionType):
        form = next(kind for kind in get_args(form) if _fits(value, kind))
    inner: dict[Any, Any] = {}
    if is_typeddict(form):
        marks = {key: get_origin(kind) for key, kind in get_type_hints(form, include_extras=True).items()}
        required = [k for k, mark in marks.items() if (mark is not NotRequired if form.__total__ else mark is Required)]
        missing = [key for key in required if key not in value]
        if missing:
            raise ValueError(f"{where}{where and ': '}{', '.join(missing)} is missing")
        inner = {key: kind for key, kind in get_type_hints(form).items() if key in value}
    elif get_origin(form) is dict:
        names, kind = get_args(form)
        for key in value:
            check_form(key, names, f"the key {key!r}{where and ' of '}{where}")
        inner = dict.fromkeys(value, kind)
    elif get_origin(form) is list:
        inner = dict.fromkeys(range(len(value)), get_args(form)[0])
    for key, kind in inner.items():
        if kind is not Any:
            check_form(value[key], kind, f"{where}.{key}" if where else str(key))


def _fits(value: Any, form: Any) -> bool:
    """Whether a value is of the kind of a form, whatever it contains."""
    if form is Any or form is None:
        return form is Any or value is None
    if get_origin(form) in (Union, UnionType):
        return any(_fits(value, kind) for kind in get_args(form))
    kind = dict if is_typeddict(form) else get_origin(form) or form
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _called(form: Any) -> str:
    if get_origin(form) in (Union, UnionType):
        return " or ".join(_called(kind) for kind in get_args(form))
    if form in (None, type(None)):
        return "nothing"
    return CALLED[dict if is_typeddict(form) else get_origin(form) or form]


def _check_plain(value: Any) -> None:
    """Refuse what others who work with the value would stumble over."""
    level = [value]
    for _ in range(DEEPEST):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                inner += each.keys()
                inner += each.values()
            elif isinstance(each, (list, tuple, set)):
                inner += each
            elif isinstance(each, int) and not LEAST_WHOLE <= each <= MOST_WHOLE:
                raise ValueError(f"whole numbers must fit into 64 bits, got one of {each.bit_length()} bits")
        if not inner:
            return
        level = inner
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


def _count(node: yaml.Node, known: dict[int, int | None]) -> int:
    """How many values a node stands for, with its aliases written out."""
    if id(node) in known:
        count = known[id(node)]
        if count is None:
            raise ValueError("an alias stands inside of what it stands for")
        return count
    known[id(node)] = None
    parts = node.value if isinstance(node, yaml.CollectionNode) else ()
    count = 1 + sum(_count(part, known) for pair in parts for part in (pair if isinstance(pair, tuple) else (pair,)))
    known[id(node)] = count
    return count


class _Loader(yaml.SafeLoader):
    """Refuses files that would take long, and keys that occur twice, of which YAML would silently take the last.

    It is the loader in Python: the one in C ends the process where lists are nested too deeply.
    """

    values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.values += 1
        if self.values > MOST_VALUES:
            raise ValueError(TOO_MANY)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            name = str(key.value)
            if name in seen:
                raise ValueError(f"the key {name} occurs more than once; keep one of them")
            seen.add(name)
        return super().construct_mapping(node, deep)
