"""Minimal separation corruption robustness (MSCR): what noise costs that need not cost anything.

Siedel, Vock, Morozov and Voß (AISafety 2022). Half the smallest distance between points of different classes,
epsilon_min, is the radius up to which balls around all points can be told apart without a mistake. With a the accuracy
on test points, and b that on points drawn uniformly in balls of that radius around them:

    MSCR = (b - a) / a

Below 0, the classifier loses accuracy that it need not lose; at 0, it is as robust as the data permit; above 0, some
points that it gets wrong are right when they are moved a little. All numbers here are fractions: -0.05 is -5 %.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from scuff.metrics.estimate import Estimate, Group, score_together
from scuff.metrics.intervals import Resampling, percent, student_half_width
from scuff.metrics.score import Score
from scuff.metrics.separation.robust_accuracies import RobustAccuracies

Average = Literal["ratios", "means"]
Interval = Literal["student", "paper", "paper-images"]
Z_OF_THE_PAPER = 1.96  # for 95 %, whatever the number of runs

Key = tuple[int, str, float]  # copies, model, training noise
SCORES = {  # of the means of two columns: right on the test points, and right on the noisy ones
    "clean": lambda means: means[..., 0],
    "robust": lambda means: means[..., 1],
    "mscr": lambda means: (means[..., 1] - means[..., 0]) / means[..., 0],
}


def mscr(
    clean: ArrayLike,
    robust: ArrayLike,
    *,
    average: Average = "ratios",
    interval: Interval = "student",
    level: float = 0.95,
) -> Score:
    """The MSCR of a model from its accuracies in several runs, with its interval over runs.

    Parameters
    ----------
    clean, robust
        Shares of right predictions, one per run: on test points, and on points drawn in balls of radius epsilon_min.
    average
        "ratios" is the mean over runs of the MSCR of each run, as Algorithm 1 of the paper says; "means" is the MSCR of
        the mean accuracies, as its code computes it.
    interval
        "student" is Student's interval with the sample deviation over runs. "paper" and "paper-images" are 1.96 times
        the population deviation divided by the root of the number of runs. They differ only if the average is that of
        means: "paper", of its two-dimensional data, has the deviation of `robust - clean`, which is not divided by the
        clean accuracy; "paper-images", of CIFAR-10, that of the MSCR of each run.

    Examples
    --------
    >>> print(mscr([0.90, 0.92, 0.91], [0.80, 0.85, 0.81]))
    -0.10 [-0.15, -0.05] (n = 3; Student t over runs 95 %)
    >>> mscr([0.0, 0.5], [0.5, 0.5]).note
    'undefined: 1 of 2 runs has no right answer on clean points'
    """
    _check_choices(average, interval, level)
    clean, robust = np.atleast_1d(np.asarray(clean, float)), np.atleast_1d(np.asarray(robust, float))
    if clean.shape != robust.shape or clean.ndim != 1 or not len(clean):
        raise ValueError(
            f"expected a clean and a robust accuracy per run, got {clean.shape} and {robust.shape} of them"
        )
    for what, shares in (("clean", clean), ("robust", robust)):
        bad = shares[~((shares >= 0) & (shares <= 1))]  # NaN among them
        if len(bad):
            raise ValueError(f"{what} accuracies must be shares from 0 to 1, got {bad[0]}; divide per cent by 100")
    zeros = int((clean == 0).sum())
    if zeros == len(clean) or (zeros and (average == "ratios" or interval == "paper-images")):
        have = "has" if zeros == 1 else "have"
        note = f"undefined: {zeros} of {len(clean)} runs {have} no right answer on clean points"
        return Score(np.nan, np.nan, np.nan, len(clean), "no interval: undefined", note)
    value = (robust.mean() - clean.mean()) / clean.mean()
    if average == "ratios" or interval == "paper-images":
        each = (robust - clean) / clean
        value = each.mean() if average == "ratios" else value
    elif interval == "paper":
        each = robust - clean
    else:  # Student's interval of a ratio of means is that of what each run adds to it
        each = (robust - (1 + value) * clean) / clean.mean()
    return _over_runs(float(value), each, interval, level)


def mscr_scores(
    accuracies: RobustAccuracies,
    *,
    average: Average = "ratios",
    interval: Interval = "student",
    level: float = 0.95,
) -> pd.DataFrame:
    """Clean accuracy, robust accuracy at epsilon_min and MSCR of every model, number of copies and training noise.

    The columns are model, copies, train_noise, clean, clean_low, clean_high, the same of robust and mscr, runs, and
    interval, which says how intervals were computed: over runs if there are several (see `mscr`); of one run by the
    bootstrap over test points, clean and noisy ones of a point together, which leaves out the randomness of training,
    or NaN if it is not known which points were right. Intervals of accuracies end at 0 and 1.

    >>> values = np.array([[[[[0.90, 0.92, 0.91], [0.80, 0.85, 0.81]]]]])
    >>> table = RobustAccuracies(("forest",), (0.0,), (0.0, 0.1), values, 0.1, runs=(0, 1, 2))
    >>> mscr_scores(table)[["model", "clean", "robust", "mscr"]].round(3).values.tolist()
    [['forest', 0.91, 0.82, -0.099]]
    """
    _check_choices(average, interval, level)
    keys = list(product(accuracies.copies, accuracies.models, accuracies.train_noise))
    ends = [accuracies.place_of_test(radius) for radius in (0.0, accuracies.epsilon_min)]
    both = (len(keys), len(accuracies.test_noise), -1)
    over_points: dict[tuple[Key, str], Score] = {}
    if accuracies.right is not None:
        groups = [_group(right[ends]) for right in accuracies.right.reshape(both)]
        pairs = product(zip(keys, groups, strict=True), SCORES.items())
        estimates = {(key, name): Estimate((group,), statistic) for (key, group), (name, statistic) in pairs}
        over_points = score_together(estimates, Resampling(level=level))
    lines = []
    for key, values in zip(keys, accuracies.values.reshape(both), strict=True):
        clean, robust = values[ends]
        scores = {
            "clean": _mean(clean, interval, level),
            "robust": _mean(robust, interval, level),
            "mscr": mscr(clean, robust, average=average, interval=interval, level=level),
        }
        line = dict(zip(("copies", "model", "train_noise"), key, strict=True))
        for name, score in scores.items():
            end = over_points.get((key, name), score)
            line |= {name: score.value, f"{name}_low": end.low, f"{name}_high": end.high}
        how = f"bootstrap over test points {percent(level)}, one run: without the randomness of training"
        how = how if over_points else scores["clean"].interval
        lines.append({"model": line.pop("model"), **line, "runs": len(accuracies.runs), "interval": how})
    return pd.DataFrame(lines)


def accuracy_table(
    accuracies: RobustAccuracies,
    model: str,
    copies: int | None = None,
    *,
    interval: Interval = "student",
    level: float = 0.95,
) -> pd.DataFrame:
    """The accuracies of a model by test noise and training noise, with intervals, as tables 2 and 3 of the paper.

    The columns are test_noise, train_noise, value, low, high, and best: no other training noise is better at this test
    noise. Intervals are those of `mscr_scores`; `copies` is by default the largest number.

    >>> values = np.array([[[[[0.90], [0.80]], [[0.88], [0.85]]]]])
    >>> table = RobustAccuracies(("forest",), (0.0, 0.1), (0.0, 0.1), values, 0.1)
    >>> accuracy_table(table, "forest").query("best")[["test_noise", "train_noise", "value"]].values.tolist()
    [[0.0, 0.0, 0.9], [0.1, 0.1, 0.85]]
    """
    _check_choices("ratios", interval, level)
    place = accuracies.place(model, copies)
    each = (len(accuracies.test_noise) * len(accuracies.train_noise), -1)
    values = accuracies.values[place].swapaxes(0, 1).reshape(each)
    scores = ends = [_mean(runs, interval, level) for runs in values]
    if accuracies.right is not None:
        right = accuracies.right[place].swapaxes(0, 1).reshape(each)
        estimates = {k: Estimate((_group(right[[k]]),), SCORES["clean"]) for k in range(len(right))}
        ends = list(score_together(estimates, Resampling(level=level)).values())
    lines = [
        {"test_noise": test, "train_noise": train, "value": score.value, "low": end.low, "high": end.high}
        for (test, train), score, end in zip(
            product(accuracies.test_noise, accuracies.train_noise), scores, ends, strict=True
        )
    ]
    frame = pd.DataFrame(lines)
    return frame.assign(best=frame["value"] == frame.groupby("test_noise")["value"].transform("max"))


def copies_effect(accuracies: RobustAccuracies, model: str | None = None) -> pd.DataFrame:
    """How the robust accuracy at epsilon_min depends on the number of noisy copies: figure 4 of the paper.

    The columns are model, copies, train_noise, mean, and std: the sample deviation over runs, NaN of one run.

    >>> values = np.array([[[[[0.9, 0.9], [0.80, 0.84]]]], [[[[0.9, 0.9], [0.82, 0.83]]]]])
    >>> table = RobustAccuracies(("forest",), (0.0,), (0.0, 0.1), values, 0.1, copies=(1, 10), runs=(0, 1))
    >>> copies_effect(table)[["copies", "mean", "std"]].round(3).values.tolist()
    [[1.0, 0.82, 0.028], [10.0, 0.825, 0.007]]
    """
    models = accuracies.models if model is None else (model,)
    lines = []
    for name, train, copies in product(models, accuracies.train_noise, sorted(accuracies.copies)):
        values = accuracies.accuracies(name, train, accuracies.epsilon_min, copies)
        std = values.std(ddof=1) if len(values) > 1 else np.nan
        lines.append({"model": name, "copies": copies, "train_noise": train, "mean": values.mean(), "std": std})
    return pd.DataFrame(lines)


def running_mscr(accuracies: RobustAccuracies, copies: int | None = None) -> pd.DataFrame:
    """The mean MSCR of the first run, the first two, ...: whether there were enough runs.

    The columns are model, train_noise, runs, mscr; `copies` is by default the largest number.

    >>> values = np.array([[[[[0.8, 0.8, 0.8], [0.8, 0.76, 0.6]]]]])
    >>> table = RobustAccuracies(("forest",), (0.0,), (0.0, 0.1), values, 0.1, runs=(0, 1, 2))
    >>> running_mscr(table)["mscr"].round(3).tolist()
    [0.0, -0.025, -0.1]
    """
    frames = []
    counts = np.arange(1, len(accuracies.runs) + 1)
    for model, train in product(accuracies.models, accuracies.train_noise):
        clean, robust = (accuracies.accuracies(model, train, at, copies) for at in (0.0, accuracies.epsilon_min))
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(clean > 0, (robust - clean) / clean, np.nan)
        means = each.cumsum() / counts
        frames.append(pd.DataFrame({"model": model, "train_noise": train, "runs": counts, "mscr": means}))
    return pd.concat(frames, ignore_index=True)


# --- intervals --------------------------------------------------------------------------------------------------------


def _over_runs(value: float, each: np.ndarray, interval: Interval, level: float) -> Score:
    """A mean over runs, whose interval follows from the deviation of what each run gives."""
    runs = len(each)
    if runs == 1:
        why = "no interval: one run, without a record of which points were right"
        return Score(value, np.nan, np.nan, 1, why)
    if interval != "student":
        half = Z_OF_THE_PAPER * each.std() / math.sqrt(runs)
        words = f"1.96 population deviations over runs {percent(level)}, {runs} runs"
    else:
        half = student_half_width(each, level)
        words = f"Student t over runs {percent(level)}, {runs} runs"
    return Score(value, float(value - half), float(value + half), runs, words)


def _mean(values: np.ndarray, interval: Interval, level: float) -> Score:
    """The mean accuracy over runs, whose interval stays within what accuracies can be."""
    score = _over_runs(float(values.mean()), values, interval, level)
    low, high = np.clip([score.low, score.high], 0, 1)
    return replace(score, low=float(low), high=float(high))


def _group(right: np.ndarray) -> Group:
    """Points that are resampled together, from (columns, points) shares."""
    return Group(right.T.astype(float), np.arange(right.shape[-1]))


def _check_choices(average: str, interval: str, level: float) -> None:
    for what, given, known in (("average", average, get_args(Average)), ("interval", interval, get_args(Interval))):
        if given not in known:
            raise ValueError(f"{what} must be {' or '.join(map(repr, known))}, got {given!r}")
    if not 0 < level < 1:
        raise ValueError(f"expected a level between 0 and 1, got {level}")
    if interval != "student" and level != 0.95:
        raise ValueError(f"the paper's interval is that of 95 %; got a level of {level} for it")
