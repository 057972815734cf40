"""Plan an overlap study, checked before anything is computed; and its work: train, test, and write the tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import torch

from scuff.data import Source
from scuff.door import resolve
from scuff.engine import Failure, Run
from scuff.engine.cost import StudyCost
from scuff.evaluation import plan_evaluation
from scuff.evaluation.choices import open_images
from scuff.evaluation.plan import Plan as EvaluationPlan
from scuff.evaluation.run import expect_tests, run_tests
from scuff.evaluation.tasks import MODELS
from scuff.metrics.overlap.accuracies import CLEAN, STANDARD
from scuff.metrics.overlap.scores import Overlaps, overlaps
from scuff.models.open import NAME
from scuff.store import Settings, Store, check_settings, find_file, read_settings
from scuff.studies.base import Plan, check_folder, complete_settings, open_engine_of
from scuff.studies.cost import estimate_tests, estimate_trainings
from scuff.studies.overlap.results import collect, name_in_tests, read_overlap
from scuff.studies.overlap.study import OverlapStudy
from scuff.studies.sources import check_classes, choose_seeds, left_out_of, open_test_source, tried
from scuff.studies.trainings import TrainingCell, find_trained, run_trainings
from scuff.suites import Suite, combine_suites, load_suite
from scuff.suites.combine import entry_names
from scuff.training.images import open_training_source
from scuff.training.recipes import find_recipe
from scuff.training.run import adapt, check_origin
from scuff.training.treatment import Corrupted


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


def plan_overlap(study: OverlapStudy) -> Plan[Overlaps]:
    """Open suites and data, check them, and list the trainings."""
    engine, device = open_engine_of(study)
    store = Store(study.out)
    recipe = adapt(find_recipe(study.recipe), study.architecture, study.epochs, False)
    tuned = None if study.fine_tune is None else adapt(recipe, None, study.fine_tune, True)
    listed = [study.suites] if isinstance(study.suites, (str, Suite)) else list(study.suites)
    if not listed:
        raise ValueError("no suite is given")
    suites = [suite if isinstance(suite, Suite) else load_suite(suite) for suite in listed]
    together = [load_suite(name) for name in ([study.together] if isinstance(study.together, str) else study.together)]
    addresses = choose_addresses(suites, study.only)
    tested_on = {entry: address for address, entry in entry_names(addresses).items()}
    combined = combine_suites("overlap", addresses, suites, draws_levels=True)
    for suite in (combined, *together):
        _check_entries(suite)
    train = open_training_source(study.data, study.classes)
    test = open_test_source(study.data, study.test, study.classes)
    check_classes(train, test)
    train, test = tried(study, train), tried(study, test)
    images = len(open_images(test, None, None, study.limit).source)  # type: ignore[arg-type]
    settings = complete_settings(
        study,
        {
            "data": study.data if isinstance(study.data, str) else train.name,
            "data_fingerprint": train.fingerprint(),
            "test": study.test if study.test is None or isinstance(study.test, str) else test.name,
            "test_fingerprint": test.fingerprint(),
            "classes": study.classes,
            "limit": images if images < len(test) else None,
            "recipe": {"name": recipe.name, **recipe.settings()},
            "fine_tuning": None if tuned is None else tuned.settings(),
            "suites": [suite.to_dict() for suite in suites],
            "corruptions": list(addresses),
            "together": [suite.to_dict() for suite in together],
            "seeds": choose_seeds(study.seeds),
            "precision": recipe.precision if device.type == "cuda" else "float32",
            **left_out_of(train, test),
        },
        device,
    )
    before = check_folder(study, store, settings)
    if before is not None:
        settings["seeds"] = sorted({*settings["seeds"], *before["seeds"]})
    treatments = {STANDARD: (STANDARD, None), **dict(_treatments(tested_on, combined, together))}
    cells = []
    for seed, (trained_on, (name, treatment)) in product(settings["seeds"], treatments.items()):
        used, start, out = recipe, None, store.address(weights_name(name, seed))
        if tuned is not None and treatment is not None:
            used, start = tuned, store.address(weights_name(STANDARD, seed))
        cells.append(TrainingCell(trained_on, name, treatment, seed, used, start, out, train, str(device)))
    trained = find_trained(store)
    for cell in cells:
        if cell.out in trained:
            check_origin(cell.out, cell.origin())
    borrowed = {} if study.standard_from is None else _find_standards(Store(study.standard_from), settings)
    work = OverlapWork(store, settings, combined, tested_on, cells, test, device, borrowed)
    return Plan(study, settings, work, store, engine)


def _treatments(
    tested_on: Mapping[str, str], suite: Suite, together: Sequence[Suite]
) -> Iterator[tuple[str, tuple[str, Corrupted]]]:
    """What models are trained on, with the names of their files: each corruption, and all of a suite at once."""
    for entry, address in tested_on.items():
        yield address, (entry, Corrupted(suite, (entry,)))
    for joint in together:
        drawn = replace(joint, draws_levels=True)
        yield f"all:{joint.name}", (f"all-{joint.name}", Corrupted(drawn, tuple(joint.benchmark())))


def weights_name(name: str, seed: int) -> str:
    """The file of a model in the folder of the study."""
    return f"models/seed-{seed}/{name}.safetensors"


def choose_addresses(suites: Sequence[Suite], only: Sequence[str] | None = None) -> list[str]:
    """The corruptions of a study: the benchmarks of the suites, or those that were asked for."""
    if len({suite.name for suite in suites}) < len(suites):
        raise ValueError(f"two suites have the same name: {', '.join(suite.name for suite in suites)}")
    every = ((suite, entry) for suite in suites for entry in suite.benchmark())
    chosen = every if only is None else (_find(suites, name) for name in only)
    addresses = list(dict.fromkeys(f"{suite.name}/{entry}" for suite, entry in chosen))
    if len(addresses) < 2:
        raise ValueError(f"overlap takes at least two corruptions, got {', '.join(addresses) or 'none'}")
    return addresses


def _find(suites: Sequence[Suite], name: str) -> tuple[Suite, str]:
    """An entry by its name or its address."""
    suite_name, slash, entry = name.rpartition("/")
    among = [suite for suite in suites if suite.name == suite_name] if slash else suites
    if not among:
        raise ValueError(f"there is no suite {suite_name!r} in this study; it has {', '.join(s.name for s in suites)}")
    having = [suite for suite in among if entry in suite.entries or entry in suite.aliases]
    if len(having) > 1:
        raise ValueError(
            f"{name} is in {' and in '.join(s.name for s in having)}; say which, as in {having[0].name}/{entry}"
        )
    suite = having[0] if having else among[0]
    return suite, suite.find(entry)  # an unknown name raises, with the nearest ones


def _check_entries(suite: Suite) -> None:
    """Refuse entries that do not exist, that are sequences, or whose names cannot be those of models."""
    for entry in suite.benchmark():
        if resolve(entry, (suite.listed_levels(entry) or (None,))[0], suite=suite).corruption.sequence:
            raise ValueError(f"{suite.name}/{entry} is a sequence of frames; overlap takes single corruptions")
        if entry in (STANDARD, CLEAN) or not NAME.fullmatch(entry):
            raise ValueError(
                f"no model can be called {entry!r} after its entry: expected letters, digits and . _ - only, and "
                f"neither {STANDARD} nor {CLEAN}; give the entry another name, as in fog-2: {{corruption: fog, ...}}"
            )


def _find_standards(donor: Store, settings: Mapping[str, Any]) -> dict[str, str]:
    """The standard models of another study, to start our models of corruptions from."""
    shared = {key: settings[key] for key in ("data_fingerprint", "recipe")}
    check_settings(donor, OverlapStudy.file, read_settings(donor, OverlapStudy.file) | shared)
    names = [weights_name(STANDARD, seed) for seed in settings["seeds"]] if settings["fine_tuning"] else []
    for name in names:
        if not donor.exists(name):
            raise ValueError(
                f"there is no standard model {donor.address(name)}; standard_from must be a study with the same seeds"
            )
    return {name: donor.address(name) for name in names}
