"""1 - VIF against a plain implementation, and what it must say of simple cases."""

import numpy as np
import pytest
from golden.pictures import pictures_32, pictures_224
from scipy.signal import convolve2d

import scuff
from scuff.metrics import vif_distance


def _plain(a: np.ndarray, b: np.ndarray, windows: tuple[int, ...]) -> float:
    """One pair of (H, W, 3), scale by scale, with two-dimensional windows."""
    a, b = (x.astype(float) @ np.array([0.299, 0.587, 0.114]) for x in (a, b))
    left = there = 0.0
    for scale, n in enumerate(windows):
        t = np.arange(n) - n // 2
        line = np.exp(-(t**2) / (2 * (n / 5) ** 2))
        window = np.outer(line, line) / line.sum() ** 2
        mean = lambda x: convolve2d(x, window, "valid")  # noqa: E731, B023
        if scale:
            a, b = mean(a)[::2, ::2], mean(b)[::2, ::2]
        va, vb, c = mean(a * a) - mean(a) ** 2, mean(b * b) - mean(b) ** 2, mean(a * b) - mean(a) * mean(b)
        va, vb = np.maximum(va, 0), np.maximum(vb, 0)
        g = c / (va + 1e-10)
        sv = vb - g * c
        g[va < 1e-10], sv[va < 1e-10] = 0, vb[va < 1e-10]
        g[vb < 1e-10], sv[vb < 1e-10] = 0, 0
        sv[g < 0] = vb[g < 0]
        g[g < 0] = 0
        sv = np.maximum(sv, 1e-10)
        va = np.where(va < 1e-10, 0, va)
        left += np.log10(1 + g**2 * va / (sv + 2)).sum()
        there += np.log10(1 + va / 2).sum()
    return max(0.0, 1 - left / there)


@pytest.mark.parametrize("entry", ["gaussian_noise", "fog", "contrast", "pixelate", "defocus_blur"])
def test_it_is_the_plain_formula(entry):
    small, large = pictures_32()[:3], pictures_224()[:1]
    worse = scuff.corrupt(small, f"cifar10-c/{entry}", 3)
    expected = [_plain(a, b, (9, 5)) for a, b in zip(small, worse, strict=True)]
    assert vif_distance(small, worse) == pytest.approx(expected, abs=1e-9)
    worse = scuff.corrupt(large, f"imagenet-c/{entry}", 3)
    assert vif_distance(large[0], worse[0]) == pytest.approx([_plain(large[0], worse[0], (17, 9, 5, 3))], abs=1e-9)


def test_simple_cases():
    x = pictures_32()[:2]
    assert vif_distance(x, x).tolist() == [0.0, 0.0]
    assert vif_distance(x / 255.0, x).max() < 1e-6
    assert vif_distance(x, np.full_like(x, 128)).min() > 0.999
    flat = np.full((1, 32, 32, 1), 100, np.uint8)
    assert vif_distance(flat, flat + 3).tolist() == [0.0]  # there was nothing to lose
    assert vif_distance(x[:0], x[:0]).shape == (0,)


def test_wrong_images():
    x = pictures_32()
    with pytest.raises(ValueError, match="as many images of the same size"):
        vif_distance(x[:2], x[:3])
    with pytest.raises(ValueError, match="at least 9 pixels wide"):
        vif_distance(x[:, :8], x[:, :8])
