"""Does nearness explain robustness? Distances of schemes, and errors of networks that were trained with them.

If schemes that come nearer to a corruption make fewer errors on it, the two correlate over schemes:
`scuff.metrics.scheme_correlations`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from scuff.engine import Run
from scuff.engine.cost import StudyCost
from scuff.metrics.transform_space.nearness import LEAST_SCHEMES, scheme_correlations
from scuff.store import Settings, Store, save_settings
from scuff.studies.base import Plan, check_folder, complete_settings
from scuff.studies.trainings import run_trainings
from scuff.studies.transform_space.cost import estimate_encodings
from scuff.studies.transform_space.distances import DistanceWork
from scuff.studies.transform_space.files import join_tables, read_table, save_table
from scuff.studies.transform_space.plan import open_distances
from scuff.studies.transform_space.study import CorrelationStudy, TrialStudy
from scuff.studies.transform_space.trials import Trials, open_tests, plan_trials, read_errors
from scuff.training.treatment import Augmented

ERRORS = "errors.csv"
CORRELATIONS = {"msd": "correlations.csv", "mmd": "correlations-mmd.csv"}


def plan_correlation(study: CorrelationStudy) -> Plan[pd.DataFrame]:
    """Plan the distances, and a training with every scheme."""
    counts = {"augmentations": study.augmentations, "resamplings": study.resamplings}
    distances, engine = open_distances(study, study.schemes, study.suite, study.only, study.severities, **counts)
    trials = plan_scheme_trials(study, distances)
    settings = complete_settings(study, trials.settings())
    before = check_folder(study, distances.store, settings)
    if before is not None:
        settings["seeds"] = sorted({*before["seeds"], *settings["seeds"]})
    return Plan(study, settings, CorrelationWork(distances, trials, settings), distances.store, engine)


def plan_scheme_trials(study: TrialStudy[Any], distances: DistanceWork) -> Trials:
    """Trainings with every scheme."""
    treatments = {name: Augmented(scheme) for name, scheme in distances.schemes.items()}
    trials = plan_trials(study, distances, open_tests(study, distances), treatments)
    trials.check_trained()
    return trials


@dataclass(eq=False)
class CorrelationWork:
    """Distances of schemes, trainings with them, and tests."""

    distances: DistanceWork
    trials: Trials
    settings: Settings = field(repr=False)

    def run(self, run: Run) -> None:
        """Train all networks, the extractor among them, measure distances, and test.

        A cell that fails does not keep those from being done that do not need it.
        """
        distances, trials, missing = self.distances, self.trials, self.trials.missing()
        distances.expect(run, len(trials.cells), len(trials.cells) - len(missing))
        trials.expect_tests(run)
        run_trainings(run, [*distances.untrained(), *missing], distances.device)
        if not distances.untrained():
            distances.measure(run)
        trials.run_tests(run)

    def collect(self) -> pd.DataFrame:
        """Write errors and correlations; schemes and seeds that the folder holds from before count as well."""
        store, distances = self.distances.store, self.distances.collect()
        errors = join_tables(store, ERRORS, read_errors(self.trials), ["scheme", "seed"])
        seeds = sorted(int(seed) for seed in set(errors["seed"]))
        save_settings(store, CorrelationStudy.file, {**self.settings, "seeds": seeds})
        save_table(store, ERRORS, errors)
        trained = set(errors["scheme"])  # the folder may hold distances of others
        distances = distances.take([name for name in distances.schemes if name in trained])
        tables = {kind: scheme_correlations(distances, errors, distance=kind) for kind in CORRELATIONS}  # type: ignore[arg-type]
        for kind, name in CORRELATIONS.items():
            save_table(store, name, tables[kind])
        return tables["msd"]

    def cost(self) -> StudyCost:
        """Trainings, encodings and tests."""
        return self.trials.cost() + estimate_encodings(self.distances)

    def describe(self) -> Iterator[str]:
        """Distances and trainings."""
        yield from self.distances.describe()
        if len(self.distances.settings["schemes"]) < LEAST_SCHEMES:
            yield f"Note: a correlation needs at least {LEAST_SCHEMES} schemes; more may join this folder later"
        yield self.trials.describe()


def read_correlation(directory: str | os.PathLike[str]) -> pd.DataFrame:
    """The correlations of MSD and error in a folder."""
    return read_table(Store(directory), CORRELATIONS["msd"]).fillna({"note": ""})
