"""Find out everything that an evaluation will do, and refuse what makes no sense, before anything is computed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import scuff
from scuff.corruptions import get
from scuff.data import Source
from scuff.data.pixels import DECODERS
from scuff.evaluation.choices import (
    CLASSIFICATION,
    CLEAN,
    EvaluatedImages,
    are_sequences,
    check_class_order,
    check_labels,
    check_task,
    choose_cuts,
    choose_levels,
    choose_suite,
    follow_lock,
    image_side,
    open_images,
    open_models,
    published_fingerprint,
)
from scuff.evaluation.options import EvaluationOptions
from scuff.locks import Lock
from scuff.locks.use import open_lock
from scuff.models import Classifier, close_model, open_model
from scuff.models.classifier import PRECISIONS
from scuff.models.detectors import open_task_model
from scuff.models.untrained import looks_untrained
from scuff.options import takes_options
from scuff.pictures import Cut
from scuff.store import Settings, Store, check_settings, read_settings, save_settings
from scuff.suites import Suite

SETTINGS = "evaluation.json"
# Data and locks may move: it is their fingerprints that must not change.
NOTED_ONLY = ("source", "clean", "scuff", "unreadable", "lock_file")
HOW_TO_RUN = ("device", "batch_size", "compile", "workers", "cache", "engine", "progress")
MAY_JOIN = ("clean_fingerprint", "clean_cut", "size")  # what may come later: the clean counterpart of published data


@dataclass(frozen=True)
class Cell:
    """All images, by one entry of the suite, at one severity; None where there are no levels.

    `dial` is any severity in place of a level, by draws that all of them share.
    """

    entry: str
    severity: int | None = None
    dial: float | None = None

    def __str__(self) -> str:
        severity = self.severity if self.dial is None else self.dial
        return self.entry if severity is None else f"{self.entry} {severity:g}"


@dataclass(frozen=True)
class Plan:
    """An evaluation that is ready to run. `settings` is what all its cells share."""

    store: Store
    settings: Settings
    classifiers: dict[str, Classifier]
    fingerprints: dict[str, str]
    suite: Suite
    images: EvaluatedImages
    cells: list[Cell]
    is_sequence: bool
    pixels: dict[Cell, str]  # of published cells, whose images are each their own: a hash
    how: dict[str, Any]  # the options HOW_TO_RUN, which change no result
    untrained: tuple[str, ...] = ()  # models that look so
    lock: Lock | None = None

    @property
    def task(self) -> str:
        """What the models do."""
        return self.settings.get("task", CLASSIFICATION)

    def source(self, cell: Cell) -> Source:
        """The images of a cell, before the corruption if it is up to us, after it if they were published corrupted."""
        if cell.entry == CLEAN:
            assert self.images.clean is not None  # or there would be no such cell
            return self.images.clean
        source = self.images.source
        return source if isinstance(source, Source) else source.cell(cell.entry, cell.severity)

    def cut(self, cell: Cell) -> Cut | None:
        """How the pictures of a cell are brought to one size; None for arrays."""
        cut = self.settings["clean_cut" if cell.entry == CLEAN else "cut"]
        return None if cut is None else Cut(**cut)

    def rows_name(self, model: str, cell: Cell) -> str:
        """The file of a cell's rows: readable, and with a hash of everything that the rows depend on."""
        depends = {"model": self.fingerprints[model], "entry": cell.entry, "severity": cell.severity}
        if cell.entry == CLEAN:
            keys: tuple[str, ...] = ("clean_fingerprint", "clean_cut", "precision")
        else:
            keys = ("source_fingerprint", "seed", "cut", "as_published", "precision")
            values = self.settings["suite"]["entries"][cell.entry]
            depends |= {"suite": self.suite.name, "size": self.suite.size, "values": values}
            depends["draws_levels"] = self.suite.draws_levels
            depends |= {"fixed_lengths": True} if self.suite.fixed_lengths else {}
            depends["pixels"] = self.pixels.get(cell)
            depends |= {"targets": self.settings["targets"]} if self.task != CLASSIFICATION else {}
        depends |= {key: self.settings[key] for key in keys}
        depends |= {key: self.settings[key] for key in ("decoder",) if key in self.settings}
        digest = hashlib.blake2b(json.dumps(depends, sort_keys=True).encode(), digest_size=6).hexdigest()
        level = "" if cell.severity is None else f"-{cell.severity}"
        return f"rows/{model}/{cell.entry}{level}-{digest}.parquet"

    def lacking(self, cell: Cell, models: Iterable[str]) -> list[str]:
        """Those of some models whose rows of a cell do not exist yet."""
        return [m for m in models if not self.store.exists(self.rows_name(m, cell))]

    def about(self, model: str) -> Settings:
        """What is known of a model, and kept beside its rows."""
        classifier = self.classifiers[model]
        return {
            "name": model,
            "address": classifier.address,
            "fingerprint": self.fingerprints[model],
            "parameters": classifier.parameter_count(),
            "input_size": classifier.input_size,
            "mean": classifier.mean,
            "std": classifier.std,
        }

    def check_folder(self) -> None:
        """Refuse a folder whose rows depend on something else. Without any rows in it, nothing is bound to it."""
        finished = self.store.names("rows", ".parquet")
        if finished or self.has_samples():
            check_settings(self.store, SETTINGS, self.settings, NOTED_ONLY, MAY_JOIN)
        for model in self.classifiers:
            of_model = {_without_hash(name): name for name in finished if name.startswith(f"rows/{model}/")}
            if of_model:
                check_settings(self.store, f"models/{model}.json", self.about(model), ("environment", "address"))
            for wanted in (self.rows_name(model, cell) for cell in self.cells):
                existing = of_model.get(_without_hash(wanted), wanted)
                if existing != wanted:
                    raise ValueError(
                        f"{self.store.root}/{existing} was computed from other images than there are now; use another "
                        "folder, or delete the file"
                    )

    def has_samples(self) -> bool:
        """Whether the folder holds passes of samples."""
        return bool(self.store.names("sampled", ".parquet"))

    def save(self, environment: Settings) -> None:
        """Write what all rows share, and a file for each model that has no rows yet."""
        has_rows = bool(self.store.names("rows", ".parquet")) or self.has_samples()
        before = read_settings(self.store, SETTINGS) if has_rows else {}
        joining = {key: self.settings[key] for key in MAY_JOIN if before.get(key) is None}
        settings = {**self.settings, **before, **joining}
        if settings != before:
            save_settings(self.store, SETTINGS, settings)
        for name in self.classifiers:
            file = f"models/{name}.json"
            if not self.store.names(f"rows/{name}", ".parquet") and not (has_rows and self.store.exists(file)):
                save_settings(self.store, file, {**self.about(name), "environment": environment})

    def missing(self) -> dict[Cell, list[str]]:
        """The cells that are left to do, with the models that lack them."""
        finished = set(self.store.names("rows", ".parquet"))  # one look, where each may be a question to a far machine
        missing = {
            cell: [m for m in self.classifiers if self.rows_name(m, cell) not in finished] for cell in self.cells
        }
        return {cell: models for cell, models in missing.items() if models}


def _without_hash(name: str) -> str:
    return name.rpartition("-")[0]


@takes_options(EvaluationOptions)
def plan_evaluation(asked: EvaluationOptions) -> Plan:
    """Plan an evaluation without computing anything."""
    if asked.precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {asked.precision!r}")
    if isinstance(asked.seed, bool) or not isinstance(asked.seed, int | None):
        raise ValueError(f"seed must be a whole number, got {asked.seed!r}")
    if asked.decoder not in DECODERS:
        raise ValueError(f"decoder must be one of {', '.join(DECODERS)}, got {asked.decoder!r}")
    if asked.lock is not None and asked.decoder != "pillow":
        raise ValueError("a lock is about the pixels that Pillow decodes; leave out the decoder")
    if asked.out is None:
        raise ValueError("out must say where the results go")
    images, lock = open_images(asked.data, asked.clean, asked.classes, asked.limit), open_lock(asked.lock)
    check_task(asked, images.source)
    if lock is not None:
        asked = follow_lock(asked, lock, images)
    if images.are_corrupted and (asked.as_published or asked.seed):
        raise ValueError("published data are corrupted already: as_published and seed have nothing to act on")
    suite = choose_suite(asked.suite, images.source)
    levels = choose_levels(suite, images.source, asked.only, asked.severities, asked.validation)
    is_sequence, is_task = are_sequences(suite, levels), asked.task != CLASSIFICATION
    if is_sequence and is_task:
        raise ValueError(f"sequences of frames are for classifiers; {suite.name} cannot be used for {asked.task}")
    if is_task and (asked.decoder != "pillow" or asked.cache is not None):
        raise ValueError(f"cache and decoder are for classifiers; leave them out for {asked.task}")
    if is_sequence and asked.as_published:
        raise ValueError("as_published is for single corruptions: ImageNet-P was published as films, not as JPEGs")
    cells = [Cell(entry, severity) for entry, severities in levels.items() for severity in severities]
    if images.clean is not None and not is_sequence:
        cells.insert(0, Cell(CLEAN))
    # Without their weights: there may be hundreds of them, and those that are needed are opened where they are.
    untrained: list[str] = []

    def keep(classifier: Classifier) -> Classifier:
        untrained.extend([classifier.name] if looks_untrained(classifier.model) else [])
        return close_model(classifier)

    opener = partial(open_task_model, task=asked.task) if is_task else open_model
    classifiers = open_models(asked.models, asked.mean, asked.std, keep, opener)
    example = images.example()
    for classifier in classifiers.values():
        (check_labels if is_task else check_class_order)(classifier, example)
    cut, clean_cut = (None, None) if is_task else choose_cuts(asked.resize, asked.crop, images, classifiers.values())
    if lock is not None:
        cut, clean_cut = (lock.recipe.cut if at else None for at in (not images.are_corrupted, images.clean))
    assert asked.out is not None
    store = Store(asked.out)
    images = images.readable(asked.skip_unreadable, asked.progress)
    example = images.example()
    settings = {
        **images.settings(),
        "limit": asked.limit,
        "classes": asked.classes,
        "images": len(example),
        "class_names": list(example.class_names),
        "size": image_side(example, cut),
        "suite": suite.to_dict(),
        "families": {entry: get(suite.corruption(entry)).family for entry in suite.entries},
        "seed": asked.seed or 0,
        "cut": cut and asdict(cut),
        "clean_cut": clean_cut and asdict(clean_cut),
        "as_published": asked.as_published,
        "precision": asked.precision,
        **({} if asked.decoder == "pillow" else {"decoder": asked.decoder}),
        **({"task": asked.task, "targets": asked.targets} if is_task else {}),
        **({} if lock is None else {"lock": lock.seal, "lock_file": lock.place}),
        "scuff": scuff.__version__,
    }
    fingerprints = {name: classifier.fingerprint() for name, classifier in classifiers.items()}
    how = {name: getattr(asked, name) for name in HOW_TO_RUN}
    known = (store, settings, classifiers, fingerprints, suite, images, cells, is_sequence)
    plan = Plan(*known, pixels={}, how=how, untrained=tuple(untrained), lock=lock)
    if images.are_corrupted:
        plan.pixels.update({cell: published_fingerprint(plan.source(cell)) for cell in cells})
    plan.check_folder()
    return plan
