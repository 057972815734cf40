"""The figures about the progress of a run. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Sequence

from scuff.engine import Status
from scuff.report.figure import Figure, Traces, labels, layout_of
from scuff.words import count, show_duration

HEIGHT = 240
UNITS = ((2 * 86400, 86400, "days"), (2 * 3600, 3600, "hours"), (120, 60, "minutes"), (0, 1, "seconds"))


def progress_figures(status: Status) -> list[Figure]:
    """Cells done and cells at work over time; none before there are two points to draw a line between."""
    if len(status.timeline) < 2:
        return []
    seconds = [0.0, *(point[0] for point in status.timeline)]
    done = [0, *(point[1] for point in status.timeline)]
    running = [status.timeline[0][2], *(point[2] for point in status.timeline)]
    return [
        _over_time("progress-done", "Cells done", "cells", seconds, done, "@series0", "done"),
        _over_time("progress-running", "Cells at work", "cells at once", seconds, running, "@series1", "at work"),
    ]


def _over_time(
    key: str, title: str, unit: str, seconds: Sequence[float], values: Sequence[int], colour: str, word: str
) -> Figure:
    scale, name = next((size, name) for least, size, name in UNITS if seconds[-1] >= least)
    texts = [
        f"after {show_duration(at)}: {count(value, 'cell')} {word}" for at, value in zip(seconds, values, strict=True)
    ]
    line: Traces = [
        {
            "x": [round(at / scale, 4) for at in seconds],
            "y": list(values),
            "mode": "lines",
            "line": {"color": colour, "width": 2, "shape": "hv"},
            "fill": "tozeroy",
            "fillcolor": f"{colour}/0.12",
            **labels(texts),
        }
    ]
    x_axis = {"title": {"text": f"{name} since the start"}, "rangemode": "tozero"}
    y_axis = {"title": {"text": unit}, "rangemode": "tozero", "tickformat": ",d"}
    if max(values) < 6:
        y_axis["dtick"] = 1  # type: ignore[assignment]
    description = f"{title} over {show_duration(seconds[-1])}, {count(values[-1], 'cell')} at the end."
    return Figure(key, title, description, HEIGHT, line, layout_of(x_axis, y_axis))
