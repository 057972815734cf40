"""Plan distances: schemes, corruptions, images and the network, checked before anything is computed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from scuff.augment import Scheme, expand_schemes, open_scheme
from scuff.data import Source
from scuff.engine import Engine
from scuff.evaluation.choices import are_sequences
from scuff.metrics.transform_space.nearness import Distances
from scuff.models.classifier import PRECISIONS
from scuff.store import Settings, Store, check_settings, read_settings
from scuff.studies.base import ALWAYS_NOTED, Plan, check_folder, complete_settings, open_engine_of
from scuff.studies.cells import TrainingCell
from scuff.studies.sources import left_out_of, tried
from scuff.studies.transform_space.distances import DistanceWork
from scuff.studies.transform_space.features import SAMPLINGS, open_extractor
from scuff.studies.transform_space.study import DistancesStudy, DistanceStudy, FeatureStudy
from scuff.suites import Suite, load_suite
from scuff.training.images import open_training_source
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import adapt, check_origin

FILE = DistancesStudy.file
MAY_CHANGE = ("data", "schemes", *FeatureStudy.noted, *ALWAYS_NOTED)
EXTRACTOR = "extractor"
EXTRACTOR_SEED = 1_000_000  # of a network that is trained for its features: no classifier of a study has it

Schemes = str | Sequence[str] | Mapping[str, Scheme | str]


def plan_distances(study: DistancesStudy) -> Plan[Distances]:
    """Open everything, check it, and find out which centres and schemes are missing."""
    counts = {"augmentations": study.augmentations, "resamplings": study.resamplings}
    work, engine = open_distances(study, study.schemes, study.suite, study.only, study.severities, **counts)
    return Plan(study, work.settings, work, work.store, engine)


def open_distances(
    study: DistanceStudy[Any],
    schemes: Schemes,
    suite: str | Suite,
    only: Sequence[str] | None,
    severities: Sequence[int] | None,
    *,
    augmentations: int,
    resamplings: int = 1,
) -> tuple[DistanceWork, Engine]:
    """The distances of a study, which may be a part of it only; and the engine."""
    engine, device = open_engine_of(study)
    store, opened = Store(study.out), open_schemes(schemes)  # type: ignore[attr-defined]
    suite = open_suite(suite)
    levels = suite.choose(only, severities)
    if are_sequences(suite, levels):
        raise ValueError(f"{suite.name} holds sequences of frames; distances are to single corruptions")
    counts = {"augmentations": augmentations, "resamplings": resamplings}
    source = open_images(study, **counts)
    extractor, training, origin = _choose_extractor(study, source, store, device)
    settings = {
        "data": study.data if isinstance(study.data, str) else source.name,  # type: ignore[attr-defined]
        "data_fingerprint": source.fingerprint(),
        "suite": suite.to_dict(),
        "levels": {entry: list(chosen) for entry, chosen in levels.items()},
        "schemes": {name: scheme.settings() for name, scheme in opened.items()},
        "extractor": origin,
        "extractor_address": None if training is not None else extractor.address,
        "images": study.images,
        **counts,
        "samples": study.samples if study.sampling == "independent" else 1,
        "sampling": study.sampling,
        "seed": study.seed,
        "precision": choose_precision(study, device),
        **left_out_of(source),
    }
    settings = json.loads(json.dumps(complete_settings(study, settings, device)))
    _join(study, store, settings)
    work = DistanceWork(store, settings, suite, levels, only, severities, opened, extractor, training, source, device)
    return work, engine


def open_suite(suite: str | Suite) -> Suite:
    """A suite by its name or file, or as it is."""
    return suite if isinstance(suite, Suite) else load_suite(suite)


def open_images(study: FeatureStudy[Any], **counts: int) -> Source:
    """The training images of a study; options of its features, and further counts, are checked first."""
    for key, value in {"images": study.images, "samples": study.samples, **counts}.items():
        if type(value) is not int or value < 1:
            raise ValueError(f"{key} must be a whole number of at least 1, got {value!r}")
    if study.precision is not None and study.precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {study.precision!r}")
    if study.sampling not in SAMPLINGS:
        raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {study.sampling!r}")
    source = tried(study, open_training_source(study.data))  # type: ignore[attr-defined]
    if study.images > len(source):
        raise ValueError(f"{source.name} has {len(source)} images, fewer than the {study.images} to measure by")
    return source


def choose_precision(study: FeatureStudy[Any], device: torch.device) -> str:
    """The precision of features."""
    return study.precision or ("bfloat16" if device.type == "cuda" else "float32")


def recipe_of(study: DistanceStudy[Any]) -> Recipe:
    """The recipe, with the architecture and the epochs of the study."""
    if study.recipe is None:
        raise ValueError("give a model for the features, or a recipe to train one by")
    return adapt(find_recipe(study.recipe), study.architecture, study.epochs, False)


def _join(study: DistanceStudy[Any], store: Store, settings: Settings) -> None:
    """Check the settings of a folder that has some. Its schemes stay, and must be the same where names are the same."""
    if study.file == FILE:
        before = check_folder(study, store, settings)
    else:
        before = read_settings(store, FILE) if check_settings(store, FILE, settings, MAY_CHANGE) else None
    if before is None:
        return
    for name, scheme in before["schemes"].items():
        if settings["schemes"].get(name, scheme) != scheme:
            raise ValueError(f"{store.root} holds another scheme called {name}; use another folder, or another name")
    settings["schemes"] = {**before["schemes"], **settings["schemes"]}
    if "images_per_second" in before:
        settings["images_per_second"] = before["images_per_second"]


def _choose_extractor(
    study: DistanceStudy[Any], source: Source, store: Store, device: torch.device
) -> tuple[Any, TrainingCell | None, dict[str, Any]]:
    """The network whose features are used: one that is given, or one that is trained without augmentation."""
    if study.extractor is not None:
        classifier = open_extractor(study.extractor, source)
        return classifier, None, {"name": classifier.name, "fingerprint": classifier.fingerprint()}
    recipe = recipe_of(study)
    file = f"models/{EXTRACTOR}.safetensors"
    path = store.address(file)
    cell = TrainingCell("none", EXTRACTOR, None, EXTRACTOR_SEED, recipe, None, path, source, str(device))
    if store.exists(file):
        check_origin(path, cell.origin())
    return path, cell, {"name": EXTRACTOR, "recipe": {"name": recipe.name, **recipe.settings()}}


def open_schemes(schemes: Schemes) -> dict[str, Scheme]:
    """Schemes by name: names as in "augmix" or "powerset-64", or a mapping from names to schemes of your own."""
    if isinstance(schemes, Mapping):
        opened = {str(name): open_scheme(s) if isinstance(s, str) else s for name, s in schemes.items()}
    else:
        names = [schemes] if isinstance(schemes, str) else list(schemes)
        if not all(isinstance(name, str) for name in names):
            raise ValueError("schemes of your own need names: give them in a mapping, as in {'mine': scheme}")
        opened = {name: open_scheme(name) for name in expand_schemes(names)}
    for name, scheme in opened.items():
        if not isinstance(scheme, Scheme):
            raise ValueError(f"expected a scuff.augment.Scheme for {name}, got {type(scheme).__name__}")
    if not opened:
        raise ValueError("no augmentation scheme is given, as in augmix, autoaugment or powerset-64")
    return opened
