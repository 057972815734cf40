"""The verbs of the command line. A verb's module is imported when it is asked for: `scuff corrupt` needs no other."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import typer

from scuff.cli.plugins import SETTINGS, accept_plugins

# In the order in which a newcomer wants them. Each is `VERB_command` of the module of its name, or a group, `VERB_app`.
VERBS = (
    *("list", "show", "gallery", "corrupt", "lock", "verify", "evaluate", "compare", "survival", "check", "stream"),
    *("adapt", "train", "overlap", "design", "separation", "mscr", "distance", "validity", "report", "export"),
    *("explore", "progress", "demo", "doctor"),
)
# Verbs whose module is named after their question.
FILES = {"check": "claims", "mscr": "separation", "distance": "transform_space"}


class Commands(Mapping[str, Any]):
    """The commands by their verbs, in order; each is made when it is looked up."""

    def __getitem__(self, verb: str) -> Any:
        return _command(verb)

    def __contains__(self, verb: object) -> bool:
        return verb in VERBS

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


@cache
def _command(verb: str) -> Any:
    if verb not in VERBS:
        raise KeyError(verb)
    module = importlib.import_module(f"scuff.cli.{FILES.get(verb, verb)}")
    parent = typer.Typer(**SETTINGS)
    if hasattr(module, f"{verb}_app"):
        parent.add_typer(getattr(module, f"{verb}_app"), name=verb)
    else:
        parent.command(verb)(getattr(module, f"{verb}_command"))
    command = typer.main.get_group(parent).commands[verb]
    accept_plugins(command)
    return command
