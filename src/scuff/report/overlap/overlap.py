"""The page about an overlap study: which sections it has, and what it says first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from scuff.design.overlap.nonoverlapping import THRESHOLD
from scuff.metrics import Accuracies
from scuff.report.overlap.scores import OverlapScores, measure_overlap
from scuff.report.overlap.sections import overlap_sections
from scuff.report.overlap.tables import listed_names
from scuff.report.page import Page, Verdicts
from scuff.store import Store, read_settings
from scuff.words import bracketed, count, fine, hundredths, listed, name_some, plain


def page(directory: str, *, threshold: float = THRESHOLD) -> Page:
    """The page about the overlap study in a folder; pairs of its benchmark overlap less than the threshold."""
    from scuff.studies import read_overlap
    from scuff.studies.overlap.results import SETTINGS

    settings = read_settings(Store(directory), SETTINGS)
    return overlap_page(read_overlap(directory), settings, directory, threshold=threshold)


def overlap_page(
    accuracies: Accuracies,
    settings: Mapping[str, Any],
    directory: str | None = None,
    *,
    threshold: float = THRESHOLD,
) -> Page:
    """The page, from the accuracies of a study, what it was made with, and the folder that it is in."""
    scores = measure_overlap(accuracies, threshold)
    return Page(
        f"Overlaps of {listed(scores.suites)}",
        _lead(scores),
        overlap_verdicts(scores),
        overlap_sections(scores, settings, directory),
    )


def overlap_verdicts(scores: OverlapScores) -> Verdicts:
    """What is found, in a sentence each."""
    verdicts = [("Overlaps", _overlap_words(scores))]
    if scores.selection is not None:
        verdicts.append(("Benchmark without overlaps", _chosen_words(scores)))
    if scores.categories is not None:
        verdicts.append(("Categories", _category_words(scores)))
    if scores.balances:
        spreads = [
            f"{name} {plain(balance.std.value)}{bracketed(balance.std.low, balance.std.high, plain)}"
            for name, balance in scores.balances.items()
        ]
        verdicts.append(("Balance", f"standard deviation of the mCE: {', '.join(spreads)}."))
    return verdicts


def _lead(scores: OverlapScores) -> str:
    accuracies = scores.accuracies
    tested = f", tested on {count(accuracies.images, 'image')} each" if accuracies.images else ""
    return (
        f"{count(len(scores.overlaps.names), 'corruption')} of {listed(scores.suites)}: a model trained on each and "
        f"one on none, {count(len(accuracies.seeds), 'seed')}{tested}."
    )


def _overlap_words(scores: OverlapScores) -> str:
    overlaps = scores.overlaps.defined()
    if len(overlaps.names) < 2:
        return "of no pair, as too few corruptions gain from training on them."
    a, b = max(combinations(overlaps.names, 2), key=lambda pair: overlaps.score(*pair).value)
    strongest, pairs = overlaps.score(a, b), count(math.comb(len(overlaps.names), 2), "pair")
    return (
        f"mean {hundredths(overlaps.mean_overlap())} over {pairs}; most between {scores.shown[a]} and "
        f"{scores.shown[b]}, {hundredths(strongest.value)}{bracketed(strongest.low, strongest.high, hundredths)}."
    )


def _chosen_words(scores: OverlapScores) -> str:
    chosen = scores.selection
    mean = f"; mean overlap {fine(chosen.mean_overlap)}" if len(chosen.members) > 1 else ""
    return (
        f"{len(chosen.members)} of {count(len(scores.leaves), 'corruption')}, all pairs below {chosen.threshold:g}: "
        f"{listed_names(scores, chosen.members)}{mean}."
    )


def _category_words(scores: OverlapScores) -> str:
    named = [name_some([scores.shown[member] for member in members]) for name, members in scores.groups if name]
    return f"{len(named)}: {'; '.join(named)}."
