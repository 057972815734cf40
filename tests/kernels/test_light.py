"""Compiled loops over light and colours give what plain torch does, to the last bit."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from scuff import kernels

SIZES = [(2, 3, 17, 33), (1, 3, 1, 1), (3, 1, 5, 4), (0, 3, 8, 8)]


def _both(call: Callable[[], Tensor]) -> tuple[Tensor, Tensor]:
    with kernels.use_backend("reference"):
        reference = call()
    with kernels.use_backend("numba_cpu"):
        return reference, call()


def _scene(shape: tuple[int, ...]) -> Tensor:
    """Noise with black, grey and whole levels in it."""
    x = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    x[..., :2, :] = torch.round(3 * x[..., :2, :]) / 3
    x[..., -1:, :] = x[:, :1, -1:, :]
    x[..., :1] = 0.0
    return x


CALLS: dict[str, Callable[[Tensor], Tensor]] = {
    "whiten": lambda x: kernels.whiten(x, 0.85),
    "brighter": lambda x: kernels.shift_value(x, 0.3),
    "darker": lambda x: kernels.shift_value(x, -0.4),
    "paler": lambda x: kernels.scale_saturation(x.expand(-1, 3, -1, -1), 0.3, 0.0),
    "stronger": lambda x: kernels.scale_saturation(x.expand(-1, 3, -1, -1), 20, 0.2),
    "flatter": lambda x: kernels.scale_contrast(x, 0.1),
    "flakes": lambda x: kernels.bytes_above(3.0 * x - 1.0, 0.6),
    "noise": lambda x: kernels.add_scaled(x, x.flip(0, 2).contiguous() - 0.5, 0.26),
    "cloud": lambda x: kernels.add_cloud(x, torch.cat((x, x), 3)[:, :1, :, : x.shape[3]], 1.5),
    "cloud over black": lambda x: kernels.add_cloud(torch.zeros_like(x), x[:, :1], 1.5),
    "a field for all channels": lambda x: kernels.add_field(x, x[:, 0].flip(1).contiguous() - 0.5, 0.7),
    "a field for each": lambda x: kernels.add_field(x, x.flip(2), -0.3),
    "means": kernels.plane_means,
    "means of columns": lambda x: kernels.plane_means(x.mT),
}


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("name", CALLS)
def test_loops_give_what_torch_does(name: str, shape: tuple[int, ...]) -> None:
    x = _scene(shape)
    reference, compiled = _both(lambda: CALLS[name](x))
    assert compiled.dtype == reference.dtype
    assert torch.equal(reference, compiled)


@pytest.mark.parametrize("shape", SIZES)
def test_streaks_and_windows(shape: tuple[int, ...]) -> None:
    x, chance = _scene(shape), torch.Generator().manual_seed(1)
    n, channels, height, width = shape
    streaks = torch.randint(0, 256, (n, 1, height, width), dtype=torch.uint8, generator=chance)
    assert torch.equal(*_both(lambda: kernels.add_streaks(x, streaks)))
    table = torch.rand(4, channels, height + 9, width + 5, generator=chance)
    which = torch.randint(0, 4, (n,), generator=chance)
    corners = torch.randint(0, 6, (n, 2), generator=chance)
    assert torch.equal(*_both(lambda: kernels.blend_windows(x, 0.7, table, which, corners, 0.45)))


@pytest.mark.parametrize("shape", SIZES)
def test_glow(shape: tuple[int, ...]) -> None:
    x, (n, _, height, width) = _scene(shape), shape
    centres = torch.tensor([[0.0, width - 1.0], [height // 2, -3.0], [2.0, 1.0]])[:n]
    reference, compiled = _both(lambda: kernels.add_glow(x, centres, (1.0, 4.0, 25.0), (0.0, 0.25, 0.5, 1.0)))
    assert torch.equal(reference, compiled)
    if n == 3:
        left = torch.tensor([0.0, 0.0, 0.0, 0.25])  # of the row through the centre, squares 1, 0, 1 and 4
        assert torch.equal(compiled[2, :, 2], 1 - (1 - x[2, :, 2]) * left)


@pytest.mark.parametrize("most", [0, 2, 5])
def test_flares(most: int) -> None:
    """Some overlap, some lie outside or are not used, and some reach farther than they are painted."""
    x, chance = _scene((4, 3, 17, 33)), torch.Generator().manual_seed(1)
    places = torch.stack([torch.randint(-6, side + 6, (4, 9), generator=chance).float() for side in (17, 33)], dim=2)
    places[1], places[2, 0] = places[1, :1] + torch.arange(9)[:, None] // 3, torch.tensor([-1e6, 1e6])
    reach = torch.tensor([1.0, 2.2, 5.5]).repeat(4, 3)
    share = torch.rand(4, 9, generator=chance) * torch.tensor([1.0, 0.0, 0.5, 1.0, 1.0, 0.3, 0.2, 1.0, 0.0])
    colour = torch.rand(4, 9, 3, generator=chance)
    reference, compiled = _both(lambda: kernels.paint_flares(x, places, reach, share, colour, most))
    assert torch.equal(reference, compiled)
    alone = kernels.paint_flares(x, places[:, :1] * 0 + 8, reach[:, 2:3], torch.ones(4, 1), colour[:, :1], most)
    i, j = torch.meshgrid(torch.arange(17.0), torch.arange(33.0), indexing="ij")
    under = (i - 8) ** 2 + (j - 8) ** 2 <= min(most, 5.5) ** 2
    expected = torch.where(under, x + (colour[:, 0, :, None, None] - x), x)
    assert torch.equal(alone, expected)
