"""What epsilon_min of a study is, and what may be said of noise of that radius.

Only balls of up to half the smallest distance between classes never overlap. A study may use a larger radius: half a
quantile of the distances, or one that it was given. Then even the best model may lose accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scuff.report.separation.scores import EPSILON, number

AVOIDABLE = "right answers are lost to noise that need not cost any"
PERHAPS_UNAVOIDABLE = "noise costs right answers, some of which perhaps no model can keep"


@dataclass(frozen=True)
class Radius:
    """A radius; `about` says where it is from and what follows, and is empty if it is half the separation."""

    about: str = ""
    is_harmless: bool = True  # whether noise of this radius need not cost any accuracy

    @property
    def loss(self) -> str:
        """What an MSCR below 0 means."""
        return AVOIDABLE if self.is_harmless else PERHAPS_UNAVOIDABLE


def find_radius(epsilon_min: float, settings: Mapping[str, Any], separation: Mapping[str, Any]) -> Radius:
    """What the radius of a study is, from its settings and the separation of its data, as far as they are known.

    A study that does not say whether its radius was given was given it, if the separation is not known.

    >>> find_radius(0.1, {"quantile": 0.0, "epsilon_given": False}, {})
    Radius(about='', is_harmless=True)
    >>> find_radius(0.1, {"quantile": 0.01, "epsilon_given": False}, {"epsilon_min": 0.04}).is_harmless
    False
    """
    half, quantile = separation.get("epsilon_min"), settings.get("quantile")
    was_given = settings.get("epsilon_given", bool(settings) and not separation)
    is_half = half is not None and math.isclose(epsilon_min, half, rel_tol=1e-9)
    if is_half or (half is None and not quantile and not was_given):
        return Radius()
    origin = "was given"
    if quantile:
        origin = (
            f"is half of the {100 * quantile:g}\u00a0% quantile of all distances to the nearest point of another "
            "class, not half of the smallest"
        )
    is_harmless = half is not None and epsilon_min < half
    if is_harmless:
        follows = "It is less than half of the smallest distance, so noise of it need not cost any accuracy."
    elif half is None and not quantile:
        follows = "How far apart the classes are is not known here, and so not whether a model can bear such noise."
    else:
        follows = "Balls of it around points of different classes may overlap: even the best model may lose accuracy."
    return Radius(f"{EPSILON} = {number(epsilon_min)} {origin}. {follows}", is_harmless)
