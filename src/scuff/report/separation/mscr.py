"""The report of a study of MSCR, or of a class separation alone: which sections it has, and what it says first."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from scuff.metrics.norms import parse_norm
from scuff.metrics.separation.mscr import RobustAccuracies
from scuff.report.page import Page
from scuff.report.separation.command import mscr_again, separation_again
from scuff.report.separation.radius import Radius, find_radius, was_given
from scuff.report.separation.scores import EPSILON, MscrScores, measure_mscr, norm_words, number
from scuff.report.separation.sections import mscr_sections, separation_section, settings_section
from scuff.report.separation.verdicts import mscr_verdicts, separation_verdict
from scuff.report.words import count, grouped, listed
from scuff.store import Store, read_settings

if TYPE_CHECKING:
    from scuff.metrics.separation.classes import Neighbours

OF_OTHER_DATA = (
    "The folder also holds a class separation, which is that of other data or in another norm than this study's. It is "
    "not shown."
)


def page(directory: str) -> Page:
    """The page about the study of MSCR in a folder, or about what `scuff separation` left there, or both."""
    return separation_page(**_read(directory), directory=directory)


def separation_page(
    accuracies: RobustAccuracies | None = None,
    settings: Mapping[str, Any] | None = None,
    separation: Mapping[str, Any] | None = None,
    neighbours: Neighbours | None = None,
    is_test: np.ndarray | None = None,
    pairs: pd.DataFrame | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page, from what is known: accuracies and settings of a study, a separation, or both.

    `neighbours`, `is_test` and `pairs` are the nearest points of other classes, which rows of the data are test points,
    and the distances of all pairs of classes. `directory` is the folder that all of it is in. A separation of other
    data than the study's, or in another norm, is not shown.
    """
    settings, separation, note = settings or {}, separation or {}, None
    if settings and separation and not is_separation_of(separation, settings):
        separation, neighbours, is_test, pairs, note = {}, None, None, None, OF_OTHER_DATA
    scores = None if accuracies is None else measure_mscr(accuracies)
    radius = Radius() if accuracies is None else find_radius(accuracies.epsilon_min, settings, separation)
    again = None
    if directory is not None and "addresses" in settings:  # what models were given is not known otherwise
        again = mscr_again(settings, directory, epsilon_given=was_given(settings, separation))
    elif directory is not None and scores is None:
        asked = {"per_class": pairs is not None, "per_point": neighbours is not None}
        again = separation_again(separation, directory, **asked)
    sections = [
        *([] if scores is None else mscr_sections(scores, radius)),
        separation_section(separation, neighbours, is_test, pairs),
        settings_section(settings or separation, scores, radius, again, note),
    ]
    verdicts = [separation_verdict(separation)] if separation else []
    verdicts += [] if scores is None else mscr_verdicts(scores, radius)
    data = data_name(settings.get("data") or separation.get("data", "the data"))
    return Page(
        f"Class separation of {data}" if scores is None else f"MSCR of {_subject(scores)} on {data}",
        _separation_lead(separation) if scores is None else _lead(scores, settings),
        verdicts,
        sections,
        () if scores is None else scores.models,
    )


def is_separation_of(separation: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a separation is that of the data of a study, in its norm."""
    is_same_data = separation.get("data_fingerprint") == settings.get("data_fingerprint")
    return is_same_data and parse_norm(separation["norm"]) == parse_norm(settings["norm"])


def data_name(address: str) -> str:
    """What data are called in a title: a file or folder by its last part, another source by its kind.

    >>> data_name("runs/points.csv"), data_name("folder:/mnt/val"), data_name("cifar10:data"), data_name("fashion")
    ('points.csv', 'val', 'cifar10', 'fashion')
    """
    kind = address.partition(":")[0]
    is_path = kind == "folder" or address.endswith((".csv", ".npz"))
    return re.split(r"[:/\\]", address.rstrip("/\\"))[-1] if is_path else kind


def _subject(scores: MscrScores) -> str:
    return listed(scores.models) if len(scores.models) < 4 else count(len(scores.models), "model")


def _lead(scores: MscrScores, settings: Mapping[str, Any]) -> str:
    """The sentence below the title: what was trained and tested, how often, with which noise."""
    accuracies = scores.accuracies
    runs = count(len(accuracies.runs), "run")
    planned = len(settings.get("runs", accuracies.runs))
    so_far = f" of {grouped(planned)} so far" if planned > len(accuracies.runs) else ""
    trained = (
        f"trained with noise of {count(len(accuracies.train_noise), 'radius', 'radii')}, "
        if scores.has_training_noise
        else ""
    )
    copies = accuracies.most_copies
    return (
        f"{listed(scores.models)}, {trained}{runs}{so_far}, tested on {count(copies, 'noisy point')} per test point in "
        f"balls of {norm_words(accuracies.norm)}; {EPSILON} = {number(accuracies.epsilon_min)}."
    )


def _separation_lead(found: Mapping[str, Any]) -> str:
    return f"{count(found['points'], 'point')} of {count(len(found['class_names']), 'class', 'classes')}."


def _read(directory: str) -> dict[str, Any]:
    """Everything about a study or a separation that its folder holds."""
    from scuff.studies.separation.distances import (
        SEPARATION,
        read_is_test,
        read_neighbours,
        read_pairs,
        read_separation,
    )
    from scuff.studies.separation.results import SETTINGS, read_mscr

    store = Store(directory)
    has_study, has_separation = store.exists(SETTINGS), store.exists(SEPARATION)
    if not has_study and not has_separation:
        raise ValueError(f"{directory} holds neither a study of MSCR nor a separation: no {SETTINGS}, no {SEPARATION}")
    study = {"accuracies": read_mscr(directory), "settings": read_settings(store, SETTINGS)} if has_study else {}
    if not has_separation:
        return study
    return study | {
        "separation": read_separation(directory),
        "neighbours": read_neighbours(directory),
        "is_test": read_is_test(directory),
        "pairs": read_pairs(directory),
    }
