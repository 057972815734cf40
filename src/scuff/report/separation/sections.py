"""The sections about models: MSCR, accuracies, the trade-off, the surface, copies and runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd

from scuff.report import parts
from scuff.report.colours import shade
from scuff.report.figure import Figure
from scuff.report.heatmap import Group, HeatCell, HeatRow, scale
from scuff.report.parts import Facts, Part, Section
from scuff.report.separation.figures import copies_figures, mscr_bars, noise_for_copies, running_figure, trade_off
from scuff.report.separation.scores import EPSILON, MscrScores, number
from scuff.report.separation.surface import surface_figure
from scuff.report.separation.verdicts import Radius
from scuff.tables import Column, Table
from scuff.words import grouped, interval, interval_line

FEWEST_RUNS = 5  # for a running mean
MOST_BESIDE = 45  # characters of a row that leave room for something beside it
PLAIN = "plain"  # the style of a cell without a colour


def mscr_sections(scores: MscrScores, radius: Radius) -> list[Section | None]:
    """All sections about models; None for those that the study has no numbers for."""
    return [
        mscr_section(scores, radius),
        accuracies_section(scores),
        trade_off_section(scores),
        surface_section(scores),
        copies_section(scores),
        runs_section(scores),
    ]


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
    return parts.section(
        "mscr",
        "MSCR",
        parts.text(
            f"What noise of {EPSILON} costs, in per cent of the accuracy without noise. Left of 0, {radius.loss}: "
            "train with noise, or take a model with a smoother boundary. An interval that holds 0 does not tell "
            "whether anything is lost. Right of 0, noise corrects mistakes; check whether this came at the cost of "
            "accuracy without noise."
        ),
        parts.figures([mscr_bars("mscr", scores)], side_by_side=False, legend=True),
        parts.note(f"Intervals: {scores.scores['interval'].iloc[0]}."),
        parts.folded(table),
    )


def accuracies_section(scores: MscrScores) -> Section:
    """The matrix of every model."""
    framed = " Framed: the best training noise of a row." if scores.has_training_noise else ""
    return parts.section(
        "accuracies",
        "Accuracies",
        parts.text(
            "Right answers in per cent, by the radius of the test noise (down) and of the training noise (across)."
            f"{framed} Each colour of the scale covers the same number of cells. Hover over a cell, or tap it, for its "
            "interval."
        ),
        parts.heat_maps(
            scale(f"{scores.share(scores.knots[0])} %", f"{scores.share(scores.knots[-1])} % right"),
            [scores.radius(radius) for radius in scores.accuracies.train_noise],
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
    text = "Right is more accurate, up is more robust."
    if scores.has_training_noise:
        text = (
            f"Every point is a training noise; the large one of a line is the model {first}. {text} While a line runs "
            "up and to the right, noise comes for free; from where it turns left, robustness costs accuracy."
        )
    figure = parts.figures([trade_off("trade-off", scores)], side_by_side=False, legend=True)
    return parts.section("trade-off", "Trade-off", parts.text(text), figure)


def surface_section(scores: MscrScores) -> Section | None:
    """The matrix of every model as a surface."""
    if not scores.has_training_noise:
        return None
    text = (
        "The same numbers as a landscape; drag it to turn it. Diamonds: the best training noise for every test noise. "
        "The line without diamonds: the same noise in both. Where diamonds are off it, it pays to train with more "
        "noise, or less, than is expected."
    )
    return parts.section("surface", "Surface", parts.text(text), _panels("surface", scores, surface_figure))


def copies_section(scores: MscrScores) -> Section | None:
    """What the number of copies changes."""
    if len(scores.accuracies.copies) < 2:
        return None
    radius = noise_for_copies(scores)
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
        parts.text(
            f"How many noisy points per point are enough: the accuracy with test noise of {EPSILON} and {trained}. All "
            f"other sections are about {scores.accuracies.most_copies} copies."
        ),
        parts.figures(copies_figures("copies", scores), legend=True),
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
    return parts.section("runs", "Runs", parts.text(text), _panels("runs", scores, running_figure))


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
