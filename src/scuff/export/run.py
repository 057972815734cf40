"""Carry out an export."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from scuff.engine import Engine, Needs, Run
from scuff.export.options import ExportOptions
from scuff.export.places import SETTINGS
from scuff.export.plan import Plan, plan_of
from scuff.files import DISK_FULL, Stopped
from scuff.locks import verify
from scuff.options import takes_options
from scuff.store import read_settings, save_settings

Progress = Callable[[int, int], None]


class ExportStopped(Stopped):
    """The disk is full."""


@dataclass(frozen=True)
class ExportResult:
    """Outputs written and skipped (they were there already), and sources that could not be read, with the reasons.

    In shards, that includes what shards lack that were there already.
    """

    written: int
    skipped: int
    failures: dict[str, str]


@takes_options(ExportOptions)
def export(asked: ExportOptions) -> ExportResult:
    """Write corrupted copies of a dataset.

    A picture is keyed by its path below the folder, an image of an array by its position: results are the same
    anywhere. What an earlier run with the same settings has left is kept.
    """
    return run_plan(plan_of(asked), asked.engine, asked.progress)


def run_plan(
    plan: Plan,
    engine: Engine | None = None,
    progress: Progress | None = None,
    checking: Callable[[str, int, int], None] | None = None,
) -> ExportResult:
    """Carry out what `plan_export` has planned. With a lock, `checking` is told of cells that are read back."""
    work, store = plan.work, plan.job.store
    written, done, total, failures = 0, 0, plan.missing, {**plan.unreadable, **work.left_out}
    try:
        if plan.is_new or plan.unreadable != read_settings(store, SETTINGS).get("unreadable", {}):
            save_settings(store, SETTINGS, plan.settings)
        work.prepare()
        with Run(engine, store if plan.tasks else None, None, "corrupt") as run:
            cells = run.cells("corrupt", work.do, work.tasks(), needs=Needs(cpus=1), count=plan.tasks)
            with contextlib.closing(cells):
                for task, result in cells:
                    plan.seals.add(result.seals)
                    written += result.written
                    failures.update(result.failures)
                    done += task.outputs
                    if progress is not None:
                        progress(done, total)
        plan.seals.add(work.finish())
    except OSError as error:
        if error.errno in DISK_FULL:
            raise ExportStopped(
                f"the disk of {plan.destination} is full; finished files are valid: make room and run the same again"
            ) from error
        raise
    finally:
        plan.seals.close()
    if plan.lock is not None:
        verify(plan.lock, plan.destination, progress=checking).raise_if_different()
    return ExportResult(written, work.outputs - total, failures)
