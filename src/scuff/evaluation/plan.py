"""Find out everything that an evaluation will do, and refuse what makes no sense, before anything is computed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

import scuff
from scuff.corruptions import get
from scuff.data import CorruptedSource, Source
from scuff.evaluation.choices import (
    EvaluatedImages,
    Models,
    are_sequences,
    choose_cut,
    choose_levels,
    choose_suite,
    open_images,
    open_models,
)
from scuff.models import Classifier
from scuff.models.classifier import PRECISIONS
from scuff.pictures import Cut
from scuff.store import Settings, Store, check_settings
from scuff.suites import Suite

CLEAN = "clean"  # what rows call the uncorrupted images
SETTINGS = "evaluation.json"
NOTED_ONLY = ("source", "clean", "scuff")  # data may move: it is their fingerprint that must not change


@dataclass(frozen=True)
class Cell:
    """All images, by one entry of the suite, at one severity; None where there are no levels."""

    entry: str
    severity: int | None = None


@dataclass(frozen=True)
class Plan:
    """An evaluation that is ready to run. `settings` is what all its cells share."""

    store: Store
    settings: Settings
    classifiers: dict[str, Classifier]
    fingerprints: dict[str, str]
    suite: Suite
    images: EvaluatedImages
    cells: list[Cell]
    is_sequence: bool

    def source(self, cell: Cell) -> Source:
        """The images of a cell, before the corruption if it is up to us, after it if they were published corrupted."""
        if cell.entry == CLEAN:
            return self.images.clean
        if self.images.are_corrupted:
            return self.images.source.cell(cell.entry, cell.severity)
        return self.images.source

    def cut(self, cell: Cell) -> Cut | None:
        """How the pictures of a cell are brought to one size; None for arrays."""
        cut = self.settings["clean_cut" if cell.entry == CLEAN else "cut"]
        return None if cut is None else Cut(**cut)

    def rows_name(self, model: str, cell: Cell) -> str:
        """The file of a cell's rows: readable, and with a hash of everything that the rows depend on."""
        keys = ("source_fingerprint", "seed", "cut", "as_published", "precision")
        if cell.entry == CLEAN:
            keys = ("clean_fingerprint", "clean_cut", "precision")
        depends = {key: self.settings[key] for key in keys}
        depends |= {"model": self.fingerprints[model], "entry": cell.entry, "severity": cell.severity}
        if cell.entry != CLEAN:
            values = self.settings["suite"]["entries"][cell.entry]
            depends |= {"suite": self.suite.name, "size": self.suite.size, "values": values}
        digest = hashlib.blake2b(json.dumps(depends, sort_keys=True).encode(), digest_size=6).hexdigest()
        level = "" if cell.severity is None else f"-{cell.severity}"
        return f"rows/{model}/{cell.entry}{level}-{digest}.parquet"

    def lacking(self, cell: Cell) -> list[str]:
        """The models whose rows of a cell do not exist yet."""
        return [m for m in self.classifiers if not self.store.exists(self.rows_name(m, cell))]

    def missing(self) -> dict[Cell, list[str]]:
        """The cells that are left to do, with the models that lack them."""
        found = {cell: self.lacking(cell) for cell in self.cells}
        return {cell: models for cell, models in found.items() if models}


def plan_evaluation(
    models: Models,
    suite: Suite | str | os.PathLike[str] | None,
    data: str | Source | CorruptedSource,
    out: str | os.PathLike[str],
    *,
    clean: str | Source | None = None,
    classes: str | None = None,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    validation: bool = False,
    seed: int = 0,
    limit: int | None = None,
    resize: int | None = None,
    crop: int | None = None,
    as_published: bool = False,
    precision: str = "float32",
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Plan:
    """Plan an evaluation without computing anything; the arguments are those of `evaluate`."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    store = Store(out)
    images = open_images(data, clean, classes, limit)
    suite = choose_suite(suite, images.source)
    levels = choose_levels(suite, images.source, only, severities, validation)
    is_sequence = are_sequences(suite, levels)
    cells = [Cell(entry, severity) for entry, its in levels.items() for severity in its]
    if images.clean is not None and not is_sequence:
        cells.insert(0, Cell(CLEAN))
    classifiers = open_models(models, mean, std)
    example = images.example()
    settings = {
        **images.settings(),
        "limit": limit,
        "classes": classes,
        "images": len(example),
        "class_names": list(example.class_names),
        "suite": suite.to_dict(),
        "families": {entry: get(suite.corruption(entry)).family for entry in suite.entries},
        "seed": seed,
        "cut": choose_cut(resize, crop, example, classifiers.values()),
        "clean_cut": images.clean and choose_cut(resize, crop, images.clean, classifiers.values()),
        "as_published": as_published,
        "precision": precision,
        "scuff": scuff.__version__,
    }
    check_settings(store, SETTINGS, settings, NOTED_ONLY)
    fingerprints = {name: classifier.fingerprint() for name, classifier in classifiers.items()}
    return Plan(store, settings, classifiers, fingerprints, suite, images, cells, is_sequence)
