"""Carry out an evaluation."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
import torch

from scuff.data import CorruptedSource, Source
from scuff.engine import Engine, Progress, Run, needs_of
from scuff.engine.local import NEEDED
from scuff.environment import environment
from scuff.evaluation.choices import Models
from scuff.evaluation.plan import MAY_JOIN, SETTINGS, Plan, plan_evaluation
from scuff.evaluation.tasks import Tests, split_tasks
from scuff.files import DISK_FULL, Stopped
from scuff.store import read_rows, read_settings, save_settings
from scuff.suites import Suite

MAX_PIXEL_BYTES = 8 << 30  # bytes of pixels
CLUSTER_DECODERS = {"cpu": 0, "cuda": 8}  # processes beside a worker of a cluster: on a CPU it has but one to itself


class EvaluationStopped(Stopped):
    """The disk is full. Every finished cell is valid."""


@dataclass(frozen=True)
class Timing:
    """How a run went: predictions made, seconds, the share of corrupting in it, and where the pixels were kept."""

    predictions: int
    seconds: float
    corrupting: float
    predicting: float
    pixels: str
    batch_size: int

    @property
    def per_second(self) -> float:
        """Predictions per second: images x cells x models, decoding included."""
        return self.predictions / max(self.seconds, 1e-9)

    @property
    def corrupting_share(self) -> float:
        """Corrupting as a share of corrupting and predicting."""
        return self.corrupting / max(self.corrupting + self.predicting, 1e-9)


def evaluate(
    models: Models,
    suite: Suite | str | os.PathLike[str] | None,
    data: str | Source | CorruptedSource,
    out: str | os.PathLike[str] | None = None,
    *,
    clean: str | Source | None = None,
    classes: str | None = None,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    validation: bool = False,
    seed: int = 0,
    limit: int | None = None,
    resize: int | None = None,
    crop: int | None = None,
    as_published: bool = False,
    precision: str = "float32",
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    device: str | torch.device | None = None,
    batch_size: int | None = None,
    compile: bool = False,
    workers: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Run models over the clean images and every cell of a suite, and return one row per image and cell.

    Parameters
    ----------
    models
        An address (`"torchvision:resnet50"`, `"timm:..."`, `"onnx:FILE"`, `"FILE.safetensors"`,
        `"package.module:object"`), a torch module, a callable, a Classifier; or a list, or a mapping from names, of
        those. All models see the same corrupted batch.
    suite, only, severities, validation
        Which corruptions, at which levels. By default all levels of the benchmark's entries. None for published data.
    data, clean, classes
        The images: an address such as `"cifar10:DIR"` or `"folder:DIR"`, or a Source. Published corrupted
        data (`"cifar10-c:DIR"`, `"imagenet-c:DIR"`) are taken as they are, with `clean` as their clean counterpart.
        `classes="imagenet-a"` keeps only the images and outputs of that benchmark's classes.
    out
        A folder on this machine or anywhere that fsspec reaches. Existing cells are reused. Without a folder,
        nothing is kept but the result.
    seed, as_published
        As in `scuff.corrupt`.
    limit
        Number of images, evenly spread over the data.
    resize, crop
        For pictures: the shorter side to `resize`, then the middle `crop` x `crop`, then the corruption. By default
        what the models want, or 256 and 224.
    precision, mean, std
        "float32", "bfloat16" or "float16" arithmetic; the normalisation of models that have none of their own.
    device, batch_size, compile, workers
        What affects speed only. By default: the GPU if there is one; a batch size that suits it, halved whenever
        memory runs out; no torch.compile; one decoding process per processor.
    engine
        Where cells run: by default on this machine; `scuff.engine.RayEngine(...)` spreads them over a cluster.
    progress
        Called with (what is being done, images done, images to do).
    """
    if out is None and engine is not None and engine.name != "local":
        raise ValueError("on a cluster, results need a folder that all machines see; say where, with out")
    with tempfile.TemporaryDirectory() as nowhere:
        plan = plan_evaluation(
            models,
            suite,
            data,
            nowhere if out is None else out,
            clean=clean,
            classes=classes,
            only=only,
            severities=severities,
            validation=validation,
            seed=seed,
            limit=limit,
            resize=resize,
            crop=crop,
            as_published=as_published,
            precision=precision,
            mean=mean,
            std=std,
        )
        run_plan(
            plan,
            device=device,
            batch_size=batch_size,
            compile=compile,
            workers=workers,
            engine=engine,
            progress=progress,
        )
        return read_rows(plan.store, [plan.rows_name(m, cell) for m in plan.classifiers for cell in plan.cells])


def run_plan(
    plan: Plan,
    *,
    device: str | torch.device | None = None,
    batch_size: int | None = None,
    compile: bool = False,
    workers: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Timing:
    """Carry out what `plan_evaluation` has planned, and say how it went; the arguments are those of `evaluate`."""
    for name, count, least in (("batch_size", batch_size, 1), ("workers", workers, 0)):
        if count is not None and count < least:
            raise ValueError(f"{name} must be at least {least}, got {count}")
    with Run(engine, plan.store, progress, "evaluate") as run:
        device = run.engine.find_device(device)
        expect_tests(run, plan)
        return run_tests(run, plan, device, batch_size=batch_size, compile=compile, workers=workers)


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
    compile: bool = False,
    workers: int | None = None,
) -> Timing:
    """The tests of a plan as cells of a run, which may have others."""
    missing, started = plan.missing(), time.perf_counter()
    tasks = split_tasks(plan, missing)
    images = plan.settings["images"]
    is_here = run.engine.name == "local"
    if workers is None and not is_here:
        workers = CLUSTER_DECODERS[device.type]
    decoding = partial(run.progress, "decoding") if is_here else None
    work = Tests(plan, str(device), batch_size, compile, workers, decoding)
    needs = needs_of(device, cpus=None, memory=_memory_of(plan, device))
    predictions, corrupting, predicting, last = 0, 0.0, 0.0, None
    try:
        if tasks:
            _save_settings(plan, device)
        done = run.cells("test", work, tasks, needs=needs, size=lambda task: images * len(task.models))
        with contextlib.closing(done):
            for _, last in done:
                predictions += last.predictions
                corrupting += last.corrupting
                predicting += last.predicting
    except OSError as error:
        if error.errno in DISK_FULL:
            raise EvaluationStopped(
                f"the disk of {plan.store.root} is full; finished cells are valid: make room and run the same again"
            ) from error
        raise
    how = ("not needed", batch_size or 0) if last is None else (last.pixels, last.batch_size)
    return Timing(predictions, time.perf_counter() - started, corrupting, predicting, *how)


def _memory_of(plan: Plan, device: torch.device) -> int:
    """Bytes of a worker that keeps all images in memory, if they are not too many; on a GPU, they are kept there."""
    cut, example = plan.settings["cut"], plan.images.example()
    if example.has_pictures:
        side = 0 if cut is None else cut["crop"] or cut["resize"] or 0
        pixels = len(example) * 3 * side**2
    else:
        pixels = example.images.array.nbytes
    return NEEDED + (0 if device.type == "cuda" else min(pixels, MAX_PIXEL_BYTES))


def _save_settings(plan: Plan, device: torch.device) -> None:
    """What all cells share, and a file for each model that has no rows yet."""
    has_rows = bool(plan.store.names("rows", ".parquet"))
    before = read_settings(plan.store, SETTINGS) if has_rows else {}
    joining = {key: plan.settings[key] for key in MAY_JOIN if before.get(key) is None}
    settings = {**plan.settings, **before, **joining}
    if settings != before:
        save_settings(plan.store, SETTINGS, settings)
    for name in plan.classifiers:
        if not plan.store.names(f"rows/{name}", ".parquet"):
            save_settings(plan.store, f"models/{name}.json", {**plan.about(name), "environment": environment(device)})
