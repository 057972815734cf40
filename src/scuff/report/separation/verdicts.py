"""What the page says first of every model: a few sentences that an engineer can act on.

Only balls of up to half the smallest distance between classes never overlap. A study may use a larger radius: half a
quantile of the distances, or one that it was given. Then even the best model may lose accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from scuff.report.page import Verdicts
from scuff.report.separation.comparisons import clear_changes
from scuff.report.separation.scores import EPSILON, MscrScores, number
from scuff.words import bracketed, listed

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
    return [*sentences, *(clear_changes(scores, model) if scores.has_comparisons else ())]


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
