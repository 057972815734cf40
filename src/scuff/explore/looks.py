"""What a corruption did to a picture, as pictures: the difference, and its spectrum."""

from __future__ import annotations

from functools import cache

import numpy as np
from PIL import Image
from scipy.fft import fft2

from scuff.report.colours import HEAT, blend

GAINS = (32, 16, 8, 4, 2, 1)
DECADES = 2.0  # of amplitude, from the brightest colour of a spectrum to the darkest
BRIGHTEST = 0.998  # of the amplitudes are below the brightest colour
LEAST_AMPLITUDE = 1.0  # less is rounding
SAMPLED = 7  # every such value tells how large differences are
LUMA = np.array([0.299, 0.587, 0.114], np.float32)


def difference(clean: Image.Image, other: Image.Image) -> tuple[Image.Image, int]:
    """Where a picture became brighter or darker, around mid-grey, and by how much that is amplified."""
    change = _change(clean, other)
    top = float(np.quantile(abs(change).ravel()[::SAMPLED], 0.995))
    gain = next((gain for gain in GAINS if gain * top <= 127), 1) if top else 1
    return Image.fromarray((128 + gain * change).clip(0, 255).astype(np.uint8)), gain


def spectrum(clean: Image.Image, other: Image.Image) -> Image.Image:
    """The amplitudes of the difference by frequency: coarse changes in the middle, fine ones at the rim."""
    change = _change(clean, other)
    flat = change @ LUMA if change.ndim == 3 else change
    amplitude = np.fft.fftshift(abs(fft2(flat - flat.mean())))  # the mean would outshine all else
    top = max(float(np.quantile(amplitude.ravel()[::SAMPLED], BRIGHTEST)), LEAST_AMPLITUDE)
    decades = np.log10((amplitude / top).clip(10.0**-DECADES, 1.0))
    return Image.fromarray(_palette()[np.round(255 * (1 + decades / DECADES)).astype(np.uint8)])


def root_mean_square(clean: Image.Image, other: Image.Image) -> float:
    """How far the values of pixels are from the clean ones, out of 255."""
    return float(np.sqrt(np.mean(_change(clean, other) ** 2)))


def _change(clean: Image.Image, other: Image.Image) -> np.ndarray:
    return np.asarray(other, np.float32) - np.asarray(clean, np.float32)


@cache
def _palette() -> np.ndarray:
    """The colours of the heat map on a dark ground, (256, 3)."""
    colours = [blend(HEAT["dark"], step / 255) for step in range(256)]
    return np.array([[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in colours], np.uint8)
