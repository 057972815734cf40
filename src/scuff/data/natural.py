"""Natural distribution shifts: other pictures of ImageNet's objects, and the class subsets on which they are scored.

ImageNet-A and -R show 200 of the classes, ObjectNet 113 things that stand for one or more classes each. A model's other
outputs are left out, on the shifted pictures and on the clean reference alike: `restrict` makes the latter from
ImageNet's validation pictures.
"""

from __future__ import annotations

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
    names, folders = _listed(path)
    strange = sorted(set(folders) - set(expected))
    if strange:
        raise ValueError(
            f"{path} has {len(strange)} folders that are no class of {benchmark} ({strange[0]}, ...); it should have a "
            f"folder for each of {len(expected)} WordNet ids; give the folder that holds these"
        )
    labels, class_names = number_among(folders, wordnet_ids())
    return picture_source(benchmark, StoredPictures(path, names), labels, class_names, classes)


def open_imagenet_v2(path: Path) -> Source:
    """ImageNet-V2: a folder per class index, without leading zeros: sorting the names would number them wrongly."""
    names, folders = _listed(path)
    strange = sorted(f for f in set(folders) if not (f.isdecimal() and int(f) < len(wordnet_ids())))
    if strange:
        raise ValueError(
            f"{path} has {len(strange)} folders that are no class index from 0 to 999 ({strange[0]}, ...); give the "
            "folder of one variant, such as imagenetv2-matched-frequency-format-val"
        )
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
        raise ValueError(
            f"{path} has none of ObjectNet's folders, such as {', '.join(known[:3])}; give what holds them"
        )
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
    if benchmark in OWN_CLASSES:
        return _every_tenth(source)
    classes = objectnet_classes() if benchmark == "objectnet" else subset(benchmark)
    class_of = np.full(len(wordnet_ids()), -1)
    class_of[list(classes.outputs)] = classes.classes
    positions = np.flatnonzero(class_of[source.labels] >= 0)
    if not len(positions):
        raise ValueError(f"{source.name} has no image of the classes of {benchmark}")
    chosen = source.take(positions)
    return replace(
        chosen,
        name=f"{source.name}[{benchmark}]",
        labels=class_of[chosen.labels],
        class_names=tuple(objectnet_folders()) if benchmark == "objectnet" else wordnet_ids(),
        classes=classes,
    )


def _every_tenth(source: Source) -> Source:
    """ImageNet-100, every tenth class in the order of WordNet ids: what a model with 100 outputs is trained on."""
    positions = np.flatnonzero(source.labels % 10 == 0)
    if not len(positions):
        raise ValueError(f"{source.name} has no image of the classes of imagenet-100")
    chosen = source.take(positions)
    name, names = f"{source.name}[imagenet-100]", wordnet_ids()[::10]
    return replace(chosen, name=name, labels=chosen.labels // 10, class_names=names)


def _is_imagenet(source: Source) -> bool:
    """By its names, or, where there are only numbers, by their not exceeding the thousand."""
    if source.classes is not None:
        return False
    numbers = all(name.isdecimal() for name in source.class_names)
    return source.class_names == wordnet_ids() or (numbers and len(source.class_names) <= len(wordnet_ids()))


def _listed(path: Path) -> tuple[list[str], list[str]]:
    check_folder(path)
    names = find_pictures(path)
    return names, class_folders(path, names)
