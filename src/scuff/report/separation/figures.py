"""The figures of a study of MSCR in two dimensions. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import pandas as pd

from scuff.report.colours import DASHES, SERIES, mark
from scuff.report.figure import (
    LEGEND,
    ROW,
    Figure,
    Traces,
    error_bars,
    labels,
    layout_of,
    numbers,
    pattern,
    percents,
    titled,
)
from scuff.report.separation.scores import EPSILON, MscrScores
from scuff.report.words import count, interval

LABEL = 0.17, 0.08  # the part of a figure's width and height that the label of a point takes up, on a phone
MANY_RUNS = 30  # from here on, their axis is logarithmic
MOST_STEPS = 100  # of a line over runs


def mscr_bars(key: str, scores: MscrScores) -> Figure:
    """MSCR by training noise, one bar per model; by model where there is one training noise."""
    noises = scores.accuracies.train_noise
    by_noise = scores.has_training_noise
    traces: Traces = []
    for place, model in enumerate(scores.models):
        its = scores.of(model)
        shown = its.rename(columns={"mscr": "value", "mscr_low": "low", "mscr_high": "high"})
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "textposition": "none",
                "x": percents(its["mscr"]),
                "y": [scores.radius(radius) for radius in noises] if by_noise else [escape(model)],
                "error_x": error_bars(shown, "@ink"),
                "marker": {"color": f"@{mark(place)['colour']}", "pattern": pattern(place)},
                **labels([_score_label(scores, row) for row in its.itertuples()]),
            }
        )
    lines, bars = (len(noises), len(scores.models)) if by_noise else (len(scores.models), 1)
    x_axis = {"title": {"text": "MSCR %"}, "zeroline": True, "zerolinecolor": "@ink"}
    y_axis = {"type": "category", "autorange": "reversed", "showgrid": False}
    y_axis |= {"title": titled("training noise")} if by_noise else {}
    layout = layout_of(x_axis, y_axis) | {"barmode": "group" if by_noise else "overlay", "bargap": 0.3}
    height = 70 + lines * (bars * ROW + 10)
    description = "MSCR in per cent by training noise and model; the table below has the numbers."
    title = "MSCR by training noise" if by_noise else "MSCR by model"
    return Figure(key, title, description, height, traces, layout)


def trade_off(key: str, scores: MscrScores) -> Figure:
    """MSCR over clean accuracy: a line per model with a point per training noise, the first of them larger."""
    traces: Traces = []
    for place, model in enumerate(scores.models):
        its, look = scores.of(model), mark(place)
        clean, robust = (
            its.rename(columns={name: "value", f"{name}_low": "low", f"{name}_high": "high"})
            for name in ("clean", "mscr")
        )
        traces.append(
            {
                "x": percents(its["clean"]),
                "y": percents(its["mscr"]),
                "mode": "lines+markers",
                "line": {"color": f"@{look['colour']}", "dash": look["dash"], "width": 1.5},
                "marker": {
                    "symbol": look["symbol"],
                    "opacity": 1,
                    "size": [15, *([8] * (len(its) - 1))],
                    "line": {"color": "@ink", "width": [2, *([0] * (len(its) - 1))]},
                },
                "error_x": error_bars(clean, f"@{look['colour']}/0.6"),
                "error_y": error_bars(robust, f"@{look['colour']}/0.6"),
                **labels([_score_label(scores, row) for row in its.itertuples()]),
            }
        )
    x_axis = {"title": {"text": "accuracy without noise, %"}}
    y_axis = {"title": titled("MSCR %"), "zeroline": True, "zerolinecolor": "@muted"}
    named = spread_out(scores.scores.dropna(subset=["mscr"]))
    layout = layout_of(x_axis, y_axis) | {"annotations": [_point_label(scores, row) for row in named.itertuples()]}
    description = "MSCR over clean accuracy, one point per training noise; the table above has the numbers."
    return Figure(key, "Accuracy against robustness", description, 420, traces, layout)


def copies_figures(key: str, scores: MscrScores) -> list[Figure]:
    """Mean and deviation of the robust accuracy by the number of copies: figure 4 of the paper."""
    effect = scores.copies[scores.copies["train_noise"] == noise_for_copies(scores)]
    kinds = {"mean": "mean", "std": "standard deviation over runs"}
    if len(scores.accuracies.runs) == 1:
        kinds.pop("std")
    figures = []
    for column, name in kinds.items():
        traces: Traces = []
        for place, model in enumerate(scores.models):
            its, look = effect[effect["model"] == model], mark(place)
            texts = [
                f"<b>{escape(model)}</b><br>{count(row.copies, 'copy', 'copies')}"
                f"<br>{name} {scores.share(getattr(row, column))} %"
                for row in its.itertuples()
            ]
            traces.append(
                {
                    "x": its["copies"].tolist(),
                    "y": percents(its[column]),
                    "mode": "lines+markers",
                    "line": {"color": f"@{look['colour']}", "dash": look["dash"], "width": 2},
                    "marker": {"symbol": look["symbol"], "size": 7},
                    **labels(texts),
                }
            )
        x_axis = {"title": {"text": "copies of every point"}, "type": "log", **_ticks(sorted(scores.accuracies.copies))}
        y_axis = {"title": titled("%")} | ({"rangemode": "tozero"} if column == "std" else {})
        title = f"Robust accuracy: {name}"
        description = f"{title}, by the number of copies; the table below has the numbers."
        figures.append(Figure(f"{key}-{column}", title, description, 260, traces, layout_of(x_axis, y_axis)))
    return figures


def noise_for_copies(scores: MscrScores) -> float:
    """The training noise whose effect of copies is drawn: that of the test, as in the paper, if it is there."""
    noises = scores.accuracies.train_noise
    return next((radius for radius in noises if scores.radius(radius) == EPSILON), noises[0])


def running_figure(key: str, scores: MscrScores, model: str) -> Figure:
    """How far the mean MSCR of the first runs is from that of all, by training noise."""
    its = scores.running[scores.running["model"] == model]
    runs = len(scores.accuracies.runs)
    steps = sorted({round(runs ** (step / MOST_STEPS)) for step in range(MOST_STEPS + 1)})
    traces: Traces = []
    for place, (radius, line) in enumerate(its.groupby("train_noise")):
        line = line.set_index("runs")["mscr"]
        away = line.loc[steps] - line.iloc[-1]
        texts = [
            f"training noise {scores.radius(radius)}<br>{count(step, 'run')}: MSCR {scores.change(line[step])} %"
            for step in steps
        ]
        look = {
            "color": f"@series{place % len(SERIES['light'])}",
            "dash": list(DASHES)[(place + 2 * (place // len(SERIES["light"]))) % len(DASHES)],
        }
        traces.append(
            {
                "x": steps,
                "y": numbers(100 * away),
                "mode": "lines",
                "name": scores.radius(radius),
                "line": look | {"width": 1.8},
                **labels(texts),
            }
        )
    x_axis = {"title": {"text": "runs"}} | (
        {"type": "log", **_ticks([1, 3, 10, 30, 100, 300, 1000])} if runs >= MANY_RUNS else {}
    )
    y_axis = {"title": titled("MSCR minus that of all runs, points"), "zeroline": True, "zerolinecolor": "@muted"}
    title = {"text": "training noise", "font": {"size": 12}}
    layout = layout_of(x_axis, y_axis) | {"showlegend": len(traces) > 1, "legend": LEGEND | {"title": title}}
    description = "Mean MSCR of the first runs minus that of all runs, one line per training noise."
    return Figure(key, "Running mean over runs", description, 340, traces, layout)


def spread_out(points: pd.DataFrame) -> pd.DataFrame:
    """Those points that can have a label which covers no point and no other label: first of all the ends of lines."""
    x, y = (points[name] - points[name].min() for name in ("clean", "mscr"))
    x, y = x / (x.max() or 1), y / (y.max() or 1)
    noise, (width, height) = points["train_noise"], LABEL
    is_first = noise == noise.min()  # whose label is below, in the middle; others are above, to the right
    left, bottom = x - is_first * width / 2, y - is_first * height
    order = [*points.index[is_first], *points.index[noise == noise.max()], *points.index]
    kept: list[Any] = []
    for one in dict.fromkeys(order):
        covers = x.between(left[one], left[one] + width) & y.between(bottom[one], bottom[one] + height)
        others = ((left[kept] - left[one]).abs() < width) & ((bottom[kept] - bottom[one]).abs() < height)
        if not covers.drop(one).any() and not others.any():
            kept.append(one)
    return points.loc[kept]


def _point_label(scores: MscrScores, row: Any) -> dict[str, Any]:
    """The training noise of a point of the trade-off, beside it."""
    text = scores.radius(row.train_noise) if row.train_noise else "no noise"
    is_first = row.train_noise == scores.accuracies.train_noise[0]
    place = {"x": 100 * row.clean, "y": 100 * row.mscr}
    place |= {"yshift": -18} if is_first else {"xshift": 10, "yshift": 10, "xanchor": "left"}
    return place | {"text": text, "showarrow": False, "font": {"size": 12, "color": "@muted"}}


def _score_label(scores: MscrScores, row: Any) -> str:
    """All that is known of a model with a training noise."""
    lines = [f"<b>{escape(row.model)}</b>", f"training noise {scores.radius(row.train_noise)}"]
    for name, key, write in (
        ("accuracy without noise", "clean", scores.share),
        (f"with noise of {EPSILON}", "robust", scores.share),
        ("MSCR", "mscr", scores.change),
    ):
        between = interval(getattr(row, f"{key}_low"), getattr(row, f"{key}_high"), write)
        lines.append(f"{name} {write(getattr(row, key))} %" + (f" ({between})" if between else ""))
    return "<br>".join(lines)


def _ticks(values: Sequence[int]) -> dict[str, Any]:
    """An axis with ticks at these numbers."""
    return {"tickvals": list(values), "ticktext": [str(value) for value in values]}
