"""Tables of docs/results/transform-space-cifar10.md, as Markdown, from the files beside it.

    python tools/transform_space_tables.py

A test holds the page to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from held_out_tables import PUBLISHED, SUITES
from page_parts import plain, spanned

from scuff.metrics import Distances, read_distances, scheme_correlations
from scuff.metrics.intervals import DEFAULT
from scuff.metrics.validity.resampled import resample_models, resampled

RESULTS = Path(__file__).parent.parent / "docs" / "results" / "transform-space-cifar10"

# Table 1 of the paper: Spearman's rho over all 512 subsets.
PUBLISHED_RHO = {
    "gaussian_noise": 0.76,
    "shot_noise": 0.83,
    "impulse_noise": 0.90,
    "defocus_blur": 0.83,
    "glass_blur": 0.69,
    "motion_blur": 0.86,
    "zoom_blur": 0.77,
    "snow": 0.65,
    "frost": 0.66,
    "fog": 0.68,
    "brightness": 0.27,
    "contrast": 0.66,
    "elastic_transform": 0.77,
    "pixelate": 0.35,
    "jpeg_compression": 0.33,
}

# Tables 4 and 5 of the paper: baseline, AutoAugment, Patch Gaussian, AugMix; errors in per cent.
MODELS = ("base", "autoaugment", "patch-gaussian", "augmix-jsd")
PUBLISHED_ERRORS = {SUITES.get(name, name): tuple(mean for mean, _ in cells) for name, cells in PUBLISHED.items()}

PUBLISHED_TEN = tuple(list(PUBLISHED_ERRORS)[2:])


STRONG = 0.6  # the correlation that the paper calls high


def read_trials() -> tuple[Distances, pd.DataFrame, dict[str, list[str]]]:
    """Distances, errors, and the schemes that correlations count: the subsets, as in the paper, or all of them."""
    errors = pd.read_csv(RESULTS / "errors.csv", keep_default_na=False)
    everything = list(dict.fromkeys(errors["scheme"]))
    subsets = [name for name in everything if name.startswith("powerset:")]
    return read_distances(RESULTS / "distances.csv"), errors, {"subsets": subsets, "all": everything}


def correlation_lines() -> list[str]:
    """Per corruption: rho of MSD and error over the subsets, the paper's, rho over all schemes, and rho of MMD."""
    distances, errors, schemes = read_trials()
    asked = [("msd", "subsets"), ("msd", "all"), ("mmd", "subsets")]
    found = [scheme_correlations(distances, errors, distance=kind, schemes=schemes[over]) for kind, over in asked]
    lines = []
    for rows in zip(*(table.itertuples() for table in found), strict=True):
        name = rows[0].corruption.partition("/")[2]
        ours, every, mean = (f"{row.rho:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in rows)
        lines.append(f"| {name.replace('_', ' ')} | {ours} | {PUBLISHED_RHO[name]:.2f} | {every} | {mean} |")
    return lines


def agreement_lines() -> list[str]:
    """How the fifteen correlations agree with the paper's and exceed those of MMD, over the subsets and all schemes.

    Intervals are percentiles over the resamples of schemes: the same draws for all corruptions.
    """
    distances, errors, schemes = read_trials()
    return [
        f"| {LABELS[over].format(len(names))} | {' | '.join(agreement_cells(distances, errors, names))} |"
        for over, names in schemes.items()
    ]


def agreement_cells(
    distances: Distances, errors: pd.DataFrame, names: Sequence[str], published: Mapping[str, float] = PUBLISHED_RHO
) -> list[str]:
    """How many rho are above 0.6, their correlation with the paper's, their mean difference, and that to MMD's."""
    corruptions = list(distances.corruptions)
    means = errors[errors["corruption"] != "clean"].groupby(["scheme", "corruption"])["error"].mean().unstack()
    theirs = np.array([published[address.partition("/")[2]] for address in corruptions])
    times = np.vstack([np.ones(len(names), int), resample_models(len(names), DEFAULT)])  # first as they are
    error = means.loc[names, corruptions].to_numpy().T
    near = {kind: distances.by_corruption(kind).loc[names, corruptions].to_numpy().T for kind in ("msd", "mmd")}
    rhos, others = (
        np.stack([resampled("spearman", x[None], y[None], times)[:, 0, 0] for x, y in zip(each, error, strict=True)], 1)
        for each in near.values()
    )
    return [
        interval((rhos > STRONG).sum(axis=1), "{:.0f}"),
        interval(np.array([np.corrcoef(row, theirs)[0, 1] for row in rhos]), "{:.2f}"),
        interval((rhos - theirs).mean(axis=1), "{:+.2f}"),
        interval((rhos - others).mean(axis=1), "{:+.2f}"),
    ]


LABELS = {"subsets": "the {} subsets, as in the paper", "all": "all {} schemes"}


def interval(values: np.ndarray, form: str) -> str:
    """The first of some values, and the middle 95 % of the others."""
    low, high = np.nanpercentile(values[1:], [2.5, 97.5])
    return "{} [{}, {}]".format(*(form.format(value) for value in (values[0], low, high)))


PERCEPTUAL = [
    (name, corruption) for name in ("solarize", "translate_x") for corruption in ("impulse_noise", "motion_blur")
]


def operation_lines(file: Path = RESULTS / "distances.csv") -> list[str]:
    """Figure 4: how often a subset with an operation is nearer to a corruption than one without it."""
    distances = read_distances(file).by_corruption("msd")
    subsets = [name for name in distances.index if name.startswith("powerset:")]
    lines = []
    for operation, corruption in PERCEPTUAL:
        near = distances.loc[subsets, f"cifar10-c/{corruption}"].to_numpy()
        has = np.array([operation in name.partition(":")[2].split("+") for name in subsets])
        random = np.random.default_rng(0)
        draws = [np.arange(len(subsets)), *random.integers(len(subsets), size=(DEFAULT.count, len(subsets)))]
        shares = 100 * np.array([nearer(near[draw], has[draw]) for draw in draws])
        means = [f"{near[which].mean():.2f}" for which in (has, ~has)]
        names = [name.replace("_", " ") for name in (operation, corruption)]
        lines.append(f"| {' | '.join([*names, *means])} | {interval(shares, '{:.0f}')} |")
    return lines


def nearer(near: np.ndarray, has: np.ndarray) -> float:
    """The share of pairs, one that has it and one that has not, of which the former is nearer."""
    return float(np.mean(near[has][:, None] < near[~has])) if has.any() and not has.all() else np.nan


def rank_lines() -> list[str]:
    """Figures 5 and 7: the place of schemes with a name among all, from the nearest, by MSD and by MMD."""
    distances = read_distances(RESULTS / "distances.csv")
    ranks = {kind: distances.by_corruption(kind).rank(method="min").astype(int) for kind in ("msd", "mmd")}
    schemes = ("patch-gaussian", "autoaugment", max(distances.schemes, key=lambda name: name.count("+")))
    return [
        f"| {address.partition('/')[2].replace('_', ' ')} | "
        f"{' | '.join(str(ranks[kind].at[name, address]) for name in schemes for kind in ranks)} |"
        for address in distances.corruptions
    ]


def error_lines() -> list[str]:
    """Errors of trained networks beside the paper's: the means of both benchmarks, then each corruption of C-bar."""
    table = pd.read_csv(RESULTS / "trained.csv")
    table = table[table["corruption"] != "clean"]
    means = table.groupby(["suite", "model"])["error"].mean()
    lines = []
    for name, published in PUBLISHED_ERRORS.items():
        if name.startswith("CIFAR"):
            ours = [means[name.lower().replace("-10", "10", 1), model] for model in MODELS]
        else:
            its = table[(table["suite"] == "cifar10-c-bar") & (table["corruption"] == name)].set_index("model")["error"]
            ours = [its[model] for model in MODELS]
        cells = [f"{100 * own:.1f} ({theirs:.1f})" for own, theirs in zip(ours, published, strict=True)]
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |")
    return lines


# Standard deviations of Table 5 over ten runs, AutoAugment.
PUBLISHED_SPREADS = {name: PUBLISHED[name][1][1] for name in ("blue_noise_sample", "transverse_chromatic_abberation")}


def reading_lines() -> list[str]:
    """Errors on C-bar by reading of AutoAugment: all ten corruptions; two of them, and how much less than without.

    In brackets Student's intervals over seeds, which are paired where errors are compared.
    """
    errors = pd.read_csv(RESULTS / "readings.csv", keep_default_na=False).query("corruption != 'clean'")
    errors = errors.assign(corruption=errors["corruption"].map(plain), error=100 * errors["error"])
    by_seed = errors.pivot_table("error", ["scheme", "seed"], "corruption", sort=False)
    without, lines = by_seed.loc["none"], []
    for scheme in dict.fromkeys(errors["scheme"]):
        own = by_seed.loc[scheme]
        cells = [spanned(own[list(PUBLISHED_TEN)].mean(axis=1), "{:.1f}")]
        for name in PUBLISHED_SPREADS:
            lowered = "" if scheme == "none" else spanned(without[name] - own[name], "{:.1f}")
            cells += [spanned(own[name], "{:.1f}"), lowered]
        lines.append(f"| {scheme.removeprefix('autoaugment:')} | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    for lines in (
        correlation_lines(),
        agreement_lines(),
        operation_lines(),
        rank_lines(),
        error_lines(),
        reading_lines(),
    ):
        print("\n".join(lines), end="\n\n")
