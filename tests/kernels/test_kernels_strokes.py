"""Drops, spline reads, lines and dither: the fast back end of this machine against the reference, at awkward sizes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from scuff import kernels
from scuff.ops import warp

SIZES = [(0, 3, 9, 8), (1, 1, 1, 1), (2, 3, 2, 5), (2, 1, 17, 9), (3, 3, 33, 47)]


def _both(call):
    with kernels.use_backend("reference"):
        expected = call()
    return expected, call()


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _bytes(shape: tuple[int, ...]) -> Tensor:
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=_generator())


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("radius", [0.7, 3.0, 11.2])
def test_refract_drops(shape: tuple[int, ...], radius: float) -> None:
    x = torch.rand(shape, generator=_generator())
    centres = torch.rand(shape[0], 30, 2, generator=_generator()) * torch.tensor(shape[2:])
    centres[:, :1] = torch.tensor(shape[2:]).float()  # the far corner belongs to the image too
    before = x.clone()
    expected, fast = _both(lambda: kernels.refract_drops(x, centres, radius, 1.4))
    assert torch.allclose(fast, expected, rtol=0.0, atol=1e-4)  # each drop reads what earlier ones have rounded
    assert torch.equal(x, before)


def test_a_drop_bends_as_the_sines_say() -> None:
    """Read back from a ramp, where the value is the place: depth * tan(a - asin(sin(a) / index)) along each axis."""
    ramp = torch.arange(41.0).expand(1, 1, 41, 41)
    for axis, x in enumerate((ramp.mT, ramp)):
        centre = torch.tensor([20.25, 19.5])
        bent = kernels.refract_drops(x, centre[None, None], 8.0, 1.6)[0, 0]
        offset = (
            torch.stack(torch.meshgrid(torch.arange(41.0), torch.arange(41.0), indexing="ij")) - centre[:, None, None]
        )
        depth = (64.0 - offset.square().sum(0)).clamp(min=0.0).sqrt()
        a = torch.atan2(offset[axis].abs(), depth)
        shift = depth * torch.tan(a - torch.asin(torch.sin(a) / 1.6)) * offset[axis].sign()
        assert torch.allclose(bent, x[0, 0] - shift, atol=1e-4)
        assert shift.abs().max() > 1.0


@pytest.mark.parametrize("shape", [*SIZES, (9, 3, 6, 5)])  # more planes than share a plan
def test_sum_spline_reads(shape: tuple[int, ...]) -> None:
    height, width = shape[2:]
    coefficients = torch.rand(shape, generator=_generator())
    rows, columns = ((n + 3) * torch.rand(6, 7, 11, generator=_generator()) - 2 for n in (height, width))
    rows[0], columns[0] = height - 1, width - 1  # the last pixel is inside, with two more after it
    weights = torch.rand(6, generator=_generator())
    expected, fast = _both(lambda: kernels.sum_spline_reads(coefficients, rows, columns, weights))
    assert fast.shape == (*shape[:2], 7, 11)
    assert torch.allclose(fast, expected, rtol=0.0, atol=2e-6)


def test_spline_reads_give_the_pixels_back() -> None:
    x = torch.rand(2, 3, 13, 1, generator=_generator())
    rows, columns = torch.meshgrid(torch.arange(-1.0, 14.0), torch.zeros(1), indexing="ij")
    y = warp.sum_reads(x, rows[None], columns[None], torch.ones(1))
    assert torch.allclose(y[:, :, 1:-1], x, atol=1e-5)
    assert bool((y[:, :, [0, -1]] == 0).all())  # black outside


@pytest.mark.parametrize("shape", [(2, 3, 9, 7), (1, 1, 5, 40), (3, 2, 1, 3), (0, 3, 8, 8)])
def test_spline_bytes_are_the_same_to_the_bit(shape: tuple[int, ...]) -> None:
    pixels = torch.randint(0, 256, shape, generator=_generator(), dtype=torch.uint8)
    rows, columns = (torch.rand(*shape[:2], n + 4, generator=_generator()) * (n + 2) - 2 for n in shape[2:])
    expected, fast = _both(lambda: kernels.read_spline_bytes(pixels, rows, columns))
    assert torch.equal(fast, expected)


def test_spline_bytes_keep_what_is_flat_and_are_black_outside() -> None:
    flat = torch.full((2, 3, 9, 7), 201, dtype=torch.uint8)
    rows, columns = (torch.rand(2, 3, n, generator=_generator()) * (length - 1) for n, length in ((5, 9), (4, 7)))
    rows[:, :, 0], columns[:, :, -1] = -0.1, 6.1
    read = kernels.read_spline_bytes(flat, rows, columns)
    assert bool((read[:, :, 1:, :-1] == 201).all())
    assert bool((read[:, :, 0] == 0).all())
    assert bool((read[..., -1] == 0).all())


def test_pixels_are_read_at_their_middle_or_kept() -> None:
    x = torch.rand(2, 3, 9, 7, generator=_generator())
    grid = torch.meshgrid(torch.arange(9), torch.arange(7), indexing="ij")
    rows, columns = (at.expand(2, -1, -1) + 0.5 for at in grid)
    assert torch.equal(kernels.sample_or_keep(x, rows, columns), x)
    below = kernels.sample_or_keep(x, rows + 1.0, columns)
    assert torch.equal(below[:, :, :-1], x[:, :, 1:])
    assert torch.equal(below[:, :, -1], x[:, :, -1])


def _ends(shape: tuple[int, ...], count: int) -> Tensor:
    """Whole numbers in and around the image; the first three lines are a point, a row and a column."""
    ends = torch.rand(shape[0], count, 4, generator=_generator()) * 3 - 1
    ends = torch.trunc(ends * torch.tensor(shape[2:] * 2))
    ends[:, 0, 2:] = ends[:, 0, :2] = torch.tensor(shape[2:]) // 2
    ends[:, 1, 2], ends[:, 2, 3] = ends[:, 1, 0], ends[:, 2, 1]
    return ends


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("level", [128.0, 77.0])
def test_draw_lines(shape: tuple[int, ...], level: float) -> None:
    pixels, ends = _bytes(shape), _ends(shape, 60)
    expected, fast = _both(lambda: kernels.draw_lines(pixels, ends, level))
    assert torch.equal(fast, expected)
    assert torch.equal(pixels, _bytes(shape))
    assert torch.equal(kernels.draw_lines(pixels, ends[:, :0], level), pixels)


def test_a_line_covers_what_it_touches() -> None:
    pixels = torch.zeros(1, 1, 5, 9, dtype=torch.uint8)
    drawn = kernels.draw_lines(pixels, torch.tensor([[[2.0, 1.0, 2.0, 7.0]]]), 200.0)[0, 0]
    assert drawn[2].tolist() == [0, *[200] * 7, 0]
    assert int(drawn.sum()) == 7 * 200  # a straight one touches nothing else
    slanted = kernels.draw_lines(pixels, torch.tensor([[[0.0, 0.0, 4.0, 4.0]]]), 200.0)[0, 0]
    assert slanted[1].tolist() == [58, 200, 58, 0, 0, 0, 0, 0, 0]  # 200 (1 - 1 / sqrt 2), truncated


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("levels", [2, 5, 13])
def test_dither_rows(shape: tuple[int, ...], levels: int) -> None:
    pixels = _bytes(shape)
    expected, fast = _both(lambda: kernels.dither_rows(pixels, levels))
    assert torch.equal(fast, expected)
    assert set(fast.unique().tolist()) <= {255 * k // (levels - 1) for k in range(levels)}


def test_dither_passes_the_error_on() -> None:
    """Two levels, 100 throughout: 0 leaves an error of 100, of which 43 or 6 or both go to the next pixel."""
    pixels = torch.full((1, 1, 3, 2), 100, dtype=torch.uint8)
    assert kernels.dither_rows(pixels, 2)[0, 0].tolist() == [[0, 0], [0, 255], [0, 255]]
    pixels[..., 1] = 80
    assert kernels.dither_rows(pixels, 2)[0, 0].tolist() == [[0, 0], [0, 255], [0, 0]]
