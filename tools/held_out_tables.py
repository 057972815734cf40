"""The page docs/results/held-out-cifar10.md: augmentations on CIFAR-10-C and on CIFAR-10-C-bar, which nobody tuned for.

    python tools/held_out_tables.py runs docs/results/held-out-cifar10.md

From the folders of `tools/experiments.sh augmentation`, as far as they have run. First their errors go into a table
beside the page. Then the page is made of that alone, so that schemes and seeds may be run on different days.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from page_parts import keep, paragraph, spanned, table

SUITES = {"cifar10-c": "CIFAR-10-C", "cifar10-c-bar": "CIFAR-10-C-bar"}
SCHEMES = {  # with the names of the page, in the paper's order; the paper has no ANT of CIFAR-10
    "none": "baseline",
    "autoaugment": "AutoAugment",
    "patch-gaussian": "Patch Gaussian",
    "augmix-jsd": "AugMix",
    "ant": "ANT",
}
# Tables 4 and 5 of the paper: means and standard deviations over ten runs, in percent, of all schemes but ANT.
PUBLISHED = {
    "cifar10-c": ((27.0, 0.6), (19.4, 0.2), (17.0, 0.4), (11.1, 0.2)),
    "cifar10-c-bar": ((27.1, 0.5), (21.0, 0.4), (23.8, 0.5), (16.0, 0.3)),
    "blue_noise_sample": ((42.9, 5.1), (17.7, 1.7), (9.0, 1.1), (9.8, 0.7)),
    "brownish_noise": ((27.2, 0.5), (17.5, 0.5), (30.1, 1.1), (27.8, 1.3)),
    "checkerboard_cutout": ((23.3, 0.6), (17.6, 0.5), (21.6, 0.8), (13.4, 0.4)),
    "circular_motion_blur": ((11.8, 0.4), (9.5, 0.3), (12.8, 0.5), (5.9, 0.2)),
    "inverse_sparkles": ((43.3, 0.8), (40.4, 1.5), (35.4, 1.6), (30.3, 0.7)),
    "lines": ((26.2, 0.9), (23.6, 0.7), (20.6, 0.5), (18.0, 0.6)),
    "pinch_and_twirl": ((11.3, 0.3), (10.7, 0.3), (8.8, 0.2), (8.3, 0.2)),
    "ripple": ((21.6, 1.2), (23.5, 0.5), (21.5, 0.9), (12.1, 0.4)),
    "sparkles": ((21.0, 1.1), (17.5, 0.7), (19.3, 0.5), (15.5, 0.5)),
    "transverse_chromatic_abberation": ((42.9, 2.7), (31.8, 1.8), (59.5, 3.5), (19.2, 1.0)),
}

HEAD = """# Augmentations on a benchmark that nobody tuned for

Tables 2, 4 and 5 of Mintun, Kirillov and Xie on CIFAR-10: do augmentations that help on CIFAR-10-C help as much on
CIFAR-10-C-bar? WideResNet-40-2 with the paper's recipe of 100 epochs. This page and its
[table](held-out-cifar10/errors.csv) are made by `tools/held_out_tables.py` from what
`tools/experiments.sh augmentation` leaves."""
ABOUT = """
Errors in percent, means over severities. In brackets after our means: Student's intervals over seeds, 95 %; in round
ones the paper's mean and standard deviation over ten runs, which has no ANT on CIFAR-10. AugMix includes its
consistency loss. Seeds: {seeds}."""


def main(runs: str, page: str) -> None:
    """Write the table and the page."""
    kept = Path(page).with_suffix("") / "errors.csv"
    kept.parent.mkdir(parents=True, exist_ok=True)
    keep(kept, [read(folder) for folder in sorted(Path(runs).glob("augmentation-*-*")) if has_run(folder)], "run")
    if not kept.exists():
        raise SystemExit(f"there are no results in {runs}")
    lines = pd.read_csv(kept, keep_default_na=False)
    errors = lines.pivot_table("error", ["scheme", "seed"], "corruption", sort=False)
    parts = [HEAD, paragraph(ABOUT.format(seeds=seed_text(lines))), error_table(errors), claims(errors), costs(lines)]
    Path(page).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def has_run(folder: Path) -> bool:
    return all((folder / f"{suite}.csv").exists() for suite in SUITES)


def read(folder: Path) -> pd.DataFrame:
    """Mean errors in percent: clean, of both benchmarks and of every corruption of C-bar; and the seconds it took."""
    scheme, _, seed = folder.name.removeprefix("augmentation-").rpartition("-")
    found: dict[str, float] = {}
    for suite in SUITES:
        its = 100 * pd.read_csv(folder / f"{suite}.csv").groupby("corruption", sort=False)["error"].mean()
        found |= {"clean": its.pop("clean"), suite: its.mean()}
    found |= its.to_dict()  # of C-bar, the last
    seconds = sum(map(int, (folder / "seconds.txt").read_text(encoding="utf-8").split()))
    rows = {"corruption": found.keys(), "error": np.round(list(found.values()), 3)}
    return pd.DataFrame({"run": folder.name, "scheme": scheme, "seed": int(seed), **rows, "seconds": seconds})


def seed_text(lines: pd.DataFrame) -> str:
    """How many seeds every scheme has."""
    counts = lines.groupby("scheme")["seed"].nunique()
    return ", ".join(f"{counts[scheme]} of {name}" for scheme, name in SCHEMES.items() if scheme in counts)


def error_table(errors: pd.DataFrame) -> str:
    """A line for each benchmark and for each corruption of C-bar, a column for each scheme that has run."""
    schemes = [scheme for scheme in SCHEMES if scheme in errors.index]
    rows = [["clean", *(spanned(errors.loc[scheme, "clean"], "{:.1f}") for scheme in schemes)]]
    for name, published in PUBLISHED.items():
        theirs = dict(zip(SCHEMES, published, strict=False))
        cells = [spanned(errors.loc[scheme, name], "{:.1f}") + beside(theirs.get(scheme)) for scheme in schemes]
        rows.append([SUITES.get(name, name.replace("_", " ")), *cells])
    return table(("", *(SCHEMES[scheme] for scheme in schemes)), rows)


def beside(published: tuple[float, float] | None) -> str:
    return "" if published is None else f" ({published[0]:.1f} ± {published[1]:.1f})"


def claims(errors: pd.DataFrame) -> str:
    """What the paper says of its tables, beside ours: how much worse C-bar is, and which scheme is best."""
    change = errors["cifar10-c-bar"] - errors["cifar10-c"]
    theirs = {
        scheme: bar[0] - c[0]
        for scheme, c, bar in zip(SCHEMES, PUBLISHED["cifar10-c"], PUBLISHED["cifar10-c-bar"], strict=False)
    }
    rows = []
    for scheme in (scheme for scheme in SCHEMES if scheme in errors.index):
        gains = [spanned(against(errors[suite], scheme), "{:+.1f}") if scheme != "none" else "" for suite in SUITES]
        paper = f"{theirs[scheme]:+.1f}" if scheme in theirs else ""
        rows.append([SCHEMES[scheme], spanned(change[scheme], "{:+.1f}"), paper, *gains])
    head = ("", "C-bar less C", "the paper's", "against the baseline: C", "C-bar")
    text = (
        "The paper: every augmentation does worse on C-bar than on C, broad ones (AutoAugment, AugMix) lose less than"
        " Patch Gaussian, and AugMix is the best on both. Points of error; against the baseline, seeds are paired."
    )
    return "\n\n".join(["## What is lost on C-bar", paragraph(text), table(head, rows)])


def against(errors: pd.Series, scheme: str) -> pd.Series:
    """A scheme less the baseline, for the seeds that both have."""
    return (errors[scheme] - errors["none"]).dropna()


def costs(lines: pd.DataFrame) -> str:
    """Device time of every training, its tests included; of runs that share a GPU, each counts its part."""
    spent = lines.drop_duplicates("run").groupby("scheme")["seconds"]
    said = ", ".join(
        f"{SCHEMES[scheme]} {spent.get_group(scheme).mean():.0f}" for scheme in SCHEMES if scheme in spent.groups
    )
    text = (
        f"Seconds of one H200 for a training and its tests, in the mean over seeds: {said}; in all {spent.sum().sum()}."
    )
    return "\n\n".join(["## Cost", paragraph(text)])


if __name__ == "__main__":
    main(*sys.argv[1:])
