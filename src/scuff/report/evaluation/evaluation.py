"""The page about an evaluation: which sections it has, and what it says first."""

from __future__ import annotations

import os

from scuff.data import CorruptedSource, Source
from scuff.design.overlap.nonoverlapping import THRESHOLD
from scuff.evaluation import Evaluation, read_evaluation
from scuff.evaluation.sampled import is_sample
from scuff.report.evaluation import sections as about
from scuff.report.evaluation import sequences
from scuff.report.evaluation.sampled import sampled_page
from scuff.report.evaluation.scores import measure, measure_sequences
from scuff.report.evaluation.sections import definitions_of, summary_section, verdict
from scuff.report.evaluation.settings import settings_section, suite_words
from scuff.report.evaluation.tasks import task_page
from scuff.report.page import Page
from scuff.report.settings import meanings
from scuff.store import Store
from scuff.words import count

Data = str | Source | CorruptedSource


def page(
    directory: str,
    *,
    baseline: str | None = "alexnet",
    data: Data | None = None,
    overlap: str | os.PathLike[str] | None = None,
    threshold: float = THRESHOLD,
) -> Page:
    """The page about the evaluation in a folder.

    Parameters
    ----------
    baseline
        What corruption errors are relative to: "alexnet" (published errors), a model of the evaluation, FOLDER:MODEL of
        another one, or None.
    data
        Where the images are now, if not where they were when they were evaluated.
    overlap
        The folder of an overlap study, whose sections are put on the same page.
    threshold
        Of the overlap study: pairs of the benchmark without overlaps overlap less than this.
    """
    from scuff.report.overlap import overlap as about_overlaps

    more = [] if overlap is None else about_overlaps.page(os.fspath(overlap), threshold=threshold).sections
    if is_sample(Store(directory)):
        if baseline != "alexnet" or data is not None:
            raise ValueError(f"{directory} holds a sample, whose page has no baseline to choose and shows no images")
        return sampled_page(directory).with_sections(more)
    return evaluation_page(read_evaluation(directory), directory, baseline=baseline, data=data).with_sections(more)


def evaluation_page(
    evaluation: Evaluation, directory: str, *, baseline: str | None = "alexnet", data: Data | None = None
) -> Page:
    """The page about an evaluation that was read from `directory`; arguments as for `page`."""
    if "task" in evaluation.settings:
        return task_page(evaluation, directory, baseline, data)
    build = _sequence_page if "frame" in evaluation.rows else _still_page
    return build(evaluation, directory, baseline, data)


def _still_page(evaluation: Evaluation, directory: str, baseline: str | None, data: Data | None) -> Page:
    scores = measure(evaluation, baseline)
    sections = [
        summary_section(scores),
        about.cells_section(scores, evaluation, baseline),
        about.severity_section(scores, evaluation),
        about.comparison_section(scores),
        None if scores.errors.empty else about.images_section(evaluation, scores.models, data, directory),
        about.calibration_section(scores),
        settings_section(evaluation, definitions_of(scores), directory),
    ]
    verdicts = [(line["model"], verdict(line, scores, baseline)) for _, line in scores.summary.iterrows()]
    return Page(evaluation_title(evaluation, scores.models), suite_words(evaluation), verdicts, sections, scores.models)


def _sequence_page(evaluation: Evaluation, directory: str, baseline: str | None, data: Data | None) -> Page:
    by_difficulty = measure_sequences(evaluation, baseline)
    first = by_difficulty[0]
    sections = [
        sequences.summary_section(first),
        *(sequences.sequences_section(scores, len(by_difficulty) > 1) for scores in by_difficulty),
        settings_section(evaluation, meanings("sequences"), directory),
    ]
    verdicts = [(model, sequences.verdict(model, first, baseline)) for model in first.models]
    return Page(evaluation_title(evaluation, first.models), suite_words(evaluation), verdicts, sections, first.models)


def evaluation_title(evaluation: Evaluation, models: list[str]) -> str:
    """The models, and the suite, or the source where images were evaluated as they are."""
    subject = models[0] if len(models) == 1 else count(len(models), "model")
    return f"{subject} on {evaluation.suite.name if evaluation.suite.entries else evaluation.settings['source']}"
