"""What an evaluation has left behind, read again."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

import pandas as pd

from scuff.evaluation.plan import SETTINGS
from scuff.metrics.evaluation.tables import by_model
from scuff.store import Settings, Store, open_results, read_rows, read_settings
from scuff.suites import Suite
from scuff.suites.suite import suite_from_dict
from scuff.words import listed


class CutOf(TypedDict):
    """How pictures were cut."""

    resize: int | None
    crop: int | None
    filter: str
    keeps_ratio: NotRequired[bool]


class Shared(TypedDict):
    """What all rows of an evaluation share, as `evaluation.json` tells it."""

    source: str
    source_fingerprint: str
    clean: str | None
    clean_fingerprint: str | None
    published: bool
    limit: int | None
    classes: str | None
    images: int
    class_names: list[str]
    suite: dict[str, Any]
    families: dict[str, str]
    seed: int
    cut: CutOf | None
    clean_cut: CutOf | None
    as_published: bool
    precision: str
    task: NotRequired[str]
    targets: NotRequired[str]


class OfModel(TypedDict):
    """What is known of a model, as the file of its name in `models` tells it."""

    name: str
    fingerprint: str
    environment: dict[str, Any]
    address: NotRequired[str | None]
    parameters: NotRequired[int | None]
    input_size: NotRequired[int | None]
    mean: NotRequired[list[float] | None]
    std: NotRequired[list[float] | None]


@dataclass(frozen=True)
class Evaluation:
    """The rows of all finished cells, what they share, what is known of each model, and the suite."""

    rows: pd.DataFrame = field(repr=False)
    settings: Settings = field(repr=False)
    models: dict[str, Settings]
    suite: Suite


def read_evaluation(directory: str | os.PathLike[str]) -> Evaluation:
    """Everything in the folder of an evaluation; one that is not finished is read as far as it is."""
    store = open_results(directory, SETTINGS, "an evaluation")
    settings = read_settings(store, SETTINGS, Shared)
    known = {name: read_settings(store, name, OfModel) for name in store.names("models", ".json")}
    models = {model["name"]: model for model in known.values()}
    suite = suite_from_dict(settings["suite"], SETTINGS)
    return Evaluation(read_rows(store, store.names("rows", ".parquet")), settings, models, suite)


def read_model(place: str) -> tuple[Evaluation, pd.DataFrame]:
    """The evaluation and the rows of one model: FOLDER, or FOLDER:MODEL if it has several."""
    folder, colon, name = place.rpartition(":")
    if not colon or Store(place).exists(SETTINGS):
        folder, name = place, ""
    evaluation = read_evaluation(folder)
    if "task" in evaluation.settings:
        raise ValueError(f"{folder} is a {evaluation.settings['task']}; only classifiers are compared image by image")
    models = by_model(evaluation.rows)
    one = next(iter(models))
    name = one if not name and len(models) == 1 else name
    if name not in models:
        raise ValueError(f"{folder} holds {listed(list(models))}; which one? Write {folder}:{one}, for example")
    return evaluation, models[name]  # type: ignore[return-value]


def is_evaluation(place: str) -> bool:
    """Whether a place is the folder of an evaluation, or FOLDER:MODEL."""
    folders = [folder for folder in (place, place.rpartition(":")[0]) if folder]
    return any(not os.path.isfile(os.path.expanduser(folder)) and Store(folder).exists(SETTINGS) for folder in folders)
