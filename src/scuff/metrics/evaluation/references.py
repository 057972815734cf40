"""What corruption errors are measured against: published error rates of a reference model, or your own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
import yaml

Errors = Mapping[str, float | Sequence[float]]


@dataclass(frozen=True)
class Reference:
    """Error rates of a model (fractions): on clean images, and by corruption, one number or one per severity.

    `flips` are flip probabilities of sequences at difficulty 1. `classes` and `size` say of what data they were
    measured: how many classes they have, and the side of their images in pixels.
    """

    errors: Errors = field(default_factory=dict)
    clean: float | None = None
    flips: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    classes: int | None = None
    size: int | None = None

    def error(self, corruption: str, severities: Sequence[int]) -> float:
        """The mean error over some severities; one number for a corruption stands for all of them."""
        value = self.errors[corruption]
        if isinstance(value, (int, float)):
            return float(value)
        if max(severities) > len(value) or min(severities) < 1:
            raise ValueError(
                f"the reference of {corruption} has severities 1 to {len(value)}, the rows have "
                f"{', '.join(map(str, severities))}"
            )
        return float(np.mean([value[s - 1] for s in severities]))

    def misfit(self, classes: int, size: int | None) -> str:
        """Why the numbers say nothing about other data; nothing where they do.

        Where classes have no names, the last of them may be missing; and models crop images somewhat differently.

        >>> load_reference("alexnet", "imagenet-c").misfit(10, 32)
        'measured on 1000 classes at 224 pixels, and these data have 10 at 32 pixels'
        """
        fits = self.classes is None or 0.9 * self.classes <= classes <= self.classes
        fits &= self.size is None or size is None or 0.5 <= size / self.size <= 2
        at = "" if size is None else f" at {size} pixels"
        return (
            ""
            if fits
            else f"measured on {self.classes} classes at {self.size} pixels, and these data have {classes}{at}"
        )


def load_reference(name: str, suite: str) -> Reference | None:
    """The published reference of that name for a suite; None where there is none.

    >>> load_reference("alexnet", "imagenet-c").error("fog", [1, 2, 3, 4, 5]).__round__(6)
    0.819324
    >>> load_reference("alexnet", "cifar10-c") is None
    True
    """
    known = sorted({key for tables in _tables().values() for key in tables if key != "score"})
    if name not in known:
        raise ValueError(
            f"no reference is called {name!r}; there are {', '.join(known)}. A baseline may also be a model, or errors "
            "of your own"
        )
    table = _tables().get(suite, {}).get(name)
    return None if table is None else Reference(**table)


def is_relative(suite: str) -> bool:
    """Whether the authors of a suite mean the relative corruption error when they write CE.

    >>> is_relative("imagenet-noc"), is_relative("imagenet-c")
    (True, False)
    """
    return _tables().get(suite, {}).get("score") == "relative"


@lru_cache
def _tables() -> dict[str, dict[str, Any]]:
    return yaml.safe_load((resources.files(__package__) / "references.yaml").read_text(encoding="utf-8"))
