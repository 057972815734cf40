"""Results as timm keeps them: one CSV per set of images, a line per model, the best first.

The columns are those of timm's `results-imagenet-a.csv`, in per cent, with ours after them. Corrupted images are one
set, over all cells that count, and clean ones another. Top-5 columns stay empty, since evaluations keep one prediction.
"""

from __future__ import annotations

import math
import os
from typing import Any

import pandas as pd

from scuff.evaluation import Evaluation
from scuff.publish.evaluations import measure_classifiers, write_text

COLUMNS = ("model", "top1", "top1_err", "top5", "top5_err", "param_count", "img_size", "crop_pct", "interpolation")
DIFFERENCES = ("top1_diff", "top5_diff", "rank_diff")
OURS = ("top1_low", "top1_high")


def write_csv(directory: str, out: str | None, baseline: str | None) -> list[str]:
    """`results-SUITE.csv`, and `results-SUITE-clean.csv` if clean images were evaluated, in a folder."""
    evaluation, scores = measure_classifiers(directory, baseline, "timm-csv")
    folder, name = directory if out is None else out, f"results-{evaluation.suite.name}"
    clean, corrupted = (_accuracies(scores.summary, key) for key in ("clean_error", "mean_error"))
    tables = {}
    if len(corrupted):
        mce = [name for name in ("mce", "mce_low", "mce_high") if scores.defined("mce")]
        of_model = scores.summary.set_index("model")[mce]
        lines = _compared(corrupted, clean).join(of_model, on="model")
        tables[f"{name}.csv"] = _with_models(lines, evaluation, (*COLUMNS, *DIFFERENCES, *OURS, *mce))
    if len(clean):
        tables[f"{name}-clean.csv"] = _with_models(clean, evaluation, (*COLUMNS, *OURS))
    if not tables:
        raise ValueError(f"{directory} holds no scores yet")
    return [
        write_text(os.path.join(folder, name), table.to_csv(index=False, float_format="%.3f"))
        for name, table in tables.items()
    ]


def _accuracies(summary: pd.DataFrame, error: str) -> pd.DataFrame:
    """Accuracies of the models that have that error, the best first."""
    known = summary[summary[error].notna()]
    ends = {"top1": error, "top1_low": f"{error}_high", "top1_high": f"{error}_low"}
    lines = pd.DataFrame({"model": known["model"], **{name: 100 * (1 - known[end]) for name, end in ends.items()}})
    lines["top1_err"] = 100 - lines["top1"]
    return lines.sort_values("top1", ascending=False, kind="stable", ignore_index=True)


def _compared(lines: pd.DataFrame, clean: pd.DataFrame) -> pd.DataFrame:
    """Lines with what changes from clean images: points of accuracy, and places won in the ranking."""
    before = clean.set_index("model")["top1"]
    places = {model: place for place, model in enumerate(model for model in before.index if model in set(lines.model))}
    gained = [places[model] - place if model in places else None for place, model in enumerate(lines["model"])]
    differences = [
        top1 - before.get(model, math.nan) for model, top1 in zip(lines["model"], lines["top1"], strict=True)
    ]
    ranks = ["" if places is None else f"{places:+d}" if places else "0" for places in gained]
    return lines.assign(top1_diff=differences, rank_diff=ranks)


def _with_models(lines: pd.DataFrame, evaluation: Evaluation, columns: tuple[str, ...]) -> pd.DataFrame:
    """Lines with what is known of the models, in the given columns; empty where nothing is known."""
    about = pd.DataFrame([_about(evaluation, model) for model in lines["model"]], index=lines.index)
    return pd.concat([lines, about], axis=1).reindex(columns=list(columns))


def _about(evaluation: Evaluation, model: str) -> dict[str, Any]:
    known, cut = evaluation.models.get(model, {}), evaluation.settings["cut"] or {}
    parameters, resize, crop = known.get("parameters"), cut.get("resize"), cut.get("crop")
    return {
        "param_count": "" if parameters is None else f"{parameters / 1e6:.2f}",
        "img_size": str(known.get("input_size") or crop or resize or ""),
        "crop_pct": f"{crop / resize:.3f}" if crop and resize else "",
        "interpolation": cut.get("filter", ""),
    }
