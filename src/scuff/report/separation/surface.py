"""The accuracies of a model as a surface over training and test noise: figure 7 of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np

from scuff.report.figure import FONT, Figure, labels, layout_of, percents
from scuff.report.separation.scores import MscrScores

RAISED = 0.006  # of the height: how far lines stand above the surface, so that it does not hide them
CAMERA = {"eye": {"x": -1.2, "y": -1.5, "z": 1.0}, "center": {"x": 0.0, "y": 0.0, "z": -0.2}}


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
