"""Folders of pictures: a folder per class, or a flat one with a file of labels."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scuff.data.imagenet import wordnet_ids
from scuff.data.source import Source, numbered, picture_source
from scuff.data.stored import StoredPictures
from scuff.pictures import find_pictures
from scuff.readers import read_json

LABEL_FILES = ("labels.json", "labels.csv")


def open_folder(path: Path) -> Source:
    """`folder:DIR`. A file of labels in it, if there is one, decides; otherwise the folders in it are the classes."""
    check_folder(path)
    names = find_pictures(path)
    for file in LABEL_FILES:
        if (path / file).is_file():
            labels, class_names = _labels_of(path / file, names)
            break
    else:
        labels, class_names = number_classes(class_folders(path, names))
    return picture_source(path.resolve().name, StoredPictures(path, names), labels, class_names)


def check_folder(path: Path) -> None:
    """Refuse what is no folder."""
    if not path.exists():
        raise ValueError(f"there is no folder {path}")
    if not path.is_dir():
        raise ValueError(f"expected a folder, got the file {path}")


def class_folders(path: Path, names: Sequence[str]) -> list[str]:
    """The class folder of every picture: the first part of its path below `path`."""
    folders = [name.partition("/") for name in names]
    outside = [first for first, slash, _ in folders if not slash]
    if outside:
        raise ValueError(
            f"{path} holds {len(outside)} pictures outside of class folders ({outside[0]}, ...); put every picture "
            f"into a folder per class, or the class of every file into {' or '.join(LABEL_FILES)}"
        )
    return [first for first, _, _ in folders]


def number_classes(classes: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels for the class of every picture, and the classes' names.

    Ids of ImageNet's classes have ImageNet's numbers, however few of them there are. Any other classes are numbered in
    the order of their sorted names, as torchvision's ImageFolder does.

    >>> number_classes(["dog", "cat", "dog"])
    (array([1, 0, 1]), ('cat', 'dog'))
    >>> number_classes(["n01443537"])[0]
    array([1])
    """
    present = sorted(set(classes))
    known = wordnet_ids()
    return number_among(classes, known if set(present) <= set(known) else present)


def number_among(classes: Sequence[str], class_names: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Labels by the place of every picture's class among the names."""
    places = {name: place for place, name in enumerate(class_names)}
    return np.fromiter((places[c] for c in classes), np.int64, len(classes)), tuple(class_names)


def _labels_of(file: Path, names: Sequence[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The labels of all pictures from a file: numbers are indices of classes, anything else is a class's name."""
    table = _read_json(file) if file.suffix == ".json" else _read_csv(file)
    unlabelled, absent = [n for n in names if n not in table], sorted(set(table) - set(names))
    if unlabelled:
        raise ValueError(f"{file} has no label for {len(unlabelled)} of {len(names)} pictures: {unlabelled[0]}, ...")
    if absent:
        raise ValueError(f"{file} names {len(absent)} pictures that are not there: {absent[0]}, ...")
    classes = [table[name] for name in names]
    if not all(label.isdecimal() for label in classes):
        return number_classes(classes)
    labels = np.array([int(label[:18]) for label in classes], np.int64)  # no more digits than 64 bits can hold
    return labels, numbered(f"{file}", labels)


def _read_json(file: Path) -> dict[str, str]:
    table = read_json(
        file.read_bytes(), f"{file}, of the form {{file: class index or name, ...}}", dict[str, int | str]
    )
    return {name: str(label) for name, label in table.items()}


def _read_csv(file: Path) -> dict[str, str]:
    with open(file, encoding="utf-8-sig", newline="") as lines:
        rows = [row for row in csv.reader(lines) if row]
    if rows and [cell.strip() for cell in rows[0]] == ["file", "label"]:
        rows = rows[1:]
    bad = next((row for row in rows if len(row) != 2), None)
    if bad is not None:
        raise ValueError(f"{file}: expected lines of the form file,label, got {','.join(bad)!r}")
    return {name.strip(): label.strip() for name, label in rows}
