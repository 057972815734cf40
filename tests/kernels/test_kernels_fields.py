"""Cells and stars: the compiled loops of this machine against the reference, to the last bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from scuff import kernels

SHAPES = [(3, 3, 40, 61), (2, 1, 7, 33), (1, 3, 1, 1), (0, 3, 8, 8)]
STARS, LONGEST = 5, 60


def _are_equal(call: Callable[[], Tensor]) -> bool:
    with kernels.use_backend("reference"):
        expected = call()
    return torch.equal(call(), expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_cells(shape: tuple[int, ...]) -> None:
    chance, (n, _, height, width) = torch.Generator().manual_seed(0), shape
    twist, density, size = torch.rand(3, n, generator=chance) * torch.tensor([[100.0], [3.0], [20.0]])
    assert _are_equal(lambda: kernels.voronoi_cells(twist, density, size + 5.0, height, width, 5.0))


@pytest.mark.parametrize("shape", SHAPES)
def test_stars(shape: tuple[int, ...]) -> None:
    chance, (n, _, height, width) = torch.Generator().manual_seed(1), shape
    x = torch.rand(shape, generator=chance)
    centre = torch.rand(n, STARS, 2, generator=chance) * torch.tensor([height, width])
    centre[:, 0] = centre[:, 0].floor()  # on a pixel, where the angle is that of no direction
    count = torch.randint(20, LONGEST + 1, (n, STARS), generator=chance)
    lengths = torch.rand(n, STARS, LONGEST, generator=chance) * height / 4
    assert _are_equal(lambda: kernels.light_stars(x, centre, count, lengths))
    one = (centre[:, 0], count[:, 0], lengths[:, 0])
    assert _are_equal(lambda: kernels.fade_around_star(x, *one, 0.7))
