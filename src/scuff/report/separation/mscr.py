"""The page about a study of MSCR: accuracies, what noise costs, the trade-off, the surface, copies and runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from scuff.metrics.norms import parse_norm
from scuff.metrics.separation.robust_accuracies import RobustAccuracies
from scuff.report import parts
from scuff.report.colours import shade
from scuff.report.figure import Figure
from scuff.report.heatmap import Group, HeatCell, HeatRow, scale
from scuff.report.page import Page
from scuff.report.parts import Facts, Part, Section
from scuff.report.separation import comparisons, figures
from scuff.report.separation.scores import (
    EPSILON,
    MscrScores,
    Radius,
    find_radius,
    measure_mscr,
    mscr_verdicts,
    norm_words,
    number,
)
from scuff.report.separation.separation import (
    MOST_LISTED,
    Distances,
    data_name,
    read_distances,
    separation_section,
    separation_verdict,
)
from scuff.report.settings import meanings, read_study, study_section
from scuff.studies.separation.study import MscrStudy
from scuff.tables import Column, Table
from scuff.words import count, grouped, interval, interval_line, listed

FEWEST_RUNS = 5  # for a running mean
MOST_BESIDE = 45  # characters of a row that leave room for something beside it
PLAIN = "plain"  # the style of a cell without a colour
OF_OTHER_DATA = (
    "The folder also holds a class separation, which is that of other data or in another norm than this study's. It is "
    "not shown."
)


def page(directory: str) -> Page:
    """The page about the study of MSCR in a folder, with the separation of its data if that is there."""
    return mscr_page(*read_study(MscrStudy, directory), read_distances(directory), directory=directory)


def mscr_page(
    accuracies: RobustAccuracies,
    settings: Mapping[str, Any] | None = None,
    distances: Distances | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page, from accuracies, what the study was made with, and the distances of its data.

    Distances of other data than the study's, or in another norm, are not shown.
    """
    settings, notes = settings or {}, []
    if settings and distances is not None:
        separation = distances.separation
        is_same_data = separation.get("data_fingerprint") == settings.get("data_fingerprint")
        if not is_same_data or parse_norm(separation["norm"]) != parse_norm(settings["norm"]):
            distances, notes = None, [OF_OTHER_DATA]
    scores = measure_mscr(accuracies)
    radius = find_radius(accuracies.epsilon_min, settings, {} if distances is None else distances.separation)
    data = data_name(settings.get("data", "the data"))
    models = listed(scores.models) if len(scores.models) < 4 else count(len(scores.models), "model")
    return Page(
        f"MSCR of {models} on {data}",
        _lead(scores, settings),
        [
            *([] if distances is None else [separation_verdict(distances.separation)]),
            *mscr_verdicts(scores, radius),
        ],
        [
            mscr_section(scores, radius),
            accuracies_section(scores),
            comparisons_section(scores),
            trade_off_section(scores),
            surface_section(scores),
            copies_section(scores),
            runs_section(scores),
            None if distances is None else separation_section(distances),
            study_section(
                MscrStudy, settings, directory, _definitions(scores, radius), most_listed=MOST_LISTED, notes=notes
            ),
        ],
        scores.models,
    )


def _definitions(scores: MscrScores, radius: Radius) -> dict[str, str]:
    terms = meanings("separation", "mscr", epsilon=EPSILON, loss=radius.loss)
    about = {EPSILON: radius.about} if radius.about else {}
    return terms | about | {"intervals": f"{scores.scores['interval'].iloc[0]}."}


def _lead(scores: MscrScores, settings: Mapping[str, Any]) -> str:
    """The sentence below the title: what was trained and tested, how often, with which noise."""
    accuracies = scores.accuracies
    planned = len(settings.get("runs", accuracies.runs))
    so_far = f" of {grouped(planned)} so far" if planned > len(accuracies.runs) else ""
    radii = count(len(accuracies.train_noise), "radius", "radii")
    trained = f"trained with noise of {radii}, " if scores.has_training_noise else ""
    return (
        f"{listed(scores.models)}, {trained}{count(len(accuracies.runs), 'run')}{so_far}, tested on "
        f"{count(accuracies.most_copies, 'noisy point')} per test point in balls of {norm_words(accuracies.norm)}; "
        f"{EPSILON} = {number(accuracies.epsilon_min)}."
    )


# --- sections ---------------------------------------------------------------------------------------------------------


def mscr_section(scores: MscrScores, radius: Radius) -> Section:
    """The MSCR of every model and training noise."""
    columns = [
        Column("model", "model"),
        Column("training noise", "train_noise", scores.radius),
        Column("right without noise %", "clean", scores.share, interval=True, best="highest"),
        Column(f"right with noise of {EPSILON} %", "robust", scores.share, interval=True, best="highest"),
        Column("MSCR %", "mscr", scores.change, interval=True, best="highest"),
    ]
    table = Table.of("Scores, with 95 % intervals below them", scores.scores, columns, best_within="model")
    charts = [figures.mscr_bars("mscr", scores)]
    charts += [figures.clean_lines("clean", scores)] if scores.has_training_noise else []
    return parts.section(
        "mscr",
        "MSCR",
        f"What noise of {EPSILON} costs, in per cent of the accuracy without noise. Left of 0, {radius.loss}: "
        "train with noise, or take a model with a smoother boundary. An interval that holds 0 does not tell "
        "whether anything is lost. Right of 0, noise corrects mistakes; check whether this came at the cost of "
        "accuracy without noise.",
        parts.figures(charts, side_by_side=False, legend=True),
        parts.note(f"Intervals: {scores.scores['interval'].iloc[0]}."),
        parts.folded(table),
    )


def accuracies_section(scores: MscrScores) -> Section:
    """The matrix of every model."""
    framed = " Framed: the best training noise of a row." if scores.has_training_noise else ""
    return parts.section(
        "accuracies",
        "Accuracies",
        "Right answers in per cent, by the radius of the test noise (down) and of the training noise (across)."
        f"{framed} Each colour of the scale covers the same number of cells. Hover over a cell, or tap it, for its "
        "interval.",
        parts.heat_maps(
            scale(f"{scores.share(scores.knots[0])} %", f"{scores.share(scores.knots[-1])} % right"),
            [scores.radius(radius) for radius in scores.accuracies.train_noise],
            [accuracy_panel(scores, model) for model in scores.models],
            corner="Test noise",
            wide=len(scores.accuracies.train_noise) * (scores.digits + 4) > MOST_BESIDE,
        ),
    )


def comparisons_section(scores: MscrScores) -> Section | None:
    """Which training noises differ, by paired tests over runs."""
    if not scores.has_comparisons:
        return None
    panels = {
        model: [
            parts.note(comparisons.comparison_words(scores, model)),
            parts.table(comparisons.changes_table(scores, model), sortable=False),
            parts.folded(comparisons.pairs_table(scores, model), "All pairs of training noises"),
        ]
        for model in scores.models
    }
    text = (
        "Whether one training noise is better than another. A run has the same points for all of them, so they are "
        f"compared run by run. {comparisons.ABOUT_RUNS}"
    )
    return parts.section("comparisons", "Training noises compared", text, parts.panels(panels))


def trade_off_section(scores: MscrScores) -> Section | None:
    """What robustness costs in accuracy."""
    if len(scores.scores) < 2 or scores.scores["mscr"].isna().all():
        return None
    first = "without training noise" if scores.accuracies.train_noise[0] == 0 else "with the least training noise"
    text = "Right is more accurate, up is more robust."
    if scores.has_training_noise:
        text = (
            f"Every point is a training noise; the large one of a line is the model {first}. {text} While a line runs "
            "up and to the right, noise comes for free; from where it turns left, robustness costs accuracy."
        )
    figure = parts.figures([figures.trade_off("trade-off", scores)], side_by_side=False, legend=True)
    return parts.section("trade-off", "Trade-off", text, figure)


def surface_section(scores: MscrScores) -> Section | None:
    """The matrix of every model as a surface."""
    if not scores.has_training_noise:
        return None
    text = (
        "The same numbers as a landscape; drag it to turn it. Diamonds: the best training noise for every test noise. "
        "The line without diamonds: the same noise in both. Where diamonds are off it, it pays to train with more "
        "noise, or less, than is expected."
    )
    return parts.section("surface", "Surface", text, _panels("surface", scores, figures.surface_figure))


def copies_section(scores: MscrScores) -> Section | None:
    """What the number of copies changes."""
    if len(scores.accuracies.copies) < 2:
        return None
    radius = figures.noise_for_copies(scores)
    trained = f"training noise of {scores.radius(radius)}" if radius else "no training noise"
    columns = [
        Column("model", "model"),
        Column("training noise", "train_noise", scores.radius),
        Column("copies", "copies", grouped),
        Column("mean %", "mean", scores.share),
        Column("standard deviation %", "std", scores.share),
    ]
    return parts.section(
        "copies",
        "Copies",
        f"How many noisy points per point are enough: the accuracy with test noise of {EPSILON} and {trained}. All "
        f"other sections are about {scores.accuracies.most_copies} copies.",
        parts.figures(figures.copies_figures("copies", scores), legend=True),
        parts.folded(Table.of(f"Accuracy with test noise of {EPSILON}, over runs", scores.copies, columns)),
    )


def runs_section(scores: MscrScores) -> Section | None:
    """Whether there were enough runs."""
    if len(scores.accuracies.runs) < FEWEST_RUNS:
        return None
    text = (
        "Whether there were enough runs: the mean MSCR of the first runs, minus that of all of them. Lines that are "
        "flat at the end will hardly change with more."
    )
    return parts.section("runs", "Runs", text, _panels("runs", scores, figures.running_figure))


def _panels(key: str, scores: MscrScores, draw: Callable[[str, MscrScores, str], Figure]) -> Part:
    """A figure for every model, one at a time."""
    return parts.panels(
        {
            model: [parts.figures([draw(f"{key}{place}", scores, model)], side_by_side=False)]
            for place, model in enumerate(scores.models)
        }
    )


# --- the heat map of a model ------------------------------------------------------------------------------------------


def accuracy_panel(scores: MscrScores, model: str) -> dict[str, Any]:
    """The heat map of a model: test noise down, training noise across, and the MSCR in the last row."""
    rows = []
    for test, line in scores.cells[model].groupby("test_noise"):
        # What reads the same as the best is marked, too: a difference that is not shown is no reason to prefer one.
        best = scores.share(line["value"].max())
        cells = [_accuracy_cell(scores, test, cell, len(line) > 1 and best) for cell in line.itertuples()]
        rows.append(HeatRow(scores.radius(test), cells))
    lines = scores.of(model)
    last = [_mscr_cell(scores, line) for line in lines.itertuples()]
    return {
        "model": model,
        "facts": _facts(scores, lines),
        "caption": f"Accuracy of {model} in per cent",
        "groups": [Group("", rows), Group("", [HeatRow("MSCR %", last)])],
    }


def _accuracy_cell(scores: MscrScores, test: float, cell: Any, best: str | bool) -> HeatCell:
    text = scores.share(cell.value)
    noise = f"test noise {scores.radius(test)}, training noise {scores.radius(cell.train_noise)}"
    tip = f"{noise}\n{text} % right\n{interval_line(cell.low, cell.high, scores.share)}"
    return HeatCell(text, shade(scores.heat(cell.value), 1), tip, text == best)


def _mscr_cell(scores: MscrScores, line: Any) -> HeatCell:
    text = scores.change(line.mscr)
    ends = interval_line(line.mscr_low, line.mscr_high, scores.change)
    return HeatCell(text, PLAIN, f"training noise {scores.radius(line.train_noise)}\nMSCR {text} %\n{ends}")


def _facts(scores: MscrScores, lines: pd.DataFrame) -> Facts:
    """What stands beside the heat map of a model: which training noise is best for what."""
    facts = [(EPSILON, number(scores.accuracies.epsilon_min))]
    if not scores.has_training_noise:
        return facts
    for name, key, form in (
        ("best without test noise", "clean", scores.share),
        (f"best at {EPSILON}", "robust", scores.share),
        ("highest MSCR", "mscr", scores.change),
    ):
        if lines[key].isna().all():
            continue
        best = lines.loc[lines[key].idxmax()]
        low, high = best[f"{key}_low"], best[f"{key}_high"]
        between = "" if math.isnan(low) else f" ({interval(low, high, form)})"
        facts.append((name, f"training noise {scores.radius(best['train_noise'])}: {form(best[key])} %{between}"))
    return facts
