"""The section about progress: how the last run of a study went or goes, and the runs before it."""

from __future__ import annotations

from collections.abc import Sequence

from scuff.durations import show_duration
from scuff.engine import Status
from scuff.engine.status import describe, speed_words
from scuff.report import parts
from scuff.report.parts import Part, Section
from scuff.report.progress.figures import progress_figures
from scuff.report.progress.tables import failures_table, kinds_table, runs_table
from scuff.report.words import count, grouped, listed

MOST_RETRIES = 20  # attempts that the page lists


def progress_section(statuses: Sequence[Status], *, is_alone: bool = False) -> Section:
    """The last run in full, and all of them in a table. A page that has nothing else says its state at the top."""
    last = statuses[-1]
    return parts.section(
        "progress",
        "Progress",
        None if is_alone else parts.text(state_words(last)),
        parts.table(kinds_table(last), sortable=False),
        _drawn(last),
        *_failed(last),
        parts.table(runs_table(statuses)) if len(statuses) > 1 else None,
    )


def state_words(status: Status) -> str:
    """What became of a run, in a sentence or two."""
    workers = f", {count(status.most_workers, 'worker')}" if status.most_workers else ""
    where = f"on {ENGINES.get(status.engine, status.engine)}{workers}"
    took = show_duration(status.seconds)
    if status.state == "running":
        return f"Running {where}, for {took}: {describe(status)}. Last heard of {show_duration(status.silence)} ago."
    if status.state == "lost":
        return (
            f"It was running {where}, and was last heard of {show_duration(status.silence)} ago, after {took}: it was "
            "probably killed. What was finished is kept."
        )
    done = sum(kind.done for kind in status.kinds)
    speed = f", {speed_words(status)}" if speed_words(status) else ""
    ends = {
        "finished": f"Finished {where}, in {took}",
        "failed": f"Ended with failures {where}, after {took}",
        "interrupted": f"Interrupted {where}, after {took}",
        "stopped": f"Stopped {where}, after {took}",
    }
    words = f"{ends.get(status.state, status.state)}: {count(done, 'cell')} done{speed}."
    return f"{words} The reason: {status.reason}" if status.reason else words


def missing_words(status: Status) -> str:
    """What is left to do of each kind."""
    missing = [(kind.left + kind.failed, kind) for kind in status.kinds]
    found = [f"{grouped(left)} of {count(kind.total, f'{kind.name} cell')}" for left, kind in missing if left]
    return f"{listed(found)}." if found else "All cells are done; the tables were not written."


ENGINES = {"local": "one machine", "ray": "a Ray cluster"}


def _drawn(status: Status) -> Part | None:
    figures = progress_figures(status)
    return parts.figures(figures) if figures else None


def _failed(status: Status) -> list[Part]:
    found = []
    if status.failures:
        found.append(parts.table(failures_table("Cells that failed", status.failures)))
    if status.retries:
        retries = status.retries[::-1][:MOST_RETRIES]
        every = len(retries) == len(status.retries)
        caption = "Attempts that failed and were repeated" + ("" if every else f", the last {MOST_RETRIES}")
        found.append(parts.folded(failures_table(caption, retries), caption))
    return found
