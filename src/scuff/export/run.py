"""Carry out an export."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass

from scuff.export.plan import SETTINGS, Plan, plan_export
from scuff.files import DISK_FULL, Stopped
from scuff.pool import run_tasks
from scuff.store import Store, save_settings
from scuff.suites import Suite

Progress = Callable[[int, int], None]


class ExportStopped(Stopped):
    """The disk is full, or a worker process was lost."""


@dataclass(frozen=True)
class ExportResult:
    """Outputs written and skipped (they were there already), and sources that could not be read, with the reasons."""

    written: int
    skipped: int
    failures: dict[str, str]


def export(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    suite: Suite | str | os.PathLike[str] = "imagenet-c",
    *,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    validation: bool = False,
    seed: int = 0,
    resize: int | None = None,
    crop: int | None = None,
    save: str = "png",
    layout: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ExportResult:
    """Write corrupted copies of a dataset.

    Parameters
    ----------
    source
        A folder of pictures (any sizes, any depth); an .npz with uint8 images (N, H, W, 3) or (N, H, W) under `images`,
        `x` or `data`, and perhaps labels under `labels` or `y`; or a .npy of images. A picture is keyed by its path
        below the folder, an image of an array by its position.
    destination
        A folder, made if need be, outside the source. What an earlier run with the same settings has left is kept.
    suite, only, severities, validation
        Which corruptions, at which levels. By default all levels of the benchmark entries; `validation` adds the
        validation entries; `only` names entries of either kind.
    seed
        Another seed, another realisation of everything random.
    resize, crop
        For pictures: first give the shorter side `resize` pixels (bilinear), then cut out the middle `crop` x `crop`.
    save
        "png" is lossless. "jpeg" is how ImageNet-C was published: quality 85. In an array, pixels are what such a JPEG
        makes of them.
    layout
        "folder" for folders; for arrays "npy" (the default: one file per corruption, severities one after the other, as
        in CIFAR-10-C) or "npz" (one file per corruption and severity).
    workers
        Processes; by default one per processor. 0 works in this process. As always with processes, a script needs its
        `if __name__ == "__main__":`. Results are the same for any number.
    progress
        Called with (outputs made, outputs to make) whenever some are ready.
    """
    plan = plan_export(
        source,
        destination,
        suite,
        only=only,
        severities=severities,
        validation=validation,
        seed=seed,
        resize=resize,
        crop=crop,
        save=save,
        layout=layout,
    )
    return run_plan(plan, workers, progress)


def run_plan(plan: Plan, workers: int | None = None, progress: Progress | None = None) -> ExportResult:
    """Carry out what `plan_export` has planned."""
    workers = (os.cpu_count() or 1) if workers is None else workers
    if workers < 0:
        raise ValueError(f"workers must be at least 0, got {workers}")
    work, total = plan.work, plan.missing
    written, done, failures = 0, 0, {}
    try:
        if plan.is_new:
            save_settings(Store(plan.destination), SETTINGS, plan.settings)
        work.prepare()
        with contextlib.closing(run_tasks(work.do, work.tasks, min(workers, len(work.tasks)))) as results:
            for task, result in results:
                written += result.written
                failures.update(result.failures)
                done += task.outputs
                if progress is not None:
                    progress(done, total)
        work.finish()
    except OSError as error:
        if error.errno in DISK_FULL:
            raise ExportStopped(
                f"the disk of {plan.destination} is full; finished files are valid: make room and run the same again"
            ) from error
        raise
    except BrokenProcessPool as error:
        raise ExportStopped(
            "a worker process was killed, perhaps for want of memory; finished files are valid: run the same again, "
            "with fewer workers"
        ) from error
    return ExportResult(written, work.outputs - total, failures)
