"""Corruptions against the original's formulas, written out in numpy and scipy, with the draws handed over.

Deterministic ones must agree to one grey level on 99.9 % of values: the originals compute in float64 and truncate, so a
value on the edge of a level may fall to either side.
"""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
import torch
from golden.pictures import pictures_32, pictures_224
from laws import half_gaussian_motion
from PIL import Image
from scipy import ndimage
from skimage import color, filters

import scuff
from scuff.corruptions import blur, digital, weather
from scuff.kernels import plasma

SUITES = {"imagenet-c": pictures_224, "cifar10-c": pictures_32}
CASES = [(suite, severity) for suite in SUITES for severity in range(1, 6)]


def _out(y: np.ndarray) -> np.ndarray:
    return (np.clip(y, 0, 1) * 255).astype(np.uint8)


def _assert_close(ours: np.ndarray, original: np.ndarray, share: float = 0.999) -> None:
    difference = np.abs(ours.astype(int) - original.astype(int))
    assert (difference <= 1).mean() >= share, f"{(difference > 1).mean():.5%} differ by more than a level"


def _both(suite: str, name: str, severity: int) -> tuple[np.ndarray, np.ndarray, dict]:
    pictures = SUITES[suite]()[:6]
    parameters = scuff.load_suite(suite).parameters(name, severity)
    return scuff.corrupt(pictures, f"{suite}/{name}", severity), pictures, parameters


def _nchw(pictures: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(pictures).permute(0, 3, 1, 2).float() / 255


def _as_bytes(y: torch.Tensor) -> np.ndarray:
    return _out(y.permute(0, 2, 3, 1).numpy())


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_brightness(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "brightness", severity)
    hsv = color.rgb2hsv(pictures / 255.0)
    hsv[..., 2] = np.clip(hsv[..., 2] + p["shift"], 0, 1)
    _assert_close(ours, _out(color.hsv2rgb(hsv)))


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_saturate(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "saturate", severity)
    hsv = color.rgb2hsv(pictures / 255.0)
    hsv[..., 1] = np.clip(hsv[..., 1] * p["gain"] + p["shift"], 0, 1)
    _assert_close(ours, _out(color.hsv2rgb(hsv)))


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_contrast(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "contrast", severity)
    x = pictures / 255.0
    mean = x.mean((1, 2), keepdims=True)
    _assert_close(ours, _out((x - mean) * p["gain"] + mean))


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_pixelate_equals_pillow(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "pixelate", severity)
    side = pictures.shape[1]
    small = int(side * p["fraction"])
    for picture, result in zip(pictures, ours, strict=True):
        image = Image.fromarray(picture).resize((small, small), Image.Resampling.BOX)
        assert np.array_equal(np.asarray(image.resize((side, side), Image.Resampling.BOX)), result)


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_jpeg_equals_pillow(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "jpeg_compression", severity)
    for picture, result in zip(pictures, ours, strict=True):
        file = io.BytesIO()
        Image.fromarray(picture).save(file, "JPEG", quality=p["quality"])
        assert np.array_equal(np.asarray(Image.open(file)), result)


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_gaussian_blur(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "gaussian_blur", severity)
    blurred = [filters.gaussian(x / 255.0, sigma=p["sigma"], channel_axis=-1) for x in pictures]
    _assert_close(ours, _out(np.stack(blurred)))


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_defocus_blur(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "defocus_blur", severity)
    radius, softness = p["radius"], p["softness"]
    reach, taps = (8, 1) if radius <= 8 else (int(radius), 2)
    grid = np.arange(-reach, reach + 1)
    disk = (grid[:, None] ** 2 + grid**2 <= radius**2).astype(float)
    disk /= disk.sum()
    line = np.exp(-0.5 * (np.arange(-taps, taps + 1) / softness) ** 2)
    line /= line.sum()
    for axis in (0, 1):
        disk = ndimage.correlate1d(disk, line, axis=axis, mode="mirror")
    blurred = ndimage.correlate(pictures / 255.0, disk[None, :, :, None], mode="mirror")
    _assert_close(ours, _out(blurred))


@pytest.mark.parametrize(("radius", "total"), [(3.0, 1.0), (8.0, 1.012976), (10.0, 1.010786)])
def test_defocus_kernels_keep_the_originals_sum(radius: float, total: float) -> None:
    from scuff.ops.filters import disk_kernel

    assert disk_kernel(radius, 0.5).sum() == pytest.approx(total, abs=2e-6)


@pytest.mark.parametrize(("suite", "severity"), CASES)
def test_zoom_blur(suite: str, severity: int) -> None:
    ours, pictures, p = _both(suite, "zoom_blur", severity)
    x = pictures.astype(np.float32) / np.float32(255)
    side = x.shape[1]
    total = x.astype(np.float64)
    for k in range(p["steps"]):
        factor = 1 + k * ((1 + p["step"]) - 1)
        crop = math.ceil(side / factor)
        top = (side - crop) // 2
        centre = x[:, top : top + crop, top : top + crop].astype(np.float64)
        size = round(crop * factor)
        zoom = (1, size / crop, size / crop, 1)
        zoomed = ndimage.zoom(centre, zoom, order=1)
        assert zoomed.shape[1] == size
        trim = (size - side) // 2
        total += zoomed[:, trim : trim + side, trim : trim + side]
    _assert_close(ours, _out(total / (p["steps"] + 1)))


@pytest.mark.parametrize(("radius", "sigma"), [(10, 3.0), (15, 12.0), (20, 15.0), (6, 1.0)])
def test_motion_blur(radius: int, sigma: float) -> None:
    pictures = pictures_224()[:3]
    angles = np.array([-44.0, 3.5, 30.0])
    pixels = torch.from_numpy(pictures).permute(0, 3, 1, 2)
    ours = blur.motion_blur(pixels, torch.from_numpy(angles).float(), radius=radius, sigma=sigma)
    original = np.stack(
        [half_gaussian_motion(p.astype(float), a, radius, sigma) for p, a in zip(pictures, angles, strict=True)]
    )
    assert (ours.permute(0, 2, 3, 1).numpy() != original).mean() < 1e-3  # ties of a 1/257 rounding, in float32


@pytest.mark.parametrize(("sigma", "reach", "passes"), [(0.7, 1, 2), (1.0, 2, 3), (1.5, 4, 2), (0.05, 1, 1)])
def test_glass_blur_copies_pixel_by_pixel(sigma: float, reach: int, passes: int) -> None:
    pictures = pictures_32()[:3]
    rng = np.random.default_rng(0)
    dx, dy = (rng.integers(-reach, reach, (3, passes, 32, 32)).astype(np.int32) for _ in range(2))
    ours = blur.glass_blur(
        _nchw(pictures), torch.from_numpy(dx), torch.from_numpy(dy), sigma=sigma, reach=reach, passes=passes
    )
    for n, picture in enumerate(pictures):
        v = np.uint8(filters.gaussian(picture / 255.0, sigma=sigma, channel_axis=-1) * 255)
        for step in range(passes):
            for h in range(32 - reach, reach, -1):
                for w in range(32 - reach, reach, -1):
                    v[h, w] = v[h + dy[n, step, h, w], w + dx[n, step, h, w]]
        _assert_close(
            _as_bytes(ours[n : n + 1])[0], _out(filters.gaussian(v / 255.0, sigma=sigma, channel_axis=-1)), 0.99
        )


@pytest.mark.parametrize("decay", [1.4, 2.0, 3.0])
def test_plasma(decay: float) -> None:
    """The torus walked point by point, in float64."""
    size = 32
    noise = np.random.default_rng(1).uniform(-1, 1, (size, size)).astype(np.float32)
    a = np.zeros((size, size))
    step, w = size, 100.0
    while step >= 2:
        half = step // 2
        for i in range(0, size, step):
            for j in range(0, size, step):
                corners = a[i, j] + a[(i + step) % size, j] + a[i, (j + step) % size]
                corners += a[(i + step) % size, (j + step) % size]
                a[i + half, j + half] = corners / 4 + w * w * noise[i + half, j + half]
        for i in range(0, size, step):
            for j in range(0, size, step):
                across = a[i + half, j + half] + a[(i - half) % size, j + half] + a[i, j] + a[i, (j + step) % size]
                a[i, j + half] = across / 4 + w * w * noise[i, j + half]
                down = a[i + half, j + half] + a[i + half, (j - half) % size] + a[i, j] + a[(i + step) % size, j]
                a[i + half, j] = down / 4 + w * w * noise[i + half, j]
        step, w = half, w / decay
    expected = (a - a.min()) / (a.max() - a.min())
    assert np.abs(plasma(torch.from_numpy(noise)[None], decay)[0].numpy() - expected).max() < 1e-5


def test_fog_keeps_the_maximum() -> None:
    x = _nchw(pictures_32()[:4]) * 0.7
    cloud = torch.rand(4, 1, 32, 32, generator=torch.Generator().manual_seed(0))
    top = x.amax((1, 2, 3), keepdim=True)
    assert torch.allclose(weather.fog(x, cloud, strength=1.5), (x + 1.5 * cloud) * top / (top + 1.5), atol=1e-6)
    black = torch.zeros(1, 3, 8, 8)
    assert torch.equal(weather.fog(black, torch.rand(1, 1, 8, 8), strength=2.0), black)


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_snow(severity: int) -> None:
    p = scuff.load_suite("cifar10-c").parameters("snow", severity)
    pictures, angle = pictures_32()[:1], -100.0
    layer = np.random.default_rng(2).normal(p["mean"], p["std"], (32, 32))
    drawn = {"layer": torch.from_numpy(layer).float()[None, None], "angle": torch.tensor([angle])}
    rest = {k: v for k, v in p.items() if k not in ("mean", "std")}
    ours = weather.snow(_nchw(pictures), **drawn, **rest)
    crop = math.ceil(32 / p["zoom"])
    top = (32 - crop) // 2
    size = round(crop * p["zoom"])
    flakes = ndimage.zoom(layer[top : top + crop, top : top + crop], size / crop, order=1)
    trim = (size - 32) // 2
    flakes = flakes[trim : trim + 32, trim : trim + 32]
    flakes = np.clip(np.where(flakes < p["threshold"], 0, flakes), 0, 1)
    flakes = half_gaussian_motion(np.floor(flakes * 255)[..., None], angle, p["radius"], p["sigma"]) / 255
    x = pictures[0] / 255.0
    grey = (x @ (0.299, 0.587, 0.114))[..., None]
    pale = p["keep"] * x + (1 - p["keep"]) * np.maximum(x, grey * 1.5 + 0.5)
    _assert_close(_as_bytes(ours)[0], _out(pale + flakes + np.rot90(flakes, 2)))


@pytest.mark.parametrize(("alpha", "sigma", "jitter"), [(488.0, 170.8, 24.4), (12.2, 2.44, 4.88), (0.0, 0.0, 5.0)])
def test_elastic_transform(alpha: float, sigma: float, jitter: float) -> None:
    side = 64
    picture = pictures_224()[:1, :side, :side]
    rng = np.random.default_rng(3)
    pull, dx, dy = rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (side, side)), rng.uniform(-1, 1, (side, side))
    field = digital.smooth(torch.from_numpy(np.stack((dy, dx))).float()[None], sigma)
    drawn = (torch.from_numpy(pull).float()[None], field)
    ours = digital.elastic_transform(_nchw(picture), *drawn, alpha=alpha, jitter=jitter)
    points = np.array([[1, 1], [1, -1], [-1, -1]]) * (side // 3) + side // 2
    moved = points + jitter * pull
    matrix = np.linalg.solve(np.c_[moved, np.ones(3)], points)  # output (x, y, 1) -> source (x, y)
    y, x = np.mgrid[:side, :side].astype(float)
    source = np.stack([x, y, np.ones_like(x)], -1) @ matrix
    image = picture[0] / 255.0
    warped = [
        ndimage.map_coordinates(image[..., c], (source[..., 1], source[..., 0]), order=1, mode="mirror")
        for c in range(3)
    ]
    if alpha:
        dx, dy = (alpha * ndimage.gaussian_filter(f, sigma, mode="reflect", truncate=3) for f in (dx, dy))
        warped = [ndimage.map_coordinates(w, (y + dy, x + dx), order=1, mode="reflect") for w in warped]
    _assert_close(_as_bytes(ours)[0], _out(np.stack(warped, -1)))


@pytest.mark.parametrize("severity", [1, 5])
def test_the_elastic_transform_of_coco_c(severity: int) -> None:
    """The steps of imagecorruptions 1.1.2, whose Gaussian is as much wider across as the picture is."""
    height, width = 120, 220
    picture = pictures_224()[:1, :height, :width]
    parameters = scuff.load_suite("coco-c").parameters("elastic_transform", severity)
    rng = np.random.default_rng(3)
    dx, dy = rng.uniform(-1, 1, (2, height, width))
    wide = tuple(parameters["smoothness"] * side for side in (height, width))
    field = digital.smooth(torch.from_numpy(np.stack((dy, dx))).float()[None], wide)
    ours = digital.knead(_nchw(picture), field, alpha=parameters["alpha"], reach=parameters["reach"])
    alpha, reach = (12.5, 0, 0, 0, 30.0)[severity - 1], 0.005 * height
    dx, dy = (
        alpha * ndimage.gaussian_filter(reach * f, (0.01 * height, 0.01 * width), mode="reflect", truncate=3)
        for f in (dx, dy)
    )
    y, x = np.mgrid[:height, :width].astype(float)
    image = picture[0] / 255.0
    moved = [ndimage.map_coordinates(image[..., c], (y + dy, x + dx), order=1, mode="reflect") for c in range(3)]
    _assert_close(_as_bytes(ours)[0], _out(np.stack(moved, -1)))


def test_spatter_mud() -> None:
    pictures = pictures_224()[:2]
    p = scuff.load_suite("imagenet-c").parameters("spatter", 4)
    layer = np.random.default_rng(4).normal(p["mean"], p["std"], (2, 224, 224))
    ours = weather.spatter(
        _nchw(pictures), torch.from_numpy(layer).float()[:, None],
        sigma=p["sigma"], threshold=p["threshold"], water=0.0, mud=p["mud"],
    )  # fmt: skip
    for n in range(2):
        blobs = filters.gaussian(layer[n], sigma=p["sigma"])
        cover = filters.gaussian((blobs > p["threshold"]).astype(np.float32), sigma=p["mud"])
        cover[cover < 0.8] = 0
        mud = np.array((63, 42, 20)) / 255
        expected = pictures[n] / 255.0 * (1 - cover[..., None]) + cover[..., None] * mud
        _assert_close(_as_bytes(ours[n : n + 1])[0], _out(expected))


def test_windows_of_frost_are_cut_from_whole_textures(monkeypatch) -> None:
    """Where textures are too large to be made as a whole, windows come out the same."""
    from scuff.corruptions import frost_textures

    texture, corner = torch.tensor([0, 1, 2, 3]), torch.tensor([[0, 0], [3, 70], [100, 5], [1, 1]])
    x = torch.rand(len(texture), 3, 150, 90, generator=torch.Generator().manual_seed(0))
    copied = frost_textures.laid_over(x, 0.7, texture, corner, 1.3, 0.4)
    monkeypatch.setattr(frost_textures, "MOST", 0)
    assert torch.equal(frost_textures.laid_over(x, 0.7, texture, corner, 1.3, 0.4), copied)
