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
from scuff.engine import Engine, Progress, Run
from scuff.evaluation.plan import Plan
from scuff.metrics.transform_space.nearness import scheme_correlations
from scuff.store import check_settings, save_settings
from scuff.studies.sources import choose_seeds
from scuff.studies.trainings import run_trainings
from scuff.studies.transform_space.distances import begin_distances, collect, measure_distances
from scuff.studies.transform_space.plan import (
    AUGMENTATIONS,
    IMAGES,
    SAMPLES,
    DistancePlan,
    Schemes,
    plan_distances,
)
from scuff.studies.transform_space.trials import (
    Trials,
    evaluate_trials,
    expect_trials,
    join_tables,
    plan_trials,
    read_errors,
)
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
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Spearman's correlation over schemes of MSD and error, one line per corruption.

    Parameters
    ----------
    schemes, suite, data, out, extractor, images, samples, augmentations, sampling, resamplings, seed, precision, engine
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
        engine=engine,
    )
    return run_correlation(plan, progress=progress)


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
    check_settings(trials.store, TRIALS, trials.settings(), NOTED_ONLY)
    return CorrelationPlan(distances, trials)


def run_correlation(plan: CorrelationPlan, *, progress: Progress | None = None) -> pd.DataFrame:
    """Carry out what `plan_correlation` has planned, and write errors and correlations beside the distances.

    Schemes and seeds that the folder holds from before count as well.
    """
    with Run(plan.distances.engine, plan.distances.store, progress, "correlation") as run:
        evaluation = measure_and_test(run, plan)
    store, distances = plan.trials.store, collect(plan.distances.store)
    errors = read_errors(plan.trials, evaluation)
    errors = join_tables(store, ERRORS, errors, ["scheme", "seed"])
    save_settings(store, TRIALS, {**plan.trials.settings(), "seeds": sorted(int(seed) for seed in set(errors["seed"]))})
    store.write(ERRORS, errors.to_csv(index=False).encode())
    trained = set(errors["scheme"])  # the folder may hold distances of others
    distances = distances.take([name for name in distances.schemes if name in trained])
    found = {kind: scheme_correlations(distances, errors, distance=kind) for kind in CORRELATIONS}
    for kind, name in CORRELATIONS.items():
        store.write(name, found[kind].to_csv(index=False).encode())
    return found["msd"]


def measure_and_test(run: Run, plan: CorrelationPlan) -> Plan | None:
    """Train all networks, that of the features among them, measure distances, test; the plan of the tests is returned.

    A cell that fails does not keep those from being done that do not need it.
    """
    distances, trials = plan.distances, plan.trials
    missing = trials.missing()
    begin_distances(run, distances, len(trials.cells), len(trials.cells) - len(missing))
    expect_trials(run, len(trials.cells), distances.levels)
    first = [] if distances.is_trained() else [distances.training]
    run_trainings(run, [*first, *missing], distances.device)
    if distances.is_trained():
        measure_distances(run, distances)
    return evaluate_trials(run, trials)
