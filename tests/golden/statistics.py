"""The statistics that the golden files hold, image by image."""

from __future__ import annotations

import numpy as np

BANDS = {"low": (0.0, 0.08), "mid": (0.08, 0.25), "high": (0.25, 1.0)}  # radial frequency, cycles per pixel


def statistics(clean: np.ndarray, corrupted: np.ndarray) -> dict[str, np.ndarray]:
    """(N, H, W, 3) uint8 pairs -> {name: (N,)}, everything on a scale where white is 1."""
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
