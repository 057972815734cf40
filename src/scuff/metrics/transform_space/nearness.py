"""How near augmentations come to corruptions, as a network sees them: the distances of Mintun, Kirillov and Xie.

The feature f(t) of a transform t is the mean, over a set of images, of what the last hidden layer of a network makes of
the transformed images. A corruption at a severity is its centre F, the mean feature of many draws of it; an
augmentation scheme is a cloud of features f(a), one for every draw a.

    MSD = min over a of |f(a) - F|          minimal sample distance: how near the nearest augmentation comes
    MMD = |mean over a of f(a) - F|         the distance of the two means

A scheme of which one augmentation in a thousand resembles a corruption has a small MSD and a large MMD, and yet makes a
network robust to it. Distances are Euclidean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.intervals import Resampling
from scuff.metrics.transform_space.distances import Distances, Kind, read_distances
from scuff.metrics.validity.correlation import spearman_p_value
from scuff.metrics.validity.resampled import percentiles, resample_models, resampled
from scuff.words import name_some

BLOCK = 1 << 22  # distances computed at once: 32 MiB. Results do not depend on it
LEAST_SCHEMES = 5  # of fewer, a rank correlation says nothing
MOST_NAMED = 5  # schemes or corruptions that a message names; of more, it says how many
COLUMNS = ("scheme", "corruption", "severity", "error")


def mmd(features: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The distances of the mean of features (n, D) to centres (K, D): (K,).

    >>> mmd(np.array([[0.0, 0.0], [6.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [4.0, 3.0]
    """
    features, centres = _check_features(features, centres)
    return np.linalg.norm(features.mean(axis=0) - centres, axis=1)


def msd(features: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """The distances of centres (K, D) to the nearest of the features (n, D): (K,).

    >>> msd(np.array([[0.0, 0.0], [6.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [5.0, 0.0]
    """
    features, centres = _check_features(features, centres)
    return np.min([block.min(axis=0) for block in _distances_in_blocks(features, centres)], axis=0)


def closest_order(distances: np.ndarray) -> np.ndarray:
    """All transforms, those first that come closest to some corruption: a permutation (n,), from distances (n, K).

    First the nearest transform of every corruption, by increasing distance; then the second nearest of each; and so on,
    without those that came before.

    >>> closest_order(np.array([[5.0, 1.0], [0.5, 2.0], [0.6, 9.0]])).tolist()
    [1, 0, 2]
    """
    distances = np.asarray(distances, float)
    if distances.ndim != 2 or not distances.size or not np.isfinite(distances).all():
        raise ValueError(f"expected finite distances (transforms, corruptions), got an array {distances.shape}")
    nearest = np.argsort(distances, axis=0, kind="stable")
    by_rank = np.argsort(np.take_along_axis(distances, nearest, axis=0), axis=1, kind="stable")
    visits = np.take_along_axis(nearest, by_rank, axis=1).ravel()
    first = np.empty(len(distances), np.int64)
    first[visits[::-1]] = np.arange(len(visits))[::-1]  # of several values for one place, the last stays
    return np.argsort(first)


def scheme_correlations(
    distances: Distances,
    errors: pd.DataFrame,
    *,
    distance: Kind = "msd",
    schemes: Sequence[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Spearman's rank correlation, over schemes, of the distance to a corruption with the error on it.

    Distances and errors are each averaged over severities, resamplings and seeds before they are ranked.

    Parameters
    ----------
    errors
        The columns scheme, corruption, severity, error (shares 0..1), and seed if there are several. Clean images are
        ignored. Schemes without errors are left out, and a note says so.
    schemes
        Those that the correlation counts. Default: all that have distances.
    confidence, resamples, seed
        Intervals are the percentiles of a bootstrap over schemes.

    Returns
    -------
    pd.DataFrame
        A line per corruption: corruption, rho, low, high, p_value, schemes, note. The p-value is two-sided, of no
        relation at all: over all orders of up to eight schemes, by Student's t for more. Where rho is NaN, the note
        says why.

    Examples
    --------
    >>> distances = Distances(tuple("abcde"), (("a/fog", 1),), np.arange(5.0).reshape(1, 5, 1), np.ones((1, 5, 1)))
    >>> errors = {"scheme": list("abcde"), "corruption": "a/fog", "severity": 1, "error": [0.1, 0.2, 0.4, 0.3, 0.5]}
    >>> scheme_correlations(distances, pd.DataFrame(errors))[["rho", "p_value", "schemes"]].round(3).values.tolist()
    [[0.9, 0.083, 5.0]]
    """
    resampling = Resampling(resamples, confidence, seed)
    distances = distances if schemes is None else distances.take(list(dict.fromkeys(schemes)))
    table = _errors_by_corruption(distances, errors)
    near = distances.by_corruption(distance).loc[table.index]
    without = [name for name in distances.schemes if name not in table.index]
    about = [f"without {name_some(without, MOST_NAMED)}, of which there are no errors"] if without else []
    times = np.vstack([np.ones(len(table), int), resample_models(len(table), resampling)])  # first as they are
    lines = []
    for corruption in distances.corruptions:
        x, y = near[corruption].to_numpy(), table[corruption].to_numpy()
        problem = _problem(x, y, distance)
        line = {"corruption": corruption, "rho": np.nan, "low": np.nan, "high": np.nan, "p_value": np.nan}
        notes = [*about, problem] if problem else list(about)
        if not problem:
            rho, *draws = resampled("spearman", x[None], y[None], times)[:, 0, 0]
            line |= {"rho": float(rho), "p_value": spearman_p_value(x, y, rho)}
            line["low"], line["high"], note = percentiles(np.array(draws), resampling.level, "schemes", "an order")
            notes += [note] if note else []
        lines.append({**line, "schemes": len(table), "note": "; ".join(notes)})
    return pd.DataFrame(lines)


# --- features -------------------------------------------------------------------------------------------------------


def _distances_in_blocks(features: np.ndarray, centres: np.ndarray) -> Iterator[np.ndarray]:
    from scipy.spatial.distance import cdist

    step = max(1, BLOCK // len(centres))
    for start in range(0, len(features), step):
        yield cdist(features[start : start + step], centres)


def _check_features(features: np.ndarray, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    features, centres = np.asarray(features, float), np.asarray(centres, float)
    if features.ndim != 2 or centres.ndim != 2 or features.shape[1] != centres.shape[1] or not features.size:
        raise ValueError(
            f"expected features (n, D) of at least one transform and centres (K, D) with the same D, got "
            f"{features.shape} and {centres.shape}"
        )
    for what, values in (("features", features), ("centres", centres)):
        if not np.isfinite(values).all():
            raise ValueError(f"the {what} hold values that are not finite; is the network fit for these images?")
    return features, centres


# --- correlations ---------------------------------------------------------------------------------------------------


def _errors_by_corruption(distances: Distances, errors: pd.DataFrame) -> pd.DataFrame:
    """The mean error of every scheme on every corruption: schemes x corruptions, as far as there are errors."""
    missing = [name for name in COLUMNS if name not in errors]
    if missing:
        raise ValueError(f"errors need the columns {', '.join(COLUMNS)}; missing: {', '.join(missing)}")
    errors = errors[errors["corruption"] != CLEAN]
    bad = ~((errors["error"] >= 0) & (errors["error"] <= 1))
    if bad.any():
        line = errors[bad].iloc[0]
        raise ValueError(
            f"errors are shares from 0 to 1, got {line['error']} of {line['scheme']} on {line['corruption']}"
        )
    keys = ["scheme", "corruption", "severity"]
    means = errors.groupby(keys, sort=False)["error"].mean()
    having = set(errors["scheme"])
    schemes = [name for name in distances.schemes if name in having]
    if not schemes:
        measured, tested = (name_some(names, MOST_NAMED) for names in (distances.schemes, pd.unique(errors["scheme"])))
        raise ValueError(
            f"no scheme has both distances and errors: there are distances of {measured} and errors of {tested}"
        )
    cells = [(name, severity or 0) for name, severity in distances.cells]
    wanted = pd.MultiIndex.from_tuples([(scheme, *cell) for scheme in schemes for cell in cells], names=keys)
    means = means.reindex(wanted)
    if means.isna().any():
        scheme, corruption, severity = means.index[means.isna()][0]
        raise ValueError(
            f"{means.isna().sum()} of {len(means)} errors are missing, the first of {scheme} on {corruption} "
            f"{severity}; corruptions must have the same names and severities as in the distances"
        )
    return means.groupby(["scheme", "corruption"], sort=False).mean().unstack("corruption").loc[schemes]


def _problem(x: np.ndarray, y: np.ndarray, distance: str) -> str:
    """Why there is no correlation, or an empty text."""
    if len(x) < LEAST_SCHEMES:
        return f"a rank correlation needs at least {LEAST_SCHEMES} schemes, there are {len(x)}"
    for what, values in ((f"the {distance.upper()}", x), ("the error", y)):
        if np.ptp(values) == 0:
            return f"{what} is the same for all schemes, which have no order then"
    return ""


__all__ = ["Distances", "closest_order", "mmd", "msd", "read_distances", "scheme_correlations"]
