"""Tables of docs/results/transform-space-cifar10.md, as Markdown, from the files beside it.

    python tools/transform_space_tables.py

A test holds the page to them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from scuff.metrics import read_distances, scheme_correlations

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
PUBLISHED_ERRORS = {
    "CIFAR-10-C": (27.0, 19.4, 17.0, 11.1),
    "CIFAR-10-C-bar": (27.1, 21.0, 23.8, 16.0),
    "blue_noise_sample": (42.9, 17.7, 9.0, 9.8),
    "brownish_noise": (27.2, 17.5, 30.1, 27.8),
    "checkerboard_cutout": (23.3, 17.6, 21.6, 13.4),
    "circular_motion_blur": (11.8, 9.5, 12.8, 5.9),
    "inverse_sparkles": (43.3, 40.4, 35.4, 30.3),
    "lines": (26.2, 23.6, 20.6, 18.0),
    "pinch_and_twirl": (11.3, 10.7, 8.8, 8.3),
    "ripple": (21.6, 23.5, 21.5, 12.1),
    "sparkles": (21.0, 17.5, 19.3, 15.5),
    "transverse_chromatic_abberation": (42.9, 31.8, 59.5, 19.2),
}

PUBLISHED_TEN = tuple(list(PUBLISHED_ERRORS)[2:])


def correlation_lines() -> list[str]:
    """Per corruption: rho of MSD and error with its interval, the paper's, and rho of MMD."""
    distances = read_distances(RESULTS / "distances.csv")
    errors = pd.read_csv(RESULTS / "errors.csv", keep_default_na=False)
    distances = distances.take(list(dict.fromkeys(errors["scheme"])))
    found = {kind: scheme_correlations(distances, errors, distance=kind) for kind in ("msd", "mmd")}
    lines = []
    for near, mean in zip(found["msd"].itertuples(), found["mmd"].itertuples(), strict=True):
        name = near.corruption.partition("/")[2]
        rhos = [f"{row.rho:.2f} [{row.low:.2f}, {row.high:.2f}]" for row in (near, mean)]
        lines.append(f"| {name.replace('_', ' ')} | {rhos[0]} | {PUBLISHED_RHO[name]:.2f} | {rhos[1]} |")
    return lines


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


def shift_lines() -> list[str]:
    """The candidates with the largest shifts; those of CIFAR-10-C-bar are bold."""
    table = pd.read_csv(RESULTS / "shifts.csv").head(14)
    lines = []
    for place, row in enumerate(table.itertuples(), start=1):
        name = row.corruption.partition("/")[2]
        words = name.replace("_", " ")
        lines.append(
            f"| {place} | {f'**{words}**' if name in PUBLISHED_TEN else words} | {row.shift:.2f} | {row.sd:.2f} |"
        )
    return lines


if __name__ == "__main__":
    for lines in (correlation_lines(), error_lines(), shift_lines()):
        print("\n".join(lines), end="\n\n")
