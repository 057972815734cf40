"""The first things that a report says: a sentence for every model, and the table of all scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from scuff.metrics import Score
from scuff.metrics.evaluation.references import is_relative
from scuff.report.evaluation.scores import Scores, SequenceScores
from scuff.report.tables import Cell, Column, Table, mark_best, score_cell, sorted_by, words
from scuff.report.words import bracketed, fine, percent, plain, reference_name


@dataclass(frozen=True)
class Kind:
    """A score of the summary: its name in tables, how it is written, which way is better, and what it means."""

    name: str
    write: Callable[[float], str]
    meaning: str
    higher_is_better: bool = False


KINDS = {
    "clean_error": Kind("clean error %", percent, "Share of wrong predictions on the uncorrupted images."),
    "mean_error": Kind(
        "mean error %",
        percent,
        "Share of wrong predictions, averaged over the severities of each corruption, then over corruptions.",
    ),
    "mce": Kind(
        "mCE %",
        plain,
        "Mean corruption error: the errors of each corruption in per cent of the reference's, averaged over "
        "corruptions. The reference has 100.",
    ),
    "relative_mce": Kind(
        "relative mCE %",
        plain,
        "Mean corruption error of what corruption adds: the rise of the error above the clean one, in per cent of the "
        "reference's rise, averaged over corruptions. The reference has 100.",
    ),
    "robustness_score": Kind(
        "robustness score",
        fine,
        "The share of the accuracy that is kept: accuracy on corrupted images divided by that on clean ones; 1 is "
        "unharmed.",
        higher_is_better=True,
    ),
    "residual_robustness": Kind(
        "residual robustness %",
        percent,
        "The accuracy that is lost: accuracy on clean images minus that on corrupted ones, in percentage points.",
    ),
    "ece_clean": Kind(
        "ECE clean %",
        percent,
        "Expected calibration error: by how much confidence and accuracy differ, averaged over bins of confidence.",
    ),
    "ece_corrupted": Kind("ECE corrupted %", percent, "The same on corrupted images."),
}


def shown_kinds(scores: Scores) -> dict[str, Kind]:
    """The scores that are defined; where mCE is the relative one, it is shown once, by that name."""
    found = {key: kind for key, kind in KINDS.items() if scores.defined(key)}
    if "mce" in found and is_relative(scores.suite.name):
        found["mce"] = found.pop("relative_mce")
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
    """One sentence about a model: the scores that count most, each with its interval."""
    parts = []
    for key in ("mce", "mean_error", "clean_error"):
        kind = shown_kinds(scores).get(key)
        if kind is not None and not math.isnan(line[key]):
            name, score = kind.name.removesuffix(" %"), summary_score(line, key)
            than = f", where {reference_name(baseline)} has 100" if key == "mce" else ""
            parts.append(f"{name} {kind.write(score.value)}\u00a0%{bracketed(score.low, score.high, kind.write)}{than}")
    missing = line["cells_of_suite"] - line["cells"]
    done = f" So far {line['cells']} of {line['cells_of_suite']} cells of the suite." if missing else ""
    return "; ".join(parts) + "." + done


def sequence_verdict(model: str, scores: SequenceScores, baseline: str | None) -> str:
    """One sentence about a model on sequences."""
    rate, distance = scores.flip_rates[model], scores.distances[model]
    flips, moves = (heading.removesuffix(" %") for heading in sequence_headings(scores))
    than = "" if is_plain(rate) else f", where {reference_name(baseline)} has 100"
    unit = "" if is_plain(distance) else "\u00a0%"
    return (
        f"{flips} {plain(rate.value)}\u00a0%{bracketed(rate.low, rate.high, plain)}{than}; "
        f"{moves} {fine(distance.value)}{unit}{bracketed(distance.low, distance.high, fine)}."
    )


def sequence_headings(scores: SequenceScores) -> tuple[str, str]:
    """What the two scores of sequences are called, which depends on whether they are relative to a reference."""
    rate, distance = (next(iter(found.values())) for found in (scores.flip_rates, scores.distances))
    return (
        "flip probability %" if is_plain(rate) else "mFR %",
        "top-5 distance" if is_plain(distance) else "mT5D %",
    )


def is_plain(score: Score) -> bool:
    """Whether a score of sequences is not relative to a reference."""
    return "not normalised" in score.note
