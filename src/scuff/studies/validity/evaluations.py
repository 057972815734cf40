"""Shifts from folders of `scuff evaluate`: many models on corrupted images, and on natural shifts of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pandas as pd

from scuff.data.natural import ALL_CLASSES, SUBSETS
from scuff.metrics.validity.shifts import CORRUPTED, NATURAL, REFERENCE, SCORE, Shifts
from scuff.store import Store
from scuff.studies.validity.cells import CLEAN, NO_LEVEL, Cell, make_shifts
from scuff.studies.validity.folders import (
    Evaluated,
    Folder,
    check_classes,
    check_same,
    compare_classes,
    read_folder,
    settings_of,
)

Pairs = Mapping[str, Sequence[tuple[Folder, Folder | None]]]  # benchmark: its folders, each with that of its reference
ReadPairs = Mapping[str, Sequence[tuple[Evaluated, Evaluated | None]]]

# Largest difference between two evaluations of a model on the same images, as machines round differently.
TOLERANCE, FLIP_TOLERANCE = 0.005, 0.5  # flip rates are in percent


def read_shift_evaluations(
    synthetic: Sequence[Folder], natural: Pairs, *, severities: Iterable[int] | None = None
) -> Shifts:
    """Shifts from evaluations of the same models.

    Parameters
    ----------
    synthetic
        Folders of evaluations by suites of corruptions, all on the same clean images. Corruptions are called
        `suite/entry`; their accuracies are means over severities. The score of a suite of sequences (`imagenet-p`),
        which may be of other images, is its mean flip probability in percent. Several folders may hold different
        models, or other suites.
    natural
        For every natural benchmark, the folders of its evaluations, each with a folder of the same models on clean
        images of its classes, or None if it has all classes.
    severities
        Use only these (default: all).
    """
    return read_noted_evaluations(synthetic, natural, severities=severities)[0]


def read_noted_evaluations(
    synthetic: Sequence[Folder], natural: Pairs, *, severities: Iterable[int] | None = None
) -> tuple[Shifts, list[str]]:
    """The same, with notes on what a reader must know about the images."""
    if not synthetic or not natural:
        raise ValueError("a study needs evaluations by suites of corruptions and of natural shifts; one is missing")
    corrupted = [read_folder(folder) for folder in synthetic]
    pairs = {name: [(read_folder(f), r and read_folder(r)) for f, r in folders] for name, folders in natural.items()}
    _check_folders(corrupted, pairs)  # type: ignore[arg-type]
    values: dict[Cell, dict[str, tuple[float, str]]] = {}  # of the models, each with its folder
    for cell, model, value, root in _list_values(corrupted, pairs):  # type: ignore[arg-type]
        first, where = values.setdefault(cell, {}).setdefault(model, (value, root))
        if abs(first - value) > (FLIP_TOLERANCE if cell[0] == SCORE else TOLERANCE):
            what = "a flip rate" if cell[0] == SCORE else "an accuracy"
            images = f"{cell[1] or 'clean images'} {cell[2] or ''}".rstrip()
            raise ValueError(
                f"{model} has {what} of {first:.4f} on {images} in {where}, and of {value:.4f} in {root}; they were "
                "evaluated differently: leave one of the folders out"
            )
    if (CLEAN, "", NO_LEVEL) not in values:
        raise ValueError(
            f"no clean images were evaluated in {' and '.join(folder.root for folder in corrupted)}; evaluate them as "
            "well: for published data with --clean"
        )
    models = list(dict.fromkeys(model for column in values.values() for model in column))
    cells = {c: pd.Series({m: v for m, (v, _) in column.items()}).reindex(models) for c, column in values.items()}
    classes = frozenset().union(*(folder.classes for folder in corrupted))
    notes = [note for name, folders in pairs.items() for note in compare_classes(name, folders, classes)]  # type: ignore[arg-type]
    sequences = ", ".join(name for kind, name, _ in cells if kind == SCORE)
    notes += [f"of {sequences}: mean flip probability in percent, not divided by AlexNet's"] if sequences else []
    return make_shifts(cells, severities), notes


def natural_folders(given: Pairs | Sequence[str]) -> dict[str, list[tuple[Folder, Folder | None]]]:
    """Folders of natural benchmarks from texts `[NAME=]DIR[,REFERENCE]`, as on the command line; a mapping stays.

    Without a name, a benchmark is called after its source, or else after its folder.

    >>> natural_folders(["imagenet-a=runs/a,runs/val-a", "imagenet-a=runs/more-a,runs/more-val-a"])
    {'imagenet-a': [('runs/a', 'runs/val-a'), ('runs/more-a', 'runs/more-val-a')]}
    """
    if isinstance(given, Mapping):
        return {name: list(folders) for name, folders in given.items()}
    folders: dict[str, list[tuple[Folder, Folder | None]]] = {}
    for text in given:
        name, equals, places = text.partition("=")
        if not equals or "/" in name:  # a folder may well be called runs/lr=0.1
            name, places = "", text
        folder, _, reference = (part.strip() for part in places.partition(","))
        if not folder:
            raise ValueError(f"a natural benchmark is given as [NAME=]DIR[,REFERENCE], got {text!r}")
        if not name:
            kind = str(settings_of(Store(folder))["source"]).partition(":")[0]
            name = kind if kind in (*SUBSETS, *ALL_CLASSES) else os.path.basename(folder.rstrip("/"))
        folders.setdefault(name, []).append((folder, reference or None))
    return folders


def _check_folders(corrupted: Sequence[Evaluated], pairs: ReadPairs) -> None:
    """One name must mean one model, one suite, and one set of images."""
    everything = [*corrupted, *(f for folders in pairs.values() for pair in folders for f in pair if f)]
    for name, folders in pairs.items():
        check_classes(name, folders)
    check_same(
        [(model, value, folder.root) for folder in everything for model, value in folder.fingerprints.items()],
        "{name} is not the same model in {first} and in {second}; rename one, as in scuff evaluate other=ADDRESS",
    )
    check_same(
        [(folder.suite.name, folder.suite.fingerprint(), folder.root) for folder in corrupted],
        "{first} and {second} were made with different suites called {name}",
    )
    images = [("the clean images", "clean_fingerprint", folder) for folder in corrupted if not folder.flips]
    images += [(f"the images of {f.suite.name}", "source_fingerprint", f) for f in corrupted if f.flips]
    for name, folders in pairs.items():
        for what, each in zip(
            ("the images", "the clean images of the classes"), zip(*folders, strict=True), strict=True
        ):
            images += [(f"{what} of {name}", "source_fingerprint", folder) for folder in each if folder]
    check_same(
        [(name, folder.settings.get(key), folder.root) for name, key, folder in images],
        "{name} must be the same ones for all models; {first} and {second} have different ones",
    )


def _list_values(corrupted: Sequence[Evaluated], pairs: ReadPairs) -> Iterator[tuple[Cell, str, float, str]]:
    """All values of all folders. Those on clean images come first: they determine the order of the models."""
    for folder in corrupted:
        for model, value in folder.clean().items():
            yield (CLEAN, "", NO_LEVEL), model, value, folder.root
    for suite in {folder.suite.name: folder.suite for folder in corrupted}.values():
        for entry in suite.entries:
            for folder in corrupted:
                for (model, name, level), value in folder.accuracies.items():
                    if (folder.suite.name, name) == (suite.name, entry):
                        yield (CORRUPTED, f"{suite.name}/{entry}", level), model, value, folder.root
    for place, kind in enumerate((NATURAL, REFERENCE)):
        for name, folders in pairs.items():
            for folder in (pair[place] for pair in folders if pair[place]):
                for model, value in folder.clean().items():
                    yield (kind, name, NO_LEVEL), model, value, folder.root
    for folder in corrupted:
        for model, value in folder.flips.items():
            yield (SCORE, folder.suite.name, NO_LEVEL), model, value, folder.root
