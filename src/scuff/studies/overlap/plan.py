"""Plan an overlap study: what it trains and tests on, checked before anything is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from scuff.door import resolve
from scuff.evaluation.choices import open_images
from scuff.metrics.overlap.accuracies import CLEAN, STANDARD
from scuff.metrics.overlap.scores import Overlaps
from scuff.models.open import NAME
from scuff.store import Store, check_settings, read_settings
from scuff.studies.base import Plan, check_folder, complete_settings, open_engine_of
from scuff.studies.cells import TrainingCell, find_trained
from scuff.studies.overlap.study import OverlapStudy
from scuff.studies.overlap.work import OverlapWork
from scuff.studies.sources import check_classes, choose_seeds, left_out_of, open_test_source, tried
from scuff.suites import Suite, combine_suites, load_suite
from scuff.suites.combine import entry_names
from scuff.training.images import open_training_source
from scuff.training.recipes import find_recipe
from scuff.training.run import adapt, check_origin
from scuff.training.treatment import Corrupted


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
        is_tuned = tuned is not None and treatment is not None  # from the standard model
        start = store.address(weights_name(STANDARD, seed)) if is_tuned else None
        out, used = store.address(weights_name(name, seed)), tuned if is_tuned else recipe
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
