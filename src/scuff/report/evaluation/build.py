"""The report of an evaluation: which sections it has, and what it says first."""

from __future__ import annotations

import os
from collections.abc import Sequence

from scuff.data import CorruptedSource, Source
from scuff.design.overlap.nonoverlapping import THRESHOLD
from scuff.evaluation import Evaluation, read_evaluation
from scuff.report.evaluation import sections as about
from scuff.report.evaluation.scores import measure, measure_sequences
from scuff.report.evaluation.settings import suite_words
from scuff.report.evaluation.summary import sequence_verdict, verdict
from scuff.report.overlap.build import read_sections
from scuff.report.page import Verdicts, render_page, save_page
from scuff.report.parts import Section
from scuff.report.progress.build import progress_sections, reading_results
from scuff.report.words import count

Data = str | Source | CorruptedSource
Content = tuple[list[str], Verdicts, list[Section]]  # models, what is said of each, sections


def write_report(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    baseline: str | None = "alexnet",
    data: Data | None = None,
    overlap: str | os.PathLike[str] | None = None,
    threshold: float = THRESHOLD,
    title: str | None = None,
) -> str:
    """Write the report of an evaluation, by rename, and return its path.

    Parameters
    ----------
    directory
        The folder of an evaluation, on this machine or anywhere that fsspec reaches. One that is still running is
        reported as far as it is.
    out
        The file, or a folder for report.html; by default the evaluation's own.
    baseline
        What corruption errors are relative to: "alexnet" (published errors), a model of the evaluation, or None.
    data
        Where the images are now, if not where they were when they were evaluated.
    overlap
        The folder of an overlap study, whose sections are put on the same page.
    threshold
        Of the overlap study: what pairs of the benchmark without overlaps overlap less than.
    title
        The heading, in place of one that names the models and the suite.
    """
    where = os.fspath(directory)
    more = () if overlap is None else read_sections(overlap, threshold)
    with reading_results(where):
        evaluation = read_evaluation(where)
    more = [*more, *progress_sections(where)]
    return save_page(render(evaluation, where, baseline=baseline, data=data, title=title, more=more), where, out)


def render(
    evaluation: Evaluation,
    directory: str,
    *,
    baseline: str | None = "alexnet",
    data: Data | None = None,
    title: str | None = None,
    more: Sequence[Section] = (),
) -> str:
    """The text of the report; arguments are those of `write_report`, but for `more`: sections about something else."""
    make = _sequence_page if "frame" in evaluation.rows else _still_page
    models, verdicts, sections = make(evaluation, directory, baseline, data)
    return render_page(
        title or f"{_subject(models)} on {_benchmark(evaluation)}",
        suite_words(evaluation),
        verdicts,
        sections,
        models,
        more=more,
    )


def _still_page(evaluation: Evaluation, directory: str, baseline: str | None, data: Data | None) -> Content:
    scores = measure(evaluation, baseline)
    models = scores.models
    sections = [
        about.summary_section(scores),
        about.cells_section(scores, evaluation),
        about.severity_section(scores, evaluation),
        about.comparison_section(scores),
        None if scores.errors.empty else about.images_section(evaluation, models, data, directory),
        about.calibration_section(scores),
        about.settings_section(evaluation, about.definitions_of(scores), directory),
    ]
    verdicts = [(line["model"], verdict(line, scores, baseline)) for _, line in scores.summary.iterrows()]
    return models, verdicts, [section for section in sections if section is not None]


def _sequence_page(evaluation: Evaluation, directory: str, baseline: str | None, data: Data | None) -> Content:
    found = measure_sequences(evaluation, baseline)
    first = found[0]
    sections = [
        about.sequence_summary_section(first),
        *(about.sequences_section(scores, len(found) > 1) for scores in found),
        about.settings_section(evaluation, about.SEQUENCE_DEFINITIONS, directory),
    ]
    return first.models, [(model, sequence_verdict(model, first, baseline)) for model in first.models], sections


def _benchmark(evaluation: Evaluation) -> str:
    """The suite, or the source where images were evaluated as they are."""
    return evaluation.suite.name if evaluation.suite.entries else evaluation.settings["source"]


def _subject(models: list[str]) -> str:
    return models[0] if len(models) == 1 else count(len(models), "model")
