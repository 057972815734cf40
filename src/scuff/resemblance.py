"""How alike corrupted images of two origins are, where their random numbers are not the same.

Seeds of published benchmarks are lost, so that no two pixels agree. What must agree are averages: of every image eleven
statistics are taken, of ours and of theirs, and their differences are held against what chance does to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scuff.data import CorruptedSource, Source, known_by_stems, open_source
from scuff.data.stored import StoredPictures
from scuff.door import corrupt
from scuff.metrics import holm
from scuff.pictures import Cut
from scuff.suites import load_suite

BANDS = {"low": (0.0, 0.08), "mid": (0.08, 0.25), "high": (0.25, 1.0)}  # radial frequency, cycles per pixel
FEW = 64  # images at a time
Z = 1.959964  # of a 95 % interval


def statistics(clean: np.ndarray, corrupted: np.ndarray) -> dict[str, np.ndarray]:
    """Eleven statistics of every pair of (N, H, W, C) uint8, each (N,), on a scale where white is 1.

    Mean absolute difference, bias and deviation of the difference; mean and deviation of the result; the share of
    values that changed; gradient and chroma of the result; the energy of the difference in three bands of frequency.
    """
    x, y = clean.astype(np.float64) / 255, corrupted.astype(np.float64) / 255
    d, each = y - x, (1, 2, 3)
    height, width, channels = x.shape[1:]
    energy = np.abs(np.fft.fft2(d, axes=(1, 2))) ** 2 / (height * width)
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width))[None, :, :, None]
    bands = {
        name: (energy * ((frequency >= a) & (frequency < b))).sum(each) / (height * width * channels)
        for name, (a, b) in BANDS.items()
    }
    return {
        "mae": np.abs(d).mean(each),
        "bias": d.mean(each),
        "std_diff": d.std(each),
        "mean": y.mean(each),
        "std": y.std(each),
        "changed": (d != 0).mean(each),
        "gradient": np.abs(np.diff(y, axis=1)).mean(each) + np.abs(np.diff(y, axis=2)).mean(each),
        "chroma": np.abs(y - y.mean(3, keepdims=True)).mean(each),
        **bands,
    }


def resemblance(
    published: Any,
    data: Any,
    *,
    limit: int = 500,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> pd.DataFrame:
    """Corrupted images that somebody wrote against ours: a line for every cell and statistic.

    `published` is their address, as in "cifar10-c:DIR", `data` that of the clean images; `limit` images, evenly spread,
    are compared. The columns `ours` and `theirs` are means over images, `difference` is theirs minus ours, `chance` is
    how large it may be by chance (95 %), `p_value` that of a paired z-test over images, `p_holm` the same after Holm's
    correction for all lines. Where a corruption draws nothing, chance does nothing either: even a rounding shows.
    """
    theirs, clean = open_source(published), open_source(data)
    if not isinstance(theirs, CorruptedSource) or not isinstance(clean, Source):
        raise ValueError("expected corrupted images, as in cifar10-c:DIR, and clean ones, as in --data cifar10:DIR")
    if limit < 2:
        raise ValueError(f"limit must be at least 2 images, got {limit}")
    suite = load_suite(theirs.suite)
    cells = [(entry, level) for entry, levels in theirs.entries.items() for level in levels]
    lines: list[dict[str, Any]] = []
    for number, (entry, level) in enumerate(cells):
        if progress is not None:
            progress("comparing cells", number, len(cells))
        cell = theirs.cell(entry, level)
        if len(cell) < 2:
            raise ValueError(f"{entry}: one image says nothing about averages; expected at least 2")
        positions = np.arange(min(limit, len(cell))) * len(cell) // min(limit, len(cell))
        counterparts = _counterparts(clean, cell, positions)
        parts: list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]] = []
        for start in range(0, len(positions), FEW):
            there, here = positions[start : start + FEW], counterparts[start : start + FEW]
            y = cell.read(there).permute(0, 2, 3, 1).numpy()
            x = clean.read(here, _cut(clean, y.shape[1:3])).permute(0, 2, 3, 1).numpy()
            if x.shape != y.shape:
                raise ValueError(f"{entry}: clean images are {x.shape[1:]}, and corrupted ones {y.shape[1:]}")
            options: dict[str, Any] = {"suite": suite, "seed": seed, "ids": clean.ids[here]}
            ours = corrupt(np.ascontiguousarray(x), entry, level, as_published=_is_jpeg(cell), **options)
            parts.append((statistics(x, ours), statistics(x, y)))
        lines += _compare(entry, level, parts)
    table = pd.DataFrame(lines)
    table["p_holm"] = holm(table["p_value"])
    return table


def _compare(entry: str, level: int | None, parts: Sequence[tuple[dict, dict]]) -> list[dict[str, Any]]:
    lines = []
    for name in parts[0][0]:
        ours, theirs = (np.concatenate([part[side][name] for part in parts]) for side in (0, 1))
        d = theirs - ours
        error = float(d.std(ddof=1) / math.sqrt(len(d)))
        z = abs(d.mean()) / error if error else math.inf if d.mean() else 0.0
        known = {"corruption": entry, "severity": level or 0, "statistic": name, "images": len(d)}
        means = {"ours": ours.mean(), "theirs": theirs.mean(), "difference": d.mean(), "chance": Z * error}
        lines.append({**known, **means, "p_value": math.erfc(z / math.sqrt(2))})
    return lines


def _counterparts(clean: Source, cell: Source, positions: np.ndarray) -> np.ndarray:
    """The positions of the clean images from which some corrupted ones were made."""
    places = {key: place for place, key in enumerate(known_by_stems(clean).ids.tolist())}
    wanted = known_by_stems(cell).ids[positions].tolist()
    if len(clean) != len(cell) or not places.keys() >= set(wanted):
        raise ValueError(
            f"{clean.name} must hold the images that were corrupted, under the same names: it has {len(clean)}, and "
            f"{cell.name} {len(cell)} in each cell"
        )
    return np.array([places[key] for key in wanted])


def _cut(clean: Source, size: tuple[int, int]) -> Cut | None:
    """As ImageNet-C was made; pictures of other sizes must have it."""
    if not clean.has_pictures:
        return None
    return clean.cut or (Cut(256, 224) if size == (224, 224) else Cut(min(size), min(size)))


def _is_jpeg(cell: Source) -> bool:
    """Whether files were compressed after they were corrupted, as those of ImageNet-C."""
    return isinstance(cell.images, StoredPictures) and cell.images.names[0].lower().endswith((".jpg", ".jpeg"))
