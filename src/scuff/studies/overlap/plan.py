"""What an overlap study will train and test, found out before anything is computed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

import scuff
from scuff.data import Source
from scuff.door import resolve
from scuff.engine import Engine, LocalEngine
from scuff.environment import environment
from scuff.evaluation import plan_evaluation
from scuff.evaluation.choices import open_images
from scuff.evaluation.plan import Plan
from scuff.metrics.overlap.accuracies import CLEAN, STANDARD
from scuff.models.open import NAME
from scuff.store import Store, check_settings, read_settings
from scuff.studies.cells import TrainingCell, find_trained
from scuff.studies.overlap.results import SETTINGS
from scuff.studies.sources import check_classes, choose_seeds, open_test_source
from scuff.suites import Suite, combine_suites, load_suite
from scuff.suites.combine import entry_names
from scuff.training.images import open_training_source
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import adapt, check_origin
from scuff.training.treatment import Corrupted

NOTED_ONLY = ("data", "test", "seeds", "environment", "scuff")  # data may move, and seeds may join


@dataclass(frozen=True)
class OverlapPlan:
    """A study that is ready to run: what it trains, what it tests on, and what all of it depends on."""

    store: Store
    settings: dict[str, Any]
    suite: Suite  # of all corruptions; every image draws its level
    tested_on: dict[str, str]  # addresses by entries of the suite
    cells: list[TrainingCell]
    test: Source
    device: torch.device
    engine: Engine
    borrowed: dict[str, str]  # names of standard models that are not trained, and addresses of what they copy

    def missing(self) -> list[TrainingCell]:
        """The models that are not trained yet."""
        there = find_trained(self.store)
        return [cell for cell in self.cells if cell.out not in there]

    def evaluation(self) -> Plan:
        """The plan of the tests of all models that are there."""
        there = find_trained(self.store)
        models = {f"{cell.name}-seed{cell.seed}": cell.out for cell in self.cells if cell.out in there}
        settings = self.settings
        return plan_evaluation(
            models,
            self.suite,
            self.test,
            self.store.child("evaluation").root,
            seed=0,
            limit=settings["limit"],
            precision=settings["precision"],
        )


def plan_overlap(
    suites: str | Suite | Sequence[str | Suite],
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    recipe: str | Recipe,
    only: Sequence[str] | None = None,
    together: Sequence[str] = (),
    seeds: int | Sequence[int] = 1,
    test: str | Source | None = None,
    classes: str | None = None,
    limit: int | None = None,
    architecture: str | None = None,
    epochs: int | None = None,
    fine_tune: int | None = None,
    standard_from: str | os.PathLike[str] | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
) -> OverlapPlan:
    """Plan a study without computing anything; the arguments are those of `overlap`."""
    engine = engine or LocalEngine()
    store, device = Store(out), engine.find_device(device)
    recipe = adapt(find_recipe(recipe), architecture, epochs, False)
    seeds = choose_seeds(seeds)
    suites = [one if isinstance(one, Suite) else load_suite(one) for one in _several(suites)]
    addresses = choose_addresses(suites, only)
    names = entry_names(addresses)
    suite = combine_suites("overlap", addresses, suites, draws_levels=True)
    together = [load_suite(name) for name in ([together] if isinstance(together, str) else together)]
    for one in (suite, *together):
        _check_entries(one)
    train_source = open_training_source(data, classes)
    test_source = open_test_source(data, test, classes)
    check_classes(train_source, test_source)
    tested = len(open_images(test_source, None, None, limit).source)
    tuned = None if fine_tune is None else adapt(recipe, None, fine_tune, True)
    settings = {
        "data": data if isinstance(data, str) else train_source.name,
        "data_fingerprint": train_source.fingerprint(),
        "test": test if test is None or isinstance(test, str) else test_source.name,
        "test_fingerprint": test_source.fingerprint(),
        "classes": classes,
        "limit": tested if tested < len(test_source) else None,
        "recipe": {"name": recipe.name, **recipe.settings()},
        "fine_tuning": None if tuned is None else tuned.settings(),
        "suites": [one.to_dict() for one in suites],
        "corruptions": list(addresses),
        "together": [one.to_dict() for one in together],
        "seeds": list(seeds),
        "precision": recipe.precision if device.type == "cuda" else "float32",
        "environment": environment(device),
        "scuff": scuff.__version__,
    }
    check_settings(store, SETTINGS, settings, NOTED_ONLY)
    if store.exists(SETTINGS):
        settings["seeds"] = sorted({*settings["seeds"], *read_settings(store, SETTINGS)["seeds"]})
    trainings = _trainings(addresses, names, suite, together)
    cells = [
        cell
        for seed in settings["seeds"]
        for cell in _cells(trainings, store, seed, train_source, recipe, tuned, device)
    ]
    tested_on = {names[address]: address for address in addresses}
    borrowed = {} if standard_from is None else _find_standards(Store(standard_from), settings)
    there = find_trained(store)
    for cell in cells:
        if cell.out in there:
            check_origin(cell.out, cell.origin())
    return OverlapPlan(store, settings, suite, tested_on, cells, test_source, device, engine, borrowed)


def _trainings(
    addresses: Sequence[str], names: Mapping[str, str], suite: Suite, together: Sequence[Suite]
) -> dict[str, tuple[str, Corrupted | None]]:
    """What models are trained on, with the names of their files: nothing, each corruption, all of a suite at once."""
    trainings: dict[str, tuple[str, Corrupted | None]] = {STANDARD: (STANDARD, None)}
    trainings |= {address: (names[address], Corrupted(suite, (names[address],))) for address in addresses}
    for one in together:
        drawn = replace(one, draws_levels=True)
        trainings[f"all:{one.name}"] = (f"all-{one.name}", Corrupted(drawn, tuple(one.benchmark())))
    return trainings


def _cells(
    trainings: Mapping[str, tuple[str, Corrupted | None]],
    store: Store,
    seed: int,
    source: Source,
    recipe: Recipe,
    tuned: Recipe | None,
    device: torch.device,
) -> Iterator[TrainingCell]:
    """The trainings of one seed; with `tuned`, those of corruptions begin from the standard model."""
    for trained_on, (name, corrupted) in trainings.items():
        is_tuned = tuned is not None and corrupted is not None
        yield TrainingCell(
            trained_on=trained_on,
            name=name,
            treatment=corrupted,
            seed=seed,
            recipe=tuned if is_tuned else recipe,
            start=store.address(weights_name(STANDARD, seed)) if is_tuned else None,
            out=store.address(weights_name(name, seed)),
            source=source,
            device=str(device),
        )


def weights_name(name: str, seed: int) -> str:
    """The file of a model, in the folder of the study."""
    return f"models/seed-{seed}/{name}.safetensors"


def choose_addresses(suites: Sequence[Suite], only: Sequence[str] | None = None) -> list[str]:
    """The corruptions of a study: those that count in the suites, or those that were asked for."""
    if len({suite.name for suite in suites}) < len(suites):
        raise ValueError(f"two suites have one name: {', '.join(suite.name for suite in suites)}")
    every = [(suite, entry) for suite in suites for entry in suite.entries]
    if only is None:
        chosen = [(suite, entry) for suite, entry in every if entry in suite.benchmark()]
    else:
        chosen = [_find(suites, name) for name in only]
    addresses = list(dict.fromkeys(f"{suite.name}/{entry}" for suite, entry in chosen))
    if len(addresses) < 2:
        raise ValueError(f"overlap is of at least two corruptions, got {', '.join(addresses) or 'none'}")
    return addresses


def _find(suites: Sequence[Suite], name: str) -> tuple[Suite, str]:
    """An entry by its name or its address."""
    of, slash, entry = name.rpartition("/")
    having = [s for s in suites if (s.name == of if slash else True) and (entry in s.entries or entry in s.aliases)]
    if not having:
        among = suites if not slash else [s for s in suites if s.name == of]
        if not among:
            raise ValueError(f"there is no suite {of!r} in this study; it has {', '.join(s.name for s in suites)}")
        return among[0], among[0].find(entry)  # which says what is near
    if len(having) > 1:
        raise ValueError(
            f"{name} is in {' and in '.join(s.name for s in having)}; say which, as in {having[0].name}/{entry}"
        )
    return having[0], having[0].find(entry)


def _check_entries(suite: Suite) -> None:
    """Refuse entries that do not exist, that are films, or whose names cannot be those of models."""
    for entry in suite.benchmark():
        if resolve(entry, (suite.listed_levels(entry) or (None,))[0], suite=suite).corruption.sequence:
            raise ValueError(f"{suite.name}/{entry} is a sequence of frames; overlap is of single corruptions")
        if entry in (STANDARD, CLEAN) or not NAME.fullmatch(entry):
            raise ValueError(
                f"the model of the entry {entry!r} cannot be called so: expected letters, digits and . _ - only, and "
                f"neither {STANDARD} nor {CLEAN}; give the entry another name, as in fog-2: {{corruption: fog, ...}}"
            )


def _several(suites: str | Suite | Sequence[str | Suite]) -> list[str | Suite]:
    several = [suites] if isinstance(suites, (str, Suite)) else list(suites)
    if not several:
        raise ValueError("no suite is given")
    return several


def _find_standards(theirs: Store, settings: Mapping[str, Any]) -> dict[str, str]:
    """The standard models of another study, for those of ours that others begin from."""
    wanted = {key: settings[key] for key in ("data_fingerprint", "recipe")}
    check_settings(theirs, SETTINGS, {**read_settings(theirs, SETTINGS), **wanted})
    names = [weights_name(STANDARD, seed) for seed in settings["seeds"]] if settings["fine_tuning"] else []
    for name in names:
        if not theirs.exists(name):
            raise ValueError(
                f"there is no standard model {theirs.address(name)}; standard_from must be a study with the same seeds"
            )
    return {name: theirs.address(name) for name in names}
