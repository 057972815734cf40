"""One run of a study: its cells, on whatever engine, to whatever end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from scuff.engine.cells import Advance, Cell, CellsFailed, Engine, Failure, Needs, Work
from scuff.engine.journal import Journal, read_journals
from scuff.engine.local import LocalEngine
from scuff.engine.schedule import Attempts, describe_error, run_schedule
from scuff.engine.status import Status, read_status
from scuff.files import Stopped
from scuff.store import Store

Progress = Callable[[str, int, int], None]  # what is being done, how much is done, how much there is to do

PARTS = 1000  # of a cell, in which progress is reported


class Run:
    """Runs the cells of a study, counts them, and remembers which have failed.

    A cell that fails does not end the run: what remains is done, and the end of the `with` block raises `CellsFailed`
    with the list. Everything that a run knows is in its journal, `progress/*.json` in the store.

    Parameters
    ----------
    engine
        Where cells run: by default on this machine.
    store
        Where the journal goes. Without one there is none.
    progress
        Called with (what is being done, done, to do). If it has a method `watch`, that is called with `status` of this
        run when the run begins, and with None when it ends: to show more than what is being done.
    title
        What is run, for readers of the journal.
    """

    def __init__(
        self,
        engine: Engine | None = None,
        store: Store | None = None,
        progress: Progress | None = None,
        title: str = "",
    ) -> None:
        self.engine: Engine = _suitable(engine or LocalEngine(), store)
        self.failures: list[Failure] = []
        self.progress = progress or (lambda what, done, total: None)
        self._journal = Journal(store, title, self.engine.name)
        self._store = store
        self._earlier: list[dict[str, Any]] | None = None  # journals, when somebody asks

    def status(self) -> Status:
        """How far the run is, and how long it will take, by what its cells took so far and in earlier runs."""
        if self._earlier is None:
            self._earlier = [] if self._store is None else read_journals(self._store)
        return read_status(self._journal.now(), self._earlier)

    def expect(self, kind: str, total: int, there: int = 0) -> None:
        """Say how many cells of a kind the study has in all, and how many of them are there already."""
        self._journal.of(kind).update(total=total, there=there)

    def cells(
        self,
        kind: str,
        work: Work,
        cells: Iterable[Cell],
        *,
        needs: Needs | None = None,
        name: Callable[[Cell], str] = str,
        size: Callable[[Cell], int] | None = None,
        count: int | None = None,
    ) -> Generator[tuple[Cell, Any], None, None]:
        """Yield cells with their results, in the order in which they finish.

        Parameters
        ----------
        kind
            What a cell does, in a word: "train", "test".
        work
            Called with a cell, and with a function that takes parts done and parts to do. It goes to every worker once,
            and so does all that it holds; cells should be small.
        cells, count
            A sequence, or any iterable of `count` cells, which is then read as workers become free.
        needs
            Of each cell: by default one processor.
        name, size
            What to call a cell, and how much of the whole it is, for progress.
        """
        if count is None:
            cells = list(cells)
            count = len(cells)
        measure = (lambda cell: 1) if size is None else size
        whole = count if size is None or not isinstance(cells, Sequence) else sum(map(measure, cells))
        scale = PARTS if size is None else 1
        its = self._journal.of(kind)
        if its["total"] < its["there"] + its["done"] + its["failed"] + count:
            its["total"] = its["there"] + its["done"] + its["failed"] + count
        done = 0

        def tell(what: str, parts: float) -> None:
            self.progress(what, round(scale * parts), scale * whole)

        def advance(cell: Cell, at: int, of: int) -> None:
            part = min(at / max(of, 1), 1)
            self._journal.advanced(kind, part)
            tell(f"{kind} {name(cell)}", done + measure(cell) * part)

        def retried(attempts: Attempts) -> None:
            self._journal.retried(_failure(kind, name, attempts))

        def tick(workers: int, running: int) -> None:
            self._journal.working(kind, workers, running)
            if workers > 1 or self.engine.name != "local":
                tell(self._in_words(kind), done)

        if not count:
            return
        self._journal.begin(kind)
        if self._store is not None and self.engine.name != "local":
            self._journal.write()
            work = Visible(work, self._store, self._journal.name)
        scheduled = run_schedule(
            self.engine,
            work,
            cells,
            needs or Needs(),
            count,
            others_are_done=its["there"] + its["done"] > 0,
            advance=advance,
            retried=retried,
            tick=tick,
        )
        with contextlib.closing(scheduled):
            for attempts in scheduled:
                done += measure(attempts.cell)
                if attempts.is_given_up:
                    self.failures.append(_failure(kind, name, attempts))
                    self._journal.failed(self.failures[-1])
                else:
                    self._journal.done(kind, name(attempts.cell), attempts.last.seconds)
                tell(f"{kind} {name(attempts.cell)}" if its["running"] <= 1 else self._in_words(kind), done)
                if not attempts.is_given_up:
                    yield attempts.cell, attempts.last.result
        its["running"] = 0

    def _in_words(self, kind: str) -> str:
        its = self._journal.of(kind)
        failed = f", {its['failed']} failed" if its["failed"] else ""
        return f"{kind}: {its['there'] + its['done']} of {its['total']}, {its['running']} running{failed}"

    def __enter__(self) -> Run:
        self._watch(self.status)
        return self

    def _watch(self, status: Callable[[], Status] | None) -> None:
        if hasattr(self.progress, "watch"):
            self.progress.watch(status)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watch(None)
        state = "failed" if self.failures else "finished"
        if error is not None:
            stopped = isinstance(error, (Stopped, OSError, MemoryError))
            state = "interrupted" if isinstance(error, (KeyboardInterrupt, GeneratorExit)) else state
            state = "stopped" if stopped else state if state == "interrupted" else "failed"
            self._journal.end(state, "" if state == "interrupted" else describe_error(error))
            return
        self._journal.end(state)
        if self.failures:
            raise CellsFailed(self.failures, self._journal.address)


@dataclass
class Visible:
    """Work of a machine that must see the store; that it does is found out once, by the journal of the run."""

    work: Work
    store: Store
    journal: str
    is_seen: bool = False

    def __call__(self, cell: Cell, advance: Advance) -> Any:
        if not self.is_seen and not self.store.exists(self.journal):
            raise ValueError(
                f"this machine does not see {self.store.root}; results need a folder that all machines mount at the "
                "same place, or a bucket"
            )
        self.is_seen = True
        return self.work(cell, advance)


def _failure(kind: str, name: Callable[[Cell], str], attempts: Attempts) -> Failure:
    last = attempts.last
    return Failure(kind, name(attempts.cell), describe_error(last.error), attempts.count, last.where)


def _suitable(engine: Engine, store: Store | None) -> Engine:
    """An engine whose workers see the store. One in the memory of this process, nobody else does."""
    if store is None or store.is_shared:
        return engine
    if isinstance(engine, LocalEngine):
        return replace(engine, processes=1)
    raise ValueError(f"{store.root} is in the memory of this process; cells on a cluster need a place that all see")
