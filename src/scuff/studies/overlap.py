"""How far corruptions overlap: one model per corruption, every model on every corruption.

The six steps of the paper on non-overlapping corruptions. (1, 2) A standard model is trained on clean images, and for
every corruption one whose training images are half corrupted; (3, 4) all of them are tested on clean images and on
every corruption; (5, 6) robustness and overlapping scores follow from the accuracies, and are computed by
`scuff.metrics.overlaps`. Every model, and every model on every corruption, is a cell with a file of its own.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

import scuff
from scuff.corruptions import get
from scuff.data import CorruptedSource, Source, open_source
from scuff.environment import environment, find_device
from scuff.evaluation import plan_evaluation, run_plan
from scuff.evaluation.plan import Plan
from scuff.evaluation.runner import Progress
from scuff.metrics.accuracies import STANDARD
from scuff.metrics.overlap import Overlaps, overlaps
from scuff.store import Store, check_settings, read_settings, save_settings
from scuff.studies.cells import TrainingCell, run_trainings
from scuff.studies.overlap_results import SETTINGS, collect, read_overlap
from scuff.suites import Suite, combine_suites, load_suite
from scuff.suites.combine import entry_names
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import Corrupted, adapt, open_training_source

NOTED_ONLY = ("data", "test", "seeds", "environment", "scuff")  # data may move, and seeds may join


@dataclass(frozen=True)
class OverlapPlan:
    """A study that is ready to run: what it trains, what it tests on, and what all of it depends on."""

    out: Path
    settings: dict[str, Any]
    suite: Suite  # of all corruptions; every image draws its level
    tested_on: dict[str, str]  # addresses by entries of the suite
    cells: list[TrainingCell]
    test: Source
    device: torch.device

    def missing(self) -> list[TrainingCell]:
        """The models that are not trained yet."""
        return [cell for cell in self.cells if not cell.out.exists()]

    def evaluation(self) -> Plan:
        """The plan of all tests; the models must be there."""
        models = {f"{cell.name}-seed{cell.seed}": cell.out for cell in self.cells}
        settings = self.settings
        return plan_evaluation(
            models,
            self.suite,
            self.test,
            self.out / "evaluation",
            seed=0,
            limit=settings["limit"],
            precision=settings["precision"],
        )


def overlap(
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
    processes: int | None = None,
    progress: Progress | None = None,
) -> Overlaps:
    """Train, test, and return the matrix of overlapping scores.

    The accuracies behind it, for coverage and balance, are given by `read_overlap(out)`.

    Parameters
    ----------
    suites, only
        One suite or several, whose entries are compared, and which of them: `"rain"`, or `"noc-candidates/rain"` where
        two suites have one of that name. Every image draws its severity.
    data, test, classes, limit
        Training images, and test images where they are not the other split of the same address. `classes`
        ="imagenet-100" takes every tenth class of ImageNet. `limit` test images, evenly spread.
    out
        A folder on this machine. What is there is not computed again; further seeds can join later.
    recipe, architecture, epochs
        As in `scuff.training.run`.
    together
        Suites with which one further model each is trained, on all corruptions at once: the direct test of coverage.
    seeds
        How many trainings of everything, or their seeds. Intervals need at least two, better three; with one, they
        leave out the randomness of training.
    fine_tune, standard_from
        Do not train the models of corruptions from scratch, but for so many epochs from the standard model;
        `standard_from` names a study whose standard models are taken.
    device, processes
        By default the GPU if there is one, and as many processes as fit.
    progress
        Called with (what is being done, images done, images to do).
    """
    plan = plan_overlap(
        suites,
        data,
        out,
        recipe=recipe,
        only=only,
        together=together,
        seeds=seeds,
        test=test,
        classes=classes,
        limit=limit,
        architecture=architecture,
        epochs=epochs,
        fine_tune=fine_tune,
        standard_from=standard_from,
        device=device,
    )
    run_overlap(plan, processes=processes, progress=progress)
    return overlaps(read_overlap(out))


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
) -> OverlapPlan:
    """Plan a study without computing anything; the arguments are those of `overlap`."""
    device = find_device(device)
    recipe = adapt(find_recipe(recipe), architecture, epochs, False)
    seeds = _choose_seeds(seeds)
    suites = [one if isinstance(one, Suite) else load_suite(one) for one in _several(suites)]
    addresses = choose_addresses(suites, only)
    names = entry_names(addresses)
    suite = combine_suites("overlap", addresses, suites, draws_levels=True)
    train_source = open_training_source(data, classes)
    test_source = _open_test(data, test, classes)
    tuned = recipe if fine_tune is None else adapt(recipe, None, fine_tune, True)
    settings = {
        "data": data if isinstance(data, str) else train_source.name,
        "data_fingerprint": train_source.fingerprint(),
        "test": test if test is None or isinstance(test, str) else test_source.name,
        "test_fingerprint": test_source.fingerprint(),
        "classes": classes,
        "limit": limit,
        "recipe": {"name": recipe.name, **recipe.settings()},
        "fine_tuning": None if fine_tune is None else tuned.settings(),
        "suites": [one.to_dict() for one in suites],
        "corruptions": list(addresses),
        "together": [load_suite(name).to_dict() for name in together],
        "seeds": list(seeds),
        "precision": recipe.precision if device.type == "cuda" else "float32",
        "environment": environment(device),
        "scuff": scuff.__version__,
    }
    store = Store(out)
    check_settings(store, SETTINGS, settings, NOTED_ONLY)
    if store.exists(SETTINGS):
        settings["seeds"] = sorted({*settings["seeds"], *read_settings(store, SETTINGS)["seeds"]})
    trainings: dict[str, tuple[str, Corrupted | None]] = {STANDARD: (STANDARD, None)}
    trainings |= {address: (names[address], Corrupted(suite, (names[address],))) for address in addresses}
    for one in map(load_suite, together):
        drawn = replace(one, draws_levels=True)
        trainings[f"all:{one.name}"] = (f"all-{one.name}", Corrupted(drawn, tuple(one.benchmark())))
    folder = Path(out) / "models"
    cells = []
    for seed in settings["seeds"]:
        start = folder / f"seed-{seed}" / f"{STANDARD}.safetensors"
        if standard_from is not None:
            _borrow(Path(standard_from) / "models" / f"seed-{seed}" / f"{STANDARD}.safetensors", start)
        for trained_on, (name, corrupted) in trainings.items():
            is_tuned = fine_tune is not None and corrupted is not None
            cells.append(
                TrainingCell(
                    trained_on=trained_on,
                    name=name,
                    corrupted=corrupted,
                    seed=seed,
                    recipe=tuned if is_tuned else recipe,
                    start=start if is_tuned else None,
                    out=folder / f"seed-{seed}" / f"{name}.safetensors",
                    source=train_source,
                    device=str(device),
                )
            )
    tested_on = {names[address]: address for address in addresses}
    return OverlapPlan(Path(out), settings, suite, tested_on, cells, test_source, device)


def run_overlap(plan: OverlapPlan, *, processes: int | None = None, progress: Progress | None = None) -> None:
    """Carry out what `plan_overlap` has planned: train what is missing, test what is missing, write the tables."""
    progress = progress or (lambda what, done, total: None)
    save_settings(Store(plan.out), SETTINGS, plan.settings)
    missing = plan.missing()
    starts = {cell.start for cell in missing}
    first = [cell for cell in missing if cell.out in starts]
    rest = [cell for cell in missing if cell.out not in starts]
    total = sum(cell.images for cell in missing)
    done = run_trainings(first, plan.device, processes, progress, 0, total)
    run_trainings(rest, plan.device, processes, progress, done, total)
    evaluation = plan.evaluation()
    run_plan(evaluation, device=plan.device, compile=plan.settings["recipe"]["compile"], progress=progress)
    progress("collecting", 0, 1)
    collect(plan.out, evaluation, plan.cells, plan.tested_on)
    progress("collecting", 1, 1)


def choose_addresses(suites: Sequence[Suite], only: Sequence[str] | None = None) -> list[str]:
    """The corruptions of a study: those that count in the suites, or those that were asked for."""
    if len({suite.name for suite in suites}) < len(suites):
        raise ValueError(f"two suites have one name: {', '.join(suite.name for suite in suites)}")
    every = [(suite, entry) for suite in suites for entry in suite.entries]
    if only is None:
        chosen = [(suite, entry) for suite, entry in every if entry in suite.benchmark()]
    else:
        chosen = [_find(suites, name) for name in only]
    for suite, entry in chosen:
        if get(suite.corruption(entry)).sequence:
            raise ValueError(f"{suite.name}/{entry} is a sequence of frames; overlap is of single corruptions")
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


def _several(suites: str | Suite | Sequence[str | Suite]) -> list[str | Suite]:
    several = [suites] if isinstance(suites, (str, Suite)) else list(suites)
    if not several:
        raise ValueError("no suite is given")
    return several


def _choose_seeds(seeds: int | Sequence[int]) -> list[int]:
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"expected at least one seed, each of them once, got {seeds!r}")
    return numbers


def _open_test(data: str | Source, test: str | Source | None, classes: str | None) -> Source:
    """The test images: those that are given, or the test split of the training images' address."""
    from scuff.data.open import forms

    if test is None:
        form = forms().get(data.partition(":")[0]) if isinstance(data, str) else None
        if form is None or not form.has_splits:
            raise ValueError(
                "these data have no test split of their own; say where the test images are, as in test='folder:val'"
            )
        test = data
    source = open_source(test, classes=classes) if isinstance(test, str) else test
    if isinstance(source, CorruptedSource):
        raise ValueError(f"{source.name} holds corrupted images; the study corrupts clean ones itself")
    return source


def _borrow(theirs: Path, ours: Path) -> None:
    if not ours.exists():
        if not theirs.exists():
            raise ValueError(f"there is no standard model {theirs}; standard_from must be a study with the same seeds")
        ours.parent.mkdir(parents=True, exist_ok=True)
        temporary = ours.with_name(f".scuff-{os.getpid()}.tmp")
        shutil.copyfile(theirs, temporary)
        temporary.replace(ours)
