"""Every cell of ImageNet-C and CIFAR-10-C against statistics of the original implementations.

Comparison is image by image, so that the differences between pictures cancel: d = ours (mean over seeds) - golden. A
statistic is off when the mean of d is beyond four of its own standard errors and beyond a tolerance: 3 % of the golden
mean plus 0.002, or for the band energies 10 % plus 0.0001. Deterministic corruptions have no sampling error to hide
behind; test_formulas.py holds them to a grey level.

Nothing is exempt, not even frost: our textures are our own, and match the originals' statistics to these tolerances.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from golden.pictures import pictures_32, pictures_224
from golden.statistics import BANDS, statistics

import scuff

FILES = {"imagenet-c": "imagenet-c-224.npz", "cifar10-c": "cifar10-c-32.npz"}
PICTURES = {"imagenet-c": pictures_224, "cifar10-c": pictures_32}
SEEDS = 2
DETERMINISTIC = ("defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression")


def _cells() -> list[tuple[str, str, int]]:
    cells = []
    for suite, file in FILES.items():
        for cell in np.load(Path(__file__).parent / "golden" / file)["cells"]:
            name, severity = str(cell).split("/")
            cells.append((suite, name, int(severity)))
    return cells


def _golden(suite: str, cell: str) -> dict[str, np.ndarray]:
    file = np.load(Path(__file__).parent / "golden" / FILES[suite])
    row = [str(c) for c in file["cells"]].index(cell)
    return dict(zip(map(str, file["stats"]), file["values"][row], strict=True))


def test_all_cells_are_there() -> None:
    cells = _cells()
    assert len(cells) == 190
    for suite in FILES:
        assert {(n, s) for c, n, s in cells if c == suite} == {
            (name, severity) for name in scuff.load_suite(suite).entries for severity in range(1, 6)
        }


@pytest.mark.parametrize(("suite", "name", "severity"), _cells())
def test_statistics(suite: str, name: str, severity: int) -> None:
    pictures = PICTURES[suite]()
    seeds = 1 if name in DETERMINISTIC else SEEDS
    found = [
        statistics(pictures, scuff.corrupt(pictures, f"{suite}/{name}", severity, seed=seed)) for seed in range(seeds)
    ]
    off = []
    for statistic, golden in _golden(suite, f"{name}/{severity}").items():
        d = np.mean([f[statistic] for f in found], axis=0) - golden
        error = d.std(ddof=1) / np.sqrt(len(d))
        share, floor = (0.10, 1e-4) if statistic in BANDS else (0.03, 2e-3)
        if abs(d.mean()) > 4 * error and abs(d.mean()) > share * abs(golden.mean()) + floor:
            off.append(f"{statistic}: golden {golden.mean():.5f}, ours {golden.mean() + d.mean():.5f} +- {error:.5f}")
    assert not off, "; ".join(off)
