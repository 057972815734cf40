"""Options of studies and of an evaluation: one declaration serves Python, the command line and "the same again".

    Limit = Annotated[int | None, Option("Number of test images, evenly spread.", WHOLE, "N")]

A *kind* says how an option looks on the command line: what typer parses, how that becomes the value that Python takes,
and how a value is written as a word of a command again. Light on purpose: help must not wait for torch.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
Options = TypeVar("Options")
R = TypeVar("R")

Resume = Literal["same", "noted", "joins"]
REQUIRED = dataclasses.MISSING
AS_IN_PYTHON = object()
HOW_TO_RUN = ("device", "engine", "progress")


@dataclass(frozen=True)
class Kind:
    """How an option looks on the command line.

    `parsed` is the type that typer gives, `read` turns that into the value for Python (told the flag, for errors), and
    `write` turns a value into words of a command; repeated options have several.
    """

    parsed: Any
    read: Callable[[Any, str], Any] = lambda value, flag: value
    write: Callable[[Any], list[str]] = lambda value: [_word(value)]


@dataclass(frozen=True)
class Option:
    """What is known of one option beyond its type and default, as an annotation of its type.

    Parameters
    ----------
    help
        One sentence, for `--help` and for the function's docstring.
    kind
        How it is written on the command line. None: Python only.
    metavar, flag
        What help calls its value, and the flag if it is not `--name-of-the-field`; a second after a slash negates it.
    is_argument
        Whether it is an argument of the command, written without a flag.
    resume
        What a change means for a folder that holds results: "same" forbids it, "noted" allows it (data may have moved),
        "joins" adds the new values to those of the folder (more seeds, more models).
    command_default
        The default of the command where it differs from Python's; REQUIRED if the command always needs the option.
    """

    help: str
    kind: Kind | None = None
    metavar: str | None = None
    flag: str | None = None
    is_argument: bool = False
    resume: Resume = "same"
    command_default: Any = AS_IN_PYTHON


def options_of(declared: Any) -> dict[str, Option]:
    """The options of a dataclass by the names of its fields: required ones first, how to run last."""
    fields = sorted(dataclasses.fields(declared), key=lambda f: (f.name in HOW_TO_RUN, f.default is not REQUIRED))
    return {field.name: field.type.__metadata__[-1] for field in fields}  # type: ignore[union-attr]


def command_defaults(declared: type) -> dict[str, Any]:
    """The defaults of options as the command has them."""
    defaults = {field.name: field.default for field in dataclasses.fields(declared)}
    different = {name: described.command_default for name, described in options_of(declared).items()}
    return defaults | {name: value for name, value in different.items() if value is not AS_IN_PYTHON}


def flag_of(name: str, described: Option) -> str:
    """The flag of an option.

    >>> flag_of("fine_tune", Option(""))
    '--fine-tune'
    """
    return described.flag or f"--{name.replace('_', '-')}"


def takes_options(declared: Callable[P, Options]) -> Callable[[Callable[[Options], R]], Callable[P, R]]:
    """Make a function of one object of options a function of these options, and list them in its docstring.

    Types, defaults and completion are those of the dataclass.
    """

    def decorate(function: Callable[[Options], R]) -> Callable[P, R]:
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return function(declared(*args, **kwargs))

        functools.update_wrapper(call, function)
        parameters = [f"{name}\n    {described.help}" for name, described in options_of(declared).items()]
        about = inspect.cleandoc(function.__doc__ or "")
        call.__doc__ = "\n".join([about, "", "Parameters", "----------", *parameters])
        signature = inspect.signature(declared).replace(return_annotation=inspect.Signature.empty)
        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return decorate


# --- kinds ------------------------------------------------------------------------------------------------------------


def words(text: str | None) -> list[str] | None:
    """`fog,snow` as a list.

    >>> words("fog, snow"), words(None)
    (['fog', 'snow'], None)
    """
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def numbers(text: str | None, flag: str, type_: Callable[[str], Any], example: str) -> list | None:
    """Comma-separated numbers as a list; an error names the flag."""
    try:
        return None if text is None else [type_(word) for word in words(text) or ()]
    except ValueError as error:
        kind = "whole numbers" if type_ is int else "numbers"
        raise ValueError(f"{flag} takes {kind} separated by commas, as in {example}; got {text!r}") from error


def _seeds(text: str, flag: str) -> int | list[int]:
    several = numbers(str(text), flag, int, "3 (seeds 0, 1 and 2) or 3,7 (these two)") or []
    return several[0] if len(several) == 1 and "," not in str(text) else several


def _write_seeds(seeds: int | Sequence[int]) -> list[str]:
    """The first so many seeds as their number, any others one by one.

    >>> _write_seeds([0, 1, 2]), _write_seeds([3, 7]), _write_seeds([5])
    (['3'], ['3,7'], ['5,'])
    """
    if isinstance(seeds, int):
        return [str(seeds)]
    if list(seeds) == list(range(len(seeds))):
        return [str(len(seeds))]
    return [",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")]


def _schemes(text: str, flag: str) -> list[str]:
    """Schemes separated by commas; so are the options of a scheme, which have an equals sign.

    >>> _schemes("augmix, randaugment:count=3,level=4, none", "--schemes")
    ['augmix', 'randaugment:count=3,level=4', 'none']
    """
    schemes: list[str] = []
    for word in words(text) or ():
        if schemes and "=" in word and ":" not in word:
            schemes[-1] += f",{word}"
        else:
            schemes.append(word)
    return schemes


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)


def _several(value: Any) -> list[Any]:
    """Values of an option that takes one or many; a mapping gives names, written NAME=VALUE."""
    if isinstance(value, Mapping):
        return [f"{name}={_word(item)}" for name, item in value.items()]
    return [_word(item) for item in value] if isinstance(value, (list, tuple)) else [_word(value)]


def _joined(value: Any) -> list[str]:
    return [",".join(_several(value))]


TEXT = Kind(str)
WHOLE = Kind(int)
NUMBER = Kind(float)
SWITCH = Kind(bool, write=lambda value: [])  # a flag alone
EITHER = Kind(bool, write=lambda value: [])  # a flag, or its negation; without any, the choice is left open
WORDS = Kind(str, lambda text, flag: words(text), _joined)
WHOLES = Kind(str, lambda text, flag: numbers(text, flag, int, "1,3"), _joined)
NUMBERS = Kind(str, lambda text, flag: numbers(text, flag, float, "0.485,0.456,0.406"), _joined)
REPEATED = Kind(list[str], write=_several)
SEEDS = Kind(str, _seeds, _write_seeds)
SCHEMES = Kind(str, _schemes, _joined)


# --- values as JSON ---------------------------------------------------------------------------------------------------

OBJECT = "object"  # {"object": name}: a value that was given as a Python object, which no command can name


def describe(value: Any) -> Any:
    """A value as JSON: numbers and texts as they are, objects by the address or the name that they have."""
    from scuff.suites import Suite

    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Real):  # numpy's, too
        return int(value) if isinstance(value, Integral) else float(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Suite):
        return suite_word(value)
    if isinstance(value, Mapping):
        return {str(name): describe(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [describe(item) for item in value]
    if getattr(value, "ndim", None) == 1 and hasattr(value, "tolist"):  # an array of numbers
        return value.tolist()
    address, name = (getattr(value, key, None) for key in ("address", "name"))
    if isinstance(address, str):
        return address
    return {OBJECT: name if isinstance(name, str) else type(value).__name__}


def suite_word(suite: Any) -> str:
    """A suite as commands take it: its name if it comes with the package, else the file that it would be in."""
    from scuff.suites import is_bundled, load_suite

    has_name = is_bundled(suite.name) and load_suite(suite.name) == suite
    return suite.name if has_name else f"{suite.name}.yaml"
