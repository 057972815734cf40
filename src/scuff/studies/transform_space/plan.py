"""What a study of distances will encode, found out before anything is computed."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import scuff
from scuff.augment import AugMix, NoAugmentation, Scheme, expand_schemes, open_scheme
from scuff.data import Source
from scuff.engine import Engine, LocalEngine
from scuff.environment import environment
from scuff.evaluation.choices import are_sequences
from scuff.models.classifier import PRECISIONS
from scuff.store import Store, check_settings, read_settings
from scuff.studies.cells import TrainingCell, find_trained
from scuff.studies.transform_space.encoders import CentreCell, Encoders, plan_encoders
from scuff.studies.transform_space.features import SAMPLINGS, open_extractor
from scuff.studies.transform_space.schemes import SchemeCell
from scuff.suites import Levels, Suite, load_suite
from scuff.training.images import open_training_source
from scuff.training.recipes import Recipe, find_recipe
from scuff.training.run import adapt, check_origin

SETTINGS = "distances.json"
# Data may move, and schemes may join.
NOTED_ONLY = ("data", "extractor_address", "schemes", "device", "environment", "images_per_second", "scuff")
EXTRACTOR = "extractor"
EXTRACTOR_SEED = 1_000_000  # of a network that is trained for its features: no classifier of a study has it
IMAGES, SAMPLES, AUGMENTATIONS = 100, 100, 10_000
SHORT = 50  # characters of a scheme's name in the name of a file

Schemes = str | Sequence[str] | Mapping[str, Scheme]


@dataclass(frozen=True)
class DistancePlan:
    """Distances that are ready to be measured."""

    store: Store
    settings: dict[str, Any]
    suite: Suite
    levels: dict[str, Levels]  # by entry
    severities: Sequence[int] | None
    schemes: dict[str, Scheme]
    extractor: Any  # a model, or the file of the one that `training` will train
    training: TrainingCell | None
    data: str | Source
    source: Source  # of the training images, which data are the address of
    device: torch.device
    engine: Engine

    @property
    def images_per_centre(self) -> int:
        """Images that go through the network for the centre of a cell."""
        settings = self.settings
        return settings["images"] * (1 if settings["sampling"] == "joint" else settings["samples"])

    def is_trained(self) -> bool:
        """Whether the network whose features count is there."""
        return self.training is None or self.training.out in find_trained(self.store)

    @property
    def resamplings(self) -> range:
        """The numbers of all resamplings."""
        return range(self.settings["resamplings"])

    def encoders(self) -> Encoders:
        """The network and the images of every resampling, which workers open."""
        keys = ("images", "seed", "precision")
        extractors = [self.extractor] * len(self.resamplings)
        return plan_encoders(extractors, self.source, device=self.device, **{key: self.settings[key] for key in keys})

    def centre_files(self, resampling: int) -> list[str]:
        """Where the centres of all entries lie."""
        return [centre_file(resampling, entry) for entry in self.levels]

    def missing_centres(self) -> list[CentreCell]:
        """The entries whose centres are not there yet."""
        there = set(self.store.names("centres", ".npz"))
        every = [
            CentreCell(self.suite.name, entry, levels, resampling, centre_file(resampling, entry))
            for resampling in self.resamplings
            for entry, levels in self.levels.items()
        ]
        return [cell for cell in every if cell.file not in there]

    def missing_schemes(self) -> list[SchemeCell]:
        """The schemes whose distances are not there yet."""
        there = set(self.store.names("schemes", ".npz"))
        every = [SchemeCell(name, r, scheme_file(r, name)) for r in self.resamplings for name in self.schemes]
        return [cell for cell in every if cell.file not in there]

    def draws(self, name: str) -> int:
        """How many augmentations of a scheme are encoded: one is enough of a scheme that has only one."""
        return 1 if is_constant(self.schemes[name]) else self.settings["augmentations"]

    def encodings(self) -> int:
        """Images that will go through the network."""
        centres = sum(len(cell.levels) for cell in self.missing_centres())
        draws = sum(self.draws(cell.name) for cell in self.missing_schemes())
        return self.images_per_centre * centres + self.settings["images"] * draws


def plan_distances(
    schemes: Schemes,
    suite: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    extractor: Any = None,
    recipe: str | Recipe | None = None,
    architecture: str | None = None,
    epochs: int | None = None,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    images: int = IMAGES,
    samples: int = SAMPLES,
    augmentations: int = AUGMENTATIONS,
    sampling: str = "independent",
    resamplings: int = 1,
    seed: int = 0,
    precision: str | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
) -> DistancePlan:
    """Plan a study without computing anything; the arguments are those of `distances`."""
    engine = engine or LocalEngine()
    store, device = Store(out), engine.find_device(device)
    opened = open_schemes(schemes)
    suite = suite if isinstance(suite, Suite) else load_suite(suite)
    levels = suite.choose(only, severities)
    if are_sequences(suite, levels):
        raise ValueError(f"{suite.name} holds sequences of frames; distances are to single corruptions")
    counts = {"images": images, "samples": samples, "augmentations": augmentations, "resamplings": resamplings}
    for key, value in counts.items():
        if type(value) is not int or value < 1:
            raise ValueError(f"{key} must be a whole number of at least 1, got {value!r}")
    if precision is not None and precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}")
    source = open_training_source(data)
    if images > len(source):
        raise ValueError(f"{source.name} has {len(source)} images, fewer than the {images} to measure by")
    extractor, training, origin = _choose_extractor(extractor, recipe, architecture, epochs, source, store, device)
    settings = {
        "data": data if isinstance(data, str) else source.name,
        "data_fingerprint": source.fingerprint(),
        "suite": suite.to_dict(),
        "levels": {entry: list(its) for entry, its in levels.items()},
        "schemes": {name: scheme.settings() for name, scheme in opened.items()},
        "extractor": origin,
        "extractor_address": None if training is not None else extractor.address,
        **counts,
        "samples": samples if sampling == "independent" else 1,
        "sampling": sampling,
        "seed": seed,
        "precision": precision or ("bfloat16" if device.type == "cuda" else "float32"),
        "device": str(device),
        "environment": environment(device),
        "scuff": scuff.__version__,
    }
    settings = json.loads(json.dumps(settings))
    if check_settings(store, SETTINGS, settings, NOTED_ONLY):
        _join(store, settings)
    return DistancePlan(
        store, settings, suite, levels, severities, opened, extractor, training, data, source, device, engine
    )


def _join(store: Store, settings: dict[str, Any]) -> None:
    """Schemes that a folder has already, of the same name, must be the same; others of the folder stay in it."""
    before = read_settings(store, SETTINGS)
    for name, its in before["schemes"].items():
        if settings["schemes"].get(name, its) != its:
            raise ValueError(f"{store.root} holds another scheme called {name}; use another folder, or another name")
    settings["schemes"] = {**before["schemes"], **settings["schemes"]}
    if "images_per_second" in before:
        settings["images_per_second"] = before["images_per_second"]


def _choose_extractor(
    extractor: Any,
    recipe: str | Recipe | None,
    architecture: str | None,
    epochs: int | None,
    source: Source,
    store: Store,
    device: torch.device,
) -> tuple[Any, TrainingCell | None, dict[str, Any]]:
    """The network whose features count: one that is given, or one that is trained without augmentation."""
    if extractor is not None:
        classifier = open_extractor(extractor, source)
        return classifier, None, {"name": classifier.name, "fingerprint": classifier.fingerprint()}
    if recipe is None:
        raise ValueError("give a model for the features, or a recipe to train one by")
    recipe = adapt(find_recipe(recipe), architecture, epochs, False)
    file = f"models/{EXTRACTOR}.safetensors"
    path = store.address(file)
    cell = TrainingCell("none", EXTRACTOR, None, EXTRACTOR_SEED, recipe, None, path, source, str(device))
    if store.exists(file):
        check_origin(path, cell.origin())
    return path, cell, {"name": EXTRACTOR, "recipe": {"name": recipe.name, **recipe.settings()}}


def open_schemes(schemes: Schemes) -> dict[str, Scheme]:
    """Schemes by name: of names, as in "augmix" or "powerset-64", or of schemes of your own that have names."""
    if isinstance(schemes, Mapping):
        found = {str(name): open_scheme(one) if isinstance(one, str) else one for name, one in schemes.items()}
    else:
        names = [schemes] if isinstance(schemes, str) else list(schemes)
        if not all(isinstance(name, str) for name in names):
            raise ValueError("schemes of your own need names: give them in a mapping, as in {'mine': scheme}")
        found = {name: open_scheme(name) for name in expand_schemes(names)}
    for name, one in found.items():
        if not isinstance(one, Scheme):
            raise ValueError(f"expected a scuff.augment.Scheme for {name}, got {type(one).__name__}")
    if not found:
        raise ValueError("no augmentation scheme is given, as in augmix, autoaugment or powerset-64")
    return found


def is_constant(scheme: Scheme) -> bool:
    """Whether all draws of a scheme are the same."""
    return isinstance(scheme, NoAugmentation) or (isinstance(scheme, AugMix) and not scheme.operations)


# --- names of files -------------------------------------------------------------------------------------------------


def short_name(name: str) -> str:
    """The name of a scheme as letters, digits and . _ - only, and not too long; no two names have the same.

    >>> short_name("powerset:rotate+shear_x")
    'powerset-rotate-shear_x-0d23e8fc3dcc2a26'
    """
    plain = re.sub(r"[^\w.-]", "-", name, flags=re.ASCII)[:SHORT]
    return f"{plain}-{hashlib.blake2b(name.encode(), digest_size=8).hexdigest()}"


def centre_file(resampling: int, entry: str) -> str:
    """Where the centres of an entry lie, those of all its severities."""
    return f"centres/{resampling}/{entry}.npz"


def scheme_file(resampling: int, name: str) -> str:
    """Where the distances of a scheme lie."""
    return f"schemes/{resampling}/{short_name(name)}.npz"
