"""The first things that a report says: a sentence for every model, and the table of all scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd

from scuff.metrics import Score
from scuff.metrics.references import is_relative
from scuff.report.scores import Scores, SequenceScores
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, sorted_by, words
from scuff.report.words import fine, interval, percent, percent_sign, plain, reference_name, signed_percent


@dataclass(frozen=True)
class Kind:
    """A score of the summary: its name in tables, how it is written, which way is better, and what it means."""

    name: str
    write: Callable[[float], str]
    meaning: str
    higher_is_better: bool = False


KINDS = {
    "clean_error": Kind("clean error, %", percent, "Share of wrong predictions on the uncorrupted images."),
    "mean_error": Kind(
        "corrupted error, %",
        percent,
        "Share of wrong predictions, averaged over the severities of each corruption, then over corruptions.",
    ),
    "mce": Kind(
        "mCE",
        plain,
        "Mean corruption error: the errors of each corruption in per cent of the reference's, averaged over "
        "corruptions. The reference has 100.",
    ),
    "relative_mce": Kind(
        "relative mCE",
        plain,
        "Mean corruption error of what corruption adds: the rise of the error above the clean one, in per cent of the "
        "reference's rise, averaged over corruptions. The reference has 100.",
    ),
    "robustness_score": Kind(
        "accuracy kept",
        fine,
        "Robustness score: accuracy on corrupted images divided by that on clean ones; 1 is unharmed.",
        higher_is_better=True,
    ),
    "residual_robustness": Kind(
        "accuracy lost, points",
        signed_percent,
        "Residual robustness: accuracy on clean images minus that on corrupted ones, in percentage points.",
    ),
    "ece_clean": Kind(
        "ECE clean, %",
        percent,
        "Expected calibration error: by how much confidence and accuracy differ, averaged over bins of confidence.",
    ),
    "ece_corrupted": Kind("ECE corrupted, %", percent, "The same on corrupted images."),
}


def shown_kinds(scores: Scores) -> dict[str, Kind]:
    """The scores that are defined; where the corruption error is the relative one, it is not shown twice."""
    found = {key: kind for key, kind in KINDS.items() if scores.defined(key)}
    if "mce" in found and is_relative(scores.suite.name):
        found["mce"] = replace(found["mce"], name="mCE (relative)", meaning=KINDS["relative_mce"].meaning)
        del found["relative_mce"]
    return found


def summary_score(line: pd.Series, key: str) -> Score:
    """A score of one model from its line of the summary."""
    return Score(line[key], line[f"{key}_low"], line[f"{key}_high"], int(line["n"]), "")


def summary_table(scores: Scores) -> Table:
    """All scores of all models, the best of each marked, sorted by the one that counts most."""
    kinds = shown_kinds(scores)
    rows = [
        [Cell(line["model"]), *(score_cell(summary_score(line, key), kind.write) for key, kind in kinds.items())]
        for _, line in scores.summary.iterrows()
    ]
    lower = [place for place, kind in enumerate(kinds.values(), 1) if not kind.higher_is_better]
    higher = [place for place, kind in enumerate(kinds.values(), 1) if kind.higher_is_better]
    columns = [words("model"), *(Column(kind.name) for kind in kinds.values())]
    table = Table("Scores, with 95 % intervals below them", columns, mark_best(mark_best(rows, lower), higher, max))
    return sorted_by(table, 1 + list(kinds).index(scores.main))


def verdict(line: pd.Series, scores: Scores, baseline: str | None) -> str:
    """One sentence about a model: the score that counts most with its interval, and the clean error."""
    parts = []
    if scores.main == "mce":
        score = summary_score(line, "mce")
        value = f"{plain(score.value)}{_between(score, plain)}"
        parts.append(f"mean corruption error {value}, where {reference_name(baseline)} has 100")
    if scores.defined("mean_error"):
        score = summary_score(line, "mean_error")
        parts.append(f"{percent_sign(score.value)} of predictions on corrupted images are wrong{_between(score)}")
    if scores.defined("clean_error"):
        score = summary_score(line, "clean_error")
        clean = "on clean ones" if parts else "of predictions on clean images are wrong"
        parts.append(f"{percent_sign(score.value)} {clean}{_between(score)}")
    missing = line["cells_of_suite"] - line["cells"]
    done = f" So far {line['cells']} of {line['cells_of_suite']} cells of the suite." if missing else ""
    return "; ".join(parts) + "." + done


def sequence_verdict(model: str, scores: SequenceScores, baseline: str | None) -> str:
    """One sentence about a model on sequences."""
    rate, distance = scores.flip_rates[model], scores.distances[model]
    if "not normalised" in rate.note:
        what = f"{plain(rate.value)} % of predictions flip from frame to frame"
    else:
        what = f"mean flip rate {plain(rate.value)}, where {reference_name(baseline)} has 100"
    return f"{what}{_between(rate, plain)}; mean top-5 distance {fine(distance.value)}{_between(distance, fine)}."


def _between(score: Score, write: Callable[[float], str] = percent) -> str:
    between = interval(score.low, score.high, write)
    return f" (95 % interval {between})" if between else ""
