"""Trials: networks trained by one recipe on differently treated images, and their errors on a suite.

The plain ones are trained with schemes: if those that come nearer to a corruption make fewer errors on it, distance and
error correlate over schemes (`scuff.metrics.scheme_correlations`). `mixing` and `subsets` change what is trained with,
and the table in the end.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
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
from scuff.metrics.transform_space.nearness import LEAST_SCHEMES, Distances, scheme_correlations
from scuff.store import Settings, Store, read_columns_of_each, save_settings
from scuff.studies.base import Plan, check_folder, complete_settings
from scuff.studies.cost import estimate_tests, estimate_trainings
from scuff.studies.sources import check_classes, choose_seeds, open_test_source, tried
from scuff.studies.trainings import TrainingCell, find_trained, run_trainings
from scuff.studies.transform_space.cost import estimate_encodings
from scuff.studies.transform_space.distances import DistanceWork, plan_distances, recipe_of
from scuff.studies.transform_space.files import join_tables, read_table, save_table, short_name
from scuff.studies.transform_space.study import CorrelationStudy, MixingStudy, SubsetsStudy
from scuff.training.recipes import Recipe
from scuff.training.run import check_origin
from scuff.training.treatment import Augmented

ERRORS = "errors.csv"
CORRELATIONS = {"msd": "correlations.csv", "mmd": "correlations-mmd.csv"}


@dataclass(eq=False)
class TrialWork:
    """Distances, trainings, and tests on the cells that distances are measured to."""

    study: CorrelationStudy | MixingStudy | SubsetsStudy
    distances: DistanceWork
    settings: Settings = field(repr=False)
    recipe: Recipe
    test: Source
    evaluation: EvaluationPlan | None = field(default=None, repr=False)  # of the tests that are done

    @property
    def store(self) -> Store:
        """The folder of the study."""
        return self.distances.store

    def treatments(self) -> Mapping[str, Augmented]:
        """What networks are trained with, by name: every scheme."""
        return {name: Augmented(scheme) for name, scheme in self.distances.schemes.items()}

    def cells(self) -> list[TrainingCell]:
        """One training per treatment and seed."""
        return [
            TrainingCell(
                trained_on=name,
                name=f"{short_name(name)}-seed{seed}",
                treatment=treatment,
                seed=seed,
                recipe=self.recipe,
                start=None,
                out=self.store.address(f"models/seed-{seed}/{short_name(name)}.safetensors"),
                source=self.distances.source,
                device=str(self.distances.device),
            )
            for seed in choose_seeds(self.study.seeds)
            for name, treatment in self.treatments().items()
        ]

    def trained(self) -> list[TrainingCell]:
        """The networks that are trained."""
        there = find_trained(self.store)
        return [cell for cell in self.cells() if cell.out in there]

    def missing(self) -> list[TrainingCell]:
        """The networks that are not trained yet."""
        there = find_trained(self.store)
        return [cell for cell in self.cells() if cell.out not in there]

    def check_trained(self) -> None:
        """Refuse networks of the folder that were trained otherwise."""
        for cell in self.trained():
            check_origin(cell.out, cell.origin())

    def plan_tests(self, models: Mapping[str, Any]) -> EvaluationPlan:
        """The plan of testing some models on clean images and on all cells."""
        distances = self.distances
        return plan_evaluation(
            models,
            distances.suite,
            self.test,
            self.store.child("evaluation").root,
            only=list(distances.levels),
            severities=distances.study.severities,
            limit=self.study.limit,
            precision=self.recipe.precision if distances.device.type == "cuda" else "float32",
        )

    def expect(self, run: Run) -> None:
        """Tell a run what is to come."""
        networks, tested = len(self.cells()), 1 + sum(map(len, self.distances.levels.values()))
        self.distances.expect(run, networks, len(self.trained()))
        run.expect("test", math.ceil(networks / MODELS) * tested)

    def run(self, run: Run) -> None:
        """Train all networks, the extractor among them, measure distances, and test.

        A cell that fails does not keep those from being done that do not need it.
        """
        self.expect(run)
        run_trainings(run, [*self.distances.untrained(), *self.missing()], self.distances.device)
        self.distances.measure(run)
        self.run_tests(run)

    def run_tests(self, run: Run) -> None:
        """Test all networks that are trained."""
        models = {cell.name: cell.out for cell in self.trained()}
        if models:
            self.evaluation = self.plan_tests(models)
            expect_tests(run, self.evaluation)
            run_tests(run, self.evaluation, self.distances.device, compile=self.recipe.compile)

    def errors(self) -> pd.DataFrame:
        """Scheme, seed, corruption, severity and error of tests that are done, one line per network and cell.

        Clean images are a corruption called clean, at severity 0.
        """
        evaluation = self.evaluation
        assert evaluation is not None
        pairs = [(cell, tested) for cell in self.cells() for tested in evaluation.cells]
        names = [evaluation.rows_name(cell.name, tested) for cell, tested in pairs]
        rows = read_columns_of_each(evaluation.store, names, ["label", "prediction"])
        lines = []
        for (cell, tested), (label, prediction) in zip(pairs, rows, strict=True):
            corruption = CLEAN if tested.entry == CLEAN else f"{evaluation.suite.name}/{tested.entry}"
            error = float(np.mean(label != prediction))
            lines.append((cell.trained_on, cell.seed, corruption, tested.severity or 0, error))
        return pd.DataFrame(lines, columns=["scheme", "seed", "corruption", "severity", "error"])

    def mean_errors(self) -> pd.DataFrame:
        """One line per network: scheme, seed, clean_error, and error, the mean over cells."""
        errors = self.errors()
        is_clean = errors["corruption"] == CLEAN
        groups = {"clean_error": errors[is_clean], "error": errors[~is_clean]}
        means = {
            name: lines.groupby(["scheme", "seed"], sort=False)["error"].apply(lambda values: values.mean())
            for name, lines in groups.items()
        }
        return pd.DataFrame(means).reset_index()

    def save(self, name: str, table: pd.DataFrame, **joined: Iterable[Any]) -> None:
        """Write a table, and the settings with what the folder holds in all."""
        save_settings(self.store, self.study.file, {**self.settings, **{key: list(joined[key]) for key in joined}})
        save_table(self.store, name, table)

    def collect(self) -> pd.DataFrame:
        """Write errors, and correlations over the schemes of this study; the folder may hold more."""
        distances, schemes = self.distances.collect(), list(self.distances.schemes)
        errors = join_tables(self.store, ERRORS, self.errors(), ["scheme", "seed"])
        self.save(ERRORS, errors, seeds=sorted(set(errors["seed"].tolist())))
        tables = {}
        for kind, name in CORRELATIONS.items():
            tables[kind] = scheme_correlations(distances, errors, distance=kind, schemes=schemes)  # type: ignore[arg-type]
            save_table(self.store, name, tables[kind])
        return tables["msd"]

    def cost(self) -> StudyCost:
        """Trainings, the extractor's among them, tests and encodings."""
        cells = self.cells()
        trainings = estimate_trainings([*self.distances.untrained(), *self.missing()], self.store)
        tests = estimate_tests(self.store, self.plan_tests, cells, [cell.name for cell in cells])
        return trainings + tests + estimate_encodings(self.distances)

    def describe(self) -> Iterator[str]:
        """Distances and trainings."""
        yield from self.distances.describe()
        if isinstance(self.study, CorrelationStudy) and len(self.distances.schemes) < LEAST_SCHEMES:
            yield f"Note: a correlation needs at least {LEAST_SCHEMES} schemes, in --schemes of one call"
        yield f"Trainings: {len(self.cells())}, {len(self.trained())} already done"


def plan_trials(
    study: CorrelationStudy | MixingStudy | SubsetsStudy,
    distances: Plan[Distances],
    work: type[TrialWork] = TrialWork,
    **chosen: Any,
) -> Plan[pd.DataFrame]:
    """Open the test images, and check the folder; `chosen` are settings besides those that errors depend on."""
    recipe, source = recipe_of(study), distances.work.source
    test = tried(study, open_test_source(study.data, study.test, None))
    check_classes(source, test)
    settings = complete_settings(
        study,
        {
            **chosen,
            "recipe": {"name": recipe.name, **recipe.settings()},
            "test": study.test if study.test is None or isinstance(study.test, str) else test.name,
            "test_fingerprint": test.fingerprint(),
            "limit": study.limit,
            "seeds": sorted(choose_seeds(study.seeds)),
        },
    )
    planned = work(study, distances.work, settings, recipe, test)
    planned.check_trained()
    before = check_folder(study, distances.store, settings)
    if before is not None:
        settings["seeds"] = sorted({*before["seeds"], *settings["seeds"]})
    return Plan(study, settings, planned, distances.store, distances.engine)


def plan_correlation(study: CorrelationStudy) -> Plan[pd.DataFrame]:
    """Plan the distances, and a training with every scheme."""
    distances = plan_distances(study.distances())
    return plan_trials(study, distances, schemes=list(distances.work.schemes))


def read_correlation(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """The correlations of MSD and error in a folder."""
    return read_table(Store(directory), CORRELATIONS["msd"]).fillna({"note": ""})
