"""How often intervals of samples hold what the full run gives: samples are drawn again and again from its rows.

    python tools/sampled_coverage.py DIR [--runs 200] [--out docs/results/sampled-cifar10/coverage.csv]

DIR is a finished evaluation of two models; each is the other's control. A sample takes the passes that `scuff evaluate
--passes N` would with that seed, or as many as `--half-width POINTS` takes, and estimates the mean error of the full
run from them. No model is asked: its answers are in the rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from scuff.evaluation import read_evaluation
from scuff.evaluation.sampled import LEAST_ROUNDS, next_goal
from scuff.metrics import by_model, mean_error
from scuff.metrics.evaluation.tables import CLEAN
from scuff.metrics.sampling.estimate import estimate_sampled
from scuff.metrics.sampling.plan import SamplingPlan
from scuff.metrics.sampling.scores import control_of, read_sample
from scuff.metrics.score import Score

PASSES = (500, 1000, 3000, 6000, 15_000)
HALF_WIDTH = 2.0  # points
CONTROLS = ("none", "clean", "other model")


class FullRun:
    """The rows of one model, in an order in which a sampling plan finds them."""

    def __init__(self, rows: pd.DataFrame, other: pd.DataFrame) -> None:
        self.rows = rows.sort_values(["corruption", "severity", "image_id"]).reset_index(drop=True)
        self.images = rows["image_id"].nunique()
        self.cells = len(rows) // self.images
        self.truth = mean_error(rows).value
        clean = rows[rows["corruption"] == CLEAN]
        self.controls = {"none": None, "clean": clean, "other model": other}

    def estimate(self, seed: int, passes: int, control: str) -> Score:
        """The mean error from the first passes of a plan."""
        images, cells = SamplingPlan(self.images, self.cells, seed).steps(0, passes)
        some = self.rows.iloc[cells * self.images + images]
        keys, sample = read_sample(some, self.images)
        weights = np.array([entry != CLEAN for entry, _ in keys], float)
        known = self.controls[control]
        by = None if known is None else control_of(known, some, keys, self.images)
        return estimate_sampled(sample, weights / weights.sum(), control=by)

    def until(self, seed: int, half_width: float, control: str) -> Score:
        """The same, with as many passes as make the interval narrow enough."""
        passes, most = LEAST_ROUNDS * self.cells, self.images * self.cells
        while True:
            score = self.estimate(seed, passes, control)
            following = next_goal(passes, 50 * (score.high - score.low), half_width, most)
            if following == passes:
                return score
            passes = following


def coverage_line(full: FullRun, scores: list[Score]) -> dict[str, float]:
    """How often intervals hold the truth, how wide they are, and how far off the estimates."""
    value, low, high, passes = (np.array([getattr(s, name) for s in scores]) for name in ("value", "low", "high", "n"))
    return {
        "passes": round(passes.mean()),
        "share": passes.mean() / (full.images * full.cells),
        "runs": len(scores),
        "coverage": ((low <= full.truth) & (full.truth <= high)).mean(),
        "half_width": 50 * (high - low).mean(),
        "off": 100 * np.sqrt(((value - full.truth) ** 2).mean()),
    }


def coverage(directory: str, runs: int) -> pd.DataFrame:
    """A line per model, design and control."""
    models = by_model(read_evaluation(directory).rows)
    lines = []
    for model, rows in models.items():
        full = FullRun(rows, next(other for name, other in models.items() if name != model))
        for control in CONTROLS:
            for passes in PASSES:
                scores = [full.estimate(seed, passes, control) for seed in range(runs)]
                lines.append({"model": model, "design": f"{passes} passes", "control": control})
                lines[-1] |= coverage_line(full, scores)
            scores = [full.until(seed, HALF_WIDTH, control) for seed in range(runs)]
            lines.append({"model": model, "design": f"+-{HALF_WIDTH:g} points", "control": control})
            lines[-1] |= coverage_line(full, scores)
    return pd.DataFrame(lines)


def page_lines(table: pd.DataFrame) -> list[str]:
    """The table as the page of results has it."""
    return [
        f"| {row.model} | {row.design.replace('+-', '±')} | {row.control} | {row.passes:.0f} | {100 * row.share:.1f} | "
        f"{row.coverage:.3f} | {row.half_width:.2f} | {row.off:.2f} |"
        for row in table.itertuples()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    table = coverage(options.directory, options.runs)
    print("\n".join(page_lines(table)))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        table.to_csv(options.out, index=False, float_format="%.4f")


if __name__ == "__main__":
    main()
