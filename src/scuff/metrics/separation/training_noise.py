"""Whether one training noise is better than another: all pairs of them, run by run.

In a run, every training noise has the same training and test points and the same seed. So runs are paired: what makes a
run easy for all training noises cancels in the difference.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import stdtr

from scuff.metrics.evaluation.comparison import holm
from scuff.metrics.intervals import percent, student_half_width
from scuff.metrics.separation.robust_accuracies import RobustAccuracies

LEAST_DEVIATION = 1e-12  # of differences over runs: less is rounding


def compare_training_noise(
    accuracies: RobustAccuracies, score: str | float = "mscr", *, copies: int | None = None, level: float = 0.95
) -> pd.DataFrame:
    """The difference between every two training noises of a model, with an interval, and a paired t-test over runs.

    A table of model, train_noise, other, value (the score with `other` minus that with `train_noise`, a fraction), low,
    high, p_value, p_holm, runs and interval. `p_value` is two-sided and that of the pair alone; `p_holm` is that after
    Holm's correction for all pairs of the model. Both say what other runs on the same data would change, not what other
    data would. With one run, and where runs do not vary, they are NaN.

    Parameters
    ----------
    score
        "mscr" (of each run), "clean", "robust" (at epsilon_min), or a radius of test noise, for the accuracy there.
    copies
        By default the largest number.

    Examples
    --------
    >>> values = np.array([[[[[0.90, 0.92, 0.91], [0.80, 0.85, 0.81]], [[0.90, 0.91, 0.90], [0.85, 0.89, 0.86]]]]])
    >>> table = RobustAccuracies(("forest",), (0.0, 0.1), (0.0, 0.1), values, 0.1, runs=(0, 1, 2))
    >>> compare_training_noise(table, "robust")[["train_noise", "other", "value", "p_value"]].round(3).values.tolist()
    [[0.0, 0.1, 0.047, 0.005]]
    """
    if not 0 < level < 1:
        raise ValueError(f"expected a level between 0 and 1, got {level}")
    runs, frames = len(accuracies.runs), []
    pairs = list(combinations(range(len(accuracies.train_noise)), 2))
    how = f"paired t-test over runs {percent(level)}, {runs} runs" if runs > 1 else "no interval: one run"
    for model in accuracies.models:
        scores = _scores(accuracies, score, model, copies)
        each = np.stack([scores[b] - scores[a] for a, b in pairs], axis=1) if pairs else np.empty((runs, 0))
        value, half, p = each.mean(axis=0), *_test(each, level)
        radii = np.array([[accuracies.train_noise[place] for place in pair] for pair in pairs]).reshape(-1, 2)
        keys = {"model": model, "train_noise": radii[:, 0], "other": radii[:, 1]}
        tests = {"value": value, "low": value - half, "high": value + half, "p_value": p, "p_holm": holm(p)}
        frames.append(pd.DataFrame({**keys, **tests, "runs": runs, "interval": how}))
    return pd.concat(frames, ignore_index=True)


def _scores(accuracies: RobustAccuracies, score: str | float, model: str, copies: int | None) -> np.ndarray:
    """A score of a model in every run, (training noise, runs)."""
    values = accuracies.values[accuracies.place(model, copies)]
    if score == "mscr":
        clean, robust = (values[:, accuracies.place_of_test(radius)] for radius in (0.0, accuracies.epsilon_min))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(clean > 0, (robust - clean) / clean, np.nan)
    known = {"clean": 0.0, "robust": accuracies.epsilon_min}
    if isinstance(score, str) and score not in known:
        raise ValueError(f"score must be 'mscr', 'clean', 'robust' or a radius of test noise, got {score!r}")
    return values[:, accuracies.place_of_test(known.get(score, score))]  # type: ignore[arg-type]


def _test(each: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Half the interval of the mean of differences (runs, pairs), and the p-value of no difference."""
    runs = len(each)
    if runs < 2:
        return np.full((2, each.shape[1]), np.nan)  # type: ignore[return-value]
    deviation = each.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(deviation > LEAST_DEVIATION, each.mean(axis=0) / (deviation / np.sqrt(runs)), np.nan)
    return student_half_width(each, level), 2 * stdtr(runs - 1, -np.abs(t))
