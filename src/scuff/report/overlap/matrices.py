"""The two matrices of an overlap study: the overlaps of all pairs, and the accuracies behind them."""

from __future__ import annotations

import math

from scuff.metrics import wilson
from scuff.metrics.overlap.accuracies import CLEAN, STANDARD
from scuff.report.colours import shade
from scuff.report.heatmap import HeatCell, scale
from scuff.report.matrix import Groups, Matrix, make_matrix
from scuff.report.overlap.scores import WHOLE, OverlapScores
from scuff.words import NOTHING, fine, hundredths, interval_line, listed, percent, percent_sign

STRIPED = "undefined"  # the style of a cell without a number


def overlap_matrix(scores: OverlapScores) -> Matrix:
    """The overlaps of all pairs, by category."""
    shown, colours = scores.shown, scale("0", "overlap of 1 or more")

    def cell(a: str, b: str) -> HeatCell:
        score = scores.overlaps.score(a, b)
        if math.isnan(score.value):
            return HeatCell(NOTHING, STRIPED, f"{shown[a]} and {shown[b]}\nnot defined: {score.note}")
        if a == b:
            return HeatCell("1", shade(1, 1), f"{a}\n{_helps(scores, a, a)}")
        lines = [
            f"{shown[a]} and {shown[b]}",
            f"overlap {hundredths(score.value)}",
            interval_line(score.low, score.high, hundredths),
            _helps(scores, a, b),
            _helps(scores, b, a),
        ]
        return HeatCell(hundredths(score.value), shade(score.value, 1), "\n".join(lines))

    return make_matrix("Overlaps, by category", "category", colours, scores.groups, scores.groups, cell, shown)


def accuracy_matrix(scores: OverlapScores) -> Matrix:
    """The accuracy of every model on every test, by category."""
    accuracies, shown = scores.accuracies, scores.shown
    lowest = min(0.9, math.floor(10 * accuracies.values.min()) / 10)
    colours = scale(f"{percent(lowest, 0)} %", "100 % right")

    def cell(model: str, test: str) -> HeatCell:
        values = accuracies.of(model, test)
        lines = [f"trained on {shown[model]}, tested on {shown[test]}", f"{percent_sign(values.mean())} right"]
        if len(values) > 1:
            lines.append(f"by seed: {listed([percent(value) for value in values])}")
        elif accuracies.images:
            low, high = wilson(values[0] * accuracies.images, accuracies.images)
            lines.append(interval_line(float(low), float(high)))
        return HeatCell(percent(values.mean(), 0), shade(values.mean() - lowest, 1 - lowest), "\n".join(lines))

    rows: Groups = [("", [STANDARD]), *scores.groups]
    whole = [model for model in accuracies.trained_on if model.startswith(WHOLE)]
    rows = [*rows, ("", whole)] if whole else rows
    columns: Groups = [("", [CLEAN]), *scores.groups]
    return make_matrix("Accuracies in per cent", "trained on", colours, rows, columns, cell, shown)


def _helps(scores: OverlapScores, test: str, other: str) -> str:
    """The robustness to a corruption without training, with another one, and with itself."""
    kept = scores.robustness[test]
    helped = f"with {scores.shown[other]} {fine(kept[other])}, " if other != test else ""
    return f"robustness to {scores.shown[test]}: {fine(kept[STANDARD])}; {helped}with itself {fine(kept[test])}"
