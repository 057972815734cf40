"""`scuff validity`: does a synthetic benchmark predict robustness to natural shifts?"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from scuff.cli.options import Seed, Severity, whole_numbers

if TYPE_CHECKING:
    from scuff.studies import ValidityPlan

REASONS = 3  # why models are left out, that are said before they are counted


def validity_command(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="A CSV table of accuracies; or folders of scuff evaluate, by suites of corruptions.",
        ),
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="A folder for all results.")],
    mapping: Annotated[
        str | None, typer.Option(metavar="FILE", help="A YAML file that says what the columns of the table mean.")
    ] = None,
    natural: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]DIR[,REFERENCE]",
            help="An evaluation of a natural shift, and one of clean images of its classes; may be repeated.",
        ),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|FROM|families",
            help="Of corruptions: a file, or the folder or CSV file of scuff overlap. Default: their families.",
        ),
    ] = None,
    pairs: Annotated[
        str | None,
        typer.Option(
            metavar="'N,K N,K ...'",
            help="Groups of benchmarks with N categories and K corruptions of each. Default: all that are possible, "
            "if there are --categories.",
        ),
    ] = None,
    search: Annotated[
        str | None, typer.Option(metavar="SIZES", help="Search the most predictive benchmarks of these sizes, as 3,5.")
    ] = None,
    severity: Severity = None,
    suite: Annotated[
        list[str] | None,
        typer.Option("--suite", metavar="NAME|FILE", help="Score this suite instead of all known; may be repeated."),
    ] = None,
    count: Annotated[
        int, typer.Option(metavar="N", help="About so many benchmarks of a group, or all there are.")
    ] = 1000,
    resample: Annotated[
        str | None,
        typer.Option(
            metavar="models|families",
            help="What is drawn anew for intervals, and held out together. Default: families, if the table has any.",
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(metavar="N", help="Of the bootstrap over models; at least 100.")] = 1000,
    seed: Seed = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")] = False,
) -> None:
    """Ask whether robustness to a synthetic benchmark predicts robustness to natural shifts.

    Over many models, the accuracy lost to corruptions is correlated with the accuracy lost to natural shifts: for every
    suite, category and corruption, with intervals over models, and given clean accuracy. With --categories, groups of
    many benchmarks tell whether more categories, more corruptions or a better balance predict more. With --search, the
    most predictive benchmark of a size is sought, and scored on models that did not choose it.

    A table has a line per model. It needs no mapping if its columns are called model, clean, corrupted:SUITE/NAME,
    natural:NAME and reference:NAME, the accuracy on clean images of those classes that the natural benchmark has.

    \b
    Examples:
      scuff validity table.csv --mapping mapping.yaml --out runs/valid
      scuff validity table.csv --mapping mapping.yaml --categories runs/noc --search 3,5 --out runs/groups
      scuff validity runs/imagenet-c runs/c-bar --natural runs/v2 --natural runs/a,runs/val-a --out runs/ours
      scuff validity shifts.csv --categories my.yaml --pairs "2,3 3,2 6,1" --out runs/nk

    \b
    A mapping:
      unit: percent
      clean: val
      synthetic: {imagenet-c: "imagenet-c.{corruption}.{severity}_on-disk"}
      natural:
        imagenet-a: {accuracy: imagenet-a, clean: val-on-imagenet-a-classes}
        imagenet-v2: imagenetv2-matched-frequency-format-val

    \b
    It may also have model, severities, scores, families (names and regular expressions), standard (names of models) and
    models (include, exclude).
    """
    from scuff.studies import plan_validity, run_validity

    plan = plan_validity(
        inputs[0] if len(inputs) == 1 else inputs,
        out,
        mapping=mapping,
        natural=natural,
        categories=categories,
        suites=suite,
        pairs=read_pairs(pairs),
        count=count,
        search=whole_numbers(search, "--search") or (),
        severities=whole_numbers(severity, "--severity"),
        resample=resample,
        seed=seed,
        resamples=resamples,
    )
    _announce(plan)
    if dry_run:
        for note in plan.settings["notes"]:
            typer.echo(f"Note: {note}")
        return

    from scuff.cli.jobs import resumable_job
    from scuff.cli.validity_tables import print_validity

    with resumable_job(goes_on=False) as advance:
        found = run_validity(plan, progress=advance)
    print_validity(found)
    typer.echo(f"Tables: {out}/correlations.csv and others beside it")
    typer.echo(f"Next: scuff report {shlex.quote(out)}")


def read_pairs(text: str | None) -> list[tuple[int, int]] | None:
    """`2,3 3,2` as a list of pairs.

    >>> read_pairs("2,3 3,2")
    [(2, 3), (3, 2)]
    """
    if text is None:
        return None
    found = [tuple(whole_numbers(word, "--pairs")) for word in text.split()]
    if not found or any(len(pair) != 2 for pair in found):
        raise ValueError(
            f"--pairs takes pairs of whole numbers with spaces between them, as in '2,3 3,2'; got {text!r}"
        )
    return found


def _announce(plan: ValidityPlan) -> None:
    from collections import Counter

    from scuff.report.words import count

    shifts, settings = plan.shifts, plan.settings
    reasons = Counter(shifts.left_out.values()).most_common()
    typer.echo(f"Models: {len(shifts.models)} of {len(shifts.models) + len(shifts.left_out)}")
    for reason, models in reasons[:REASONS]:
        typer.echo(f"Left out: {models} ({reason})")
    if len(reasons) > REASONS:
        others = sum(models for _, models in reasons[REASONS:])
        typer.echo(f"Left out: {others} for other reasons; see left_out in validity.json")
    suites = ", ".join(f"{name} ({count(len(members), 'corruption')})" for name, members in plan.suites.items())
    typer.echo(f"Synthetic: {', '.join(filter(None, [suites, *shifts.scores]))}")
    typer.echo(f"Natural: {', '.join(shifts.natural)}")
    categories = ", ".join(f"{name} ({len(members)})" for name, members in plan.categories.items())
    typer.echo(f"Categories: {categories or 'none'}, from {settings['categories_from']}")
    if plan.has_groups:
        pairs = "all possible" if plan.pairs is None else " ".join(f"{n},{k}" for n, k in plan.pairs)
        typer.echo(f"Groups of benchmarks: {pairs}, about {settings['count']} of each or all there are; and by balance")
    for size in settings["search"]:
        typer.echo(f"Search: the most predictive {size} of {count(len(shifts.corrupted.columns), 'corruption')}")
