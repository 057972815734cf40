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
