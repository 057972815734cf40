"""The heat map of a model: accuracies by test noise and training noise, and its MSCR."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from scuff.report.colours import shade
from scuff.report.heatmap import Group, HeatCell, HeatRow, scale
from scuff.report.parts import Facts
from scuff.report.separation.scores import EPSILON, MscrScores, number
from scuff.words import interval, interval_line

PLAIN = "plain"  # the style of a cell without a colour


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


def accuracy_columns(scores: MscrScores) -> list[str]:
    """The heads of the columns: radii of the training noise."""
    return [scores.radius(radius) for radius in scores.accuracies.train_noise]


def accuracy_scale(scores: MscrScores) -> dict[str, object]:
    """The legend of the colours."""
    return scale(f"{scores.share(scores.knots[0])} %", f"{scores.share(scores.knots[-1])} % right")


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
