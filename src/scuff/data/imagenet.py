"""ImageNet's classes, and which of them other benchmarks use: the tables in `classes/`."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from scuff.data.source import ClassMap


def _lines(name: str) -> list[str]:
    text = (resources.files(__package__) / "classes" / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


@lru_cache
def wordnet_ids() -> tuple[str, ...]:
    """The 1000 WordNet ids, sorted: a class's index is its place.

    >>> wordnet_ids()[0], len(wordnet_ids())
    ('n01440764', 1000)
    """
    return tuple(" ".join(_lines("imagenet")).split())


@lru_cache
def subset(name: str) -> ClassMap:
    """The classes of "imagenet-a" or "imagenet-r". They keep ImageNet's numbers."""
    indices = tuple(map(int, " ".join(_lines(name)).split()))
    return ClassMap(indices, indices)


@lru_cache
def objectnet_folders() -> dict[str, tuple[int, ...]]:
    """The folders of ObjectNet that overlap with ImageNet, sorted, with the ImageNet classes that each stands for.

    >>> objectnet_folders()["chair"]
    (423, 559, 765)
    """
    pairs = (line.split(":") for line in _lines("objectnet"))
    return {folder: tuple(map(int, indices.split())) for folder, indices in pairs}


@lru_cache
def objectnet_classes() -> ClassMap:
    """ImageNet's outputs that count for ObjectNet, and the place of the folder that each stands for."""
    pairs = [(index, place) for place, indices in enumerate(objectnet_folders().values()) for index in indices]
    outputs, places = zip(*sorted(pairs), strict=True)
    return ClassMap(outputs, places)
