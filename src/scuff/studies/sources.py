"""What studies that train and test have in common: test images that suit the training images, and seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scuff.data import CorruptedSource, Points, Source, open_source, readable
from scuff.data.open import has_splits


def open_test_source(data: Any, test: Any, classes: str | None) -> Source:
    """The test images: those that are given, or the test split of the training images' address."""
    if test is None:
        if not has_splits(data):
            raise ValueError(
                "these data have no test split of their own; say where the test images are, as in test='folder:val'"
            )
        test = data
    source = open_source(test, classes=classes)
    if isinstance(source, CorruptedSource):
        raise ValueError(f"{source.name} holds corrupted images; the study corrupts clean ones itself")
    return source


def tried(study: Any, source: Source) -> Source:
    """A source of a study once all its pictures have been tried; those that cannot be read are refused or left out."""
    return readable(source, study.skip_unreadable, study.progress)


def left_out_of(*sources: Source | Points) -> dict[str, dict[str, str]]:
    """What the settings of a study say of pictures that were left out, if there are any."""
    left_out = {
        f"{source.name}/{name}": reason for source in sources for name, reason in (source.unreadable or {}).items()
    }
    return {"unreadable": left_out} if left_out else {}


def check_classes(train: Source, test: Source) -> None:
    """Refuse test images whose labels mean something else than those of the training images."""
    are_numbers = train.has_numbered_classes or test.has_numbered_classes
    if are_numbers and test.labels.max(initial=0) < len(train.class_names):
        return
    if are_numbers or train.class_names != test.class_names:
        raise ValueError(
            f"the test images must have the classes of the training images: {train.name} has "
            f"{len(train.class_names)} ({', '.join(train.class_names[:5])}, ...), {test.name} has "
            f"{len(test.class_names)} ({', '.join(test.class_names[:5])}, ...)"
        )


def choose_seeds(seeds: int | Sequence[int]) -> list[int]:
    """How many trainings of everything, or their seeds, as a list of seeds."""
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"expected at least one seed, each of them once, got {seeds!r}")
    return numbers
