"""What is evaluated and how, from what was asked for: images, suite, levels, cut and models."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scuff.data import CorruptedSource, Source, known_by_stems, open_source, readable
from scuff.data.annotated import AnnotatedSource, annotated
from scuff.data.readable import Progress
from scuff.door import resolve
from scuff.evaluation.options import EvaluationOptions
from scuff.locks import Lock, Verdict
from scuff.locks.use import follow
from scuff.locks.verdict import check_source
from scuff.metrics.evaluation.tables import CLEAN
from scuff.models import Classifier, open_model
from scuff.models.detectors import class_table
from scuff.pictures import Cut
from scuff.store import Settings
from scuff.suites import Levels, Suite, load_suite

CLASSIFICATION, TASKS, TARGETS = "classification", ("detection", "segmentation"), ("moved", "still")
LOOKED_AT = 1000  # published pictures of a cell that are looked at, to notice that others have taken their place
AS_THEY_ARE = Suite("none", 1, 1, {})  # what natural images are evaluated by

Models = Any  # an address or a model, or several in a list, or by name in a mapping


# --- images ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EvaluatedImages:
    """A source, and where its clean images are: in itself, elsewhere, or nowhere if it was published corrupted."""

    source: Source | CorruptedSource
    address: str
    clean: Source | None
    clean_address: str | None = None

    @property
    def are_corrupted(self) -> bool:
        """Whether somebody else has corrupted them."""
        return isinstance(self.source, CorruptedSource)

    def example(self) -> Source:
        """The images of one cell, which tell how many there are, and of what kind, in all."""
        if isinstance(self.source, Source):
            return self.source
        entry, levels = next(iter(self.source.entries.items()))
        return self.source.cell(entry, levels[0])

    def readable(self, skip: bool = False, progress: Progress | None = None) -> EvaluatedImages:
        """The same once all pictures have been tried; published ones are tried cell by cell."""
        if not isinstance(self.source, Source):
            if skip:
                raise ValueError("skip_unreadable is for clean images; a published benchmark is evaluated as it is")
            return self
        source = readable(self.source, skip, progress)
        return replace(self, source=source, clean=source)

    @property
    def unreadable(self) -> Mapping[str, str]:
        """Pictures that were left out because they cannot be read, with the reasons."""
        return {} if self.are_corrupted else self.source.unreadable or {}  # type: ignore[union-attr]

    def settings(self) -> Settings:
        """Where they come from, and a hash of what they are."""
        fingerprint = self.source.fingerprint()
        of_clean = fingerprint if self.clean is self.source else self.clean and self.clean.fingerprint()
        return {
            **({"unreadable": dict(self.unreadable)} if self.unreadable else {}),
            "source": self.address,
            "source_fingerprint": fingerprint,
            "clean": self.clean_address,
            "clean_fingerprint": of_clean,
            "published": self.are_corrupted,
        }


def open_images(data: Any, clean: Any, classes: str | None, limit: int | None) -> EvaluatedImages:
    """Open the data and, if they are corrupted already, their clean counterpart."""
    source, address = _open(data, classes)
    if not isinstance(source, CorruptedSource):
        if not len(source):
            raise ValueError(f"{source.name} has no images")
        if len(np.unique(source.ids)) < len(source):
            raise ValueError(f"{source.name}: the ids of images must differ, or their rows cannot be told apart")
        if clean is not None:
            raise ValueError("clean is for published corrupted data; here the clean images are the data themselves")
        source = _limited(source, limit)
        return EvaluatedImages(source, address, source)
    if limit is not None:
        raise ValueError("limit selects images of a clean source; a published benchmark is evaluated as it is")
    if clean is None:
        return EvaluatedImages(source, address, None)
    clean_source, clean_address = _open(clean, classes)
    if isinstance(clean_source, CorruptedSource):
        raise ValueError(f"clean must be a clean source, got the corrupted one {clean_address}")
    clean_source = known_by_stems(clean_source)
    images = EvaluatedImages(source, address, clean_source, clean_address)
    _check_counterpart(clean_source, images.example())
    return images


def _open(data: Any, classes: str | None) -> tuple[Source | CorruptedSource, str]:
    source = open_source(data, classes=classes)
    return source, data if isinstance(data, str) else getattr(data, "name", source.name)


def _check_counterpart(clean: Source, corrupted: Source) -> None:
    """Refuse clean images that are not those that were corrupted."""
    labels = dict(zip(clean.ids.tolist(), clean.labels.tolist(), strict=True))
    theirs = dict(zip(corrupted.ids.tolist(), corrupted.labels.tolist(), strict=True))
    if labels != theirs:
        shared = len(labels.items() & theirs.items())
        raise ValueError(
            f"clean must hold the images that were corrupted: of {len(labels)} clean and {len(theirs)} corrupted ones "
            f"{shared} have the same place and label"
        )


def published_fingerprint(source: Source) -> str:
    """A hash of a published cell: of all pixels of an array, and of some pictures, evenly spread.

    ImageNet-C has 3.75 million files. That their names are the same in every cell is checked when it is opened.
    """
    return (_limited(source, LOOKED_AT) if source.has_pictures else source).fingerprint()


def _limited(source: Source, limit: int | None) -> Source:
    """`limit` images, evenly spread: data are often sorted by class, and the first ones would be of one class."""
    if limit is None or limit >= len(source):
        return source
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    return source.take(np.arange(limit) * len(source) // limit)


def choose_cuts(
    resize: int | None, crop: int | None, images: EvaluatedImages, classifiers: Iterable[Classifier]
) -> tuple[Cut | None, Cut | None]:
    """How the pictures of corrupted cells and of the clean one are cut. Published files keep the cut they have."""
    classifiers = list(classifiers)
    if isinstance(images.source, Source):
        cut = _choose_cut(resize, crop, images.source, classifiers)
        return cut, cut
    if images.clean is None and (resize is not None or crop is not None):
        raise ValueError("resize and crop are for clean pictures; those that were published keep the cut they have")
    published = _choose_cut(None, None, images.example(), classifiers)
    return published, None if images.clean is None else _choose_cut(resize, crop, images.clean, classifiers)


def _choose_cut(resize: int | None, crop: int | None, source: Source, classifiers: list[Classifier]) -> Cut | None:
    """How pictures are brought to one size: as asked, else as the source demands, else as the models want it."""
    if not source.has_pictures:
        if resize is not None or crop is not None:
            raise ValueError("resize and crop are for pictures; these images are an array of one size already")
        return None
    if resize is not None or crop is not None:
        return Cut(resize, crop)
    if source.cut is not None:
        return source.cut
    wishes = {classifier.name: classifier.cut for classifier in classifiers if classifier.cut is not None}
    if len(set(wishes.values())) > 1:
        said = "; ".join(f"{name} wants {cut.resize}/{cut.crop} {cut.filter}" for name, cut in wishes.items())
        raise ValueError(
            f"the models want pictures cut differently ({said}); give --resize and --crop for all, as in --resize 256 "
            "--crop 224: every model then scales the corrupted pictures to its own size"
        )
    return next(iter(wishes.values()), Cut(256, 224))


def image_side(source: Source, cut: Cut | None) -> int | None:
    """The shorter side in pixels of images that are corrupted; None where they differ."""
    if source.has_pictures:
        return None if cut is None else cut.crop or cut.resize
    return min(source.read([0]).shape[-2:])


# --- suite ----------------------------------------------------------------------------------------------------------


def choose_suite(suite: Suite | str | os.PathLike[str] | None, source: Source | CorruptedSource) -> Suite:
    """The suite that is asked for, if any; a published benchmark brings its own."""
    if isinstance(source, CorruptedSource):
        if suite is not None and getattr(suite, "name", suite) != source.suite:
            raise ValueError(f"{source.name} holds images corrupted by {source.suite}; leave the suite out")
        return load_suite(source.suite)
    if suite is None:
        return AS_THEY_ARE
    return suite if isinstance(suite, Suite) else load_suite(suite)


def check_task(asked: EvaluationOptions, source: Source | CorruptedSource) -> None:
    """Refuse data without annotations for the task, and options that it does not know."""
    if asked.task == CLASSIFICATION:
        if isinstance(source, AnnotatedSource):
            raise ValueError(
                f"{source.name} is annotated for {source.task}, not with classes; say --task {source.task}"
            )
        return
    if asked.task not in TASKS:
        raise ValueError(f"task must be {', '.join((CLASSIFICATION, *TASKS))}, got {asked.task!r}")
    if asked.targets not in TARGETS:
        raise ValueError(f"targets must be {' or '.join(TARGETS)}, got {asked.targets!r}")
    annotated(source, asked.task)
    for name in ("clean", "classes", "resize", "crop", "lock", "passes", "half_width", "as_published"):
        if getattr(asked, name):
            raise ValueError(f"{name} is for classifiers; leave it out of a {asked.task}")


def check_labels(model: Classifier, source: Source) -> None:
    """Refuse a detector or segmenter that knows none of the classes."""
    class_table(model, source.class_names)


def choose_levels(
    suite: Suite,
    source: Source | CorruptedSource,
    only: Sequence[str] | None,
    severities: Sequence[int] | None,
    validation: bool,
) -> dict[str, Levels]:
    """The wanted entries and levels; of published data, as far as they are there."""
    levels = suite.choose(only, severities, validation)
    if not isinstance(source, CorruptedSource):
        return levels
    there = {e: tuple(s for s in its if s in source.entries.get(e, ())) for e, its in levels.items()}
    there = {entry: its for entry, its in there.items() if its}
    if not there:
        offered = "; ".join(f"{entry} at {', '.join(map(str, its))}" for entry, its in source.entries.items())
        raise ValueError(f"{source.name} has none of the wanted cells; it has {offered}")
    return there


def are_sequences(suite: Suite, levels: dict[str, Levels]) -> bool:
    """Whether the entries are sequences of frames. That their names and parameters exist is found out here too."""
    if CLEAN in levels:
        raise ValueError(f"rows call uncorrupted images {CLEAN}; give the entry of that name in {suite.name} another")
    kinds = set()
    for entry, its in levels.items():
        kinds |= {resolve(entry, severity, suite=suite).corruption.sequence for severity in its}
    if len(kinds) > 1:
        raise ValueError("these entries mix sequences of frames with single corruptions; evaluate them apart")
    return True in kinds


def follow_lock(asked: EvaluationOptions, lock: Lock, images: EvaluatedImages) -> EvaluationOptions:
    """The options as a lock has them; images that cannot be its own are refused."""
    for name in ("limit", "classes", "skip_unreadable"):
        if getattr(asked, name):
            raise ValueError(f"{lock.place} is of all images; leave out {name}")
    for source in filter(None, (images.example(), images.clean)):
        faults = tuple(check_source(lock, source))
        Verdict(lock, len(source), (), (), faults).raise_if_different()
    if images.are_corrupted:
        if images.source.suite != lock.suite.name:  # type: ignore[union-attr]
            raise ValueError(f"{lock.place} is of {lock.suite.name}, and {images.address} of another suite")
        return follow(asked, lock, {})
    recipe, cut = lock.recipe, lock.recipe.cut or Cut()
    implied = {"suite": lock.suite, "seed": recipe.seed, "as_published": recipe.as_published}
    return follow(asked, lock, implied | {"resize": cut.resize, "crop": cut.crop})


# --- models ---------------------------------------------------------------------------------------------------------


def check_class_order(classifier: Classifier, source: Source) -> None:
    """Refuse a model whose outputs are the classes of the images, by their names, but in another order."""
    theirs, ours = classifier.class_names, source.class_names
    if theirs is None or source.classes is not None or theirs == ours or set(theirs) != set(ours):
        return
    place = next(k for k, pair in enumerate(zip(theirs, ours, strict=True)) if pair[0] != pair[1])
    raise ValueError(
        f"{classifier.name} has the classes of {source.name} in another order: class {place} is {theirs[place]} for "
        f"the model and {ours[place]} in the data"
    )


def open_models(
    models: Models,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    keep: Callable[[Classifier], Classifier] = lambda classifier: classifier,
    opener: Callable[..., Classifier] = open_model,
) -> dict[str, Classifier]:
    """Classifiers by name, from one model or several; two of one name are refused. `keep` says what stays of each."""
    if isinstance(models, Mapping):
        opened = [keep(opener(model, name=name, mean=mean, std=std)) for name, model in models.items()]
    else:
        several = list(models) if isinstance(models, (list, tuple, Iterator)) else [models]
        opened = [keep(opener(model, mean=mean, std=std)) for model in several]
    names = [classifier.name for classifier in opened]
    if not names:
        raise ValueError("no model is given")
    twice = next((classifier for classifier in opened if names.count(classifier.name) > 1), None)
    if twice is not None:
        raise ValueError(f"two models are called {twice.name}; name one of them, as in other={twice.address}")
    return dict(zip(names, opened, strict=True))
