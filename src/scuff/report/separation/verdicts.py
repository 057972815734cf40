"""What a report of MSCR or of a class separation says first: a sentence or two that an engineer can act on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from scuff.metrics.norms import parse_norm
from scuff.report.page import Verdicts
from scuff.report.separation.radius import Radius
from scuff.report.separation.scores import EPSILON, MscrScores, distance, norm_words, number
from scuff.report.words import bracketed, class_name, count, grouped, listed


def mscr_verdicts(scores: MscrScores, radius: Radius) -> Verdicts:
    """What the radius is, if it is not half the separation, and a few sentences about every model."""
    about = [("Radius of the noise", radius.about)] if radius.about else []
    return about + [(model, " ".join(_model_sentences(scores, model, radius))) for model in scores.models]


def separation_verdict(found: Mapping[str, Any]) -> tuple[str, str]:
    """What the smallest distance is, where it is, and what follows."""
    names = [class_name(found["class_names"], label) for label in found["labels"]]
    first, second = (
        f"row {grouped(row)} ({f'class {name}' if name.isdigit() else name})"
        for row, name in zip(found["rows"], names, strict=True)
    )
    norm, dropped = norm_words(parse_norm(found["norm"])), len(found["dropped"])
    sentences = [
        f"the nearest points of different classes, {first} and {second}, are {distance_words(found)} apart in {norm}.",
        f"So noise of up to half of that, {number(found['epsilon_min'])}, need not cost any accuracy.",
        *([f"Left out, as they coincide with points of another class: {count(dropped, 'point')}."] if dropped else []),
    ]
    return "Class separation", " ".join(sentences)


def distance_words(found: Mapping[str, Any]) -> str:
    """The smallest distance; between pixels in L-infinity also as steps of 255.

    >>> distance_words({"distance": 54 / 255, "norm": "inf", "is_image": True})
    '0.2118 (54/255)'
    """
    steps = 255 * found["distance"]
    is_stepped = found.get("is_image") and math.isinf(parse_norm(found["norm"]))
    return distance(found["distance"]) + (f" ({steps:.0f}/255)" if is_stepped else "")


def meaning(value: float, low: float, high: float) -> str:
    """What an MSCR says, in a word. An interval decides, or the value where there is none.

    >>> meaning(-0.2, -0.3, -0.1), meaning(0.01, -0.01, 0.03), meaning(0.01, math.nan, math.nan)
    ('loss', 'even', 'gain')
    """
    if math.isnan(value):
        return "undefined"
    low, high = (value, value) if math.isnan(low) else (low, high)
    return "loss" if high < 0 else "gain" if low > 0 else "even"


def _model_sentences(scores: MscrScores, model: str, radius: Radius) -> list[str]:
    lines = scores.of(model)
    plain = lines.iloc[0]
    kind = meaning(plain["mscr"], plain["mscr_low"], plain["mscr_high"])
    trained = f"{_trained(scores, plain['train_noise'])}, " if scores.has_training_noise or plain["train_noise"] else ""
    clean, robust = (f"{scores.share(plain[key])}\u00a0%" for key in ("clean", "robust"))
    sentences = [
        f"{trained}{clean} right without noise, {robust} with noise of {EPSILON}: MSCR {_mscr(scores, plain)}, "
        f"{_meaning_words(kind, plain['runs'], radius)}."
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
        sentences.append(_enough_words(scores, lines))
    sentences.append(
        f"Most answers with noise of {EPSILON} are right, {scores.share(most['robust'])}\u00a0%, "
        f"{_trained(scores, most['train_noise'])}."
    )
    return sentences


def _enough_words(scores: MscrScores, lines: pd.DataFrame) -> str:
    """With which training noise nothing is lost, as far as can be told."""
    is_enough = (lines["mscr_high"].fillna(lines["mscr"]) >= 0).tolist()
    radii = [scores.radius(radius) for radius, good in zip(lines["train_noise"], is_enough, strict=True) if good]
    if not radii:
        return "No training noise takes all of the loss away."
    if all(is_enough[is_enough.index(True) :]):
        return f"From training noise of {radii[0]} on, no loss can be told from 0."
    return f"With training noise of {listed(radii)} no loss can be told from 0."


def _meaning_words(kind: str, runs: int, radius: Radius) -> str:
    """What follows from an MSCR; that it cannot be told from 0 is said of these runs, and of the model nothing."""
    return {
        "loss": f"below 0: {radius.loss}",
        "even": f"which cannot be told from 0 with {'this run' if runs == 1 else 'these runs'}",
        "gain": "above 0: noise turns some of its mistakes into right answers",
        "undefined": "not defined, as nothing is right without noise",
    }[kind]


def _mscr(scores: MscrScores, line: pd.Series) -> str:
    return f"{scores.change(line['mscr'])}\u00a0%{bracketed(line['mscr_low'], line['mscr_high'], scores.change)}"


def _trained(scores: MscrScores, train_noise: float) -> str:
    return f"trained with noise of {scores.radius(train_noise)}" if train_noise else "trained without noise"
