"""The fast back end of this machine against the reference, primitive by primitive, at awkward sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image

from scuff import kernels
from scuff.kernels.borders import padded_index
from scuff.kernels.numba_cpu import kneading
from scuff.kernels.reference.pixels import box_windows
from scuff.ops import filters

SIZES = [(1, 1), (2, 5), (17, 9), (33, 47)]
CPU = torch.device("cpu")


def _both(call):
    with kernels.use_backend("reference"):
        expected = call()
    return expected, call()


def _bytes(height: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(
        0, 256, (2, 3, height, width), dtype=torch.uint8, generator=torch.Generator().manual_seed(seed)
    )


def _unit(height: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(2, 3, height, width, generator=torch.Generator().manual_seed(seed))


def test_unknown_back_end() -> None:
    with (
        pytest.raises(ValueError, match="choose one of reference, numba_cpu, triton_gpu"),
        kernels.use_backend("metal"),
    ):
        pass


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("border", ["edge", "reflect", "mirror"])
@pytest.mark.parametrize("shared", [True, False])
def test_correlate(height: int, width: int, border: str, shared: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    dy, dx = (torch.randint(0, 11, (2, 7), dtype=torch.int32, generator=generator) for _ in range(2))
    weights = torch.rand(2, 7, generator=generator)
    taps = [t[:1] if shared else t for t in (dy, dx, weights)]
    rows, columns = (padded_index(n, 5, 5, border, CPU) for n in (height, width))
    expected, fast = _both(lambda: kernels.correlate(_unit(height, width), rows, columns, *taps))
    assert (fast - expected).abs().max() < 1e-6


@pytest.mark.parametrize(("height", "width"), [(1, 40), (2, 32), (9, 33), (34, 100)])
@pytest.mark.parametrize("window", [(7, 7), (5, 9), (2, 40), (40, 1)])
def test_rows_that_are_filtered_together(height: int, width: int, window: tuple[int, int]) -> None:
    """Equal bits, whether two rows share what they read or not; the corners of windows are cut off."""
    generator = torch.Generator().manual_seed(2)
    dy, dx = torch.rand(window, generator=generator).nonzero()[1:-1].int().T
    taps = (dy[None], dx[None], torch.rand(1, len(dy), generator=generator))
    rows, columns = (padded_index(n, 20, 20, "mirror", CPU) for n in (height, width))
    expected, fast = _both(lambda: kernels.correlate(_unit(height, width), rows, columns, *taps))
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32])
def test_smear_bytes(height: int, width: int, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(0)
    dy, dx = (torch.randint(0, 11, (2, 9), dtype=torch.int32, generator=generator) for _ in range(2))
    weights = torch.rand(2, 9, generator=generator) / 4
    weights[0, :3] = 0.0
    rows, columns = (padded_index(n, 5, 5, "edge", CPU) for n in (height, width))
    levels = _bytes(height, width).to(dtype)
    expected, fast = _both(lambda: kernels.smear_bytes(levels, rows, columns, dy, dx, weights))
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_correlate_twice(height: int, width: int) -> None:
    """Equal bits: along columns, where nothing is added to rows, then along rows, or with taps on all sides."""
    generator = torch.Generator().manual_seed(1)
    steps, still = torch.arange(13, dtype=torch.int32)[None], torch.zeros(1, 13, dtype=torch.int32)
    down = (padded_index(height, 6, 6, "edge", CPU), padded_index(width, 0, 0, "edge", CPU), steps, still)
    rows, columns = (padded_index(n, 5, 5, "mirror", CPU) for n in (height, width))
    offsets = (torch.randint(0, 11, (2, 7), dtype=torch.int32, generator=generator) for _ in range(2))
    first, second = (
        (*down, torch.rand(1, 13, generator=generator)),
        (rows, columns, *offsets, torch.rand(2, 7, generator=generator)),
    )
    along_rows = (padded_index(height, 0, 0, "edge", CPU), columns, torch.zeros_like(second[2]), *second[3:])
    for x in (_unit(height, width), _bytes(height, width)):
        for then in (second, along_rows):
            expected, fast = _both(lambda x=x, then=then: kernels.correlate_twice(x, first, then))
            assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_perlin_turbulence(height: int, width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    gradients = torch.randn(2, 256, 2, generator=generator)
    order = torch.stack([torch.randperm(256, generator=generator) for _ in range(2)])
    expected, fast = _both(lambda: kernels.perlin_turbulence(gradients, order, height, width))
    assert torch.equal(fast, expected)
    assert (fast[:, 0, 0] == 0.0).all()  # a node of the lattice in every octave


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_caustics_and_plasma(height: int, width: int) -> None:
    time, size, sharpness = torch.tensor([0.0, 17.3]), torch.tensor([13.7, 29.0]), torch.tensor([0.5, 1.0])
    expected, fast = _both(lambda: kernels.caustics(time, size, height, width))
    assert torch.equal(fast, expected)
    rounds = torch.tensor([4, 6])
    expected, fast = _both(lambda: kernels.plasma_waves(time, rounds, sharpness, size, height, width))
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), [*SIZES, (6, 10), (32, 48)])
def test_blur_by_matrices(height: int, width: int) -> None:
    """Equal bits, whether matrices are folded (even sides that a filter treats alike) or not."""
    x = _unit(height, width)
    expected, fast = _both(lambda: filters.gaussian_blur(x, 50.0, 3.0, "reflect"))
    assert torch.equal(fast, expected)
    skew = torch.arange(height * height, dtype=torch.float64).view(height, height)
    expected, fast = _both(lambda: kernels.blur_by_matrices(x, skew, torch.eye(width, dtype=torch.float64)))
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), [*SIZES, (2, 2), (6, 10), (32, 48)])
@pytest.mark.parametrize("kind", ["blue", "brownish"])
def test_spectrum_noise(height: int, width: int, kind: str) -> None:
    """Equal bits, whether products are folded (even sides) or not."""
    expected, fast = _both(lambda: kernels.spectrum_noise(_unit(height, width), kind))
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_resample(height: int, width: int) -> None:
    generator = torch.Generator().manual_seed(0)
    rows, columns = (torch.randint(0, n, (13,), generator=generator) for n in (height, width))
    shares = torch.rand(2, 13, generator=generator)
    expected, fast = _both(lambda: kernels.resample(_unit(height, width), rows, shares[0], columns, shares[1]))
    assert (fast - expected).abs().max() < 1e-6


@pytest.mark.parametrize("zooms", [0, 1, 3])
def test_mean_zoom(zooms: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x = _unit(17, 9)
    rows, columns = (torch.randint(0, n, (zooms, n), generator=generator) for n in (17, 9))
    down, across = (torch.rand(zooms, n, generator=generator) for n in (17, 9))
    expected, fast = _both(lambda: kernels.mean_zoom(x, rows, down, columns, across))
    assert torch.equal(fast, expected)
    zoomed = [kernels.resample(x, *plan) for plan in zip(rows, down, columns, across, strict=True)]
    assert (fast - (2 * x + sum(zoomed)) / (zooms + 2)).abs().max() < 1e-6


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("border", ["reflect", "mirror", "zeros"])
def test_sample_bilinear_far_outside_too(height: int, width: int, border: str) -> None:
    generator = torch.Generator().manual_seed(0)
    rows, columns = (60 * torch.randn(2, 9, 8, generator=generator) for _ in range(2))
    expected, fast = _both(lambda: kernels.sample_bilinear(_unit(height, width), rows, columns, border))
    assert (fast - expected).abs().max() < 5e-6  # the reference passes through normalised coordinates


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("border", ["reflect", "mirror", "zeros"])
@pytest.mark.parametrize("channels", [1, 2, 4, 5])
def test_samples_of_maps_and_fields(height: int, width: int, border: str, channels: int) -> None:
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(2, channels, height, width, generator=generator)
    maps = torch.eye(2, 3) + torch.randn(2, 2, 3, generator=generator) * torch.tensor([0.2, 0.2, 5.0])
    assert torch.equal(*_both(lambda: kernels.sample_affine(x, maps, border)))
    field = torch.randn(2, 2, height, width, generator=generator)
    assert torch.equal(*_both(lambda: kernels.sample_displaced(x, field, 3.7, border)))


@pytest.mark.parametrize(("height", "width"), [*SIZES, (90, 20)])
@pytest.mark.parametrize("channels", [1, 3, 5])
@pytest.mark.parametrize("reach", [0.1, 3.7, 200.0])
def test_kneading_in_bands(height: int, width: int, channels: int, reach: float, monkeypatch) -> None:
    """Bands of two rows find what they read, also where that lies beyond several mirror images."""
    monkeypatch.setattr(kneading, "BAND", 2 * width)
    generator = torch.Generator().manual_seed(3)
    x = torch.rand(3, channels, height, width, generator=generator)
    maps = torch.eye(2, 3) + reach * torch.randn(3, 2, 3, generator=generator) * torch.tensor([0.01, 0.1, 5.0])
    field = torch.randn(3, 2, height, width, generator=generator)
    assert torch.equal(*_both(lambda: kernels.sample_kneaded(x, maps, field, reach)))
    assert torch.equal(*_both(lambda: kernels.sample_kneaded(x, maps, field, -reach)))


@pytest.mark.parametrize("rates", [(-5.0, -1e-8, 0.0, 1e-12, 3.0, 60.0), (-5.0, -1.0)])
def test_what_is_no_rate_spoils_no_count(rates: tuple[float, ...]) -> None:
    rate, u = torch.tensor([rates, rates]), torch.tensor([[0.2], [0.9]]).repeat(1, len(rates))
    with kernels.use_backend("reference"):
        expected = kernels.poisson_quantile(u, rate.clamp(min=0.0))
    assert torch.equal(kernels.poisson_quantile(u, rate)[rate >= 0], expected[rate >= 0])


def test_salt_and_pepper() -> None:
    u = torch.tensor([0.01, 0.05, 0.0500001, 0.1, 0.1000001, 1.0]).expand(2, 3, 1, 6)
    x = torch.full((2, 3, 1, 6), 0.3)
    expected, fast = _both(lambda: kernels.salt_and_pepper(x, u, 0.1))
    assert torch.equal(fast, expected)
    assert fast[0, 0, 0].tolist() == pytest.approx([1.0, 1.0, 0.0, 0.0, 0.3, 0.3])


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("reach", [1, 2, 4])
def test_local_copies(height: int, width: int, reach: int) -> None:
    generator = torch.Generator().manual_seed(0)
    dy, dx = (
        torch.randint(-reach, reach, (2, height, width), dtype=torch.int32, generator=generator) for _ in range(2)
    )
    expected, fast = _both(lambda: kernels.local_copies(_bytes(height, width), dy, dx, reach))
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95, 1.0])
def test_pixelate(height: int, width: int, share: float) -> None:
    rows, columns = max(1, int(height * share)), max(1, int(width * share))
    expected, fast = _both(lambda: kernels.pixelate(_bytes(height, width), rows, columns))
    assert torch.equal(fast, expected)


def test_box_windows_are_pillows() -> None:
    """Each output of a shrunken identity matrix names the inputs that it averaged."""
    for length in (1, 2, 5, 32, 33, 211, 224):
        for size in {max(1, int(length * share)) for share in (0.2, 0.25, 0.5, 0.6, 0.949, 0.95, 1.0)}:
            identity = Image.fromarray(np.eye(length, dtype=np.float32))
            used = np.asarray(identity.resize((size, length), Image.Resampling.BOX)) > 0
            start, stop = box_windows(length, size)
            t = np.arange(length)[:, None]
            assert np.array_equal(used, (t >= start) & (t < stop)), (length, size)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_link_edges(share: float) -> None:
    generator = torch.Generator().manual_seed(0)
    weak = torch.rand(4, 50, 61, generator=generator) < share
    strong = torch.rand(4, 50, 61, generator=generator) < 0.01
    expected, fast = _both(lambda: kernels.link_edges(weak, strong))
    assert torch.equal(fast, expected)
    assert (expected & ~weak).sum() == 0
    assert bool((expected | ~(weak & strong)).all())


def test_chamfer_distance() -> None:
    edges = torch.rand(4, 50, 61, generator=torch.Generator().manual_seed(0)) > 0.995
    edges[3] = False
    expected, fast = _both(lambda: kernels.chamfer_distance(edges, 20.0))
    assert (fast - expected).abs().max() < 1e-5
    assert bool((fast[3] == 20.0).all())
    alone = torch.zeros(1, 9, 9, dtype=torch.bool)
    alone[0, 4, 4] = True
    distance = kernels.chamfer_distance(alone, 20.0)[0]
    assert distance[4, 5] == 1.0
    assert distance[5, 5].item() == pytest.approx(1.4)
    assert distance[6, 5].item() == pytest.approx(2.1969)


@pytest.mark.parametrize("channels_last", [True, False])
def test_bytes_survive_the_round_trip(channels_last: bool) -> None:
    pixels = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16).expand(2, 3, 16, 16)
    pixels = pixels.contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)
    expected, unit = _both(lambda: kernels.bytes_to_unit(pixels))
    assert torch.equal(unit, expected)
    assert unit.is_contiguous()
    assert torch.equal(kernels.unit_to_bytes(unit, torch.empty_like(pixels)), pixels)


def test_unit_to_bytes_clips_and_truncates() -> None:
    y = torch.tensor([-1.0, 0.0, 0.999 / 255, 1.0 / 255, 254.9 / 255, 1.0, 7.0]).view(1, 1, 1, 7)
    expected, fast = _both(lambda: kernels.unit_to_bytes(y, torch.empty(y.shape, dtype=torch.uint8)))
    assert fast.flatten().tolist() == expected.flatten().tolist() == [0, 0, 0, 1, 254, 255, 255]
    for nearest in (False, True):
        grid = kernels.bytes_to_unit(kernels.unit_to_bytes(y, torch.empty(y.shape, dtype=torch.uint8), nearest))
        expected, fast = _both(lambda nearest=nearest: kernels.unit_on_grid(y, nearest))
        assert torch.equal(fast, expected)
        assert torch.equal(fast, grid)


def test_plasma_and_crops() -> None:
    generator = torch.Generator().manual_seed(0)
    noise = 2 * torch.rand(3, 64, 64, generator=generator) - 1
    expected, fast = _both(lambda: kernels.plasma(noise, 1.7))
    assert (fast - expected).abs().max() < 1e-6
    table = torch.rand(4, 3, 50, 60, generator=generator)
    which, corners = torch.tensor([0, 3, 2]), torch.tensor([[0, 28], [5, 1], [18, 0]])
    x = torch.rand(3, 3, 32, 32, generator=generator)
    expected, fast = _both(lambda: kernels.blend_windows(x, 0.7, table, which, corners, 0.3))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[1], 0.7 * x[1] + 0.3 * table[3, :, 5:37, 1:33])


def test_compiling_without_a_place_to_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import caching

    from scuff.kernels.numba_cpu.compiling import compiled

    monkeypatch.setattr(caching.CompileResultCacheImpl, "_locator_classes", [])
    assert compiled(lambda v: v + 1)(41) == 42


def test_threads_do_not_show() -> None:
    keys = torch.arange(9)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = kernels.normal(keys, 1, 1001)
        torch.set_num_threads(4)
        assert torch.equal(kernels.normal(keys, 1, 1001), alone)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize("nearest", [True, False])
def test_any_number_becomes_a_byte(nearest: bool, channels_last: bool) -> None:
    """Also far outside, and what is no number; at sizes that leave a rest of the sixteens that are made at once."""
    x = torch.rand(2, 3, 37, 31, generator=torch.Generator().manual_seed(0)) * 1.4 - 0.2
    x[0, :, 0, :6] = torch.tensor([float("inf"), -float("inf"), 3e38, -3e38, 1e9, -1e9])
    x[1] = torch.arange(3 * 37 * 31).view(3, 37, 31) / 2040.0  # on the boundaries between levels
    layout = torch.channels_last if channels_last else torch.contiguous_format
    out = torch.empty(x.shape, dtype=torch.uint8, memory_format=layout)
    expected, fast = _both(lambda: kernels.unit_to_bytes(x, out.clone(), nearest))
    assert torch.equal(fast, expected)
    x[0, 1] = float("nan")
    assert kernels.unit_to_bytes(x, out, nearest)[0, 1].max() == 0
