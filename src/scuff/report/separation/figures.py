"""The figures of a study of MSCR. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from scuff.report.colours import DASHES, SERIES, mark
from scuff.report.figure import (
    FONT,
    LEGEND,
    ROW,
    Figure,
    Traces,
    bar_trace,
    error_bars,
    label,
    labels,
    layout_of,
    line_trace,
    numbers,
    percents,
    titled,
    with_scores,
)
from scuff.report.separation.scores import EPSILON, MscrScores
from scuff.words import count, interval

LABEL = 0.17, 0.08  # the part of a figure's width and height that the label of a point takes up, on a phone
MANY_RUNS = 30  # from here on, their axis is logarithmic
MOST_STEPS = 100  # of a line over runs
RAISED = 0.006  # of the height: how far lines stand above the surface, so that it does not hide them
CAMERA = {"eye": {"x": -1.2, "y": -1.5, "z": 1.0}, "center": {"x": 0.0, "y": 0.0, "z": -0.2}}


def mscr_bars(key: str, scores: MscrScores) -> Figure:
    """MSCR by training noise, one bar per model; by model where there is one training noise."""
    noises, by_noise = scores.accuracies.train_noise, scores.has_training_noise
    traces: Traces = []
    for place, model in enumerate(scores.models):
        lines = scores.of(model)
        names = [scores.radius(radius) for radius in noises] if by_noise else [escape(model)]
        traces.append(
            bar_trace(place, percents(lines["mscr"]), names, with_scores(lines, "mscr"), _score_labels(scores, lines))
        )
    groups, bars = (len(noises), len(scores.models)) if by_noise else (len(scores.models), 1)
    x_axis = {"title": {"text": "MSCR %"}, "zeroline": True, "zerolinecolor": "@ink"}
    y_axis = {"type": "category", "autorange": "reversed", "showgrid": False}
    y_axis |= {"title": titled("training noise")} if by_noise else {}
    layout = layout_of(x_axis, y_axis) | {"barmode": "group" if by_noise else "overlay", "bargap": 0.3}
    description = "MSCR in per cent by training noise and model; the table below has the numbers."
    title = "MSCR by training noise" if by_noise else "MSCR by model"
    return Figure(key, title, description, 70 + groups * (bars * ROW + 10), traces, layout)


def clean_lines(key: str, scores: MscrScores) -> Figure:
    """Accuracy without test noise by training noise, a line per model: figure 5a of the paper."""
    traces: Traces = []
    for place, model in enumerate(scores.models):
        lines = scores.of(model)
        bars = error_bars(with_scores(lines, "clean"), f"@{mark(place)['colour']}/0.6")
        x, y = lines["train_noise"].tolist(), percents(lines["clean"])
        traces.append(line_trace(place, x, y, _score_labels(scores, lines), error_y=bars))
    layout = layout_of({"title": {"text": "training noise"}}, {"title": titled("right without noise, %")})
    description = "Accuracy without test noise by training noise and model; the table below has the numbers."
    return Figure(key, "Accuracy without noise by training noise", description, 300, traces, layout)


def trade_off(key: str, scores: MscrScores) -> Figure:
    """MSCR over clean accuracy: a line per model with a point per training noise, the first of them larger."""
    traces: Traces = []
    for place, model in enumerate(scores.models):
        lines, look = scores.of(model), mark(place)
        others = len(lines) - 1
        marker = {"symbol": look["symbol"], "opacity": 1, "size": [15, *([8] * others)]}
        marker |= {"line": {"color": "@ink", "width": [2, *([0] * others)]}}
        bars = {
            axis: error_bars(with_scores(lines, name), f"@{look['colour']}/0.6")
            for axis, name in (("error_x", "clean"), ("error_y", "mscr"))
        }
        x, y = percents(lines["clean"]), percents(lines["mscr"])
        traces.append(line_trace(place, x, y, _score_labels(scores, lines), marker=marker, **bars))
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
            lines = effect[effect["model"] == model]
            texts = [
                label(model, count(k, "copy", "copies"), f"{name} {scores.share(value)} %")
                for k, value in zip(lines["copies"], lines[column], strict=True)
            ]
            traces.append(line_trace(place, lines["copies"].tolist(), percents(lines[column]), texts))
        x_axis = {"title": {"text": "copies of every point"}, "type": "log", **_ticks(sorted(scores.accuracies.copies))}
        y_axis = {"title": titled("%")} | ({"rangemode": "tozero"} if column == "std" else {})
        title = f"Robust accuracy: {name}"
        description = f"{title}, by the number of copies; the table below has the numbers."
        figures.append(Figure(f"{key}-{column}", title, description, 260, traces, layout_of(x_axis, y_axis)))
    return figures


def noise_for_copies(scores: MscrScores) -> float:
    """The training noise for which the effect of copies is drawn: that of the test, as in the paper, if possible."""
    noises = scores.accuracies.train_noise
    return next((radius for radius in noises if scores.radius(radius) == EPSILON), noises[0])


def running_figure(key: str, scores: MscrScores, model: str) -> Figure:
    """The mean MSCR of the first runs minus that of all, by training noise."""
    running, runs = scores.running[scores.running["model"] == model], len(scores.accuracies.runs)
    steps = sorted({round(runs ** (step / MOST_STEPS)) for step in range(MOST_STEPS + 1)})
    colours, dashes = len(SERIES["light"]), list(DASHES)
    traces: Traces = []
    for place, (radius, line) in enumerate(running.groupby("train_noise")):
        means = line.set_index("runs")["mscr"]
        texts = [
            f"training noise {scores.radius(radius)}<br>{count(step, 'run')}: MSCR {scores.change(means[step])} %"
            for step in steps
        ]
        look = {"color": f"@series{place % colours}", "width": 1.8}
        look |= {"dash": dashes[(place + 2 * (place // colours)) % len(dashes)]}
        trace = {"x": steps, "y": numbers(100 * (means.loc[steps] - means.iloc[-1])), "mode": "lines", "line": look}
        traces.append(trace | {"name": scores.radius(radius)} | labels(texts))
    is_long = runs >= MANY_RUNS
    x_axis = {"title": {"text": "runs"}}
    x_axis |= {"type": "log", **_ticks([1, 3, 10, 30, 100, 300, 1000])} if is_long else {}  # type: ignore[dict-item]
    y_axis = {"title": titled("MSCR minus that of all runs, points"), "zeroline": True, "zerolinecolor": "@muted"}
    legend = LEGEND | {"title": {"text": "training noise", "font": {"size": 12}}}
    layout = layout_of(x_axis, y_axis, legend=len(traces) > 1) | {"legend": legend}
    description = "Mean MSCR of the first runs minus that of all runs, one line per training noise."
    return Figure(key, "Running mean over runs", description, 340, traces, layout)


def spread_out(points: pd.DataFrame) -> pd.DataFrame:
    """The points whose label covers no point and no other label; the ends of lines come first."""
    x, y = (points[name] - points[name].min() for name in ("clean", "mscr"))
    x, y = x / (x.max() or 1), y / (y.max() or 1)
    noise, (width, height) = points["train_noise"], LABEL
    is_first = noise == noise.min()  # whose label is below, in the middle; others are above, to the right
    left, bottom = x - is_first * width / 2, y - is_first * height
    order = [*points.index[is_first], *points.index[noise == noise.max()], *points.index]
    kept: list[Any] = []
    for point in dict.fromkeys(order):
        covers = x.between(left[point], left[point] + width) & y.between(bottom[point], bottom[point] + height)
        others = ((left[kept] - left[point]).abs() < width) & ((bottom[kept] - bottom[point]).abs() < height)
        if not covers.drop(point).any() and not others.any():
            kept.append(point)
    return points.loc[kept]


def _point_label(scores: MscrScores, row: Any) -> dict[str, Any]:
    """The training noise of a point of the trade-off, beside it."""
    text = scores.radius(row.train_noise) if row.train_noise else "no noise"
    is_first = row.train_noise == scores.accuracies.train_noise[0]
    place = {"x": 100 * row.clean, "y": 100 * row.mscr}
    place |= {"yshift": -18} if is_first else {"xshift": 10, "yshift": 10, "xanchor": "left"}
    return place | {"text": text, "showarrow": False, "font": {"size": 12, "color": "@muted"}}


def _score_labels(scores: MscrScores, lines: pd.DataFrame) -> list[str]:
    """All that is known of a model with each training noise."""
    forms = {"clean": ("accuracy without noise", scores.share), "robust": (f"with noise of {EPSILON}", scores.share)}
    forms |= {"mscr": ("MSCR", scores.change)}
    texts = []
    for line in lines.to_dict("records"):
        about = [f"training noise {scores.radius(line['train_noise'])}"]
        for key, (name, form) in forms.items():
            between = interval(line[f"{key}_low"], line[f"{key}_high"], form)
            about.append(f"{name} {form(line[key])} %" + (f" ({between})" if between else ""))
        texts.append(label(line["model"], *about))
    return texts


def _ticks(values: Sequence[int]) -> dict[str, Any]:
    """An axis with ticks at these numbers."""
    return {"tickvals": list(values), "ticktext": [str(value) for value in values]}


# --- accuracies as a surface over training and test noise: figure 7 of the paper --------------------------------------


def surface_figure(key: str, scores: MscrScores, model: str) -> Figure:
    """The surface, with the best training noise of every test noise, and the line of equal noise in both."""
    table = scores.cells[model].pivot(index="test_noise", columns="train_noise", values="value")
    train, test, heights = table.columns.to_numpy(), table.index.to_numpy(), table.to_numpy()
    raised = RAISED * np.ptp(heights)

    def line(x: np.ndarray, y: np.ndarray, z: np.ndarray, what: str, **look: Any) -> dict[str, Any]:
        texts = [f"{what}<br>{_label(scores, *point)}" for point in zip(x, y, z, strict=True)]
        place = {"x": x.tolist(), "y": y.tolist(), "z": percents(z + raised)}
        return {"type": "scatter3d", **place, **look, **labels(texts)}

    surface = {
        "type": "surface",
        "x": train.tolist(),
        "y": test.tolist(),
        "z": [percents(row) for row in heights],
        "colorscale": colour_scale(scores.knots),
        "cmin": 100 * scores.knots[0],
        "cmax": 100 * scores.knots[-1],
        "showscale": False,
        "contours": {axis: {"show": True, "color": "@paper", "width": 1, "highlight": False} for axis in ("x", "y")},
        "lighting": {"ambient": 0.9, "diffuse": 0.2, "specular": 0.02, "roughness": 0.9},
        **labels([[_label(scores, i, j, heights[b, a]) for a, i in enumerate(train)] for b, j in enumerate(test)]),  # type: ignore[misc]
    }
    best = heights.argmax(axis=1)
    marker = {"color": "@series2", "size": 5, "symbol": "diamond", "line": {"color": "@paper", "width": 1}}
    look = {"mode": "lines+markers", "line": {"color": "@series2", "width": 5}, "marker": marker}
    optimum = line(train[best], test, heights[np.arange(len(test)), best], "best at this test noise", **look)
    equal, along = diagonal(train, test, heights)
    white = {"mode": "lines", "line": {"color": "@paper", "width": 7}}
    same = line(equal, equal, along, "the same noise in both", **white)
    description = (
        f"Accuracy of {model} over training and test noise as a surface in three dimensions; the matrix above has the "
        "numbers."
    )
    title = "Right answers in % over training and test noise"
    return Figure(key, title, description, 520, [surface, same, optimum], _layout())


def colour_scale(knots: np.ndarray) -> list[list[float | str]]:
    """The colours of the heat map at these accuracies, as Plotly takes them: from 0 to 1.

    >>> colour_scale(np.array([0.5, 0.8, 1.0]))
    [[0.0, '@heat0'], [0.6, '@heat1'], [1.0, '@heat2']]
    """
    places = (knots - knots[0]) / np.ptp(knots)
    return [[round(float(place), 6), f"@heat{stop}"] for stop, place in enumerate(places)]


def diagonal(train: np.ndarray, test: np.ndarray, heights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The radii of equal noise in training and test, where the surface has both, and its heights there."""
    radii = np.unique(np.concatenate([train, test]))
    radii = radii[(radii >= max(train[0], test[0])) & (radii <= min(train[-1], test[-1]))]
    along = [np.interp(r, test, [np.interp(r, train, row) for row in heights]) for r in radii]
    return radii, np.array(along)


def _label(scores: MscrScores, train: float, test: float, height: float) -> str:
    noise = f"training noise {scores.radius(train)}<br>test noise {scores.radius(test)}"
    return f"{noise}<br>{scores.share(height)} % right"


def _layout() -> dict[str, Any]:
    axis = {"gridcolor": "@line", "zeroline": False, "color": "@ink", "showbackground": False, "nticks": 6}
    axis |= {"showspikes": False, "tickfont": {"size": 11}}
    names = {"xaxis": "training noise", "yaxis": "test noise", "zaxis": ""}
    scene = {
        name: axis | {"title": {"text": text, "font": {"family": FONT, "size": 12}}} for name, text in names.items()
    }
    scene |= {"camera": CAMERA, "aspectmode": "manual", "aspectratio": {"x": 1.15, "y": 1.15, "z": 0.75}}  # type: ignore[dict-item]
    flat = layout_of({}, {})
    kept = {name: value for name, value in flat.items() if name not in ("xaxis", "yaxis", "dragmode")}
    return kept | {
        "scene": scene | {"dragmode": "turntable"},
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "uirevision": "kept",  # the camera stays where it was turned when the page changes colours
    }
