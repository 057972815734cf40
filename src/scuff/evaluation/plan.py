"""Find out everything that an evaluation will do, and refuse what makes no sense, before anything is computed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import scuff
from scuff.corruptions import get
from scuff.data import CorruptedSource, Source, open_source
from scuff.door import resolve
from scuff.models import Classifier, open_model
from scuff.models.classifier import PRECISIONS
from scuff.pictures import Cut
from scuff.store import Settings, Store, check_settings
from scuff.suites import Levels, Suite, load_suite

CLEAN = "clean"  # what rows call the uncorrupted images
SETTINGS = "evaluation.json"

Models = Any  # an address or a model, or several in a list, or by name in a mapping


@dataclass(frozen=True)
class Cell:
    """All images, by one entry of the suite, at one severity; None where there are no levels."""

    entry: str
    severity: int | None = None


@dataclass(frozen=True)
class Plan:
    """An evaluation that is ready to run. `settings` is what all its cells share."""

    store: Store
    settings: Settings
    classifiers: dict[str, Classifier]
    fingerprints: dict[str, str]
    suite: Suite
    data: Source | CorruptedSource
    clean: Source | None
    cells: list[Cell]
    cut: Cut | None
    is_sequence: bool

    def source(self, cell: Cell) -> Source:
        """The images of a cell, before the corruption if it is up to us, after it if they were published corrupted."""
        if cell.entry == CLEAN:
            return self.clean
        if isinstance(self.data, CorruptedSource):
            return self.data.cell(cell.entry, cell.severity)
        return self.data

    def rows_name(self, model: str, cell: Cell) -> str:
        """The file of a cell's rows: readable, and with a hash of everything that the rows depend on."""
        keys = ("source_fingerprint", "seed", "cut", "as_published", "precision")
        depends = {key: self.settings[key] for key in keys}
        depends |= {"model": self.fingerprints[model], "entry": cell.entry, "severity": cell.severity}
        if cell.entry != CLEAN:
            values = self.settings["suite"]["entries"][cell.entry]
            depends |= {"suite": self.suite.name, "size": self.suite.size, "values": values}
        digest = hashlib.blake2b(json.dumps(depends, sort_keys=True).encode(), digest_size=6).hexdigest()
        level = "" if cell.severity is None else f"-{cell.severity}"
        return f"rows/{model}/{cell.entry}{level}-{digest}.parquet"

    def lacking(self, cell: Cell) -> list[str]:
        """The models whose rows of a cell do not exist yet."""
        return [m for m in self.classifiers if not self.store.exists(self.rows_name(m, cell))]

    def missing(self) -> dict[Cell, list[str]]:
        """The cells that are left to do, with the models that lack them."""
        found = {cell: self.lacking(cell) for cell in self.cells}
        return {cell: models for cell, models in found.items() if models}


def plan_evaluation(
    models: Models,
    suite: Suite | str | os.PathLike[str] | None,
    data: str | Source | CorruptedSource,
    out: str | os.PathLike[str],
    *,
    clean: str | Source | None = None,
    classes: str | None = None,
    only: Sequence[str] | None = None,
    severities: Sequence[int] | None = None,
    validation: bool = False,
    seed: int = 0,
    limit: int | None = None,
    resize: int | None = None,
    crop: int | None = None,
    as_published: bool = False,
    precision: str = "float32",
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
) -> Plan:
    """Plan an evaluation without computing anything; the arguments are those of `evaluate`."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
    store = Store(out)
    source, address = _open(data, classes)
    suite = _choose_suite(suite, source)
    levels = suite.choose(only, severities, validation)
    if isinstance(source, CorruptedSource):
        if limit is not None:
            raise ValueError("limit selects images of a clean source; a published benchmark is evaluated as it is")
        levels = _found(source, levels)
        example = source.cell(*_first(levels))
        clean_source, clean_address = (None, None) if clean is None else _open(clean, classes)
    else:
        if clean is not None:
            raise ValueError("clean= is for published corrupted data; here the clean images are the data themselves")
        source = example = clean_source = _limited(source, limit)
        clean_address = None
    if isinstance(clean_source, CorruptedSource):
        raise ValueError(f"clean must be a clean source, got the corrupted one {clean!r}")
    is_sequence = _is_sequence(suite, levels)
    cells = [Cell(entry, severity) for entry, its in levels.items() for severity in its]
    if clean_source is not None and not is_sequence:
        cells.insert(0, Cell(CLEAN))
    classifiers = open_models(models, mean, std)
    cut = _choose_cut(resize, crop, example, classifiers.values())
    settings = {
        "source": address,
        "source_fingerprint": source.fingerprint(),
        "clean": clean_address,
        "classes": classes,
        "limit": limit,
        "images": len(example),
        "class_names": list(example.class_names),
        "suite": suite.to_dict(),
        "families": {entry: get(suite.corruption(entry)).family for entry in suite.entries},
        "seed": seed,
        "cut": None if cut is None else asdict(cut),
        "as_published": as_published,
        "precision": precision,
        "scuff": scuff.__version__,
    }
    check_settings(store, SETTINGS, settings)
    fingerprints = {name: classifier.fingerprint() for name, classifier in classifiers.items()}
    return Plan(store, settings, classifiers, fingerprints, suite, source, clean_source, cells, cut, is_sequence)


def open_models(
    models: Models, mean: Sequence[float] | None = None, std: Sequence[float] | None = None
) -> dict[str, Classifier]:
    """Classifiers by name, from one model or several; two of one name are refused."""
    if isinstance(models, Mapping):
        opened = [open_model(model, name=name, mean=mean, std=std) for name, model in models.items()]
    else:
        several = models if isinstance(models, (list, tuple)) else [models]
        opened = [open_model(model, mean=mean, std=std) for model in several]
    names = [classifier.name for classifier in opened]
    if not names:
        raise ValueError("no model is given")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two models are called {', '.join(twice)}; name one of them: other={twice[0]}")
    return dict(zip(names, opened, strict=True))


def _open(data: str | Source | CorruptedSource, classes: str | None) -> tuple[Source | CorruptedSource, str]:
    if isinstance(data, (Source, CorruptedSource)):
        return data, data.name
    return open_source(data, classes=classes), data


def _choose_suite(suite: Suite | str | os.PathLike[str] | None, source: Source | CorruptedSource) -> Suite:
    """The suite that is asked for; a published benchmark brings its own."""
    if isinstance(source, CorruptedSource):
        if suite is not None and getattr(suite, "name", suite) != source.suite:
            raise ValueError(
                f"{source.name} holds images corrupted by {source.suite}; leave the suite out, or say that"
            )
        return load_suite(source.suite)
    if suite is None:
        raise ValueError("which suite? Name one, as in imagenet-c; scuff list shows them all")
    return suite if isinstance(suite, Suite) else load_suite(suite)


def _found(source: CorruptedSource, levels: dict[str, Levels]) -> dict[str, Levels]:
    """What of the wanted entries and levels is there on disk; nothing at all is an error."""
    there = {e: tuple(s for s in its if s in source.entries.get(e, ())) for e, its in levels.items()}
    there = {entry: its for entry, its in there.items() if its}
    if not there:
        raise ValueError(f"{source.name} has none of the wanted cells; it has {', '.join(source.entries) or 'none'}")
    return there


def _first(levels: dict[str, Levels]) -> tuple[str, int | None]:
    entry = next(iter(levels))
    return entry, levels[entry][0]


def _limited(source: Source, limit: int | None) -> Source:
    """`limit` images, evenly spread: data are often sorted by class, and the first ones would be of one class."""
    if limit is None or limit >= len(source):
        return source
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    return source.take(np.arange(limit) * len(source) // limit)


def _is_sequence(suite: Suite, levels: dict[str, Levels]) -> bool:
    """Whether the entries are sequences of frames. That their names and parameters exist is found out here too."""
    kinds = set()
    for entry, its in levels.items():
        kinds |= {resolve(entry, severity, suite=suite).corruption.sequence for severity in its}
    if len(kinds) > 1:
        raise ValueError("these entries mix sequences of frames with single corruptions; evaluate them apart")
    return kinds == {True}


def _choose_cut(resize: int | None, crop: int | None, source: Source, classifiers: Iterable[Classifier]) -> Cut | None:
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
