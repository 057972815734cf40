"""Does a synthetic benchmark predict robustness to natural shifts? A study of many models.

Over models, residual robustness (accuracy lost) on synthetic benchmarks is correlated with that on natural ones: for
every suite, every category of corruptions, every corruption alone; and, as Laugros, Caplier and Ospici did for
ImageNet-Syn2Nat, for groups of thousands of benchmarks that have n categories and k corruptions of each, or that are
more or less balanced. Beyond the paper, the most predictive benchmark of a given size is sought, and scored on models
that did not choose it. Everything rests on a table, and takes seconds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

import scuff
from scuff import design, metrics
from scuff.design.validity.question import ask_predictive
from scuff.metrics import Resampling, Shifts
from scuff.metrics.validity.resampled import resample_models
from scuff.store import Settings, Store, check_settings
from scuff.studies.validity.benchmarks import (
    FAMILIES,
    Categories,
    Members,
    find_suites,
    note_incomplete,
    resolve_categories,
)
from scuff.studies.validity.cells import check_severities
from scuff.studies.validity.choices import (
    LEAST_RESAMPLES,
    Units,
    check_pairs,
    check_sizes,
    choose_units,
    note_families,
    whole_number,
)
from scuff.studies.validity.evaluations import Pairs
from scuff.studies.validity.groups import score_groups
from scuff.studies.validity.mapping import TableMapping
from scuff.studies.validity.results import SETTINGS, Validity, save_validity
from scuff.studies.validity.searches import Progress, search_line
from scuff.studies.validity.sources import Place, Source, described, read_source
from scuff.suites import Suite

NOTED_ONLY = ("source", "mapping", "natural", "suites_from", "categories_from")  # from where is no matter
NOTED_ONLY += ("models", "left_out", "resample", "notes", "same", "different", "scuff")  # `table` is a hash of it all
STEPS = 3  # correlations, groups, searches


@dataclass(frozen=True, eq=False)
class ValidityPlan:
    """A study that is ready to run: the table, what is scored, and the settings."""

    shifts: Shifts
    suites: Members
    categories: Members
    pairs: Sequence[tuple[int, int]] | None
    settings: Settings = field(repr=False)
    has_groups: bool
    store: Store | None

    @property
    def resampling(self) -> Resampling:
        return Resampling(count=self.settings["resamples"], seed=self.settings["seed"])


def validity(
    source: Source,
    out: Place | None = None,
    *,
    mapping: TableMapping | Mapping[str, Any] | Place | None = None,
    natural: Pairs | Sequence[str] | None = None,
    categories: Categories = None,
    suites: Sequence[Suite | str] | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    count: int = 1000,
    search: int | Sequence[int] = (),
    severities: Sequence[int] | None = None,
    resample: Units | None = None,
    seed: int = 0,
    resamples: int = 1000,
    progress: Progress | None = None,
) -> Validity:
    """Correlate robustness to synthetic benchmarks with robustness to natural shifts, over models.

    Parameters
    ----------
    source
        Shifts; a DataFrame or a CSV file of accuracies; or folders of `scuff evaluate` by suites of corruptions.
    out
        A folder for all results, which `read_validity` and `scuff report` read. Without it, nothing is kept.
    mapping
        For a table of your own: what its columns mean, see `scuff.studies.validity_mapping`.
    natural
        For folders: {benchmark: [(folder, folder of its clean reference or None), ...]}, or texts
        `[NAME=]DIR[,REFERENCE]`.
    categories
        Of corruptions: a mapping, a file of one, the folder or CSV file of an overlap study, or "families", as the
        registry has them, which is the default.
    suites
        Names or files of suites to score. Default: all that come with the package whose corruptions are in the table.
    pairs, count
        (n, k) of the groups of benchmarks, and about how many of each. By default all pairs that are possible if
        categories are given, and none if they are not.
    search
        Sizes for which the most predictive benchmark is sought.
    severities
        These alone. Default: all that there are.
    resample
        What is drawn anew for intervals, and held out together in searches: "models", or whole "families" of them, the
        default if the table knows any.
    seed, resamples
        Of everything random, and how many resamples there are, at least 100.
    """
    plan = plan_validity(
        source,
        out,
        mapping=mapping,
        natural=natural,
        categories=categories,
        suites=suites,
        pairs=pairs,
        count=count,
        search=search,
        severities=severities,
        resample=resample,
        seed=seed,
        resamples=resamples,
    )
    return run_validity(plan, progress=progress)


def plan_validity(
    source: Source,
    out: Place | None = None,
    *,
    mapping: TableMapping | Mapping[str, Any] | Place | None = None,
    natural: Pairs | Sequence[str] | None = None,
    categories: Categories = None,
    suites: Sequence[Suite | str] | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    count: int = 1000,
    search: int | Sequence[int] = (),
    severities: Sequence[int] | None = None,
    resample: Units | None = None,
    seed: int = 0,
    resamples: int = 1000,
) -> ValidityPlan:
    """Read the table and find out what can be scored, without scoring it; the arguments are those of `validity`."""
    resampling = Resampling(
        count=whole_number(resamples, "resamples", LEAST_RESAMPLES), seed=whole_number(seed, "seed", 0)
    )
    search, pairs = check_sizes(search), check_pairs(pairs)
    count, severities = whole_number(count, "count"), check_severities(severities)
    shifts, notes = read_source(source, mapping, natural, severities)
    shifts = choose_units(shifts, resample)
    corruptions = list(shifts.corrupted)
    found = find_suites(corruptions, suites)
    both = [name for name in shifts.scores if name in found]
    if both:
        raise ValueError(f"{both[0]} is both a suite of corruptions and another score; rename one of them")
    notes += note_incomplete(corruptions, found) if suites is None else []
    groups, category_notes = resolve_categories(corruptions, categories, suites=suites, seed=seed)
    has_groups = categories is not None or pairs is not None
    if has_groups and not groups:
        raise ValueError(f"none of the {len(corruptions)} corruptions of the table is in a category")
    for n, k in pairs or ():
        design.count_benchmarks(groups, n, k)  # which refuses what cannot be
    resample_models(len(shifts.models), replace(resampling, count=1), shifts.families)  # which refuses few families
    for size in search:
        ask_predictive(shifts, size, seed=resampling.seed)  # which refuses what a search would
    settings = {
        "source": described(source),
        "mapping": described(mapping),
        "natural": described(natural),
        "table": _fingerprint(shifts),
        "models": list(shifts.models),
        "left_out": dict(shifts.left_out),
        "suites": found,
        "suites_from": described(suites),
        "categories": groups,
        "categories_from": FAMILIES if categories is None else described(categories),
        "groups": has_groups,
        "pairs": pairs,
        "count": count,
        "search": search,
        "severities": None if severities is None else list(severities),
        "resample": resample,
        "seed": resampling.seed,
        "resamples": resampling.count,
        "notes": [*notes, *category_notes, *note_families(shifts)],
        "scuff": scuff.__version__,
    }
    store = None if out is None else Store(out)
    if store is not None:
        check_settings(store, SETTINGS, settings, NOTED_ONLY)
    return ValidityPlan(shifts, found, groups, pairs, settings, has_groups, store)


def run_validity(plan: ValidityPlan, *, progress: Progress | None = None) -> Validity:
    """Carry out what `plan_validity` has planned, and write it to its folder."""
    progress = progress or (lambda what, done, total: None)
    shifts, settings = plan.shifts, dict(plan.settings)
    progress("correlations", 0, STEPS)
    correlations = _correlations(plan)
    largest = max(plan.suites.values(), key=len, default=None)
    contributions = metrics.contributions(shifts, largest, resampling=plan.resampling) if largest else None
    progress("groups of benchmarks", 1, STEPS)
    groups, trends, notes = (None, None, [])
    if plan.has_groups:
        groups, trends, notes = score_groups(shifts, plan.categories, plan.pairs, settings["count"], plan.resampling)
    settings["notes"] = [*settings["notes"], *notes]
    settings |= dict(zip(("same", "different"), _agreement(plan), strict=True))
    progress("searches", 2, STEPS)
    searches = [search_line(shifts, size, settings["seed"], progress) for size in settings["search"]]
    found = Validity(
        shifts, correlations, contributions, groups, trends, pd.DataFrame(searches) if searches else None, settings
    )
    if plan.store is not None:
        save_validity(plan.store, found)
    progress("done", STEPS, STEPS)
    return found


def _fingerprint(shifts: Shifts) -> str:
    content = shifts.to_frame().round(9).to_csv(index=False)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def _correlations(plan: ValidityPlan) -> pd.DataFrame:
    """All benchmarks with all natural ones; column `what` says what a benchmark is."""
    corruptions = {name: [name] for name in plan.shifts.corrupted}
    scores = {name: [name] for name in plan.shifts.scores}
    kinds = {"suite": plan.suites, "category": plan.categories, "corruption": corruptions, "score": scores}
    tables = []
    for what, benchmarks in kinds.items():
        if benchmarks:
            table = metrics.validity(plan.shifts, benchmarks, resampling=plan.resampling)
            table.insert(0, "what", what)
            tables.append(table)
    return pd.concat(tables, ignore_index=True)


def _agreement(plan: ValidityPlan) -> tuple[float | None, float | None]:
    """How far corruptions of one category agree over models, and of different ones: do categories mean anything?"""
    members = [name for names in plan.categories.values() for name in names]
    if not members:
        return None, None
    found = design.correlations(plan.shifts.synthetic_residuals()[members], plan.categories)
    return tuple(None if value != value else value for value in found)
