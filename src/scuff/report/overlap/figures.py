"""The figures and matrices of an overlap study. Nothing is computed here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import pandas as pd

from scuff.metrics import wilson
from scuff.metrics.overlap.accuracies import CLEAN, STANDARD
from scuff.metrics.overlap.benchmarks import Balance
from scuff.report import figure
from scuff.report.colours import shade
from scuff.report.figure import DOT_ROW, SILENT, Figure, label, labels, layout_of, lines_of, numbers
from scuff.report.heatmap import Groups, HeatCell, Matrix, make_matrix, scale
from scuff.report.overlap.scores import WHOLE, OverlapScores
from scuff.words import NOTHING, count, fine, hundredths, interval_line, listed, percent, percent_sign, plain

MOST_NAMED = 11  # corruptions in a label
STRIPED = "undefined"  # the style of a cell without a number


def overlap_matrix(scores: OverlapScores) -> Matrix:
    """The overlaps of all pairs, by category."""
    shown = scores.shown

    def cell(a: str, b: str) -> HeatCell:
        score = scores.overlaps.score(a, b)
        if math.isnan(score.value):
            return HeatCell(NOTHING, STRIPED, f"{shown[a]} and {shown[b]}\nnot defined: {score.note}")
        if a == b:
            return HeatCell("1", shade(1, 1), f"{a}\n{_rests_on(scores, a, a)}")
        lines = [
            f"{shown[a]} and {shown[b]}",
            f"overlap {hundredths(score.value)}",
            interval_line(score.low, score.high, hundredths),
            _rests_on(scores, a, b),
            _rests_on(scores, b, a),
        ]
        return HeatCell(hundredths(score.value), shade(score.value, 1), "\n".join(lines))

    colours = scale("0", "overlap of 1 or more")
    return make_matrix("Overlaps, by category", "category", colours, scores.groups, scores.groups, cell, shown)


def accuracy_matrix(scores: OverlapScores) -> Matrix:
    """The accuracy of every model on every test, by category."""
    accuracies, shown = scores.accuracies, scores.shown
    lowest = min(0.9, math.floor(10 * accuracies.values.min()) / 10)

    def cell(model: str, test: str) -> HeatCell:
        values = accuracies.of(model, test)
        lines = [f"trained on {shown[model]}, tested on {shown[test]}", f"{percent_sign(values.mean())} right"]
        if len(values) > 1:
            lines.append(f"by seed: {listed([percent(value) for value in values])}")
        elif accuracies.images:
            low, high = wilson(values[0] * accuracies.images, accuracies.images)
            lines.append(interval_line(float(low), float(high)))
        return HeatCell(percent(values.mean(), 0), shade(values.mean() - lowest, 1 - lowest), "\n".join(lines))

    whole = [model for model in accuracies.trained_on if model.startswith(WHOLE)]
    rows: Groups = [("", [STANDARD]), *scores.groups, *([("", whole)] if whole else [])]
    columns: Groups = [("", [CLEAN]), *scores.groups]
    colours = scale(f"{percent(lowest, 0)} %", "100 % right")
    return make_matrix("Accuracies in per cent", "trained on", colours, rows, columns, cell, shown)


def dendrogram(scores: OverlapScores, category: Mapping[str, str]) -> Figure:
    """Which corruptions join which, at what mean overlap: leaves down, joins to the right."""
    from scipy.cluster.hierarchy import leaves_list

    assert scores.tree is not None
    shown, names = scores.shown, scores.leaves
    order = leaves_list(scores.tree).tolist()
    nodes = [(1.0, order.index(leaf), [shown[name]]) for leaf, name in enumerate(names)]  # overlap, height, members
    x, y, texts = [], [], []
    for a, b, distance, _ in scores.tree:
        (x_a, y_a, in_a), (x_b, y_b, in_b) = nodes[int(a)], nodes[int(b)]
        nodes.append((1 - distance, (y_a + y_b) / 2, in_a + in_b))
        x += [x_a, 1 - distance, 1 - distance, x_b, None]
        y += [y_a, y_a, y_b, y_b, None]
        texts.append(f"mean overlap {hundredths(1 - distance)}<br>of {_some(in_a)}<br>with {_some(in_b)}")
    lines = {"x": numbers(x), "y": y, "mode": "lines", "line": {"color": "@muted", "width": 1.5}}
    overlaps, heights, _ = zip(*nodes[len(names) :], strict=True)
    joins = figure.point_trace(numbers(overlaps), heights, {"color": "@muted", "size": 6}, texts)
    leaves = [f"{shown[names[leaf]]} · {category[names[leaf]]}" for leaf in order]
    layout = layout_of({"title": {"text": "mean overlap"}, "range": [1.02, -0.04]}, lines_of(leaves))
    description = "Dendrogram of the corruptions by mean overlap; the matrix has the overlaps of all pairs."
    height = 60 + DOT_ROW * len(leaves)
    return Figure("dendrogram", "Dendrogram", description, height, [lines | SILENT, joins], layout)


def sweep_line(scores: OverlapScores) -> Figure:
    """The size of the largest benchmark by threshold."""
    assert scores.selection is not None
    sweep = scores.sweep
    texts = [
        f"<b>below {row.threshold:g}</b><br>{count(row.size, 'corruption')}"
        f"<br>mean overlap {fine(row.mean_overlap)}<br>{_some([scores.shown[name] for name in row.members])}"
        for row in sweep.itertuples()
    ]
    sizes = sweep["size"].tolist()
    is_chosen = sweep["threshold"] == scores.selection.threshold
    line = {
        "x": sweep["threshold"].tolist(),
        "y": sizes,
        "mode": "lines+markers",
        "line": {"color": "@series0", "shape": "hv", "width": 2},
        "marker": {"size": [12 if chosen else 7 for chosen in is_chosen]},
        **labels(texts),
    }
    x_axis = {"title": {"text": "threshold: pairs overlap less than this"}, "rangemode": "tozero"}
    y_axis = {"title": {"text": "corruptions"}, "rangemode": "tozero", "dtick": 1 + max(sizes) // 10}
    description = "Size of the largest benchmark by threshold; the table below has the numbers."
    title = "How large a benchmark without overlaps can be"
    return Figure("sweep", title, description, 280, [line], layout_of(x_axis, y_axis))


def dots(
    key: str,
    title: str,
    frame: pd.DataFrame,
    column: str,
    upright: float,
    line: Callable[[Any], str],
    shown: Mapping[str, str],
) -> Figure:
    """A score with its interval per corruption, what `line` says of it, and a dotted line to compare with."""
    names = [shown[name] for name in frame["corruption"]]
    texts = [
        label(name, line(row), interval_line(row.low, row.high, hundredths))
        for name, row in zip(names, frame.itertuples(), strict=True)
    ]
    scores = frame.rename(columns={column: "value"})
    return figure.dots_figure(key, title, names, scores, texts, column, upright=upright)


def mce_bars(key: str, title: str, balance: Balance, highest: float, shown: Mapping[str, str]) -> Figure:
    """The mCE of every model trained on one corruption, and a dotted line for the standard model."""
    names, mces = [shown[name] for name in balance.mces], list(balance.mces.values())
    texts = [label(f"trained on {name}", f"mCE {plain(mce)} %") for name, mce in zip(names, mces, strict=True)]
    bars = figure.bars(numbers(mces), range(len(names)), {"color": "@series0"}, texts, orientation="h")
    layout = layout_of({"title": {"text": "mCE %"}, "range": [0, highest]}, lines_of(names))
    layout |= {"shapes": [figure.upright_line(balance.standard)], "bargap": 0.3}
    description = f"{title}: mean corruption error by training corruption; the table below has the numbers."
    return Figure(key, title, description, 60 + DOT_ROW * len(names), [bars], layout)


def _rests_on(scores: OverlapScores, test: str, other: str) -> str:
    """The robustness to a corruption without training, with another one, and with itself."""
    kept = scores.robustness[test]
    helped = f"with {scores.shown[other]} {fine(kept[other])}, " if other != test else ""
    return f"robustness to {scores.shown[test]}: {fine(kept[STANDARD])}; {helped}with itself {fine(kept[test])}"


def _some(names: Sequence[str]) -> str:
    """Names in a label, which must not be larger than the page."""
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    words = [*(escape(name) for name in names[:MOST_NAMED]), *more]
    return ",<br>".join(", ".join(words[start : start + 3]) for start in range(0, len(words), 3))
