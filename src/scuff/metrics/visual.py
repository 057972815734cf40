"""How far a picture is from another, to the eye: information that is left of it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

    from scuff.images import Images

WINDOWS = (17, 9, 5, 3)  # taps of the Gaussian windows, from fine to coarse
SMALL_WINDOWS = (9, 5)  # for images of less than SMALL pixels
SMALL = 64
NOISE = 2.0  # variance of the eye's own noise, in squared levels of 0..255
TINY = 1e-10
AT_ONCE = 1 << 22  # values


def vif_distance(clean: Images, other: Images) -> np.ndarray:
    """1 - VIF, the share of visual information that a picture has lost: 0 if it is the clean one, towards 1 if nothing
    of it is left. One value per image.

    Visual information fidelity in the pixel domain (Sheikh and Bovik, Image information and visual quality, IEEE TIP
    2006) of the luma at four scales, two for images below 64 pixels. Added contrast can make it negative; then it is 0.
    Images are as in `scuff.corrupt`, at least 9 pixels wide and high.

    >>> import scuff
    >>> x = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), np.uint8)
    >>> light, strong = (vif_distance(x, scuff.corrupt(x, "cifar10-c/contrast", s)) for s in (1, 5))
    >>> vif_distance(x, x).tolist(), bool((light < strong).all())
    ([0.0, 0.0], True)
    """
    import torch

    from scuff.images import open_images

    a, b = (open_images(images).batch for images in (clean, other))
    if a.shape[0] != b.shape[0] or a.shape[2:] != b.shape[2:]:
        raise ValueError(f"expected as many images of the same size, got {tuple(a.shape)} and {tuple(b.shape)}")
    side = min(a.shape[2:])
    windows = SMALL_WINDOWS if side < SMALL else WINDOWS
    if side < windows[0]:
        raise ValueError(f"images must be at least {windows[0]} pixels wide and high, got {tuple(a.shape[2:])}")
    step = max(1, AT_ONCE // max(a[:1].numel(), 1))
    parts = [_distance(a[k : k + step], b[k : k + step], windows) for k in range(0, len(a), step)]
    return torch.cat(parts).cpu().numpy() if parts else np.zeros(0)


def _distance(a: Tensor, b: Tensor, windows: tuple[int, ...]) -> Tensor:
    """(N,) of images (N, C, H, W)."""
    a, b = _luma(a), _luma(b)
    left = there = a.new_zeros(len(a))
    for scale, taps in enumerate(windows):
        if scale:
            a, b = (_filtered(x, taps)[:, ::2, ::2] for x in (a, b))
        mean_a, mean_b = _filtered(a, taps), _filtered(b, taps)
        var_a = (_filtered(a * a, taps) - mean_a * mean_a).clamp(min=0.0)
        var_b = (_filtered(b * b, taps) - mean_b * mean_b).clamp(min=0.0)
        both = _filtered(a * b, taps) - mean_a * mean_b
        gain = both / (var_a + TINY)
        rest = var_b - gain * both
        flat_a, flat_b, opposed = var_a < TINY, var_b < TINY, gain < 0
        rest = rest.where(~(flat_a | opposed), var_b).where(~flat_b, 0.0).clamp(min=TINY)
        gain = gain.where(~(flat_a | flat_b | opposed), 0.0)
        var_a = var_a.where(~flat_a, 0.0)
        left = left + (1.0 + gain * gain * var_a / (rest + NOISE)).log10().sum((1, 2))
        there = there + (1.0 + var_a / NOISE).log10().sum((1, 2))
    lost = 1.0 - left / there.clamp(min=TINY)
    return lost.where(there > 0, 0.0).clamp(min=0.0).round(decimals=9)  # so that of an image itself it is 0


def _luma(batch: Tensor) -> Tensor:
    """(N, H, W), float64 in 0..255."""
    levels = batch.double() if not batch.is_floating_point() else 255.0 * batch.double()
    if levels.shape[1] == 1:
        return levels[:, 0]
    return 0.299 * levels[:, 0] + 0.587 * levels[:, 1] + 0.114 * levels[:, 2]


def _filtered(x: Tensor, taps: int) -> Tensor:
    """The part of (N, H, W) where a Gaussian window of so many taps fits, filtered."""
    down, across = (_band(length, taps, str(x.device)) for length in x.shape[1:])
    return down @ x @ across.mT


@lru_cache(maxsize=64)
def _band(length: int, taps: int, device: str) -> Tensor:
    """The filter along an axis, as a matrix (length - taps + 1, length)."""
    import torch

    at = np.arange(taps) - taps // 2
    window = np.exp(-0.5 * (at / (taps / 5.0)) ** 2)
    band = np.zeros((max(length - taps + 1, 0), length))
    for row in range(len(band)):
        band[row, row : row + taps] = window / window.sum()
    return torch.from_numpy(band).to(device)
