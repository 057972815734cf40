"""The page about detectors or segmenters: their scores by corruption and severity, and the worst pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from scuff.evaluation import CLEAN, Evaluation
from scuff.metrics import Performance, Score, by_model, cell_scores, corruption_scores, performance, task_scores
from scuff.report import figure, parts
from scuff.report.evaluation.drawn import worst_drawn
from scuff.report.evaluation.pictures import DataUnavailable
from scuff.report.evaluation.settings import settings_section, suite_words
from scuff.report.figure import Figure, Traces
from scuff.report.page import Page
from scuff.report.parts import Section
from scuff.report.settings import meanings
from scuff.tables import Column, Table
from scuff.words import bracketed, count, entry_name, plain

MEASURES = {"detection": "AP", "segmentation": "mIoU"}


@dataclass(frozen=True)
class TaskScores:
    """What is shown: the performance of every model, and P, mPC and so on."""

    evaluation: Evaluation
    performances: Mapping[str, Performance]
    scores: Mapping[str, Mapping[str, Score]]

    @property
    def measure(self) -> str:
        """The name of the performance."""
        return MEASURES[self.evaluation.settings["task"]]

    def cells(self) -> pd.DataFrame:
        """The performance in every cell of every model, in per cent."""
        return pd.concat([cell_scores(of).assign(model=model) for model, of in self.performances.items()])


def measure_tasks(evaluation: Evaluation, baseline: str | None = None) -> TaskScores:
    """All scores of an evaluation; `baseline` is a model of it, to which degradations are relative."""
    found = {model: performance(rows) for model, rows in by_model(evaluation.rows).items()}  # type: ignore[arg-type]
    reference = None
    if baseline not in (None, "none", "alexnet"):
        if baseline not in found:
            raise ValueError(f"the baseline of a {evaluation.settings['task']} is one of its models, got {baseline!r}")
        reference = found[baseline]
    entries = evaluation.suite.benchmark()
    scores = {model: task_scores(of, reference, entries) for model, of in found.items()}
    return TaskScores(evaluation, found, scores)


def summary_table(measured: TaskScores) -> Table:
    """A row per model: P, mPC, rPC and, with a baseline, CD and rCD."""
    first = next(iter(measured.scores.values()))
    heads = {"P": f"{measured.measure} clean (P) %", "mPC": "mPC %", "rPC": "rPC %", "CD": "CD %", "rCD": "rCD %"}
    columns = [Column("model", str)]
    for name in first:
        best: Any = "lowest" if name in ("CD", "rCD") else "highest"
        columns.append(Column(heads[name], lambda model, n=name: measured.scores[model].get(n), plain, best=best))  # type: ignore[misc]
    return Table.of("Scores, with 95 % intervals", list(measured.scores), columns)


def corruption_table(measured: TaskScores) -> Table | None:
    """Performance by corruption: of one model at each severity, of several over all of them."""
    models = list(measured.performances)
    means = [
        {"model": model, "corruption": entry, "severity": "mean", "value": s.value, "low": s.low, "high": s.high}
        for model, of in measured.performances.items()
        for entry, s in corruption_scores(of).items()
    ]
    if not means:
        return None
    caption = f"{measured.measure} in per cent by corruption"
    best: Any = "highest" if len(models) > 1 else ""
    column = Column("corruption", "value", plain, interval=True, best=best)
    if len(models) > 1:
        return Table.pivot(f"{caption}, over all severities", means, "corruption", "model", column, name=entry_name)
    cells = measured.cells()
    cells = cells[(cells["corruption"] != CLEAN) & (cells["severity"] > 0)]
    lines = [*cells.to_dict("records"), *means]
    heads = [*sorted(set(cells["severity"])), "mean"]
    column = Column("corruption", "value", plain)
    return Table.pivot(f"{caption} and severity", lines, "corruption", "severity", column, heads=heads, name=entry_name)


def task_numbers(measured: TaskScores) -> tuple[dict[str, Any], pd.DataFrame]:
    """All numbers for scripts."""
    cells = measured.cells()[["model", "corruption", "severity", "value", "low", "high", "n"]]
    return {"scores": measured.scores, "cells": cells}, cells


def task_page(evaluation: Evaluation, directory: str, baseline: str | None, data: Any) -> Page:
    """The page about an evaluation of detectors or segmenters."""
    measured = measure_tasks(evaluation, baseline)
    models, task = list(measured.scores), evaluation.settings["task"]
    cells = measured.cells()
    table = corruption_table(measured)
    column = Column("cell", "value", plain, interval=True)
    cells["cell"] = [
        f"{entry_name(c)} {s or ''}".strip() for c, s in zip(cells.corruption, cells.severity, strict=True)
    ]
    numbers = Table.pivot(f"{measured.measure} in per cent, with 95 % intervals", cells, "cell", "model", column)
    sections = [
        parts.section("summary", "Summary", parts.table(summary_table(measured)), parts.note("Higher is better.")),
        None
        if table is None
        else parts.section(
            "cells",
            "Every corruption",
            parts.table(table),
            parts.figures([_curves(measured, cells)], side_by_side=False, legend=True),
            parts.folded(numbers),
        ),
        _pictures_section(evaluation, models, data, directory) if table is not None else None,
        settings_section(evaluation, meanings(task) | meanings("tasks"), directory),  # type: ignore[operator]
    ]
    subject = models[0] if len(models) == 1 else count(len(models), "model")
    verdicts = [(model, _verdict(measured, model)) for model in models]
    return Page(f"{subject} on {evaluation.suite.name}", suite_words(evaluation), verdicts, sections, models)


def _verdict(measured: TaskScores, model: str) -> str:
    clauses = []
    for name, score in measured.scores[model].items():
        called = f"{measured.measure} clean" if name == "P" else name
        clauses.append(f"{called} {plain(score.value)}\u00a0%{bracketed(score.low, score.high, plain)}")
    return "; ".join(clauses) + "."


def _curves(measured: TaskScores, cells: pd.DataFrame) -> Figure:
    """The mean performance over corruptions by severity, clean at 0: a line per model."""
    traces: Traces = []
    for place, model in enumerate(measured.performances):
        line = cells[cells["model"] == model].groupby("severity")["value"].mean()
        texts = [figure.label(model, f"severity {s}", f"{measured.measure} {plain(v)} %") for s, v in line.items()]
        traces.append(figure.line_trace(place, list(line.index), figure.numbers(line), texts))
    x_axis = {"title": {"text": "severity, 0 is clean"}, "dtick": 1}
    y_axis = {"title": {"text": f"{measured.measure} %"}, "rangemode": "tozero"}
    description = f"Mean {measured.measure} in per cent over corruptions by severity, one line per model."
    title = f"{measured.measure} by severity"
    return Figure("severity", title, description, 280, traces, figure.layout_of(x_axis, y_axis))


def _pictures_section(evaluation: Evaluation, models: list[str], data: Any, directory: str) -> Section:
    key, title = "images", "Worst pictures"
    try:
        cards = worst_drawn(evaluation, data)
    except DataUnavailable as error:
        if data is not None:
            raise ValueError(f"the images cannot be shown: {error}") from error
        hint = f"Say where they are: scuff report {directory} --data SOURCE."
        return parts.section(key, title, f"The pictures cannot be shown: {error}. {hint}")
    nothing = "No picture is worse when corrupted."
    panels = [{"model": model, "cards": cards[model], "note": nothing} for model in models]
    about = {
        "detection": "Pictures that lose most: white boxes are objects, orange ones what the model found, if it is at "
        "least half sure; left clean, right corrupted.",
        "segmentation": "Pictures that lose most, with the borders of true regions; left clean, right corrupted.",
    }
    return parts.section(key, title, about[evaluation.settings["task"]], parts.pictures(panels))
