"""How near augmentation schemes come to corruptions, in the features of a network.

Every corruption at every severity becomes a point: the mean of its features (`scuff.studies.features`). Every scheme
is a cloud, of which only the distances to those points are kept while it passes by: a hundred thousand augmentations
never lie in memory at once. An entry's centres, and a scheme's distances, are files of their own.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from scuff.data import Source
from scuff.engine import Engine, Progress, Run
from scuff.metrics.transform_space.nearness import Distances, read_distances
from scuff.store import Store, read_settings, save_settings
from scuff.studies.trainings import run_trainings
from scuff.studies.transform_space.array_files import load_arrays
from scuff.studies.transform_space.encoders import Centres, Encoders, encoder_needs, measure_centres
from scuff.studies.transform_space.plan import (
    AUGMENTATIONS,
    IMAGES,
    SAMPLES,
    SETTINGS,
    DistancePlan,
    Schemes,
    plan_distances,
    scheme_file,
)
from scuff.studies.transform_space.schemes import SchemeCell, SchemeDistances
from scuff.suites import Suite
from scuff.training.recipes import Recipe

DISTANCES = "distances.csv"


def distances(
    schemes: Schemes,
    suite: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    extractor: Any = None,
    recipe: str | Recipe | None = None,
    architecture: str | None = None,
    epochs: int | None = None,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    images: int = IMAGES,
    samples: int = SAMPLES,
    augmentations: int = AUGMENTATIONS,
    sampling: str = "independent",
    resamplings: int = 1,
    seed: int = 0,
    precision: str | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Distances:
    """Measure MMD and MSD of schemes to the cells of a suite.

    Parameters
    ----------
    schemes
        `"augmix"`, `"autoaugment"`, `"powerset-64"`, ... or several (see `scuff.augment`), or a mapping from names to
        schemes of your own. Schemes can join a folder later.
    suite, only, severities
        The corruptions, as in `scuff.evaluate`.
    data
        The training images: an address as in `"cifar10:DIR"`, or a Source.
    out
        A folder, on this machine or anywhere that fsspec reaches. What is there is not computed again.
    extractor, recipe, architecture, epochs
        The network whose last hidden layer counts: any torch model, trained on such images; or the recipe by which one
        is trained first, without augmentation.
    images
        How many images transforms are shown by; they are drawn once, without replacement.
    samples, sampling
        How many draws of a corruption make its centre, each shared by all images; "joint" lets every image have its own
        draw instead, as the paper does with 10 000 images of ImageNet.
    augmentations
        How many draws of every scheme. MSD, a minimum, falls with their number: compare like with like.
    resamplings
        How often all of it is done, with fresh images and fresh draws, to know how far distances can be told.
    precision
        By default "bfloat16" on a GPU and "float32" on a CPU.
    device, engine
        By default the GPU if there is one, and this machine: see `scuff.engine`.
    progress
        Called with (what is being done, images done, images to do).
    """
    plan = plan_distances(
        schemes,
        suite,
        data,
        out,
        extractor=extractor,
        recipe=recipe,
        architecture=architecture,
        epochs=epochs,
        only=only,
        severities=severities,
        images=images,
        samples=samples,
        augmentations=augmentations,
        sampling=sampling,
        resamplings=resamplings,
        seed=seed,
        precision=precision,
        device=device,
        engine=engine,
    )
    return run_distances(plan, progress=progress)


def run_distances(plan: DistancePlan, *, progress: Progress | None = None) -> Distances:
    """Carry out what `plan_distances` has planned: what is missing, and the table of all of it."""
    with Run(plan.engine, plan.store, progress, "distances") as run:
        begin_distances(run, plan)
        train_extractor(run, plan)
        measure_distances(run, plan)
    return collect(plan.store)


def begin_distances(run: Run, plan: DistancePlan, networks: int = 0, trained: int = 0) -> None:
    """Write the settings, and tell a run what is to come.

    That may be more than distances: `networks` to train beside that of the features, of which some are `trained`.
    """
    save_settings(plan.store, SETTINGS, plan.settings)
    own = 0 if plan.training is None else 1
    missing, resamplings = (plan.missing_centres(), plan.missing_schemes()), len(plan.resamplings)
    run.expect("train", networks + own, trained + (own if plan.is_trained() else 0))
    for kind, total, left in zip(("centres", "scheme"), (plan.levels, plan.schemes), missing, strict=True):
        run.expect(kind, resamplings * len(total), resamplings * len(total) - len(left))


def train_extractor(run: Run, plan: DistancePlan) -> None:
    """Train the network whose features count, if it is ours to train and not there yet."""
    if not plan.is_trained():
        run_trainings(run, [plan.training], plan.device)


def measure_distances(run: Run, plan: DistancePlan) -> None:
    """Measure what is missing, with the network of the features, which is there: centres, then schemes.

    A resampling of which a centre could not be measured has no distances.
    """
    started, encoders = time.perf_counter(), plan.encoders()
    done = measure_plan_centres(run, plan, encoders)
    lacking = {cell.resampling for cell in plan.missing_centres()}
    done += _measure_schemes(
        run, plan, encoders, [cell for cell in plan.missing_schemes() if cell.resampling not in lacking]
    )
    if done:
        speed = round(done / (time.perf_counter() - started))
        save_settings(plan.store, SETTINGS, {**plan.settings, "images_per_second": speed})


def measure_plan_centres(run: Run, plan: DistancePlan, encoders: Encoders) -> int:
    """Measure the centres that are missing; how many images that took is returned."""
    settings, suites = plan.settings, {plan.suite.name: plan.suite}
    work = Centres(plan.store, encoders, suites, settings["samples"], settings["sampling"])
    return measure_centres(run, work, plan.missing_centres(), plan.images_per_centre)


def _measure_schemes(run: Run, plan: DistancePlan, encoders: Encoders, cells: Sequence[SchemeCell]) -> int:
    draws = {name: plan.draws(name) for name in plan.schemes}
    centre_files = [plan.centre_files(resampling) for resampling in plan.resamplings]
    work = SchemeDistances(plan.store, encoders, centre_files, plan.schemes, draws)

    def images(cell: SchemeCell) -> int:
        return draws[cell.name] * plan.settings["images"]

    done = run.cells("scheme", work, cells, needs=encoder_needs(plan.device), size=images)
    with contextlib.closing(done):
        return sum(images(cell) for cell, _ in done)


# --- results --------------------------------------------------------------------------------------------------------


def collect(store: Store) -> Distances:
    """Gather the files of all schemes that are finished into one table, and write it."""
    settings = read_settings(store, SETTINGS)
    cells = [
        (f"{settings['suite']['suite']}/{entry}", level) for entry, its in settings["levels"].items() for level in its
    ]
    resamplings = range(settings["resamplings"])
    names = [
        name
        for name in settings["schemes"]
        if all(store.exists(scheme_file(resampling, name)) for resampling in resamplings)
    ]
    kinds = ("msd", "mmd")
    found = [[load_arrays(store, scheme_file(r, name), kinds) for name in names] for r in resamplings]
    msd, mmd = (np.array([[one[kind] for one in line] for line in found]) for kind in kinds)
    table = Distances(tuple(names), tuple(cells), msd, mmd)
    store.write(DISTANCES, table.to_frame().to_csv(index=False).encode())
    return table


def read_distance_study(directory: str | os.PathLike[str]) -> Distances:
    """The distances of a study, as far as it is finished."""
    store = Store(directory)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of a study of distances: there is no {SETTINGS} in it")
    if not store.exists(DISTANCES):
        raise ValueError(f"the study in {store.root} is not finished; run the same command again to go on")
    return read_distances(io.BytesIO(store.read(DISTANCES)))
