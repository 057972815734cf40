"""Every cell of the three suites against averages measured on the original code, for one synthetic picture.

This is what covers the 64-pixel constants, for which there are no per-image statistics. The originals' averages are
over 100 draws (20 at 224 pixels, 10 or 3 for glass blur), printed to one or two decimals. Tolerance: 0.2 grey levels,
which is what truncation does to the flat and linear parts of this picture when a last bit falls the other way, plus six
standard errors of our own average, which leaves room for the originals' sampling error too.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import scuff

SUITES = {224: "imagenet-c", 64: "tiny-imagenet-c", 32: "cifar10-c"}
DRAWS = {224: 12, 64: 48, 32: 48}


def _cells() -> list[tuple[int, str, int, tuple[float, float, float]]]:
    with open(Path(__file__).parents[1] / "golden" / "regression.csv") as file:
        return [
            (
                int(row["size"]),
                row["corruption"],
                int(row["severity"]),
                (float(row["difference"]), float(row["mean"]), float(row["std"])),
            )
            for row in csv.DictReader(file)
        ]


def _picture(size: int) -> np.ndarray:
    i, j = np.mgrid[:size, :size]
    u, v = j / size, i / size
    red, blue = 0.5 + 0.5 * np.sin(2 * np.pi * (3 * u + v)), 0.5 + 0.5 * np.cos(10 * np.pi * u * v)
    return np.floor(255 * np.stack((red, u, blue), axis=-1) + 0.5).astype(np.uint8)


@pytest.mark.parametrize(("size", "name", "severity", "expected"), _cells())
def test_averages(size: int, name: str, severity: int, expected: tuple[float, float, float]) -> None:
    picture, draws = _picture(size), DRAWS[size]
    y = scuff.corrupt(np.repeat(picture[None], draws, axis=0), f"{SUITES[size]}/{name}", severity).astype(float)
    each = (1, 2, 3)
    found = {"difference": np.abs(y - picture).mean(each), "mean": y.mean(each), "deviation": y.std(each)}
    for (what, values), value in zip(found.items(), expected, strict=True):
        error = values.std(ddof=1) / np.sqrt(draws)
        assert values.mean() == pytest.approx(value, abs=0.2 + 6 * error), what
