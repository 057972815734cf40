"""`--plugin FILE.py`, which every command takes, the plug-ins of a project, and the commands of their studies."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
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


SETTINGS: dict[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
PLUGIN = "Python file with corruptions, suites, data, models, metrics or studies of your own; may be repeated."
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


def own_command(name: str, arguments: Sequence[str]) -> Any:
    """The command of a study that a plug-in has registered; None if there is none.

    What `arguments` name by --plugin, and the plug-ins of the project, are loaded to find it.
    """
    from scuff.plugins import load_plugins, project_plugins
    from scuff.studies.base import own_studies

    given = [value for flag, value in itertools.pairwise(arguments) if flag == "--plugin"]
    given += [word.partition("=")[2] for word in arguments if word.startswith("--plugin=")]
    load_plugins([*project_plugins(), *given])
    study = own_studies().get(name)
    if study is None:
        return None
    from scuff.cli.study import study_command

    def show(plan: Any, result: Any) -> None:
        typer.echo(result.to_string() if hasattr(result, "to_string") else result)

    show.__doc__ = study.__doc__
    alone = typer.Typer(**SETTINGS)
    alone.command(name)(study_command(study)(show))
    command = typer.main.get_command(alone)
    accept_plugins(command)
    return command
