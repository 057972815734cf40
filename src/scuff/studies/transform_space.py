"""How near augmentation schemes come to corruptions, in the features of a network.

Every corruption at every severity becomes a point: the mean of its features (`scuff.studies.features`). Every scheme
is a cloud, of which only the distances to those points are kept while it passes by: a hundred thousand augmentations
never lie in memory at once. An entry's centres, and a scheme's distances, are files of their own.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from scuff.augment import Scheme
from scuff.data import Source
from scuff.evaluation.runner import Progress
from scuff.metrics.transform_space import Distances, read_distances
from scuff.store import Store, read_settings, save_settings
from scuff.studies.cells import run_trainings
from scuff.studies.features import Encoder, check_finite, open_encoder, resampling_seed, scheme_transform
from scuff.studies.transform_space_plan import (
    AUGMENTATIONS,
    IMAGES,
    SAMPLES,
    SETTINGS,
    DistancePlan,
    Schemes,
    centre_file,
    plan_distances,
    scheme_file,
)
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
        A folder on this machine. What is there is not computed again.
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
    )
    return run_distances(plan, progress=progress)


def run_distances(plan: DistancePlan, *, progress: Progress | None = None) -> Distances:
    """Carry out what `plan_distances` has planned: what is missing, and the table of all of it."""
    progress = progress or (lambda what, done, total: None)
    store = Store(plan.out)
    save_settings(store, SETTINGS, plan.settings)
    train_extractor(plan, progress)
    done, total, started = 0, plan.encodings(), time.perf_counter()

    def advance(what: str, images: int) -> None:
        nonlocal done
        done += images
        progress(what, done, total)

    for resampling in range(plan.settings["resamplings"]):
        missing = plan.missing_schemes(resampling)
        if not missing and not plan.missing_centres(resampling):
            continue
        encoder, seed = open_plan_encoder(plan, resampling), resampling_seed(plan.settings["seed"], resampling)
        centres = measure_centres(plan, encoder, resampling, advance)
        for name in missing:
            found = measure_scheme(encoder, plan.schemes[name], centres, plan.draws(name), seed, partial(advance, name))
            save_arrays(store, scheme_file(resampling, name), **found)
    if done:
        speed = round(done / (time.perf_counter() - started))
        save_settings(store, SETTINGS, {**plan.settings, "images_per_second": speed})
    return collect(store)


def train_extractor(plan: DistancePlan, progress: Progress) -> None:
    """Train the network whose features count, if it is ours to train and not there yet."""
    if plan.training is not None and not plan.training.out.exists():
        run_trainings([plan.training], plan.device, 1, progress, 0, plan.training.images)


def open_plan_encoder(plan: DistancePlan, resampling: int) -> Encoder:
    """The network and the images of one resampling."""
    return open_encoder(
        plan.extractor,
        plan.data,
        images=plan.settings["images"],
        seed=resampling_seed(plan.settings["seed"], resampling),
        precision=plan.settings["precision"],
        compile=plan.device.type == "cuda",
        device=plan.device,
    )


def measure_centres(
    plan: DistancePlan, encoder: Encoder, resampling: int, advance: Callable[[str, int], None]
) -> Tensor:
    """The centres of all cells, (K, D); those of an entry are kept in a file as soon as they are there.

    `advance` is called with an entry and the images that have gone through the network for it.
    """
    store, settings = Store(plan.out), plan.settings
    seed, per_centre = resampling_seed(settings["seed"], resampling), plan.images_per_centre
    for entry in plan.missing_centres(resampling):
        levels = plan.levels[entry]
        found = encoder.centres(plan.suite, entry, levels, settings["samples"], settings["sampling"], seed)
        save_arrays(store, centre_file(resampling, entry), centres=found.cpu().numpy())
        advance(entry, len(levels) * per_centre)
    kept = [load_arrays(store, centre_file(resampling, entry), ["centres"])["centres"] for entry in plan.levels]
    return torch.from_numpy(np.concatenate(kept)).to(plan.device)


def measure_scheme(
    encoder: Encoder,
    scheme: Scheme,
    centres: Tensor,
    draws: int,
    seed: int = 0,
    advance: Callable[[int], None] | None = None,
) -> dict[str, np.ndarray]:
    """MSD and MMD of a scheme to centres (K, D), each (K,). Of the draws nothing is kept.

    `advance` is called with the number of images that have gone through the network since its last call.
    """
    nearest = torch.full((len(centres),), torch.inf, device=centres.device)
    total = torch.zeros(centres.shape[1], dtype=torch.float64, device=centres.device)
    for piece in encoder.features(scheme_transform(scheme, seed), draws):
        nearest = torch.minimum(nearest, distances_between(piece, centres).amin(0))
        total += piece.sum(0)
        if advance is not None:
            advance(len(piece) * len(encoder.images))
    check_finite(total, "a scheme's augmentations")
    mmd = torch.linalg.vector_norm(total / draws - centres, dim=1)
    return {"msd": nearest.double().cpu().numpy(), "mmd": mmd.double().cpu().numpy()}


def distances_between(features: Tensor, centres: Tensor) -> Tensor:
    """All distances of features (n, D) to centres (K, D): (n, K)."""
    # Differences before squares: a product of matrices loses what is near to rounding.
    return torch.cdist(features, centres, compute_mode="donot_use_mm_for_euclid_dist")


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


def save_arrays(store: Store, name: str, **arrays: np.ndarray) -> None:
    """Write arrays as one .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    store.write(name, file.getvalue())


def load_arrays(store: Store, name: str, keys: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays of an .npz file."""
    try:
        with np.load(io.BytesIO(store.read(name)), allow_pickle=False) as file:
            return {key: file[key] for key in keys}
    except (BadZipFile, ValueError, KeyError, EOFError) as error:
        raise ValueError(f"{store.root}/{name} is damaged ({error}); delete it and run the same again") from error
