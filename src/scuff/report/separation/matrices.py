"""The two matrices of the report: accuracies by test and training noise, and distances between classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from scuff.report.colours import shade
from scuff.report.heatmap import Group, HeatCell, HeatRow, scale
from scuff.report.matrix import Matrix, make_matrix
from scuff.report.parts import Facts
from scuff.report.separation.scores import EPSILON, MscrScores, distance, number
from scuff.report.words import class_name, interval

PLAIN = "plain"  # the style of a cell without a colour


def accuracy_panel(scores: MscrScores, model: str) -> dict[str, object]:
    """The heat map of a model: test noise down, training noise across, and the MSCR in the last row."""
    cells = scores.cells[model]
    rows = []
    for test, line in cells.groupby("test_noise"):
        # What reads the same as the best is marked, too: a difference that is not shown is no reason to prefer one.
        best = scores.share(line["value"].max())
        row = [
            HeatCell(
                scores.share(cell.value),
                shade(scores.heat(cell.value), 1),
                _tip(scores, test, cell),
                len(line) > 1 and scores.share(cell.value) == best,
            )
            for cell in line.itertuples()
        ]
        rows.append(HeatRow(scores.radius(test), row))
    its = scores.of(model)
    last = [HeatCell(scores.change(row.mscr), PLAIN, _mscr_tip(scores, row)) for row in its.itertuples()]
    return {
        "model": model,
        "facts": _facts(scores, its),
        "caption": f"Accuracy of {model} in per cent",
        "groups": [Group("", rows), Group("", [HeatRow("MSCR %", last)])],
    }


def accuracy_columns(scores: MscrScores) -> list[str]:
    """The heads of the columns: radii of the training noise."""
    return [scores.radius(radius) for radius in scores.accuracies.train_noise]


def accuracy_scale(scores: MscrScores) -> dict[str, object]:
    """The legend of the colours."""
    return scale(f"{scores.share(scores.knots[0])} %", f"{scores.share(scores.knots[-1])} % right")


def class_matrix(pairs: pd.DataFrame, class_names: Sequence[str]) -> Matrix:
    """The smallest distance of every pair of classes; the nearer, the darker. Columns as in `class_separations`."""
    found = {(row.label_a, row.label_b): row for row in pairs.itertuples()}
    found |= {(b, a): row for (a, b), row in found.items()}
    labels = sorted({label for pair in found for label in pair})
    near, far = pairs["distance"].min(), pairs["distance"].max()
    shown = {str(label): class_name(class_names, label) for label in labels}

    def cell(a: str, b: str) -> HeatCell | None:
        row = found.get((int(a), int(b)))
        if row is None:
            return None
        names = f"{shown[str(row.label_a)]} and {shown[str(row.label_b)]}"
        tip = f"{names}\ndistance {distance(row.distance)}\nrows {row.row_a} and {row.row_b}"
        text = f"{row.distance:#.2g}" if row.distance < 10 else f"{row.distance:.0f}"
        return HeatCell(text, shade(far - row.distance, (far - near) or 1.0), tip)

    colours = scale(f"{distance(far)} apart", f"{distance(near)} apart")
    groups = [("", list(shown))]
    return make_matrix("Smallest distance of every pair of classes", "", colours, groups, groups, cell, shown)


def _tip(scores: MscrScores, test: float, cell) -> str:
    between = interval(cell.low, cell.high, scores.share)
    lines = [
        f"test noise {scores.radius(test)}, training noise {scores.radius(cell.train_noise)}",
        f"{scores.share(cell.value)} % right",
        f"95 % interval {between}" if between else "no interval",
    ]
    return "\n".join(lines)


def _mscr_tip(scores: MscrScores, row) -> str:
    between = interval(row.mscr_low, row.mscr_high, scores.change)
    what = f"training noise {scores.radius(row.train_noise)}\nMSCR {scores.change(row.mscr)} %"
    return f"{what}\n" + (f"95 % interval {between}" if between else "no interval")


def _facts(scores: MscrScores, its: pd.DataFrame) -> Facts:
    """What stands beside the heat map of a model: which training noise is best for what."""
    facts = [(EPSILON, number(scores.accuracies.epsilon_min))]
    if not scores.has_training_noise:
        return facts
    for name, key, write in (
        ("best without test noise", "clean", scores.share),
        (f"best at {EPSILON}", "robust", scores.share),
        ("highest MSCR", "mscr", scores.change),
    ):
        if its[key].isna().all():
            continue
        best = its.loc[its[key].idxmax()]
        low, high = best[f"{key}_low"], best[f"{key}_high"]
        between = "" if math.isnan(low) else f" ({interval(low, high, write)})"
        facts.append((name, f"training noise {scores.radius(best['train_noise'])}: {write(best[key])} %{between}"))
    return facts
