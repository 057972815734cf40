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

    `flips` are flip probabilities of sequences at difficulty 1.
    """

    errors: Errors = field(default_factory=dict)
    clean: float | None = None
    flips: Mapping[str, float] = field(default_factory=dict)
    source: str = ""

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
            f"no reference is called {name!r}; there are {', '.join(known)}. A baseline may also be the rows of a "
            "model, a mapping {'clean': error, corruption: error}, or None"
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
