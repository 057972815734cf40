"""`scuff overlap`: how far corruptions overlap."""

from __future__ import annotations

import shlex
from itertools import combinations
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.study import study_command
from scuff.studies.overlap.study import OverlapStudy
from scuff.tables import Column, Table
from scuff.words import hundredths

if TYPE_CHECKING:
    from scuff.metrics import Overlaps

MATRIX_LIMIT = 12  # corruptions up to which the whole matrix is printed; beyond, the pairs that overlap most

CompareTo = Annotated[
    str | None,
    typer.Option(
        "--compare-to", metavar="DIR", help="Study to compare with; with --fine-tune its standard models are reused."
    ),
]


def _compare(options: dict[str, Any], extra: dict[str, Any]) -> None:
    """Reuse the standard models of the study that is compared with; read that study before hours are spent."""
    from scuff.metrics import overlaps
    from scuff.studies import read_overlap
    from scuff.studies.overlap.plan import choose_addresses
    from scuff.suites import load_suite

    directory = extra["compare_to"]
    if directory is None:
        return
    if options["fine_tune"] is not None and options["standard_from"] is None:
        options["standard_from"] = directory
    other = overlaps(read_overlap(directory))
    corruptions = choose_addresses([load_suite(name) for name in options["suites"]], options["only"])
    if len(set(other.names) & set(corruptions)) < 2:
        raise ValueError(f"the study in {directory} shares fewer than two corruptions with this one")


@study_command(OverlapStudy, prepare=_compare)
def overlap_command(plan: Any, matrix: Any, *, compare_to: CompareTo = None) -> None:
    """Measure how far corruptions overlap: does training with one help against the other, and vice versa?

    Trains a standard model and one model per corruption, tests all of them on everything, and writes the matrix of
    overlapping scores: 1 for a corruption and itself, 0 where neither helps against the other. Every model, and every
    test of a model, is saved as soon as it is finished: interrupt whenever you like, and run the same command again.
    scuff design makes benchmarks from the folder, and scuff report a page.

    \b
    Examples:
      scuff overlap cifar10-c --only fog,contrast,snow,frost --data fashion --recipe fashion --out runs/small
      scuff overlap noc-candidates cifar10-c --data cifar10:data --recipe cifar-fast --out runs/noc --seeds 3
      scuff overlap noc-candidates cifar10-c --data cifar10:data --recipe cifar-fast --out runs/tuned \\
        --fine-tune 2 --compare-to runs/noc
      scuff overlap noc-candidates --data folder:train --test folder:val --classes imagenet-100 \\
        --recipe imagenet-100 --out runs/inet
    """
    _print_matrix(matrix)
    if compare_to is not None:
        from scuff.metrics import agreement, overlaps
        from scuff.studies import read_overlap

        typer.echo(f"Compared with {compare_to}: {agreement(matrix, overlaps(read_overlap(compare_to)))}")
    out = plan.store.root
    typer.echo(f"Matrix: {out}/overlap.csv, with intervals: {out}/overlap-pairs.csv; accuracies: {out}/accuracies.csv")
    typer.echo(f"Benchmark: scuff design nonoverlapping {shlex.quote(out)}")


def _print_matrix(matrix: Overlaps) -> None:
    """The whole matrix if it is small, else the pairs that overlap most; with intervals."""
    from scuff.cli.console import print_table
    from scuff.report.overlap.designs import matrix_table

    if len(matrix.names) <= MATRIX_LIMIT:
        print_table(matrix_table(matrix, "Overlaps; above the diagonal, 95 % intervals where they are known"))
    else:
        pairs = [(a, b, matrix.score(a, b)) for a, b in combinations(matrix.defined().names, 2)]
        strongest = sorted(pairs, key=lambda pair: pair[2].value, reverse=True)[:MATRIX_LIMIT]
        columns = [Column("the pairs that overlap most", itemgetter(0)), Column("", itemgetter(1))]
        print_table(Table.of("", strongest, [*columns, Column("overlap", itemgetter(2), hundredths)]))
    for name, reason in matrix.undefined.items():
        typer.echo(f"{name}: undefined. {reason}")
    typer.echo(f"Intervals: {matrix.interval}.")
