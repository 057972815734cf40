"""All numbers of the page about a study of MSCR, and how they are written."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from scuff.metrics.norms import norm_name
from scuff.metrics.separation.mscr import RobustAccuracies, accuracy_table, copies_effect, mscr_scores, running_mscr
from scuff.metrics.separation.training_noise import compare_training_noise
from scuff.report.colours import HEAT
from scuff.words import percent, signed_percent

EPSILON = "ε_min"
COMPARED = ("clean", "robust", "mscr")  # scores by which training noises are compared
MOST_DIGITS = 3  # of per cent, after the point
DIGITS_WITHOUT_INTERVALS = 2
LEAST_STEP = 1e-6  # of accuracies, over all colours


@dataclass(frozen=True, eq=False)
class MscrScores:
    """What the page shows; but for `copies`, with the largest number of copies."""

    accuracies: RobustAccuracies
    scores: pd.DataFrame = field(repr=False)  # the columns of `metrics.mscr_scores`
    cells: dict[str, pd.DataFrame] = field(repr=False)  # by model, the columns of `metrics.accuracy_table`
    copies: pd.DataFrame = field(repr=False)
    running: pd.DataFrame = field(repr=False)
    compared: dict[str, pd.DataFrame] = field(repr=False)  # by score, the columns of `metrics.compare_training_noise`
    digits: int
    knots: np.ndarray = field(repr=False)  # the accuracies at which the colours of the heat map are

    @property
    def models(self) -> tuple[str, ...]:
        """The models, in the order in which they are shown."""
        return self.accuracies.models

    @property
    def has_training_noise(self) -> bool:
        """Whether there are several levels of it to choose from."""
        return len(self.accuracies.train_noise) > 1

    @property
    def has_comparisons(self) -> bool:
        """Whether training noises can be compared over runs."""
        return any(table["p_value"].notna().any() for table in self.compared.values())

    def of(self, model: str) -> pd.DataFrame:
        """The scores of a model, by training noise."""
        return self.scores[self.scores["model"] == model]

    def share(self, share: float) -> str:
        """A share in per cent, with as many digits as count in this study."""
        return percent(share, self.digits)

    def change(self, share: float) -> str:
        """A change in per cent, with its sign."""
        return signed_percent(share, self.digits)

    def heat(self, share: float) -> float:
        """The place of an accuracy in the colours of the heat map, from 0 to 1."""
        return float(np.interp(share, self.knots, np.linspace(0, 1, len(self.knots))))

    def radius(self, radius: float) -> str:
        """The radius of a ball, by name if it is epsilon_min."""
        return EPSILON if math.isclose(radius, self.accuracies.epsilon_min, rel_tol=1e-9) else number(radius)


def measure_mscr(accuracies: RobustAccuracies) -> MscrScores:
    """Score the accuracies of a study."""
    scores = mscr_scores(accuracies)
    scores = scores[scores["copies"] == accuracies.most_copies].reset_index(drop=True)
    cells = {model: accuracy_table(accuracies, model) for model in accuracies.models}
    return MscrScores(
        accuracies,
        scores,
        cells,
        copies_effect(accuracies),
        running_mscr(accuracies),
        {score: compare_training_noise(accuracies, score) for score in COMPARED},
        count_digits(scores),
        find_knots(np.concatenate([table["value"] for table in cells.values()])),
    )


def find_knots(shares: np.ndarray) -> np.ndarray:
    """Accuracies at which the colours of the heat map stand, so that each colour has the same number of cells.

    Most accuracies of a study are near the highest, and some far below: evenly spaced colours would hide differences.

    >>> find_knots(np.array([0.1, 0.5, 0.85, 0.9, 0.92, 0.93, 0.94])).round(2).tolist()
    [0.1, 0.5, 0.85, 0.9, 0.92, 0.93, 0.94]
    """
    knots = np.quantile(shares, np.linspace(0, 1, len(HEAT["light"])))
    return knots + np.linspace(0, LEAST_STEP, len(knots))  # ascending, even where many are the same


def count_digits(scores: pd.DataFrame) -> int:
    """The number of digits after the point of numbers in per cent, from the width of the intervals of the MSCR.

    >>> count_digits(pd.DataFrame({"mscr_low": [-0.00133], "mscr_high": [-0.00119]}))
    3
    """
    half = 50 * (scores["mscr_high"] - scores["mscr_low"]).to_numpy()
    half = half[half > 0]  # which NaN is not
    if not len(half):
        return DIGITS_WITHOUT_INTERVALS
    return int(np.clip(math.ceil(-math.log10(np.median(half))), 1, MOST_DIGITS))


def norm_words(p: float) -> str:
    """The name of a norm, without a line break in it."""
    return norm_name(p).replace("-", "\u2011")


def number(value: float) -> str:
    """A radius, with up to four significant digits.

    >>> number(27 / 255), number(0.01), number(0.0), number(12345.6)
    ('0.1059', '0.01', '0', '12346')
    """
    return f"{value:.4g}" if abs(value) < 10000 else f"{value:.0f}"


def distance(value: float) -> str:
    """A distance, with four significant digits, so that columns align.

    >>> distance(0.4), distance(1520.0)
    ('0.4000', '1520')
    """
    return f"{value:#.4g}".rstrip(".") if abs(value) < 10000 else f"{value:.0f}"
