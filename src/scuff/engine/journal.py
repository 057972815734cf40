"""The journal of a run, for others to read: how far it is, how long cells take, what has failed."""

from __future__ import annotations

import contextlib
import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict

from scuff.engine.cells import Failure
from scuff.readers import read_json
from scuff.store import Store

FOLDER = "progress"
SECONDS_BETWEEN = 5.0  # two writings
POINTS = 200  # of the timeline
RETRIES = 100  # that are kept


class CellsOfKind(TypedDict):
    """The numbers of one kind of cells."""

    total: int
    there: int
    done: int
    running: int
    failed: int
    retried: int
    seconds: float
    slowest: NotRequired[list[Any] | None]
    part: NotRequired[float]
    workers: NotRequired[int]
    began: NotRequired[list[float]]


class Content(TypedDict):
    """What a journal holds."""

    run: str
    title: str
    engine: str
    state: str
    started: str
    updated: str
    seconds: float
    workers: int
    reason: NotRequired[str]
    cells: dict[str, CellsOfKind]
    failures: list[dict[str, Any]]
    retries: list[dict[str, Any]]
    timeline: list[list[float]]


class Journal:
    """Numbers of one run, kept small however many cells there are, and written to its store every few seconds."""

    def __init__(self, store: Store | None, title: str, engine: str) -> None:
        self._store = store
        self._began = self._written = time.monotonic()
        now = datetime.now(UTC)
        run = f"{now:%Y%m%dT%H%M%S.%f}-{secrets.token_hex(3)}"
        self._every = 1  # ends between two points of the timeline
        self._ends = 0
        self.content: dict[str, Any] = {
            "run": run,
            "title": title,
            "engine": engine,
            "state": "running",
            "started": now.isoformat(timespec="seconds"),
            "updated": now.isoformat(timespec="seconds"),
            "seconds": 0.0,
            "workers": 0,
            "reason": "",
            "cells": {},
            "failures": [],
            "retries": [],
            "timeline": [],
        }

    def of(self, kind: str) -> dict[str, Any]:
        """The numbers of one kind of cells."""
        fresh = {"total": 0, "there": 0, "done": 0, "running": 0, "failed": 0, "retried": 0, "seconds": 0.0}
        return self.content["cells"].setdefault(
            kind, {**fresh, "slowest": None, "part": 0.0, "workers": 0, "began": [0.0, 0]}
        )

    def begin(self, kind: str) -> None:
        """Note when cells of a kind begin, and how many of all kinds are done by then."""
        self.of(kind)["began"] = [round(self._seconds(), 1), self._ends]

    def done(self, kind: str, cell: str, seconds: float) -> None:
        """Count a cell that is finished."""
        its = self.of(kind)
        its["done"] += 1
        its["seconds"] += seconds
        its["part"] = 0.0
        if its["slowest"] is None or seconds > its["slowest"][1]:
            its["slowest"] = [cell, round(seconds, 3)]
        self._point()

    def failed(self, failure: Failure) -> None:
        """Keep a cell that was given up, and why."""
        its = self.of(failure.kind)
        its["failed"] += 1
        its["part"] = 0.0
        self.content["failures"].append(asdict(failure))

    def retried(self, failure: Failure) -> None:
        """Keep an attempt that failed, and why; the last few of them."""
        self.of(failure.kind)["retried"] += 1
        self.content["retries"] = [*self.content["retries"], asdict(failure)][-RETRIES:]

    def working(self, kind: str, workers: int, running: int) -> None:
        """Note how many work on how much."""
        its = self.of(kind)
        self.content["workers"] = workers
        its["running"] = running
        its["workers"] = max(its["workers"], workers)  # the most that there were
        self._write_at_times()

    def advanced(self, kind: str, part: float) -> None:
        """Note how much of a cell is done that runs in this process, where nothing else is heard of it for long."""
        self.of(kind)["part"] = round(part, 3)
        self._write_at_times()

    def _write_at_times(self) -> None:
        if time.monotonic() - self._written >= SECONDS_BETWEEN:
            self._try_to_write()

    def _point(self) -> None:
        """Add to the timeline, which is thinned by half whenever it is full."""
        self._ends += 1
        if self._ends % self._every:
            return
        timeline = self.content["timeline"]
        running = sum(its["running"] for its in self.content["cells"].values())
        timeline.append([round(self._seconds(), 1), self._ends, running])
        if len(timeline) >= POINTS:
            self.content["timeline"] = timeline[1::2]
            self._every *= 2

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def now(self) -> dict[str, Any]:
        """The content, as of now."""
        self.content["updated"] = datetime.now(UTC).isoformat(timespec="seconds")
        self.content["seconds"] = round(self._seconds(), 1)
        return self.content

    def end(self, state: str, reason: str = "") -> None:
        """Write how the run ended, and why if it was by an error; one without cells leaves nothing."""
        self.content["state"], self.content["reason"] = state, reason
        for its in self.content["cells"].values():
            its["running"], its["part"] = 0, 0.0
        self.content["workers"] = 0
        self._try_to_write()

    def _try_to_write(self) -> None:
        """Write, unless the disk is full or the store does not answer: results matter more than their journal."""
        with contextlib.suppress(OSError, ValueError):
            self.write()

    def write(self) -> None:
        """Write the file, if there is a store and anything to tell."""
        self._written = time.monotonic()
        if self._store is None or not self.content["cells"]:
            return
        self._store.write(self.name, (json.dumps(self.now(), indent=1) + "\n").encode())

    @property
    def name(self) -> str:
        """Of its file, in the store."""
        return f"{FOLDER}/{self.content['run']}.json"

    @property
    def address(self) -> str:
        """Where the file is; nowhere without a store."""
        return "" if self._store is None else self._store.address(self.name)


def read_journals(store: Store) -> list[dict[str, Any]]:
    """The journals of all runs of a study, oldest first; files that are none are passed over."""
    return list(_read(store))


def _read(store: Store) -> Iterator[dict[str, Any]]:
    for name in store.names(FOLDER, ".json"):
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            content = read_json(store.read(name), name, Content)
            datetime.now(UTC) - datetime.fromisoformat(content["updated"])  # a time that says where it is
            yield content
