"""`scuff validity`: does a synthetic benchmark predict robustness to natural shifts?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from scuff.cli.study import study_command
from scuff.studies.validity.study import ValidityStudy

if TYPE_CHECKING:
    from scuff.studies import Validity


@study_command(ValidityStudy)
def validity_command(plan: Any, result: Any) -> None:
    """Ask whether robustness to a synthetic benchmark predicts robustness to natural shifts.

    Over many models, the accuracy lost to corruptions is correlated with the accuracy lost to natural shifts: for every
    suite, category and corruption, with intervals over models, and given clean accuracy. With --categories, groups of
    many benchmarks tell whether more categories, more corruptions or a better balance predict more. With --search, the
    most predictive benchmark of a size is searched for, and scored on models that did not choose it.

    A table has a row per model. It needs no mapping if its columns are called model, clean, corrupted:SUITE/NAME,
    natural:NAME and reference:NAME, the accuracy on clean images of the classes that the natural benchmark has.

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
    print_validity(result, announced=plan.settings["notes"])
    if plan.store is not None:
        typer.echo(f"Tables: {plan.store.root}/correlations.csv and others beside it")


def print_validity(result: Validity, announced: Sequence[str] = ()) -> None:
    """The tables and sentences of the page, as far as they fit a terminal; `announced` notes are not repeated."""
    from scuff.cli.console import open_console, print_table
    from scuff.report.validity import tables
    from scuff.report.validity.scores import ValidityScores
    from scuff.report.validity.sections import GROUPS, agreement_words
    from scuff.report.validity.tables import suite_notes
    from scuff.report.validity.verdicts import validity_verdicts, warnings

    scores, console = ValidityScores(**vars(result)), open_console()
    print_table(tables.correlation_table(scores))
    if scores.names("category"):
        print_table(tables.category_table(scores))
    for kind, (_, caption) in GROUPS.items():
        if scores.groups is not None and (scores.groups["kind"] == kind).any():
            print_table(tables.group_table(scores, kind, f"{caption}, with 95 % intervals"))
            print_table(tables.group_facts_table(scores, kind))
    if scores.searches is not None:
        print_table(tables.search_table(scores))
    for subject, words in validity_verdicts(scores):
        console.print(f"{subject}: {words}")
    notes = [note for note in result.settings["notes"] if note not in announced]
    families = result.shifts.families
    units = "models" if families is None else f"{families.nunique()} families of models"
    lines = [agreement_words(scores), *warnings(scores), *(f"Note: {note}" for note in notes)]
    lines += [f"Note on {note}" for note in suite_notes(scores)]
    if scores.searches is not None and (scores.searches["size"] > tables.MOST_MEMBERS).any():
        lines.append("All corruptions of benchmarks that were searched for are in searches.csv.")
    for line in [*filter(None, lines), f"Intervals: bootstrap over {units} 95 %."]:
        console.print(line.strip())
