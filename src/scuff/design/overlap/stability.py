"""How far designs depend on chance: what each seed of a study would have chosen alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np
import pandas as pd

from scuff.design.overlap.categories import Categories, find_categories
from scuff.design.overlap.nonoverlapping import THRESHOLD, Selection, find_nonoverlapping
from scuff.metrics.overlap.accuracies import AccuracyTable, read_accuracies
from scuff.metrics.overlap.scores import Overlaps, Use, agreement, overlaps

COMPARED = ["seed", "other", "pearson", "mean_difference", "same_side", "rand", "shared", "chosen"]
CHANGING = ["a", "b", "lowest", "highest"]


@dataclass(frozen=True, eq=False)
class Stability:
    """Overlaps, categories and benchmark of every seed alone, all of the same corruptions.

    `left_out` are corruptions whose overlaps are not defined with every seed.
    """

    seeds: tuple[int, ...]
    threshold: float
    overlaps: tuple[Overlaps, ...] = field(repr=False)
    categories: tuple[Categories, ...] = field(repr=False)
    selections: tuple[Selection, ...] = field(repr=False)
    left_out: tuple[str, ...] = ()

    def compare(self) -> pd.DataFrame:
        """A line for every two seeds: how far they agree.

        pearson, mean_difference and same_side (a share of the pairs) are those of `metrics.agreement`; rand is the
        adjusted Rand index of their categories, 1 if these are the same and about 0 if they agree by chance; shared
        counts the corruptions in both benchmarks, and chosen those in either.
        """
        from sklearn.metrics import adjusted_rand_score

        lines = []
        for a, b in combinations(range(len(self.seeds)), 2):
            found = agreement(self.overlaps[a], self.overlaps[b], self.threshold)
            rand = float(adjusted_rand_score(self.categories[a].labels, self.categories[b].labels))
            ours, theirs = (set(self.selections[seed].members) for seed in (a, b))
            seeds, sizes = (self.seeds[a], self.seeds[b]), (len(ours & theirs), len(ours | theirs))
            lines.append((*seeds, found.pearson, found.mean_difference, found.same_side, rand, *sizes))
        return pd.DataFrame(lines, columns=COMPARED)

    def changing(self) -> pd.DataFrame:
        """The pairs of corruptions that overlap less than the threshold with some seeds, and not with others.

        With their lowest and their highest overlap; those come first whose overlaps differ most.
        """
        names, values = self.overlaps[0].names, np.stack([matrix.values for matrix in self.overlaps])
        lowest, highest = values.min(axis=0), values.max(axis=0)
        lines = [
            (names[i], names[j], float(lowest[i, j]), float(highest[i, j]))
            for i, j in combinations(range(len(names)), 2)
            if lowest[i, j] < self.threshold <= highest[i, j]
        ]
        lines.sort(key=lambda line: line[2] - line[3])
        return pd.DataFrame(lines, columns=CHANGING)

    def counts(self) -> dict[str, int]:
        """With how many seeds a corruption is in the benchmark; those that are with most come first."""
        return count_members([selection.members for selection in self.selections])


def stability(accuracies: AccuracyTable, threshold: float = THRESHOLD, *, use: Use = "robustness") -> Stability:
    """Design with every seed alone, of the corruptions that have overlaps with all of them; `use` as in `overlaps`.

    >>> names = "a/blur", "a/fog", "a/snow"
    >>> table = np.array([[0.9, 0.5, 0.5, 0.5], [0.9, 0.8, 0.5, 0.5], [0.9, 0.5, 0.8, 0.7], [0.9, 0.5, 0.7, 0.8]])
    >>> from scuff.metrics import Accuracies
    >>> both = Accuracies(("standard", *names), ("clean", *names), np.stack([table, table]), (0, 1))
    >>> found = stability(both)
    >>> found.counts(), len(found.changing()), found.compare()["rand"].tolist()
    ({'a/blur': 2, 'a/fog': 2}, 0, [1.0])
    """
    accuracies = read_accuracies(accuracies)
    if len(accuracies.seeds) < 2:
        raise ValueError("stability takes accuracies of at least two seeds; the table has one")
    alone = [
        overlaps(replace(accuracies, values=accuracies.values[[place]], seeds=(seed,), hits=None), use=use)
        for place, seed in enumerate(accuracies.seeds)
    ]
    left_out = [name for name in alone[0].names if any(name in matrix.undefined for matrix in alone)]
    kept = [name for name in alone[0].names if name not in left_out]
    if len(kept) < 2:
        raise ValueError(
            f"stability takes at least two corruptions with overlaps for every seed; there are {len(kept)}"
        )
    matrices = tuple(matrix.take(kept) for matrix in alone)
    categories = tuple(find_categories(matrix, compared=0) for matrix in matrices)
    selections = tuple(find_nonoverlapping(matrix, threshold) for matrix in matrices)
    return Stability(accuracies.seeds, threshold, matrices, categories, selections, tuple(left_out))


def count_members(benchmarks: Sequence[Sequence[str]]) -> dict[str, int]:
    """How many of some benchmarks each corruption is in; those in most come first.

    >>> count_members([["fog", "snow"], ["rain", "snow"]])
    {'snow': 2, 'fog': 1, 'rain': 1}
    """
    members = dict.fromkeys(name for benchmark in benchmarks for name in benchmark)
    counted = {name: sum(name in benchmark for benchmark in benchmarks) for name in members}
    return dict(sorted(counted.items(), key=lambda item: -item[1]))
