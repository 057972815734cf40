"""`scuff validity`: does a synthetic benchmark predict robustness to natural shifts?"""

from __future__ import annotations

from typing import Any

import typer

from scuff.cli.study import study_command
from scuff.studies.validity.study import ValidityStudy


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
    from scuff.cli.validity_tables import print_validity

    print_validity(result, announced=plan.settings["notes"])
    if plan.store is not None:
        typer.echo(f"Tables: {plan.store.root}/correlations.csv and others beside it")
