"""How far a run is, from its journal: for whoever runs it, and for whoever reads along on another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from scuff.engine.journal import read_journals
from scuff.store import Store
from scuff.words import show_duration

SILENT = 90.0  # seconds without a word from a run that writes every few seconds: it was killed
RECENT = 20  # points of the timeline from which speed is computed


@dataclass(frozen=True)
class Kind:
    """The cells of one kind: how many there are, were there before, are done; and what one takes.

    `mean` is known as soon as one is done, in this run or in an earlier one. `part` is how much of a running cell is
    done, where that is known. `workers` is the most that there were.
    """

    name: str
    total: int
    there: int
    done: int
    running: int
    failed: int
    retried: int
    part: float
    workers: int
    mean: float | None
    slowest: tuple[str, float] | None

    @property
    def left(self) -> int:
        """How many are neither done nor given up."""
        return max(0, self.total - self.there - self.done - self.failed)


@dataclass(frozen=True)
class Status:
    """A run: what it is, how far it is, and how much time it will take.

    `state` is running, finished, failed, interrupted, stopped, or lost: a run that has not been heard of for long.
    `seconds_left` counts the kinds of cells of which one was ever done, `then` has the numbers of the others.
    """

    title: str
    engine: str
    state: str
    reason: str
    started: str
    silence: float
    seconds: float
    workers: int
    kinds: tuple[Kind, ...]
    per_minute: float | None
    seconds_left: float | None
    then: Mapping[str, int]
    failures: Sequence[Mapping[str, Any]]
    retries: Sequence[Mapping[str, Any]]
    timeline: Sequence[tuple[float, int, int]]

    @property
    def current(self) -> Kind | None:
        """The kind that is running, or that ran last."""
        running = [kind for kind in self.kinds if kind.running]
        begun = [kind for kind in self.kinds if kind.done or kind.failed]
        return next(iter([*running, *begun[::-1], *self.kinds]), None)

    @property
    def most_workers(self) -> int:
        """How many workers there were, when there were most."""
        return max((self.workers, *(kind.workers for kind in self.kinds)))


def read_statuses(store: Store, now: datetime | None = None) -> list[Status]:
    """The runs of a study, oldest first, as far as they are at a time: now."""
    journals = read_journals(store)
    return [read_status(journal, journals[:place], now) for place, journal in enumerate(journals)]


def read_status(
    journal: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]] = (), now: datetime | None = None
) -> Status:
    """What the journal of a run says; those of earlier runs tell how long cells take that it has none of yet."""
    silence = ((now or datetime.now(UTC)) - datetime.fromisoformat(journal["updated"])).total_seconds()
    is_running = journal["state"] == "running"
    is_lost = is_running and silence > SILENT
    kinds = tuple(_kind(name, its, earlier, journal["state"]) for name, its in journal["cells"].items())
    left, then = _left(kinds, journal["workers"]) if is_running else (None, {})
    return Status(
        title=journal["title"],
        engine=journal["engine"],
        state="lost" if is_lost else journal["state"],
        reason=journal.get("reason", ""),
        started=journal["started"],
        silence=max(0.0, silence),
        seconds=journal["seconds"],
        workers=journal["workers"],
        kinds=kinds,
        per_minute=_per_minute(journal),
        seconds_left=None if is_lost else left,
        then={} if is_lost else then,
        failures=journal["failures"],
        retries=journal["retries"],
        timeline=[tuple(point) for point in journal["timeline"]],
    )


def describe(status: Status) -> str:
    """The status in a line.

    >>> cells = {"total": 41, "there": 2, "done": 10, "running": 4, "failed": 1, "retried": 0, "seconds": 300.0}
    >>> later = {"total": 99, "there": 0, "done": 0, "running": 0, "failed": 0, "retried": 0, "seconds": 0.0}
    >>> journal = {"title": "overlap", "engine": "ray", "state": "running", "seconds": 100.0, "workers": 4}
    >>> journal |= {"cells": {"train": cells, "test": later}, "failures": [], "retries": [], "timeline": []}
    >>> journal |= {"started": "2026-01-01T00:00:00+00:00", "updated": "2026-01-01T00:01:40+00:00"}
    >>> describe(read_status(journal, now=datetime(2026, 1, 1, 0, 2, tzinfo=UTC)))
    'train 12 of 41 cells, 4 running, 1 failed; 6 cells/min; about 4 min left, then 99 test cells'
    """
    kind = status.current
    if kind is None:
        return "nothing to do"
    words = [f"{kind.name} {kind.there + kind.done} of {kind.total} cells"]
    words += [f"{kind.running} running"] if kind.running else []
    words += [f"{kind.failed} failed"] if kind.failed else []
    if status.state == "running" and not status.workers:
        words.append("no worker yet")
    return "; ".join([", ".join(words), *filter(None, (speed_words(status), left_words(status)))])


def speed_words(status: Status) -> str:
    """Cells per minute, if any are done; per hour, if they take long."""
    if not status.per_minute:
        return ""
    slow = status.per_minute < 1
    return f"{status.per_minute * (60 if slow else 1):.{2 if slow else 3}g} cells/{'h' if slow else 'min'}"


def left_words(status: Status) -> str:
    """How long it will take, as far as that is known, and what comes then."""
    current = status.current
    then = [f"{count} {kind} cells" for kind, count in status.then.items() if current is None or kind != current.name]
    after = f"then {', '.join(then)}" if then else ""
    if status.seconds_left is None:
        return after
    return ", ".join(filter(None, (f"about {show_duration(status.seconds_left)} left", after)))


def _kind(name: str, its: Mapping[str, Any], earlier: Sequence[Mapping[str, Any]], state: str) -> Kind:
    slowest = its.get("slowest")
    counts = {key: its[key] for key in ("total", "there", "done", "running", "failed", "retried")}
    if state == "finished":  # all that it did not do itself was there
        counts["there"] = max(counts["there"], counts["total"] - counts["done"])
    known = [its, *(journal["cells"][name] for journal in reversed(earlier) if name in journal["cells"])]
    mean = next((one["seconds"] / one["done"] for one in known if one["done"]), None)
    workers = next((one["workers"] for one in known if one.get("workers")), 0)
    part = its.get("part", 0.0)
    return Kind(name, **counts, part=part, workers=workers, mean=mean, slowest=None if slowest is None else (*slowest,))


def _left(kinds: Sequence[Kind], workers: int) -> tuple[float | None, dict[str, int]]:
    """Seconds for the cells that are left and known, by as many workers as there are or were; and the others.

    As long as nothing is known of those that run, nothing can be said.
    """
    seconds, then, is_known = None, {}, True
    for kind in kinds:
        if kind.left and kind.mean is None:
            then[kind.name] = kind.left
            if kind.running:
                is_known = False
        elif kind.left and kind.mean is not None:
            at_once = (workers if kind.running else kind.workers) or 1
            seconds = (seconds or 0.0) + (kind.left - kind.part) * kind.mean / min(at_once, kind.left)
    return seconds if is_known else None, then


def _per_minute(journal: Mapping[str, Any]) -> float | None:
    """Cells per minute: lately if it runs, of the kind that runs; else in the whole run."""
    seconds, done = journal["seconds"], sum(its["done"] for its in journal["cells"].values())
    since = [0.0, 0]
    if journal["state"] == "running":
        begun = [its.get("began", since) for its in journal["cells"].values()]
        long_ago = journal["timeline"][:-RECENT][-1:]
        since = max([since, *begun, *(point[:2] for point in long_ago)])
    passed = seconds - since[0]
    return 60 * (done - since[1]) / passed if done > since[1] and passed > 0 else None
