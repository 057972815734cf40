"""The tables about the progress of a study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from scuff.engine import Status
from scuff.tables import Column, Table
from scuff.words import NOTHING, grouped, show_duration

STATES = {"lost": "probably killed"}  # those that say more in other words


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
