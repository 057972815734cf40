"""The report of an overlap study: which sections it has, and what it says first."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from scuff.design.overlap.nonoverlapping import THRESHOLD
from scuff.metrics import Accuracies
from scuff.report.overlap.scores import OverlapScores, measure_overlap
from scuff.report.overlap.sections import overlap_sections
from scuff.report.overlap.tables import listed_names
from scuff.report.page import Verdicts, render_page, save_page
from scuff.report.parts import Section
from scuff.report.progress.build import progress_sections, reading_results
from scuff.report.words import bracketed, count, fine, hundredths, listed, plain
from scuff.store import Store, read_settings


def write_overlap_report(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    threshold: float = THRESHOLD,
    title: str | None = None,
) -> str:
    """Write the report of an overlap study, by rename, and return its path.

    Parameters
    ----------
    directory
        The folder of an overlap study, on this machine or anywhere that fsspec reaches.
    out
        The file, or a folder for report.html; by default the study's own.
    threshold
        What pairs of the benchmark without overlaps overlap less than.
    title
        The heading, in place of one that names the suites.
    """
    where = os.fspath(directory)
    with reading_results(where):
        accuracies, settings = _read(where)
    more = progress_sections(where)
    return save_page(
        render_overlap(accuracies, settings, where, threshold=threshold, title=title, more=more), where, out
    )


def render_overlap(
    accuracies: Accuracies,
    settings: Mapping[str, Any],
    directory: str | None = None,
    *,
    threshold: float = THRESHOLD,
    title: str | None = None,
    more: Sequence[Section] = (),
) -> str:
    """The text of the report, from the accuracies of a study, what it was made with, and the folder that it is in.

    `more` are sections about something else.
    """
    scores = measure_overlap(accuracies, threshold)
    return render_page(
        title or f"Overlaps of {listed(scores.suites)}",
        _lead(scores),
        overlap_verdicts(scores),
        overlap_sections(scores, settings, directory),
        more=more,
    )


def read_sections(directory: str | os.PathLike[str], threshold: float) -> list[Section]:
    """The sections of an overlap study, for a page about something else."""
    where = os.fspath(directory)
    accuracies, settings = _read(where)
    return overlap_sections(measure_overlap(accuracies, threshold), settings, where)


def overlap_verdicts(scores: OverlapScores) -> Verdicts:
    """What is found, in a sentence each."""
    verdicts = [("Overlaps", _overlap_words(scores))]
    if scores.selection is not None:
        verdicts.append(("Benchmark without overlaps", _chosen_words(scores)))
    if scores.categories is not None:
        verdicts.append(("Categories", _category_words(scores)))
    if scores.balances:
        spreads = [
            f"{name} {plain(found.std.value)}{bracketed(found.std.low, found.std.high, plain)}"
            for name, found in scores.balances.items()
        ]
        verdicts.append(("Balance", f"standard deviation of the mCE: {', '.join(spreads)}."))
    return verdicts


def _lead(scores: OverlapScores) -> str:
    accuracies = scores.accuracies
    tested = f", tested on {count(accuracies.images, 'image')} each" if accuracies.images else ""
    return (
        f"{count(len(scores.overlaps.names), 'corruption')} of {listed(scores.suites)}: a model trained with each and "
        f"one with none, {count(len(accuracies.seeds), 'seed')}{tested}."
    )


def _overlap_words(scores: OverlapScores) -> str:
    overlaps = scores.overlaps.defined()
    if len(overlaps.names) < 2:
        return "of no pair, as too few corruptions gain from being trained with."
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
    groups = [[scores.shown[member] for member in members] for name, members in scores.groups if name]
    found = [", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "") for names in groups]
    return f"{len(found)}: {'; '.join(found)}."


def _read(directory: str) -> tuple[Accuracies, Mapping[str, Any]]:
    from scuff.studies import read_overlap
    from scuff.studies.overlap.study import SETTINGS

    return read_overlap(directory), read_settings(Store(directory), SETTINGS)
