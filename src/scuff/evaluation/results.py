"""What an evaluation has left behind, read again."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

import pandas as pd

from scuff.evaluation.plan import SETTINGS
from scuff.store import Settings, Store, read_rows, read_settings
from scuff.suites import Suite
from scuff.suites.suite import suite_from_dict


@dataclass(frozen=True)
class Evaluation:
    """The rows of all finished cells, what they share, what is known of each model, and the suite."""

    rows: pd.DataFrame = field(repr=False)
    settings: Settings = field(repr=False)
    models: dict[str, Settings]
    suite: Suite


def read_evaluation(directory: str | os.PathLike[str]) -> Evaluation:
    """Everything in the folder of an evaluation; one that is not finished is read as far as it is."""
    store = Store(directory)
    if not store.exists(SETTINGS):
        raise ValueError(f"{store.root} is not the folder of an evaluation: there is no {SETTINGS} in it")
    settings = read_settings(store, SETTINGS)
    known = {name: read_settings(store, name) for name in store.names("models", ".json")}
    models = {model["name"]: model for model in known.values()}
    suite = suite_from_dict(settings["suite"], SETTINGS)
    return Evaluation(read_rows(store, store.names("rows", ".parquet")), settings, models, suite)
