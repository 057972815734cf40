"""Five of a corruption's severities, chosen to be as far apart in error as those of an existing benchmark.

Steps 3 to 5 of appendix D.1 of Mintun, Kirillov and Xie, by which CIFAR-10-C-bar and ImageNet-C-bar were made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

LEVELS = 5  # of a group
LEAST_REFERENCE_LEVELS = 3  # first, middle and last
ROLES = ("reference", "candidate")
COLUMNS = ("role", "corruption", "severity", "error")


@dataclass(frozen=True, eq=False)
class Scan:
    """Errors of a classifier and centres of an extractor, on a reference benchmark and on candidates for a new one.

    `table` has a line per corruption and severity: role ("reference" or "candidate"), corruption (its address,
    `suite/entry`), severity (1, 2, ..., or 0 where a reference has none) and error, a share. Line by line, `centres`
    (lines, D) are the mean features of images that were corrupted so. Lines may be in any order.
    """

    table: pd.DataFrame = field(repr=False)
    centres: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        _check_scan(self)

    def errors(self, role: str) -> dict[str, pd.Series]:
        """The errors of every corruption of a role by severity, in ascending order."""
        lines = self.table[self.table["role"] == role].sort_values("severity", kind="stable")
        return {str(name): each.set_index("severity")["error"] for name, each in lines.groupby("corruption", sort=True)}

    def target(self) -> float:
        """The mean error of the reference."""
        errors = self.table.loc[self.table["role"] == "reference", "error"].tolist()
        return math.fsum(errors) / len(errors)  # to the last bit the same in any order of lines

    def distances(self) -> dict[str, np.ndarray]:
        """How far every candidate is from the nearest centre of the reference, at each severity in ascending order."""
        from scipy.spatial.distance import cdist

        is_candidate = (self.table["role"] == "candidate").to_numpy()
        nearest = cdist(self.centres[is_candidate], self.centres[~is_candidate]).min(axis=1)
        lines = self.table.loc[is_candidate, ["corruption", "severity"]].assign(distance=nearest)
        lines = lines.sort_values("severity", kind="stable")
        return {str(name): each["distance"].to_numpy() for name, each in lines.groupby("corruption", sort=True)}


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of five severities of all candidates; a candidate that has fewer than others is NaN in the rest.

    `errors` and `distances` (candidates, groups) are means over the five; `places` (candidates, groups, 5) says which
    severities they are, counted from 0. The groups of a candidate are in the order of their errors.
    """

    names: tuple[str, ...]
    errors: np.ndarray
    distances: np.ndarray
    places: np.ndarray


def average_spread(scan: Scan) -> float:
    """How much errors of the reference change from its middle severity to the first and the last, as a share.

    >>> lines = [("reference", "a/fog", 1, 0.1), ("reference", "a/fog", 2, 0.2), ("reference", "a/fog", 3, 0.5)]
    >>> lines += [("candidate", "b/rain", severity, 0.3) for severity in range(1, 6)]
    >>> table = pd.DataFrame(lines, columns=["role", "corruption", "severity", "error"])
    >>> average_spread(Scan(table, np.zeros((8, 2))))  # down by a half, up by one and a half
    1.0
    """
    spreads = []
    for name, errors in scan.errors("reference").items():
        if len(errors) < LEAST_REFERENCE_LEVELS:
            raise ValueError(
                f"by how much errors should differ is learnt from a reference of at least {LEAST_REFERENCE_LEVELS} "
                f"severities; {name} has {len(errors)}. Give the spread yourself, or another reference"
            )
        first, middle, last = errors.iloc[0], errors.iloc[(len(errors) - 1) // 2], errors.iloc[-1]
        if middle == 0:
            raise ValueError(
                f"the error on {name} at its middle severity is 0, so it is unknown by how much errors should differ; "
                "use more images, give the spread yourself, or a reference without it"
            )
        spreads.append((abs(first / middle - 1) + abs(last / middle - 1)) / 2)
    return float(np.mean(spreads))


def severity_groups(errors: Sequence[float], spread: float) -> list[tuple[int, int, int, int, int]]:
    """Places of five severities around each possible middle one, whose errors differ by `spread` as far as they can.

    At the first the error should be lower than in the middle by that share of it, at the last higher, and half of that
    at the second and the fourth. Of severities that fit equally well, the more severe one is taken. A middle without
    any error is passed over. `errors` are in ascending order of severity.

    >>> severity_groups([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], spread=0.65)
    [(0, 1, 2, 3, 4), (0, 2, 3, 4, 6), (1, 2, 4, 5, 6)]
    """

    def nearest(candidates: range, wanted: float, middle: int) -> int:
        return min(reversed(candidates), key=lambda place: abs(errors[place] / errors[middle] - 1 - wanted))

    groups = []
    for middle in range(2, len(errors) - 2):
        if errors[middle] == 0:
            continue
        first = nearest(range(middle - 1), -spread, middle)
        second = nearest(range(first + 1, middle), -spread / 2, middle)
        last = nearest(range(middle + 2, len(errors)), spread, middle)
        fourth = nearest(range(middle + 1, last), spread / 2, middle)
        groups.append((first, second, middle, fourth, last))
    return groups


def group_candidates(scan: Scan, spread: float) -> Groups:
    """The groups of all candidates of a scan, which are in the order of their names."""
    errors, distances = scan.errors("candidate"), scan.distances()
    places: dict[str, np.ndarray] = {}
    for name, by_severity in errors.items():
        groups = np.array(severity_groups(by_severity.tolist(), spread), int).reshape(-1, LEVELS)
        if not len(groups):
            raise ValueError(f"{name} causes no errors; give it more severe levels, or leave it out")
        order = np.argsort(by_severity.to_numpy()[groups].mean(axis=1), kind="stable")
        places[name] = groups[order]
    shape = (len(places), max(map(len, places.values())))
    padded = Groups(tuple(places), np.full(shape, np.nan), np.full(shape, np.nan), np.full((*shape, LEVELS), -1))
    for line, (name, groups) in enumerate(places.items()):
        padded.errors[line, : len(groups)] = errors[name].to_numpy()[groups].mean(axis=1)
        padded.distances[line, : len(groups)] = distances[name][groups].mean(axis=1)
        padded.places[line, : len(groups)] = groups
    return padded


def _check_scan(scan: Scan) -> None:
    table, centres = scan.table, scan.centres
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise ValueError(f"a scan needs the columns {', '.join(COLUMNS)}; missing: {', '.join(missing)}")
    if centres.ndim != 2 or len(centres) != len(table) or not np.isfinite(centres).all():
        raise ValueError(f"expected finite centres ({len(table)}, D), one per line of the table, got {centres.shape}")
    unknown = sorted(set(table["role"]) - set(ROLES))
    if unknown:
        raise ValueError(f"the role of a corruption is {' or '.join(ROLES)}, got {unknown[0]!r}")
    bad = table[~((table["error"] >= 0) & (table["error"] <= 1))]
    if len(bad):
        line = bad.iloc[0]
        raise ValueError(f"errors are shares from 0 to 1, got {line['error']} of {line['corruption']}")
    twice = table.duplicated(["role", "corruption", "severity"])
    if twice.any():
        line = table[twice].iloc[0]
        raise ValueError(f"the {line['role']} {line['corruption']} {line['severity']} occurs twice")
    for role in ROLES:
        if role not in set(table["role"]):
            raise ValueError(f"the scan has no {role}")
    counts = table.loc[table["role"] == "candidate", "corruption"].value_counts(sort=False)
    few = counts[counts < LEVELS]
    if len(few):
        raise ValueError(
            f"every candidate needs at least {LEVELS} severities; {few.index[0]} has {few.iloc[0]}. Choose others with "
            "only, or give it more levels in its suite"
        )
