"""The scores of an evaluation, for those who want numbers rather than a page."""

from __future__ import annotations

import os

from scuff.evaluation import Evaluation, read_evaluation
from scuff.evaluation.sampled import is_sample
from scuff.report.evaluation.scores import Scores, measure
from scuff.report.evaluation.settings import suite_words
from scuff.report.write import EVALUATION
from scuff.store import Store, find_file

ALEXNET = "alexnet"


def read_classifiers(directory: str) -> Evaluation | None:
    """An evaluation of classifiers on still images; None if a folder holds anything else."""
    if directory.endswith(".csv") or not Store(directory).exists(EVALUATION) or is_sample(Store(directory)):
        return None
    evaluation = read_evaluation(directory)
    return None if "task" in evaluation.settings or "frame" in evaluation.rows else evaluation


def measure_classifiers(directory: str, baseline: str | None, form: str) -> tuple[Evaluation, Scores]:
    """An evaluation and its scores; anything but classifiers on still images is refused."""
    evaluation = read_classifiers(directory)
    if evaluation is None:
        raise ValueError(
            f"{directory} is no evaluation of classifiers on still images, which is what becomes {form}; "
            "scuff export --as latex, markdown, svg, png and pdf take any folder of results"
        )
    return evaluation, measure(evaluation, baseline or ALEXNET)


def describe(evaluation: Evaluation) -> str:
    """What was measured, in words that let somebody else repeat it."""
    return f"{suite_words(evaluation)} Measured with scuff {evaluation.settings.get('scuff', '(unknown version)')}."


def place_for(directory: str, out: str | None, name: str) -> str:
    """The file to write: `out`, or the file of that name in the folder `out`, by default in that of the results."""
    if out is not None and not os.path.isdir(out) and not out.endswith("/"):
        return out
    if out is None and directory.endswith(".csv"):
        return os.path.join(os.path.dirname(directory), name)
    return os.path.join(directory if out is None else out, name)


def write_text(place: str, text: str | bytes) -> str:
    """Write a file that is whole or absent, on this machine or anywhere that fsspec reaches; return where."""
    store, name = find_file(place)
    store.write(name, text if isinstance(text, bytes) else text.encode())
    return place
