"""Categories of corruptions: groups that overlap with the same others, found by K-means.

Laugros, Caplier and Ospici (ImageNet-Syn2Nat) describe a corruption by the vector of its overlaps with all corruptions.
Corruptions with like vectors form a category. K-means is tried with two categories, three, and so on, until the vectors
of corruptions in one category correlate by more than 0.5 on average.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.overlap.scores import OverlapTable, read_overlaps
from scuff.readers import read_yaml

MOST_ITERATIONS = 1000
STEPS = [
    "k",
    "same",
    "different",
    "inertia",
    "silhouette",
    "hierarchical_same",
    "hierarchical_silhouette",
    "rand",
]
COMPARED = 15  # numbers of categories up to which the table of steps goes on, so that one sees what else could be


@dataclass(frozen=True)
class Categories:
    """`k` categories: `labels` holds the number of that of each name, from 1 on, in the order of their first members.

    `same` is the mean correlation of the overlap vectors of two corruptions in one category, `different` that of two in
    different ones. If no number of categories sufficed, every corruption is one of its own and `same` is NaN.

    `steps` has a line for each k that was tried: same, different, inertia (the sum of squared distances that K-means
    makes small) and silhouette (from -1 to 1; high if categories are compact and apart); hierarchical_same and
    hierarchical_silhouette, the same of as many groups cut from the tree of `linkage`; and rand, the adjusted Rand
    index of the two groupings (1 if they are the same, 0 if they agree no more than by chance).
    """

    names: tuple[str, ...]
    labels: tuple[int, ...]
    k: int
    same: float
    different: float
    steps: pd.DataFrame = field(repr=False, compare=False)
    undefined: Mapping[str, str] = field(default_factory=dict)

    def groups(self) -> dict[str, list[str]]:
        """The names in each category: {"1": [...], "2": [...]}."""
        labelled = list(zip(self.names, self.labels, strict=True))
        return {str(k): [name for name, label in labelled if label == k] for k in range(1, self.k + 1)}


def find_categories(
    overlaps: OverlapTable,
    *,
    least_correlation: float = 0.5,
    seed: int = 0,
    restarts: int = 100,
    compared: int = COMPARED,
) -> Categories:
    """Group corruptions by K-means of their overlap vectors, with the first K that satisfies the paper's rule.

    The rule: the mean Pearson correlation of all pairs in the same category is above `least_correlation`. Corruptions
    without overlaps belong to no category. K-means starts `restarts` times and keeps the best; the same seed gives the
    same categories. `steps` goes on up to `compared` categories, with 0 only until the rule is satisfied, which is
    faster.

    >>> names = ["a/blur", "a/fog", "a/glass", "a/haze", "a/mist"]
    >>> blurs = np.array([True, False, True, False, False])
    >>> table = pd.DataFrame(np.where(blurs[:, None] == blurs, 1.0, 0.1), names, names)
    >>> find_categories(table).groups()
    {'1': ['a/blur', 'a/glass'], '2': ['a/fog', 'a/haze', 'a/mist']}
    """
    from scipy.cluster import hierarchy
    from sklearn.metrics import adjusted_rand_score

    overlaps = read_overlaps(overlaps)
    defined = overlaps.defined()
    count = len(defined.names)
    if count < 2:
        raise ValueError(f"categories need at least two corruptions with overlaps; got {count}")
    vectors = defined.values
    pearson, tree = _pearson(vectors), linkage(defined)
    chosen, steps = None, []
    for k in range(2, count):
        if chosen is not None and k > compared:
            break
        labels, inertia = _k_means(vectors, k, seed, restarts)
        in_tree = hierarchy.cut_tree(tree, k)[:, 0]
        same, different = _means(pearson, labels)
        tree_same, _ = _means(pearson, in_tree)
        rand = float(adjusted_rand_score(labels, in_tree))
        silhouettes = _silhouette(vectors, labels), _silhouette(vectors, in_tree)
        steps.append((k, same, different, inertia, silhouettes[0], tree_same, silhouettes[1], rand))
        if chosen is None and same > least_correlation:
            chosen = labels
    first_seen: dict[int, int] = {}  # labels are numbered from 1 on, in the order in which they first occur
    every = range(count) if chosen is None else chosen.tolist()
    numbers = tuple(first_seen.setdefault(label, len(first_seen) + 1) for label in every)
    same, different = _means(pearson, np.array(numbers))
    table = pd.DataFrame(steps, columns=STEPS)
    return Categories(defined.names, numbers, max(numbers), same, different, table, overlaps.undefined)


def read_categories(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """A file that maps categories to their corruptions, YAML or JSON."""
    try:
        content = read_yaml(Path(path).read_bytes(), f"{path}", dict[Any, list[Any]])  # JSON is YAML, too
    except ValueError as error:
        raise ValueError(f"{error}; a file of categories must map categories to lists of corruptions") from error
    if not content:
        raise ValueError(f"{path} must map categories to lists of corruptions, as scuff design categories writes them")
    return {str(category): list(map(str, members)) for category, members in content.items()}


def correlations(
    vectors: pd.DataFrame | Mapping[str, Sequence[float]], categories: Mapping[str, Sequence[str]]
) -> tuple[float, float]:
    """How far corruptions of the same category, and of different ones, agree: mean Pearson correlations of their pairs.

    `vectors` has a column for each corruption, for example the residual robustness of many models to it, and so checks
    categories with something that they were not made from. `categories` names corruptions by category. A mean without
    pairs is NaN.

    >>> vectors = {"fog": [1, 2, 3], "mist": [2, 4, 6], "blur": [3, 1, 2]}
    >>> same, different = correlations(vectors, {"weather": ["fog", "mist"], "blurs": ["blur"]})
    >>> round(same, 3), round(different, 3)
    (1.0, -0.5)
    """
    table = pd.DataFrame(vectors)
    label_of = {name: number for number, members in enumerate(categories.values()) for name in members}
    missing = [name for name in table if name not in label_of]
    if missing:
        raise ValueError(f"these corruptions are in no category: {', '.join(map(str, missing))}")
    return _means(_pearson(table.to_numpy(float).T), np.array([label_of[name] for name in table]))


def linkage(overlaps: OverlapTable) -> np.ndarray:
    """The tree of `overlaps.defined().names` that joins the closest groups first, in the form of scipy's linkage.

    The distance of two corruptions is 1 - min(overlap, 1), that of two groups the mean over their pairs.

    >>> names = ["a/fog", "a/mist", "a/blur"]
    >>> table = pd.DataFrame([[1, 0.8, 0.3], [0.8, 1, 0.1], [0.3, 0.1, 1]], names, names)
    >>> linkage(table).round(3).tolist()
    [[0.0, 1.0, 0.2, 2.0], [2.0, 3.0, 0.8, 3.0]]
    """
    from scipy.cluster import hierarchy

    values = read_overlaps(overlaps).defined().values
    distances = (1 - np.minimum(values, 1))[np.triu_indices(len(values), 1)]
    return hierarchy.linkage(distances, "average")


def _k_means(vectors: np.ndarray, k: int, seed: int, restarts: int) -> tuple[np.ndarray, float]:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    means = KMeans(k, n_init=restarts, max_iter=MOST_ITERATIONS, random_state=seed)
    with threadpool_limits(1), warnings.catch_warnings():  # so little work is faster on one processor
        warnings.simplefilter("ignore", ConvergenceWarning)  # that fewer than k vectors differ
        return means.fit_predict(vectors), float(means.inertia_)


def _silhouette(vectors: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import silhouette_score

    return float(silhouette_score(vectors, labels)) if len(set(labels.tolist())) > 1 else np.nan


def _pearson(vectors: np.ndarray) -> np.ndarray:
    """Correlations of all pairs of rows; NaN where a row does not vary."""
    centred = vectors - vectors.mean(axis=1, keepdims=True)
    lengths = np.linalg.norm(centred, axis=1, keepdims=True)
    # rounding leaves a row of equal numbers with a length of about 1e-16 of them
    flat = lengths <= 1e-12 * np.abs(vectors).max(axis=1, keepdims=True)
    directions = np.divide(centred, lengths, out=np.full_like(centred, np.nan), where=~flat)
    return directions @ directions.T


def _means(pearson: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """The mean over pairs with the same label, and with different ones, as far as they are defined."""
    rows, columns = np.triu_indices(len(labels), 1)
    pairs, is_same = pearson[rows, columns], labels[rows] == labels[columns]
    same, different = (pairs[wanted & ~np.isnan(pairs)] for wanted in (is_same, ~is_same))
    return (float(same.mean()) if len(same) else np.nan), (float(different.mean()) if len(different) else np.nan)
