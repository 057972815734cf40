"""Natural distribution shifts: other pictures of ImageNet's objects, and the class subsets on which they are scored.

ImageNet-A and -R show 200 of the classes, ObjectNet 113 things that stand for one or more classes each. A model's other
outputs are left out, on the shifted pictures and on the clean reference alike: `restrict` makes the latter from
ImageNet's validation pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from scuff.data.folders import check_folder, class_folders, number_among
from scuff.data.imagenet import objectnet_classes, objectnet_folders, subset, wordnet_ids
from scuff.data.source import Source, picture_source
from scuff.data.stored import StoredPictures
from scuff.pictures import find_pictures

SUBSETS = ("imagenet-a", "imagenet-r", "objectnet")
ALL_CLASSES = ("imagenet-v2", "imagenet-sketch")
OWN_CLASSES = ("imagenet-100",)  # for models that are trained on these classes alone
RED_BORDER = 2  # pixels, around every picture of ObjectNet, to tell it from training data


def open_by_wordnet(benchmark: str, path: Path) -> Source:
    """ImageNet-A, -R and -Sketch: a folder per WordNet id."""
    classes = subset(benchmark) if benchmark in SUBSETS else None
    expected = wordnet_ids() if classes is None else [wordnet_ids()[k] for k in classes.classes]
    remedy = f"it should have a folder for each of {len(expected)} WordNet ids; give the folder that holds these"
    names, folders = _list_classes(path, expected.__contains__, f"class of {benchmark}", remedy)
    labels, class_names = number_among(folders, wordnet_ids())
    return picture_source(benchmark, StoredPictures(path, names), labels, class_names, classes)


def open_imagenet_v2(path: Path) -> Source:
    """ImageNet-V2: a folder per class index, without leading zeros: sorting the names would number them wrongly."""
    remedy = "give the folder of one variant, such as imagenetv2-matched-frequency-format-val"

    def is_class(folder: str) -> bool:
        return folder.isdecimal() and int(folder) < len(wordnet_ids())

    names, folders = _list_classes(path, is_class, "class index from 0 to 999", remedy)
    labels = np.array([int(folder) for folder in folders])
    return picture_source("imagenet-v2", StoredPictures(path, names), labels, wordnet_ids())


def open_objectnet(path: Path) -> Source:
    """ObjectNet: a folder per thing, of which those that ImageNet does not know are left out."""
    if (path / "images").is_dir():  # as it was published
        path = path / "images"
    check_folder(path)
    known = list(objectnet_folders())
    present = [folder for folder in known if (path / folder).is_dir()]
    if not present:
        examples = ", ".join(known[:3])
        raise ValueError(f"{path} has none of ObjectNet's folders, such as {examples}; give what holds them")
    pairs = [(f"{folder}/{name}", folder) for folder in present for name in find_pictures(path / folder)]
    names, folders = zip(*sorted(pairs), strict=True)
    labels, class_names = number_among(folders, known)
    stored = StoredPictures(path, names, RED_BORDER)
    return picture_source("objectnet", stored, labels, class_names, objectnet_classes())


def restrict(source: Source, benchmark: str) -> Source:
    """The images of an ImageNet source whose class belongs to a benchmark, to be scored as the benchmark is.

    Labels become those of the benchmark: for ObjectNet its 113 things, for ImageNet-100 the numbers of its classes from
    0 to 99, otherwise they stay.
    """
    if benchmark in ALL_CLASSES:
        return source
    known = SUBSETS + ALL_CLASSES + OWN_CLASSES
    if benchmark not in known:
        raise ValueError(f"classes can be those of {', '.join(known)}, got {benchmark!r}")
    if not _is_imagenet(source):
        raise ValueError(
            f"{source.name} does not have ImageNet's classes, so that those of {benchmark} cannot be chosen; expected "
            "folders named by WordNet ids, or class indices in a file of labels"
        )
    classes, names = None, wordnet_ids()
    class_of = np.full(len(names), -1)
    if benchmark in OWN_CLASSES:  # every tenth in the order of WordNet ids: what a model with 100 outputs is trained on
        names = names[::10]
        class_of[::10] = np.arange(len(names))
    else:
        classes = objectnet_classes() if benchmark == "objectnet" else subset(benchmark)
        names = tuple(objectnet_folders()) if benchmark == "objectnet" else names
        class_of[list(classes.outputs)] = classes.classes
    positions = np.flatnonzero(class_of[source.labels] >= 0)
    if not len(positions):
        raise ValueError(f"{source.name} has no image of the classes of {benchmark}")
    chosen = source.take(positions)
    name, labels = f"{source.name}[{benchmark}]", class_of[chosen.labels]
    return replace(chosen, name=name, labels=labels, class_names=names, classes=classes)


def _is_imagenet(source: Source) -> bool:
    """By its names, or, where there are only numbers, by their not exceeding the thousand."""
    if source.classes is not None:
        return False
    numbers = all(name.isdecimal() for name in source.class_names)
    return source.class_names == wordnet_ids() or (numbers and len(source.class_names) <= len(wordnet_ids()))


def _list_classes(path: Path, is_class: Callable[[str], bool], what: str, remedy: str) -> tuple[list[str], list[str]]:
    """The pictures in a folder per class, and the folder of each; refused if one is no class."""
    check_folder(path)
    names = find_pictures(path)
    folders = class_folders(path, names)
    strange = sorted(folder for folder in set(folders) if not is_class(folder))
    if strange:
        raise ValueError(f"{path} has {len(strange)} folders that are no {what} ({strange[0]}, ...); {remedy}")
    return names, folders
