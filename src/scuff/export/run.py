"""Carry out an export."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scuff.engine import Engine, Needs, Run
from scuff.export.places import SETTINGS
from scuff.export.plan import Plan, plan_export
from scuff.files import DISK_FULL, Stopped
from scuff.store import save_settings
from scuff.suites import Suite

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
    shard: int | None = None,
    engine: Engine | None = None,
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
        A folder, made if need be, outside the source; or an address like s3://bucket/out. What an earlier run with the
        same settings has left is kept.
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
        For folders "folder" (the default), for arrays "npy" (the default: one file per corruption, severities one after
        the other, as in CIFAR-10-C) or "npz" (one file per corruption and severity); for both "webdataset" (tar files).
    shard
        Pictures per tar file of the layout "webdataset", by default 500.
    engine
        Where the work is done: `LocalEngine(processes)`, by default with one process per processor, or `RayEngine()`.
        As always with processes, a script needs its `if __name__ == "__main__":`. Results are the same anywhere.
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
        shard=shard,
    )
    return run_plan(plan, engine, progress)


def run_plan(plan: Plan, engine: Engine | None = None, progress: Progress | None = None) -> ExportResult:
    """Carry out what `plan_export` has planned."""
    work, store = plan.work, plan.job.store
    written, done, total, failures = 0, 0, plan.missing, dict(work.left_out)
    try:
        if plan.is_new:
            save_settings(store, SETTINGS, plan.settings)
        work.prepare()
        with Run(engine, store if plan.tasks else None, None, "corrupt") as run:
            cells = run.cells("corrupt", work.do, work.tasks(), needs=Needs(cpus=1), count=plan.tasks)
            with contextlib.closing(cells):
                for task, result in cells:
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
    return ExportResult(written, work.outputs - total, failures)
