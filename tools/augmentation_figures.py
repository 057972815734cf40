"""The page docs/results/augmentation-figures-cifar10.md: figures 1, 2b, 8 and 10 of the paper on augmentations.

    python tools/augmentation_figures.py runs docs/results/augmentation-figures-cifar10.md

From the folders of `tools/experiments.sh single`, `mixing`, `subsets` and `precision`, as far as they have run. First
their numbers go into a folder of the page's name. Then the page is made of these alone, so that experiments may be run
on different days.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from page_parts import cost_section, keep_costs, paragraph, plain, spanned, table

from scuff.metrics.intervals import student_half_width

GEOMETRIC = ("shear_x", "shear_y", "translate_x", "translate_y", "rotate")
COLOUR = ("solarize", "equalize", "autocontrast", "posterize")

HEAD = """# Figures of the paper on augmentations, on CIFAR-10

Figures 1, 2b, 8 and 10 of Mintun, Kirillov and Xie, as far as they have run. WideResNet-40-2 as classifier and as
feature extractor, recipe `cifar-fast`, 9 epochs, where the paper trained for 100. Intervals are Student's, of the mean
over seeds, 95 %; between two things, seeds are paired. This page and its [tables](augmentation-figures-cifar10) are
made by `tools/augmentation_figures.py` from what `tools/experiments.sh` leaves;
[transform-space.md](../transform-space.md) explains the terms."""


def main(runs: str, page: str) -> None:
    """Write the tables and the page."""
    out, tables = Path(page), Path(page).with_suffix("")
    tables.mkdir(parents=True, exist_ok=True)
    collect(Path(runs), tables)
    made = [make(pd.read_csv(tables / f"{name}.csv")) for name, make in FIGURES.items() if has(tables, name)]
    if not made:
        raise SystemExit(f"there are no results in {runs}")
    out.write_text("\n\n".join([HEAD, *made, cost_section(tables / "costs.csv")]) + "\n", encoding="utf-8")


def collect(runs: Path, tables: Path) -> None:
    """Bring what has run to the tables."""
    folders = [runs / name for name in FIGURES]
    keep_costs(folders, "distances.json", tables / "costs.csv")
    if (runs / "single" / "errors.csv").exists():
        errors, distances = (pd.read_csv(runs / "single" / f"{name}.csv") for name in ("errors", "distances"))
        means = errors[errors["corruption"] != "clean"].groupby(["scheme", "seed"], sort=False)["error"].mean()
        near = distances.groupby("scheme")["msd"].mean().rename("msd")
        means.reset_index().join(near, on="scheme").to_csv(tables / "single.csv", index=False)
    for name in ("mixing", "subsets"):
        if (runs / name / f"{name}.csv").exists():
            pd.read_csv(runs / name / f"{name}.csv").to_csv(tables / f"{name}.csv", index=False)
    if (runs / "precision" / "distances.csv").exists():
        deviations(runs / "precision").to_csv(tables / "precision.csv", index=False)


def has(tables: Path, name: str) -> bool:
    return (tables / f"{name}.csv").exists()


def single(lines: pd.DataFrame) -> str:
    """Errors on motion blur by the one operation of training, and what they change against none."""
    lines = lines.assign(scheme=lines["scheme"].str.partition(":")[2])
    errors, msd = 100 * lines.pivot_table("error", "seed", "scheme"), lines.groupby("scheme")["msd"].first()
    gains = errors.sub(errors["none"], axis=0)
    rows = [["none", "", spanned(errors["none"], "{:.1f}"), "", f"{msd['none']:.2f}"]]
    for kind, names in {"geometric": GEOMETRIC, "colour": COLOUR}.items():
        for name in names:
            cells = (spanned(errors[name], "{:.1f}"), spanned(gains[name], "{:+.1f}"))
            rows.append([name.replace("_", " "), kind, *cells, f"{msd[name]:.2f}"])
    means = {kind: gains[list(names)].mean(axis=1) for kind, names in (("geometric", GEOMETRIC), ("colour", COLOUR))}
    text = (
        "AugMix with one operation each, tested on motion blur; errors in percent, means of five severities. The paper:"
        " geometric operations help against motion blur, which none of them contains, and those of colour do not. Here"
        f" geometric ones change the error by {spanned(means['geometric'], '{:+.1f}')} points in the mean, those of"
        f" colour by {spanned(means['colour'], '{:+.1f}')}; the former less the latter"
        f" {spanned(means['geometric'] - means['colour'], '{:+.1f}')}. {clear_changes(gains[[*GEOMETRIC, *COLOUR]])}"
    )
    head = ("operation", "kind", "error", "against none", "MSD")
    return "\n\n".join(["## Figure 1: one operation alone", paragraph(text), table(head, rows)])


def clear_changes(gains: pd.DataFrame) -> str:
    """Which operations help and which hurt, by intervals over seeds that exclude no change."""
    ends = {name: student_half_width(gains[name].to_numpy()) * np.array([-1, 1]) + gains[name].mean() for name in gains}
    helping = [name.replace("_", " ") for name, (_, high) in ends.items() if high < 0]
    hurting = [name.replace("_", " ") for name, (low, _) in ends.items() if low > 0]
    return f"By their intervals, these help: {', '.join(helping)}; these hurt: {', '.join(hurting)}."


def mixing(lines: pd.DataFrame) -> str:
    """Distances and errors by the share of the other corruption."""
    lines = lines.sort_values(["share", "seed"])
    one = lines.drop_duplicates("share")
    line = np.polyfit(one["share"], one["mmd"], 1)
    off = np.abs(np.polyval(line, one["share"]) - one["mmd"]).max() / one["mmd"].max()
    rows = [
        [
            f"{100 * share:g}",
            f"{its['mmd'].iloc[0]:.3f}",
            f"{its['msd'].iloc[0]:.3f}",
            spanned(100 * its["error"], "{:.1f}"),
        ]
        for share, its in lines.groupby("share")
    ]
    text = (
        "Training and distances with a mixture of impulse noise and motion blur; tests and distances on impulse noise,"
        " severity 3. The paper: MMD grows linearly with the share of motion blur, MSD and error stay low until hardly"
        f" any impulse noise is left. Here MMD leaves a straight line by at most {100 * off:.0f} % of its largest."
    )
    head = ("% of motion blur", "MMD", "MSD", "error, %")
    return "\n\n".join(["## Figure 2b: a mixture of two corruptions", paragraph(text), table(head, rows)])


def subsets(lines: pd.DataFrame) -> str:
    """Errors on CIFAR-10-C by how many augmentations are used in training, and which."""
    errors = 100 * lines.pivot_table("error", "seed", ["kind", "size"])
    whole = errors["all", 0]
    kinds = ("closest", "random", "farthest")
    rows = []
    for size in sorted(set(lines["size"]) - {0}):
        rows.append([f"{size:,}", *(spanned(errors[kind, size], "{:.1f}") for kind in kinds)])
        rows[-1] += [spanned(errors[kind, size] - whole, "{:+.1f}") for kind in kinds]
    text = (
        "Training with few of 100 000 draws of AugMix, without its consistency loss: the closest to the corruptions of"
        f" CIFAR-10-C, random ones, or the farthest. With all, the error is {spanned(whole, '{:.1f}')} %. The paper:"
        " 1000 random ones do as well as all, 100 of the closest do better by about a point, and the farthest do worse"
        " by about five."
    )
    head = ("draws", *(f"{kind}, %" for kind in kinds), *(f"{kind} less all" for kind in kinds))
    return "\n\n".join(["## Figure 8: few augmentations", paragraph(text), table(head, rows)])


def deviations(folder: Path) -> pd.DataFrame:
    """By cell: the deviation of distances over resamplings, in percent of their mean, averaged over augmentations."""
    settings = json.loads((folder / "distances.json").read_text(encoding="utf-8"))
    lines = pd.read_csv(folder / "distances.csv")
    each = lines.groupby(["corruption", "severity", "scheme"], sort=False)["mmd"]
    counts = {"augmentations": lines["scheme"].nunique(), "resamplings": lines["resampling"].nunique()}
    share = (100 * each.std(ddof=1) / each.mean()).groupby(["corruption", "severity"], sort=False).mean()
    counts |= {name: settings[name] for name in ("images", "samples", "precision")}
    counts["machine"] = settings["environment"]["device"]
    return share.rename("deviation").round(3).reset_index().assign(**counts)


def precision(lines: pd.DataFrame) -> str:
    """How far the distances of single augmentations move with other images and draws."""
    counts = ["augmentations", "resamplings", "images", "samples", "precision", "machine"]
    (augmentations, resamplings, images, samples, dtype, machine), *others = lines[counts].drop_duplicates().to_numpy()
    assert not others
    by_level = lines.pivot_table("deviation", "corruption", "severity", sort=False)
    rows = [[plain(name).replace("_", " "), *(f"{value:.1f}" for value in row)] for name, row in
            zip(by_level.index, by_level.to_numpy(), strict=True)]  # fmt: skip
    cells = lines["deviation"]
    text = (
        f"Distances of {augmentations} single augmentations of AugMix to the centres of CIFAR-10-C, {resamplings}"
        f" times, each time with {images} other images and {samples} other draws of a corruption: standard deviation in"
        f" percent of the mean, averaged over augmentations. Features in {dtype} on {machine}, by one network, so the"
        f" interval is over cells, not over seeds. In the mean over {len(cells)} cells it is"
        f" {spanned(cells, '{:.1f}')} %, from {cells.min():.1f} to {cells.max():.1f}; the paper has around 5 %, of 100"
        " pairs of an augmentation and a corruption."
    )
    head = ("corruption", *(f"severity {level}, %" for level in by_level))
    return "\n\n".join(["## Figure 10: precision of distances", paragraph(text), table(head, rows)])


FIGURES = {"single": single, "mixing": mixing, "subsets": subsets, "precision": precision}


if __name__ == "__main__":
    main(*sys.argv[1:])
