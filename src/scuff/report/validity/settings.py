"""How the numbers of validity came about, and what each means."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from scuff.report import parts
from scuff.report.parts import Facts, Section
from scuff.report.settings import all_facts, settings_section
from scuff.report.validity import tables
from scuff.report.validity.notes import some_of
from scuff.report.validity.scores import ALL, ValidityScores
from scuff.report.validity.verdicts import STRONG, WEAK
from scuff.studies.base import Again, again
from scuff.studies.options import OBJECT
from scuff.studies.validity.study import ValidityStudy
from scuff.words import grouped, listed

MOST_STANDARD = 10  # models that are named
TABLE, CATEGORIES = "shifts.csv", "categories.yaml"  # the copy of the table that a study keeps; a file to be written
GIVEN_TABLE = "The table was given in Python; this is the copy that the folder keeps."
GIVEN_CATEGORIES = "Categories were given in Python: put them into this file, category: [corruptions]."
SHOWN_ELSEWHERE = ("left_out", "suites", "categories", "notes", "models", "same", "different", "groups", "options")
NAMES = {"table": "fingerprint of the table", "count": "benchmarks of a group, about", "search": "sizes of searches"}
DEFINITIONS = {
    "residual robustness": (
        "Accuracy on clean images minus accuracy on shifted ones, in percentage points: what a shift costs. Smaller is "
        "more robust. For a natural benchmark, both are on the same classes. For a synthetic benchmark, the mean over "
        "its corruptions, each the mean over its severities."
    ),
    "Pearson, Spearman": (
        "Correlation over models of the residual robustness on a synthetic and on a natural benchmark; Spearman's is "
        "that of their ranks. 1: the one predicts the other. 0: it says nothing about it. Sentences call it weak below "
        f"{WEAK}, moderate below {STRONG}, and strong from there on."
    ),
    "given clean accuracy": (
        "Pearson's correlation of what clean accuracy does not explain in both, by a line, the usual partial "
        "correlation, or by a curve, a polynomial of degree three. It tells whether a benchmark says anything that is "
        "not known from clean images. What shifts cost is often curved in clean accuracy, as weak models have little "
        "to lose; then a line explains next to nothing, and the curve is to be trusted."
    ),
    "effective robustness": (
        "Accuracy on shifted images above what is expected from the accuracy on clean ones: above the line that is "
        "fitted to models without an intervention for robustness, or to all if none is named, on logits of both "
        "(Taori et al. 2020). The table has Pearson's correlation of it on both benchmarks. Scores that are not "
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
    "stability": "The fraction of members that choices on some of the models have in common with that on all.",
}


def definitions(scores: ValidityScores) -> Facts:
    """What the numbers on the page mean."""
    units = "models" if scores.shifts.families is None else "whole families of models"
    meanings = DEFINITIONS | {"intervals": f"95 %, bootstrap over {units}.", "p-values": P_VALUES}
    if scores.contributions is not None:
        meanings["gain"] = "The correlation of a benchmark minus that of the benchmark without a corruption."
    meanings |= {} if scores.groups is None else GROUPS
    return list((meanings | ({} if scores.searches is None else SEARCHES)).items())


def validity_again(settings: Mapping[str, Any], out: str) -> Again | None:
    """The command with all non-default options; what was given in Python is replaced by files."""
    if "options" not in settings:
        return None
    options, notes = dict(settings["options"]), []
    if isinstance(options["source"], dict) or isinstance(options.get("mapping"), dict):
        options = {key: v for key, v in options.items() if key not in ("mapping", "natural", "severities")}
        options["source"] = os.path.join(out, TABLE)
        notes.append(GIVEN_TABLE)
    if isinstance(options.get("categories"), dict):
        options["categories"] = CATEGORIES
        notes.append(GIVEN_CATEGORIES)
    command = again(ValidityStudy, options, out)
    return Again(command.words, (*notes, *command.notes))


def validity_settings(scores: ValidityScores, same: Again | None) -> Section:
    """How the numbers came about: models, settings, the command, and what each number means."""
    left_out = []
    if scores.shifts.left_out:
        left_out = [
            parts.table(tables.reason_table(scores)),
            parts.folded(tables.left_out_table(scores), f"All {len(scores.shifts.left_out)} that are left out"),
        ]
    notes = [f"{note}.".replace("..", ".") for note in scores.settings.get("notes", ())]
    return settings_section(_facts(scores), same, definitions(scores), *left_out, notes=notes)


def _facts(scores: ValidityScores) -> Facts:
    """Models, benchmarks and settings."""
    shifts, options = scores.shifts, scores.settings.get("options", {})
    models = grouped(len(shifts.models)) + (f"; {len(shifts.left_out)} left out" if shifts.left_out else "")
    facts = [("Models", models)]
    if shifts.families is not None:
        facts.append(("Families", f"{shifts.families.nunique()}, resampled and held out as a whole"))
    facts.append(("Standard models", _standard_words(shifts.standard)))
    facts.append(("Natural benchmarks", listed(scores.natural)))
    suites = [(suite, listed(list(map(scores.name, names)))) for suite, names in scores.members.items() if suite != ALL]
    sources = {key: _source_words(options.get(key)) for key in ("source", "mapping", "natural")}
    sources["categories from"] = _source_words(options.get("categories"))
    numbers = {NAMES.get(key, key): value for key, value in scores.settings.items() if key not in SHOWN_ELSEWHERE}
    return [*facts, *suites, *all_facts(sources | numbers)]


def _source_words(given: Any) -> Any:
    if isinstance(given, dict):
        return f"{given[OBJECT]}, as given in Python" if OBJECT in given else "as given in Python"
    return given


def _standard_words(standard: tuple[str, ...] | None) -> str:
    if standard is None:
        return "none named, so all serve"
    return listed(some_of(standard, MOST_STANDARD)) if standard else "all that were named are left out"
