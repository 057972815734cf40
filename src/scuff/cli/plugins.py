"""`--plugin FILE.py`, which every command takes, and the plug-ins of a project."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer


def _load_plugins(ctx: typer.Context, files: list[str]) -> None:
    """Load the given plug-ins and, for a verb, those of the project."""
    from scuff.plugins import load_plugins, project_plugins

    try:
        load_plugins([*([] if hasattr(ctx.command, "commands") else project_plugins()), *files])
    except ValueError as error:
        raise typer.BadParameter(" ".join(str(error).split())) from error


PLUGIN = "Python file with corruptions, metrics, models or data of your own; may be repeated."
Plugins = Annotated[
    list[str], typer.Option("--plugin", metavar="FILE.py", callback=_load_plugins, expose_value=False, help=PLUGIN)
]


def accept_plugins(command: Any) -> None:
    """Give --plugin to a command and to all below it."""
    command.params.append(_option())
    for below in getattr(command, "commands", {}).values():
        accept_plugins(below)


@cache
def _option() -> Any:
    """The option as typer makes it."""

    def option_alone(plugin: Plugins = []) -> None:  # noqa: B006  (typer's way of an option that is repeated)
        """Never called."""

    alone = typer.Typer()
    alone.command()(option_alone)
    return typer.main.get_command(alone).params[0]
