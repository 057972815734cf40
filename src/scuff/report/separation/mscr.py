"""The page about a study of MSCR: which sections it has, and what it says first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scuff.metrics.norms import parse_norm
from scuff.metrics.separation.robust_accuracies import RobustAccuracies
from scuff.report.page import Page
from scuff.report.separation.scores import EPSILON, MscrScores, measure_mscr, norm_words, number
from scuff.report.separation.sections import mscr_sections
from scuff.report.separation.separation import (
    MOST_LISTED,
    Distances,
    data_name,
    read_distances,
    separation_section,
    separation_verdict,
)
from scuff.report.separation.verdicts import Radius, find_radius, mscr_verdicts
from scuff.report.settings import all_facts, meanings, settings_section
from scuff.store import Store, read_settings
from scuff.studies.base import again_from
from scuff.studies.separation.results import SETTINGS, read_mscr
from scuff.studies.separation.study import MscrStudy
from scuff.words import count, grouped, listed

OF_OTHER_DATA = (
    "The folder also holds a class separation, which is that of other data or in another norm than this study's. It is "
    "not shown."
)


def page(directory: str) -> Page:
    """The page about the study of MSCR in a folder, with the separation of its data if that is there."""
    settings = read_settings(Store(directory), SETTINGS)
    return mscr_page(read_mscr(directory), settings, read_distances(directory), directory=directory)


def mscr_page(
    accuracies: RobustAccuracies,
    settings: Mapping[str, Any] | None = None,
    distances: Distances | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page, from accuracies, what the study was made with, and the distances of its data.

    Distances of other data than the study's, or in another norm, are not shown.
    """
    settings, notes = settings or {}, []
    if settings and distances is not None and not is_separation_of(distances.separation, settings):
        distances, notes = None, [OF_OTHER_DATA]
    scores = measure_mscr(accuracies)
    radius = find_radius(accuracies.epsilon_min, settings, {} if distances is None else distances.separation)
    again = None if directory is None else again_from(MscrStudy, settings, directory)
    facts = all_facts(settings, hidden=["options"], most_listed=MOST_LISTED)
    data = data_name(settings.get("data", "the data"))
    models = listed(scores.models) if len(scores.models) < 4 else count(len(scores.models), "model")
    return Page(
        f"MSCR of {models} on {data}",
        _lead(scores, settings),
        [
            *([] if distances is None else [separation_verdict(distances.separation)]),
            *mscr_verdicts(scores, radius),
        ],
        [
            *mscr_sections(scores, radius),
            None if distances is None else separation_section(distances),
            settings_section(facts, again, _definitions(scores, radius), notes=notes),
        ],
        scores.models,
    )


def is_separation_of(separation: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a separation is that of the data of a study, in its norm."""
    is_same_data = separation.get("data_fingerprint") == settings.get("data_fingerprint")
    return is_same_data and parse_norm(separation["norm"]) == parse_norm(settings["norm"])


def _definitions(scores: MscrScores, radius: Radius) -> dict[str, str]:
    terms = meanings("separation", "mscr", epsilon=EPSILON, loss=radius.loss)
    about = {EPSILON: radius.about} if radius.about else {}
    return terms | about | {"intervals": f"{scores.scores['interval'].iloc[0]}."}


def _lead(scores: MscrScores, settings: Mapping[str, Any]) -> str:
    """The sentence below the title: what was trained and tested, how often, with which noise."""
    accuracies = scores.accuracies
    planned = len(settings.get("runs", accuracies.runs))
    so_far = f" of {grouped(planned)} so far" if planned > len(accuracies.runs) else ""
    radii = count(len(accuracies.train_noise), "radius", "radii")
    trained = f"trained with noise of {radii}, " if scores.has_training_noise else ""
    return (
        f"{listed(scores.models)}, {trained}{count(len(accuracies.runs), 'run')}{so_far}, tested on "
        f"{count(accuracies.most_copies, 'noisy point')} per test point in balls of {norm_words(accuracies.norm)}; "
        f"{EPSILON} = {number(accuracies.epsilon_min)}."
    )
