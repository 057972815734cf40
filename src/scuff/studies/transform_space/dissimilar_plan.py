"""What the search for a dissimilar benchmark will measure, found out before anything is computed."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

import scuff
from scuff.data import Source
from scuff.design.transform_space.dissimilar import CANDIDATES, SIZE, TOLERANCE, check_count, check_wanted
from scuff.design.transform_space.groups import LEAST_REFERENCE_LEVELS, LEVELS, ROLES
from scuff.engine import Engine, LocalEngine
from scuff.environment import environment
from scuff.evaluation import plan_evaluation
from scuff.evaluation.choices import Models, open_models
from scuff.evaluation.plan import Plan
from scuff.metrics.evaluation.tables import CLEAN
from scuff.models import Classifier
from scuff.store import Store, check_settings
from scuff.studies.sources import open_test_source
from scuff.studies.transform_space.encoders import CentreCell, Encoders, plan_encoders
from scuff.studies.transform_space.features import SAMPLINGS, open_extractor
from scuff.suites import Levels, Suite, load_suite
from scuff.training.images import open_training_source

SETTINGS = "dissimilar.json"
IMAGES, SAMPLES = 100, 100
CHOICE = ("levels", "name", "size", "tolerance", "benchmarks", "spread")  # what is chosen from what was measured
NOTED_ONLY = (*CHOICE, "result", "data", "test", "addresses", "device", "environment", "scuff")  # files may move


@dataclass(frozen=True)
class DissimilarPlan:
    """A search that is ready to run. A repetition has a classifier and an extractor of its own."""

    store: Store
    settings: dict[str, Any]
    evaluations: dict[str, Plan]  # by role
    repetitions: list[tuple[str, Classifier]]  # the name of the classifier, and the extractor
    source: Source  # of the training images
    device: torch.device
    engine: Engine

    def suite(self, role: str) -> Suite:
        """The suite of a role."""
        return self.evaluations[role].suite

    def levels(self, role: str) -> dict[str, Levels]:
        """The entries of a role, and their severities."""
        found: dict[str, Levels] = {}
        for cell in self.evaluations[role].cells:
            if cell.entry != CLEAN:
                found[cell.entry] = (*found.get(cell.entry, ()), cell.severity)
        return found

    @property
    def images_per_centre(self) -> int:
        """Images that go through an extractor for the centre of a cell."""
        settings = self.settings
        return settings["images"] * (1 if settings["sampling"] == "joint" else settings["samples"])

    def encoders(self) -> Encoders:
        """The extractor and the images of every repetition, which workers open."""
        extractors, keys = [extractor for _, extractor in self.repetitions], ("images", "seed", "precision")
        return plan_encoders(extractors, self.source, device=self.device, **{key: self.settings[key] for key in keys})

    def centre_cells(self) -> list[CentreCell]:
        """All centres, of an entry at all severities at once; a suite is known by its role."""
        return [
            CentreCell(role, entry, levels, repetition, centre_file(repetition, role, entry))
            for repetition in range(len(self.repetitions))
            for role in ROLES
            for entry, levels in self.levels(role).items()
        ]

    def missing_centres(self) -> list[CentreCell]:
        """The centres that are not there yet."""
        there = set(self.store.names("centres", ".npz"))
        return [cell for cell in self.centre_cells() if cell.file not in there]

    def remarks(self) -> list[str]:
        """What one should know before one believes the result."""
        said = []
        if any(self.evaluations[ROLES[0]].fingerprints[name] == own.fingerprint() for name, own in self.repetitions):
            said.append("a network is both classifier and extractor; the authors take two that were trained apart")
        if len(self.repetitions) == 1:
            said.append("one repetition: how far shifts can be told is unknown; the authors have ten")
        return said


def plan_dissimilar(
    reference: str | Suite,
    candidates: str | Suite,
    data: str | Source,
    out: str | os.PathLike[str],
    *,
    models: Models,
    extractors: Models,
    only: Sequence[str] | None = None,
    test: str | Source | None = None,
    limit: int | None = None,
    images: int = IMAGES,
    samples: int = SAMPLES,
    sampling: str = "independent",
    size: int = SIZE,
    tolerance: float = TOLERANCE,
    benchmarks: int = CANDIDATES,
    spread: float | None = None,
    name: str = "dissimilar",
    seed: int = 0,
    precision: str | None = None,
    device: str | torch.device | None = None,
    engine: Engine | None = None,
) -> DissimilarPlan:
    """Plan the search without computing anything; the arguments are those of `dissimilar`."""
    check_wanted(size, tolerance, benchmarks, spread, seed)
    for key, value in (("images", images), ("samples", samples)):
        if type(value) is not int or value < 1:
            raise ValueError(f"{key} must be a whole number of at least 1, got {value!r}")
    if sampling not in SAMPLINGS:
        raise ValueError(f"sampling must be one of {', '.join(SAMPLINGS)}, got {sampling!r}")
    engine = engine or LocalEngine()
    store, device = Store(out), engine.find_device(device)
    precision = precision or ("bfloat16" if device.type == "cuda" else "float32")
    suites = dict(zip(ROLES, (_load(reference), _load(candidates)), strict=True))
    chosen = {"reference": suites["reference"].choose(), "candidate": suites["candidate"].choose(only)}
    _check_levels(suites, chosen, spread)
    replace(suites["candidate"], name=name)  # refuses what no suite may be called
    check_count(len(chosen["candidate"]), size)
    train = open_training_source(data)
    if images > len(train):
        raise ValueError(f"{train.name} has {len(train)} images, fewer than the {images} to measure by")
    tested = open_test_source(data, test, None)
    classifiers, seers = open_models(models), open_models(extractors)
    for own in seers.values():
        open_extractor(own, train)
    evaluations = {
        role: plan_evaluation(
            classifiers,
            suites[role],
            tested,
            store.child(f"evaluation-{role}").root,
            only=list(chosen[role]),
            seed=seed,
            limit=limit,
            precision=precision,
        )
        for role in ROLES
    }
    for role, plan in evaluations.items():
        if plan.is_sequence:
            raise ValueError(f"the {role} {suites[role].name} holds sequences of frames; expected single corruptions")
    settings = {
        "reference": suites["reference"].to_dict(),
        "candidates": suites["candidate"].to_dict(),
        "levels": {role: {entry: list(its) for entry, its in chosen[role].items()} for role in ROLES},
        "data": data if isinstance(data, str) else train.name,
        "data_fingerprint": train.fingerprint(),
        "test": test if test is None or isinstance(test, str) else tested.name,
        "test_fingerprint": evaluations["reference"].settings["source_fingerprint"],
        "test_images": evaluations["reference"].settings["images"],
        "models": [{"name": n, "fingerprint": own.fingerprint()} for n, own in classifiers.items()],
        "extractors": [{"name": n, "fingerprint": own.fingerprint()} for n, own in seers.items()],
        "addresses": {
            "models": [own.address for own in classifiers.values()],
            "extractors": [own.address for own in seers.values()],
        },
        "images": images,
        "samples": samples,
        "sampling": sampling,
        "size": size,
        "tolerance": tolerance,
        "benchmarks": benchmarks,
        "spread": spread,
        "name": name,
        "seed": seed,
        "precision": precision,
        "device": str(device),
        "environment": environment(device),
        "scuff": scuff.__version__,
    }
    settings = json.loads(json.dumps(settings))
    check_settings(store, SETTINGS, settings, NOTED_ONLY)
    return DissimilarPlan(store, settings, evaluations, _pair(classifiers, seers), train, device, engine)


def centre_file(repetition: int, role: str, entry: str) -> str:
    """Where the centres of an entry lie, those of all its severities."""
    return f"centres/{repetition}/{role}/{entry}.npz"


def _load(suite: str | Suite) -> Suite:
    return suite if isinstance(suite, Suite) else load_suite(suite)


def _check_levels(suites: dict[str, Suite], chosen: dict[str, dict[str, Levels]], spread: float | None) -> None:
    needs = {"reference": LEAST_REFERENCE_LEVELS if spread is None else 0, "candidate": LEVELS}
    remedies = {
        "reference": "Say with spread (or --spread) by how much errors should differ",
        "candidate": "Leave them out",
    }
    for role, least in needs.items():
        few = [e for e, levels in chosen[role].items() if len([one for one in levels if one is not None]) < least]
        if few:
            raise ValueError(
                f"every {role} needs at least {least} severities; in {suites[role].name} these have fewer or none: "
                f"{', '.join(few)}. {remedies[role]}, or give them lists of values in a suite of your own"
            )


def _pair(classifiers: dict[str, Classifier], extractors: dict[str, Classifier]) -> list[tuple[str, Classifier]]:
    """The repetitions: classifiers and extractors two by two, or all of the ones with the only other."""
    names, seers = list(classifiers), list(extractors.values())
    if len(names) != len(seers) and 1 not in (len(names), len(seers)):
        raise ValueError(
            f"every repetition has a model and an extractor: give as many of both, or one for all; got {len(names)} "
            f"models and {len(seers)} extractors"
        )
    count = max(len(names), len(seers))
    return [(names[number % len(names)], seers[number % len(seers)]) for number in range(count)]
