"""All numbers of the page about a study of MSCR, how they are written, and what the page says first of every model.

Only balls of up to half the smallest distance between classes never overlap. A study may use a larger radius: half a
quantile of the distances, or one that it was given. Then even the best model may lose accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from scuff.metrics.evaluation.comparison import SIGNIFICANT
from scuff.metrics.norms import norm_name
from scuff.metrics.separation.mscr import RobustAccuracies, accuracy_table, copies_effect, mscr_scores, running_mscr
from scuff.metrics.separation.training_noise import compare_training_noise
from scuff.report.colours import HEAT
from scuff.report.page import Verdicts
from scuff.words import bracketed, listed, percent, signed_percent

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

    def pairs_of(self, model: str, score: str) -> pd.DataFrame:
        """All pairs of training noises of a model, by a score."""
        return self.compared[score][self.compared[score]["model"] == model]

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


def mscr_verdicts(scores: MscrScores, radius: Radius) -> Verdicts:
    """Where the radius is from, if it is not half the separation, and a few sentences about every model."""
    about = [("Radius of the noise", radius.about)] if radius.about else []
    return about + [(model, " ".join(_sentences(scores, model, radius))) for model in scores.models]


def meaning(value: float, low: float, high: float) -> str:
    """What an MSCR says, in a word: determined by its interval, or by the value where there is none.

    >>> meaning(-0.2, -0.3, -0.1), meaning(0.01, -0.01, 0.03), meaning(0.01, math.nan, math.nan)
    ('loss', 'even', 'gain')
    """
    if math.isnan(value):
        return "undefined"
    low, high = (value, value) if math.isnan(low) else (low, high)
    return "loss" if high < 0 else "gain" if low > 0 else "even"


def _sentences(scores: MscrScores, model: str, radius: Radius) -> list[str]:
    lines = scores.of(model)
    plain = lines.iloc[0]
    kind = meaning(plain["mscr"], plain["mscr_low"], plain["mscr_high"])
    meanings = {
        "loss": f"below 0: {radius.loss}",
        "even": f"not distinguishable from 0 with {'this run' if plain['runs'] == 1 else 'these runs'}",
        "gain": "above 0: noise turns some of its mistakes into right answers",
        "undefined": "not defined, as nothing is right without noise",
    }
    trained = f"{_trained(scores, plain['train_noise'])}, " if scores.has_training_noise or plain["train_noise"] else ""
    clean, robust = (f"{scores.share(plain[key])}\u00a0%" for key in ("clean", "robust"))
    sentences = [
        f"{trained}{clean} right without noise, {robust} with noise of {EPSILON}: MSCR {_mscr(scores, plain)}, "
        f"{meanings[kind]}."
    ]
    if not scores.has_training_noise or lines["mscr"].isna().any():
        return sentences
    best, most = (lines.loc[lines[key].idxmax()] for key in ("mscr", "robust"))
    if best["train_noise"] != plain["train_noise"]:
        sentences.append(
            f"The highest MSCR, {_mscr(scores, best)}, comes with training noise of "
            f"{scores.radius(best['train_noise'])}, at {scores.share(best['clean'])}\u00a0% without noise."
        )
    if kind == "loss":
        sentences.append(_sufficient_noise(scores, lines))
    sentences.append(
        f"Accuracy with noise of {EPSILON} is highest, {scores.share(most['robust'])}\u00a0%, "
        f"{_trained(scores, most['train_noise'])}."
    )
    return [*sentences, *(_clear_changes(scores, model) if scores.has_comparisons else ())]


def _clear_changes(scores: MscrScores, model: str) -> Iterator[str]:
    """A sentence about accuracy without noise, and one about MSCR: which training noises change it for certain."""
    first = scores.accuracies.train_noise[0]
    against = f"training noise of {scores.radius(first)}" if first else "no training noise"
    for key, what in (("clean", "accuracy without noise"), ("mscr", "the MSCR")):
        table = scores.pairs_of(model, key)
        clear = table[(table["train_noise"] == first) & (table["p_holm"] < SIGNIFICANT)]
        parts = [
            f"{word} with {listed([scores.radius(radius) for radius in some['other']])}"
            for word, some in (("higher", clear[clear["value"] > 0]), ("lower", clear[clear["value"] < 0]))
            if len(some)
        ]
        change = f"is clearly {' and '.join(parts)}" if parts else "does not clearly change with any other"
        yield f"Compared with {against}, {what} {change}."


def _sufficient_noise(scores: MscrScores, lines: pd.DataFrame) -> str:
    """With which training noise no loss is left, as far as intervals tell."""
    is_enough = (lines["mscr_high"].fillna(lines["mscr"]) >= 0).tolist()
    radii = [scores.radius(radius) for radius, good in zip(lines["train_noise"], is_enough, strict=True) if good]
    if not radii:
        return "No training noise removes the loss entirely."
    if all(is_enough[is_enough.index(True) :]):
        return f"With training noise of {radii[0]} or more, no loss is distinguishable from 0."
    return f"With training noise of {listed(radii)}, no loss is distinguishable from 0."


def _mscr(scores: MscrScores, line: pd.Series) -> str:
    return f"{scores.change(line['mscr'])}\u00a0%{bracketed(line['mscr_low'], line['mscr_high'], scores.change)}"


def _trained(scores: MscrScores, train_noise: float) -> str:
    return f"trained with noise of {scores.radius(train_noise)}" if train_noise else "trained without noise"
