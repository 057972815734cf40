"""Image operations against Pillow, and against its formulas written a second time, in numpy and one image at a time."""

from __future__ import annotations

import math
import platform

import numpy as np
import pytest
import torch
from made_operations import FILL, SIZES, VALUES, WARPS, batch, mixture, pictures
from PIL import Image, ImageEnhance, ImageOps
from scipy import ndimage

from scuff import kernels
from scuff.augment import operations
from scuff.augment.operations import OPERATIONS, operate
from scuff.kernels.affine import cosine_and_sine

CASES = [(name, "bilinear") for name in OPERATIONS] + [(name, "nearest") for name in WARPS]


def _ours(picture: np.ndarray, name: str, values, resampling: str, fill=FILL) -> np.ndarray:
    amounts = torch.tensor([float(value) for value in values], dtype=torch.float64)
    which = torch.zeros(len(amounts), dtype=torch.int64)
    out = operate(batch(picture, len(amounts)), (name,), which, amounts, resampling=resampling, fill=fill)
    return out.permute(0, 2, 3, 1).numpy()


# --- the formulas once more -----------------------------------------------------------------------------------------


def _formula(x: np.ndarray, name: str, value: float, resampling: str, fill=FILL) -> np.ndarray:
    """`x` is (H, W, C); the result too."""
    if name in WARPS:
        return _warp(x, _map(name, value, *x.shape[:2]), resampling, fill)
    if name in ("brightness", "contrast", "color", "sharpness"):
        grey = np.rint(x @ np.array([19595, 38470, 7471]) / 65536 + 1e-9) if x.shape[2] == 3 else x[..., 0]
        if name == "sharpness":
            plain = _smooth(x)
        elif name == "color":
            plain = grey[..., None]
        else:
            plain = np.array(0 if name == "brightness" else math.floor(grey.mean() + 0.5))
        plain = plain.astype(np.float32)
        return np.trunc(np.clip(plain + np.float32(value) * (x - plain), 0, 255)).astype(np.uint8)
    tables = [_table(x[..., c].ravel().tolist(), name, value) for c in range(x.shape[2])]
    return np.stack([np.array(table)[x[..., c]] for c, table in enumerate(tables)], axis=2).astype(np.uint8)


def _table(levels: list[int], name: str, value: float) -> list[int]:
    if name == "solarize":
        return [v if v < value else 255 - v for v in range(256)]
    if name == "posterize":
        return [v // 2 ** (8 - int(value)) * 2 ** (8 - int(value)) for v in range(256)]
    if name == "autocontrast" and max(levels) > min(levels):
        scale = 255.0 / (max(levels) - min(levels))
        return [min(max(int(v * scale + -min(levels) * scale), 0), 255) for v in range(256)]
    step = (len(levels) - levels.count(max(levels))) // 255
    if name == "equalize" and step:
        return [min((sum(u < v for u in levels) + step // 2) // step, 255) for v in range(256)]
    return [255 - v if name == "invert" else v for v in range(256)]


def _smooth(x: np.ndarray) -> np.ndarray:
    mean = ndimage.correlate(x.astype(float), np.array([[1, 1, 1], [1, 5, 1], [1, 1, 1]])[..., None] / 13)
    smooth = x.copy()
    smooth[1:-1, 1:-1] = np.floor(mean + 0.5)[1:-1, 1:-1]
    return smooth


def _map(name: str, value: float, height: int, width: int) -> tuple[float, ...]:
    if name == "rotate":
        angle = -math.radians(value % 360.0)
        cosine, sine = round(math.cos(angle), 15), round(math.sin(angle), 15)
        x, y = -width / 2, -height / 2
        return cosine, sine, cosine * x + sine * y - x, -sine, cosine, -sine * x + cosine * y - y
    return {
        "shear_x": (1.0, value, 0.0, 0.0, 1.0, 0.0),
        "shear_y": (1.0, 0.0, 0.0, value, 1.0, 0.0),
        "translate_x": (1.0, 0.0, value, 0.0, 1.0, 0.0),
        "translate_y": (1.0, 0.0, 0.0, 0.0, 1.0, value),
    }[name]


def _warp(x: np.ndarray, coefficients, resampling: str, fill) -> np.ndarray:
    a, b, c, d, e, f = coefficients
    height, width, channels = x.shape
    j, i = np.mgrid[:height, :width]
    if resampling == "bilinear":
        at_x, at_y = a * (i + 0.5) + b * (j + 0.5) + c, d * (i + 0.5) + e * (j + 0.5) + f
        inside = (at_x >= 0) & (at_x < width) & (at_y >= 0) & (at_y < height)
        u, v = np.where(inside, at_x, 0.5) - 0.5, np.where(inside, at_y, 0.5) - 0.5
        left, top = np.floor(u).astype(int), np.floor(v).astype(int)
        p, q = (u - left)[..., None], (v - top)[..., None]
        padded = np.pad(x, ((1, 1), (1, 1), (0, 0)), mode="edge").astype(float)  # pixel k lies at k + 1
        upper, lower = (
            padded[row, left + 1] + (padded[row, left + 2] - padded[row, left + 1]) * p for row in (top + 1, top + 2)
        )
        level = np.trunc(upper + (lower - upper) * q)
    else:
        if b == d == 0.0:
            columns, rows = (np.add.accumulate([start, *[step] * (n - 1)]) for start, step, n in (
                (c + a * 0.5, a, width), (f + e * 0.5, e, height)))  # fmt: skip
            column, row = np.where(columns < 0, -1, columns)[None, :], np.where(rows < 0, -1, rows)[:, None]
            column, row = np.broadcast_arrays(column.astype(int), row.astype(int))
        else:
            fixed = [math.floor(65536 * z + 0.5) for z in (a, b, c + 0.5 * a + 0.5 * b, d, e, f + 0.5 * d + 0.5 * e)]
            column = (fixed[2] + fixed[0] * i + fixed[1] * j) // 65536
            row = (fixed[5] + fixed[3] * i + fixed[4] * j) // 65536
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        level = x[np.where(inside, row, 0), np.where(inside, column, 0)]
    return np.where(inside[..., None], level, fill[:channels]).astype(np.uint8)


@pytest.mark.parametrize(("name", "resampling"), CASES)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_equals_the_formulas(name: str, resampling: str, height: int, width: int) -> None:
    values = list(VALUES[name])[:: 1 if len(VALUES[name]) < 80 else 7] + list(VALUES[name])[-4:]
    for picture in pictures(height, width):
        ours = _ours(picture, name, values, resampling)
        theirs = np.stack([_formula(picture, name, float(value), resampling) for value in values])
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(("name", "resampling"), CASES)
def test_equals_the_formulas_in_grey(name: str, resampling: str) -> None:
    picture, values = pictures(21, 16)[0][..., :1], list(VALUES[name])[::7]
    theirs = np.stack([_formula(picture, name, float(value), resampling) for value in values])
    assert np.array_equal(_ours(picture, name, values, resampling, FILL[:1]), theirs)


# --- Pillow ---------------------------------------------------------------------------------------------------------


def _pillow(picture: Image.Image, name: str, value: float, resampling: str) -> Image.Image:
    reading = {"bilinear": Image.Resampling.BILINEAR, "nearest": Image.Resampling.NEAREST}[resampling]
    fill = FILL[0] if picture.mode == "L" else FILL
    if name == "identity":
        return picture
    if name == "rotate":
        return picture.rotate(value, reading, fillcolor=fill)
    if name in WARPS:
        size = picture.size
        return picture.transform(size, Image.Transform.AFFINE, _map(name, value, *size[::-1]), reading, fillcolor=fill)
    if name in ("brightness", "contrast", "color", "sharpness"):
        return getattr(ImageEnhance, name.capitalize())(picture).enhance(value)
    arguments = {"solarize": [value], "posterize": [int(value)]}.get(name, [])
    return getattr(ImageOps, name)(picture, *arguments)


@pytest.mark.parametrize(("name", "resampling"), CASES)
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_equals_pillow(name: str, resampling: str, height: int, width: int) -> None:
    """All values on x86-64. Other builds of Pillow fuse multiply-adds, which moves a few values of some operations."""
    fused = platform.machine() not in ("x86_64", "AMD64") and (
        name in ("contrast", "color", "sharpness") or (name in WARPS and resampling == "bilinear")
    )
    differences = []
    for picture in [*pictures(height, width), pictures(height, width)[0][..., :1]]:
        source = Image.fromarray(picture[..., 0] if picture.shape[2] == 1 else picture)
        ours = _ours(picture, name, VALUES[name], resampling, FILL[: picture.shape[2]])
        theirs = [np.array(_pillow(source, name, float(value), resampling)) for value in VALUES[name]]
        differences.append(np.abs(ours.astype(int) - np.stack(theirs).reshape(ours.shape)).ravel())
    difference = np.concatenate(differences)
    # measured on aarch64: at most 0.75 % move, by one level; but a shear that reads on an edge may see beyond it, which
    # is one pixel in 0.4 % of images of 2 x 5, and fewer of larger ones
    assert (difference > 0).mean() <= (0.01 if fused else 0.0)
    assert (difference > 1).mean() <= (0.005 if fused else 0.0)


def test_cosines_and_sines_are_pythons() -> None:
    """At every quarter of a degree. Elsewhere a mathematical library may be off by one unit in the last place."""
    degrees = np.arange(0, 360.25, 0.25)
    cosines, sines = cosine_and_sine(torch.from_numpy(degrees))
    angles = [math.radians(d) for d in degrees]
    off = [c != round(math.cos(t), 15) for c, t in zip(cosines.tolist(), angles, strict=True)]
    off += [s != round(math.sin(t), 15) for s, t in zip(sines.tolist(), angles, strict=True)]
    assert not any(off[: len(degrees) : 4])
    assert sum(off) <= 2
    assert np.abs(cosines.numpy() - np.cos(angles)).max() < 1e-15


# --- batches --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("resampling", ["bilinear", "nearest"])
@pytest.mark.parametrize(("height", "width"), SIZES)
def test_back_ends_agree(height: int, width: int, resampling: str, channels: int) -> None:
    pixels, which, values = mixture(300, height, width, channels)
    fast = operate(pixels, OPERATIONS, which, values, resampling=resampling, fill=FILL[:channels])
    with kernels.use_backend("reference"):
        expected = operate(pixels, OPERATIONS, which, values, resampling=resampling, fill=FILL[:channels])
    assert torch.equal(fast, expected)


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_an_image_does_not_depend_on_its_batch(backend: str) -> None:
    pixels, which, values = mixture(60, 11, 14)
    before = pixels.clone()
    with kernels.use_backend(backend):
        together = operate(pixels, OPERATIONS, which, values)
        for k in range(0, 60, 7):
            name = OPERATIONS[int(which[k])]
            alone = operate(pixels[k : k + 1], ("invert", name), torch.tensor([1]), values[k : k + 1])
            assert torch.equal(alone, together[k : k + 1])
        last = pixels.contiguous(memory_format=torch.channels_last)
        assert torch.equal(operate(last, OPERATIONS, which.int(), values), together)
    assert torch.equal(pixels, before)
    assert together.data_ptr() != pixels.data_ptr()


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_values_that_mean_nothing_are_not_looked_at(backend: str) -> None:
    pixels, _, _ = mixture(12, 11, 14)
    names = ("rotate", "invert", "equalize", "autocontrast", "identity", "shear_x")
    which, values = torch.arange(12) % 6, torch.zeros(12, dtype=torch.float64)
    with kernels.use_backend(backend):
        expected = operate(pixels, names, which, values)
        values[(which > 0) & (which < 5)] = float("nan")
        assert torch.equal(operate(pixels, names, which, values), expected)


@pytest.mark.parametrize("backend", ["reference", "numba_cpu"])
def test_no_images(backend: str) -> None:
    none = torch.zeros(0, 3, 8, 9, dtype=torch.uint8)
    with kernels.use_backend(backend):
        out = operate(none, OPERATIONS, torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.float64))
    assert out.shape == none.shape
    assert out.dtype == torch.uint8


def test_functions_take_a_number_or_one_for_each_image() -> None:
    pixels = torch.stack([batch(picture, 1)[0] for picture in pictures(12, 9)])
    for name in OPERATIONS[1:]:
        function, takes_value = getattr(operations, name), len(VALUES[name]) > 1
        if takes_value:
            values = torch.tensor([float(v) for v in list(VALUES[name])[2:7]], dtype=torch.float64)
            each = function(pixels, values)
            one = torch.cat([function(pixels[k : k + 1], float(values[k])) for k in range(5)])
        else:
            values, each = torch.zeros(5, dtype=torch.float64), function(pixels)
            one = torch.cat([function(pixels[k : k + 1]) for k in range(5)])
        assert torch.equal(each, one)
        assert torch.equal(each, operate(pixels, (name,), torch.zeros(5, dtype=torch.int64), values))
    turned = operations.rotate(pixels, 30.0, resampling="nearest", fill=9)
    assert torch.equal(turned[:, :, 0, 0], torch.full((5, 3), 9, dtype=torch.uint8))


def test_neutral_values_change_nothing() -> None:
    pixels = torch.stack([batch(picture, 1)[0] for picture in pictures(12, 9)])
    neutral = {"solarize": 256, "posterize": 8, "brightness": 1, "contrast": 1, "color": 1, "sharpness": 1}
    for name in OPERATIONS[10:]:
        neutral |= {name: 0}
    for name, value in neutral.items():
        assert torch.equal(getattr(operations, name)(pixels, value), pixels), name
    assert torch.equal(operations.rotate(pixels, 180), pixels.flip(2, 3))


def test_mistakes() -> None:
    pixels, zeros = torch.zeros(2, 3, 4, 4, dtype=torch.uint8), torch.zeros(2, dtype=torch.float64)
    which = torch.zeros(2, dtype=torch.int64)
    with pytest.raises(ValueError, match="uint8 images"):
        operate(pixels.float(), ("invert",), which, zeros)
    with pytest.raises(ValueError, match="1 or 3 channels"):
        operate(pixels[:, :2], ("invert",), which, zeros)
    with pytest.raises(ValueError, match=r"unknown operation 'rotat'.*rotate"):
        operate(pixels, ("rotat",), which, zeros)
    with pytest.raises(ValueError, match="no operations"):
        operate(pixels, (), which, zeros)
    with pytest.raises(ValueError, match="one number for each of 2 images"):
        operate(pixels, ("invert",), which[:1], zeros)
    with pytest.raises(ValueError, match="bicubic"):
        operate(pixels, ("rotate",), which, zeros, resampling="bicubic")
    for fill in (256, -1, 0.5, (1, 2)):
        with pytest.raises(ValueError, match=r"0\.\.255"):
            operate(pixels, ("rotate",), which, zeros, fill=fill)
    for bits in (0, 9, 2.5):
        with pytest.raises(ValueError, match=r"1\.\.8 bits"):
            operations.posterize(pixels, bits)
