"""The tables about the progress of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scuff.durations import show_duration
from scuff.engine import Status
from scuff.report.tables import Cell, Column, Table, words
from scuff.report.words import NOTHING, grouped

STATES = {
    "running": "running",
    "finished": "finished",
    "failed": "failed",
    "interrupted": "interrupted",
    "stopped": "stopped",
    "lost": "probably killed",
}


def kinds_table(status: Status) -> Table:
    """The cells of a run by kind."""
    counts = ("total", "there", "done", "running", "failed", "retried")
    rows = []
    for kind in status.kinds:
        its = [_number(getattr(kind, name)) for name in counts] + [_number(kind.left)]
        slowest = NOTHING if kind.slowest is None else f"{kind.slowest[0]}, {show_seconds(kind.slowest[1])}"
        mean = kind.mean if kind.done else None
        its += [Cell(NOTHING) if mean is None else Cell(show_seconds(mean), mean), Cell(slowest, is_text=True)]
        rows.append([Cell(kind.name), *its])
    heads = ("all", "there before", "done", "running", "failed", "retried", "left", "mean time")
    return Table("Cells of the last run", [words("kind"), *map(Column, heads), words("slowest")], rows)


def runs_table(statuses: Sequence[Status]) -> Table:
    """All runs, the last one first."""
    rows = [
        [
            Cell(show_time(status.started)),
            Cell(status.title or NOTHING, is_text=True),
            Cell(status.engine, is_text=True),
            _number(status.most_workers),
            Cell(show_duration(status.seconds), status.seconds),
            _number(sum(kind.done for kind in status.kinds)),
            _number(sum(kind.failed for kind in status.kinds)),
            Cell(
                STATES.get(status.state, status.state) + (f": {status.reason}" if status.reason else ""), is_text=True
            ),
        ]
        for status in reversed(statuses)
    ]
    heads = [words("began"), words("study"), words("engine"), Column("workers"), Column("time")]
    return Table("All runs", [*heads, Column("cells done"), Column("failed"), words("end")], rows)


def failures_table(caption: str, failures: Sequence[Mapping[str, Any]]) -> Table:
    """Cells that were given up, or attempts that failed: why, and where."""
    rows = [
        [
            Cell(f"{one['kind']} {one['cell']}"),
            Cell(one["reason"], is_text=True),
            Cell(one["where"] or NOTHING, is_text=True),
            _number(one["attempts"]),
        ]
        for one in failures
    ]
    return Table(caption, [words("cell"), words("reason"), words("last place"), Column("attempts")], rows)


def show_seconds(seconds: float) -> str:
    """The time of a cell, which may be short.

    >>> show_seconds(0.034), show_seconds(4.21), show_seconds(300)
    ('0.03 s', '4.2 s', '5 min')
    """
    if seconds < 10:
        return f"{seconds:.{2 if seconds < 1 else 1}f} s"
    return show_duration(seconds)


def show_time(iso: str) -> str:
    """When, to the minute, in the time of no place.

    >>> show_time("2026-01-31T09:05:59+00:00")
    '2026-01-31 09:05 UTC'
    """
    return f"{datetime.fromisoformat(iso):%Y-%m-%d %H:%M} UTC"


def _number(value: int) -> Cell:
    return Cell(grouped(value), value)
