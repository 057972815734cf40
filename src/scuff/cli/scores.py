"""The scores of an evaluation as a table in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
import typer

from scuff.cli.console import print_table
from scuff.tables import Column, Table
from scuff.words import decimals, entry_name, fine, percent

if TYPE_CHECKING:
    from scuff.evaluation import Evaluation
    from scuff.evaluation.sampled import Sampling
    from scuff.metrics.score import Score
    from scuff.suites import Suite

Numbers = tuple[dict[str, Any], pd.DataFrame]  # everything for JSON, and a table for CSV
SCORES = ("clean_error", "mean_error", "mce", "relative_mce", "robustness_score", "ece_corrupted")


def print_scores(evaluation: Evaluation, baseline: str) -> None:
    """One column per model, which fits a terminal, and every score with its interval; of sequences, by difficulty."""
    from scuff.report.evaluation.scores import baseline_misfit

    if "task" in evaluation.settings:
        _print_task(evaluation, baseline)
        return
    is_film = "frame" in evaluation.rows
    print_table((_sequence_table if is_film else _still_table)(evaluation, baseline).turned())
    for table in () if is_film else (_errors_table(evaluation), _ce_table(evaluation, baseline)):
        if table is not None:
            print_table(table)
    misfit = baseline_misfit(evaluation, baseline)
    if misfit:
        typer.echo(misfit)
    typer.echo("In brackets: 95 % intervals; Wilson for clean errors, else by bootstrap over images.")


def _print_task(evaluation: Evaluation, baseline: str) -> None:
    from scuff.report.evaluation.tasks import corruption_table, measure_tasks, summary_table

    measured = measure_tasks(evaluation, baseline)
    print_table(summary_table(measured).turned())
    table = corruption_table(measured)
    if table is not None:
        print_table(table)
    typer.echo("In brackets: 95 % intervals, by a jackknife over groups of pictures.")


def _still_table(evaluation: Evaluation, baseline: str) -> Table:
    """The defined scores of each model, under the names that they have on the page."""
    from scuff.metrics import by_model, summary
    from scuff.metrics.evaluation.own import own_metrics, with_own_scores
    from scuff.report.evaluation.scores import counted_suite, find_baseline
    from scuff.report.evaluation.sections import shown_kinds

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


def sample_numbers(sampling: Sampling, scores: Mapping[str, Mapping[str, Score]]) -> Numbers:
    """All numbers of a sample for scripts: what it was, and the scores of each model with their intervals."""
    lines = pd.DataFrame(
        {"model": model, "score": name, "value": s.value, "low": s.low, "high": s.high, "passes": s.n, "note": s.note}
        for model, of_model in scores.items()
        for name, s in of_model.items()
    )
    about = _about(sampling.plan.suite, sampling.plan.settings)
    return {
        "evaluation": {**about, "all_passes": len(sampling.order), "control": sampling.control},
        "scores": lines,
    }, lines


def _about(suite: Suite, settings: Mapping[str, Any]) -> dict[str, Any]:
    """What was evaluated."""
    about = {key: settings[key] for key in ("source", "images", "seed", "precision")}
    return {"suite": suite.name, "suite_version": suite.version, **about}


def score_numbers(evaluation: Evaluation, baseline: str) -> Numbers:
    """All numbers of an evaluation for scripts: what it was, the scores of each model, and the errors of each cell."""
    from scuff.metrics import by_model, summary
    from scuff.report.evaluation.scores import counted_suite, find_baseline, measure_sequences

    about = _about(evaluation.suite, evaluation.settings)
    if "task" in evaluation.settings:
        from scuff.report.evaluation.tasks import measure_tasks, task_numbers

        found, cells = task_numbers(measure_tasks(evaluation, baseline))
        return {"evaluation": {**about, "task": evaluation.settings["task"]}, **found}, cells
    if "frame" in evaluation.rows:
        each = measure_sequences(evaluation, baseline)
        flips = pd.concat([scores.flips.assign(difficulty=scores.difficulty) for scores in each])
        rates = {scores.difficulty: {"flip_rates": scores.flip_rates, "top5": scores.distances} for scores in each}
        return {"evaluation": about, "scores": rates, "flips": flips}, flips
    reference = find_baseline(evaluation, baseline, by_model(evaluation.rows))
    lines = summary(evaluation.rows, baseline=reference, suite=counted_suite(evaluation))
    errors = _errors(evaluation)
    return {"evaluation": about, "scores": lines, "errors": errors}, errors


def _errors(evaluation: Evaluation) -> pd.DataFrame:
    """The error of every cell of every model, also the clean one."""
    from scuff.metrics import by_model, cell_errors

    order = ["clean", *evaluation.suite.entries]
    every = [cell_errors(rows).assign(model=model) for model, rows in by_model(evaluation.rows).items()]
    lines = pd.concat(every).sort_values("corruption", key=lambda names: names.map(order.index), kind="stable")
    return lines.rename(columns={"value": "error"})[["model", "corruption", "severity", "error", "low", "high", "n"]]


def _errors_table(evaluation: Evaluation) -> Table | None:
    """Errors by corruption: of one model at each severity, of several over all of them; None of clean images alone."""
    errors = _errors(evaluation)
    errors = errors[errors["corruption"] != "clean"]
    means = errors.groupby(["corruption", "model"], sort=False, as_index=False, observed=True)["error"].mean()
    models = list(dict.fromkeys(means["model"]))
    if not models:
        return None
    column = Column("corruption", "error", percent, best="lowest" if len(models) > 1 else "")
    if len(models) > 1:
        caption = "Errors in per cent by corruption, over all severities"
        return Table.pivot(caption, means, "corruption", "model", column, heads=models, name=entry_name)
    lines = pd.concat([errors[errors["severity"] > 0], means.assign(severity="mean")])
    heads = [*sorted(set(errors["severity"]) - {0}), "mean"]
    caption = "Errors in per cent by corruption" + (" and severity" if len(heads) > 1 else "")
    return Table.pivot(caption, lines, "corruption", "severity", column, heads=heads, name=entry_name)


def _ce_table(evaluation: Evaluation, baseline: str) -> Table | None:
    """Corruption errors by corruption, relative to the baseline; None where there is none."""
    from scuff.metrics import by_model, read_cells
    from scuff.report.evaluation.scores import ce_table, corruption_errors, counted_suite, find_baseline

    cells = {model: read_cells(rows) for model, rows in by_model(evaluation.rows).items()}
    ces = corruption_errors(cells, find_baseline(evaluation, baseline, cells), counted_suite(evaluation))
    return ce_table(ces, list(cells), baseline) if len(ces) else None


def _sequence_table(evaluation: Evaluation, baseline: str) -> Table:
    """Means over the perturbations that have been evaluated, at each of their difficulties: mFR if there is a baseline.

    Without one they are flip probabilities.
    """
    from scuff.report.evaluation.scores import counted_suite, measure_sequences
    from scuff.report.evaluation.sequences import headings

    by_difficulty = measure_sequences(evaluation, baseline)
    wanted = len(counted_suite(evaluation).benchmark())
    rates = by_difficulty[0].flip_rates
    columns = [Column("", str), Column("images", lambda model: rates[model].n, str)]
    for scores in by_difficulty:
        known, (flips, moves) = scores.flips.groupby("model").size(), headings(scores)
        columns += [
            Column(f"sequences ({scores.difficulty})", lambda model, known=known: f"{known[model]} of {wanted}", str),  # type: ignore[misc]
            Column(f"{flips} ({scores.difficulty})", scores.flip_rates.get, decimals(2)),
            Column(f"{moves} ({scores.difficulty})", scores.distances.get, fine),
        ]
    return Table.of("", list(rates), columns)
