"""The report of distances between augmentation schemes and corruptions: what it says first, and its sections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.metrics import Distances
from scuff.report import parts
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Section
from scuff.report.transform_space.command import distances_again
from scuff.report.transform_space.figures import correlation_bars, error_scatter, mean_scatter
from scuff.report.transform_space.matrices import MOST_ROWS, distance_matrix
from scuff.report.transform_space.names import ABBREVIATIONS, full_name, is_subset
from scuff.report.transform_space.read import CORRELATIONS, TRIALS, read_table
from scuff.report.transform_space.scores import KINDS, RHO, DistanceScores, measure_distances, near
from scuff.report.transform_space.seeds import INTERVALS
from scuff.report.transform_space.settings import FEATURE, MMD, MSD, settings_section
from scuff.report.transform_space.tables import correlation_table, nearest_table, scheme_table
from scuff.report.words import bracketed, count, hundredths, listed, percent_sign, plain
from scuff.store import Store, read_settings

STRONG = 0.6  # the correlation that the paper calls high

DEFINITIONS = {
    "MSD": MSD,
    "MMD": MMD,
    "feature": FEATURE,
    "schemes": (
        "Ways to augment training images. Subsets of AugMix's operations mix chains of these operations only; they "
        f"are the background in figures. {ABBREVIATIONS}"
    ),
}
CORRELATION = (
    "Spearman's rank correlation over schemes, of the distance to a corruption and the error on it of a network that "
    "was trained with the scheme; both are means over severities. 1: the nearer, the better. 0: distance says nothing. "
    "Intervals: bootstrap over schemes."
)


def page(directory: str) -> Page:
    """The page about the distances in a folder, with errors and correlations if it has them."""
    from scuff.studies.transform_space.distances import read_distance_study

    store = Store(directory)
    settings = read_settings(store, "distances.json")
    trained = read_settings(store, TRIALS) if store.exists(TRIALS) else {}
    tables = {kind: read_table(store, name) for kind, name in CORRELATIONS.items()}
    correlations = {kind: table.fillna({"note": ""}) for kind, table in tables.items() if table is not None}
    distances, errors = read_distance_study(directory), read_table(store, "errors.csv")
    return distances_page(distances, settings | trained, errors, correlations, directory=directory)


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
    `correlations` what `metrics.scheme_correlations` makes of both, by the kind of distance: "msd", and "mmd" if you
    like. `directory` is the folder that all of it is in.
    """
    scores, settings = measure_distances(distances, errors, correlations), settings or {}
    again = None if directory is None or not settings else distances_again(settings, directory)
    definitions = DEFINITIONS | ({RHO: CORRELATION} if scores.correlations else {})
    definitions |= {"intervals of errors": INTERVALS} if scores.errors is not None else {}
    sections = [
        distances_section(scores),
        correlation_section(scores),
        errors_section(scores),
        settings_section(settings, again, list(definitions.items())),
    ]
    return Page(
        _title(scores, settings),
        _lead(scores, settings),
        distance_verdicts(scores),
        [section for section in sections if section is not None],
    )


def distance_verdicts(scores: DistanceScores) -> Verdicts:
    """What is found, in a sentence or two each."""
    verdicts = [("Distances", _nearest_words(scores))]
    if scores.correlations:
        verdicts.append(("Distance and error", " ".join(_correlation_sentences(scores))))
    if scores.errors is not None and len(scores.mean_errors):
        verdicts.append(("Trained networks", _error_words(scores)))
    if scores.resamplings > 1:
        kinds = [f"{name} {plain(100 * scores.distances.relative_spread(kind))}\u00a0%" for kind, name in KINDS.items()]
        over = f"over {count(scores.resamplings, 'resampling')} with fresh images and draws"
        verdicts.append(("Precision", f"standard deviation of a distance {over}, relative to it: {listed(kinds)}."))
    return verdicts


def distances_section(scores: DistanceScores) -> Section:
    """The matrix of distances, and its means."""
    some = ""
    if len(scores.by_distance) > MOST_ROWS:
        some = f" Of {len(scores.by_distance)} schemes, the {MOST_ROWS} are shown that are nearest or known by a name."
    short = ABBREVIATIONS if any(map(is_subset, scores.distances.schemes)) else None
    return parts.section(
        "distances",
        "Distances",
        parts.text(
            "How near the nearest augmentation of a scheme comes to a corruption (MSD). Colours compare the schemes of "
            "a column, and the nearest of them is framed. Rows are in the order of their means, schemes with a name "
            f"first.{some} Hover over a cell, or tap it, for more."
        ),
        parts.matrix(distance_matrix(scores)),
        None if short is None else parts.note(short),
        parts.heading("Nearest schemes"),
        parts.table(nearest_table(scores)),
        parts.folded(scheme_table(scores), "All schemes as a table"),
    )


def correlation_section(scores: DistanceScores) -> Section | None:
    """Whether distance predicts error."""
    if not scores.correlations:
        return None
    notes = _notes(scores)
    return parts.section(
        "correlation",
        "Correlation with errors",
        parts.text(
            "Over all schemes: whether networks that were trained with a nearer scheme err less on a corruption. Right "
            "of 0, they do. An interval that holds 0 does not tell."
        ),
        parts.figures([correlation_bars("correlation", scores)], side_by_side=False),
        *(parts.note(words) for words in notes),
        parts.folded(correlation_table(scores)),
    )


def errors_section(scores: DistanceScores) -> Section | None:
    """Distance against error, all corruptions together and each for itself."""
    if scores.errors is None or not scores.errors.notna().any(axis=None):
        return None
    figures = [
        error_scatter(f"error{place}", scores, corruption)
        for place, corruption in enumerate(scores.msd.columns)
        if scores.errors[corruption].notna().any()
    ]
    has_subsets = any(map(is_subset, scores.distances.schemes))
    grey = " Grey points in the background are subsets of AugMix's operations." if has_subsets else ""
    return parts.section(
        "errors",
        "Distance against error",
        parts.text(
            "Every point is a scheme: left is nearer to the corruption, down is a lower error of the network that was "
            f"trained with it.{grey} Hover over a point for its scheme."
        ),
        parts.figures([mean_scatter("errors", scores)], side_by_side=False) if len(scores.mean_errors) else None,
        parts.figures(figures),
    )


def _notes(scores: DistanceScores) -> list[str]:
    """What is said of correlations, a sentence for all corruptions of which the same is said."""
    said: dict[tuple[str, str], list[str]] = {}
    for kind, table in scores.correlations.items():
        for corruption, note in table["note"].items():
            if note and corruption in scores.shown:
                said.setdefault((KINDS[kind], note), []).append(scores.shown[corruption])
    return [f"{kind}, {listed(names)}: {note}." for (kind, note), names in said.items()]


def _nearest_words(scores: DistanceScores) -> str:
    best, corruptions = scores.by_distance[0], len(scores.msd.columns)
    mean = near(scores.msd.loc[best].mean())
    if len(scores.by_distance) == 1:
        return f"{full_name(best)} is at a mean MSD of {mean} from {count(corruptions, 'corruption')}."
    wins, nearest = int((scores.msd.idxmin() == best).sum()), scores.msd.min().idxmin()
    sentences = [
        f"of {count(len(scores.by_distance), 'scheme')}, {full_name(best)} comes nearest to "
        f"{count(corruptions, 'corruption')} in the mean (MSD {mean})"
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


def _correlation_sentences(scores: DistanceScores) -> list[str]:
    kind, table = next(iter(scores.correlations.items()))
    found = table.dropna(subset=["rho"])
    if found.empty:
        return [f"Not known: {listed(list(dict.fromkeys(table['note'])))}."]
    best, worst = (found.loc[name] for name in (found["rho"].idxmax(), found["rho"].idxmin()))
    sure, strong = int((found["low"] > 0).sum()), int((found["rho"] > STRONG).sum())
    corruptions = count(len(table), "corruption")
    sentences = [
        f"The nearer a scheme, the lower the error: by {KINDS[kind]}, the interval of {RHO} is above 0 for {sure} of "
        f"{corruptions}, and {RHO} above {STRONG:g} for {strong}."
        if sure
        else f"By {KINDS[kind]}, the interval of {RHO} is above 0 for none of {corruptions}: nearer schemes are not "
        "known to err less."
    ]
    if len(found) > 1:
        each = [f"{scores.shown[line.name]} with {_rho(line)}" for line in (best, worst)]
        sentences.append(f"Mean {RHO} {hundredths(found['rho'].mean())}; most for {each[0]}, least for {each[1]}.")
    others = {KINDS[k]: t["rho"].mean() for k, t in scores.correlations.items() if k != kind and t["rho"].notna().any()}
    return sentences + [f"With {name}, the mean is {hundredths(rho)}." for name, rho in others.items()]


def _rho(line: pd.Series) -> str:
    return f"{hundredths(line['rho'])}{bracketed(line['low'], line['high'], hundredths)}"


def _error_words(scores: DistanceScores) -> str:
    errors = scores.mean_errors.sort_values("value", kind="stable")
    best, worst = (f"{full_name(line.name)}, {_error(line)}" for line in (errors.iloc[0], errors.iloc[-1]))
    over = f"mean over {count(len(scores.msd.columns), 'corruption')}"
    so_far = f" They are {len(errors)} of the {len(scores.by_distance)} schemes." if _unfinished(scores) else ""
    if len(errors) == 1:
        return f"{best}, {over}.{so_far}"
    return f"lowest error with {best}, highest with {worst}; {over}.{so_far}"


def _error(line: pd.Series) -> str:
    return f"{percent_sign(line['value'])}{bracketed(line['low'], line['high'])}"


def _unfinished(scores: DistanceScores) -> bool:
    return len(scores.mean_errors) < len(scores.by_distance)


def _title(scores: DistanceScores, settings: Mapping[str, Any]) -> str:
    suite = settings.get("suite", {}).get("suite")
    to = suite or count(len(scores.msd.columns), "corruption")
    return f"Augmentations and {to}: distance and error" if scores.errors is not None else f"Augmentations near {to}"


def _lead(scores: DistanceScores, settings: Mapping[str, Any]) -> str:
    schemes, corruptions = count(len(scores.by_distance), "scheme"), count(len(scores.msd.columns), "corruption")
    text = f"{schemes}, {corruptions} at {count(len(scores.distances.cells), 'severity', 'severities')} in all"
    if "extractor" in settings:
        extractor = settings["extractor"]
        who = f"a network of the recipe {extractor['recipe']['name']}" if "recipe" in extractor else extractor["name"]
        text += (
            f"; {count(settings['augmentations'], 'augmentation')} of each scheme on "
            f"{count(settings['images'], 'image')} of {settings['data']}, as {who} sees them"
        )
    return f"{text}."
