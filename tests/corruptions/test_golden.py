"""Every cell of the ported benchmarks against statistics of the original implementations.

Comparison is image by image, so that the differences between pictures cancel: d = ours (mean over seeds) - golden. A
statistic is off when the mean of d is beyond four of its own standard errors and beyond a tolerance: 3 % of the golden
mean plus 0.002, or for the band energies 10 % plus 0.0001. Deterministic corruptions have no sampling error to hide
behind; test_formulas.py holds those of ImageNet-C to a grey level.

The file of Syn2Nat holds six draws for each of sixteen pictures, and names its cells as the original does. The
224-pixel file of C-bar holds one draw for each of six pictures, too few to estimate a standard error from: there the
deviation of such a six-draw mean is taken from our own seeds instead.

Nothing is exempt, not even frost: our textures are our own, and match the originals' statistics to these tolerances.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from golden.pictures import pictures_32, pictures_224

import scuff
from scuff.resemblance import BANDS, statistics

FILES = {
    "imagenet-c": "imagenet-c-224.npz",
    "cifar10-c": "cifar10-c-32.npz",
    "c-bar-candidates-224": "c-bar-224.npz",
    "c-bar-candidates-32": "c-bar-32.npz",
    "syn2nat-candidates": "syn2nat-224.npz",
}
SEEDS = {"imagenet-c": 2, "cifar10-c": 2, "c-bar-candidates-224": 8, "c-bar-candidates-32": 2, "syn2nat-candidates": 1}
DETERMINISTIC = (
    "defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression",
    "bleach_bypass", "technicolor", "color_dither", "circular_motion_blur",
    "border", "downscale", "invert_img", "posterize", "solarize", "to_sepia",
)  # fmt: skip


def _pictures(suite: str) -> np.ndarray:
    if scuff.load_suite(suite).size == 32:
        return pictures_32()
    if suite == "syn2nat-candidates":
        return np.concatenate([pictures_224()] * 6)
    return pictures_224()[[0, 2, 3, 7, 11, 13]] if suite == "c-bar-candidates-224" else pictures_224()


@lru_cache
def _golden(suite: str) -> dict[str, dict[str, np.ndarray]]:
    file = np.load(Path(__file__).parents[1] / "golden" / FILES[suite])
    names = [str(name) for name in file["stats"]]
    return {
        str(cell): dict(zip(names, row, strict=True)) for cell, row in zip(file["cells"], file["values"], strict=True)
    }


def _entry(name: str) -> str:
    """The files name cells by the entry, but that of Syn2Nat by a class: ISONoise is iso_noise."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _severity(suite: str, name: str, level: str) -> int | None:
    """The files of C-bar name their cells by the amount, the others by the severity, if there is one."""
    amounts = scuff.load_suite(suite).entries[name].get("amount") if suite.startswith("c-bar") else None
    if amounts is not None:
        return amounts.index(float(level)) + 1
    return int(level) if level else None


CELLS = [(suite, cell) for suite in FILES for cell in _golden(suite)]


def test_all_cells_are_there() -> None:
    for suite, levels in zip(FILES, (5, 5, 1, 3, 1), strict=True):
        names = [_entry(cell.split("/")[0]) for which, cell in CELLS if which == suite]
        assert {name: names.count(name) for name in names} == dict.fromkeys(scuff.load_suite(suite).entries, levels)


@pytest.mark.parametrize(("suite", "cell"), CELLS)
def test_statistics(suite: str, cell: str) -> None:
    name, _, level = cell.partition("/")
    name = _entry(name)
    pictures, severity = _pictures(suite), _severity(suite, name, level)
    seeds = 1 if name in DETERMINISTIC else SEEDS[suite]
    address = f"{suite}/{name}"
    found = [statistics(pictures, scuff.corrupt(pictures, address, severity, seed=seed)) for seed in range(seeds)]
    off = []
    for statistic, golden in _golden(suite)[cell].items():
        ours = np.array([f[statistic] for f in found])
        d = ours.mean(0) - golden
        error = d.std(ddof=1) / np.sqrt(len(d))
        if suite == "c-bar-candidates-224" and seeds > 1:
            error = max(error, ours.mean(1).std(ddof=1))
        share, floor = (0.10, 1e-4) if statistic in BANDS else (0.03, 2e-3)
        if abs(d.mean()) > 4 * error and abs(d.mean()) > share * abs(golden.mean()) + floor:
            off.append(f"{statistic}: golden {golden.mean():.5f}, ours {golden.mean() + d.mean():.5f} +- {error:.5f}")
    assert not off, "; ".join(off)
