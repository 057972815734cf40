"""The figures of an overlap study. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.overlap.balance import Balance
from scuff.report.figure import SILENT, Figure, error_bars, labels, layout_of, lines_of, numbers
from scuff.report.overlap.scores import COVERED
from scuff.report.words import NOTHING, count, fine, hundredths, interval, plain, short_names

LEAF = 18  # pixels of height per corruption
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
    return Figure(key, "Dendrogram", description, 60 + LEAF * len(leaves), [lines | SILENT, joins], layout)


def sweep_figure(key: str, sweep: pd.DataFrame, threshold: float, shown: Mapping[str, str]) -> Figure:
    """The size of the largest benchmark by threshold. Columns: threshold, size, mean_overlap, members."""
    texts = [
        f"<b>below {row.threshold:g}</b><br>{count(row.size, 'corruption')}"
        f"<br>mean overlap {fine(row.mean_overlap)}<br>{_some([shown[name] for name in row.members])}"
        for row in sweep.itertuples()
    ]
    chosen, sizes = (sweep["threshold"] == threshold).tolist(), sweep["size"].tolist()
    line = {
        "x": sweep["threshold"].tolist(),
        "y": sizes,
        "mode": "lines+markers",
        "line": {"color": "@series0", "shape": "hv", "width": 2},
        "marker": {"size": [12 if here else 7 for here in chosen]},
        **labels(texts),
    }
    x_axis = {"title": {"text": "threshold: pairs overlap less than this"}, "rangemode": "tozero"}
    y_axis = {"title": {"text": "corruptions"}, "rangemode": "tozero", "dtick": 1 + max(sizes) // 10}
    description = "Size of the largest benchmark by threshold; the table below has the numbers."
    title = "How large a benchmark without overlaps can be"
    return Figure(key, title, description, 280, [line], layout_of(x_axis, y_axis))


def nearest_dots(key: str, title: str, frame: pd.DataFrame, shown: Mapping[str, str]) -> Figure:
    """The largest overlap of each corruption of a suite with a benchmark. Columns as `metrics.coverage` has them."""
    own = short_names(frame["corruption"].tolist())
    texts = [
        _label(own[row.corruption], f"overlap {hundredths(row.overlap)} with {shown.get(row.nearest, NOTHING)}", row)
        for row in frame.itertuples()
    ]
    return _dots(key, title, frame, "overlap", COVERED, texts, own)


def direct_dots(key: str, title: str, frame: pd.DataFrame, shown: Mapping[str, str]) -> Figure:
    """What training with a whole benchmark adds. Columns as `metrics.direct_coverage` has them."""
    texts = [
        _label(shown[row.corruption], f"robustness {fine(row.standard)}, trained {fine(row.trained)}", row)
        for row in frame.itertuples()
    ]
    return _dots(key, title, frame, "difference", 0.0, texts, shown)


def mce_bars(key: str, title: str, balance: Balance, highest: float) -> Figure:
    """The mCE of every model trained with one corruption, and a dotted line for the standard model."""
    names = list(short_names(list(balance.mces)).values())
    texts = [
        f"<b>trained with {escape(name)}</b><br>mCE {plain(mce)} %"
        for name, mce in zip(names, balance.mces.values(), strict=True)
    ]
    bars = {
        "type": "bar",
        "orientation": "h",
        "textposition": "none",
        "x": numbers(balance.mces.values()),
        "y": list(range(len(names))),
        "marker": {"color": "@series0"},
        **labels(texts),
    }
    x_axis = {"title": {"text": "mCE %"}, "range": [0, highest]}
    layout = layout_of(x_axis, lines_of(names)) | {"shapes": [_upright(balance.standard)], "bargap": 0.3}
    description = f"{title}: mean corruption error by training corruption; the table below has the numbers."
    return Figure(key, title, description, 60 + LEAF * len(names), [bars], layout)


def _dots(
    key: str,
    title: str,
    frame: pd.DataFrame,
    column: str,
    line: float,
    texts: Sequence[str],
    shown: Mapping[str, str],
) -> Figure:
    """A score with its interval per corruption, and a dotted line to compare with."""
    scores = frame.rename(columns={column: "value"})
    names = [shown[name] for name in frame["corruption"]]
    dots = {
        "x": numbers(scores["value"]),
        "y": list(range(len(names))),
        "mode": "markers",
        "marker": {"color": "@series0", "size": 7},
        "error_x": error_bars(scores, "@series0", numbers),
        **labels(texts),
    }
    x_axis = {"title": {"text": column}, "rangemode": "tozero"}
    layout = layout_of(x_axis, lines_of(names)) | {"shapes": [_upright(line)]}
    description = f"{title}: {column} by corruption; the table below has the numbers."
    return Figure(key, title, description, 60 + LEAF * len(names), [dots], layout)


def _label(name: str, words: str, row: Any) -> str:
    between = interval(row.low, row.high, hundredths)
    return f"<b>{escape(name)}</b><br>{escape(words)}" + (f"<br>95 % interval {between}" if between else "")


def _upright(x: float) -> dict[str, Any]:
    """A dotted line from top to bottom."""
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": "@muted", "width": 1, "dash": "dot"},
    }


def _some(names: Sequence[str]) -> str:
    """Names in a label, which must not be larger than the page."""
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    words = [*(escape(name) for name in names[:MOST_NAMED]), *more]
    return ",<br>".join(", ".join(words[start : start + 3]) for start in range(0, len(words), 3))
