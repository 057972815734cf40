"""A sample of an evaluation: some passes (an image in a cell, past a model) in place of all of them.

`SamplingPlan` orders all passes so that every beginning is a fair sample, and a run does the next ones. Files of rows
are named after the steps that they hold, so a longer run goes on where a shorter one has ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from scuff.engine import Advance, Needs, Run, needs_of
from scuff.environment import environment
from scuff.evaluation.pairs import predict_pairs
from scuff.evaluation.plan import SETTINGS, Cell, Plan
from scuff.evaluation.results import Shared, read_model
from scuff.evaluation.runner import Runner, Timing
from scuff.evaluation.tasks import split_tasks
from scuff.metrics.evaluation.references import load_reference
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.sampling.estimate import Population
from scuff.metrics.sampling.plan import SamplingPlan
from scuff.metrics.sampling.scores import sampled_scores
from scuff.metrics.score import Score
from scuff.store import Settings, Store, check_settings, read_rows, read_settings, save_settings, write_rows
from scuff.suites import Suite
from scuff.suites.suite import suite_from_dict

FOLDER = "sampled"
NOTE = f"{FOLDER}/control.json"  # how the scores of the sample are to be read
LEAST_ROUNDS = 20  # images that every cell has before a width is believed
MOST_STEPS = 1 << 14  # of a file: what an interruption can lose, at most


@dataclass(frozen=True)
class Steps:
    """Some steps of the order of all passes, and the models that are to do them."""

    start: int
    stop: int
    models: tuple[str, ...] = ()

    @property
    def cell(self) -> Steps:
        """What a runner is called with."""
        return self

    def __str__(self) -> str:
        return f"passes {self.start} to {self.stop}"


@dataclass(frozen=True)
class Sampling:
    """The order of all passes of a planned evaluation, and what is there of it."""

    plan: Plan
    control: str | None = None  # what makes intervals narrower, as `read_control` knows it

    @property
    def order(self) -> SamplingPlan:
        return SamplingPlan(self.plan.settings["images"], len(self.plan.cells), self.plan.settings["seed"])

    def folder(self, model: str) -> str:
        """Where the rows of a model lie: a hash of everything that they depend on, besides their steps."""
        depends = [self.plan.rows_name(model, cell) for cell in self.plan.cells]
        digest = hashlib.blake2b(json.dumps(depends).encode(), digest_size=6).hexdigest()
        return f"{FOLDER}/{model}-{digest}"

    def files(self, model: str) -> dict[Steps, str]:
        """The files of a model without a gap from the first step on."""
        return without_gap(self.plan.store.names(self.folder(model), ".parquet"))

    def done(self, model: str) -> int:
        """How many steps a model has behind it."""
        return max((steps.stop for steps in self.files(model)), default=0)

    def scores(self, model: str, of: Population = "these") -> dict[str, Score]:
        """The scores of a model so far."""
        control = read_control(self.control, self.plan.store, model, self.plan.settings)
        return sample_scores(self.rows(model), self.plan.settings, self.plan.suite, of, control)

    def rows(self, *models: str) -> pd.DataFrame:
        """The rows of some models, in the order of their steps."""
        return read_rows(self.plan.store, [file for model in models for file in self.files(model).values()])


def sample_scores(
    rows: pd.DataFrame,
    settings: Settings,
    suite: Suite,
    of: Population = "these",
    control: pd.DataFrame | None = None,
) -> dict[str, Score]:
    """The scores of one model; relative to AlexNet if the images are such as it was measured on."""
    reference = load_reference("alexnet", suite.name)
    fits = reference and not settings["classes"]
    fits = fits and not reference.misfit(len(settings["class_names"]), settings.get("size"))  # type: ignore[union-attr]
    baseline = "alexnet" if fits else None
    return sampled_scores(rows, settings["images"], baseline=baseline, suite=suite, of=of, control=control)


def read_control(control: str | None, store: Store, model: str, settings: Settings) -> pd.DataFrame | None:
    """Rows of all images that tell something of the results of a model: those of its "clean" cell, or of another model.

    The other one is FOLDER, or FOLDER:MODEL. It is honest whatever it is; its images must be the same to be of use.
    """
    if control is None:
        return None
    if control == CLEAN:
        return read_rows(store, [name for name in store.names(f"rows/{model}", ".parquet") if is_clean(name)])
    evaluation, rows = read_model(control)
    if evaluation.settings["source_fingerprint"] != settings["source_fingerprint"]:
        raise ValueError(f"the control {control} has rows of other images: {evaluation.settings['source']}")
    return rows


def is_sample(store: Store) -> bool:
    """Whether a folder holds a sample of an evaluation, and no more than the clean cells of a whole one."""
    return bool(store.names(FOLDER, ".parquet")) and all(map(is_clean, store.names("rows", ".parquet")))


def is_clean(name: str) -> bool:
    """Whether a file of rows is that of a clean cell."""
    return name.rpartition("/")[2].startswith(f"{CLEAN}-")


def read_samples(directory: str | os.PathLike[str]) -> tuple[dict[str, pd.DataFrame], Settings, Suite]:
    """The sampled rows of every model in a folder, its settings and its suite; of several samples the largest.

    The settings say which control the last run had, if any.
    """
    store = Store(directory)
    settings = read_settings(store, SETTINGS, Shared)
    if store.exists(NOTE):
        settings = {**settings, **read_settings(store, NOTE)}
    names: dict[str, list[str]] = {}
    for name in store.names(FOLDER, ".parquet"):
        if "-" not in name.rpartition("/")[2]:
            raise ValueError(f"{store.root} holds what scuff check has asked a model; the folder above it has the page")
        names.setdefault(name.rpartition("/")[0], []).append(name)
    samples: dict[str, pd.DataFrame] = {}
    for files in names.values():
        rows = read_rows(store, without_gap(files).values())
        model = str(rows["model"].iloc[0])
        if model not in samples or len(samples[model]) < len(rows):
            samples[model] = rows
    return samples, settings, suite_from_dict(settings["suite"], SETTINGS)


def without_gap(names: Iterable[str]) -> dict[Steps, str]:
    """Files of one model that follow one another from the first step on; an interruption may leave others."""
    known = {steps_of(name): name for name in names}
    found: dict[Steps, str] = {}
    stop = 0
    while following := [steps for steps in known if steps.start == stop]:
        longest = max(following, key=lambda steps: steps.stop)
        found[longest] = known[longest]
        stop = longest.stop
    return found


def steps_of(name: str) -> Steps:
    """The steps in the name of a file."""
    start, _, stop = name.rpartition("/")[2].removesuffix(".parquet").partition("-")
    return Steps(int(start), int(stop))


class SampleRunner(Runner):
    """Runs steps in place of cells."""

    def run(self, cell: Any, models: Sequence[str], advance: Advance) -> int:
        """Try the pairs of some steps, write a file of rows for each model, and say how many predictions that took."""
        sampling = Sampling(self.plan)
        images, cells = sampling.order.steps(cell.start, cell.stop)
        # Arrays are there as a whole; pictures are once each of them has been tried, so that none is decoded thrice.
        keeps_all = not self.plan.images.example().has_pictures or cell.stop > sampling.order.images
        order, columns_of = predict_pairs(self, images, [self.plan.cells[c] for c in cells], models, keeps_all)
        back = np.argsort(order)
        constant = {"source": self.plan.images.source.name, "suite": self.plan.suite.name}
        for model, columns in columns_of.items():
            self.check_numbers(model, cell, columns)
            name = f"{sampling.folder(model)}/{cell.start:09d}-{cell.stop:09d}.parquet"
            in_order = {column: values[back] for column, values in columns.items()}
            write_rows(self.plan.store, name, {**constant, "model": model}, in_order)
        advance(1, 1)
        return len(images) * len(columns_of)


def is_sampled(passes: int | None, half_width: float | None, control: str | None = None) -> bool:
    """Whether a sample is asked for; wrong wishes are refused."""
    if control is not None and passes is None and half_width is None:
        raise ValueError("a control is for samples: give passes or half_width too")
    if passes is not None and half_width is not None:
        raise ValueError("give passes or half_width, not both: either says when a sample is large enough")
    if passes is not None and passes < 1:
        raise ValueError(f"passes must be at least 1, got {passes}")
    if half_width is not None and not half_width > 0:
        raise ValueError(f"half_width must be above 0, got {half_width}")
    return passes is not None or half_width is not None


def run_sampled(
    plan: Plan,
    passes: int | None = None,
    half_width: float | None = None,
    control: str | None = None,
    **options: Any,
) -> Timing:
    """Do the next passes of a plan: `passes` in all for each model, or until the interval of mCE is narrow enough.

    With the control "clean", the clean cell is done first, whole. Options about how to run are those of `run_plan`.
    """
    sampling, how = Sampling(plan, control), {**plan.how, **options}
    total, least = len(sampling.order), LEAST_ROUNDS * len(plan.cells)
    if plan.lock is not None:
        raise ValueError("a lock is about all images in all cells; a sample cannot be held against it")
    if plan.is_sequence:
        raise ValueError("a sample is taken of single corruptions; sequences are evaluated whole")
    if passes is not None and passes < 2 * len(plan.cells):
        raise ValueError(
            f"a sample needs two images of each of the {len(plan.cells)} cells, and {passes} passes are fewer"
        )
    if control == CLEAN and Cell(CLEAN) not in plan.cells:
        raise ValueError("there are no clean images to control the sample with; say where they are, with clean")
    for model in plan.classifiers:
        if control != CLEAN:
            read_control(control, plan.store, model, plan.settings)  # one that cannot be read is refused now
        if any(name.startswith(f"{FOLDER}/{model}-") for name in plan.store.names(FOLDER, ".parquet")):
            check_settings(plan.store, f"models/{model}.json", plan.about(model), ("environment", "address"))
    started, timing = time.perf_counter(), Timing()
    with Run(how.pop("engine"), plan.store, how.pop("progress"), "evaluate") as run:
        device = run.engine.find_device(how.pop("device"))
        how["compile"] = False  # a sample is short
        work, needs = SampleRunner(plan, device, **how), needs_of(device, cpus=None)
        plan.save(environment(device))
        save_settings(plan.store, NOTE, {"control": control})
        if control == CLEAN:
            timing += _run_clean(run, plan, Runner(plan, device, **how), needs)
        goals = {model: min(total, passes or max(least, sampling.done(model))) for model in plan.classifiers}
        while goals:
            tasks = _tasks(sampling, goals)
            for _, of_task in run.cells("test", work, tasks, needs=needs, size=lambda steps: steps.stop - steps.start):
                timing += of_task
            if half_width is None or run.failures:
                break
            widths = {model: sampling.scores(model)["mce"] for model in goals}
            reached = {model: (score.high - score.low) / 2 for model, score in widths.items()}
            goals = {m: goal for m, n in goals.items() if (goal := next_goal(n, reached[m], half_width, total)) > n}
    return replace(timing, seconds=time.perf_counter() - started)


def _run_clean(run: Run, plan: Plan, work: Runner, needs: Needs) -> Timing:
    """The clean cell of all models that lack it."""
    tasks, timing = split_tasks(plan, {Cell(CLEAN): plan.lacking(Cell(CLEAN), plan.classifiers)}), Timing()
    for _, of_task in run.cells("clean", work, tasks, needs=needs, size=lambda task: len(task.models)):
        timing += of_task
    return timing


def next_goal(done: int, width: float, target: float, total: int) -> int:
    """How many steps to look at next: as many as the width so far says are needed, not too many at once.

    The width hardly depends on the value that is estimated, so that stopping by it leaves the interval valid.
    """
    if width <= target:
        return done
    return min(total, int(np.clip(1.05 * done * (width / target) ** 2, 1.1 * done, 2 * done)) + 1)


def _tasks(sampling: Sampling, goals: Mapping[str, int]) -> list[Steps]:
    """What lies between what is done and the goals; models at the same steps see the same corrupted images."""
    models_of: dict[tuple[int, int], list[str]] = {}
    for model, goal in goals.items():
        for start in range(sampling.done(model), goal, MOST_STEPS):
            models_of.setdefault((start, min(goal, start + MOST_STEPS)), []).append(model)
    return [Steps(*steps, tuple(models)) for steps, models in models_of.items()]
