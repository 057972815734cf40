"""Shifts from folders of `scuff evaluate`: many models on corrupted images, and on natural shifts of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scuff.data.natural import ALL_CLASSES, SUBSETS
from scuff.metrics.validity.shift_tables import complete_shifts
from scuff.metrics.validity.shifts import Shifts
from scuff.store import Store
from scuff.studies.validity.columns import common_levels
from scuff.studies.validity.folders import (
    Evaluated,
    Folder,
    check_images,
    check_models,
    check_natural,
    check_suites,
    compare_classes,
    read_folder,
    settings_of,
)
from scuff.studies.validity.mapping import check_severities

Pairs = Mapping[str, Sequence[tuple[Folder, Folder | None]]]  # benchmark: its folders, each with that of its reference

ALIKE = 0.005  # by which accuracies of one model on the same images may differ: machines round differently
PERCENT = 100  # flips are counted in it


def read_shift_evaluations(
    synthetic: Sequence[Folder], natural: Pairs, *, severities: Iterable[int] | None = None
) -> Shifts:
    """Shifts from evaluations of the same models.

    Parameters
    ----------
    synthetic
        Folders of evaluations by suites of corruptions, all on the same clean images. Corruptions are called
        `suite/entry`; their accuracies are means over severities. Of films (`imagenet-p`), which may be of other
        images, the mean flip probability in percent is a score, called by its suite. Several folders may hold different
        models, or other suites.
    natural
        For every natural benchmark, the folders of its evaluations, each with a folder of the same models on clean
        images of its classes: None where it has all classes.
    severities
        These alone. Default: all that there are.
    """
    return read_noted_evaluations(synthetic, natural, severities=severities)[0]


def read_noted_evaluations(
    synthetic: Sequence[Folder], natural: Pairs, *, severities: Iterable[int] | None = None
) -> tuple[Shifts, list[str]]:
    """The same, and notes on what a reader must know of the images."""
    if not synthetic or not natural:
        raise ValueError("expected evaluations by suites of corruptions, and of natural shifts; one of them is missing")
    corrupted = [read_folder(folder) for folder in synthetic]
    pairs = {name: [(read_folder(f), r and read_folder(r)) for f, r in folders] for name, folders in natural.items()}
    for name, folders in pairs.items():
        check_natural(name, folders)
    references = {name: [r for _, r in folders if r] for name, folders in pairs.items()}
    shifted = {name: [folder for folder, _ in folders] for name, folders in pairs.items()}
    check_models([*corrupted, *(f for its in (*shifted.values(), *references.values()) for f in its)])
    check_suites(corrupted)
    check_images([folder for folder in corrupted if not folder.flips], "clean_fingerprint", "the clean images")
    for suite in {folder.suite.name for folder in corrupted if folder.flips}:
        films = [folder for folder in corrupted if folder.flips and folder.suite.name == suite]
        check_images(films, "source_fingerprint", f"the images of {suite}")
    clean = _merge({folder.root: folder.clean() for folder in corrupted}, "clean images")
    if not clean:
        raise ValueError(
            f"no clean images were evaluated in {' and '.join(folder.root for folder in corrupted)}; evaluate them, "
            "too: of published data with --clean"
        )
    wide = {
        "corrupted": _corrupted(corrupted, check_severities(severities)),
        "natural": {n: _merge({f.root: f.clean() for f in its}, n) for n, its in shifted.items()},
        "references": {n: _merge({f.root: f.clean() for f in its}, n) for n, its in references.items() if its},
        "scores": _flips(corrupted),
    }
    values = [clean, *(column for table in wide.values() for column in table.values())]
    models = list(dict.fromkeys(model for column in values for model in column))
    tables = {what: pd.DataFrame(table, index=models, dtype=float) for what, table in wide.items()}
    classes = frozenset().union(*(folder.classes for folder in corrupted))
    notes = [note for name, folders in pairs.items() for note in compare_classes(name, folders, classes)]
    films = ", ".join(wide["scores"])
    notes += [f"of {films}: mean flip probability in percent, not divided by AlexNet's"] if films else []
    return complete_shifts(pd.Series(clean, dtype=float).reindex(models), **tables), notes


def natural_folders(given: Pairs | Sequence[str]) -> dict[str, list[tuple[Folder, Folder | None]]]:
    """Folders of natural benchmarks from texts `[NAME=]DIR[,REFERENCE]`, as on the command line; a mapping stays.

    Without a name, a benchmark is called as its source is, or else as the folder.

    >>> natural_folders(["imagenet-a=runs/a,runs/val-a", "imagenet-a=runs/more-a,runs/more-val-a"])
    {'imagenet-a': [('runs/a', 'runs/val-a'), ('runs/more-a', 'runs/more-val-a')]}
    """
    if isinstance(given, Mapping):
        return {name: list(folders) for name, folders in given.items()}
    found: dict[str, list[tuple[Folder, Folder | None]]] = {}
    for text in given:
        name, equals, places = text.partition("=")
        if not equals or "/" in name:  # a folder may well be called runs/lr=0.1
            name, places = "", text
        folder, _, reference = (part.strip() for part in places.partition(","))
        if not folder:
            raise ValueError(f"a natural benchmark is given as [NAME=]DIR[,REFERENCE], got {text!r}")
        found.setdefault(name or _natural_name(folder), []).append((folder, reference or None))
    return found


def _natural_name(folder: str) -> str:
    kind = str(settings_of(Store(folder))["source"]).partition(":")[0]
    return kind if kind in (*SUBSETS, *ALL_CLASSES) else os.path.basename(folder.rstrip("/"))


# --- columns --------------------------------------------------------------------------------------------------------


def _merge(
    columns: Mapping[str, Mapping[Any, float]], what: str, value_is: str = "an accuracy", alike: float = ALIKE
) -> dict[Any, float]:
    """The values of several folders; where two have the same, they must be alike."""
    found: dict[Any, float] = {}
    roots: dict[Any, str] = {}
    for root, column in columns.items():
        for key, value in column.items():
            if abs(found.setdefault(key, value) - value) > alike:
                said = key if isinstance(key, str) else f"{key[0]}, {key[1]} {key[2] or ''}".rstrip()
                raise ValueError(
                    f"{said} has {value_is} of {found[key]:.4f} on {what} in {roots[key]}, and of {value:.4f} in "
                    f"{root}; they were evaluated differently: leave one of the folders out"
                )
            roots.setdefault(key, root)
    return found


def _corrupted(folders: Sequence[Evaluated], severities: tuple[int, ...] | None) -> dict[str, dict[str, float]]:
    """{suite/entry: {model: mean accuracy over its levels}}; without the models that lack one of them."""
    found: dict[str, dict[str, float]] = {}
    has_levels = False
    for suite in {folder.suite.name: folder.suite for folder in folders}.values():
        own = {folder.root: folder.accuracies for folder in folders if folder.suite.name == suite.name}
        cells = _merge(own, suite.name)
        levels = {entry: {level for _, of, level in cells if of == entry} for entry in suite.entries}
        graded = {f"{suite.name}/{entry}": its for entry, its in levels.items() if its and its != {0}}
        chosen = common_levels(graded, severities)
        has_levels |= bool(graded)
        for entry in (entry for entry, its in levels.items() if its):
            address = f"{suite.name}/{entry}"
            wanted = [(entry, level) for level in chosen.get(address, [0])]
            models = dict.fromkeys(model for model, of, _ in cells if of == entry)
            found[address] = {
                model: float(np.mean([cells[model, *cell] for cell in wanted]))
                for model in models
                if all((model, *cell) in cells for cell in wanted)
            }
    if severities is not None and not has_levels:
        raise ValueError(f"there are no severities to choose {', '.join(map(str, severities))} from")
    return found


def _flips(folders: Sequence[Evaluated]) -> dict[str, dict[str, float]]:
    """{suite of films: {model: mean flip probability}}."""
    films: dict[str, dict[str, dict[str, float]]] = {}
    for folder in folders:
        if folder.flips:
            films.setdefault(folder.suite.name, {})[folder.root] = folder.flips
    return {suite: _merge(its, suite, "a flip rate", PERCENT * ALIKE) for suite, its in films.items()}
