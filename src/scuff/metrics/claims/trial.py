"""A claim put to the test: which images are tried in which cells, what each of them says, and what follows.

A claim about a mean over several cells tries every image in ONE of them, which a draw by the cells' weights decides:
then every image is a fair coin for the whole mean, and no second look at the same image is paid for. Only a claim about
just *these* images tries each in all cells: what is left of a finite population can be reckoned for whole images alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scuff.metrics.claims.evidence import STEPS, Evidence, Verdict, gather
from scuff.metrics.claims.file import Claim, Key, metric_range
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.sampling.plan import keyed_chances, shuffled_places

CLEAN_KEY = Key(CLEAN)
MOST_SHOWN = 200  # points of a curve of evidence
CERTAIN = 1000.0  # told in place of the logarithm of endless wealth, which JSON cannot hold

Right = Callable[[str, Key, np.ndarray], np.ndarray]  # "model" or "baseline", a cell, places of images -> right or not


@dataclass(frozen=True, eq=False)
class Trial:
    """One mean that a claim compares with its bound: of all its cells, or of one of them, or of a group of images.

    `images` are the places of images in the order in which they are tried, and `cells` has a line for each of them: the
    places of the cells that it is tried in, one or all. `siblings` trials share the claim's budget.
    """

    claim: Claim
    name: str
    keys: tuple[Key, ...]
    images: np.ndarray
    cells: np.ndarray
    siblings: int = 1

    @property
    def passes_per_image(self) -> int:
        """What one image costs: every cell, the clean image where the claim compares with it, and the baseline."""
        cells = self.cells.shape[1] + (self.claim.metric in ("robustness_score", "drop"))
        if self.claim.metric == "survival":  # the longest way, where an image draws one of several
            ways = [len(key.leads_up_to()) for key in self.keys]
            cells = max(ways) if self.cells.shape[1] == 1 else sum(ways)
        return cells * (1 + self.claim.is_paired)

    @property
    def most_images(self) -> int:
        """How many images the budget allows."""
        budget = self.claim.budget
        if budget is None:
            return len(self.images)
        return min(len(self.images), budget // self.siblings // self.passes_per_image)

    def pairs(self, start: int, stop: int) -> list[tuple[Key, np.ndarray]]:
        """What must be known of some images, in the order of trial: places of images by cell."""
        stop = min(stop, self.most_images)
        images, cells = self.images[start:stop], self.cells[start:stop]
        wanted = [
            (needed, images[(cells == place).any(axis=1)])
            for place, key in enumerate(self.keys)
            for needed in self._needs(key)
        ]
        if self.claim.metric in ("robustness_score", "drop"):
            wanted.append((CLEAN_KEY, images))
        return [(key, places) for key, places in wanted if len(places)]

    def values(self, right: Right, count: int, bound: float) -> tuple[np.ndarray, float]:
        """Numbers in 0..1 of the first images, and what their mean must reach for "the metric is at least `bound`"."""
        claim = self.claim
        hit = self._mean(right, "model", count)
        if claim.is_paired:
            return (hit - self._mean(right, "baseline", count) + 1) / 2, (bound + 1) / 2
        if claim.metric in ("robustness_score", "drop"):
            clean = right("model", CLEAN_KEY, self.images[:count]).astype(float)
            if claim.metric == "drop":
                return (clean - hit + 1) / 2, (bound + 1) / 2
            return (hit - bound * clean + bound) / (1 + bound), bound / (1 + bound)
        return (hit, bound) if claim.metric in ("accuracy", "survival") else (1 - hit, bound / claim.scale)

    def evidence(self, right: Right, count: int, bound: float | None = None, is_lower: bool | None = None) -> Evidence:
        """For and against the claim, or another bound of its kind, after each of the first images."""
        bound = self.claim.bound if bound is None else bound
        x, at = self.values(right, count, bound)
        lower = self.claim.is_lower if is_lower is None else is_lower
        population = len(self.images) if self.claim.population == "these" else None
        return gather(x, at, population) if lower else gather(1 - x, 1 - at, population)

    def interval(self, right: Right, count: int) -> tuple[float, float]:
        """Where the metric may be, whenever one looks: all bounds that are not refuted, each side at alpha."""
        low, high = metric_range(self.claim)
        return (self._end(right, count, low, high, True), self._end(right, count, high, low, False))

    def estimate(self, right: Right, count: int) -> float | None:
        """The metric as the images so far have it; None for a ratio to nothing."""
        if self.claim.metric == "robustness_score":
            clean = right("model", CLEAN_KEY, self.images[:count]).mean()
            return float(self._mean(right, "model", count).mean() / clean) if clean else None
        x, _ = self.values(right, count, self.claim.bound)
        mean = float(x.mean())
        return 2 * mean - 1 if self.claim.is_paired or self.claim.metric == "drop" else mean * self.claim.scale

    def _mean(self, right: Right, who: str, count: int) -> np.ndarray:
        """The share of its cells in which each of the first images is right, or which it survives."""
        images, cells = self.images[:count], self.cells[:count]
        total = np.zeros(len(images))
        weights = np.ones(len(self.keys)) if cells.shape[1] == 1 else np.array(self._weights)
        for place, key in enumerate(self.keys):
            tried = (cells == place).any(axis=1)
            if tried.any():
                hits = [right(who, needed, images[tried]) for needed in self._needs(key)]
                total[tried] += weights[place] * np.logical_and.reduce(hits)
        return np.clip(total, 0.0, 1.0)

    def _needs(self, key: Key) -> tuple[Key, ...]:
        """Where an image must be right to count as right in a cell: there, or to survive, all the way there."""
        return key.leads_up_to() if self.claim.metric == "survival" else (key,)

    @property
    def _weights(self) -> tuple[float, ...]:
        return self.claim.weights if len(self.keys) == len(self.claim.cells) else (1.0,)

    def _end(self, right: Right, count: int, proved: float, other: float, is_lower: bool) -> float:
        """The bound nearest to `other` that is still proved, by halving."""
        threshold = -np.log(self.claim.alpha)
        inner = 1e-9 * (other - proved)
        first, last = proved + inner, other - inner
        for _ in range(STEPS // 2):
            middle = (first + last) / 2
            wealth = self.evidence(right, count, middle, is_lower).supporting.max(initial=-np.inf)
            first, last = (middle, last) if wealth >= threshold else (first, middle)
        return proved if first == proved + inner else first


@dataclass(frozen=True)
class Outcome:
    """What a trial has come to: a verdict after so many images, and the evidence on the way to it."""

    name: str
    verdict: Verdict
    images: int
    passes: int
    estimate: float | None
    low: float
    high: float
    supporting: float
    opposing: float
    p_value: float
    curve: tuple[tuple[int, float, float], ...] = ()


def plan_trials(claim: Claim, images: int, seed: int, groups: dict[str, np.ndarray] | None = None) -> list[Trial]:
    """The trials of a claim over so many images, or over groups of them: each must hold for the claim to hold."""
    order = shuffled_places(images, f"images|{seed}")
    chance = keyed_chances(images, f"cell of image|{seed}")
    each = [(key,) for key in claim.cells] if claim.over == "each" else [claim.cells]
    groups = groups or {"": np.arange(images)}
    siblings, trials = len(groups) * len(each), []
    for group, places in groups.items():
        members = order[np.isin(order, places)]
        for keys in each:
            named = [*([group] if group else []), *([str(keys[0])] if len(each) > 1 else [])]
            cells = _cells_of(claim, keys, members, chance)
            trials.append(Trial(claim, ", ".join(named), keys, members, cells, siblings))
    return trials


def judge(trial: Trial, right: Right, count: int) -> Outcome:
    """The outcome of a trial after its first images, of which those beyond a verdict do not count."""
    evidence = trial.evidence(right, count)
    verdict, taken = evidence.decide(trial.claim.alpha, trial.siblings, trial.claim.family)
    taken = min(taken, count)
    estimate = trial.estimate(right, taken)
    if estimate is None:
        verdict = "undecided"
    low, high = trial.interval(right, taken)
    every = np.unique(np.linspace(0, taken - 1, MOST_SHOWN).astype(int))
    before = Evidence(*(np.minimum(w[:taken], CERTAIN) for w in (evidence.supporting, evidence.opposing)))
    return Outcome(
        trial.name,
        verdict,
        taken,
        taken * trial.passes_per_image,
        estimate,
        low,
        high,
        float(before.supporting.max()),
        float(before.opposing.max()),
        before.p_value,
        tuple((int(k) + 1, float(before.supporting[k]), float(before.opposing[k])) for k in every),
    )


def together(outcomes: Sequence[Outcome]) -> Verdict:
    """The verdict of a claim from those of its trials: it holds if all hold, and fails if one fails."""
    verdicts = {outcome.verdict for outcome in outcomes}
    return "fails" if "fails" in verdicts else "undecided" if "undecided" in verdicts else "holds"


def _cells_of(claim: Claim, keys: tuple[Key, ...], images: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """For each image the places of the cells that it is tried in: all of them, or one that it draws."""
    if len(keys) == 1:
        return np.zeros((len(images), 1), int)
    if claim.population == "these":
        return np.tile(np.arange(len(keys)), (len(images), 1))
    return np.searchsorted(np.cumsum(claim.weights)[:-1], chance[images])[:, None]
