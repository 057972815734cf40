"""The 40 candidates of ImageNet-Syn2Nat, each against its law written out in numpy, scipy or Pillow.

That the pictures resemble the originals' is tested elsewhere, by statistics. Here every law has two halves: what the
pixels become, given the draws, and how the draws are distributed.
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
    assert_fair,
    assert_mostly,
    assert_nearest,
    assert_normal,
    assert_shares,
    assert_truncated,
    assert_uniform,
    assert_unrelated,
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
    return [np.round(_hue_degrees(v) / 2) % 180, np.round(saturation), top]


def _from_hsv(hue: np.ndarray, saturation: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.round(_from_hue(2 * hue, value * (1 - saturation / 255), value))


def _to_hls(v: np.ndarray, rounded: bool = True) -> list[np.ndarray]:
    """Bytes: half degrees, 255 (max + min) / 2, 255 (max - min) / (max + min or 2 - max - min), all rounded."""
    top, low = v.max(-1) / 255, v.min(-1) / 255
    bottom = np.where((top + low) / 2 < 0.5, top + low, 2 - top - low)
    saturation = np.where(top > low, (top - low) / np.where(top > low, bottom, 1), 0)
    if not rounded:
        return [_hue_degrees(v), (top + low) / 2, saturation]
    return [np.round(_hue_degrees(v) / 2) % 180, np.round(255 * (top + low) / 2), np.round(255 * saturation)]


def _from_hls(degrees: np.ndarray, light: np.ndarray, saturation: np.ndarray) -> np.ndarray:
    """From degrees and the unit interval to levels."""
    high = np.where(light <= 0.5, light * (1 + saturation), light + saturation - light * saturation)
    return 255 * _from_hue(degrees, 2 * light - high, high)


def _relit(v: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The lightness of 8-bit HLS changed, and back to RGB."""
    hue, light, saturation = _to_hls(v)
    return np.round(_from_hls(2 * hue, change(light) / 255, saturation / 255))


# --- point operations, blurs, patches: exact ------------------------------------------------------------------------
# A law takes the levels 0..255 of one picture, (H, W, 3), and what that picture drew. It gives exact real levels.


def _border(v: np.ndarray, d: dict) -> np.ndarray:
    out = np.zeros_like(v)
    out[47:177, 47:177] = v[47:177, 47:177]
    return out


def _cutout(v: np.ndarray, d: dict) -> np.ndarray:
    """The end is counted from the clipped beginning, so holes are whole at the top left, cut at the bottom right."""
    out = v.copy()
    (y1, x1) = (min(max(int(c) - 75, 0), 224) for c in d["centre"])
    out[y1 : min(y1 + 150, 224), x1 : min(x1 + 150, 224)] = 0
    return out


def _coarse_dropout(v: np.ndarray, d: dict) -> np.ndarray:
    out = v.copy()
    for (y, x), kind in zip(d["places"], d["kinds"], strict=True):
        if kind >= 0:
            out[y : y + 8, x : x + 8] = 0
    return out


def _downscale(v: np.ndarray, d: dict) -> np.ndarray:
    """0.45 = 9 / 20 in whole numbers: output j reads floor(floor(101 j / 224) * 20 / 9)."""
    source = (np.arange(224) * 101 // 224) * 20 // 9
    return v[source][:, source]


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
    hue, light, saturation = _to_hls(v, rounded=False)
    grains = stats.poisson.ppf(d["u"].astype(float), 255 * d["intensity"] * light.std())
    return _from_hls(hue + 360 * d["turn"], light + grains / 255 * (1 - light), saturation)


TRUNCATED: dict[str, Callable[[np.ndarray, dict], np.ndarray]] = {
    "random_brightness": lambda v, d: v + d["shift"],
    "random_contrast": lambda v, d: d["gain"] * v,
    "random_gamma": lambda v, d: 255 * (v / 255) ** np.round(np.float64(d["gamma"]), 2),
    "rgb_shift": lambda v, d: v + d["shift"],
    "gauss_noise": lambda v, d: v + 255 * _hwc(d["noise"]),
    "multiplicative_noise": lambda v, d: v * _hwc(d["factor"]),
    "iso_noise": _iso_noise,
}

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
    """Three points 74 pixels around (112, 112) are pulled by up to 50; the affine map of the rest, backwards."""
    points = 112 + 74.0 * np.array([(1, 1), (1, -1), (-1, -1)])
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


if __name__ == "__main__":
    pictures = np.concatenate((noise(3), waves()))
    for entry in ENTRIES:
        found = scuff.corrupt(pictures, _address(entry), seed=3)
        rows = rows_of(draw(_address(entry), 4, seed=3)) or [{}]*4
        for picture, result, d in zip(pictures, found, rows, strict=True):
            v = picture.astype(float)
            if entry in NEAREST:
                dd = np.abs(result - np.clip(NEAREST[entry](v,d),0,255)) - .5
                print(entry, "nearest", dd.max(), (dd>0).mean())
            elif entry in TRUNCATED:
                dd = np.clip(TRUNCATED[entry](v,d),0,255)-result
                print(entry, "trunc", dd.min(), dd.max()-1, (dd<0).mean(), (dd>=1).mean(), (dd>1.001).mean(),(dd<-.001).mean())
            elif entry in WARPS:
                law, mode = WARPS[entry]
                dd = np.abs(_read_at(v, *law(v,d), mode) - result)-.5
                print(entry, "warp", dd.max(), (dd>0).mean(), (dd>1e-3).mean())
