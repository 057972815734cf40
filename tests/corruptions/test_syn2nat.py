"""The 40 candidates of ImageNet-Syn2Nat, each against its law written out in numpy, scipy or Pillow.

What the pixels become, given the draws. How those are distributed is tested in test_syn2nat_draws.py; that the pictures
resemble the originals', by their statistics, in test_golden.py.
"""

from __future__ import annotations

import io
import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from laws import (
    apply,
    assert_mostly,
    assert_nearest,
    assert_shares,
    assert_truncated,
    draw,
    noise,
    own_places,
    rows_of,
    waves,
)
from PIL import Image
from scipy import ndimage, stats

import scuff
from scuff.suites.suite import SuiteError

SUITE = scuff.load_suite("syn2nat-candidates")
ENTRIES = list(SUITE.entries)


def _address(entry: str) -> str:
    return f"syn2nat-candidates/{entry}"


def _hwc(plane: np.ndarray) -> np.ndarray:
    return plane.transpose(1, 2, 0)


# --- colour spaces of bytes -----------------------------------------------------------------------------------------


def _nearest(z: np.ndarray) -> np.ndarray:
    """Halves go up. They are frequent: every second lightness is one."""
    return np.floor(z + 0.5)


def _hue_degrees(v: np.ndarray) -> np.ndarray:
    red, green, blue = np.moveaxis(v, -1, 0)
    top, spread = v.max(-1), np.ptp(v, axis=-1)
    safe = np.where(spread > 0, spread, 1)
    hue = np.select(
        [spread == 0, top == red, top == green],
        [0 * top, 60 * (green - blue) / safe, 120 + 60 * (blue - red) / safe],
        240 + 60 * (red - green) / safe,
    )
    return hue % 360


def _from_hue(degrees: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """A channel is high within 60 degrees of its own hue, low beyond 120, and on a line in between."""
    away = [np.abs((degrees - own + 180) % 360 - 180) for own in (0, 120, 240)]
    return np.stack([low + (high - low) * np.clip(2 - a / 60, 0, 1) for a in away], axis=-1)


def _to_hsv(v: np.ndarray) -> list[np.ndarray]:
    """Half degrees, 255 (max - min) / max, max: rounded."""
    top = v.max(-1)
    saturation = np.where(top > 0, 255 * np.ptp(v, axis=-1) / np.maximum(top, 1), 0)
    return [_nearest(_hue_degrees(v) / 2) % 180, _nearest(saturation), top]


def _from_hsv(hue: np.ndarray, saturation: np.ndarray, value: np.ndarray) -> np.ndarray:
    return _nearest(_from_hue(2 * hue, value * (1 - saturation / 255), value))


def _to_hls(v: np.ndarray) -> list[np.ndarray]:
    """Degrees, (max + min) / 2, and (max - min) over the smaller of max + min and 510 - max - min, in 255ths."""
    total, spread = v.max(-1) + v.min(-1), np.ptp(v, axis=-1)
    room = np.where(total < 255, total, 510 - total)
    return [_hue_degrees(v), total / 2, 255 * spread / np.where(spread > 0, room, 1)]


def _from_hls(degrees: np.ndarray, light: np.ndarray, saturation: np.ndarray) -> np.ndarray:
    reach = np.minimum(light, 255 - light) * saturation / 255
    return _from_hue(degrees, light - reach, light + reach)


def _relit(v: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The lightness of HLS in bytes changed, and back to RGB. Bytes of the hue are half degrees."""
    degrees, light, saturation = _to_hls(v)
    return _nearest(_from_hls(2 * _nearest(degrees / 2), change(_nearest(light)), _nearest(saturation)))


# --- point operations, blurs, patches: exact ------------------------------------------------------------------------
# A law takes the levels 0..255 of one picture, (H, W, 3), and what that picture drew. It gives exact real levels.


def _border(v: np.ndarray, d: dict) -> np.ndarray:
    """A square of 130 is left: rows 47..176 of 224."""
    top, left = (v.shape[0] - 130) // 2, (v.shape[1] - 130) // 2
    out = np.zeros_like(v)
    out[top : top + 130, left : left + 130] = v[top : top + 130, left : left + 130]
    return out


def _cutout(v: np.ndarray, d: dict) -> np.ndarray:
    """The end is counted from the clipped beginning, so holes are whole at the top left, cut at the bottom right."""
    out = v.copy()
    y1, x1 = (min(max(int(c) - 75, 0), n) for c, n in zip(d["centre"], v.shape, strict=False))
    out[y1 : min(y1 + 150, v.shape[0]), x1 : min(x1 + 150, v.shape[1])] = 0
    return out


def _coarse_dropout(v: np.ndarray, d: dict) -> np.ndarray:
    out = v.copy()
    for (y, x), kind in zip(d["places"], d["kinds"], strict=True):
        if kind >= 0:
            out[y : y + 8, x : x + 8] = 0
    return out


def _downscale(v: np.ndarray, d: dict) -> np.ndarray:
    """0.45 = 9 / 20 in whole numbers: of 224 pixels, output j reads floor(floor(101 j / 224) * 20 / 9)."""
    rows, columns = ((np.arange(n) * round(0.45 * n) // n) * 20 // 9 for n in v.shape[:2])
    return v[rows][:, columns]


def _flip(v: np.ndarray, d: dict) -> np.ndarray:
    return (v[::-1], v[:, ::-1], v[::-1, ::-1])[d["way"]]


def _box(v: np.ndarray, d: dict) -> np.ndarray:
    return ndimage.uniform_filter(v, (d["side"], d["side"], 1), mode="mirror")


def _taps(d: dict) -> int:
    return int((d["weights"] > 0).sum())


def _gaussian(v: np.ndarray, d: dict) -> np.ndarray:
    size = _taps(d)
    if size == 9:
        taps = np.array([4, 13, 30, 51, 60, 51, 30, 13, 4]) / 256
    else:
        sigma = 0.3 * ((size - 1) / 2 - 1) + 0.8
        taps = np.exp(-(np.arange(-(size // 2), size // 2 + 1) ** 2) / (2 * sigma**2))
        taps /= taps.sum()
    return ndimage.correlate1d(ndimage.correlate1d(v, taps, 0, mode="mirror"), taps, 1, mode="mirror")


def _motion(v: np.ndarray, d: dict) -> np.ndarray:
    kernel = np.zeros((17, 17))
    np.add.at(kernel, (8 + d["dy"], 8 + d["dx"]), d["weights"])
    return ndimage.correlate(v, kernel[..., None], mode="mirror")


def _three_by_three(v: np.ndarray, d: dict) -> np.ndarray:
    return ndimage.correlate(v, d["weights"].astype(float).reshape(3, 3, 1), mode="mirror")


def _swapped_jpeg(v: np.ndarray, d: dict) -> np.ndarray:
    file = io.BytesIO()
    Image.fromarray(v[..., ::-1].astype(np.uint8)).save(file, "JPEG", quality=int(d["quality"]))
    return np.asarray(Image.open(file), float)[..., ::-1]


NEAREST: dict[str, Callable[[np.ndarray, dict], np.ndarray]] = {
    "border": _border,
    "downscale": _downscale,
    "invert_img": lambda v, d: 255 - v,
    "posterize": lambda v, d: 64 * (v // 64),
    "solarize": lambda v, d: np.where(v >= 200, 255 - v, v),
    "flip": _flip,
    "cutout": _cutout,
    "coarse_dropout": _coarse_dropout,
    "channel_dropout": lambda v, d: np.where(d["dropped"], 0, v),
    "blur": _box,
    "gaussian_blur": _gaussian,
    "median_blur": lambda v, d: ndimage.median_filter(v, (2 * d["radius"] + 1,) * 2 + (1,), mode="nearest"),
    "motion_blur": _motion,
    "sharpen": _three_by_three,
    "emboss": _three_by_three,
    "image_compression": _swapped_jpeg,
    "jpeg_compression": _swapped_jpeg,
}


def _iso_noise(v: np.ndarray, d: dict) -> np.ndarray:
    """In real HLS. The hue's noise is drawn in turns; the grains are the Poisson quantiles of uniform numbers."""
    degrees, light, saturation = _to_hls(v)
    grains = stats.poisson.ppf(d["u"].astype(float), d["intensity"] * light.std())
    return _from_hls(degrees + 360 * d["turn"], light + grains / 255 * (255 - light), saturation)


TRUNCATED: dict[str, Callable[[np.ndarray, dict], np.ndarray]] = {
    "random_brightness": lambda v, d: v + d["shift"],
    "random_contrast": lambda v, d: d["gain"] * v,
    "random_gamma": lambda v, d: 255 * (v / 255) ** np.round(np.float64(d["gamma"]), 2),
    "rgb_shift": lambda v, d: v + d["shift"],
    "gauss_noise": lambda v, d: v + 255 * _hwc(d["noise"]),
    "multiplicative_noise": lambda v, d: v * _hwc(d["factor"]),
    "iso_noise": _iso_noise,
}


def _laws(laws: dict[str, Callable], entry: str, pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the door makes of pictures, and what the law makes of them with the same draws."""
    draws = rows_of(draw(_address(entry), len(pictures), pictures.shape[1:3], seed=3)) or [{}] * len(pictures)
    exact = [laws[entry](v, d) for v, d in zip(pictures.astype(float), draws, strict=True)]
    return scuff.corrupt(pictures, _address(entry), seed=3), np.stack(exact)


def _pictures(size: tuple[int, int] = (224, 224)) -> np.ndarray:
    return np.concatenate((noise(3, size), waves(size)))


# The shorter side decides about scaling: on the second, all is as at 224, but rows are no columns.
SIZES = pytest.mark.parametrize("size", [(224, 224), (224, 300)])


@SIZES
@pytest.mark.parametrize("entry", NEAREST)
def test_nearest_byte_to_the_law(entry: str, size: tuple[int, int]) -> None:
    assert_nearest(*_laws(NEAREST, entry, _pictures(size)))


@SIZES
@pytest.mark.parametrize("entry", TRUNCATED)
def test_fraction_of_the_law_dropped(entry: str, size: tuple[int, int]) -> None:
    assert_truncated(*_laws(TRUNCATED, entry, _pictures(size)))


def test_sepia_mixes_the_channels() -> None:
    """Within a level of the real matrix: the original's has weights in 1024ths."""
    matrix = np.array([(0.393, 0.769, 0.189), (0.349, 0.686, 0.168), (0.272, 0.534, 0.131)])
    pictures = _pictures()
    exact = np.clip(pictures @ matrix.T, 0, 255)
    assert_mostly(scuff.corrupt(pictures, _address("to_sepia")), exact, within=0.75, share=0.95, worst=1)


@pytest.mark.parametrize("entry", ["border", "downscale", "invert_img", "posterize", "solarize", "to_sepia"])
def test_six_candidates_draw_nothing(entry: str) -> None:
    assert draw(_address(entry), 3) == {}


CUTOUT = [(0, (0, 150)), (75, (0, 150)), (76, (1, 151)), (112, (37, 187)), (150, (75, 224)), (224, (149, 224))]


@pytest.mark.parametrize(("row", "rows"), CUTOUT)
@pytest.mark.parametrize(("column", "columns"), CUTOUT)
def test_cutout_is_moved_in_at_the_top_left_and_cut_at_the_bottom_right(
    row: int, rows: tuple, column: int, columns: tuple
) -> None:
    white = np.full((1, 224, 224, 3), 255, np.uint8)
    hole = apply(_address("cutout"), white, {"centre": np.array([[row, column]], np.int32)})[0, ..., 0] == 0
    expected = np.zeros((224, 224), bool)
    expected[slice(*rows), slice(*columns)] = True
    assert np.array_equal(hole, expected)


@pytest.mark.parametrize("size", [(224, 224), (30, 45), (37, 50)])
def test_grid_shuffle_is_a_permutation_of_tiles(size: tuple[int, int]) -> None:
    """Also where 4 does not divide the size: then tiles change places with tiles of the same size."""
    tops, lefts = (np.floor(np.linspace(0, n, 5)).astype(int) for n in size)
    tiles = {(tops[i], lefts[j]): (tops[i + 1] - tops[i], lefts[j + 1] - lefts[j]) for i in range(4) for j in range(4)}
    places = own_places(size).repeat(5, axis=0)
    for picture in scuff.corrupt(places, _address("random_grid_shuffle")):
        sources = set()
        for (top, left), (tall, wide) in tiles.items():
            source = tuple(picture[top, left, :2].astype(int) - 1)
            assert tiles[source] == (tall, wide)
            y, x = source
            assert np.array_equal(picture[top : top + tall, left : left + wide], places[0, y : y + tall, x : x + wide])
            sources.add(source)
        assert sources == set(tiles)


def test_grid_shuffle_is_uniform() -> None:
    """On 4 x 4 pixels every tile is a pixel; where each comes from, and how many stay."""
    found = scuff.corrupt(own_places((4, 4)).repeat(2000, axis=0), _address("random_grid_shuffle")).astype(int)
    source = 4 * (found[..., 0] - 1) + found[..., 1] - 1
    for target in range(16):
        assert_shares(source.reshape(2000, 16)[:, target], np.full(16, 1 / 16))
    staying = (source.reshape(2000, 16) == np.arange(16)).sum(1)
    assert staying.mean() == pytest.approx(1, abs=5 / math.sqrt(2000))  # of deviation 1: five standard errors


# --- warps: reads at 32nds of a pixel -------------------------------------------------------------------------------
# A law gives the real coordinates, rows and columns, at which each output pixel is read.


def _grid(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.mgrid[: v.shape[0], : v.shape[1]].astype(float)
    return i, j


def _affines(v: np.ndarray, d: dict) -> tuple[np.ndarray, np.ndarray]:
    return tuple((n - 1) / 2 + (at - (n - 1) / 2) / d["factor"] for n, at in zip(v.shape, _grid(v), strict=False))


def _rotate(v: np.ndarray, d: dict) -> tuple[np.ndarray, np.ndarray]:
    i, j = _grid(v)
    y, x, angle = i - v.shape[0] / 2, j - v.shape[1] / 2, np.float64(d["angle"])
    return (
        v.shape[0] / 2 + np.sin(angle) * x + np.cos(angle) * y,
        v.shape[1] / 2 + np.cos(angle) * x - np.sin(angle) * y,
    )


def _transpose(v: np.ndarray, d: dict) -> tuple[np.ndarray, np.ndarray]:
    return tuple(at - shift for at, shift in zip(_grid(v), d["offset"], strict=True))


def _elastic(v: np.ndarray, d: dict) -> tuple[np.ndarray, np.ndarray]:
    """Three points a third around the middle are pulled by up to 50 pixels; the affine map of the rest, backwards."""
    middle, third = (v.shape[1] // 2, v.shape[0] // 2), min(v.shape[:2]) // 3
    points = middle + third * np.array([(1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)])
    pulled = points + 50 * d["pull"].astype(float)
    back = np.linalg.solve(np.column_stack((pulled, np.ones(3))), points)
    i, j = _grid(v)
    x, y = np.moveaxis(np.stack((j, i, np.ones_like(i)), axis=-1) @ back, -1, 0)
    return y, x


def _strips(factors: np.ndarray, length: int) -> np.ndarray:
    step, line, before = length // 5, np.zeros(length), 0.0
    for m, factor in enumerate(factors.astype(float)):
        start, stop = m * step, min((m + 1) * step, length)
        after = before + step * factor if (m + 1) * step <= length else length
        line[start:stop] = np.linspace(before, after, stop - start)
        before = after
    return line


def _grid_distortion(v: np.ndarray, d: dict) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.meshgrid(_strips(d["down"], v.shape[0]), _strips(d["across"], v.shape[1]), indexing="ij"))


def _optical(v: np.ndarray, d: dict) -> tuple[np.ndarray, np.ndarray]:
    (height, width), (i, j) = v.shape[:2], _grid(v)
    y, x = (i - (height - 1) / 2) / height, (j - (width - 1) / 2) / width
    square = x**2 + y**2
    grow = 1 + d["bend"] * square + d["bend"] * square**2
    return height * y * grow + height / 2 + d["offset"][0], width * x * grow + width / 2 + d["offset"][1]


WARPS: dict[str, tuple[Callable, str]] = {
    "affines": (_affines, "mirror"),
    "rotate": (_rotate, "mirror"),
    "transpose": (_transpose, "mirror"),
    "elastic_transform": (_elastic, "nearest"),
    "grid_distortion": (_grid_distortion, "mirror"),
    "optical_distortion": (_optical, "mirror"),
}


def _read_at(v: np.ndarray, rows: np.ndarray, columns: np.ndarray, mode: str) -> np.ndarray:
    """Bilinear, at coordinates rounded to 1/32, by scipy."""
    at = np.round(32 * np.stack((rows, columns))) / 32
    return np.stack([ndimage.map_coordinates(c, at, order=1, mode=mode) for c in np.moveaxis(v, -1, 0)], axis=-1)


@SIZES
@pytest.mark.parametrize("entry", WARPS)
def test_warps_read_where_the_law_says(entry: str, size: tuple[int, int]) -> None:
    """Exact, but for reads that float32 rounds to the next 32nd: fewer than one in a thousand, and off by little."""
    law, mode = WARPS[entry]
    found, exact = _laws({entry: lambda v, d: _read_at(v, *law(v, d), mode)}, entry, _pictures(size))
    assert_mostly(found, exact, within=0.5, share=0.999, worst=2 * 255 / 32)


@pytest.mark.parametrize("size", [(224, 224), (225, 150), (33, 41)])
def test_grid_distortion_at_any_size(size: tuple[int, int]) -> None:
    """Five strips of a fifth; what is left over, if anything, runs to the far edge."""
    v = noise(1, size)
    draws = draw(_address("grid_distortion"), 1, size)
    exact = _read_at(v[0].astype(float), *_grid_distortion(v[0], rows_of(draws)[0]), "mirror")
    assert_mostly(apply(_address("grid_distortion"), v, draws)[0], exact, within=0.5, share=0.999)


# --- perspective ----------------------------------------------------------------------------------------------------


def _quadrangle(inset: np.ndarray, height: int, width: int) -> tuple[np.ndarray, int, int]:
    """Top left, top right, bottom right, bottom left (x, y), named by where they lie, and width and height inside.

    One point may get two names. While a side is shorter than 2, all corners move apart, along x for the upper and the
    lower side, then along y for the others.
    """
    (a, b), (c, d), (e, f), (g, h) = inset.astype(float)
    points = np.array([(a, b), (1 - c, d), (1 - e, 1 - f), (g, 1 - h)]) * (width, height)
    total, difference = points.sum(1), points[:, 1] - points[:, 0]
    corners = points[[total.argmin(), difference.argmin(), total.argmax(), difference.argmax()]]
    sizes = []
    for axis, (before, after) in enumerate((([0, 3], [1, 2]), ([0, 1], [3, 2]))):
        while True:
            lengths = np.linalg.norm(corners[after] - corners[before], axis=1) + 1e-6  # 2, but for a rounding, is 2
            apart = (2 - math.floor(lengths.min())) / 2
            if apart <= 0:
                break
            corners[before, axis] -= apart
            corners[after, axis] += apart
        sizes.append(math.floor(lengths.max()))
    return corners, *sizes


def _homography(source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The 3 x 3 matrix that sends four points to four points."""
    rows, right = [], []
    for (x, y), (u, v) in zip(source, target, strict=True):
        rows += [(x, y, 1, 0, 0, 0, -u * x, -u * y), (0, 0, 0, x, y, 1, -v * x, -v * y)]
        right += [u, v]
    return np.append(np.linalg.solve(np.array(rows), np.array(right)), 1).reshape(3, 3)


def _area_axis(small: int, length: int, enlarged: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """First and second pixel that an output pixel mixes, and the share of the second."""
    d, q = np.arange(length), small / length
    if enlarged:
        first = np.floor(d * q)
        share = d + 1 - (first + 1) / q
        share = np.where(share <= 0, 0, share - np.floor(share))
    else:
        at = np.maximum((d + 0.5) * q - 0.5, 0)
        first, share = np.floor(at), at - np.floor(at)
    first = first.astype(int)
    return first, np.minimum(first + 1, small - 1), share


def _perspective(v: np.ndarray, d: dict) -> np.ndarray:
    height, width = v.shape[:2]
    corners, wide, tall = _quadrangle(d["inset"], height, width)
    back = _homography(np.array([(0, 0), (wide, 0), (wide, tall), (0, tall)], float), corners)
    i, j = np.mgrid[:tall, :wide]
    x, y, depth = np.moveaxis(np.stack((j, i, np.ones_like(i)), axis=-1) @ back.T, -1, 0)
    straight = np.floor(_read_at(v, y / depth, x / depth, "grid-constant") + 0.5)
    enlarged = wide < width or tall < height
    first, second, share = _area_axis(tall, height, enlarged)
    straight = straight[first] * (1 - share[:, None, None]) + straight[second] * share[:, None, None]
    first, second, share = _area_axis(wide, width, enlarged)
    return straight[:, first] * (1 - share[:, None]) + straight[:, second] * share[:, None]


@SIZES
def test_perspective_in_two_steps(size: tuple[int, int]) -> None:
    """Read on a grid of the quadrangle's size, then enlarged; the tolerance is that of the warps, in both steps."""
    found, exact = _laws({"perspective": _perspective}, "perspective", np.concatenate((noise(11, size), waves(size))))
    assert_mostly(found, exact, within=0.501, share=0.995, worst=2 * 255 / 32)


def test_perspective_shows_the_quadrangle() -> None:
    """The corners of the result come from the drawn points, to within the two pixels that the grids are coarse."""
    inset = np.array([[(0.1, 0.2), (0.15, 0.05), (0.3, 0.25), (0.05, 0.12)]], np.float32)
    y = apply(_address("perspective"), own_places(), {"inset": inset})[0].astype(int)
    drawn = np.array([(0.1, 0.2), (0.85, 0.05), (0.7, 0.75), (0.05, 0.88)]) * 224
    found = np.array([y[i, j, 1::-1] - 1 for i, j in ((0, 0), (0, 223), (223, 223), (223, 0))])
    assert np.abs(found - drawn).max() <= 2


SHORT = [
    [(0.4995, 0.4995)] * 4,  # a tiny square in the middle
    [(0.1, 0.8), (0.1, 0.1), (0.1, 0.1), (0.1, 0.05)],  # the left corners far down: the lower one is both
    [(0.1, 0.1), (0.8, 0.1), (0.1, 0.1), (0.05, 0.1)],  # the right upper one far left
    [(0.1, 0.1), (0.1, 0.1), (0.15, 0.85), (0.1, 0.1)],  # the right lower one far up
]


@pytest.mark.parametrize("inset", SHORT)
def test_perspective_opens_sides_that_are_too_short(inset: list[tuple[float, float]]) -> None:
    draws = {"inset": np.array([inset], np.float32)}
    found = apply(_address("perspective"), waves(), draws)
    assert_mostly(found[0], _perspective(waves()[0].astype(float), rows_of(draws)[0]), within=1, share=0.999, worst=16)


# --- motion kernels -------------------------------------------------------------------------------------------------


def _line(y0: int, x0: int, y1: int, x1: int) -> list[tuple[int, int]]:
    """One pixel per step along the longer axis, from the end with the smaller x; the other axis ceil(k slope - 1/2)."""
    if x0 > x1:
        y0, x0, y1, x1 = y1, x1, y0, x0
    dy, dx = y1 - y0, x1 - x0
    longer = max(abs(dy), abs(dx))
    minor = [math.ceil(k * min(abs(dy), abs(dx)) / longer - 0.5) for k in range(longer + 1)]
    rows, columns = (minor, range(longer + 1)) if abs(dx) >= abs(dy) else (range(longer + 1), minor)
    return [(y0 + int(np.sign(dy)) * r, x0 + c) for r, c in zip(rows, columns, strict=True)]


def _kernel(d: dict) -> dict[tuple[int, int], float]:
    """The taps of a kernel that weigh something."""
    taps = zip(d["dy"].tolist(), d["dx"].tolist(), d["weights"].tolist(), strict=True)
    return {(y, x): weight for y, x, weight in taps if weight > 0}


@pytest.mark.parametrize("size", [11, 17])
def test_motion_kernels_are_lines_of_one_pixel(size: int) -> None:
    ends = []
    for d in rows_of(draw(_address("motion_blur"), 500, severity=size)):
        kernel = _kernel(d)
        assert len(kernel) == (d["weights"] > 0).sum() >= 2
        assert all(weight == pytest.approx(1 / len(kernel)) for weight in kernel.values())
        assert np.abs(list(kernel)).max() <= size // 2
        taps = list(kernel)
        assert taps == _line(*taps[0], *taps[-1])
        ends += [taps[0], taps[-1]]
    assert np.abs(ends).max() == size // 2


def _distances(k: int) -> np.ndarray:
    """The law of |a - b| for a, b uniform on k values."""
    return np.array([1 / k, *(2 * (k - d) / k**2 for d in range(1, k))])


def test_ends_of_motion_lines_are_uniform() -> None:
    """With 11 values per axis. Two ends in one column have different rows, otherwise all four are independent."""
    kernels = [list(_kernel(d)) for d in rows_of(draw(_address("motion_blur"), 4000, severity=11))]
    first, last = (np.array([kernel[k] for kernel in kernels]) for k in (0, -1))
    tall, wide = np.abs(last - first).T
    assert_shares(wide, _distances(11))
    assert_shares(tall[wide > 0], _distances(11))
    distinct = _distances(11)
    distinct[0] = 0
    assert_shares(tall[wide == 0], distinct / distinct.sum())


def test_motion_sizes_are_uniform_on_four() -> None:
    kernels = [list(_kernel(d)) for d in rows_of(draw(_address("motion_blur"), 4000))]
    wide = np.array([abs(kernel[-1][1] - kernel[0][1]) for kernel in kernels])
    assert_shares(wide, np.mean([np.pad(_distances(k), (0, 17 - k)) for k in (11, 13, 15, 17)], axis=0))


# --- colours through bytes of HSV and HLS ---------------------------------------------------------------------------


def _hue_saturation_value(v: np.ndarray, d: dict) -> np.ndarray:
    hue, saturation, value = _to_hsv(v)
    return _from_hsv(
        np.floor((hue + d["hue"]) % 180),
        np.floor(np.clip(saturation + d["saturation"], 0, 255)),
        np.floor(np.clip(value + d["value"], 0, 255)),
    )


def _snow(v: np.ndarray, d: dict) -> np.ndarray:
    return _relit(v, lambda light: np.where(light < d["threshold"], np.floor(np.clip(2.5 * light, 0, 255)), light))


def _rain(v: np.ndarray, d: dict) -> np.ndarray:
    """Lines of 21 pixels, ten columns to the right on the way down."""
    wet = np.pad(v, ((0, 0), (20, 20), (0, 0)))
    for y, x in d["places"].tolist():
        for row, column in _line(y, x, y + 20, x + 10):
            wet[row : row + 1, column + 20] = 200
    blurred = np.round(ndimage.uniform_filter(wet[:, 20:-20], (7, 7, 1), mode="mirror"))
    return _relit(blurred, lambda light: np.floor(0.7 * light))


THROUGH_BYTES = {"hue_saturation_value": _hue_saturation_value, "random_snow": _snow, "random_rain": _rain}


@SIZES
@pytest.mark.parametrize("entry", THROUGH_BYTES)
def test_laws_in_bytes_of_hsv_and_hls(entry: str, size: tuple[int, int]) -> None:
    """A component on the edge between two bytes may become either, and moves a colour by up to ten levels."""
    found, exact = _laws(THROUGH_BYTES, entry, _pictures(size))
    assert_mostly(found, exact, within=1, share=0.99, worst=10)


def _grey(v: np.ndarray) -> np.ndarray:
    return _nearest(v @ (0.299, 0.587, 0.114))[..., None]


def _jitter_step(v: np.ndarray, step: int, factors: np.ndarray, hue: float) -> np.ndarray:
    if step == 3:
        degrees, saturation, value = _to_hsv(v)
        return _from_hsv(np.floor((degrees + hue) % 180), saturation, value)
    factor = factors[step]
    if step == 2:
        return np.clip(_nearest(factor * v + (1 - factor) * _grey(v)), 0, 255)
    pivot = (1 - factor) * _grey(v).mean() if step == 1 else 0
    return np.floor(np.clip(factor * v + pivot, 0, 255))


ORDERS = list(itertools.permutations(range(4)))


def test_color_jitter_in_all_orders() -> None:
    """Brightness, contrast, saturation, hue; 24 small pictures, each with an order of its own.

    Four roundings in a row: a value on an edge between levels may end one level, and at the hue ten levels, away.
    """
    orders = np.array(ORDERS)
    pictures = np.concatenate((noise(12, (32, 32)), waves((32, 32)).repeat(12, axis=0)))
    draws = draw(_address("color_jitter"), 24, (32, 32)) | {"order": orders}
    found = apply(_address("color_jitter"), pictures, draws)
    for picture, result, d in zip(pictures.astype(float), found, rows_of(draws), strict=True):
        for step in d["order"]:
            picture = _jitter_step(picture, step, d["factors"], d["hue"])
        assert_mostly(result, picture, within=1, share=0.97)


# --- fog, shadow, sun -----------------------------------------------------------------------------------------------


def _fog(v: np.ndarray, d: dict) -> np.ndarray:
    """Every disc leaves 1 - 0.08 f of the distance from white; an even box reaches one pixel farther back."""
    size = int(d["size"])
    assert size == math.floor(74 * d["strength"])
    i, j = np.mgrid[:224, :224]
    discs = np.zeros((224, 224))
    for y, x in d["places"][d["used"]].tolist():
        discs += (i - y) ** 2 + (j - x) ** 2 <= (size // 2) ** 2
    foggy = 255 - (255 - v) * (1 - 0.08 * d["strength"]) ** discs[..., None]
    return ndimage.uniform_filter(foggy, (size // 10, size // 10, 1), mode="mirror")


def test_fog_in_closed_form() -> None:
    """Bytes are rounded once more before the blur, which may move its mean by up to half a level."""
    found, exact = _laws({"random_fog": _fog}, "random_fog", _pictures())
    assert_nearest(found, exact, slack=0.5)


def _even_odd(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether a pixel lies inside a polygon, by counting the edges to its right, and its distance from the outline."""
    i, j = np.mgrid[:224, :224].astype(float)
    inside, distance = np.zeros((224, 224), bool), np.full((224, 224), np.inf)
    for (y0, x0), (y1, x1) in zip(corners.astype(float), np.roll(corners, -1, axis=0).astype(float), strict=True):
        if y0 != y1:
            inside ^= ((y0 > i) != (y1 > i)) & (j < x0 + (i - y0) * (x1 - x0) / (y1 - y0))
        length = max((y1 - y0) ** 2 + (x1 - x0) ** 2, 1)
        along = np.clip(((i - y0) * (y1 - y0) + (j - x0) * (x1 - x0)) / length, 0, 1)
        distance = np.minimum(distance, np.hypot(i - y0 - along * (y1 - y0), j - x0 - along * (x1 - x0)))
    return inside, distance


def test_shadows_are_filled_by_the_even_odd_rule() -> None:
    """Polygon by polygon on white: exact where no outline is within a pixel; the outline itself is filled."""
    draws = draw(_address("random_shadow"), 6)
    draws["count"] = np.ones_like(draws["count"])
    white = np.full((6, 224, 224, 3), 255, np.uint8)
    for result, corners in zip(apply(_address("random_shadow"), white, draws), draws["corners"][:, 0], strict=True):
        shadow = result[..., 0] < 255
        inside, distance = _even_odd(corners)
        assert np.array_equal(shadow[distance > 1], inside[distance > 1])
        assert (distance > 1).mean() > 0.9
        for a, b in zip(corners.tolist(), np.roll(corners, -1, axis=0).tolist(), strict=True):
            outline = [(y, x) for y, x in (_line(*a, *b) if a != b else [a]) if y < 224 and x < 224]
            assert all(shadow[y, x] for y, x in outline)


def test_shadows_unite_and_halve_the_lightness() -> None:
    draws = draw(_address("random_shadow"), 4, seed=5)
    assert len(set(draws["count"].tolist())) > 1
    shadow = np.zeros((4, 224, 224), bool)
    white = np.full((4, 224, 224, 3), 255, np.uint8)
    for p in range(4):
        one = {"corners": draws["corners"][:, p : p + 1], "count": (draws["count"] > p).astype(np.int32)}
        shadow |= apply(_address("random_shadow"), white, one)[..., 0] < 255
    pictures = _pictures()
    found = apply(_address("random_shadow"), pictures, draws)
    for picture, result, mask in zip(pictures.astype(float), found, shadow, strict=True):
        dark, plain = _relit(picture, lambda light: np.floor(0.5 * light)), _relit(picture, lambda light: light)
        assert_mostly(result, np.where(mask[..., None], dark, plain), within=1, share=0.99, worst=10)


# How far from the sun which share of the distance from white is left.
RINGS = {
    1: 0, 11: 0.0013, 21: 0.009, 32: 0.0316, 42: 0.0785, 53: 0.1546, 63: 0.2577, 74: 0.3791, 84: 0.5068, 95: 0.6289,
    105: 0.7362, 116: 0.8237, 126: 0.8902, 137: 0.9370, 147: 0.9675, 158: 0.9855, 168: 0.9948, 179: 0.9987, 189: 0.9999,
    200: 1,
}  # fmt: skip


def _no_flares(count: int = 1) -> dict[str, np.ndarray]:
    draws = draw(_address("random_sun_flare"), count)
    return draws | {"share": np.zeros_like(draws["share"])}


def test_the_suns_glow_fades_by_the_table() -> None:
    """On black, along the sun's row. The table has four digits: half of the last is a hundredth of a level."""
    draws = _no_flares() | {"sun": np.array([[40.0, 3.0]], np.float32)}
    row = apply(_address("random_sun_flare"), np.zeros((1, 224, 224, 3), np.uint8), draws)[0, 40, :, 0]
    inner = 0
    for radius, left in RINGS.items():
        reached = row[3 + inner : 3 + radius + 1]
        assert_nearest(reached, np.full(len(reached), 255 * (1 - left)), slack=0.014)
        inner = radius + 1
    assert not row[3 + 201 :].any()


def _sun_flare(v: np.ndarray, d: dict) -> np.ndarray:
    i, j = _grid(v)
    painted, out = v.copy(), v.copy()
    for (y, x), reach, share, colour in zip(d["places"], d["reach"], d["share"], d["colour"], strict=True):
        if share > 0:
            painted[(i - y) ** 2 + (j - x) ** 2 <= reach**2] = 255 * colour
            out = share * painted + (1 - share) * out
    square = (i - d["sun"][0]) ** 2 + (j - d["sun"][1]) ** 2
    radii = [math.floor(1 + 199 * k / 19) for k in range(20)]
    assert radii == list(RINGS)
    for k, radius in enumerate(radii):
        alpha = ((19 - k) / 19) ** 3
        out = np.where((square <= radius**2)[..., None], alpha * 255 + (1 - alpha) * out, out)
    return out


@SIZES
def test_sun_and_flares(size: tuple[int, int]) -> None:
    """Circles accumulate on one overlay, which is mixed in again after each."""
    found, exact = _laws({"random_sun_flare": _sun_flare}, "random_sun_flare", _pictures(size))
    assert_nearest(found, exact, slack=2e-3)


def test_flares_are_seen_far_from_the_sun() -> None:
    """With the sun in one corner, six flares in the other, two of them on the same place."""
    draws = draw(_address("random_sun_flare"), 1, severity=6) | {"sun": np.array([[0.0, 0.0]], np.float32)}
    places = [(200, 200), (205, 203), (200, 200), (150, 220), (222, 150), (221, 223)]
    draws["places"] = np.array([places], draws["places"].dtype)
    found = apply(_address("random_sun_flare"), waves(), draws)[0]
    assert_nearest(found, _sun_flare(waves()[0].astype(float), rows_of(draws)[0]), slack=2e-3)


# --- other sizes ----------------------------------------------------------------------------------------------------


def test_patches_scale_with_the_picture() -> None:
    """Border 130, hole 150 and holes of 8 at 224 pixels: 65, 75 and 4 at 112."""
    white = np.full((3, 112, 112, 3), 255, np.uint8)
    kept = scuff.corrupt(white, _address("border"))[0, ..., 0] > 0
    assert kept[23:88, 23:88].all()
    assert kept.sum() == 65**2
    holes = scuff.corrupt(white, _address("cutout"))[..., 0] == 0
    assert holes.any((1, 2)).all()
    assert holes.sum((1, 2)).max() <= 75**2
    centre = {"centre": np.array([[50, 50]], np.int32)}
    assert (apply(_address("cutout"), white[:1], centre)[..., 0] == 0).sum() == 75**2
    one = {"places": np.array([[[10, 20]]], np.int32), "kinds": np.zeros((1, 1), np.int32)}
    dropped = apply(_address("coarse_dropout"), white[:1], one)[0, ..., 0] == 0
    assert dropped[10:14, 20:24].all()
    assert dropped.sum() == 16


@pytest.mark.parametrize("side", [32, 112])
@pytest.mark.parametrize("entry", ["blur", "gaussian_blur", "median_blur", "motion_blur"])
def test_kernels_stay_odd_and_at_least_three(entry: str, side: int) -> None:
    draws = draw(_address(entry), 200, (side, side))
    sizes = {
        "blur": lambda d: d["side"],
        "gaussian_blur": lambda d: (d["weights"] > 0).sum(1),
        "median_blur": lambda d: 2 * d["radius"] + 1,
        "motion_blur": lambda d: np.array(2 * np.abs(np.stack((d["dy"], d["dx"])))[:, d["weights"] > 0].max() + 1),
    }[entry](draws)
    largest = {"blur": 9, "gaussian_blur": 13, "median_blur": 11, "motion_blur": 17}[entry]
    assert (sizes % 2 == 1).all()
    assert sizes.min() >= 3
    assert sizes.max() <= max(3, largest * side / 224 + 2)


def test_fog_on_small_pictures_keeps_its_discs() -> None:
    """15 to 21, of a radius of about 0.15 of the side: 29 to 37 at 224."""
    for side in (32, 64):
        draws = draw(_address("random_fog"), 500, (side, side))
        assert set(draws["used"].sum(1).tolist()) == {15, 18, 21}
        radii = draws["size"] // 2 / side
        assert 0.12 < radii.min() <= radii.max() < 0.17


def test_rain_at_112_pixels() -> None:
    """Still 83 streaks, of 10 rows and 5 columns."""
    draws = draw(_address("random_rain"), 50, (112, 112))
    assert draws["places"].shape[1] == 83
    assert draws["places"][..., 0].max() == 112 - 10
    one = {"places": np.full((1, 1, 2), 50, np.int32)}
    lit = apply(_address("random_rain"), np.zeros((1, 112, 112, 3), np.uint8), one)[0, ..., 0] > 0
    rows, columns = lit.nonzero()
    assert rows.max() - rows.min() in (10 + 2, 10 + 3, 10 + 4)  # a box of 3 to 5 around it
    assert columns.max() - columns.min() in (5 + 2, 5 + 3, 5 + 4)


def test_lengths_of_warps_scale() -> None:
    """Three points are pulled by 25 pixels at 112, a lens shifted by 2."""
    assert np.abs(draw(_address("optical_distortion"), 300, (112, 112))["offset"]).max() == 2
    pull = np.zeros((1, 3, 2), np.float32)
    pull[..., 1] = 0.4  # all three down by 0.4 * 25 = 10 pixels
    moved = apply(_address("elastic_transform"), own_places((112, 112)), {"pull": pull})[0]
    assert np.array_equal(moved[10:], own_places((112, 112))[0, :-10])
    assert (moved[:10, :, 0] == 1).all()  # the edge is drawn out


# --- names, categories, severities ----------------------------------------------------------------------------------

CATEGORIES = [
    {"solarize", "random_sun_flare", "random_shadow"},
    {"affines", "perspective", "cutout"},
    {"sharpen", "random_rain", "emboss"},
    {"random_contrast", "random_brightness", "random_gamma"},
    {"iso_noise", "downscale", "posterize"},
    {"color_jitter", "channel_dropout", "to_sepia"},
]
NAMES = [
    "affines", "perspective", "rotate", "transpose", "flip", "elastic_transform", "grid_distortion",
    "optical_distortion", "random_grid_shuffle", "border", "cutout", "coarse_dropout", "blur", "gaussian_blur",
    "median_blur", "motion_blur", "sharpen", "emboss", "downscale", "image_compression", "jpeg_compression",
    "gauss_noise", "multiplicative_noise", "iso_noise", "random_brightness", "random_contrast", "random_gamma",
    "random_fog", "random_rain", "random_shadow", "random_snow", "random_sun_flare", "channel_dropout", "color_jitter",
    "hue_saturation_value", "rgb_shift", "invert_img", "posterize", "solarize", "to_sepia",
]  # fmt: skip
# Nothing is drawn from one range alone: nothing is random, or nothing is stronger or weaker, or several things are.
WITHOUT_SEVERITY = [
    "flip", "elastic_transform", "grid_distortion", "random_grid_shuffle", "border", "cutout", "sharpen", "downscale",
    "iso_noise", "random_rain", "channel_dropout", "color_jitter", "hue_saturation_value", "invert_img", "posterize",
    "solarize", "to_sepia",
]  # fmt: skip


def test_forty_candidates() -> None:
    assert len(NAMES) == 40
    assert set(ENTRIES) == set(NAMES)
    assert SUITE.benchmark() == ENTRIES
    assert SUITE.size == 224


def test_imagenet_syn2nat_has_three_of_each_category() -> None:
    chosen = scuff.load_suite("imagenet-syn2nat")
    assert [set(group) for group in chosen.categories.values()] == CATEGORIES
    assert len(chosen.entries) == 18
    assert set(chosen.entries) == set.union(*CATEGORIES)
    assert all(chosen.entries[entry] == SUITE.entries[entry] for entry in chosen.entries)


@pytest.mark.parametrize("entry", WITHOUT_SEVERITY)
def test_a_severity_where_there_is_none_is_refused(entry: str) -> None:
    for suite in ("syn2nat-candidates", "imagenet-syn2nat"):
        if entry in scuff.load_suite(suite).entries:
            with pytest.raises(SuiteError, match=f"{suite}/{entry} has no severities; leave the severity out, got 1"):
                scuff.corrupt(noise(1, (32, 32)), f"{suite}/{entry}", 1)


@pytest.mark.parametrize("entry", sorted(set(NAMES) - set(WITHOUT_SEVERITY)))
def test_a_severity_inside_the_range_is_taken(entry: str) -> None:
    between = SUITE.severity_range(entry)
    picture = noise(1, (32, 32))
    for severity in (between.low, between.high):
        assert scuff.corrupt(picture, _address(entry), severity).shape == picture.shape
    for severity in (between.low - 1, between.high + 1):
        with pytest.raises(SuiteError, match="within"):
            scuff.corrupt(picture, _address(entry), severity)


def test_every_candidate_has_its_law_here() -> None:
    others = {"to_sepia", "random_grid_shuffle", "perspective", "color_jitter", "random_fog", "random_shadow"}
    assert {*NEAREST, *TRUNCATED, *WARPS, *THROUGH_BYTES, *others, "random_sun_flare"} == set(NAMES)
