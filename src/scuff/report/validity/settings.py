"""How the numbers of validity came about, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scuff.report import parts
from scuff.report.parts import Facts, Section
from scuff.report.settings import Again, all_facts
from scuff.report.validity import tables
from scuff.report.validity.notes import some_of
from scuff.report.validity.scores import ALL, STRONG, WEAK, ValidityScores
from scuff.report.words import grouped, listed

MOST_STANDARD = 10  # models that are named
# What other parts of the page show.
OTHERWISE_SAID = {"left_out", "suites", "categories", "notes", "models", "same", "different", "groups"} | {
    "resample",
    "suites_from",
}
NAMES = {
    "table": "fingerprint of the table",
    "categories_from": "categories from",
    "count": "benchmarks of a group, about",
    "search": "sizes of searches",
}
DEFINITIONS = {
    "residual robustness": (
        "Accuracy on clean images minus accuracy on shifted ones, in percentage points: what a shift costs. Smaller is "
        "more robust. Of a natural benchmark, both are of the same classes. Of a synthetic benchmark, the mean over "
        "its corruptions, each the mean over its severities."
    ),
    "Pearson, Spearman": (
        "Correlation over models of the residual robustness on a synthetic and on a natural benchmark; Spearman's is "
        "that of their ranks. 1: the one predicts the other. 0: it says nothing of it. Sentences call it weak below "
        f"{WEAK}, moderate below {STRONG}, and strong from there on."
    ),
    "given clean accuracy": (
        "Pearson's correlation of what clean accuracy does not explain of both, by a line, the usual partial "
        "correlation, or by a curve, a polynomial of degree three. It tells whether a benchmark says anything that is "
        "not known from clean images. What shifts cost is often curved in clean accuracy, as whoever knows little has "
        "little to lose; then a line explains next to nothing, and the curve is to be trusted."
    ),
    "effective robustness": (
        "Accuracy on shifted images above what is expected from the accuracy on clean ones: above the line that is "
        "fitted to models without an intervention for robustness, or to all if none is named, on logits of both "
        "(Taori et al. 2020). The table has Pearson's correlation of it on both benchmarks. Scores that are no "
        "accuracies have none."
    ),
    "mean": "The mean of the correlations with all natural benchmarks.",
}
P_VALUES = (
    "How often as strong a correlation comes about without any relation, if models were independent of each other. "
    "Models that are alike are not, and make p-values too small; intervals over families take that into account."
)
GROUPS = {
    "n,k": "Benchmarks of n categories with k corruptions of each (Laugros et al. 2021): many, or all that there are.",
    "std": "Standard deviation of the numbers of corruptions per category of a benchmark. At 0, all have as many.",
}
SEARCHES = {
    "held out": (
        "The benchmark is chosen on some of the models and scored on the others, many times. On the choosing models "
        "is the score on those that it is chosen on, which flatters it. Intervals: Student's t over these repetitions, "
        "corrected for the models that they share (Nadeau and Bengio 2003)."
    ),
    "stability": "The share of members that choices on some of the models have in common with that on all.",
}


def definitions(scores: ValidityScores) -> Facts:
    """What is said of numbers that are on the page."""
    units = "models" if scores.shifts.families is None else "whole families of models"
    found = DEFINITIONS | {"intervals": f"95 %, bootstrap over {units}.", "p-values": P_VALUES}
    if scores.contributions is not None:
        found["gain"] = "The correlation of a benchmark minus that of the benchmark without a corruption."
    if scores.groups is not None:
        found |= GROUPS
    return list((found | (SEARCHES if scores.searches is not None else {})).items())


def settings_section(scores: ValidityScores, settings: Mapping[str, Any], again: Again | None) -> Section:
    """How the numbers came about: models, settings, the command, and what each number means."""
    left_out, same = [], []
    if scores.shifts.left_out:
        left_out = [
            parts.table(tables.reason_table(scores)),
            parts.folded(tables.left_out_table(scores), f"All {len(scores.shifts.left_out)} that are left out"),
        ]
    if again is not None:
        same = [parts.heading("The same again"), parts.command(again.words), *map(parts.note, again.notes)]
    facts = {NAMES.get(key, key): value for key, value in settings.items() if key not in OTHERWISE_SAID}
    if isinstance(settings.get("categories_from"), dict):
        facts[NAMES["categories_from"]] = "as given in Python"
    return parts.section(
        "settings",
        "Settings and environment",
        *(parts.note(f"{note}.".replace("..", ".")) for note in settings.get("notes", ())),
        parts.facts([*_model_facts(scores), *all_facts(facts)]),
        *left_out,
        *same,
        parts.heading("How to read this"),
        parts.facts(definitions(scores)),
    )


def _model_facts(scores: ValidityScores) -> Facts:
    """Which models and benchmarks there are."""
    shifts = scores.shifts
    models = grouped(len(shifts.models)) + (f"; {len(shifts.left_out)} left out" if shifts.left_out else "")
    facts = [("Models", models)]
    if shifts.families is not None:
        facts.append(("Families", f"{shifts.families.nunique()}, resampled and held out as a whole"))
    facts.append(("Standard models", _standard_words(shifts.standard)))
    facts.append(("Natural benchmarks", listed(scores.natural)))
    return facts + [
        (suite, listed([scores.shown.get(name, name) for name in members]))
        for suite, members in scores.members.items()
        if suite != ALL
    ]


def _standard_words(standard: tuple[str, ...] | None) -> str:
    if standard is None:
        return "none named, so that all serve"
    return listed(some_of(standard, MOST_STANDARD)) if standard else "all that were named are left out"
