"""Does nearness in feature space explain robustness? Distances of schemes beside errors of networks trained with them.

For every scheme: its MSD to every corruption (`scuff.studies.distances`), and the errors on that corruption of a
network trained with it. If schemes that come nearer make fewer errors, the two correlate over schemes:
`scuff.metrics.scheme_correlations`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch

from scuff.data import Source
from scuff.evaluation.runner import Progress
from scuff.metrics.transform_space import scheme_correlations
from scuff.store import Store, check_settings, save_settings
from scuff.studies.sources import choose_seeds
from scuff.studies.transform_space import run_distances
from scuff.studies.transform_space_plan import (
    AUGMENTATIONS,
    IMAGES,
    SAMPLES,
    DistancePlan,
    Schemes,
    plan_distances,
)
from scuff.studies.trials import Trials, join_tables, plan_trials, run_trials
from scuff.suites import Suite
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import adapt
from scuff.training.treatment import Augmented

TRIALS = "trials.json"
ERRORS = "errors.csv"
CORRELATIONS = {"msd": "correlations.csv", "mmd": "correlations-mmd.csv"}
NOTED_ONLY = ("test", "seeds", "scuff")  # data may move, and seeds may join


@dataclass(frozen=True)
class CorrelationPlan:
    """Distances and trials that are ready to run."""

    distances: DistancePlan
    trials: Trials


def correlation(
    schemes: Schemes,
    suite: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: str | Recipe,
    extractor: Any = None,
    architecture: str | None = None,
    epochs: int | None = None,
    seeds: int | Sequence[int] = 1,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    test: str | Source | None = None,
    limit: int | None = None,
    images: int = IMAGES,
    samples: int = SAMPLES,
    augmentations: int = AUGMENTATIONS,
    sampling: str = "independent",
    resamplings: int = 1,
    seed: int = 0,
    precision: str | None = None,
    device: str | torch.device | None = None,
    processes: int | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Spearman's correlation over schemes of MSD and error, one line per corruption.

    Parameters
    ----------
    schemes, suite, data, out, extractor, images, samples, augmentations, sampling, resamplings, seed, precision
        As in `scuff.studies.distances`, into the same kind of folder. At least five schemes, better dozens: the
        augmentation powerset, `"powerset-64"`, is made for this.
    recipe, architecture, epochs, seeds
        How networks are trained, one per scheme and seed; without an `extractor`, also the one that features are of.
    test, limit
        Test images where they are not the other split of the data, and how many of them.
    """
    plan = plan_correlation(
        schemes,
        suite,
        data,
        out,
        recipe=recipe,
        extractor=extractor,
        architecture=architecture,
        epochs=epochs,
        seeds=seeds,
        only=only,
        severities=severities,
        test=test,
        limit=limit,
        images=images,
        samples=samples,
        augmentations=augmentations,
        sampling=sampling,
        resamplings=resamplings,
        seed=seed,
        precision=precision,
        device=device,
    )
    return run_correlation(plan, processes=processes, progress=progress)


def plan_correlation(
    schemes: Schemes,
    suite: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: str | Recipe,
    extractor: Any = None,
    architecture: str | None = None,
    epochs: int | None = None,
    seeds: int | Sequence[int] = 1,
    test: str | Source | None = None,
    limit: int | None = None,
    **options: Any,
) -> CorrelationPlan:
    """Plan a study without computing anything; the arguments are those of `correlation`."""
    distances = plan_distances(
        schemes,
        suite,
        data,
        out,
        extractor=extractor,
        recipe=recipe,
        architecture=architecture,
        epochs=epochs,
        **options,
    )
    trials = plan_trials(
        {name: Augmented(scheme) for name, scheme in distances.schemes.items()},
        distances.suite,
        data,
        out,
        recipe=adapt(find_recipe(recipe), architecture, epochs, False),
        seeds=choose_seeds(seeds),
        only=options.get("only"),
        severities=options.get("severities"),
        test=test,
        limit=limit,
        device=distances.device,
    )
    check_settings(Store(out), TRIALS, trials.settings(), NOTED_ONLY)
    return CorrelationPlan(distances, trials)


def run_correlation(
    plan: CorrelationPlan, *, processes: int | None = None, progress: Progress | None = None
) -> pd.DataFrame:
    """Carry out what `plan_correlation` has planned, and write errors and correlations beside the distances.

    Schemes and seeds that the folder holds from before count as well.
    """
    progress = progress or (lambda what, done, total: None)
    distances = run_distances(plan.distances, progress=progress)
    store = Store(plan.trials.out)
    errors = run_trials(plan.trials, processes=processes, progress=progress)
    errors = join_tables(store, ERRORS, errors, ["scheme", "seed"])
    save_settings(store, TRIALS, {**plan.trials.settings(), "seeds": sorted(int(seed) for seed in set(errors["seed"]))})
    store.write(ERRORS, errors.to_csv(index=False).encode())
    trained = set(errors["scheme"])  # the folder may hold distances of others
    distances = distances.take([name for name in distances.schemes if name in trained])
    found = {kind: scheme_correlations(distances, errors, distance=kind) for kind in CORRELATIONS}
    for kind, name in CORRELATIONS.items():
        store.write(name, found[kind].to_csv(index=False).encode())
    return found["msd"]
