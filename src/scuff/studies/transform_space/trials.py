"""Trials: networks trained by one recipe on differently treated images, and their errors on a suite."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch

import scuff
from scuff.data import Source
from scuff.engine import Run
from scuff.evaluation import plan_evaluation
from scuff.evaluation.plan import Plan
from scuff.evaluation.run import expect_tests, run_tests
from scuff.evaluation.tasks import MODELS
from scuff.metrics.overlap.accuracies import CLEAN
from scuff.store import Store, read_columns_of_each
from scuff.studies.cells import TrainingCell, find_trained
from scuff.studies.sources import check_classes, open_test_source
from scuff.studies.transform_space.plan import short_name
from scuff.suites import Levels, Suite
from scuff.training.images import open_training_source
from scuff.training.recipes import Recipe
from scuff.training.run import check_origin
from scuff.training.treatment import Treatment


@dataclass(frozen=True)
class Trials:
    """Trainings and tests that are ready to run."""

    store: Store
    cells: list[TrainingCell]
    suite: Suite
    only: Sequence[str] | None
    severities: Sequence[int] | None
    test: Source
    test_address: str | None  # where it is not the other split of the training images
    limit: int | None
    device: torch.device
    recipe: Recipe

    def missing(self) -> list[TrainingCell]:
        """The networks that are not trained yet."""
        there = find_trained(self.store)
        return [cell for cell in self.cells if cell.out not in there]

    def settings(self) -> dict[str, Any]:
        """What errors depend on besides the treatments."""
        return {
            "recipe": {"name": self.recipe.name, **self.recipe.settings()},
            "test": self.test_address,
            "test_fingerprint": self.test.fingerprint(),
            "limit": self.limit,
            "seeds": sorted({cell.seed for cell in self.cells}),
            "scuff": scuff.__version__,
        }

    def evaluation(self) -> Plan:
        """The plan of the tests of all networks that are there."""
        there = find_trained(self.store)
        return plan_evaluation(
            {cell.name: cell.out for cell in self.cells if cell.out in there},
            self.suite,
            self.test,
            self.store.child("evaluation").root,
            only=self.only,
            severities=self.severities,
            limit=self.limit,
            precision=self.recipe.precision if self.device.type == "cuda" else "float32",
        )


def plan_trials(
    treatments: Mapping[str, Treatment | None],
    suite: Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: Recipe,
    seeds: Sequence[int],
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    test: str | Source | None = None,
    limit: int | None = None,
    device: torch.device,
) -> Trials:
    """Plan one training per treatment and seed, and tests of all of them on clean images and all cells of a suite."""
    store, source = Store(out), open_training_source(data)
    tested = open_test_source(data, test, None)
    check_classes(source, tested)
    cells = [
        TrainingCell(
            trained_on=name,
            name=f"{short_name(name)}-seed{seed}",
            treatment=treatment,
            seed=seed,
            recipe=recipe,
            start=None,
            out=store.address(f"models/seed-{seed}/{short_name(name)}.safetensors"),
            source=source,
            device=str(device),
        )
        for seed in seeds
        for name, treatment in treatments.items()
    ]
    there = find_trained(store)
    for cell in cells:
        if cell.out in there:
            check_origin(cell.out, cell.origin())
    address = test if test is None or isinstance(test, str) else tested.name
    return Trials(store, cells, suite, only, severities, tested, address, limit, device, recipe)


def expect_trials(run: Run, networks: int, levels: Mapping[str, Levels]) -> None:
    """Tell a run that so many networks will be tested on these entries, at these severities, and on clean images."""
    run.expect("test", math.ceil(networks / MODELS) * (1 + sum(map(len, levels.values()))))


def evaluate_trials(run: Run, trials: Trials) -> Plan | None:
    """Test all networks that are there, and return the plan of these tests; None if there are no networks."""
    if len(trials.missing()) == len(trials.cells):
        return None
    evaluation = trials.evaluation()
    expect_tests(run, evaluation)
    run_tests(run, evaluation, trials.device, compile=trials.recipe.compile)
    return evaluation


def read_errors(trials: Trials, evaluation: Plan) -> pd.DataFrame:
    """Scheme, seed, corruption, severity and error of tests that are done, one line per network and cell.

    Clean images are a corruption called clean, at severity 0.
    """
    pairs = [(cell, tested) for cell in trials.cells for tested in evaluation.cells]
    names = [evaluation.rows_name(cell.name, tested) for cell, tested in pairs]
    found = read_columns_of_each(evaluation.store, names, ["label", "prediction"])
    lines = []
    for (cell, tested), (label, prediction) in zip(pairs, found, strict=True):
        corruption = CLEAN if tested.entry == CLEAN else f"{trials.suite.name}/{tested.entry}"
        wrong = float(np.mean(label != prediction))
        lines.append((cell.trained_on, cell.seed, corruption, tested.severity or 0, wrong))
    return pd.DataFrame(lines, columns=["scheme", "seed", "corruption", "severity", "error"])


def join_tables(store: Store, name: str, found: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """What a table of the folder said before, with what was found now in place of lines with the same keys."""
    if not store.exists(name):
        return found
    try:
        before = pd.read_csv(io.BytesIO(store.read(name)), dtype={"scheme": str}, keep_default_na=False)
        known = pd.MultiIndex.from_frame(before[list(keys)])
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError, KeyError) as error:
        raise ValueError(f"{store.root}/{name} is damaged ({error}); delete it and run the same again") from error
    is_old = ~known.isin(pd.MultiIndex.from_frame(found[list(keys)]))
    return pd.concat([before[is_old], found], ignore_index=True)
