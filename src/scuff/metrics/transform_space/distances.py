"""Tables of distances between augmentation schemes and corruptions, which `scuff.metrics.transform_space` defines.

A study makes one; a file of your own will do:

    resampling,scheme,corruption,severity,mmd,msd
    0,augmix,cifar10-c/fog,1,0.713,0.298
    ...
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import pandas as pd

from scuff.metrics.long_tables import read_long

Kind = Literal["msd", "mmd"]
KINDS = ("msd", "mmd")


@dataclass(frozen=True, eq=False)
class Distances:
    """Distances of schemes to corruptions, `msd[r, s, k]` and `mmd[r, s, k]`: resampling r, scheme s, cell k.

    A cell is the address of a corruption, `suite/entry`, and a severity, None if it has no levels. Every resampling has
    fresh images and fresh draws.

    >>> cells = (("a/fog", 1), ("a/fog", 2), ("a/snow", 1))
    >>> distances = Distances(("augmix", "none"), cells, np.array([[[1.0, 3, 2], [2, 4, 4]]]), np.full((1, 2, 3), 5.0))
    >>> distances.by_corruption("msd").to_dict("index")
    {'augmix': {'a/fog': 2.0, 'a/snow': 2.0}, 'none': {'a/fog': 3.0, 'a/snow': 4.0}}
    """

    schemes: tuple[str, ...]
    cells: tuple[tuple[str, int | None], ...]
    msd: np.ndarray = field(repr=False)
    mmd: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        _check_distances(self)

    @property
    def corruptions(self) -> tuple[str, ...]:
        """The addresses of all corruptions, each once."""
        return tuple(dict.fromkeys(corruption for corruption, _ in self.cells))

    @property
    def resamplings(self) -> int:
        """How often everything was measured, with fresh images and draws."""
        return len(self.msd)

    def of(self, kind: Kind) -> np.ndarray:
        """The distances of a kind, (resamplings, schemes, cells)."""
        if kind not in KINDS:
            raise ValueError(f"a distance is {' or '.join(KINDS)}, got {kind!r}")
        return getattr(self, kind)

    def mean(self, kind: Kind = "msd") -> np.ndarray:
        """The mean over resamplings, (schemes, cells)."""
        return self.of(kind).mean(axis=0)

    def spread(self, kind: Kind = "msd") -> np.ndarray:
        """The standard deviation over resamplings, (schemes, cells); NaN if there is only one."""
        values = self.of(kind)
        return values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan)

    def relative_spread(self, kind: Kind = "msd") -> float:
        """The precision of a distance: standard deviation over resamplings / mean, averaged over all pairs.

        Pairs at distance 0 have none and are left out. NaN if there is only one resampling.
        """
        mean, spread = self.mean(kind), self.spread(kind)
        apart = mean > 0
        return float(np.mean(spread[apart] / mean[apart])) if apart.any() else np.nan

    def by_corruption(self, kind: Kind = "msd") -> pd.DataFrame:
        """The mean over severities and resamplings: schemes x corruptions."""
        columns = [corruption for corruption, _ in self.cells]
        means = {name: self.mean(kind)[:, np.array([c == name for c in columns])].mean(1) for name in self.corruptions}
        return pd.DataFrame(means, index=pd.Index(self.schemes, name="scheme"))

    def take(self, schemes: Sequence[str]) -> Distances:
        """The distances of some schemes, in this order."""
        unknown = [name for name in schemes if name not in self.schemes]
        if unknown:
            raise ValueError(f"there are no distances of {', '.join(unknown)}; there are {', '.join(self.schemes)}")
        places = [self.schemes.index(name) for name in schemes]
        return replace(self, schemes=tuple(schemes), msd=self.msd[:, places], mmd=self.mmd[:, places])

    def to_frame(self) -> pd.DataFrame:
        """One line per distance: resampling, scheme, corruption, severity (0: it has no levels), mmd, msd."""
        count, schemes, cells = self.msd.shape
        return pd.DataFrame(
            {
                "resampling": np.repeat(np.arange(count), schemes * cells),
                "scheme": np.tile(np.repeat(np.array(self.schemes, object), cells), count),
                "corruption": np.tile(np.array([name for name, _ in self.cells], object), count * schemes),
                "severity": np.tile([severity or 0 for _, severity in self.cells], count * schemes),
                "mmd": self.mmd.ravel(),
                "msd": self.msd.ravel(),
            }
        )


def read_distances(source: pd.DataFrame | str | os.PathLike[str]) -> Distances:
    """Distances from a DataFrame or a CSV file, as `Distances.to_frame` makes it.

    The column resampling may be absent if there is only one. Every scheme must have a distance to every cell, in every
    resampling.

    >>> values = {"scheme": "augmix", "corruption": "a/fog", "severity": [1, 2], "mmd": 3.0, "msd": [1.0, 2.0]}
    >>> read_distances(pd.DataFrame(values)).msd.tolist()
    [[[1.0, 2.0]]]
    """
    axes = ["resampling"], ["scheme"], ["corruption", "severity"]
    whole = ["resampling", "severity"]
    keys, values = read_long(
        source, "distances", axes, KINDS, optional="resampling", whole=whole, ascending=["resampling"]
    )
    cells = tuple((str(name), int(severity) or None) for name, severity in keys[2])
    return Distances(tuple(str(scheme) for (scheme,) in keys[1]), cells, *values)


def _check_distances(table: Distances) -> None:
    for what, names in (("schemes", table.schemes), ("cells", table.cells)):
        if not names or len(set(names)) < len(names):
            raise ValueError(f"{what} must be given, each once; got {', '.join(map(str, names)) or 'none'}")
    shape = (len(table.schemes), len(table.cells))
    for kind in KINDS:
        values = table.of(kind)  # type: ignore[arg-type]
        if values.shape != (table.resamplings, *shape) or not len(values):
            raise ValueError(
                f"expected {kind} (resamplings, schemes, cells) = (R, {shape[0]}, {shape[1]}), got {values.shape}"
            )
        bad = ~((values >= 0) & np.isfinite(values))
        if bad.any():
            _, scheme, cell = np.argwhere(bad)[0]
            raise ValueError(
                f"distances are numbers from 0 upwards, got the {kind} {values[bad][0]} for {table.schemes[scheme]} "
                f"and {table.cells[cell][0]} {table.cells[cell][1] or ''}".rstrip()
            )


__all__ = ["Distances", "read_distances"]
