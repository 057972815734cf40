"""Trials: networks trained by one recipe on differently treated images, and their errors on a suite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from scuff.data import Source
from scuff.engine import Run
from scuff.engine.cost import StudyCost
from scuff.evaluation import plan_evaluation
from scuff.evaluation.plan import Plan as EvaluationPlan
from scuff.evaluation.run import expect_tests, run_tests
from scuff.evaluation.tasks import MODELS
from scuff.metrics.evaluation.tables import CLEAN
from scuff.store import read_columns_of_each
from scuff.studies.cells import TrainingCell, find_trained
from scuff.studies.cost import estimate_tests, estimate_trainings
from scuff.studies.sources import check_classes, choose_seeds, open_test_source, tried
from scuff.studies.transform_space.distances import DistanceWork
from scuff.studies.transform_space.files import short_name
from scuff.studies.transform_space.plan import recipe_of
from scuff.studies.transform_space.study import TrialStudy
from scuff.training.recipes import Recipe
from scuff.training.run import check_origin
from scuff.training.treatment import Treatment


@dataclass(eq=False)
class Trials:
    """Trainings and tests on the cells that distances are measured to."""

    distances: DistanceWork
    cells: list[TrainingCell]
    test: Source
    test_address: str | None  # where it is not the test split of the training images
    limit: int | None
    recipe: Recipe
    evaluation: EvaluationPlan | None = field(default=None, repr=False)  # of the tests that are done

    def missing(self) -> list[TrainingCell]:
        """The networks that are not trained yet."""
        trained = find_trained(self.distances.store)
        return [cell for cell in self.cells if cell.out not in trained]

    def check_trained(self) -> None:
        """Refuse networks of the folder that were trained otherwise."""
        trained = find_trained(self.distances.store)
        for cell in self.cells:
            if cell.out in trained:
                check_origin(cell.out, cell.origin())

    def settings(self) -> dict[str, Any]:
        """What errors depend on besides the treatments."""
        return {
            "recipe": {"name": self.recipe.name, **self.recipe.settings()},
            "test": self.test_address,
            "test_fingerprint": self.test.fingerprint(),
            "limit": self.limit,
            "seeds": sorted({cell.seed for cell in self.cells}),
        }

    def plan_tests(self, models: Mapping[str, Any]) -> EvaluationPlan:
        """The plan of testing some models on clean images and on all cells."""
        distances = self.distances
        return plan_evaluation(
            models,
            distances.suite,
            self.test,
            distances.store.child("evaluation").root,
            only=distances.only,
            severities=distances.severities,
            limit=self.limit,
            precision=self.recipe.precision if distances.device.type == "cuda" else "float32",
        )

    def expect_tests(self, run: Run) -> None:
        """Tell a run how many tests there will be."""
        cells = 1 + sum(map(len, self.distances.levels.values()))
        run.expect("test", math.ceil(len(self.cells) / MODELS) * cells)

    def run_tests(self, run: Run) -> None:
        """Test all networks that are trained."""
        trained = find_trained(self.distances.store)
        models = {cell.name: cell.out for cell in self.cells if cell.out in trained}
        if models:
            self.evaluation = self.plan_tests(models)
            expect_tests(run, self.evaluation)
            run_tests(run, self.evaluation, self.distances.device, compile=self.recipe.compile)

    def describe(self) -> str:
        """How many networks there are to train."""
        return f"Trainings: {len(self.cells)}, {len(self.cells) - len(self.missing())} already done"

    def cost(self) -> StudyCost:
        """The trainings that are left, the extractor's among them, and the tests."""
        trainings = estimate_trainings([*self.distances.untrained(), *self.missing()], self.distances.store)
        return trainings + estimate_tests(
            self.distances.store, self.plan_tests, self.cells, [cell.name for cell in self.cells]
        )


def open_tests(study: TrialStudy[Any], distances: DistanceWork) -> Source:
    """The test images; refused if their classes are not those of the training images."""
    test = tried(study, open_test_source(study.data, study.test, None))  # type: ignore[attr-defined]
    check_classes(distances.source, test)
    return test


def plan_trials(
    study: TrialStudy[Any], distances: DistanceWork, test: Source, treatments: Mapping[str, Treatment | None]
) -> Trials:
    """One training per treatment and seed, and tests of all networks on the cells of the distances."""
    store, recipe = distances.store, recipe_of(study)
    cells = [
        TrainingCell(
            trained_on=name,
            name=f"{short_name(name)}-seed{seed}",
            treatment=treatment,
            seed=seed,
            recipe=recipe,
            start=None,
            out=store.address(f"models/seed-{seed}/{short_name(name)}.safetensors"),
            source=distances.source,
            device=str(distances.device),
        )
        for seed in choose_seeds(study.seeds)
        for name, treatment in treatments.items()
    ]
    address = study.test if study.test is None or isinstance(study.test, str) else test.name
    return Trials(distances, cells, test, address, study.limit, recipe)


def read_errors(trials: Trials) -> pd.DataFrame:
    """Scheme, seed, corruption, severity and error of tests that are done, one line per network and cell.

    Clean images are a corruption called clean, at severity 0.
    """
    evaluation = trials.evaluation
    pairs = [(cell, tested) for cell in trials.cells for tested in evaluation.cells]
    names = [evaluation.rows_name(cell.name, tested) for cell, tested in pairs]
    rows = read_columns_of_each(evaluation.store, names, ["label", "prediction"])
    lines = []
    for (cell, tested), (label, prediction) in zip(pairs, rows, strict=True):
        corruption = CLEAN if tested.entry == CLEAN else f"{evaluation.suite.name}/{tested.entry}"
        error = float(np.mean(label != prediction))
        lines.append((cell.trained_on, cell.seed, corruption, tested.severity or 0, error))
    return pd.DataFrame(lines, columns=["scheme", "seed", "corruption", "severity", "error"])


def mean_errors(errors: pd.DataFrame) -> dict[str, float]:
    """The mean error of some lines on corrupted and on clean images."""
    is_clean = errors["corruption"] == CLEAN
    return {"clean_error": float(errors[is_clean]["error"].mean()), "error": float(errors[~is_clean]["error"].mean())}
