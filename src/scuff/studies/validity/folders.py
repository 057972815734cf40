"""What folders of `scuff evaluate` hold of each model, and whether they go together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scuff.data.natural import SUBSETS
from scuff.evaluation.plan import SETTINGS
from scuff.metrics import Resampling, mfr
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.words import name_some
from scuff.store import Settings, Store, read_columns, read_rows, read_settings
from scuff.suites import Suite
from scuff.suites.suite import suite_from_dict

Folder = str | os.PathLike[str]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """What one folder holds: accuracies by (model, entry, level), 0 where there are no levels; of films, flip rates."""

    root: str
    settings: Settings
    suite: Suite
    accuracies: dict[tuple[str, str, int], float]
    flips: dict[str, float]
    fingerprints: dict[str, str]
    classes: frozenset[int] = frozenset()  # of the uncorrupted images

    def clean(self) -> dict[str, float]:
        """The accuracies of the models on uncorrupted images."""
        return {model: value for (model, entry, _), value in self.accuracies.items() if entry == CLEAN}

    @property
    def part(self) -> str | None:
        """The benchmark whose classes these images have, if these are not all."""
        kinds = self.settings.get("classes"), str(self.settings["source"]).partition(":")[0]
        return next((kind for kind in kinds if kind in SUBSETS), None)


def settings_of(store: Store) -> Settings:
    """The settings of an evaluation."""
    check_there(store.root)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of an evaluation: there is no {SETTINGS} in it")
    return read_settings(store, SETTINGS)


def check_there(place: Folder) -> None:
    """Refuse a name that was mistyped; whether there is anything at an address on another machine is not known here."""
    if "://" not in os.fspath(place) and not os.path.exists(place):
        raise ValueError(f"there is no file or folder {os.fspath(place)}")


def read_folder(folder: Folder) -> Evaluated:
    """The accuracies in the folder of an evaluation; one that is not finished is read as far as it is."""
    store = Store(folder)
    settings = settings_of(store)
    suite = suite_from_dict(settings["suite"], SETTINGS)
    names = store.names("rows", ".parquet")
    known = [read_settings(store, name) for name in store.names("models", ".json")]
    fingerprints = {model["name"]: model["fingerprint"] for model in known}
    if "frame" in read_rows(store, names[:1]):
        flips = _read_flips(store, names, suite)
        return Evaluated(store.root, settings, suite, {}, flips, fingerprints)
    found, classes = {}, set()
    for name in names:
        *cell, label, prediction = read_columns(store, name, ["model", "corruption", "severity", "label", "prediction"])
        model, entry, level = (column[0] for column in cell)
        found[str(model), str(entry), int(level)] = float(np.mean(label == prediction))
        if entry == CLEAN:
            classes |= set(np.unique(label).tolist())
    return Evaluated(store.root, settings, suite, found, {}, fingerprints, frozenset(classes))


def _read_flips(store: Store, names: list[str], suite: Suite) -> dict[str, float]:
    """Mean flip probabilities in percent, of the models whose sequences are all there."""
    cells: dict[str, list[str]] = {}
    for name in names:
        cells.setdefault(str(read_columns(store, name, ["model"])[0][0]), []).append(name)
    whole = max(map(len, cells.values()))
    one = Resampling(count=1)  # only the value is wanted
    return {  # films are large: the rows of one model at a time
        model: mfr(read_rows(store, own), baseline=None, suite=suite, resampling=one).value
        for model, own in cells.items()
        if len(own) == whole
    }


# --- what must agree ------------------------------------------------------------------------------------------------


def check_natural(name: str, folders: Sequence[tuple[Evaluated, Evaluated | None]]) -> None:
    """A natural benchmark of some classes needs a reference of the same classes, and all models the same images."""
    for folder, reference in folders:
        if folder.part is None:
            continue
        command = f"scuff evaluate MODEL... --data folder:VAL --classes {folder.part} --out REFERENCE"
        if reference is None:
            raise ValueError(
                f"{folder.root} has a part of the classes, those of {folder.part}, so that it is compared with clean "
                f"images of these; make them with {command}, and give both folders: {name}={folder.root},REFERENCE"
            )
        if reference.part != folder.part:
            raise ValueError(
                f"{reference.root} does not have the classes of {folder.part} alone, as {folder.root} has; make a "
                f"reference with {command}"
            )
    check_images([folder for folder, _ in folders], "source_fingerprint", f"the images of {name}")
    check_images([r for _, r in folders if r], "source_fingerprint", f"the clean images of the classes of {name}")


def compare_classes(
    name: str, folders: Sequence[tuple[Evaluated, Evaluated | None]], clean: frozenset[int]
) -> list[str]:
    """Notes on images of a natural benchmark that are of other classes than what they are compared with.

    That is their reference, or else the clean images, of which `clean` are the classes.
    """
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


def check_images(folders: Sequence[Evaluated], key: str, what: str) -> None:
    """All folders must have the same images, as far as their fingerprints are known."""
    prints = {folder.root: folder.settings.get(key) for folder in folders if folder.settings.get(key) is not None}
    if len(set(prints.values())) > 1:
        first, *others = prints
        other = next(root for root in others if prints[root] != prints[first])
        raise ValueError(f"{what} must be the same ones for all models; {first} and {other} have different ones")


def check_models(folders: Sequence[Evaluated]) -> None:
    """One name must mean one model."""
    seen: dict[str, tuple[str, str]] = {}
    for folder in folders:
        for model, fingerprint in folder.fingerprints.items():
            first, root = seen.setdefault(model, (fingerprint, folder.root))
            if first != fingerprint:
                raise ValueError(
                    f"{model} is not the same model in {root} and in {folder.root}; give one of them another name, as "
                    "in scuff evaluate other=ADDRESS"
                )


def check_suites(folders: Sequence[Evaluated]) -> None:
    """One name must mean one suite."""
    seen: dict[str, tuple[str, str]] = {}
    for folder in folders:
        first, root = seen.setdefault(folder.suite.name, (folder.suite.fingerprint(), folder.root))
        if first != folder.suite.fingerprint():
            raise ValueError(f"{root} and {folder.root} were made with different suites called {folder.suite.name}")
