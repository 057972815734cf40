"""Minimal separation corruption robustness: Algorithm 1 of the paper on class separation, for any classifier.

Half the smallest distance between points of different classes is epsilon_min: within balls of that radius a classifier
can be right about everything. Every model is trained, in several runs, on points that are moved at random within balls
of several radii, and tested on test points as they are and moved by several radii, epsilon_min among them. How much
accuracy it loses there is its MSCR (`scuff.metrics.mscr_scores`). A model, a radius of training and a run are a cell,
with a file of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from scuff.data import Points
from scuff.engine import Engine, Progress, Run, needs_of
from scuff.metrics.separation.robust_accuracies import RobustAccuracies
from scuff.store import save_settings
from scuff.studies.separation.cells import MscrCell, forget, run_cell
from scuff.studies.separation.plan import COPIES, TEST_SHARE, MscrPlan, Noise, plan_mscr
from scuff.studies.separation.results import SETTINGS, collect


def mscr(
    models: Any,
    data: str | os.PathLike[str] | Points | tuple,
    out: str | os.PathLike[str],
    *,
    train_noise: Noise = None,
    test_noise: Noise = None,
    copies: int | Sequence[int] = COPIES,
    runs: int | Sequence[int] | None = None,
    norm: float | str = "inf",
    epsilon_min: float | None = None,
    quantile: float = 0.0,
    bounds: str | None = None,
    offsets: str = "independent",
    keep_originals: bool = False,
    test_share: float = TEST_SHARE,
    label: str | None = None,
    scale: str | None = None,
    resize: int | None = None,
    crop: int | None = None,
    drop_duplicates: bool = False,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> RobustAccuracies:
    """Train, test, and return accuracies by model, training noise, test noise and run.

    `scuff.metrics.mscr_scores` makes robustness of them, `scuff.metrics.accuracy_table` the matrices of the paper.

    Parameters
    ----------
    models
        One or several: `"random-forest"` (100 trees), `"1-nn"`, any scikit-learn estimator or its address as in
        `"sklearn.svm:SVC"`, a `Recipe` or `"recipe:cifar-fast"` for networks, or models that are trained already,
        whatever `scuff.open_model` opens. A mapping gives them names.
    data, label, scale, resize, crop
        As in `scuff.data.open_points`: a CSV or npz file, the address of a source, arrays. Data that come with a test
        split keep it in all runs; of others, every run tests on `test_share` of the points, drawn anew.
    out
        A folder, on this machine or anywhere that fsspec reaches. What is there is not computed again; models and runs
        can join later.
    train_noise, test_noise
        Radii of the balls, as 0.01, or as multiples of epsilon_min, as "0.5x". Clean points and epsilon_min are always
        tested. With noise, only noisy points are trained on and tested.
    copies
        k, the noisy points that are drawn of every point; several to see their effect. Networks are trained on a fresh
        one in every epoch, so that it counts for tests only.
    runs
        How many, or their seeds: by default 10, and 1 for models that are trained already.
    norm, bounds
        Of the balls, and of the separation. `bounds` is what happens at the ends of [0, 1]: "truncate" (no point beyond
        is drawn; L-infinity only), "clip" or "none"; by default, as in the paper, "truncate" for images and "none" for
        vectors.
    epsilon_min, quantile, drop_duplicates
        The radius, if it is known; else it is half the separation of the data, or half the `quantile` of all distances
        to the nearest point of another class, which a few wrong labels do not spoil. Points that have the labels of two
        classes are an error, or dropped from the separation.
    offsets
        "independent": every point draws its own noise, and test points other noise than training points. "shared": all
        points of a run are moved by the same k offsets, as in the paper's code for data in two dimensions; for
        estimators.
    keep_originals
        Train on the points themselves, too; for estimators.
    device, engine
        By default the GPU if there is one, for networks and for the separation; and this machine, on which estimators
        are fitted in as many processes as there are processors: see `scuff.engine`.
    progress
        Called with (what is being done, done, to do).
    """
    plan = plan_mscr(
        models,
        data,
        out,
        train_noise=train_noise,
        test_noise=test_noise,
        copies=copies,
        runs=runs,
        norm=norm,
        epsilon_min=epsilon_min,
        quantile=quantile,
        bounds=bounds,
        offsets=offsets,
        keep_originals=keep_originals,
        test_share=test_share,
        label=label,
        scale=scale,
        resize=resize,
        crop=crop,
        drop_duplicates=drop_duplicates,
        device=device,
        engine=engine,
        progress=progress,
    )
    return run_mscr(plan, progress=progress)


def run_mscr(plan: MscrPlan, *, progress: Progress | None = None) -> RobustAccuracies:
    """Carry out what `plan_mscr` has planned: the cells that are missing, and the table of them all."""
    save_settings(plan.store, SETTINGS, plan.settings)
    missing = plan.missing()
    with Run(plan.engine, plan.store, progress, "mscr") as run:
        run.expect("fit", len(plan.cells), len(plan.cells) - len(missing))
        for on_gpu in (False, True):
            cells = [cell for cell in missing if plan.protocol.uses_gpu(cell) == on_gpu]
            needs = needs_of(torch.device(plan.protocol.device if on_gpu else "cpu"))
            done = run.cells("fit", partial(run_cell, plan.protocol), cells, needs=needs, name=_describe)
            try:
                with contextlib.closing(done):
                    for _ in done:
                        pass
            finally:
                forget()
    return collect(plan.store, plan.settings)


def _describe(cell: MscrCell) -> str:
    return f"{cell.model} {cell.train_noise:.3g} run {cell.run}"
