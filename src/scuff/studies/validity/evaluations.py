"""Shifts from folders of `scuff evaluate`: many models on corrupted images, and on natural shifts of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scuff.data.natural import ALL_CLASSES, SUBSETS
from scuff.evaluation.plan import SETTINGS
from scuff.evaluation.results import OfModel, Shared
from scuff.metrics import Resampling, mfr
from scuff.metrics.evaluation.tables import CLEAN as CLEAN_ROWS
from scuff.metrics.validity.shift_tables import CLEAN, NO_LEVEL, Cell, make_shifts
from scuff.metrics.validity.shifts import CORRUPTED, NATURAL, REFERENCE, SCORE, Shifts
from scuff.store import Settings, Store, open_results, read_columns, read_rows, read_settings
from scuff.suites import Suite
from scuff.suites.suite import suite_from_dict
from scuff.words import name_some

Folder = str | os.PathLike[str]
Pairs = Mapping[str, Sequence[tuple[Folder, Folder | None]]]  # benchmark: its folders, each with that of its reference

# Largest difference between two evaluations of a model on the same images, as machines round differently.
TOLERANCE, FLIP_TOLERANCE = 0.005, 0.5  # flip rates are in percent
FLIPS = ""  # stands for the entry where a value is the flip rate of a whole suite of sequences


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One folder: accuracies by (model, entry, severity), severity 0 where there is none; for sequences, flip rates.

    `fingerprints` are those of the models, `classes` those of the uncorrupted images.
    """

    root: str
    settings: Settings
    suite: Suite
    fingerprints: dict[str, str]
    values: dict[tuple[str, str, int], float]
    classes: frozenset[int]

    @property
    def has_flips(self) -> bool:
        return any(entry == FLIPS for _, entry, _ in self.values)

    @property
    def subset(self) -> str | None:
        """The benchmark whose classes these images are restricted to, if any."""
        kinds = self.settings.get("classes"), str(self.settings["source"]).partition(":")[0]
        return next((kind for kind in kinds if kind in SUBSETS), None)


ReadPairs = dict[str, list[tuple[Evaluated, Evaluated | None]]]


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
    return read_noted_evaluations(synthetic, natural, severities)[0]


def read_noted_evaluations(
    synthetic: Sequence[Folder], natural: Pairs, severities: Iterable[int] | None = None
) -> tuple[Shifts, list[str]]:
    """The same, with notes on what a reader must know about the images."""
    if not synthetic or not natural:
        raise ValueError("a study needs evaluations by suites of corruptions and of natural shifts; one is missing")
    corrupted = [read_folder(folder) for folder in synthetic]
    pairs: ReadPairs = {
        name: [(read_folder(folder), None if reference is None else read_folder(reference)) for folder, reference in of]
        for name, of in natural.items()
    }
    _check_folders(corrupted, pairs)
    cells = _gather(corrupted, pairs)
    if (CLEAN, "", NO_LEVEL) not in cells:
        raise ValueError(
            f"no clean images were evaluated in {' and '.join(folder.root for folder in corrupted)}; evaluate them as "
            "well: for published data with --clean"
        )
    notes = _compare_classes(pairs, frozenset().union(*(folder.classes for folder in corrupted)))
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
            kind = str(_open(folder)[1]["source"]).partition(":")[0]
            name = kind if kind in (*SUBSETS, *ALL_CLASSES) else os.path.basename(folder.rstrip("/"))
        folders.setdefault(name, []).append((folder, reference or None))
    return folders


# --- one folder -------------------------------------------------------------------------------------------------------


def check_exists(place: Folder) -> None:
    """Refuse a mistyped name; addresses on other machines are not looked up."""
    if "://" not in os.fspath(place) and not os.path.exists(place):
        raise ValueError(f"there is no file or folder {os.fspath(place)}")


def read_folder(folder: Folder) -> Evaluated:
    """The accuracies in the folder of an evaluation; an unfinished one is read as far as it is."""
    store, settings = _open(folder)
    suite = suite_from_dict(settings["suite"], SETTINGS)
    names = store.names("rows", ".parquet")
    models = [read_settings(store, name, OfModel) for name in store.names("models", ".json")]
    values: dict[tuple[str, str, int], float] = {}
    classes: set[int] = set()
    if "frame" in read_rows(store, names[:1]):
        values = {(model, FLIPS, NO_LEVEL): value for model, value in _read_flips(store, names, suite).items()}
        names = []
    for name in names:
        *cell, label, prediction = read_columns(store, name, ["model", "corruption", "severity", "label", "prediction"])
        model, entry, level = (column[0] for column in cell)
        values[str(model), str(entry), int(level)] = float(np.mean(label == prediction))
        classes |= set(np.unique(label).tolist()) if entry == CLEAN_ROWS else set()
    fingerprints = {model["name"]: model["fingerprint"] for model in models}
    return Evaluated(store.root, settings, suite, fingerprints, values, frozenset(classes))


def _open(folder: Folder) -> tuple[Store, Settings]:
    check_exists(Store(folder).root)
    store = open_results(folder, SETTINGS, "an evaluation")
    return store, read_settings(store, SETTINGS, Shared)


def _read_flips(store: Store, names: list[str], suite: Suite) -> dict[str, float]:
    """Mean flip probabilities in percent, of the models whose sequences are complete."""
    files_of: dict[str, list[str]] = {}
    for name in names:
        files_of.setdefault(str(read_columns(store, name, ["model"])[0][0]), []).append(name)
    complete = max(map(len, files_of.values()))
    return {  # sequences are large: read the rows of one model at a time
        model: mfr(read_rows(store, files), baseline=None, suite=suite, resampling=Resampling(count=1)).value
        for model, files in files_of.items()
        if len(files) == complete
    }


# --- several folders together -----------------------------------------------------------------------------------------


def _gather(corrupted: Sequence[Evaluated], pairs: ReadPairs) -> dict[Cell, pd.Series]:
    """The values of all folders. Those on clean images come first: they determine the order of the models."""
    sources = [(CLEAN, "", folder, CLEAN_ROWS) for folder in corrupted]
    for suite in {folder.suite.name: folder.suite for folder in corrupted}.values():
        of_suite = [folder for folder in corrupted if folder.suite.name == suite.name]
        sources += [(CORRUPTED, f"{suite.name}/{entry}", each, entry) for entry in suite.entries for each in of_suite]
    for place, kind in enumerate((NATURAL, REFERENCE)):
        sources += [(kind, name, f, CLEAN_ROWS) for name, of in pairs.items() for pair in of if (f := pair[place])]
    sources += [(SCORE, folder.suite.name, folder, FLIPS) for folder in corrupted]
    values: dict[Cell, dict[str, tuple[float, str]]] = {}  # of the models, each with its folder
    for kind, name, folder, wanted in sources:
        tolerance, what = (FLIP_TOLERANCE, "a flip rate") if kind == SCORE else (TOLERANCE, "an accuracy")
        for (model, entry, level), value in folder.values.items():
            if entry != wanted:
                continue
            first, where = values.setdefault((kind, name, level), {}).setdefault(model, (value, folder.root))
            if abs(first - value) > tolerance:
                images = f"{name or 'clean images'} {level or ''}".rstrip()
                raise ValueError(
                    f"{model} has {what} of {first:.4f} on {images} in {where}, and of {value:.4f} in {folder.root}; "
                    "they were evaluated differently: leave one of the folders out"
                )
    models = list(dict.fromkeys(model for column in values.values() for model in column))
    return {c: pd.Series({m: v for m, (v, _) in column.items()}).reindex(models) for c, column in values.items()}


def _check_folders(corrupted: Sequence[Evaluated], pairs: ReadPairs) -> None:
    """One name must mean one model, one suite, and one set of images; a part of the classes needs its reference."""
    everything = [*corrupted, *(f for folders in pairs.values() for pair in folders for f in pair if f)]
    images = [(f"the images of {f.suite.name}", "source_fingerprint", f) for f in corrupted if f.has_flips]
    images += [("the clean images", "clean_fingerprint", folder) for folder in corrupted if not folder.has_flips]
    for name, folders in pairs.items():
        for folder, reference in folders:
            _check_reference(name, folder, reference)
            images.append((f"the images of {name}", "source_fingerprint", folder))
            if reference is not None:
                images.append((f"the clean images of the classes of {name}", "source_fingerprint", reference))
    _check_same(
        [(model, value, folder.root) for folder in everything for model, value in folder.fingerprints.items()],
        "{name} is not the same model in {first} and in {second}; rename one, as in scuff evaluate other=ADDRESS",
    )
    _check_same(
        [(folder.suite.name, folder.suite.fingerprint(), folder.root) for folder in corrupted],
        "{first} and {second} were made with different suites called {name}",
    )
    _check_same(
        [(name, folder.settings.get(key), folder.root) for name, key, folder in images],
        "{name} must be the same ones for all models; {first} and {second} have different ones",
    )


def _check_same(values: Iterable[tuple[str, str | None, str]], message: str) -> None:
    """Refuse two folders in which one name has different values, out of (name, value, folder). None is unknown."""
    seen: dict[str, tuple[str, str]] = {}
    for name, value, root in values:
        if value is not None:
            first, where = seen.setdefault(name, (value, root))
            if first != value:
                raise ValueError(message.format(name=name, first=where, second=root))


def _check_reference(name: str, folder: Evaluated, reference: Evaluated | None) -> None:
    command = f"scuff evaluate MODEL... --data folder:VAL --classes {folder.subset} --out REFERENCE"
    if folder.subset and reference is None:
        raise ValueError(
            f"{folder.root} has only the classes of {folder.subset}, so it is compared with clean images of these "
            f"classes; make them with {command}, and give both folders: {name}={folder.root},REFERENCE"
        )
    if folder.subset and reference is not None and reference.subset != folder.subset:
        raise ValueError(
            f"{reference.root} does not have the classes of {folder.subset} alone, as {folder.root} has; make a "
            f"reference with {command}"
        )


def _compare_classes(pairs: ReadPairs, clean: frozenset[int]) -> list[str]:
    """Notes on natural images whose classes differ from those of their reference, or else from the `clean` ones."""
    notes = []
    for name, folder, reference in ((name, *pair) for name, folders in pairs.items() for pair in folders):
        others, what = (clean, "the clean images") if reference is None else (reference.classes, reference.root)
        alien = sorted(folder.classes - others)
        if alien:
            notes.append(f"{name}: {folder.root} has classes that are not in {what}: {name_some(alien)}")
        elif folder.classes < others:
            notes.append(
                f"{name}: images of {len(folder.classes)} classes are compared with {what} of {len(others)}; give a "
                f"reference of clean images of the same classes: {name}={folder.root},REFERENCE"
            )
    return notes
