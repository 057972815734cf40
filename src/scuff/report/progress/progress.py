"""The progress of a study: the page about one without results, and the section on the pages of all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scuff.engine import Status
from scuff.engine.status import describe, speed_words
from scuff.report import parts
from scuff.report.figure import Figure, Traces, labels, layout_of
from scuff.report.page import Page
from scuff.report.parts import Part, Section
from scuff.tables import Column, Table
from scuff.words import NOTHING, count, grouped, listed, show_duration

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


AGAIN = "The same command goes on from here: what is done is not done again."
ENGINES = {"local": "one machine", "ray": "a Ray cluster"}
STATES = {"lost": "probably killed"}  # those that say more in other words
MOST_RETRIES = 20  # attempts that the page lists


def page_of_runs(statuses: Sequence[Status], command: str | None) -> Page:
    """The page of a study without results: its state, what is missing, and the command that resumes it, if known."""
    last = statuses[-1]
    is_finished, is_over = last.state == "finished", last.state != "running"
    missing = [(kind.left + kind.failed, kind) for kind in last.kinds]
    words = [f"{grouped(left)} of {count(kind.total, f'{kind.name} cell')}" for left, kind in missing if left]
    to_do = f"{listed(words)}." if words else "All cells are done; the tables were not written."
    verdicts = [("State", state_words(last)), *([] if is_finished else [("What is missing", to_do)])]
    sections = [progress_section(statuses, says_state=False)]
    if is_over and not is_finished:
        go_on = AGAIN, parts.command(command) if command else None
        sections.append(parts.section("again", "How to go on", *go_on))
    yet = "" if is_finished else " yet"
    lead = f"This page has no results{yet}. Make it again to see how far it is."
    return Page(f"Progress of {last.title or 'a study'}", lead, verdicts, sections)


def progress_section(statuses: Sequence[Status], *, says_state: bool = True) -> Section:
    """The last run in full, and all runs in a table."""
    last = statuses[-1]
    figures = progress_figures(last)
    return parts.section(
        "progress",
        "Progress",
        state_words(last) if says_state else None,
        parts.table(kinds_table(last), sortable=False),
        parts.figures(figures) if figures else None,
        parts.table(failures_table("Cells that failed", last.failures)) if last.failures else None,
        _retries(last),
        parts.table(runs_table(statuses)) if len(statuses) > 1 else None,
    )


def state_words(status: Status) -> str:
    """What became of a run, in a sentence or two."""
    workers = f", {count(status.most_workers, 'worker')}" if status.most_workers else ""
    where = f"on {ENGINES.get(status.engine, status.engine)}{workers}"
    took, silence = show_duration(status.seconds), show_duration(status.silence)
    if status.state == "running":
        return f"Running {where}, for {took}: {describe(status)}. Last heard of {silence} ago."
    if status.state == "lost":
        return (
            f"It was running {where}, and was last heard of {silence} ago, after {took}: it was probably killed. "
            "Finished cells are kept."
        )
    done = count(sum(kind.done for kind in status.kinds), "cell")
    speed = f", {speed_words(status)}" if speed_words(status) else ""
    ends = {
        "finished": f"Finished {where}, in {took}",
        "failed": f"Ended with failures {where}, after {took}",
        "interrupted": f"Interrupted {where}, after {took}",
        "stopped": f"Stopped {where}, after {took}",
    }
    words = f"{ends.get(status.state, status.state)}: {done} done{speed}."
    return f"{words} The reason: {status.reason}" if status.reason else words


def _retries(status: Status) -> Part | None:
    if not status.retries:
        return None
    retries = status.retries[::-1][:MOST_RETRIES]
    some = "" if len(retries) == len(status.retries) else f", the last {MOST_RETRIES}"
    caption = f"Attempts that failed and were repeated{some}"
    return parts.folded(failures_table(caption, retries), caption)


# --- tables -----------------------------------------------------------------------------------------------------------


def kinds_table(status: Status) -> Table:
    """The cells of a run by kind."""
    columns = [
        Column("kind", "name"),
        Column("all", "total", grouped),
        Column("there before", "there", grouped),
        *(Column(name, name, grouped) for name in ("done", "running", "failed", "retried", "left")),
        Column("mean time", lambda kind: kind.mean if kind.done else None, show_seconds),
        Column("slowest", lambda kind: kind.slowest and f"{kind.slowest[0]}, {show_seconds(kind.slowest[1])}"),
    ]
    return Table.of("Cells of the last run", status.kinds, columns)


def runs_table(statuses: Sequence[Status]) -> Table:
    """All runs, the last one first."""
    columns = [
        Column("began", lambda run: show_time(run.started)),
        Column("study", lambda run: run.title or NOTHING),
        Column("engine", "engine"),
        Column("workers", "most_workers", grouped),
        Column("time", "seconds", show_duration),
        Column("cells done", lambda run: sum(kind.done for kind in run.kinds), grouped),
        Column("failed", lambda run: sum(kind.failed for kind in run.kinds), grouped),
        Column("end", lambda run: ": ".join(filter(None, (STATES.get(run.state, run.state), run.reason)))),
    ]
    return Table.of("All runs", statuses[::-1], columns)


def failures_table(caption: str, failures: Sequence[Mapping[str, Any]]) -> Table:
    """Cells that were given up, or attempts that failed: why, and where."""
    columns = [
        Column("cell", lambda failure: f"{failure['kind']} {failure['cell']}"),
        Column("reason", "reason"),
        Column("last place", lambda failure: failure["where"] or NOTHING),
        Column("attempts", "attempts", grouped),
    ]
    return Table.of(caption, failures, columns)


def show_seconds(seconds: float) -> str:
    """The time of a cell, which may be short.

    >>> show_seconds(0.034), show_seconds(4.21), show_seconds(300)
    ('0.03 s', '4.2 s', '5 min')
    """
    if seconds < 10:
        return f"{seconds:.{2 if seconds < 1 else 1}f} s"
    return show_duration(seconds)


def show_time(iso: str) -> str:
    """A time to the minute, in UTC.

    >>> show_time("2026-01-31T09:05:59+00:00")
    '2026-01-31 09:05 UTC'
    """
    return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M} UTC"
