"""Two bets about a mean: what a gambler wins who doubts a claim's opposite measures the evidence for the claim.

Somebody bets against "the mean is below b", again on every value, at odds that would be fair if the mean were b. If it
is below, no strategy makes money on average, and by Ville's inequality the wealth ever reaches 1/alpha with probability
alpha at most, whatever the distribution and whenever one stops to look (Waudby-Smith and Ramdas 2023). So:

    wealth of the bet for the claim >= 1/alpha      the claim holds
    wealth of the bet against it   >= 1/alpha      the claim fails
    neither, and no values are left                 undecided

Nobody knows the best stake in advance, so twenty gamblers with fixed stakes share the money, and their mean counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Verdict = Literal["holds", "fails", "undecided"]

STAKES = np.geomspace(0.009, 0.9, 20)  # shares of the money that a value of 0 loses: none loses all of it
STEPS = 40  # halvings of an interval's ends: to 1e-12


@dataclass(frozen=True, eq=False)
class Evidence:
    """Logarithms of both wealths after every value."""

    supporting: np.ndarray
    opposing: np.ndarray

    def decide(self, alpha: float, groups: int = 1, family: int = 1) -> tuple[Verdict, int]:
        """The first verdict, and how many values it took; all of them if there is none.

        Of `groups` claims that must all hold, each is proved at alpha, and the first to be refuted needs groups/alpha.
        One of a `family` that is corrected for its size goes on after it holds, until the evidence is enough for all.
        """
        holds = _first(self.supporting >= -math.log(alpha))
        fails = _first(self.opposing >= math.log(groups / alpha))
        if holds == fails:  # never
            return "undecided", len(self.supporting)
        if fails < holds:
            return "fails", fails
        return "holds", min(_first(self.supporting >= math.log(family / alpha)), len(self.supporting))

    def is_settled(self, alpha: float, groups: int, family: int) -> bool:
        """Whether more values would be of no use."""
        verdict, _ = self.decide(alpha, groups, family)
        return verdict == "fails" or (verdict == "holds" and self.supporting.max() >= math.log(family / alpha))

    @property
    def p_value(self) -> float:
        """How surprising the evidence for the claim would be if it were false: 1 / the largest wealth.

        >>> f"{gather([1] * 40, 0.8).p_value:.4f}"
        '0.0046'
        """
        return min(1.0, math.exp(-self.supporting.max(initial=0.0)))


def gather(values: ArrayLike, bound: float, population: int | None = None) -> Evidence:
    """Evidence for "the mean is at least `bound`" from values in 0..1, in the order in which they were drawn.

    `population` is the number of things that values are drawn from without replacement: then the claim is about the
    mean of just these, and when all are known it is decided by counting. Without it, the claim is about whatever the
    values are a sample of.

    >>> gather([1] * 60, 0.8).decide(alpha=0.01)
    ('holds', 36)
    >>> gather([1, 0] * 100, 0.8).decide(alpha=0.01)
    ('fails', 30)
    >>> gather([1, 1, 1, 0], 0.75, population=4).decide(alpha=0.01)
    ('holds', 3)
    """
    x = np.asarray(values, float)
    if not 0 < bound < 1:
        raise ValueError(f"a mean of values in 0..1 is compared with a bound between 0 and 1, got {bound:g}")
    if x.ndim != 1 or not np.all((x >= 0) & (x <= 1)):
        raise ValueError("evidence takes one list of values in 0..1")
    if population is not None and len(x) > population:
        raise ValueError(f"{len(x)} values cannot be drawn without replacement from {population}")
    fair = _fair(x, bound, population)
    return Evidence(_wealth(x, fair, bound, population), _wealth(1 - x, 1 - fair, 1 - bound, population, strict=True))


def anytime_interval(values: ArrayLike, alpha: float, population: int | None = None) -> tuple[float, float]:
    """All bounds that the evidence so far refutes neither way, each side at alpha: where the mean may be.

    It holds at every number of values at once, so it may be looked at as often as one likes.

    >>> low, high = anytime_interval([1, 1, 1, 1, 0] * 100, alpha=0.05)
    >>> f"{low:.2f} {high:.2f}"
    '0.74 0.85'
    """
    x = np.asarray(values, float)
    return _lower_end(x, alpha, population), 1 - _lower_end(1 - x, alpha, population)


def expected_values(truth: float, bound: float, alpha: float) -> float:
    """About how many values a claim will need if the mean is `truth`.

    Money grows by the divergence of two coins per value; 1.3 is the price of not knowing the best stake, between 1.25
    and 1.45 in simulations.

    >>> round(expected_values(0.85, 0.80, alpha=0.01))
    715
    """
    divergence = sum(p * math.log(p / q) for p, q in ((truth, bound), (1 - truth, 1 - bound)) if p > 0)
    return math.inf if divergence == 0 else 1.3 * math.log(1 / alpha) / divergence


def _fair(x: np.ndarray, bound: float, population: int | None) -> np.ndarray:
    """The mean that the next value has at the bound: of few that are left, it depends on those that are gone."""
    if population is None:
        return np.full(len(x), bound)
    gone = np.arange(len(x))
    # Whole numbers of values are often meant: 0.75 of 4 is 3, without the last bits.
    return np.round(population * bound - (np.cumsum(x) - x), 9) / (population - gone)


def _wealth(x: np.ndarray, fair: np.ndarray, bound: float, population: int | None, strict: bool = False) -> np.ndarray:
    """Logarithm of the mean wealth of all gamblers after each value.

    It is endless once the values that are left cannot keep the mean below the bound; with none left, counting
    decides. `strict` is for the bet against a claim, which a mean of exactly the bound does not refute.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        stakes = np.minimum(STAKES / bound, 0.9 / np.maximum(fair, 0)[:, None])
        gains = np.log1p(stakes * (x - fair)[:, None])
    wealth = np.logaddexp.reduce(np.cumsum(np.where(fair[:, None] > 0, gains, 0.0), 0), 1) - math.log(len(STAKES))
    if population is None:
        return wealth
    left = np.round(population * bound - np.cumsum(x), 9)  # what the rest would have to add to reach the bound
    settled = left < 0 if strict else left <= 0
    return np.where(np.logical_or.accumulate(settled), np.inf, wealth)


def _lower_end(x: np.ndarray, alpha: float, population: int | None) -> float:
    """The largest bound that the values are proved to be at least; wealth falls as the bound rises."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        wealth = _wealth(x, _fair(x, middle, population), middle, population).max(initial=-np.inf)
        low, high = (middle, high) if wealth >= -math.log(alpha) else (low, middle)
    return low


def _first(reached: np.ndarray) -> int:
    """The number of values until something is reached; one more than there are if it never is."""
    return int(reached.argmax()) + 1 if reached.any() else len(reached) + 1
