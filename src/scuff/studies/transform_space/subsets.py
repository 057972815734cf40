"""Is it the nearest augmentations that help? Networks trained with few augmentations, chosen by their distance.

Many augmentations of a scheme are drawn once, and ordered: first those that come closest to some corruption of a
suite. Then networks are trained with the first k of them, the last k, or k at random, every image drawing one of the k
anew. If nearness matters, few close ones do as well as the whole scheme, and few far ones do not. This is the
experiment of appendix B of Mintun, Kirillov and Xie.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from scuff.augment import Scheme
from scuff.data import Source
from scuff.engine import Engine, Progress, Run
from scuff.evaluation.plan import Plan
from scuff.kernels.constants import constant
from scuff.metrics.overlap.accuracies import CLEAN
from scuff.random import integers
from scuff.store import check_settings, save_settings
from scuff.studies.sources import choose_seeds, open_test_source
from scuff.studies.trainings import run_trainings
from scuff.studies.transform_space.array_files import load_arrays
from scuff.studies.transform_space.distances import measure_plan_centres, train_extractor
from scuff.studies.transform_space.encoders import encoder_needs
from scuff.studies.transform_space.plan import IMAGES, SAMPLES, DistancePlan, is_constant, plan_distances
from scuff.studies.transform_space.plan import SETTINGS as DISTANCES
from scuff.studies.transform_space.schemes import DrawOrder
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
from scuff.training.treatment import Augmented, Treatment

SETTINGS, SUBSETS, ORDER = "subsets.json", "subsets.csv", "order.npz"
KINDS = ("closest", "random", "farthest")
ALL = "all"
NOTED_ONLY = (  # data may move; sizes, kinds and seeds may join
    "data", "extractor_address", "test", "sizes", "kinds", "seeds", "environment", "device", "scuff",
)  # fmt: skip
SIZES = (1, 3, 10, 30, 100, 300, 1000)
DRAWS = 100_000


@dataclass(frozen=True)
class FewDraws(Scheme):
    """A scheme of which only some draws are ever used; every image draws one of them anew."""

    scheme: Scheme
    draws: tuple[int, ...] = field(repr=False)
    seed: int = 0  # with which the draws of the scheme are numbered

    kind: ClassVar[str] = "few-draws"

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        chosen = integers(self.keys(ids, seed), "draw", low=0, high=len(self.draws) - 1).long()
        return self.scheme(images, constant(self.draws, ids.device, torch.int64)[chosen], self.seed)

    def settings(self) -> dict[str, Any]:
        """The scheme, and a hash of the draws."""
        digest = hashlib.blake2b(np.array(self.draws, np.int64).tobytes(), digest_size=8).hexdigest()
        return {"scheme": self.kind, "of": self.scheme.settings(), "draws": digest, "seed": self.seed}


@dataclass(frozen=True)
class SubsetPlan:
    """An experiment that is ready to run. Which augmentations are the closest is known only when it does."""

    distances: DistancePlan
    settings: dict[str, Any]
    recipe: Recipe
    test: str | Source | None

    @property
    def scheme(self) -> Scheme:
        """Whose augmentations are chosen from."""
        return next(iter(self.distances.schemes.values()))

    def encodings(self) -> int:
        """Images that will go through the network of the features: none if the order is known."""
        return 0 if self.distances.store.exists(ORDER) else self.distances.encodings()

    def trainings(self) -> int:
        """How many networks there will be in all."""
        settings = self.settings
        return len(settings["seeds"]) * (1 + len(settings["kinds"]) * len(settings["sizes"]))


def subsets(
    scheme: str | dict[str, Scheme],
    suite: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: str | Recipe,
    extractor: Any = None,
    architecture: str | None = None,
    epochs: int | None = None,
    sizes: Sequence[int] = SIZES,
    kinds: Sequence[str] = KINDS,
    draws: int = DRAWS,
    seeds: int | Sequence[int] = 1,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    test: str | Source | None = None,
    limit: int | None = None,
    images: int = IMAGES,
    samples: int = SAMPLES,
    seed: int = 0,
    precision: str | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Mean errors on a suite of networks trained with few augmentations: kind, size, seed, clean_error, error.

    Parameters
    ----------
    scheme
        `"augmix"` in the paper.
    sizes, kinds
        How many augmentations: the "closest", the "farthest", or "random" ones. A network trained with the whole
        scheme, of kind "all" and size 0, is for comparison.
    draws
        How many augmentations are drawn to choose from.
    seed
        Decides over images and draws, and over which subsets are the random ones: all trainings share these.
    suite, data, out, recipe, extractor, seeds, test, limit, images, samples, precision, engine
        As in `scuff.studies.correlation`.
    """
    plan = plan_subsets(
        scheme,
        suite,
        data,
        out,
        recipe=recipe,
        extractor=extractor,
        architecture=architecture,
        epochs=epochs,
        sizes=sizes,
        kinds=kinds,
        draws=draws,
        seeds=seeds,
        only=only,
        severities=severities,
        test=test,
        limit=limit,
        images=images,
        samples=samples,
        seed=seed,
        precision=precision,
        device=device,
        engine=engine,
    )
    return run_subsets(plan, progress=progress)


def plan_subsets(
    scheme: str | dict[str, Scheme],
    suite: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: str | Recipe,
    extractor: Any = None,
    architecture: str | None = None,
    epochs: int | None = None,
    sizes: Sequence[int] = SIZES,
    kinds: Sequence[str] = KINDS,
    draws: int = DRAWS,
    seeds: int | Sequence[int] = 1,
    test: str | Source | None = None,
    limit: int | None = None,
    **options: Any,
) -> SubsetPlan:
    """Plan an experiment without computing anything; the arguments are those of `subsets`."""
    distances = plan_distances(
        scheme,
        suite,
        data,
        out,
        extractor=extractor,
        recipe=recipe,
        architecture=architecture,
        epochs=epochs,
        augmentations=draws,
        resamplings=1,
        **options,
    )
    if len(distances.schemes) > 1:
        raise ValueError(f"subsets are those of one scheme, got {', '.join(distances.schemes)}")
    scheme = next(iter(distances.schemes.values()))
    if is_constant(scheme):
        raise ValueError(
            f"the augmentations of {', '.join(distances.schemes)} are all the same: nothing to choose from"
        )
    if scheme.before_crop:
        raise ValueError("the augmentations of this scheme act before flips and shifts, and cannot be replayed after")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown or not kinds:
        raise ValueError(f"kinds of subsets are {', '.join(KINDS)}, got {', '.join(map(repr, unknown)) or 'none'}")
    bad = [size for size in sizes if type(size) is not int or not 1 <= size <= draws]
    if bad or not sizes:
        raise ValueError(f"sizes must be whole numbers from 1 to the {draws} draws, got {list(sizes)}")
    recipe = adapt(find_recipe(recipe), architecture, epochs, False)
    settings = {
        **distances.settings,
        "recipe": {"name": recipe.name, **recipe.settings()},
        "sizes": sorted(set(sizes)),
        "kinds": [kind for kind in KINDS if kind in kinds],
        "seeds": choose_seeds(seeds),
        "test": test if test is None or isinstance(test, str) else test.name,
        "test_fingerprint": open_test_source(data, test, None).fingerprint(),
        "limit": limit,
    }
    check_settings(distances.store, SETTINGS, settings, NOTED_ONLY)
    return SubsetPlan(distances, settings, recipe, test)


def run_subsets(plan: SubsetPlan, *, progress: Progress | None = None) -> pd.DataFrame:
    """Carry out what `plan_subsets` has planned: order the augmentations, train, test, and write the table."""
    store = plan.distances.store
    save_settings(store, SETTINGS, plan.settings)
    save_settings(store, DISTANCES, plan.distances.settings)  # which the centres depend on
    with Run(plan.distances.engine, store, progress, "subsets") as run:
        tested = _order_and_test(run, plan)
    table = summarise(read_errors(*tested))
    table = join_tables(store, SUBSETS, table, ["kind", "size", "seed"])
    table = table.sort_values(["kind", "size", "seed"], key=_in_order, ignore_index=True)
    chosen = table[table["kind"] != ALL]
    joined = {"kinds": chosen["kind"], "sizes": chosen["size"].sort_values(), "seeds": table["seed"].sort_values()}
    joined = {key: values.drop_duplicates().tolist() for key, values in joined.items()}
    save_settings(store, SETTINGS, {**plan.settings, **joined})
    store.write(SUBSETS, table.to_csv(index=False).encode())
    return table


def _in_order(column: pd.Series) -> pd.Series:
    """Kinds in the order in which they are told; numbers as they are."""
    return column.map((ALL, *KINDS).index) if column.name == "kind" else column


def _order_and_test(run: Run, plan: SubsetPlan) -> tuple[Trials, Plan | None] | None:
    """Find the order of the draws, train and test; None if the order could not be found."""
    distances, store, networks = plan.distances, plan.distances.store, plan.trainings()
    own = 0 if distances.training is None or store.exists(ORDER) else 1
    own_there = own if distances.is_trained() else 0
    run.expect("train", networks + own, own_there)
    expect_trials(run, networks, distances.levels)
    if not store.exists(ORDER):
        run.expect("centres", len(distances.levels), len(distances.levels) - len(distances.missing_centres()))
        run.expect("order", 1)
        _find_order(run, plan)
        if run.failures:
            return None
    trials = _plan_trials(plan, load_arrays(store, ORDER, ["order"])["order"])
    missing = trials.missing()
    run.expect("train", networks + own, networks - len(missing) + own_there)
    run_trainings(run, missing, trials.device)
    return trials, evaluate_trials(run, trials)


def _find_order(run: Run, plan: SubsetPlan) -> None:
    """Order the draws of the scheme, those first that come closest to some cell of the suite, if there are centres."""
    distances = plan.distances
    train_extractor(run, distances)
    encoders = distances.encoders()
    measure_plan_centres(run, distances, encoders)
    if not run.failures:
        files, draws = distances.centre_files(0), plan.settings["augmentations"]
        work = DrawOrder(distances.store, encoders, files, plan.scheme, draws)
        done = run.cells("order", work, [ORDER], needs=encoder_needs(distances.device))
        with contextlib.closing(done):
            list(done)


def choose_draws(order: np.ndarray, kind: str, size: int, seed: int = 0) -> tuple[int, ...]:
    """`size` of the ordered draws: the first, the last, or any."""
    if kind == "random":
        chosen = np.random.default_rng(seed).choice(order, size, replace=False)
    else:
        chosen = order[:size] if kind == "closest" else order[-size:]
    return tuple(sorted(chosen.tolist()))


def _plan_trials(plan: SubsetPlan, order: np.ndarray) -> Trials:
    settings, distances = plan.settings, plan.distances
    treatments: dict[str, Treatment] = {ALL: Augmented(plan.scheme)}
    for kind in settings["kinds"]:
        for size in settings["sizes"]:
            few = FewDraws(plan.scheme, choose_draws(order, kind, size, settings["seed"]), settings["seed"])
            treatments[f"{kind}-{size}"] = Augmented(few)
    return plan_trials(
        treatments,
        distances.suite,
        distances.data,
        distances.store.root,
        recipe=plan.recipe,
        seeds=settings["seeds"],
        only=list(distances.levels),
        severities=distances.severities,
        test=plan.test,
        limit=settings["limit"],
        device=distances.device,
    )


def summarise(errors: pd.DataFrame) -> pd.DataFrame:
    """Of the errors of all trials, one line per network: kind, size, seed, clean_error, error (the mean over cells)."""
    lines = []
    for (name, seed), its in errors.groupby(["scheme", "seed"], sort=False):
        kind, _, size = str(name).partition("-")
        is_clean = its["corruption"] == CLEAN
        clean, mean = (float(its.loc[rows, "error"].mean()) for rows in (is_clean, ~is_clean))
        lines.append({"kind": kind, "size": int(size or 0), "seed": seed, "clean_error": clean, "error": mean})
    return pd.DataFrame(lines)
