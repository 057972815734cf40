"""The command of a study, made from its options: written once for all studies.

A file of `cli/` says what a study's command prints in the end, and its help with examples:

    @study_command(OverlapStudy)
    def overlap_command(plan, matrix):
        \"\"\"Measure how far corruptions overlap. ...\"\"\"
        print_table(...)

The command parses the study's options, says what will be done, stops there with `--dry-run` and a table of costs, else
runs with a progress bar, calls the function, and names the report. Keyword-only parameters of the function become
further options of the command, for what is shown and not computed.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.options import Address, DryRun, EngineName, Repair, Share
from scuff.options import AS_IN_PYTHON, EITHER, REQUIRED, Option, command_defaults, flag_of, options_of

if TYPE_CHECKING:
    from scuff.studies.base import Plan, Study

Show = Callable[..., None]
Prepare = Callable[[dict[str, Any], dict[str, Any]], None]

Processes = Annotated[
    int | None, typer.Option("--processes", metavar="N", help="Number of cells at once. Default: as many as fit.")
]
WHERE_CELLS_RUN = {"engine": (EngineName, "local"), "address": (Address, None), "processes": (Processes, None)}
WHERE_CELLS_RUN |= {"share": (Share, 1)}  # type: ignore[dict-item]


def study_command(
    study: type[Study[Any]],
    *,
    prepare: Prepare | None = None,
    fills_in: Sequence[str] = (),
    failed: Callable[[Exception, dict[str, Any]], None] | None = None,
) -> Callable[[Show], Callable[..., None]]:
    """Make the command of a study from the function that shows its result.

    `prepare` is called with the study's options and with the further options of the command, before the study is made:
    to fill in options from others, as a protocol does. It may change both. Required options that it `fills_in` may be
    left out on the command line. `failed` is told of an error, with the further options, before it ends the command.
    """
    out = options_of(study).get("out")
    repair = {"repair": (Repair, False)} if out is not None and out.metavar == "DIR" else {}  # where cells are kept
    extra = {**(WHERE_CELLS_RUN if study.has_cells else {}), **repair, "dry_run": (DryRun, False)}

    def decorate(show: Show) -> Callable[..., None]:
        def run(options: dict[str, Any], **given: Any) -> None:
            dry_run, repair = given.pop("dry_run"), given.pop("repair", False)
            where = {name: given.pop(name) for name in extra if name in WHERE_CELLS_RUN}
            if prepare is not None:
                prepare(options, given)
            options = {name: value for name, value in options.items() if value is not None}
            if repair:
                from scuff.cli.jobs import remove_damaged_cells

                remove_damaged_cells(options.get("out"), dry_run)
            try:
                _run(study, options, where, dry_run, lambda plan, result: show(plan, result, **given))
            except Exception as error:
                if failed is not None and not isinstance(error, typer.Exit):
                    failed(error, given)
                raise

        return _command(study, show, run, extra, fills_in)

    return decorate


def options_command(declared: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that is called with the declared options that were given, as a dictionary.

    Keyword-only parameters of the function become further options of the command.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def run(options: dict[str, Any], **given: Any) -> None:
            function({name: value for name, value in options.items() if value is not None}, **given)

        return _command(declared, function, run)

    return decorate


def _command(
    declared_by: type,
    function: Callable[..., None],
    run: Callable[..., None],
    extra: Mapping[str, tuple[Any, Any]] = MappingProxyType({}),
    fills_in: Sequence[str] = (),
) -> Callable[..., None]:
    """The command named and explained as `function`, which calls `run` with declared options and all others."""
    declared = {name: option for name, option in options_of(declared_by).items() if option.kind is not None}
    defaults = command_defaults(declared_by) | dict.fromkeys(fills_in)

    def command(**given: Any) -> None:
        run({name: _read(declared[name], name, given.pop(name)) for name in declared}, **given)

    parameters = {n: (_annotation(n, o, defaults[n]), _default(defaults[n])) for n, o in declared.items()}
    given = inspect.signature(function, eval_str=True).parameters.values()
    further = {p.name: (p.annotation, p.default) for p in given if p.kind is p.KEYWORD_ONLY}
    _give_signature(command, {**parameters, **further, **extra})
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    return command


def _run(
    study: type[Study[Any]],
    options: dict[str, Any],
    where: dict[str, Any],
    dry_run: bool,
    show: Callable[[Plan[Any], Any], None],
) -> None:
    """Plan, announce, run and show."""
    from scuff.cli.jobs import chosen_engine, resumable_job, tell_unreadable

    if where:
        engine, address, processes, share = (where[name] for name in ("engine", "address", "processes", "share"))
        options["engine"] = chosen_engine(engine, address, processes, share=share)
    with resumable_job(goes_on=study.resumes) as advance:
        plan = study(**options, progress=advance).plan()
    for line in plan.work.describe():
        typer.echo(line)
    tell_unreadable(plan.settings.get("unreadable"))
    if dry_run:
        from scuff.cli.jobs import print_costs

        print_costs(plan.cost(), where.get("engine", "local"))
        return
    with resumable_job(goes_on=study.resumes) as advance:
        result = plan.run(advance)
    show(plan, result)
    if plan.store is not None:
        typer.echo(f"Next: scuff report {shlex.quote(plan.store.root)}")


# --- parameters as typer reads them -----------------------------------------------------------------------------------


def _annotation(name: str, option: Option, default: Any) -> Any:
    """The type of a parameter with its help, as typer takes them."""
    assert option.kind is not None
    kind = option.kind.parsed
    optional = kind if default is REQUIRED or kind is bool else kind | None
    if option.is_argument:
        return Annotated[optional, typer.Argument(metavar=option.metavar or name.upper(), help=option.help)]
    text = option.help
    if default not in (REQUIRED, None, ()) and not isinstance(default, bool):
        written = ", ".join(option.kind.write(default)) or default
        text = f"{text.rstrip('.')} (default {written})."
    return Annotated[optional, typer.Option(flag_of(name, option), metavar=option.metavar, help=text)]


def _default(default: Any) -> Any:
    """What typer is told: nothing for a required option, False for a switch, else None, for the study to fill in."""
    return inspect.Parameter.empty if default is REQUIRED else False if default is False else None


def _read(option: Option, name: str, value: Any) -> Any:
    if value is None or (value is False and option.kind is not EITHER) or value == []:
        return None if option.command_default in (AS_IN_PYTHON, REQUIRED) else option.command_default
    assert option.kind is not None
    return option.kind.read(value, flag_of(name, option))


def _give_signature(command: Callable[..., None], parameters: dict[str, tuple[Any, Any]]) -> None:
    kind = inspect.Parameter.KEYWORD_ONLY
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, kind, annotation=annotation, default=default)
            for name, (annotation, default) in parameters.items()
        ]
    )
    command.__annotations__ = {name: annotation for name, (annotation, _) in parameters.items()}
