"""The sections about a study of MSCR and about a class separation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scuff.report import parts
from scuff.report.parts import Section
from scuff.report.separation.distances import cumulative, group_distances, histogram
from scuff.report.separation.figures import copies_figures, mscr_bars, noise_for_copies, running_figure, trade_off
from scuff.report.separation.matrices import accuracy_columns, accuracy_panel, accuracy_scale, class_matrix
from scuff.report.separation.radius import Radius
from scuff.report.separation.scores import EPSILON, MscrScores
from scuff.report.separation.surface import surface_figure
from scuff.report.separation.tables import copies_table, pair_table, quantile_table, score_table
from scuff.report.settings import Again, all_facts

if TYPE_CHECKING:
    from scuff.metrics.separation.classes import Neighbours

FEWEST_RUNS = 5  # for a running mean
MOST_BESIDE = 45  # characters of a row that leave room for something beside it
MATRIX_CLASSES = range(3, 41)  # with fewer, a table says it all; with more, nothing can be read

SEPARATION = "The smallest distance between two points of different classes, 2r."
HALF = (
    "Half of it, the radius of noise up to which all points can be told apart: balls of this radius around points of "
    "different classes do not overlap."
)
DEFINITIONS = {
    "noise": (
        "A point is drawn uniformly from the ball of a radius around a point of the data, and keeps its label. "
        "Training noise moves the points that a model is trained on, test noise those that it is tested on."
    ),
    "MSCR": (
        f"Minimal separation corruption robustness: (accuracy with noise of {EPSILON} minus accuracy without) divided "
        "by accuracy without, in per cent. Below 0, {loss}. At 0, noise costs nothing on the whole. Above 0, it "
        "corrects mistakes: points lie on the wrong side of a boundary that is near."
    ),
    "copies": "How many noisy points are drawn around every point.",
}


def mscr_sections(scores: MscrScores, radius: Radius) -> list[Section]:
    """All sections about models, but for those that the study has no numbers for."""
    sections = [
        mscr_section(scores, radius),
        accuracies_section(scores),
        trade_off_section(scores),
        surface_section(scores),
        copies_section(scores),
        runs_section(scores),
    ]
    return [section for section in sections if section is not None]


def mscr_section(scores: MscrScores, radius: Radius) -> Section:
    """The MSCR of every model and training noise."""
    return parts.section(
        "mscr",
        "MSCR",
        parts.text(
            f"What noise of {EPSILON} costs, in per cent of the accuracy without noise. Left of 0, {radius.loss}: "
            "train with noise, or take a model with a smoother boundary. An interval that holds 0 does not tell "
            "whether anything is lost. Right of 0, noise corrects mistakes; see whether accuracy without noise was "
            "paid for it."
        ),
        parts.figures([mscr_bars("mscr", scores)], side_by_side=False, legend=True),
        parts.note(f"Intervals: {scores.scores['interval'].iloc[0]}."),
        parts.folded(score_table(scores)),
    )


def accuracies_section(scores: MscrScores) -> Section:
    """The matrix of every model."""
    framed = " Framed: the best training noise of a row." if scores.has_training_noise else ""
    return parts.section(
        "accuracies",
        "Accuracies",
        parts.text(
            "Right answers in per cent, by the radius of the test noise (down) and of the training noise (across)."
            f"{framed} Every colour of the scale is that of as many cells. Hover over a cell, or tap it, for its "
            "interval."
        ),
        parts.heat_maps(
            accuracy_scale(scores),
            accuracy_columns(scores),
            [accuracy_panel(scores, model) for model in scores.models],
            corner="Test noise",
            wide=len(scores.accuracies.train_noise) * (scores.digits + 4) > MOST_BESIDE,
        ),
    )


def trade_off_section(scores: MscrScores) -> Section | None:
    """What robustness costs in accuracy."""
    if len(scores.scores) < 2 or scores.scores["mscr"].isna().all():
        return None
    first = "without training noise" if scores.accuracies.train_noise[0] == 0 else "with the least training noise"
    text = (
        f"Every point is a training noise; the large one of a line is the model {first}. Right is more accurate, up "
        "is more robust. While a line runs up and to the right, noise is for free; from where it turns left, "
        "robustness is paid for in accuracy."
        if scores.has_training_noise
        else "Right is more accurate, up is more robust."
    )
    figure = trade_off("trade-off", scores)
    return parts.section(
        "trade-off", "Trade-off", parts.text(text), parts.figures([figure], side_by_side=False, legend=True)
    )


def surface_section(scores: MscrScores) -> Section | None:
    """The matrix of every model as a surface."""
    if not scores.has_training_noise:
        return None
    figures = {
        model: [parts.figures([surface_figure(f"surface{place}", scores, model)], side_by_side=False)]
        for place, model in enumerate(scores.models)
    }
    return parts.section(
        "surface",
        "Surface",
        parts.text(
            "The same numbers as a landscape; drag it to turn it. Diamonds: the best training noise for every test "
            "noise. The line without diamonds: the same noise in both. Where diamonds are off it, it pays to train "
            "with more noise, or less, than there will be."
        ),
        parts.panels(figures),
    )


def copies_section(scores: MscrScores) -> Section | None:
    """What the number of copies changes."""
    if len(scores.accuracies.copies) < 2:
        return None
    radius = noise_for_copies(scores)
    trained = f"training noise of {scores.radius(radius)}" if radius else "no training noise"
    return parts.section(
        "copies",
        "Copies",
        parts.text(
            f"How many noisy points per point are enough: the accuracy with test noise of {EPSILON} and {trained}. All "
            f"other sections are about {scores.accuracies.most_copies} copies."
        ),
        parts.figures(copies_figures("copies", scores), legend=True),
        parts.folded(copies_table(scores)),
    )


def runs_section(scores: MscrScores) -> Section | None:
    """Whether there were enough runs."""
    if len(scores.accuracies.runs) < FEWEST_RUNS:
        return None
    figures = {
        model: [parts.figures([running_figure(f"runs{place}", scores, model)], side_by_side=False)]
        for place, model in enumerate(scores.models)
    }
    return parts.section(
        "runs",
        "Runs",
        parts.text(
            "Whether there were enough runs: the mean MSCR of the first runs, minus that of all of them. Lines that "
            "are flat at the end will hardly change with more."
        ),
        parts.panels(figures),
    )


def separation_section(
    found: Mapping[str, Any], neighbours: Neighbours | None, is_test: np.ndarray | None, pairs: pd.DataFrame | None
) -> Section | None:
    """The distances between classes, as far as they are known."""
    inside = []
    if neighbours is not None:
        distances = group_distances(neighbours, is_test)
        inside += [
            parts.text(
                "How far every point is from the nearest one of another class. Where the smallest distance is that of "
                "a few odd points, mislabelled ones perhaps, a quantile is a fairer measure of what noise can be borne."
            ),
            parts.figures([histogram("distances", distances), cumulative("distances-cumulative", distances)]),
            parts.table(quantile_table(neighbours), sortable=False),
        ]
    if pairs is not None:
        names: Sequence[str] = found.get("class_names", ())
        has_matrix = len({*pairs["label_a"], *pairs["label_b"]}) in MATRIX_CLASSES
        inside += [
            parts.heading("Pairs of classes"),
            parts.matrix(class_matrix(pairs, names)) if has_matrix else None,
            parts.folded(pair_table(pairs, names)) if has_matrix else parts.table(pair_table(pairs, names)),
        ]
    return parts.section("separation", "Class separation", *inside) if inside else None


def settings_section(
    settings: Mapping[str, Any],
    scores: MscrScores | None,
    radius: Radius,
    again: Again | None,
    note: str | None = None,
) -> Section:
    """How the numbers came about, what makes them again, and how to read them; `note` is about the folder."""
    same = []
    if again is not None:
        same = [parts.heading("The same again"), parts.command(again.words), *map(parts.note, again.notes)]
    definitions = {"class separation": SEPARATION, EPSILON: radius.about or HALF}
    if scores is not None:
        definitions |= {name: words.format(loss=radius.loss) for name, words in DEFINITIONS.items()}
        definitions["intervals"] = f"{scores.scores['interval'].iloc[0]}."
    return parts.section(
        "settings",
        "Settings and environment",
        None if note is None else parts.note(note),
        parts.facts(all_facts(_shortened(settings))),
        *same,
        parts.heading("How to read this"),
        parts.facts(list(definitions.items())),
    )


def _shortened(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without long lists: of runs their number, of rows that were left out, too."""
    short = {key: len(settings[key]) for key in ("runs", "dropped") if key in settings}
    return {**settings, **short}
