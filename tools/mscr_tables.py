"""Tables of an MSCR study for docs/results: a summary as CSV, and the matrices as Markdown.

    python tools/mscr_tables.py runs/paper docs/results/mscr-2d/shared.csv docs/results/mscr-2d/shared-runs.csv

    python tools/mscr_tables.py --copies docs/results/mscr-2d/copies.csv runs/plane-0.001 runs/plane-1x

The second file is optional: the accuracies of every run, with a column per test noise, which paired tests need. The
summary has a line per model, training noise and test noise: mean accuracy, its deviation over runs, and the number
of runs. Test noise -1 stands for MSCR. The Markdown goes to the terminal: means and 95 % half-widths, in per cent.
With --copies, studies of the number of copies: accuracies of every run at the noise that was also trained with.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from scuff.metrics import RobustAccuracies, accuracy_table, mscr_scores
from scuff.studies import read_mscr

MSCR = -1.0


def main(study: str, file: str, runs: str | None = None) -> None:
    accuracies = read_mscr(study)
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    summarise(accuracies).to_csv(file, index=False, float_format="%.8g")
    if runs is not None:
        each_run(accuracies).to_csv(runs, float_format="%.6f")
    for model in accuracies.models:
        print(f"\n{model}, {len(accuracies.runs)} runs\n")
        print(markdown(accuracies, model))


def copies(file: str, *studies: str) -> None:
    """Figure 4: what more copies do to the accuracy at the noise of training, and to its deviation over runs."""
    lines = []
    for study in map(read_mscr, studies):
        (model,), (noise,) = study.models, study.train_noise
        for count in sorted(study.copies):
            values = study.accuracies(model, noise, noise, count)
            lines += [(noise, count, run, value) for run, value in zip(study.runs, values, strict=True)]
    table = pd.DataFrame(lines, columns=["noise", "copies", "run", "accuracy"])
    table.to_csv(file, index=False, float_format="%.8g")
    grouped = 100 * table.groupby(["copies", "noise"])["accuracy"].agg(["mean", "std"])
    shown = grouped.apply(lambda line: f"{line['mean']:.3f}, {line['std']:.3f}", axis=1).unstack()
    print("\n".join(f"| {count} | " + " | ".join(cells) + " |" for count, cells in shown.iterrows()))


def each_run(accuracies: RobustAccuracies) -> pd.DataFrame:
    """The accuracies of every model, training noise and run, with a column per test noise, in fractions."""
    frame = accuracies.to_frame()
    return frame.pivot_table(values="accuracy", index=["model", "train_noise", "run"], columns="test_noise")


def summarise(accuracies: RobustAccuracies) -> pd.DataFrame:
    """Mean, sample deviation and number of runs of every accuracy and of the MSCR, in fractions."""
    wide = each_run(accuracies)
    wide[MSCR] = wide[accuracies.epsilon_min] / wide[0.0] - 1
    long = wide.stack().rename("value").reset_index()
    summary = long.groupby(["model", "train_noise", "test_noise"], sort=False)["value"].agg(["mean", "std", "count"])
    return summary.reset_index().rename(columns={"std": "deviation", "count": "runs"})


def markdown(accuracies: RobustAccuracies, model: str) -> str:
    """The matrix of a model: test noise down, training noise across, and the MSCR."""
    heads = [_radius(radius, accuracies.epsilon_min) for radius in accuracies.train_noise]
    lines = ["| test noise | " + " | ".join(heads) + " |", "|" + "---|" * (len(heads) + 1)]
    for radius, line in accuracy_table(accuracies, model).groupby("test_noise"):
        cells = [
            f"{100 * row.value:.3f} ± {100 * max(row.high - row.value, row.value - row.low):.3f}"
            for row in line.itertuples()
        ]
        cells = [f"**{cell}**" if best else cell for cell, best in zip(cells, line["best"], strict=True)]
        lines.append(f"| {_radius(radius, accuracies.epsilon_min)} | " + " | ".join(cells) + " |")
    scores = mscr_scores(accuracies)
    scores = scores[scores["model"] == model]
    cells = [f"{100 * row.mscr:.3f} ± {50 * (row.mscr_high - row.mscr_low):.3f}" for row in scores.itertuples()]
    return "\n".join([*lines, "| MSCR | " + " | ".join(cells) + " |"])


def _radius(radius: float, epsilon_min: float) -> str:
    return "ε_min" if abs(radius - epsilon_min) < 1e-9 else f"{radius:g}"


if __name__ == "__main__":
    copies(*sys.argv[2:]) if sys.argv[1] == "--copies" else main(*sys.argv[1:])
