"""All numbers of the report of an overlap study, asked of `scuff.metrics` and `scuff.design` once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

from scuff import metrics
from scuff.design import (
    Categories,
    Selection,
    Stability,
    find_categories,
    find_nonoverlapping,
    linkage,
    stability,
    sweep,
)
from scuff.design.overlap.nonoverlapping import THRESHOLDS
from scuff.metrics import Accuracies, Balance, Overlaps, Reference
from scuff.metrics.overlap.accuracies import CLEAN, STANDARD
from scuff.metrics.overlap.scores import Use
from scuff.suites import list_suites, load_suite
from scuff.words import short_names

WHOLE = "all:"  # begins the name of a model that was trained on all corruptions of a suite
COVERED = 0.3  # the overlap from which the authors of ImageNet-NOC call a corruption covered
LEAST_GROUPED = 3  # corruptions; fewer have no categories


@dataclass(frozen=True)
class OverlapScores:
    """What the report of an overlap study shows. Corruptions are named by address."""

    accuracies: Accuracies
    overlaps: Overlaps
    leaves: tuple[str, ...]  # corruptions whose overlaps are defined
    categories: Categories | None
    tree: np.ndarray | None = field(repr=False)  # the linkage of `leaves`
    groups: list[tuple[str, list[str]]]  # all corruptions by category, in the order in which they are shown
    selection: Selection | None
    sweep: pd.DataFrame = field(repr=False)
    benchmarks: dict[str, list[str]]
    coverage: dict[tuple[str, str], pd.DataFrame] = field(repr=False)  # by benchmark and what it may cover
    direct: dict[str, pd.DataFrame] = field(repr=False)  # by the suite that a model was trained on
    balances: dict[str, Balance] = field(repr=False)  # by benchmark
    errors: dict[str, pd.DataFrame] = field(repr=False)  # by benchmark, the columns of `metrics.ce_table`
    robustness: pd.DataFrame = field(repr=False)  # models x tests
    shown: dict[str, str] = field(repr=False)  # how corruptions, models and tests are written
    suites: list[str]  # those that corruptions are of
    as_paper: bool = False  # whether training helped is counted without intervals
    stability: Stability | None = None  # of several seeds


def measure_overlap(
    accuracies: Accuracies,
    threshold: float,
    *,
    use: Use = "robustness",
    baseline: str = STANDARD,
    as_paper: bool = False,
    benchmark: Sequence[str] | None = None,
) -> OverlapScores:
    """Score a table of accuracies; `threshold` is what pairs of the chosen benchmark overlap less than.

    `use` as in `metrics.overlaps`, `as_paper` as in `metrics.direct_coverage`. `baseline` is what corruption errors are
    relative to: a model of the table, or the name of a published reference. A `benchmark` is scored instead of those
    that are found.
    """
    overlaps = metrics.overlaps(accuracies, use=use)
    defined = overlaps.defined()
    leaves, categories, tree = defined.names, None, None
    if len(leaves) >= LEAST_GROUPED:
        categories = find_categories(defined)
        tree = turned(linkage(defined), categories.labels)
    benchmarks, selection, swept = find_benchmarks(accuracies), None, pd.DataFrame()
    if benchmark is not None:
        benchmarks = {"the benchmark": list(benchmark)}
    elif leaves:
        selection = find_nonoverlapping(overlaps, threshold)
        swept = sweep(overlaps, sorted({*THRESHOLDS, threshold}))
        benchmarks[f"chosen at {threshold:g}"] = list(selection.members)
    suites = list(dict.fromkeys(map(suite_of, overlaps.names)))
    coverage = {}
    for (name, members), suite in product(benchmarks.items(), suites):
        others = [other for other in overlaps.names if suite_of(other) == suite and other not in members]
        if others and not set(members) <= set(overlaps.undefined):
            coverage[name, suite] = metrics.coverage(overlaps, members, others, COVERED)
    direct = {}
    for suite in _whole(accuracies):
        members = _members(suite, accuracies)
        others = [test for test in accuracies.corruptions if test not in members]
        direct[suite] = metrics.direct_coverage(accuracies, f"{WHOLE}{suite}", others or None, as_paper=as_paper)
    balances, errors = {}, {}
    for name, members in benchmarks.items():
        reference = find_reference(baseline, accuracies, members)
        if len(members) > 1 and reference is not None:
            models = [STANDARD, *members, *(f"{WHOLE}{suite}" for suite in direct)]
            with suppress(ValueError):  # none of them harms the reference: there is nothing to measure by
                balances[name] = metrics.balance(accuracies, members, reference)
                errors[name] = metrics.ce_table(accuracies, members, models, reference)
    shown = short_names(accuracies.corruptions) | {STANDARD: STANDARD, CLEAN: CLEAN}
    return OverlapScores(
        accuracies,
        overlaps,
        leaves,
        categories,
        tree,
        _groups(overlaps, categories, tree),
        selection,
        swept,
        benchmarks,
        coverage,
        direct,
        balances,
        errors,
        metrics.robustness_scores(accuracies),
        shown | {f"{WHOLE}{suite}": f"all of {suite}" for suite in direct},
        suites,
        as_paper,
        _stability(accuracies, threshold, use),
    )


def _stability(accuracies: Accuracies, threshold: float, use: Use) -> Stability | None:
    """What single seeds say; None if there is but one, or if they share too few corruptions with overlaps."""
    if len(accuracies.seeds) > 1:
        with suppress(ValueError):
            return stability(accuracies, threshold, use=use)
    return None


def find_reference(baseline: str, accuracies: Accuracies, benchmark: Sequence[str]) -> Reference | str | None:
    """What errors on a benchmark are relative to: a model of the table, or published errors; None where there are none.

    Published errors are those of a suite, so that a benchmark of several suites has none.
    """
    if baseline in accuracies.trained_on:
        return baseline
    try:
        found = [metrics.load_reference(baseline, suite) for suite in dict.fromkeys(map(suite_of, benchmark))]
    except ValueError as error:
        raise ValueError(f"{error}. Models of this table: {', '.join(accuracies.trained_on)}") from error
    return found[0] if len(found) == 1 else None


def suite_of(address: str) -> str:
    """The suite of an address."""
    return address.rpartition("/")[0]


def find_benchmarks(accuracies: Accuracies) -> dict[str, list[str]]:
    """The suites of the corruptions, and those on all of which a model was trained, each with its corruptions."""
    suites = dict.fromkeys([*map(suite_of, accuracies.corruptions), *_whole(accuracies)])
    return {suite: members for suite in suites if (members := _members(suite, accuracies))}


def turned(tree: np.ndarray, order: Sequence[float]) -> np.ndarray:
    """The same linkage with the sides of every join exchanged where that brings leaves of a low order to the front.

    >>> tree = np.array([[0, 1, 0.2, 2], [2, 3, 0.6, 3]])  # of three leaves
    >>> turned(tree, [2, 2, 1])[:, :2].tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    >>> turned(tree, [1, 1, 2])[:, :2].tolist()
    [[0.0, 1.0], [3.0, 2.0]]
    """
    tree = np.array(tree, float)
    sums, sizes = list(order), [1] * len(order)
    for line, (a, b) in enumerate(tree[:, :2].astype(int)):
        if sums[a] / sizes[a] > sums[b] / sizes[b]:
            tree[line, :2] = b, a
        sums.append(sums[a] + sums[b])
        sizes.append(sizes[a] + sizes[b])
    return tree


def _groups(overlaps: Overlaps, categories: Categories | None, tree: np.ndarray | None) -> list[tuple[str, list[str]]]:
    """Corruptions by category, inside of it in the order of the tree; those without scores last."""
    from scipy.cluster.hierarchy import leaves_list

    defined = overlaps.defined().names
    groups = [("", list(defined))]
    if categories is not None and tree is not None:
        place = {defined[leaf]: rank for rank, leaf in enumerate(leaves_list(tree))}
        groups = [(name, sorted(members, key=place.__getitem__)) for name, members in categories.groups().items()]
    return [(name, members) for name, members in [*groups, ("", list(overlaps.undefined))] if members]


def _whole(accuracies: Accuracies) -> list[str]:
    """The suites on all of which a model was trained."""
    return [model.removeprefix(WHOLE) for model in accuracies.trained_on if model.startswith(WHOLE)]


def _members(suite: str, accuracies: Accuracies) -> list[str]:
    """The corruptions of a suite: those of its address, else those of other suites with the same parameters.

    ImageNet-NOC is a part of its candidates, so what it holds may have been named `noc-candidates/rain`.
    """
    names = accuracies.corruptions
    addressed = [name for name in names if suite_of(name) == suite]
    if addressed or suite not in list_suites():
        return addressed
    wanted, known = load_suite(suite).entries, {other.name: other.entries for other in accuracies.suites}
    parts = {name: name.rpartition("/") for name in names}
    return [
        name
        for name, (other, _, entry) in parts.items()
        if entry in wanted and wanted[entry] == known.get(other, {}).get(entry)
    ]
