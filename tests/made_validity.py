"""Tables for tests of reports of validity, by simple laws: the columns are those that a study writes.

Models have a robustness of their own. Noises show it, blurs show it less, and weather does not at all, so that it is
clear which corruptions predict. Natural shifts show it too, but for "cartoons", to which robustness is unrelated.
Correlations are computed here in a plain way; their intervals are Fisher's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import scuff
from scuff.metrics import Shifts, complete_shifts
from scuff.metrics.validity.shifts import BETWEEN

CATEGORIES = {
    "noise": ["made-c/gaussian_noise", "made-c/shot_noise", "made-c/impulse_noise"],
    "blur": ["made-c/defocus_blur", "made-c/motion_blur"],
    "weather": ["made-c/fog", "made-c/snow", "other-c/fog"],
}
STRENGTHS = {"noise": 1.0, "blur": 0.5, "weather": 0.0}  # with which a category shows robustness
NATURAL = ("sketches", "renditions", "cartoons")
UNRELATED = "cartoons"
SCORE = "made-p"
SUITES = {
    "made-c": [name for names in CATEGORIES.values() for name in names if name.startswith("made-c/")],
    "all": [name for names in CATEGORIES.values() for name in names],
}
MEAN = "mean"
KINDS = ("pearson", "spearman", "partial", "curved", "effective")


def make_shifts(models: int = 40, natural: Sequence[str] = NATURAL, first: int = 0) -> Shifts:
    """Accuracies of models m0, m1, ...; one more lacks a value. Every fourth is standard, and pairs are families."""
    random = np.random.default_rng(first)
    names = [f"m{place}" for place in range(models + 1)]
    robust = random.normal(size=models + 1)
    clean = 0.75 + 0.02 * random.normal(size=models + 1)
    corrupted = {
        name: clean - 0.3 + 0.04 * (STRENGTHS[category] * robust + 0.5 * random.normal(size=models + 1))
        for category, members in CATEGORIES.items()
        for name in members
    }
    shown = {name: 0.0 if name == UNRELATED else 1.0 for name in natural}
    shifted = {
        name: clean - 0.4 + 0.05 * (shown[name] * robust + 0.4 * random.normal(size=models + 1)) for name in natural
    }
    tables = [pd.DataFrame(table, index=names) for table in (corrupted, shifted)]
    tables[1].iloc[-1, 0] = np.nan
    scores = pd.DataFrame({SCORE: 0.5 - 0.1 * robust + 0.05 * random.normal(size=models + 1)}, index=names)
    families = pd.Series([f"family {place // 2}" for place in range(models + 1)], index=names)
    clean = pd.Series(clean, index=names)
    return complete_shifts(clean, *tables, scores=scores, families=families, standard=names[::4])


def make_correlations(shifts: Shifts) -> pd.DataFrame:
    """All suites, categories, corruptions and scores against all natural benchmarks and their mean."""
    residuals, lost = shifts.synthetic_residuals(), shifts.natural_residuals()
    benchmarks = {("suite", name): members for name, members in SUITES.items()}
    benchmarks |= {("category", name): members for name, members in CATEGORIES.items()}
    benchmarks |= {("corruption", name): [name] for name in SUITES["all"]}
    benchmarks |= {("score", SCORE): [SCORE]}
    lines = []
    for (what, benchmark), members in benchmarks.items():
        x = residuals[members].mean(axis=1)
        for kind in KINDS[: 4 if what == "score" else 5]:
            about = {"what": what, "benchmark": benchmark, "size": len(members), "kind": kind}
            its = [_line(_correlation(x, lost[name], shifts.clean, kind), len(x)) for name in shifts.natural]
            mean = {key: np.mean([line[key] for line in its]) for key in its[0]}
            lines += [
                {**about, "natural": name, **line, "models": len(x), "note": ""}
                for name, line in zip([*shifts.natural, MEAN], [*its, mean], strict=True)
            ]
    columns = ["what", "benchmark", "size", "natural", "kind", "value", "low", "high", "p_value", "models", "note"]
    return pd.DataFrame(lines)[columns]


def make_contributions(shifts: Shifts, members: Sequence[str] = tuple(SUITES["all"])) -> pd.DataFrame:
    """What every corruption of a benchmark adds to it."""
    residuals, lost = shifts.synthetic_residuals(), shifts.natural_residuals()
    whole = lost.corrwith(residuals[list(members)].mean(axis=1))
    lines = []
    for name in members:
        alone = lost.corrwith(residuals[name])
        without = lost.corrwith(residuals[[other for other in members if other != name]].mean(axis=1))
        for values in (alone, without):
            values[MEAN] = values.mean()
        for natural in [*lost, MEAN]:
            gain = (whole.mean() if natural == MEAN else whole[natural]) - without[natural]
            line = {"corruption": name, "natural": natural, **_around("alone", alone[natural], 0.2)}
            line |= _around("alone_gain", alone[natural] - gain - without[natural], 0.02)
            lines.append(line | {"without": without[natural], **_around("gain", gain, 0.01), "note": ""})
    return pd.DataFrame(lines)


def make_groups(shifts: Shifts) -> pd.DataFrame:
    """Mean correlations that rise with n and k, and fall with std."""
    groups = [("n,k", f"{n},{k}", n, k, 0.0, n * k, 0.5 + 0.03 * n + 0.01 * k) for n, k in ((2, 1), (3, 1), (2, 2))]
    groups += [("std", f"std {std}", 3, 2, std, 6, 0.6 - 0.05 * std) for std in (0.0, 0.8, 1.4)]
    lines = []
    for kind, group, n, k, std, size, value in groups:
        about = {"group": group, "kind": kind, "n": n, "k": k, "std": std, "size": size, "benchmarks": 100 + size}
        for place, natural in enumerate([*shifts.natural, MEAN]):
            mean = value + 0.05 * (place % 3 - 1)
            numbers = {"value": mean, "low": mean - 0.1, "high": mean + 0.08, "spread": 0.04, "p_value": 0.01}
            lines.append({**about, "natural": natural, **numbers, "note": ""})
    return pd.DataFrame(lines)


def make_trends(groups: pd.DataFrame) -> pd.DataFrame:
    """Differences of groups that follow each other, and one slope per question; that of size holds 0."""
    chosen = {"n": ["2,1", "3,1"], "size": ["2,1", "2,2"]}
    chosen |= {"std": [f"std {std}" for std in (0.0, 0.8, 1.4)]}
    slopes = {"n": 0.03, "size": 0.002, "std": -0.05}
    values = groups.set_index(["natural", "group"])["value"]
    lines = []
    for question, names in chosen.items():
        for natural in groups["natural"].unique():
            about = {"question": question, "natural": natural}
            changes = {(a, b): values[natural, b] - values[natural, a] for a, b in pairwise(names)}
            for (smaller, larger), change in (changes | {("all", "all"): slopes[question]}).items():
                line = {**about, "smaller": smaller, "larger": larger, "categories": 3}
                line |= _around("difference", change, 0.005)
                lines.append(line | {"other_sign_share": 0.01, "note": ""})
    return pd.DataFrame(lines).rename(columns={"difference_low": "low", "difference_high": "high"})


def make_searches() -> pd.DataFrame:
    """Two sizes: one that is found and holds for other models, one that merely fits."""
    found = {
        2: (["made-c/shot_noise", "made-c/gaussian_noise"], 0.80, 0.79, 0.76, 0.50, 0.62, ""),
        3: (["made-c/fog", "made-c/snow", "other-c/fog"], 0.40, 0.38, 0.02, 0.03, 0.62, "it merely fits its models"),
    }
    lines = []
    for size, (members, fitted, chosen, held_out, random, whole, warning) in found.items():
        line = {"size": size, "members": BETWEEN.join(members), "fitted": fitted}
        scores = {"chosen": chosen, "held_out": held_out, "random": random, "whole": whole}
        scores |= {"gain": held_out - random, "gain_over_whole": held_out - whole, "drop": chosen - held_out}
        for key, value in scores.items():
            line |= _around(key, value, 0.05)
        lines.append(line | {"stability": 0.9 - 0.2 * size, "exact": size == 2, "warning": warning})
    return pd.DataFrame(lines)


def made_settings(shifts: Shifts) -> dict[str, Any]:
    """What a study of a table with a mapping would have written down."""
    return {
        "table": "0123456789abcdef",
        "models": list(shifts.models),
        "left_out": dict(shifts.left_out),
        "suites": SUITES,
        "categories": CATEGORIES,
        "groups": True,
        "pairs": None,
        "count": 1000,
        "search": [2, 3],
        "severities": None,
        "seed": 0,
        "resamples": 500,
        "notes": ["other-c: no suite of that name"],
        "same": 0.61,
        "different": 0.11,
        "options": {
            "source": "table.csv",
            "out": "runs/valid",
            "mapping": "map.yaml",
            "categories": "runs/noc",
            "search": [2, 3],
            "resamples": 500,
        },
        "scuff": scuff.__version__,
    }


def _correlation(x: pd.Series, y: pd.Series, clean: pd.Series, kind: str) -> float:
    if kind == "spearman":
        x, y = x.rank(), y.rank()
    if kind in ("partial", "curved", "effective"):
        x, y = (values - np.polyval(np.polyfit(clean, values, 1), clean) for values in (x, y))
    return float(np.corrcoef(x, y)[0, 1])


def _line(r: float, n: int) -> dict[str, float]:
    from scipy.stats import norm

    z, half = np.arctanh(r), 1.96 / np.sqrt(n - 3)
    p = 2 * norm.sf(abs(z) * np.sqrt(n - 3))
    return {"value": r, "low": np.tanh(z - half), "high": np.tanh(z + half), "p_value": p}


def _around(name: str, value: float, half: float) -> Mapping[str, float]:
    return {name: value, f"{name}_low": value - half, f"{name}_high": value + half}
