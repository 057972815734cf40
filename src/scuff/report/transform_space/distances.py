"""The page about distances between augmentation schemes and corruptions, with errors if networks were trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.metrics import Distances
from scuff.report import parts
from scuff.report.page import Page
from scuff.report.parts import Section
from scuff.report.settings import meanings
from scuff.report.transform_space.scores import (
    ABBREVIATIONS,
    KINDS,
    RHO,
    DistanceScores,
    full_name,
    is_subset,
    last_section,
    measure_distances,
    near,
)
from scuff.report.transform_space.tables import (
    MOST_ROWS,
    correlation_bars,
    correlation_table,
    distance_matrix,
    error_scatter,
    mean_scatter,
    nearest_table,
    scheme_table,
)
from scuff.store import Store
from scuff.studies import CorrelationStudy, DistancesStudy
from scuff.words import bracketed, count, hundredths, listed, percent_sign, plain

STRONG = 0.6  # the correlation that the paper calls high


def correlation_section(scores: DistanceScores) -> Section | None:
    """Whether distance predicts error."""
    if not scores.correlations:
        return None
    return parts.section(
        "correlation",
        "Correlation with errors",
        f"Over {_counted(scores) or 'all schemes'}: whether networks that were trained with a nearer scheme err less "
        "on a corruption. Right of 0, they do. An interval that contains 0 leaves it open.",
        parts.figures([correlation_bars("correlation", scores)], side_by_side=False),
        *map(parts.note, _notes(scores)),
        parts.folded(correlation_table(scores)),
    )


def errors_section(scores: DistanceScores) -> Section | None:
    """Distance against error, for all corruptions together and for each."""
    if scores.errors is None or not scores.errors.notna().any(axis=None):
        return None
    figures = [
        error_scatter(f"error{place}", scores, corruption)
        for place, corruption in enumerate(scores.msd.columns)
        if scores.errors[corruption].notna().any()
    ]
    grey = " Grey points in the background are subsets of AugMix's operations." if scores.has_subsets else ""
    over = f" {RHO} is over {_counted(scores)}." if scores.correlations and _counted(scores) else ""
    return parts.section(
        "errors",
        "Distance against error",
        "Every point is a scheme: left is nearer to the corruption, down is a lower error of the network that was "
        f"trained with it.{grey}{over} Hover over a point for its scheme.",
        parts.figures([mean_scatter("errors", scores)], side_by_side=False) if len(scores.mean_errors) else None,
        parts.figures(figures),
    )


def _counted(scores: DistanceScores) -> str:
    """How many schemes the correlations count; nothing if all of them."""
    counted, known = int(next(iter(scores.correlations.values()))["schemes"].max()), len(scores.by_distance)
    return "" if counted == known else f"{counted} of the {count(known, 'scheme')}"


def _notes(scores: DistanceScores) -> list[str]:
    """Notes on correlations, a sentence for all corruptions that have the same."""
    corruptions: dict[tuple[str, str], list[str]] = {}
    for kind, table in scores.correlations.items():
        for corruption, note in table["note"].items():
            if note:
                corruptions.setdefault((KINDS[kind], note), []).append(scores.shown[corruption])
    return [f"{kind}, {listed(names)}: {note}." for (kind, note), names in corruptions.items()]


def _correlation_sentences(scores: DistanceScores) -> list[str]:
    kind, table = next(iter(scores.correlations.items()))
    known = table.dropna(subset=["rho"])
    if known.empty:
        return [f"Not known: {listed(list(dict.fromkeys(table['note'])))}."]
    sure, strong = int((known["low"] > 0).sum()), int((known["rho"] > STRONG).sum())
    corruptions = count(len(table), "corruption")
    sentences = [
        f"The nearer a scheme, the lower the error: by {KINDS[kind]}, the interval of {RHO} is above 0 for {sure} of "
        f"{corruptions}, and {RHO} above {STRONG:g} for {strong}."
        if sure
        else f"By {KINDS[kind]}, the interval of {RHO} is above 0 for none of {corruptions}: nearer schemes are not "
        "known to err less."
    ]
    if len(known) > 1:
        ends = [known.loc[name] for name in (known["rho"].idxmax(), known["rho"].idxmin())]
        most, least = (f"{scores.shown[line.name]} with {_rho(line)}" for line in ends)
        sentences.append(f"Mean {RHO} {hundredths(known['rho'].mean())}; most for {most}, least for {least}.")
    others = {KINDS[k]: t["rho"].mean() for k, t in scores.correlations.items() if k != kind and t["rho"].notna().any()}
    return sentences + [f"With {name}, the mean is {hundredths(rho)}." for name, rho in others.items()]


def _rho(line: pd.Series) -> str:
    return f"{hundredths(line['rho'])}{bracketed(line['low'], line['high'], hundredths)}"


def _error_words(scores: DistanceScores) -> str:
    errors = scores.mean_errors.sort_values("value", kind="stable")
    words = [
        f"{full_name(line.name)}, {percent_sign(line['value'])}{bracketed(line['low'], line['high'])}"
        for line in (errors.iloc[0], errors.iloc[-1])
    ]
    over = f"mean over {count(len(scores.msd.columns), 'corruption')}"
    are_all = len(errors) == len(scores.by_distance)
    so_far = "" if are_all else f" They are {len(errors)} of the {len(scores.by_distance)} schemes."
    if len(errors) == 1:
        return f"{words[0]}, {over}.{so_far}"
    return f"lowest error with {words[0]}, highest with {words[1]}; {over}.{so_far}"


def page(directory: str) -> Page:
    """The page about the distances in a folder, with errors and correlations if it has them."""
    from scuff.studies.transform_space.distances import read_distance_study
    from scuff.studies.transform_space.files import read_table
    from scuff.studies.transform_space.trials import CORRELATIONS, ERRORS

    store = Store(directory)
    settings = DistancesStudy.read_settings(directory)
    if store.exists(CorrelationStudy.file):
        settings |= CorrelationStudy.read_settings(directory)
    correlations = {kind: read_table(store, name) for kind, name in CORRELATIONS.items() if store.exists(name)}
    errors = read_table(store, ERRORS) if store.exists(ERRORS) else None
    return distances_page(read_distance_study(directory), settings, errors, correlations, directory=directory)


def distances_page(
    distances: Distances,
    settings: Mapping[str, Any] | None = None,
    errors: pd.DataFrame | None = None,
    correlations: Mapping[str, pd.DataFrame] | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page about distances.

    `errors` are those of networks trained with the schemes (scheme, corruption, severity, error, and seed if several),
    `correlations` are those of `metrics.scheme_correlations` by the kind of distance: "msd", and "mmd" if you like.
    `directory` is the folder of the study.
    """
    scores, settings = measure_distances(distances, errors, correlations), settings or {}
    known = {"correlation": bool(scores.correlations), "errors of schemes": scores.errors is not None}
    terms = ["distances", *(name for name, is_known in known.items() if is_known)]
    study = CorrelationStudy if "seeds" in settings else DistancesStudy
    suite = settings.get("suite", {}).get("suite") or count(len(scores.msd.columns), "corruption")
    verdicts = [("Distances", _nearest_words(scores))]
    if scores.correlations:
        verdicts.append(("Distance and error", " ".join(_correlation_sentences(scores))))
    if len(scores.mean_errors):
        verdicts.append(("Trained networks", _error_words(scores)))
    if scores.distances.resamplings > 1:
        kinds = [f"{name} {plain(100 * distances.relative_spread(kind))}\u00a0%" for kind, name in KINDS.items()]  # type: ignore[arg-type]
        over = f"over {count(distances.resamplings, 'resampling')} with fresh images and draws"
        verdicts.append(("Precision", f"standard deviation of a distance {over}, relative to it: {listed(kinds)}."))
    return Page(
        f"Augmentations near {suite}" if scores.errors is None else f"Augmentations and {suite}: distance and error",
        _lead(scores, settings),
        verdicts,
        [
            distances_section(scores),
            correlation_section(scores),
            errors_section(scores),
            last_section(study, settings, directory, meanings(*terms, abbreviations=ABBREVIATIONS, rho=RHO)),
        ],
    )


def distances_section(scores: DistanceScores) -> Section:
    """The matrix of distances, and its means."""
    some = ""
    if len(scores.by_distance) > MOST_ROWS:
        some = f" Of {len(scores.by_distance)} schemes, the {MOST_ROWS} are shown that are nearest or known by a name."
    return parts.section(
        "distances",
        "Distances",
        "How near the nearest augmentation of a scheme comes to a corruption (MSD). Colours compare the schemes of "
        "a column, and the nearest of them is framed. Rows are in the order of their means, schemes with a name "
        f"first.{some} Hover over a cell, or tap it, for more.",
        parts.matrix(distance_matrix(scores)),
        parts.note(ABBREVIATIONS) if scores.has_subsets else None,
        parts.heading("Nearest schemes"),
        parts.table(nearest_table(scores)),
        parts.folded(scheme_table(scores), "All schemes as a table"),
    )


def _nearest_words(scores: DistanceScores) -> str:
    best, corruptions = scores.by_distance[0], len(scores.msd.columns)
    mean = near(scores.msd.loc[best].mean())
    if len(scores.by_distance) == 1:
        return f"{full_name(best)} is at a mean MSD of {mean} from {count(corruptions, 'corruption')}."
    wins, nearest = int((scores.msd.idxmin() == best).sum()), scores.msd.min().idxmin()
    sentences = [
        f"of {count(len(scores.by_distance), 'scheme')}, {full_name(best)} comes nearest to "
        f"{count(corruptions, 'corruption')} on average (MSD {mean})"
        + (f", and is the nearest of all to {'each' if wins == corruptions else wins} of them." if wins else ".")
    ]
    if is_subset(best) and scores.named:
        other = next(scheme for scheme in scores.by_distance if not is_subset(scheme))
        sentences.append(f"Of schemes with a name, it is {other} ({near(scores.msd.loc[other].mean())}).")
    smallest = scores.msd[nearest]
    sentences.append(
        f"The smallest distance is that of {full_name(smallest.idxmin())} to {scores.shown[nearest]}, "
        f"{near(smallest.min())}."
    )
    return " ".join(sentences)


def _lead(scores: DistanceScores, settings: Mapping[str, Any]) -> str:
    schemes, corruptions = count(len(scores.by_distance), "scheme"), count(len(scores.msd.columns), "corruption")
    text = f"{schemes}, {corruptions} at {count(len(scores.distances.cells), 'severity', 'severities')} in all"
    if {"extractor", "augmentations", "images", "data"} <= settings.keys():
        extractor = settings["extractor"]
        recipe, name = extractor.get("recipe", {}).get("name"), extractor.get("name", "a network")
        who = f"a network of the recipe {recipe}" if recipe else name
        text += (
            f"; {count(settings['augmentations'], 'augmentation')} of each scheme on "
            f"{count(settings['images'], 'image')} of {settings['data']}, as {who} sees them"
        )
    return f"{text}."
