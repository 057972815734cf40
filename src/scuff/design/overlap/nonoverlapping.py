"""Benchmarks of corruptions that do not overlap: Algorithm 1 of Laugros, Caplier and Ospici (ImageNet-NOC).

Of all sets of corruptions in which every pair overlaps less than a threshold, it takes the largest ones, and of these
the one with the lowest mean overlap. In the graph that joins two corruptions if they overlap less than the threshold,
these are the largest cliques, and the lightest of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scuff.design.overlap.cliques import largest_cliques, make_graph, search_order
from scuff.design.overlap.lightest import MOST_TIES, find_lightest, lightest_of
from scuff.metrics.overlap.scores import OverlapTable, read_overlaps
from scuff.suites import Suite, combine_suites

THRESHOLD = 0.1
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 11))
MOST_COUNTED = 10_000
SWEEP_COLUMNS = ["threshold", "size", "mean_overlap", "largest_overlap", "largest_subsets"]
SWEEP_COLUMNS += ["members", "ties", "all_counted", "proven"]


@dataclass(frozen=True)
class Selection:
    """The largest set of corruptions that overlap less than a threshold, and how it was found.

    `ties` are other sets as large, and with the same mean overlap (up to 100 of them). Of `largest_subsets` there are
    more if `all_counted` is false. If `proven` is false they are so many that the search ended early, and one with a
    lower mean overlap may exist; a larger set never does. `undefined` names the corruptions that have no overlaps and
    were no candidates, and says why.
    """

    members: tuple[str, ...]
    threshold: float
    mean_overlap: float  # NaN if there is one member only
    largest_subsets: int
    ties: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    all_counted: bool = True
    proven: bool = True
    undefined: Mapping[str, str] = field(default_factory=dict)

    def to_suite(self, name: str, suites: Sequence[Suite] = ()) -> Suite:
        """The members as a benchmark; their suites are looked up in `suites`, then among the bundled ones."""
        about = f"{len(self.members)} corruptions that overlap less than {self.threshold:g}"
        return combine_suites(name, self.members, suites, about=about)


def find_nonoverlapping(overlaps: OverlapTable, threshold: float = THRESHOLD) -> Selection:
    """Algorithm 1, exactly: the largest set in which every pair overlaps less than the threshold.

    If several are as large, the one with the lowest mean overlap; if several have that, the one whose members come
    first. Members are in the order of `overlaps`, which are those of a study, or a table that `scuff.metrics
    .read_overlaps` reads: a square matrix or accuracies, as a DataFrame or a CSV file.

    >>> names = ["a/fog", "a/rain", "a/snow"]
    >>> table = pd.DataFrame([[1, 0.02, 0.05], [0.02, 1, 0.6], [0.05, 0.6, 1]], names, names)
    >>> selection = find_nonoverlapping(table)
    >>> selection.members, selection.largest_subsets
    (('a/fog', 'a/rain'), 2)
    """
    if not threshold > 0 or not math.isfinite(threshold):
        raise ValueError(f"the threshold must be a number above 0, because overlaps are never below; got {threshold}")
    overlaps = read_overlaps(overlaps)
    defined = overlaps.defined()
    if not defined.names:
        raise ValueError(f"no corruption has overlaps to choose by; {'; '.join(overlaps.undefined.values())}")
    order = search_order(defined.values < threshold)
    weights = defined.values[np.ix_(order, order)]
    graph = make_graph(weights < threshold)
    largest = largest_cliques(graph, MOST_COUNTED + 1)
    all_counted = len(largest) <= MOST_COUNTED
    if all_counted:
        lightest, proven = lightest_of(largest, weights), True
    else:
        lightest, proven = find_lightest(graph, weights, len(largest[0]), largest)
    places = sorted(sorted(order[list(clique)].tolist()) for clique in lightest)
    members, *ties = (tuple(defined.names[place] for place in clique) for clique in places)
    return Selection(
        members,
        threshold,
        defined.mean_overlap(members),
        min(len(largest), MOST_COUNTED),
        tuple(ties[:MOST_TIES]),
        all_counted,
        proven,
        overlaps.undefined,
    )


def nonoverlapping(overlaps: OverlapTable, threshold: float = THRESHOLD, name: str = "non-overlapping") -> Suite:
    """A benchmark of corruptions that overlap less than the threshold: `find_nonoverlapping` as a suite.

    >>> names = ["noc-candidates/hue", "noc-candidates/rain", "imagenet-c/snow"]
    >>> table = pd.DataFrame([[1, 0.02, 0.05], [0.02, 1, 0.6], [0.05, 0.6, 1]], names, names)
    >>> list(nonoverlapping(table).entries)
    ['hue', 'rain']
    """
    overlaps = read_overlaps(overlaps)
    return find_nonoverlapping(overlaps, threshold).to_suite(name, overlaps.suites)


def sweep(overlaps: OverlapTable, thresholds: Sequence[float] = THRESHOLDS) -> pd.DataFrame:
    """The benchmark at each of several thresholds, as in the paper's appendix B: one line per threshold.

    With the threshold grow the size and so the coverage, but also the overlaps inside, which spoil the balance. The
    columns are those of `Selection`, with size, and largest_overlap among members. The paper also prints the matrix of
    each benchmark: `overlaps.take(members).to_frame()`.

    >>> names = ["a/fog", "a/rain", "a/snow"]
    >>> table = pd.DataFrame([[1, 0.02, 0.15], [0.02, 1, 0.6], [0.15, 0.6, 1]], names, names)
    >>> sweep(table, [0.01, 0.1, 0.7])[["threshold", "size", "largest_overlap"]].values.tolist()
    [[0.01, 1.0, nan], [0.1, 2.0, 0.02], [0.7, 3.0, 0.6]]
    """
    overlaps = read_overlaps(overlaps)
    lines = []
    for threshold in thresholds:
        selection = find_nonoverlapping(overlaps, threshold)
        values = overlaps.take(selection.members).values
        pairs = values[np.triu_indices(len(values), 1)]
        largest = pairs.max() if len(pairs) else np.nan
        lines.append({**vars(selection), "size": len(selection.members), "largest_overlap": largest})
    return pd.DataFrame(lines, columns=SWEEP_COLUMNS)
