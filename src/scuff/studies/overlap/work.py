"""What an overlap study has to do: train what is missing, test what is missing, write the tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from scuff.data import Source
from scuff.engine import Failure, Run
from scuff.engine.cost import StudyCost
from scuff.evaluation import plan_evaluation
from scuff.evaluation.plan import Plan as EvaluationPlan
from scuff.evaluation.run import expect_tests, run_tests
from scuff.evaluation.tasks import MODELS
from scuff.metrics.overlap.scores import Overlaps, overlaps
from scuff.store import Settings, Store, find_file
from scuff.studies.cells import TrainingCell, find_trained
from scuff.studies.cost import estimate_tests, estimate_trainings
from scuff.studies.overlap.results import collect, name_in_tests, read_overlap
from scuff.studies.trainings import run_trainings
from scuff.suites import Suite


@dataclass(frozen=True, eq=False)
class OverlapWork:
    """The trainings and tests of a study."""

    store: Store
    settings: Settings
    suite: Suite  # all corruptions; every image draws its level
    tested_on: dict[str, str]  # addresses by entries of the suite
    cells: list[TrainingCell]
    test: Source
    device: torch.device
    borrowed: dict[str, str]  # standard models that are copied instead of trained: their files, and from where

    def missing(self) -> list[TrainingCell]:
        """The models that are not trained yet."""
        trained = find_trained(self.store)
        return [cell for cell in self.cells if cell.out not in trained]

    def evaluation(self) -> EvaluationPlan:
        """The plan of testing all models that are trained."""
        trained = find_trained(self.store)
        return self.plan_tests({name_in_tests(cell): cell.out for cell in self.cells if cell.out in trained})

    def plan_tests(self, models: Mapping[str, Any]) -> EvaluationPlan:
        """The plan of testing some models on all corruptions."""
        out, options = self.store.child("evaluation").root, {key: self.settings[key] for key in ("limit", "precision")}
        return plan_evaluation(models, self.suite, self.test, out, seed=0, **options)

    def run(self, run: Run) -> None:
        """Train and test what is missing.

        A model that cannot be trained does not keep the others from being trained and tested; but there are no tables
        before all are.
        """
        for name, donor in self.borrowed.items():
            if not self.store.exists(name):
                folder, file = find_file(donor)
                self.store.write(name, folder.read(file))
        self._train(run)
        evaluation = self.evaluation()
        expect_tests(run, evaluation)
        run_tests(run, evaluation, self.device, compile=self.settings["recipe"]["compile"])
        if not run.failures:
            run.progress("collecting", 0, 1)
            collect(self.store, evaluation, self.cells, self.tested_on)
            run.progress("collecting", 1, 1)

    def _train(self, run: Run) -> None:
        """First the models that others start from, then the others."""
        missing = self.missing()
        run.expect("train", len(self.cells), len(self.cells) - len(missing))
        run.expect("test", math.ceil(len(self.cells) / MODELS) * (1 + len(self.tested_on)))
        starts = {cell.start for cell in missing}
        run_trainings(run, [cell for cell in missing if cell.out in starts], self.device)
        trained = {None, *find_trained(self.store)}
        rest = [cell for cell in missing if cell.out not in starts]
        run_trainings(run, [cell for cell in rest if cell.start in trained], self.device)
        reason = "the model that it starts from could not be trained"
        run.failures += [Failure("train", cell.name, reason, 0, "") for cell in rest if cell.start not in trained]

    def collect(self) -> Overlaps:
        """The matrix of overlapping scores."""
        return overlaps(read_overlap(self.store.root))

    def cost(self) -> StudyCost:
        """The trainings, each by its corruption, and the tests that are left."""
        borrowed = {self.store.address(name) for name in self.borrowed}
        trainings = estimate_trainings([cell for cell in self.missing() if cell.out not in borrowed], self.store)
        return trainings + estimate_tests(self.store, self.plan_tests, self.cells, list(map(name_in_tests, self.cells)))

    def describe(self) -> Iterator[str]:
        """Corruptions, data, recipe, models and tests."""
        settings, models, missing = self.settings, len(self.cells), len(self.missing())
        corruptions, seeds, recipe = len(settings["corruptions"]), len(settings["seeds"]), settings["recipe"]
        yield f"Corruptions: {corruptions}, of {', '.join(suite['suite'] for suite in settings['suites'])}"
        yield f"Data: {settings['data']}; tests on {settings['limit'] or len(self.test)} images"
        yield f"Recipe: {recipe['name']}, {recipe['architecture']}, on {self.device}"
        yield f"Models: {models} ({seeds} seed{'s' if seeds > 1 else ''}), {models - missing} trained already"
        tests = models * (corruptions + 1)
        yield f"Tests: {tests}, each model on clean images and on every corruption; in {self.store.root}"
