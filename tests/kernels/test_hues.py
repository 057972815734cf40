"""Hues of real colours, against the reference and against Python's own `colorsys`."""

from __future__ import annotations

import colorsys

import pytest
import torch

from scuff import kernels

SIZES = [(1, 1), (2, 5), (33, 47)]


def _colours(height: int, width: int) -> torch.Tensor:
    """Random ones, with some on the grid of bytes: there, channels are equal, and lightness is a half."""
    x = torch.rand(2, 3, height, width, generator=torch.Generator().manual_seed(width))
    x[1] = torch.floor(3.0 * x[1]) / 2.0
    return x


def _both(call):
    with kernels.use_backend("reference"):
        expected = call()
    return expected, call()


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_hls_there_and_back(height: int, width: int) -> None:
    x = _colours(height, width).clamp(max=1.0)
    expected, fast = _both(lambda: kernels.to_hls(x))
    assert all(torch.equal(a, b) for a, b in zip(fast, expected, strict=True))
    hue, light, saturation = fast
    for turn in (0.0, 0.3, -2.7, 5.5):
        expected, back = _both(lambda turn=turn: kernels.from_hls(hue + turn, light, saturation))
        assert torch.equal(back, expected)
    red, green, blue = x[0, :, -1, 0].tolist()
    theirs = colorsys.rgb_to_hls(red, green, blue)
    assert [t[0, -1, 0].item() for t in fast] == pytest.approx(theirs, abs=1e-5)
    assert (kernels.from_hls(*fast) - x).abs().max() < 1e-5


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_shift_hue(height: int, width: int) -> None:
    x, turn = _colours(height, width).clamp(max=1.0), torch.tensor([0.4, -0.15])
    expected, fast = _both(lambda: kernels.shift_hue(x, turn))
    assert torch.equal(fast, expected)
    hue, saturation, value = colorsys.rgb_to_hsv(*x[0, :, -1, 0].tolist())
    assert fast[0, :, -1, 0].tolist() == pytest.approx(
        colorsys.hsv_to_rgb((hue + 0.4) % 1.0, saturation, value), abs=1e-5
    )


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_iso_noise(height: int, width: int) -> None:
    x, intensity = _colours(height, width).clamp(max=1.0), torch.tensor([0.4, 2.5])
    generator = torch.Generator().manual_seed(height)
    u, turn = torch.rand(2, height, width, generator=generator), torch.randn(2, height, width, generator=generator)
    expected, fast = _both(lambda: kernels.iso_noise(x, intensity, u, turn))
    assert torch.equal(fast, expected)
    quiet = kernels.iso_noise(x, torch.zeros(2), u, torch.zeros_like(turn))
    assert (quiet - x).abs().max() < 1e-5  # to hues and back
