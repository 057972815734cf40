"""Accuracies for tests of what is built on overlap studies: models that are as good as a simple law says.

Every corruption takes away some of the accuracy. Training with it gives most of that back, training with another one of
its family gives back a part, and training with anything costs a little clean accuracy. So corruptions of a family
overlap, as those of real studies do.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import scuff
from scuff.corruptions import get
from scuff.metrics import Accuracies
from scuff.store import Store, save_settings
from scuff.studies import OverlapStudy
from scuff.studies.overlap.results import HITS, SETTINGS
from scuff.training import find_recipe

CLEAN_ACCURACY = 0.92


def make_accuracies(
    suites: Sequence[str] = ("noc-candidates", "cifar10-c"),
    seeds: int = 1,
    images: int = 400,
    most: int | None = None,
    useless: Sequence[str] = (),
    whole: Sequence[str] = (),
    first: int = 0,
) -> Accuracies:
    """A table of the scored entries of some suites, `most` of each, and which images each model had right.

    Training with those of `useless` helps against nothing. `whole` names suites for each of which there is a model that
    was trained with all of it.
    """
    loaded = tuple(map(scuff.load_suite, suites))
    families = {
        f"{suite.name}/{entry}": get(suite.corruption(entry)).family
        for suite in loaded
        for entry in suite.benchmark()[:most]
    }
    names = tuple(families)
    rows, columns = ("standard", *names, *(f"all:{suite}" for suite in whole)), ("clean", *names)
    random = np.random.default_rng(first)
    harm = dict(zip(names, random.uniform(0.15, 0.5, len(names)), strict=True))
    shares = np.full((len(rows), len(columns)), CLEAN_ACCURACY)
    for i, row in enumerate(rows):
        for j, name in enumerate(columns):
            helped = _help(row, name, families, random) if row not in useless else 0.0
            shares[i, j] -= harm.get(name, 0.0) * (1 - helped) + (0.01 if row != "standard" else 0.0)
    ease = random.uniform(size=(1, 1, images))  # an image is as hard for one model as for another, but for some noise
    jitter = random.normal(0, 0.05, (seeds, len(rows), len(columns), images))
    hits = (ease + jitter) < shares[..., None]
    return Accuracies(rows, columns, hits.mean(axis=-1), tuple(range(seeds)), hits, images, loaded)


def _help(row: str, name: str, families: dict[str, str], random: np.random.Generator) -> float:
    """The share of the harm of a corruption that a model's training takes away."""
    if name == "clean" or row == "standard":
        return 0.0
    if row == name:
        return 0.9
    if row.startswith("all:"):
        return random.uniform(0.1, 0.8)
    return random.uniform(0.3, 0.8) if families[row] == families[name] else random.uniform(-0.08, 0.12)


def made_settings(accuracies: Accuracies) -> dict:
    """What a study would have written down."""
    return {
        "data": "cifar10:data",
        "data_fingerprint": "0123456789abcdef",
        "test": None,
        "classes": None,
        "limit": 200,
        "recipe": {"name": "cifar-fast", **find_recipe("cifar-fast").settings(), "epochs": 12},
        "fine_tuning": None,
        "together": [],
        "suites": [suite.to_dict() for suite in accuracies.suites],
        "corruptions": list(accuracies.corruptions),
        "seeds": list(accuracies.seeds),
        "environment": {"python": "3.11.2", "torch": "2.13.0", "device": "cpu"},
        "options": OverlapStudy(
            [suite.name for suite in accuracies.suites],
            "cifar10:data",
            "runs/made",
            recipe="cifar-fast",
            only=list(accuracies.corruptions),
            epochs=12,
            limit=200,
            seeds=list(accuracies.seeds),
        ).options(),
        "scuff": scuff.__version__,
    }


def save_study(accuracies: Accuracies, folder: Path) -> Path:
    """Write the files that `scuff overlap` would leave in a folder, as far as they are read again."""
    store, file = Store(folder), io.BytesIO()
    names = {"trained_on": accuracies.trained_on, "tested_on": accuracies.tested_on, "seeds": accuracies.seeds}
    np.savez(file, hits=np.packbits(accuracies.hits, axis=3), images=accuracies.images, **names)
    store.write(HITS, file.getvalue())
    save_settings(store, SETTINGS, made_settings(accuracies))
    return folder
