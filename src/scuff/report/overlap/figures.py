"""The figures of an overlap study. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import pandas as pd

from scuff.metrics.overlap.balance import Balance
from scuff.report.figure import (
    DOT_ROW,
    SILENT,
    Figure,
    dots_figure,
    label,
    labels,
    layout_of,
    lines_of,
    numbers,
    upright_line,
)
from scuff.report.overlap.scores import COVERED
from scuff.words import NOTHING, count, fine, hundredths, interval_line, plain, short_names

MOST_NAMED = 11  # corruptions in a label


def dendrogram_figure(
    key: str, tree: np.ndarray, names: Sequence[str], shown: Mapping[str, str], category: Mapping[str, str]
) -> Figure:
    """Which corruptions join which, at what mean overlap: leaves down, joins to the right.

    `tree` is a linkage of scipy over `names` whose distances are 1 minus the overlap.
    """
    from scipy.cluster.hierarchy import leaves_list

    order = leaves_list(tree).tolist()
    nodes = [(1.0, order.index(leaf), [shown[name]]) for leaf, name in enumerate(names)]  # overlap, height, members
    x, y, texts = [], [], []
    for a, b, distance, _ in tree:
        (x_a, y_a, in_a), (x_b, y_b, in_b) = nodes[int(a)], nodes[int(b)]
        nodes.append((1 - distance, (y_a + y_b) / 2, in_a + in_b))
        x += [x_a, 1 - distance, 1 - distance, x_b, None]
        y += [y_a, y_a, y_b, y_b, None]
        texts.append(f"mean overlap {hundredths(1 - distance)}<br>of {_some(in_a)}<br>with {_some(in_b)}")
    lines = {"x": numbers(x), "y": y, "mode": "lines", "line": {"color": "@muted", "width": 1.5}}
    joins = {
        "x": numbers(overlap for overlap, _, _ in nodes[len(names) :]),
        "y": [height for _, height, _ in nodes[len(names) :]],
        "mode": "markers",
        "marker": {"color": "@muted", "size": 6},
        **labels(texts),
    }
    x_axis = {"title": {"text": "mean overlap"}, "range": [1.02, -0.04]}
    leaves = [f"{shown[names[leaf]]} · {category[names[leaf]]}" for leaf in order]
    description = "Dendrogram of the corruptions by mean overlap; the matrix has the overlaps of all pairs."
    layout = layout_of(x_axis, lines_of(leaves))
    return Figure(key, "Dendrogram", description, 60 + DOT_ROW * len(leaves), [lines | SILENT, joins], layout)


def sweep_figure(key: str, sweep: pd.DataFrame, threshold: float, shown: Mapping[str, str]) -> Figure:
    """The size of the largest benchmark by threshold. Columns: threshold, size, mean_overlap, members."""
    texts = [
        f"<b>below {row.threshold:g}</b><br>{count(row.size, 'corruption')}"
        f"<br>mean overlap {fine(row.mean_overlap)}<br>{_some([shown[name] for name in row.members])}"
        for row in sweep.itertuples()
    ]
    is_chosen, sizes = (sweep["threshold"] == threshold).tolist(), sweep["size"].tolist()
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
    return Figure(key, title, description, 280, [line], layout_of(x_axis, y_axis))


def nearest_dots(key: str, title: str, frame: pd.DataFrame, shown: Mapping[str, str]) -> Figure:
    """The largest overlap of each corruption of a suite with a benchmark. Columns as `metrics.coverage` has them."""
    lines = [f"overlap {hundredths(row.overlap)} with {shown.get(row.nearest, NOTHING)}" for row in frame.itertuples()]
    return _dots(key, title, frame, "overlap", COVERED, lines, short_names(frame["corruption"].tolist()))


def direct_dots(key: str, title: str, frame: pd.DataFrame, shown: Mapping[str, str]) -> Figure:
    """What training on a whole benchmark adds. Columns as `metrics.direct_coverage` has them."""
    lines = [f"robustness {fine(row.standard)}, trained {fine(row.trained)}" for row in frame.itertuples()]
    return _dots(key, title, frame, "difference", 0.0, lines, shown)


def mce_bars(key: str, title: str, balance: Balance, highest: float) -> Figure:
    """The mCE of every model trained on one corruption, and a dotted line for the standard model."""
    names = list(short_names(list(balance.mces)).values())
    mces = list(balance.mces.values())
    bars = {
        "type": "bar",
        "orientation": "h",
        "textposition": "none",
        "x": numbers(mces),
        "y": list(range(len(names))),
        "marker": {"color": "@series0"},
        **labels([label(f"trained on {name}", f"mCE {plain(mce)} %") for name, mce in zip(names, mces, strict=True)]),
    }
    x_axis = {"title": {"text": "mCE %"}, "range": [0, highest]}
    layout = layout_of(x_axis, lines_of(names)) | {"shapes": [upright_line(balance.standard)], "bargap": 0.3}
    description = f"{title}: mean corruption error by training corruption; the table below has the numbers."
    return Figure(key, title, description, 60 + DOT_ROW * len(names), [bars], layout)


def _dots(
    key: str,
    title: str,
    frame: pd.DataFrame,
    column: str,
    upright: float,
    lines: Sequence[str],
    shown: Mapping[str, str],
) -> Figure:
    """A score with its interval per corruption, and a dotted line to compare with."""
    names = [shown[name] for name in frame["corruption"]]
    intervals = [interval_line(row.low, row.high, hundredths) for row in frame.itertuples()]
    texts = [label(*words) for words in zip(names, lines, intervals, strict=True)]
    return dots_figure(key, title, names, frame.rename(columns={column: "value"}), texts, column, upright=upright)


def _some(names: Sequence[str]) -> str:
    """Names in a label, which must not be larger than the page."""
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    words = [*(escape(name) for name in names[:MOST_NAMED]), *more]
    return ",<br>".join(", ".join(words[start : start + 3]) for start in range(0, len(words), 3))
