"""What a folder of `scuff evaluate` holds for each model, and whether several folders go together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from scuff.data.natural import SUBSETS
from scuff.evaluation.plan import SETTINGS
from scuff.metrics import Resampling, mfr
from scuff.metrics.evaluation.tables import CLEAN
from scuff.store import Settings, Store, read_columns, read_rows, read_settings
from scuff.suites import Suite
from scuff.suites.suite import suite_from_dict
from scuff.words import name_some

Folder = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """One folder: accuracies by (model, entry, severity), 0 where there are no severities; for sequences, flip rates.

    `fingerprints` are those of the models, `classes` those of the uncorrupted images.
    """

    root: str
    settings: Settings
    suite: Suite
    fingerprints: dict[str, str]
    accuracies: dict[tuple[str, str, int], float] = field(default_factory=dict)
    flips: dict[str, float] = field(default_factory=dict)
    classes: frozenset[int] = frozenset()

    def clean(self) -> dict[str, float]:
        """The accuracies of the models on uncorrupted images."""
        return {model: value for (model, entry, _), value in self.accuracies.items() if entry == CLEAN}

    @property
    def subset(self) -> str | None:
        """The benchmark whose classes these images are restricted to, if any."""
        kinds = self.settings.get("classes"), str(self.settings["source"]).partition(":")[0]
        return next((kind for kind in kinds if kind in SUBSETS), None)


def settings_of(store: Store) -> Settings:
    """The settings of an evaluation."""
    check_exists(store.root)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of an evaluation: there is no {SETTINGS} in it")
    return read_settings(store, SETTINGS)


def check_exists(place: Folder) -> None:
    """Refuse a mistyped name; addresses on other machines are not looked up."""
    if "://" not in os.fspath(place) and not os.path.exists(place):
        raise ValueError(f"there is no file or folder {os.fspath(place)}")


def read_folder(folder: Folder) -> Evaluated:
    """The accuracies in the folder of an evaluation; an unfinished one is read as far as it is."""
    store = Store(folder)
    settings = settings_of(store)
    suite = suite_from_dict(settings["suite"], SETTINGS)
    names = store.names("rows", ".parquet")
    models = [read_settings(store, name) for name in store.names("models", ".json")]
    fingerprints = {model["name"]: model["fingerprint"] for model in models}
    if "frame" in read_rows(store, names[:1]):
        return Evaluated(store.root, settings, suite, fingerprints, flips=_read_flips(store, names, suite))
    accuracies, classes = {}, set()
    for name in names:
        *cell, label, prediction = read_columns(store, name, ["model", "corruption", "severity", "label", "prediction"])
        model, entry, level = (column[0] for column in cell)
        accuracies[str(model), str(entry), int(level)] = float(np.mean(label == prediction))
        if entry == CLEAN:
            classes |= set(np.unique(label).tolist())
    return Evaluated(store.root, settings, suite, fingerprints, accuracies, classes=frozenset(classes))


def _read_flips(store: Store, names: list[str], suite: Suite) -> dict[str, float]:
    """Mean flip probabilities in percent, of the models whose sequences are complete."""
    cells: dict[str, list[str]] = {}
    for name in names:
        cells.setdefault(str(read_columns(store, name, ["model"])[0][0]), []).append(name)
    complete = max(map(len, cells.values()))
    value_only = Resampling(count=1)
    return {  # sequences are large: read the rows of one model at a time
        model: mfr(read_rows(store, files), baseline=None, suite=suite, resampling=value_only).value
        for model, files in cells.items()
        if len(files) == complete
    }


def check_same(values: Iterable[tuple[str, str | None, str]], message: str) -> None:
    """Refuse two folders in which one name has different values, out of (name, value, folder). None is unknown."""
    seen: dict[str, tuple[str, str]] = {}
    for name, value, root in values:
        if value is not None:
            first, where = seen.setdefault(name, (value, root))
            if first != value:
                raise ValueError(message.format(name=name, first=where, second=root))


def check_classes(name: str, folders: Sequence[tuple[Evaluated, Evaluated | None]]) -> None:
    """A natural benchmark with some of the classes needs a clean reference with the same classes."""
    for folder, reference in folders:
        if folder.subset is None:
            continue
        command = f"scuff evaluate MODEL... --data folder:VAL --classes {folder.subset} --out REFERENCE"
        if reference is None:
            raise ValueError(
                f"{folder.root} has only the classes of {folder.subset}, so it is compared with clean images of these "
                f"classes; make them with {command}, and give both folders: {name}={folder.root},REFERENCE"
            )
        if reference.subset != folder.subset:
            raise ValueError(
                f"{reference.root} does not have the classes of {folder.subset} alone, as {folder.root} has; make a "
                f"reference with {command}"
            )


def compare_classes(
    name: str, folders: Sequence[tuple[Evaluated, Evaluated | None]], clean: frozenset[int]
) -> list[str]:
    """Notes on natural images whose classes differ from those of their reference, or else from the `clean` ones."""
    notes = []
    for folder, reference in folders:
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
