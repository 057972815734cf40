"""What the page says first of every model: a few sentences that an engineer can act on."""

from __future__ import annotations

import math

import pandas as pd

from scuff.report.page import Verdicts
from scuff.report.separation.radius import Radius
from scuff.report.separation.scores import EPSILON, MscrScores
from scuff.words import bracketed, listed


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
    return sentences


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
