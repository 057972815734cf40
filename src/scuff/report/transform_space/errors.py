"""What the page about distances says of errors, where networks were trained: do nearer schemes make fewer?"""

from __future__ import annotations

import pandas as pd

from scuff.report import parts
from scuff.report.page import Verdicts
from scuff.report.parts import Section
from scuff.report.transform_space.figures import correlation_bars, error_scatter, mean_scatter
from scuff.report.transform_space.names import full_name
from scuff.report.transform_space.scores import KINDS, RHO, DistanceScores
from scuff.report.transform_space.tables import correlation_table
from scuff.words import bracketed, count, hundredths, listed, percent_sign

STRONG = 0.6  # the correlation that the paper calls high


def correlation_verdicts(scores: DistanceScores) -> Verdicts:
    """Whether distance predicts error, and which networks err least."""
    verdicts = []
    if scores.correlations:
        verdicts.append(("Distance and error", " ".join(_correlation_sentences(scores))))
    if len(scores.mean_errors):
        verdicts.append(("Trained networks", _error_words(scores)))
    return verdicts


def correlation_section(scores: DistanceScores) -> Section | None:
    """Whether distance predicts error."""
    if not scores.correlations:
        return None
    return parts.section(
        "correlation",
        "Correlation with errors",
        parts.text(
            "Over all schemes: whether networks that were trained with a nearer scheme err less on a corruption. Right "
            "of 0, they do. An interval that contains 0 leaves it open."
        ),
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
