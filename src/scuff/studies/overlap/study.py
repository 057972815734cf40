"""How far corruptions overlap: one model per corruption, every model on every corruption.

The six steps of the paper on non-overlapping corruptions. (1, 2) A standard model is trained on clean images, and for
every corruption one whose training images are half corrupted; (3, 4) all of them are tested on clean images and on
every corruption; (5, 6) robustness and overlapping scores follow from the accuracies, and are computed by
`scuff.metrics.overlaps`. Every model, and every model on every corruption, is a cell with a file of its own.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import torch

from scuff.data import Source
from scuff.engine import Engine, Failure, Progress, Run
from scuff.evaluation.run import expect_tests, run_tests
from scuff.evaluation.tasks import MODELS
from scuff.metrics.overlap.scores import Overlaps, overlaps
from scuff.store import find_file, save_settings
from scuff.studies.cells import find_trained
from scuff.studies.overlap.plan import OverlapPlan, plan_overlap
from scuff.studies.overlap.results import SETTINGS, collect, read_overlap
from scuff.studies.trainings import run_trainings
from scuff.suites import Suite
from scuff.training.recipes import Recipe


def overlap(
    suites: str | Suite | Sequence[str | Suite],
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: str | Recipe,
    only: Sequence[str] | None = None,
    together: Sequence[str] = (),
    seeds: int | Sequence[int] = 1,
    test: str | Source | None = None,
    classes: str | None = None,
    limit: int | None = None,
    architecture: str | None = None,
    epochs: int | None = None,
    fine_tune: int | None = None,
    standard_from: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Overlaps:
    """Train, test, and return the matrix of overlapping scores.

    The accuracies behind it, for coverage and balance, are given by `read_overlap(out)`.

    Parameters
    ----------
    suites, only
        One suite or several, whose entries are compared, and which of them: `"rain"`, or `"noc-candidates/rain"` where
        two suites have one of that name. Every image draws its severity.
    data, test, classes, limit
        Training images, and test images where they are not the other split of the same address. `classes`
        ="imagenet-100" takes every tenth class of ImageNet. `limit` test images, evenly spread.
    out
        A folder, on this machine or anywhere that fsspec reaches. What is there is not computed again; further seeds
        can join later.
    recipe, architecture, epochs
        As in `scuff.training.run`.
    together
        Suites with which one further model each is trained, on all corruptions at once: the direct test of coverage.
    seeds
        How many trainings of everything, or their seeds. Intervals need at least two, better three; with one, they
        leave out the randomness of training.
    fine_tune, standard_from
        Do not train the models of corruptions from scratch, but for so many epochs from the standard model;
        `standard_from` names a study whose standard models are taken.
    device, engine
        By default the GPU if there is one, and this machine, with as many processes as fit: see `scuff.engine`.
    progress
        Called with (what is being done, images done, images to do).
    """
    plan = plan_overlap(
        suites,
        data,
        out,
        recipe=recipe,
        only=only,
        together=together,
        seeds=seeds,
        test=test,
        classes=classes,
        limit=limit,
        architecture=architecture,
        epochs=epochs,
        fine_tune=fine_tune,
        standard_from=standard_from,
        device=device,
        engine=engine,
    )
    run_overlap(plan, progress=progress)
    return overlaps(read_overlap(out))


def run_overlap(plan: OverlapPlan, *, progress: Progress | None = None) -> None:
    """Carry out what `plan_overlap` has planned: train what is missing, test what is missing, write the tables.

    A model that cannot be trained does not keep the others from being trained and tested; but there are no tables
    before all are.
    """
    save_settings(plan.store, SETTINGS, plan.settings)
    for ours, theirs in plan.borrowed.items():
        if not plan.store.exists(ours):
            folder, name = find_file(theirs)
            plan.store.write(ours, folder.read(name))
    with Run(plan.engine, plan.store, progress, "overlap") as run:
        _train(run, plan)
        compile = plan.settings["recipe"]["compile"]
        evaluation = plan.evaluation()
        expect_tests(run, evaluation)
        run_tests(run, evaluation, plan.device, compile=compile)
        if not run.failures:
            run.progress("collecting", 0, 1)
            collect(plan.store, evaluation, plan.cells, plan.tested_on)
            run.progress("collecting", 1, 1)


def _train(run: Run, plan: OverlapPlan) -> None:
    """First the models that others begin from, then the others."""
    missing = plan.missing()
    run.expect("train", len(plan.cells), len(plan.cells) - len(missing))
    run.expect("test", math.ceil(len(plan.cells) / MODELS) * (1 + len(plan.tested_on)))
    starts = {cell.start for cell in missing}
    run_trainings(run, [cell for cell in missing if cell.out in starts], plan.device)
    there = {None, *find_trained(plan.store)}  # one that could not be trained takes those with it that begin from it
    rest = [cell for cell in missing if cell.out not in starts]
    run_trainings(run, [cell for cell in rest if cell.start in there], plan.device)
    reason = "the model that it begins from could not be trained"
    run.failures += [Failure("train", cell.name, reason, 0, "") for cell in rest if cell.start not in there]
