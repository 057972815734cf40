"""The scores of an evaluation as a table in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from scuff.evaluation import Evaluation

# heading, column of the summary, factor to what is shown
STILLS = (
    ("clean error %", "clean_error", 100),
    ("mean error %", "mean_error", 100),
    ("mCE %", "mce", 1),
    ("relative mCE %", "relative_mce", 1),
    ("robustness score", "robustness_score", 1),
    ("ECE corrupted %", "ece_corrupted", 100),
)


def print_scores(evaluation: Evaluation, baseline: str) -> None:
    """One column per model, which fits a terminal, and every score with its interval; of sequences, by difficulty."""
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console

    columns = film_scores(evaluation) if "frame" in evaluation.rows else still_scores(evaluation, baseline)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for model in columns:
        table.add_column(model, justify="right")
    for name in next(iter(columns.values())):
        table.add_row(name, *(scores[name] for scores in columns.values()))
    console = open_console()
    console.print(table)
    console.print("In brackets: 95 % intervals; Wilson for clean errors, else by bootstrap over images.")


def still_scores(evaluation: Evaluation, baseline: str) -> dict[str, dict[str, str]]:
    """The scores of each model that can be had."""
    from scuff.metrics import by_model, summary
    from scuff.metrics.evaluation.references import is_relative
    from scuff.report.evaluation.scores import counted_suite, find_baseline

    reference = find_baseline(evaluation, baseline, by_model(evaluation.rows))
    table = summary(evaluation.rows, baseline=reference, suite=counted_suite(evaluation))
    shown = [(heading, name, factor) for heading, name, factor in STILLS if table[name].notna().any()]
    if is_relative(evaluation.suite.name):  # then mCE is the relative one, and would stand there twice
        shown = [column for column in shown if column[1] != "relative_mce"]
    return {
        line["model"]: {
            "images": str(line["n"]),
            "corrupted cells": f"{line['cells']} of {line['cells_of_suite']}",
            **{heading: _text(line, name, factor) for heading, name, factor in shown},
        }
        for _, line in table.iterrows()
    }


def film_scores(evaluation: Evaluation) -> dict[str, dict[str, str]]:
    """Means over the perturbations that have been evaluated, not normalised, at each of their difficulties."""
    from scuff.report.evaluation.scores import counted_suite, measure_sequences

    wanted = len(counted_suite(evaluation).benchmark())
    columns: dict[str, dict[str, str]] = {}
    for scores in measure_sequences(evaluation, "none"):
        for model in scores.models:
            flips, moves = scores.flip_rates[model], scores.distances[model]
            there = (scores.flips["model"] == model).sum()
            columns.setdefault(model, {"images": str(flips.n)}).update(
                {
                    f"sequences ({scores.difficulty})": f"{there} of {wanted}",
                    f"flip probability % ({scores.difficulty})": _with_interval(flips.value, flips.low, flips.high, 2),
                    f"top-5 distance ({scores.difficulty})": _with_interval(moves.value, moves.low, moves.high, 3),
                }
            )
    return columns


def _text(line: pd.Series, name: str, factor: float) -> str:
    values = (line[f"{name}{end}"] * factor for end in ("", "_low", "_high"))
    return _with_interval(*values, digits=3 if name == "robustness_score" else 1)


def _with_interval(value: float, low: float, high: float, digits: int) -> str:
    """Of a single image, there is no interval."""
    return f"{value:.{digits}f}" + ("" if low != low else f" [{low:.{digits}f}, {high:.{digits}f}]")
