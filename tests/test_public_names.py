"""The public names are a promise: none appears or vanishes unnoticed.

Names of Python and of the command line stand in `public_names.txt`, one per line. After a change that is meant:

    python tests/test_public_names.py > tests/public_names.txt

and tell users in CHANGELOG.md.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from scuff.cli import app

PINNED = Path(__file__).with_name("public_names.txt")
MODULES = ("scuff", "scuff.augment", "scuff.design", "scuff.metrics", "scuff.studies")


def python_names() -> Iterator[str]:
    for module in MODULES:
        yield from (f"{module}.{name}" for name in importlib.import_module(module).__all__)


def command_line_names(command: Any, path: str = "scuff") -> Iterator[str]:
    """A command, its arguments and flags, and the same of its subcommands: `scuff evaluate --suite`."""
    yield path
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        words = [*parameter.opts, *parameter.secondary_opts] if is_option else [parameter.name.upper()]
        yield from (f"{path} {word}" for word in words)
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from command_line_names(subcommand, f"{path} {name}")


def public_names() -> list[str]:
    return sorted({*python_names(), *command_line_names(typer.main.get_command(app))})


def differences(pinned: list[str], present: list[str]) -> str:
    """What appeared and what vanished, and what to do; empty if all is as before."""
    appeared, vanished = sorted({*present} - {*pinned}), sorted({*pinned} - {*present})
    if not appeared and not vanished:
        return ""
    lists = [f"{label}: {', '.join(names)}" for label, names in (("new", appeared), ("gone", vanished)) if names]
    update = "python tests/test_public_names.py > tests/public_names.txt"
    remedy = f"If this is meant, run `{update}` and note it in CHANGELOG.md."
    return "\n".join(["the public names have changed", *lists, remedy])


def test_public_names_are_those_that_users_know():
    message = differences(PINNED.read_text(encoding="utf-8").split("\n")[:-1], public_names())
    assert not message, message


def test_all_public_names_exist():
    for module in MODULES:
        missing = [name for name in importlib.import_module(module).__all__ if not hasattr(sys.modules[module], name)]
        assert missing == [], module


def test_a_change_is_told_with_its_remedy():
    assert differences(["scuff.a", "scuff b"], ["scuff b", "scuff.a"]) == ""
    message = differences(["scuff.a", "scuff.b"], ["scuff.b", "scuff.c"])
    assert message.splitlines()[1:3] == ["new: scuff.c", "gone: scuff.a"]
    assert "tests/public_names.txt" in message


if __name__ == "__main__":
    print("\n".join(public_names()))
