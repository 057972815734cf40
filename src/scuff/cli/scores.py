"""The scores of an evaluation as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from scuff.cli.console import print_table
from scuff.tables import Column, Table
from scuff.words import decimals, fine

if TYPE_CHECKING:
    from scuff.evaluation import Evaluation

SCORES = ("clean_error", "mean_error", "mce", "relative_mce", "robustness_score", "ece_corrupted")


def print_scores(evaluation: Evaluation, baseline: str) -> None:
    """One column per model, which fits a terminal, and every score with its interval; of sequences, by difficulty."""
    from scuff.report.evaluation.scores import baseline_misfit

    is_film = "frame" in evaluation.rows
    print_table((_sequence_table(evaluation) if is_film else _still_table(evaluation, baseline)).turned())
    misfit = "" if is_film else baseline_misfit(evaluation, baseline)
    if misfit:
        typer.echo(misfit)
    typer.echo("In brackets: 95 % intervals; Wilson for clean errors, else by bootstrap over images.")


def _still_table(evaluation: Evaluation, baseline: str) -> Table:
    """The defined scores of each model, under the names that they have on the page."""
    from scuff.metrics import by_model, summary
    from scuff.metrics.evaluation.own import own_metrics, with_own_scores
    from scuff.report.evaluation.scores import counted_suite, find_baseline
    from scuff.report.evaluation.summary import shown_kinds

    reference = find_baseline(evaluation, baseline, by_model(evaluation.rows))
    lines = summary(evaluation.rows, baseline=reference, suite=counted_suite(evaluation))
    lines = with_own_scores(lines, evaluation.rows)
    kinds = shown_kinds(lines, evaluation.suite.name)
    columns = [
        Column("", "model"),
        Column("images", "n", str),
        Column("corrupted cells", lambda line: f"{line['cells']} of {line['cells_of_suite']}", str),
        *(kind.column(key) for key, kind in kinds.items() if key in (*SCORES, *own_metrics())),
    ]
    return Table.of("", lines, columns)


def _sequence_table(evaluation: Evaluation) -> Table:
    """Means over the perturbations that have been evaluated, not normalised, at each of their difficulties."""
    from scuff.report.evaluation.scores import counted_suite, measure_sequences

    by_difficulty = measure_sequences(evaluation, "none")
    wanted = len(counted_suite(evaluation).benchmark())
    rates = by_difficulty[0].flip_rates
    columns = [Column("", str), Column("images", lambda model: rates[model].n, str)]
    for scores in by_difficulty:
        known = scores.flips.groupby("model").size()
        columns += [
            Column(f"sequences ({scores.difficulty})", lambda model, known=known: f"{known[model]} of {wanted}", str),  # type: ignore[misc]
            Column(f"flip probability % ({scores.difficulty})", scores.flip_rates.get, decimals(2)),
            Column(f"top-5 distance ({scores.difficulty})", scores.distances.get, fine),
        ]
    return Table.of("", list(rates), columns)
