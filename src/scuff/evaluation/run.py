"""Carry out an evaluation."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import time
from dataclasses import fields, replace
from functools import partial
from typing import Any

import pandas as pd
import torch

from scuff.engine import Run, needs_of
from scuff.engine.local import NEEDED
from scuff.environment import environment
from scuff.evaluation.choices import CLASSIFICATION
from scuff.evaluation.detection import TaskRunner
from scuff.evaluation.options import EvaluationOptions
from scuff.evaluation.plan import Plan, plan_evaluation
from scuff.evaluation.remarks import doubts, late_doubts
from scuff.evaluation.runner import Runner, Timing
from scuff.evaluation.sampled import Sampling, is_sampled, run_sampled
from scuff.evaluation.tasks import split_tasks
from scuff.files import DISK_FULL, Stopped
from scuff.options import takes_options
from scuff.store import read_rows

log = logging.getLogger("scuff")

MAX_PIXEL_BYTES = 8 << 30  # bytes of pixels
CLUSTER_DECODERS = {"cpu": 0, "cuda": 8}  # processes beside a worker of a cluster: on a CPU it has but one to itself


class EvaluationStopped(Stopped):
    """The disk is full. Every finished cell is valid."""


@takes_options(EvaluationOptions)
def evaluate(asked: EvaluationOptions) -> pd.DataFrame:
    """Run models over the clean images and every cell of a suite, and return one row per image and cell.

    Without a folder, nothing is kept but the result. What looks like a mistake is logged as a warning of "scuff".
    """
    if asked.out is None and asked.engine is not None and asked.engine.name != "local":
        raise ValueError("on a cluster, results need a folder that all machines see; say where, with out")
    with tempfile.TemporaryDirectory() as nowhere:
        options = {field.name: getattr(asked, field.name) for field in fields(asked)}
        plan = plan_evaluation(**options | {"out": nowhere if asked.out is None else asked.out})
        for doubt in doubts(plan):
            log.warning(doubt)
        if is_sampled(asked.passes, asked.half_width, asked.control):
            run_sampled(plan, asked.passes, asked.half_width, asked.control)
            return Sampling(plan).rows(*plan.classifiers)
        run_plan(plan)
        for doubt in late_doubts(plan):
            log.warning(doubt)
        return read_rows(plan.store, [plan.rows_name(m, cell) for m in plan.classifiers for cell in plan.cells])


def run_plan(plan: Plan, **options: Any) -> Timing:
    """Carry out what `plan_evaluation` has planned, and say how it went.

    Options about how to run take the place of those that were planned: device, batch_size, compile, workers, cache,
    engine and progress, as in `evaluate`.
    """
    how = {**plan.how, **options}
    for name, least in (("batch_size", 1), ("workers", 0)):
        if how[name] is not None and how[name] < least:
            raise ValueError(f"{name} must be at least {least}, got {how[name]}")
    with Run(how.pop("engine"), plan.store, how.pop("progress"), "evaluate") as run:
        device = run.engine.find_device(how.pop("device"))
        expect_tests(run, plan)
        return run_tests(run, plan, device, **how)


def expect_tests(run: Run, plan: Plan) -> None:
    """Tell a run how many tests an evaluation has, and how many of them are there."""
    every = len(split_tasks(plan, {cell: list(plan.classifiers) for cell in plan.cells}))
    run.expect("test", every, every - len(split_tasks(plan, plan.missing())))


def run_tests(
    run: Run,
    plan: Plan,
    device: torch.device,
    *,
    batch_size: int | None = None,
    compile: bool | None = False,
    workers: int | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Timing:
    """The tests of a plan as cells of a run, which may have others."""
    missing, started = plan.missing(), time.perf_counter()
    tasks = split_tasks(plan, missing)
    images = plan.settings["images"]
    is_here = run.engine.name == "local"
    if workers is None and not is_here:
        workers = CLUSTER_DECODERS[device.type]
    decoding = partial(run.progress, "decoding") if is_here else None
    work = runner_of(plan)(plan, device, batch_size, compile, workers, cache, decoding)
    needs = needs_of(device, cpus=None, memory=_memory_of(plan, device))
    timing = Timing(batch_size=batch_size or 0)
    try:
        if tasks:
            plan.save(environment(device))
        done = run.cells("test", work, tasks, needs=needs, size=lambda task: images * len(task.models))
        with contextlib.closing(done):
            for _, of_task in done:
                timing += of_task
    except OSError as error:
        if error.errno in DISK_FULL:
            raise EvaluationStopped(
                f"the disk of {plan.store.root} is full; finished cells are valid: make room and run the same again"
            ) from error
        raise
    return replace(timing, seconds=time.perf_counter() - started)


def runner_of(plan: Plan) -> type[Runner]:
    """Who runs the cells of a plan: what the models do decides."""
    return Runner if plan.task == CLASSIFICATION else TaskRunner


def _memory_of(plan: Plan, device: torch.device) -> int:
    """Bytes of a worker that keeps all images in memory, if they are not too many; on a GPU, they are kept there."""
    example = plan.images.example()
    if example.has_pictures:
        pixels = len(example) * 3 * (plan.settings["size"] or 0) ** 2
    else:
        pixels = example.images.array.nbytes
    return NEEDED + (0 if device.type == "cuda" else min(pixels, MAX_PIXEL_BYTES))
