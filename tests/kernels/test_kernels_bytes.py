"""Primitives on bytes, against the reference and against the libraries whose arithmetic they follow."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage

from scuff import kernels
from scuff.kernels.borders import padded_index
from scuff.kernels.numba_cpu import lookups, mixtures, windows
from scuff.ops import resize

SIZES = [(1, 1), (2, 5), (17, 9), (33, 47)]


def _both(call):
    with kernels.use_backend("reference"):
        expected = call()
    return expected, call()


def _bytes(height: int, width: int, count: int = 2) -> torch.Tensor:
    generator = torch.Generator().manual_seed(height)
    return torch.randint(0, 256, (count, 3, height, width), dtype=torch.uint8, generator=generator)


def _numbers(*shape: int, low: int, high: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(low, high + 1, shape, dtype=torch.int32, generator=generator)


@pytest.fixture(params=["one by one", "at once"])
def lookups_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How bytes go through a table that channels share: many at once only where the processor can do that."""
    monkeypatch.setattr(lookups, "HAS_LOOKUPS", lookups.HAS_LOOKUPS and request.param == "at once")


@pytest.mark.usefixtures("lookups_of")
@pytest.mark.parametrize(("height", "width"), [*SIZES, (24, 32)])
@pytest.mark.parametrize("shared", [True, False])
def test_lookup(height: int, width: int, shared: bool) -> None:
    x, tables = _bytes(height, width), _numbers(2, 1 if shared else 3, 256, low=0, high=255).to(torch.uint8)
    for layout in (x, x.contiguous(memory_format=torch.channels_last)):
        expected, fast = _both(lambda layout=layout: kernels.lookup(layout, tables))
        assert torch.equal(fast, expected)
    assert expected[1, 2, -1, 0] == tables[1, 0 if shared else 2, x[1, 2, -1, 0].long()]


@pytest.mark.usefixtures("lookups_of")
def test_lookup_of_tables_that_keep_and_turn_bits() -> None:
    levels = torch.arange(256)
    tables = torch.stack((levels, 0 * levels, 255 - levels, levels & 192, levels + 1 & 255)).to(torch.uint8)
    x = _bytes(8, 8).contiguous(memory_format=torch.channels_last)
    for chosen in ([[0, 1, 0], [2, 3, 0]], [[0, 4, 2], [4, 4, 4]], [[2], [3]]):
        expected, fast = _both(lambda chosen=chosen: kernels.lookup(x, tables[torch.tensor(chosen)]))
        assert torch.equal(fast, expected)


ALL_COLOURS = torch.cartesian_prod(*[torch.arange(0, 256, 5)] * 3).to(torch.uint8).T.reshape(1, 3, -1, 52)


@pytest.mark.parametrize("space", ["hsv", "hls", "pillow_hsv"])
def test_map_colours(space: str) -> None:
    tables = _numbers(1, 3, 256, low=0, high=255).to(torch.uint8)
    expected, fast = _both(lambda: kernels.map_colours(ALL_COLOURS, space, tables, torch.tensor([True])))
    assert torch.equal(fast, expected)
    still = kernels.map_colours(ALL_COLOURS, space, tables, torch.tensor([False]))
    assert torch.equal(still, ALL_COLOURS)


def test_pillow_hsv_is_pillows() -> None:
    identity = torch.arange(256, dtype=torch.uint8).expand(1, 3, 256)
    ours = kernels.map_colours(ALL_COLOURS, "pillow_hsv", identity, torch.tensor([True]))
    picture = Image.fromarray(ALL_COLOURS[0].permute(1, 2, 0).contiguous().numpy())
    theirs = torch.from_numpy(np.array(picture.convert("HSV").convert("RGB"))).permute(2, 0, 1)
    difference = (ours[0].int() - theirs.int()).abs()
    assert difference.max() == 0


@pytest.mark.parametrize("space", ["hsv", "hls"])
def test_there_and_back_is_close(space: str) -> None:
    """Hue has 180 steps for 1530 distinct ones, so colours move a little; greys do not move at all."""
    identity = torch.arange(256, dtype=torch.uint8).expand(1, 3, 256)
    there_and_back = kernels.map_colours(ALL_COLOURS, space, identity, torch.tensor([True]))
    assert (there_and_back.int() - ALL_COLOURS.int()).abs().max() <= 6
    greys = torch.arange(256, dtype=torch.uint8).expand(1, 3, 1, 256)
    assert torch.equal(kernels.map_colours(greys, space, identity, torch.tensor([True])), greys)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("border", ["zeros", "edge", "mirror", "reflect"])
def test_remap(height: int, width: int, border: str) -> None:
    generator = torch.Generator().manual_seed(1)
    rows, columns = (torch.rand(2, 6, 11, generator=generator) * 5 * side - 2 * side for side in (height, width))
    rows[0, 0, 0], columns[0, 0, 1] = float("inf"), -1e30
    x = _bytes(height, width)
    expected, fast = _both(lambda: kernels.remap(x, rows, columns, border))
    assert torch.equal(fast, expected)
    mode = {"zeros": "grid-constant", "edge": "nearest", "mirror": "mirror", "reflect": "reflect"}[border]
    snapped = [torch.floor(at[1] * 32 + 0.5).double().numpy() / 32 for at in (rows, columns)]
    theirs = ndimage.map_coordinates(x[1, 2].double().numpy(), snapped, order=1, mode=mode)
    if border != "mirror" or min(height, width) > 1:  # scipy has no mirror image of a single pixel
        assert np.abs(fast[1, 2].numpy() - theirs).max() <= 0.5 + 1e-9


def test_remap_copies_at_whole_coordinates() -> None:
    x = _bytes(7, 9)
    rows, columns = torch.meshgrid(torch.arange(7.0), torch.arange(9.0), indexing="ij")
    assert torch.equal(kernels.remap(x, rows.expand(2, 7, 9), columns.expand(2, 7, 9), "zeros"), x)


@pytest.mark.parametrize(("height", "width"), [*SIZES, (64, 40)])
@pytest.mark.parametrize("channels", [1, 3])
def test_bytes_resized_by_lines(height: int, width: int, channels: int) -> None:
    x = _bytes(height, width, 4)[:, :channels].contiguous()
    factor = torch.tensor([1.0, 1.3, 2.9, 4.0])
    expected, fast = _both(lambda: resize.through_thumbnail(x, factor, 4.0))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[0], x[0])
    cut = _numbers(4, low=0, high=height - 1), _numbers(4, low=0, high=width - 1)
    expected, fast = _both(lambda: resize.enlarge_ends(x, cut[1], cut[0]))
    assert torch.equal(fast, expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_means_of_squares(height: int, width: int, channels: int) -> None:
    """Blocks also where they are larger than the picture; blurs of shares from nothing to all."""
    x = kernels.bytes_to_unit(_bytes(height, width, 5))[:, :channels]
    side, share = torch.tensor([1, 2, 3, 5, 8]), torch.tensor([0.0, 0.3, 0.5, 0.9, 1.0])
    expected, fast = _both(lambda: kernels.block_means(x, side, range(1, 9)))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[0], x[0])
    expected, fast = _both(lambda: kernels.mix_box_blur(x, share))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[0], x[0])


@pytest.mark.parametrize("count", [True, False])
def test_stamp(count: bool) -> None:
    rows, columns = _numbers(3, 20, low=-3, high=20), _numbers(3, 20, low=-3, high=30, seed=1)
    kinds = _numbers(3, 20, low=-1, high=1, seed=2)
    dy, dx = torch.tensor([[0, 0, 1, 1], [0, 1, 2, 99]]).int(), torch.tensor([[0, 1, 0, 1], [2, 1, 0, 0]]).int()
    expected, fast = _both(lambda: kernels.stamp(rows, columns, kinds, dy, dx, 19, 27, count))
    assert torch.equal(fast, expected)
    page = np.zeros((19, 27), int)
    for k in range(20):
        for a, b in zip(dy[kinds[1, k]].tolist(), dx[kinds[1, k]].tolist(), strict=True):
            i, j = int(rows[1, k]) + a, int(columns[1, k]) + b
            if kinds[1, k] >= 0 and 0 <= i < 19 and 0 <= j < 27:
                page[i, j] = page[i, j] + 1 if count else k + 1
    assert np.array_equal(fast[1].numpy(), page)


def test_count_discs() -> None:
    rows, columns = _numbers(2, 15, low=-9, high=30), _numbers(2, 15, low=-9, high=40, seed=1)
    radii = _numbers(2, 15, low=-1, high=12, seed=2)
    expected, fast = _both(lambda: kernels.count_discs(rows, columns, radii, 22, 31))
    assert torch.equal(fast, expected)
    i, j = np.mgrid[:22, :31]
    near = [
        (r >= 0) & ((i - y) ** 2 + (j - x) ** 2 <= r * r)
        for y, x, r in zip(rows[1].tolist(), columns[1].tolist(), radii[1].tolist(), strict=True)
    ]
    assert np.array_equal(fast[1].numpy(), np.sum(near, axis=0))


@pytest.mark.parametrize("channels", [1, 3])
def test_lay_fog(channels: int) -> None:
    """Behind each number of puffs, every level."""
    pixels = torch.arange(256, dtype=torch.uint8).repeat(3, channels, 22, 1)
    puffs, clear = torch.arange(22, dtype=torch.int32)[:, None].repeat(3, 1, 256), torch.tensor([0.93, 0.5, 0.0])
    expected, fast = _both(lambda: kernels.lay_fog(pixels, puffs, clear, 21))
    assert torch.equal(fast, expected)
    assert fast[1, 0, 2, 40] == np.floor(255 * (1 - (1 - 40 / 255) * 0.25) + 0.5)
    assert bool((fast[2, :, 1:] == 255).all())


def test_fill_polygons() -> None:
    corners = torch.stack((_numbers(4, 3, 8, low=0, high=40), _numbers(4, 3, 8, low=0, high=60, seed=1)), dim=-1)
    count = torch.tensor([0, 1, 2, 3], dtype=torch.int32)
    expected, fast = _both(lambda: kernels.fill_polygons(corners, count, 40, 60))
    assert torch.equal(fast, expected)
    assert not bool(fast[0].any())
    square = torch.tensor([[2, 3], [2, 7], [6, 7], [6, 3]]).int().view(1, 1, 4, 2)
    filled = kernels.fill_polygons(square, torch.tensor([1]).int(), 10, 10)[0]
    expected = torch.zeros(10, 10, dtype=torch.bool)
    expected[2:7, 3:8] = True
    assert torch.equal(filled, expected)


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_median(height: int, width: int) -> None:
    x, radius = _bytes(height, width), torch.tensor([1, 3], dtype=torch.int32)
    expected, fast = _both(lambda: kernels.median(x, radius, 3))
    assert torch.equal(fast, expected)
    theirs = ndimage.median_filter(x[1, 0].numpy(), 7, mode="nearest")
    assert np.array_equal(fast[1, 0].numpy(), theirs)


@pytest.mark.parametrize("largest", [7, 8])
@pytest.mark.parametrize("channels", [1, 3])
def test_median_of_any_radius(channels: int, largest: int) -> None:
    """Bit by bit up to a radius of 7, by a histogram beyond; also where all values are the least or the greatest."""
    radius = torch.arange(largest + 3).clamp(max=largest).to(torch.int32)
    x = _bytes(29, 26, len(radius))[:, :channels].contiguous()
    x[-1], x[-2] = 0, 255
    expected, fast = _both(lambda: kernels.median(x, radius, largest))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[0], x[0])


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_take_pixels(height: int, width: int, channels: int) -> None:
    x = _bytes(height, width)[:, :channels]
    for images in (1, 2):  # a plan for all, or one for each
        place = _numbers(images, 5, 7, low=-1, high=height * width - 1)
        expected, fast = _both(lambda place=place: kernels.take_pixels(x, place))
        assert torch.equal(fast, expected)
    k = int(place[1, 2, 3])
    assert fast[1, 0, 2, 3] == (0 if k < 0 else x[1, 0, k // width, k % width])


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_flip_pixels(height: int, width: int, channels: int) -> None:
    x = _bytes(height, width, 4)[:, :channels]
    down, across = torch.tensor([False, True, False, True]), torch.tensor([False, False, True, True])
    expected, fast = _both(lambda: kernels.flip_pixels(x, down, across))
    assert torch.equal(fast, expected)
    assert torch.equal(fast, torch.stack([x[0], x[1].flip(1), x[2].flip(2), x[3].flip(1, 2)]))


@pytest.mark.parametrize("channels", [1, 3])
def test_move_tiles(channels: int) -> None:
    x, edges = _bytes(9, 14)[:, :channels], ((0, 3, 6, 9), (0, 7, 14))
    givers = torch.stack([torch.randperm(6, generator=torch.Generator().manual_seed(k)) for k in range(2)])
    expected, fast = _both(lambda: kernels.move_tiles(x, givers, *edges))
    assert torch.equal(fast, expected)
    top, left = divmod(int(givers[1, 3]), 2)  # the second tile of the second row
    assert torch.equal(fast[1, :, 3:6, 7:], x[1, :, 3 * top : 3 * top + 3, 7 * left : 7 * left + 7])


@pytest.mark.parametrize("channels", [1, 3])
def test_mix_byte_windows(channels: int) -> None:
    x = _bytes(9, 14)[:, :channels]
    rows = torch.tensor([[0, 0, 0, 4, 8], [7, 7, 8, 8, 8]], dtype=torch.int32)  # some repeat, some are at the end
    columns = torch.arange(14, dtype=torch.int32).expand(2, -1)
    generator = torch.Generator().manual_seed(2)
    down, across = (torch.rand(2, n, 1, generator=generator) for n in (5, 14))
    down[0, :2] = 0.0
    down, across = (torch.cat((1.0 - share, share), dim=2) for share in (down, across))
    expected, fast = _both(lambda: kernels.mix_byte_windows(x, rows, down, columns, across))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[0, :, 0], fast[0, :, 1])


@pytest.mark.parametrize("channels", [1, 3])
def test_paint(channels: int) -> None:
    x, page = _bytes(9, 14)[:, :channels], _numbers(2, 9, 14, low=0, high=3)
    for palettes in (1, 2):
        colours = _numbers(palettes, 3, channels, low=0, high=255).to(torch.uint8)
        expected, fast = _both(lambda colours=colours: kernels.paint(x, page, colours))
        assert torch.equal(fast, expected)
    kept = page[1] == 0
    assert torch.equal(fast[1][:, kept], x[1][:, kept])
    paler = kernels.pale_by_number(x / 255.0, page, torch.tensor([1.0, 0.5]))
    assert torch.allclose(paler, torch.where((page > 0)[:, None], 0.5 + 0.5 * (x / 255.0), x / 255.0))
    assert torch.equal(fast[1][:, page[1] == 2], colours[1, 1][:, None].expand(-1, int((page[1] == 2).sum())))


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_greys_and_mixtures(height: int, width: int) -> None:
    x, share = _bytes(height, width, 3), torch.tensor([0.0, 0.37, 1.0])
    expected, fast = _both(lambda: kernels.mix_grey(x, share))
    assert (fast.int() - expected.int()).abs().max() <= 1  # a fused product may decide a half
    assert torch.equal(fast[0], x[0])
    grey = np.stack([np.array(Image.fromarray(i).convert("L")) for i in x.permute(0, 2, 3, 1).contiguous().numpy()])
    assert np.array_equal(fast[2, 1].numpy(), grey[2])
    expected, fast = _both(lambda: kernels.mean_grey(x, torch.tensor([True, False, True])))
    assert torch.allclose(fast, expected)
    assert np.allclose(fast.numpy(), [grey[0].mean(), 0.0, grey[2].mean()])
    assert torch.equal(kernels.sum_levels(x), x.long().sum((1, 2, 3)))


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(("height", "width"), [*SIZES, (24, 32)])
def test_mixtures_of_channels(height: int, width: int, at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixtures, "PICKS_BYTES", mixtures.PICKS_BYTES and at_once)
    x = _bytes(height, width, 3)
    mixture = torch.tensor([[402, 787, 194], [0, 1024, 0], [-2000, 1500, 700]], dtype=torch.int32)
    expected, fast = _both(lambda: kernels.mix_channels(x, mixture))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[:, 1], x[:, 1])


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("layers", [0, 1, 3])
def test_mix_bytes(height: int, width: int, layers: int) -> None:
    """Equal bits: numpy rounds every product, and every sum, to float32, too."""
    stack = _bytes(height, width, 2 * (layers + 1)).unflatten(0, (layers + 1, 2))
    shares = torch.rand(layers + 1, 2, generator=torch.Generator().manual_seed(0))
    theirs = np.zeros((2, 3, height, width), np.float32)
    for layer, share in zip(stack.numpy(), shares.numpy(), strict=True):
        theirs += layer.astype(np.float32) * share[:, None, None, None]
    for first in (stack[0], stack[0].contiguous(memory_format=torch.channels_last)):
        expected, fast = _both(lambda first=first: kernels.mix_bytes(first, stack[1:], shares))
        assert torch.equal(fast, expected)
        assert np.array_equal(fast.numpy(), theirs)


def test_mix_bytes_of_no_images() -> None:
    none = torch.zeros(3, 0, 3, 4, 4, dtype=torch.uint8)
    for mixed in _both(lambda: kernels.mix_bytes(none[0], none, torch.zeros(4, 0))):
        assert mixed.shape == (0, 3, 4, 4)
        assert mixed.dtype == torch.float32


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_box_mean(height: int, width: int) -> None:
    x, size = _bytes(height, width, 3), torch.tensor([1, 5, 6], dtype=torch.int32)
    expected, fast = _both(lambda: kernels.box_mean(x, size, 7))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[0], x[0])
    for k, side in ((1, 5), (2, 6)):
        if min(height, width) > 1:  # scipy has no mirror image of a single pixel
            theirs = ndimage.uniform_filter(x[k, 0].double().numpy(), side, mode="mirror")
            assert np.array_equal(fast[k, 0].numpy(), np.floor(theirs + 0.5 + 1e-9))


def test_box_mean_of_any_side() -> None:
    """Values are added one by one up to a side of 13; of wider squares, running totals are subtracted."""
    x = torch.cat((_bytes(40, 37, 34), torch.full((1, 3, 40, 37), 255, dtype=torch.uint8)))
    size = torch.cat((torch.arange(1, 35), torch.tensor([13]))).to(torch.int32)
    for some in (size <= 13, size > 0):
        largest = int(size[some].max()) | 1
        expected, fast = _both(lambda some=some, largest=largest: kernels.box_mean(x[some], size[some], largest))
        assert torch.equal(fast, expected)


def test_sums_are_divided_exactly_by_16_bits() -> None:
    for side, (factor, shift) in enumerate(windows.DIVISORS.astype(np.int64)):
        if side > 1:
            total = np.arange(255 * side**2 + side**2 // 2 + 1)
            assert total[-1] < 1 << 16
            assert np.array_equal(total * factor >> 16 >> shift, total // side**2)


@pytest.mark.parametrize("border", ["zeros", "edge", "mirror"])
def test_project(border: str) -> None:
    matrix = torch.tensor([[[0.8, 0.3, -2.0], [-0.2, 1.1, 3.0], [0.001, -0.002, 1.0]]]).expand(2, 3, 3)
    extent = torch.tensor([[20, 30], [7, 11]], dtype=torch.int32)
    x = _bytes(17, 23)
    expected, fast = _both(lambda: kernels.project(x, matrix, extent, 20, 30, border))
    # a fused product moves a coordinate across a 64th of a pixel now and then
    assert (fast == expected).float().mean() > 0.995
    assert not bool(fast[1, :, 7:].any())
    assert not bool(fast[1, :, :, 11:].any())
    i, j = np.meshgrid(np.arange(20), np.arange(30), indexing="ij")
    across, down, depth = np.tensordot(matrix[0].double().numpy(), np.stack((j, i, np.ones_like(i))), 1)
    mode = {"zeros": "grid-constant", "edge": "nearest", "mirror": "mirror"}[border]
    theirs = ndimage.map_coordinates(x[0, 0].double().numpy(), (down / depth, across / depth), order=1, mode=mode)
    assert np.abs(fast[0, 0].numpy() - theirs).mean() < 3.0  # 1/64 pixel of noise is up to four levels


def test_nearest_bytes_go_to_the_even_one_at_a_half() -> None:
    levels = torch.arange(0, 511) / 2
    theirs = np.rint((levels / 255).numpy() * np.float32(255.0)).astype(np.uint8)
    for nearest in _both(lambda: kernels.nearest_bytes((levels / 255).view(1, 1, 1, -1))):
        assert nearest.dtype == torch.uint8
        assert np.array_equal(nearest.flatten().numpy(), theirs)
    assert nearest.flatten()[::2].tolist() == list(range(256))


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_correlate_bytes(height: int, width: int, channels: int) -> None:
    x = _bytes(height, width)[:, :channels]
    dy, dx = _numbers(2, 13, low=0, high=4), _numbers(2, 13, low=0, high=4, seed=1)
    weights = torch.rand(2, 13, generator=torch.Generator().manual_seed(0)) - 0.4
    rows, columns = (padded_index(n, 2, 2, "mirror", torch.device("cpu")) for n in (height, width))
    expected, fast = _both(lambda: kernels.correlate_bytes(x, rows, columns, dy, dx, weights))
    assert (fast.int() - expected.int()).abs().max() <= 1  # sums in another order may decide a half
    assert (fast == expected).float().mean() > 0.99


@pytest.mark.parametrize(("height", "width"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_correlate_byte_lines(height: int, width: int, channels: int) -> None:
    x = _bytes(height, width, 3)[:, :channels]
    rows, columns = (padded_index(n, 4, 4, "mirror", x.device) for n in (height, width))
    weights = torch.rand(3, 9, generator=torch.Generator().manual_seed(0)) / 3.0
    weights[0, [0, 1, 7, 8]], weights[1, 0], weights[1, 8] = 0.0, 0.0, 0.0
    steps = torch.arange(9, dtype=torch.int32).expand(3, -1)
    expected, fast = _both(lambda: kernels.correlate_byte_lines(x, rows, columns, steps, weights))
    assert torch.equal(fast, expected)
    units = kernels.bytes_to_unit(x)
    expected, fast_units = _both(lambda: kernels.correlate_lines(units, rows, columns, steps, weights))
    assert torch.equal(fast_units, expected)
    assert torch.equal(fast, torch.floor(255.0 * expected.clamp(0, 1) + 0.5).to(torch.uint8))


@pytest.mark.parametrize(("height", "width"), SIZES)
def test_each_image_changes_its_colours_in_its_own_way(height: int, width: int) -> None:
    x, way = _bytes(height, width, 3), torch.tensor([0, 2, 3])
    same = torch.arange(256).to(torch.uint8).expand(3, 256)
    turned = ((same.int() + 60) % 180).to(torch.uint8)
    expected, fast = _both(lambda: kernels.change_colours(x, way, 255 - same, torch.ones(3), turned))
    assert torch.equal(fast, expected)
    assert torch.equal(fast[0], 255 - x[0])
    assert torch.equal(fast[1, 0], fast[1, 2])  # all grey
    tables = torch.stack((turned, same, same), dim=1)
    assert torch.equal(fast[2:], kernels.map_colours(x, "hsv", tables, way == 3)[2:])
