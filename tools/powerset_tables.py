"""The page docs/results/powerset-cifar10.md: tables 1 and 3, and figures 4, 9 and 14, of the paper on augmentations.

    python tools/powerset_tables.py runs docs/results/powerset-cifar10.md

From the folders of `tools/experiments.sh powerset`, whose parts may run on different days: their numbers are joined in
a folder of the page's name, of which the page is made.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
from page_parts import cost_section, keep, keep_costs, plain, table
from transform_space_tables import PUBLISHED_RHO, agreement_cells, operation_lines

from scuff.metrics import read_distances, scheme_correlations

# Table 3 of the paper: as table 1, with a VGG-19-BN as the extractor of features.
PUBLISHED_VGG = {
    "gaussian_noise": 0.70,
    "shot_noise": 0.78,
    "impulse_noise": 0.92,
    "defocus_blur": 0.78,
    "glass_blur": 0.66,
    "motion_blur": 0.81,
    "zoom_blur": 0.68,
    "snow": 0.53,
    "frost": 0.66,
    "fog": 0.60,
    "brightness": 0.08,
    "contrast": 0.65,
    "elastic_transform": 0.74,
    "pixelate": 0.29,
    "jpeg_compression": 0.26,
}
NETWORKS = {"wide": ("WideResNet-40-2", PUBLISHED_RHO), "vgg": ("VGG-19-BN", PUBLISHED_VGG)}

HEAD = """# The powerset of AugMix's operations, on CIFAR-10

Tables 1 and 3 and figures 4, 9 and 14 of Mintun, Kirillov and Xie: does the distance of an augmentation to a corruption
explain the errors of networks trained with it? {count} subsets, drawn uniformly from the paper's 512. One
WideResNet-40-2 for each, recipe `cifar-fast`, 9 epochs, where the paper trained for 100; distances of 10 000 draws of a
scheme, where the paper took 100 000, in the features of a WideResNet-40-2 and of a VGG-19-BN trained alike. Intervals:
95 %, by bootstrap over subsets; they do not include the randomness of training. This page and its
[tables](powerset-cifar10) are made by `tools/powerset_tables.py` from what `tools/experiments.sh powerset` leaves."""


def main(runs: str, page: str) -> None:
    """Write the tables and the page."""
    out, tables = Path(page), Path(page).with_suffix("")
    tables.mkdir(parents=True, exist_ok=True)
    collect(Path(runs), tables)
    missing = [name for name in ("errors", *NETWORKS) if not (tables / f"{name}.csv").exists()]
    if missing:
        raise SystemExit(f"there are no results in {runs} for {', '.join(missing)}")
    errors = pd.read_csv(tables / "errors.csv", keep_default_na=False)
    head = HEAD.format(count=errors["scheme"].nunique())
    parts = [correlations(tables, errors), agreement(tables, errors), operations(tables)]
    out.write_text("\n\n".join([head, *parts, cost_section(tables / "costs.csv")]) + "\n", encoding="utf-8")


def collect(runs: Path, tables: Path) -> None:
    """Join the parts; a scheme that has run again replaces what was there."""
    keep_costs(runs.glob("powerset-*"), "distances.json", tables / "costs.csv")
    for name, pattern in {"errors": "[0-9]/errors.csv", **{kind: f"{kind}/distances.csv" for kind in NETWORKS}}.items():
        new = [pd.read_csv(file, keep_default_na=False) for file in sorted(runs.glob(f"powerset-{pattern}"))]
        keep(tables / f"{name}.csv", new, "scheme")


def correlations(tables: Path, errors: pd.DataFrame) -> str:
    """Per corruption: rho of MSD and error, and the paper's, with each network; and rho of MMD."""
    found = {
        kind: scheme_correlations(read_distances(tables / f"{name}.csv"), errors, distance=distance)
        for kind, name, distance in (("wide", "wide", "msd"), ("mmd", "wide", "mmd"), ("vgg", "vgg", "msd"))
    }
    rows = []
    for wide, mmd, vgg in zip(*(lines.itertuples() for lines in found.values()), strict=True):
        name = plain(wide.corruption)
        ours = [f"{line.rho:.2f} [{line.low:.2f}, {line.high:.2f}]" for line in (wide, vgg, mmd)]
        theirs = [f"{printed[name]:.2f}" for _, printed in NETWORKS.values()]
        rows.append([name.replace("_", " "), ours[0], theirs[0], ours[1], theirs[1], ours[2]])
    head = ("corruption", "rho of MSD", "table 1", "rho of MSD, VGG-19-BN", "table 3", "rho of MMD")
    return "\n\n".join(["## Distance and error: tables 1 and 3", table(head, rows)])


def agreement(tables: Path, errors: pd.DataFrame) -> str:
    """The fifteen correlations together, beside the paper's."""
    names, rows = list(dict.fromkeys(errors["scheme"])), []
    for file, (network, printed) in NETWORKS.items():
        rows.append([network, *agreement_cells(read_distances(tables / f"{file}.csv"), errors, names, printed)])
    head = (
        "features of",
        "rho above 0.6",
        "correlation with the paper's rho",
        "ours less the paper's",
        "MSD's less MMD's",
    )
    above = " and ".join(str(sum(rho > 0.6 for rho in printed.values())) for _, printed in NETWORKS.values())
    return f"Over the fifteen corruptions; the paper has {above} above 0.6:\n\n{table(head, rows)}"


def operations(tables: Path) -> str:
    """Figure 4."""
    head = "| operation | corruption | mean MSD with it | without | with it is nearer, % of pairs |"
    lines = [head, "| --- | --- | --- | --- | --- |", *operation_lines(tables / "wide.csv")]
    return "\n\n".join(["## What an operation resembles: figure 4", "\n".join(lines)])


if __name__ == "__main__":
    main(*sys.argv[1:])
