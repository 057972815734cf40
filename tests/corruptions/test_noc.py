"""The 23 candidates of ImageNet-NOC and its two extras, each against its law written out in numpy or Pillow.

There is no code of the authors to compare with here, so the laws are the proof. Each has two halves: what the pixels
become, given the draws, and how the draws are distributed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from laws import (
    apply,
    assert_fair,
    assert_mostly,
    assert_nearest,
    assert_normal,
    assert_shares,
    assert_uniform,
    assert_unrelated,
    draw,
    noise,
    own_places,
    rows_of,
    waves,
)
from PIL import Image
from scipy import ndimage

import scuff
from scuff import door
from scuff.corruptions.draws import pick, pick_whole
from scuff.random import image_keys
from scuff.suites.suite import SuiteError

SUITE = scuff.load_suite("noc-candidates")
ENTRIES = list(SUITE.entries)

# The range of each severity, as the authors' code has it: whole numbers, or real ones.
RANGES = {
    "quantization": (3, 8),
    "gaussian": (0.05, 0.18),
    "salt_pepper": (0.003, 0.032),
    "blur": (0.4, 0.95),
    "thumbnail_resize": (1.1, 3.25),
    "pixelate": (2, 4),
    "artifacts": (14, 170),
    "vertical_artifacts": (14, 180),
    "rhombus": (9, 76),
    "rain": (12, 120),
    "circle": (7, 50),
    "obstruction": (47, 125),
    "border": (9, 46),
    "translation": (15, 62),
    "shear": (12, 39),
    "elastic": (44, 110),
    "rotation": (7, 50),
    "backlight": (0.11, 0.44),
    "brightness": (0.16, 0.51),
    "contrast": (0.33, 0.74),
    "color_distortion": (0.09, 0.40),
    "gray_scale": (0.49, 1.0),
    "hue": (0.05, 0.5),
    "arlequin": (3, 36),
    "uniform": (0.06, 0.20),
}
STAMPED = ["artifacts", "vertical_artifacts", "rhombus", "rain", "circle", "arlequin"]


def _address(entry: str) -> str:
    return f"noc-candidates/{entry}"


# --- what the pixels become -----------------------------------------------------------------------------------------
# A law takes the levels 0..255 of one picture, (H, W, 3), and what that picture drew. It gives exact real levels.


def _stamped(v: np.ndarray, d: dict, pixels: Callable, colours: np.ndarray) -> np.ndarray:
    """Stamps laid down one after the other; `pixels(row, column, kind)` are those that one covers."""
    out = v.copy()
    for (row, column), kind, colour in zip(d["places"], d["kinds"], colours, strict=True):
        for i, j in pixels(int(row), int(column), int(kind)) if kind >= 0 else ():
            out[i, j] = 255 * np.float64(colour)
    return out


def _rhombus(row: int, column: int, kind: int = 0) -> list[tuple[int, int]]:
    return [(row + i, column + j) for i in range(-6, 7) for j in range(-(7 - abs(i)), 6 - abs(i) + 1)]


def _disc(row: int, column: int, kind: int = 0) -> list[tuple[int, int]]:
    half = (6, 6, 5, 5, 4, 3, 1)
    return [(row + i, column + j) for i in range(-6, 7) for j in range(-half[abs(i)], half[abs(i)] + 1)]


CORE, RIGHT, LEFT = (-2, -1, 0, 1, 2), (6, 8, 10, 12, 14), (-10, -8, -6, -4, -2)


def _dash(row: int, column: int, kind: int) -> set[tuple[int, int]]:
    """Kind 0 is the core alone; 1 has dots on the right, 2 on the left, 3 on both sides."""
    columns = (*CORE, *(RIGHT if kind & 1 else ()), *(LEFT if kind & 2 else ()))
    return {(row + i, column + j) for i in (-1, 0, 1) for j in columns}


def _upright_dash(row: int, column: int, kind: int) -> set[tuple[int, int]]:
    return {(i, j) for j, i in _dash(column, row, kind)}


def _blur(v: np.ndarray, d: dict) -> np.ndarray:
    blurred = v
    for _ in range(5):
        blurred = ndimage.uniform_filter(blurred, (3, 3, 1), mode="constant", cval=0.0)
    return (1 - d["share"]) * v + d["share"] * blurred


def _thumbnail(v: np.ndarray, d: dict) -> np.ndarray:
    height, width = v.shape[:2]
    factor = float(d["shrink"])
    picture = Image.fromarray(v.astype(np.uint8))
    small = picture.resize((math.floor(width / factor), math.floor(height / factor)), Image.Resampling.BILINEAR)
    return np.asarray(small.resize((width, height), Image.Resampling.BILINEAR), float)


def _pixelate(v: np.ndarray, d: dict) -> np.ndarray:
    k = int(d["side"])
    rows, columns = v.shape[0] // k, v.shape[1] // k
    cells = v[: rows * k, : columns * k].reshape(rows, k, columns, k, 3).mean((1, 3))
    blown_up = cells.repeat(k, axis=0).repeat(k, axis=1)
    around = [(n % k // 2, n % k // 2) for n in v.shape[:2]]  # one pixel where a third leaves two over
    return np.pad(blown_up, (*around, (0, 0)), mode="reflect")


def _rain(v: np.ndarray, d: dict) -> np.ndarray:
    out = v.copy()
    for (row, column), kind in zip(d["places"], d["kinds"], strict=True):
        for i, j in _disc(int(row), int(column)) if kind >= 0 else ():
            out[i, j] = (out[i, j] + 255) / 2
    return out


def _obstruction(v: np.ndarray, d: dict) -> np.ndarray:
    out = v.copy()
    top, left, side = int(d["top"]), int(d["left"]), int(d["side"])
    out[top : top + side, left : left + side] = 255 * np.float64(d["grey"])
    return out


def _border(v: np.ndarray, d: dict) -> np.ndarray:
    t = int(d["thickness"])
    out = np.full_like(v, 127.5)
    out[t:-t, t:-t] = v[t:-t, t:-t]
    return out


def _read(v: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Pixels at whole coordinates, black outside."""
    height, width = v.shape[:2]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    values = v[rows.clip(0, height - 1).astype(int), columns.clip(0, width - 1).astype(int)]
    return np.where(inside[..., None], values, 0.0)


def _translation(v: np.ndarray, d: dict) -> np.ndarray:
    i, j = np.mgrid[: v.shape[0], : v.shape[1]]
    return _read(v, i - int(d["offset"][0]), j - int(d["offset"][1]))


def _whole_degrees(d: dict) -> float:
    """The drawn angle is a whole number of degrees; in radians, with all digits."""
    degrees = math.degrees(d["angle"])
    assert abs(degrees - round(degrees)) < 1e-4
    return math.radians(round(degrees))


def _shear(v: np.ndarray, d: dict) -> np.ndarray:
    i, j = np.mgrid[: v.shape[0], : v.shape[1]]
    return _read(v, i, np.floor(j + 0.5 + math.tan(_whole_degrees(d)) * (i - v.shape[0] / 2)))


def _rotation(v: np.ndarray, d: dict) -> np.ndarray:
    angle, (height, width) = _whole_degrees(d), v.shape[:2]
    i, j = np.mgrid[:height, :width]
    y, x = i - height / 2, j - width / 2
    across = math.cos(angle) * x + math.sin(angle) * y
    down = math.cos(angle) * y - math.sin(angle) * x
    return _read(v, np.floor(height / 2 + 0.5 + down), np.floor(width / 2 + 0.5 + across))


def _elastic(v: np.ndarray, d: dict) -> np.ndarray:
    """Linear between the centres of the pixels that are kept; beyond the outer centres, the edge."""
    cut, axis = int(d["removed"]), 0 if d["down"] else 1
    kept = np.moveaxis(v, axis, 0)[cut:]
    at = np.clip((np.arange(len(kept) + cut) + 0.5) * len(kept) / (len(kept) + cut) - 0.5, 0, len(kept) - 1)
    first = np.minimum(at.astype(int), len(kept) - 2)
    share = (at - first)[:, None, None]
    return np.moveaxis((1 - share) * kept[first] + share * kept[first + 1], 0, axis)


def _backlight(v: np.ndarray, d: dict) -> np.ndarray:
    i, j = np.mgrid[: v.shape[0], : v.shape[1]]
    brighter = j >= d["column"] if d["across"] else i < d["row"]
    return v + 255 * np.float64(d["shift"]) * np.where(brighter, 1, -1)[..., None]


def _gray_scale(v: np.ndarray, d: dict) -> np.ndarray:
    red, green, blue = np.moveaxis(v.astype(np.int64), -1, 0)
    grey = (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16
    assert np.array_equal(grey, Image.fromarray(v.astype(np.uint8)).convert("L"))
    return d["share"] * grey[..., None] + (1 - d["share"]) * v


def _hue(v: np.ndarray, d: dict) -> np.ndarray:
    hue, saturation, value = Image.fromarray(v.astype(np.uint8)).convert("HSV").split()
    turned = (np.asarray(hue).astype(int) + int(255 * d["turn"])) % 256
    return np.asarray(
        Image.merge("HSV", (Image.fromarray(turned.astype(np.uint8)), saturation, value)).convert("RGB"), float
    )


def _hwc(plane: np.ndarray) -> np.ndarray:
    return plane.transpose(1, 2, 0)


LAWS: dict[str, Callable[[np.ndarray, dict], np.ndarray]] = {
    "quantization": lambda v, d: 255 * np.round(d["levels"] * v / 255) / d["levels"],
    "gaussian": lambda v, d: v + 255 * np.abs(_hwc(d["noise"])),
    "salt_pepper": lambda v, d: np.where(_hwc(d["pepper"]), 0, np.where(_hwc(d["salt"]), 255, v)),
    "blur": _blur,
    "thumbnail_resize": _thumbnail,
    "pixelate": _pixelate,
    "artifacts": lambda v, d: _stamped(v, d, _dash, d["grey"]),
    "vertical_artifacts": lambda v, d: _stamped(v, d, _upright_dash, d["grey"]),
    "rhombus": lambda v, d: _stamped(v, d, _rhombus, d["grey"]),
    "rain": _rain,
    "circle": lambda v, d: _stamped(v, d, _disc, d["grey"]),
    "obstruction": _obstruction,
    "border": _border,
    "translation": _translation,
    "shear": _shear,
    "elastic": _elastic,
    "rotation": _rotation,
    "backlight": _backlight,
    "brightness": lambda v, d: v + d["shift"],
    "contrast": lambda v, d: (1 - d["share"]) * v + d["share"] * v.mean(),
    "color_distortion": lambda v, d: v + d["shift"],
    "gray_scale": _gray_scale,
    "hue": _hue,
    "arlequin": lambda v, d: _stamped(v, d, _rhombus, d["colour"]),
    "uniform": lambda v, d: v + 255 * _hwc(d["noise"]),
}


WIDE = (224, 300)  # the shorter side decides about scaling, so everything is as at 224, but rows are no columns


@pytest.mark.parametrize("size", [(224, 224), WIDE])
@pytest.mark.parametrize("entry", ENTRIES)
def test_pixels_follow_the_law(entry: str, size: tuple[int, int]) -> None:
    pictures = np.concatenate((noise(3, size), waves(size)))
    found = scuff.corrupt(pictures, _address(entry), seed=3)
    draws = rows_of(draw(_address(entry), 4, size, seed=3))
    exact = np.stack([LAWS[entry](v, d) for v, d in zip(pictures.astype(float), draws, strict=True)])
    if entry == "thumbnail_resize":
        # four passes, in Pillow with weights of 22 bits: where a pass meets a half, either neighbour is right
        assert_mostly(found, exact, within=0, share=0.99, worst=1)
    elif entry in ("shear", "rotation"):
        # coordinates in float32: a read on the line between two pixels may take either
        assert_mostly(found, exact, within=0, share=0.9999)
    else:
        assert_nearest(found, exact)


STAMPS = [
    ("rain", _disc, 0, 121),
    ("circle", _disc, 0, 121),
    ("rhombus", _rhombus, 0, 98),
    ("arlequin", _rhombus, 0, 98),
    ("artifacts", _dash, 0, 15),
    ("artifacts", _dash, 1, 30),
    ("artifacts", _dash, 2, 27),
    ("artifacts", _dash, 3, 42),
    ("vertical_artifacts", _upright_dash, 0, 15),
    ("vertical_artifacts", _upright_dash, 1, 30),
    ("vertical_artifacts", _upright_dash, 2, 27),
    ("vertical_artifacts", _upright_dash, 3, 42),
]


def _one_stamp(entry: str, row: int, column: int, kind: int = 0) -> dict[str, np.ndarray]:
    """Draws of one image with a single, almost white, stamp."""
    draws = {"places": np.array([[[row, column]]], np.int32), "kinds": np.array([[kind]], np.int32)}
    if entry == "arlequin":
        return {**draws, "colour": np.full((1, 1, 3), 0.9, np.float32)}
    return draws if entry == "rain" else {**draws, "grey": np.full((1, 1), 0.9, np.float32)}


@pytest.mark.parametrize(("entry", "pixels", "kind", "count"), STAMPS)
def test_stamps_are_the_published_ones(entry: str, pixels: Callable, kind: int, count: int) -> None:
    black = np.zeros((1, 224, 224, 3), np.uint8)
    covered = apply(_address(entry), black, _one_stamp(entry, 100, 77, kind))[0, ..., 1] > 0
    assert set(zip(*map(np.ndarray.tolist, covered.nonzero()), strict=True)) == set(pixels(100, 77, kind))
    assert covered.sum() == count


@pytest.mark.parametrize("levels", range(3, 9))
def test_quantization_leaves_one_level_more(levels: int) -> None:
    ramp = np.arange(256, dtype=np.uint8).reshape(1, 16, 16)[..., None].repeat(3, axis=-1)
    assert len(np.unique(scuff.corrupt(ramp, "imagenet-noc/quantization", levels))) == levels + 1


def test_gaussian_brightens_unless_unfolded() -> None:
    grey = np.full((1, 64, 64, 3), 100, np.uint8)  # eight deviations from black: nothing is clipped
    folded, plain = (
        scuff.corrupt(grey, "half_normal_noise", parameters={"std": 0.05, "folded": folded}).astype(float) - 100
        for folded in (1, 0)
    )
    assert np.array_equal(np.abs(plain), folded)
    error = 255 * 0.05 / math.sqrt(plain.size)
    assert plain.mean() == pytest.approx(0, abs=5 * error)
    assert folded.mean() == pytest.approx(255 * 0.05 * math.sqrt(2 / math.pi), abs=5 * error)


@pytest.mark.parametrize("across", [True, False])
@pytest.mark.parametrize("shift", [0.2, -0.2])
def test_backlight_has_a_light_and_a_dark_side(across: bool, shift: float) -> None:
    draws = {"shift": [shift], "across": [across], "column": [100], "row": [130]}
    draws = {name: np.array(value, np.float32 if name == "shift" else None) for name, value in draws.items()}
    y = apply(_address("backlight"), np.full((1, 224, 224, 3), 128, np.uint8), draws)[0]
    light, dark = (y[:, 100:], y[:, :100]) if across else (y[:130], y[130:])
    assert (light == 128 + round(255 * shift)).all()
    assert (dark == 128 - round(255 * shift)).all()


def test_translation_moves_both_axes() -> None:
    places = own_places()
    draws = {"offset": np.array([[15, -62]], np.float32)}
    y = apply(_address("translation"), places, draws)[0]
    assert np.array_equal(y[15:, :-62], places[0, :-15, 62:])
    assert not y[:15].any()
    assert not y[:, -62:].any()


def _signed(low: int, high: int) -> np.ndarray:
    degrees = np.arange(low, high + 1)
    return np.radians(np.concatenate((-degrees, degrees))).astype(np.float32)


def _turned_by_pillow(entry: str, picture: np.ndarray, angle: float) -> np.ndarray:
    """As torchvision 0.6 did it: an affine map about (W / 2 + 1/2, H / 2 + 1/2), nearest pixels."""
    height, width = picture.shape[:2]
    a, b, c, d = 1.0, math.tan(angle), 0.0, 1.0
    if entry == "rotation":
        a, b, c, d = math.cos(angle), math.sin(angle), -math.sin(angle), math.cos(angle)
    x, y = width / 2 + 0.5, height / 2 + 0.5
    matrix = (a, b, x - a * x - b * y, c, d, y - c * x - d * y)
    return np.asarray(Image.fromarray(picture).transform((width, height), Image.Transform.AFFINE, matrix))


@pytest.mark.parametrize("entry", ["shear", "rotation"])
def test_every_angle_reads_the_right_places(entry: str) -> None:
    """Against the formula, 99.9 %: a few reads fall on the line between two pixels, as at 30 degrees.

    Against Pillow, 99.5 %: its steps are multiples of 1/65536, which is 0.002 pixels off at the end of a row.
    """
    angles, places = _signed(*RANGES[entry]), own_places()
    for angle in angles:
        draws = {"angle": np.array([angle])}
        found = apply(_address(entry), places, draws)[0]
        assert_mostly(found, LAWS[entry](places[0].astype(float), rows_of(draws)[0]), within=0, share=0.999)
        assert_mostly(found, _turned_by_pillow(entry, places[0], math.radians(round(math.degrees(angle)))), 0, 0.995)


@pytest.mark.parametrize("down", [True, False])
@pytest.mark.parametrize("cut", [44, 75, 110])
def test_elastic_is_pillows_enlargement(cut: int, down: bool) -> None:
    """But for halves, which Pillow's weights of 22 bits send either way."""
    pictures = np.concatenate((noise(1), waves()))
    found = apply(_address("elastic"), pictures, {"removed": np.full(2, cut, np.int32), "down": np.full(2, down)})
    for picture, result in zip(pictures, found, strict=True):
        kept = Image.fromarray(picture[cut:] if down else picture[:, cut:])
        assert_mostly(result, np.asarray(kept.resize((224, 224), Image.Resampling.BILINEAR)), 0, 0.99, worst=1)


# --- how the draws are distributed ----------------------------------------------------------------------------------


def _used(d: dict) -> np.ndarray:
    return d["kinds"] >= 0


# What can be seen of the severity in the draws, one value per image (two for a translation). Of three noises only an
# estimate is seen.
SEEN: dict[str, Callable[[dict], np.ndarray]] = {
    "quantization": lambda d: d["levels"].astype(int),
    "gaussian": lambda d: d["noise"].std((1, 2, 3)),
    "salt_pepper": lambda d: (d["pepper"] | d["salt"]).mean((1, 2, 3)),
    "blur": lambda d: d["share"],
    "thumbnail_resize": lambda d: d["shrink"],
    "pixelate": lambda d: d["side"],
    **dict.fromkeys(STAMPED, lambda d: _used(d).sum(1)),
    "obstruction": lambda d: d["side"],
    "border": lambda d: d["thickness"],
    "translation": lambda d: np.abs(d["offset"]).astype(int),
    "shear": lambda d: np.round(np.degrees(np.abs(d["angle"]))).astype(int),
    "elastic": lambda d: d["removed"],
    "rotation": lambda d: np.round(np.degrees(np.abs(d["angle"]))).astype(int),
    "backlight": lambda d: np.abs(d["shift"]),
    "brightness": lambda d: np.abs(d["shift"]) / 255,
    "contrast": lambda d: d["share"],
    "color_distortion": lambda d: d["shift"].max(1) / 255,
    "gray_scale": lambda d: d["share"],
    "hue": lambda d: np.abs(d["turn"]),
    "uniform": lambda d: np.abs(d["noise"]).max((1, 2, 3)),
}
# Estimates from 12 288 values: relative errors of 0.7 %, of 10 % at the least probability, and of less than 0.1 %.
ESTIMATED = {"gaussian": 0.04, "salt_pepper": 0.6, "uniform": 0.002}


def _keys(entry: str, severity: float | None, count: int, seed: int = 0) -> torch.Tensor:
    plan = door.resolve(_address(entry), severity)
    return image_keys(plan.entry, plan.level, torch.arange(count), seed)


def _drawn_severity(entry: str, count: int, seed: int = 0) -> np.ndarray:
    between = SUITE.severity_range(entry)
    return (pick_whole if between.is_whole else pick)(_keys(entry, None, count, seed), between).numpy()


@pytest.mark.parametrize("entry", ENTRIES)
def test_severities_are_uniform_and_independent(entry: str) -> None:
    if entry in ESTIMATED:
        drawn = _drawn_severity(entry, 3000)
        estimate = SEEN[entry](draw(_address(entry), 200, (64, 64)))
        assert np.allclose(estimate, drawn[:200], rtol=ESTIMATED[entry])
    else:
        drawn = SEEN[entry](draw(_address(entry), 3000))
    slack = 1e-6 if drawn.dtype == np.float32 else 0  # float32 knows the ends to seven digits
    low, high = RANGES[entry]
    assert_uniform(drawn, low - slack, high + slack)
    assert_unrelated(*drawn.reshape(3000, -1).T)


def _places(axis: int) -> Callable[[dict], np.ndarray]:
    return lambda d: d["places"][..., axis][_used(d)]


# Bounds of what else is drawn, in pictures of height h and width w.
CENTRED = ("rhombus", "rain", "circle", "arlequin")
OTHER_DRAWS = [
    ("artifacts", "row", _places(0), lambda h, w: (1, h - 2)),
    ("artifacts", "column", _places(1), lambda h, w: (2, w - 3)),
    ("vertical_artifacts", "row", _places(0), lambda h, w: (2, h - 3)),
    ("vertical_artifacts", "column", _places(1), lambda h, w: (1, w - 2)),
    *((entry, "row", _places(0), lambda h, w: (7, h - 7)) for entry in CENTRED),
    *((entry, "column", _places(1), lambda h, w: (7, w - 7)) for entry in CENTRED),
    ("artifacts", "grey", lambda d: d["grey"][:, 0], lambda h, w: (0.0, 1.0)),
    ("vertical_artifacts", "grey", lambda d: d["grey"][:, 0], lambda h, w: (0.0, 1.0)),
    ("rhombus", "grey", lambda d: d["grey"], lambda h, w: (0.0, 1.0)),
    ("circle", "grey", lambda d: d["grey"], lambda h, w: (0.0, 1.0)),
    ("obstruction", "grey", lambda d: d["grey"], lambda h, w: (0.0, 1.0)),
    ("arlequin", "colour", lambda d: d["colour"][:, 0], lambda h, w: (0.0, 1.0)),
    # the lower end is rounded down too: 112 - 45 .. 112 + 44 at 224
    ("backlight", "row", lambda d: d["row"], lambda h, w: (h // 2 + math.floor(-h / 5), h // 2 + math.floor(h / 5))),
    ("backlight", "column", lambda d: d["column"], lambda h, w: (w // 2 + math.floor(-w / 5), w // 2 + w // 5)),
    ("color_distortion", "channel", lambda d: d["shift"].argmax(1), lambda h, w: (0, 2)),
]


@pytest.mark.parametrize("size", [(224, 224), WIDE])
@pytest.mark.parametrize(("entry", "what", "values", "bounds"), OTHER_DRAWS)
def test_other_draws_are_uniform(entry: str, what: str, values: Callable, bounds: Callable, size: tuple) -> None:
    assert_uniform(values(draw(_address(entry), 1500, size, seed=1)), *bounds(*size))


FAIR = [
    ("translation", lambda d: d["offset"][:, 0]),
    ("translation", lambda d: d["offset"][:, 1]),
    ("translation", lambda d: d["offset"].prod(1)),
    ("shear", lambda d: d["angle"]),
    ("rotation", lambda d: d["angle"]),
    ("elastic", lambda d: d["down"]),
    ("backlight", lambda d: d["shift"]),
    ("backlight", lambda d: d["across"]),
    ("backlight", lambda d: d["shift"] * np.where(d["across"], 1, -1)),
    ("brightness", lambda d: d["shift"]),
    ("hue", lambda d: d["turn"]),
]


@pytest.mark.parametrize(("entry", "values"), FAIR)
def test_signs_and_axes_are_fair(entry: str, values: Callable) -> None:
    draws = draw(_address(entry), 3000, seed=2)
    assert_fair(values(draws))
    assert_unrelated(values(draws) > 0, *SEEN[entry](draws).reshape(3000, -1).T)


def test_one_channel_alone_is_raised() -> None:
    shift = draw(_address("color_distortion"), 500)["shift"]
    assert ((shift != 0).sum(1) == 1).all()
    assert (shift >= 0).all()


@pytest.mark.parametrize("entry", ["artifacts", "vertical_artifacts", "arlequin"])
def test_one_colour_serves_all_stamps_of_a_picture(entry: str) -> None:
    draws = draw(_address(entry), 50)
    colours = draws["colour" if entry == "arlequin" else "grey"]
    assert (colours == colours[:, :1]).all()
    assert len(np.unique(colours[:, 0])) == 50 * (3 if entry == "arlequin" else 1)


@pytest.mark.parametrize(("entry", "axis", "length"), [("artifacts", 1, 300), ("vertical_artifacts", 0, 224)])
def test_dashes_are_dotted_where_there_is_room(entry: str, axis: int, length: int) -> None:
    """Dots on the right if c + 2 < W - 12, on the left if c - 2 > 7; with one chance in seven, none at all."""
    draws = draw(_address(entry), 500, WIDE, seed=4)
    used = _used(draws)
    at, kind = draws["places"][..., axis][used], draws["kinds"][used]
    room = 1 * (at + 2 < length - 12) + 2 * (at - 2 > 7)
    assert set(room) == {1, 2, 3}
    assert ((kind == 0) | (kind == room)).all()
    assert_shares((kind > 0).astype(int), (1 / 7, 6 / 7))
    assert_unrelated(kind[:5000] > 0, at[:5000])


@pytest.mark.parametrize("side", [47, 125])
def test_an_obstruction_lies_anywhere_inside(side: int) -> None:
    draws = draw(_address("obstruction"), 3000, WIDE, severity=side)
    assert_uniform(draws["top"], 0, 224 - side)
    assert_uniform(draws["left"], 0, 300 - side)
    assert_unrelated(draws["top"], draws["left"])


def test_noise_has_its_distribution_in_every_value() -> None:
    shape = (24, 24)
    assert_normal(draw(_address("gaussian"), 20, shape, severity=0.1)["noise"] / 0.1)
    assert_uniform(draw(_address("uniform"), 20, shape, severity=0.1)["noise"] / 0.1, -1.000001, 1.000001)
    impulses = draw(_address("salt_pepper"), 20, (64, 64), severity=0.03)
    pepper, salt = impulses["pepper"], impulses["salt"]
    assert not (pepper & salt).any()
    assert_shares(pepper + 2 * salt, (0.97, 0.015, 0.015))
    # every channel for itself: two channels of a pixel are both hit with probability 0.03 squared
    hit = (pepper | salt).astype(int)
    assert_shares(hit.sum(1), [math.comb(3, k) * 0.03**k * 0.97 ** (3 - k) for k in range(4)])


# --- severities fixed -----------------------------------------------------------------------------------------------


def _inside(entry: str) -> list[float]:
    low, high = RANGES[entry]
    return [low, (low + high) // 2 if isinstance(low, int) else (low + high) / 2, high]


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_fixed_severity_is_what_images_get(entry: str) -> None:
    for severity in _inside(entry):
        seen = SEEN[entry](draw(_address(entry), 20, (64, 64) if entry in ESTIMATED else (224, 224), severity))
        assert seen == pytest.approx(severity, rel=ESTIMATED.get(entry, 1e-6))


@pytest.mark.parametrize("entry", ENTRIES)
def test_a_severity_outside_is_refused(entry: str) -> None:
    low, high = RANGES[entry]
    wrong = [low - 1, high + 1, "3", True] if isinstance(low, int) else [low - 0.01, high + 0.01, float("nan"), "a"]
    if isinstance(low, int):
        wrong.append(low + 0.5)
    for severity in wrong:
        with pytest.raises(SuiteError, match=f"the severity of noc-candidates/{entry} must be a"):
            scuff.corrupt(noise(1, (32, 32)), _address(entry), severity)


@pytest.mark.parametrize("entry", ENTRIES)
def test_fixing_what_was_drawn_changes_nothing(entry: str) -> None:
    picture = noise(1)
    if entry == "translation":  # draws two distances, so an image is needed to which the same has come twice
        distances = SEEN[entry](draw(_address(entry), 500))
        place = int((distances[:, 0] == distances[:, 1]).argmax())
        severity = int(distances[place, 0])
    else:
        place = 5
        severity = _drawn_severity(entry, place + 1)[place].item()
    drawn = scuff.corrupt(picture, _address(entry), ids=[place])
    assert np.array_equal(drawn, scuff.corrupt(picture, _address(entry), severity, ids=[place]))
    other = next(s for s in _inside(entry) if abs(s - severity) > 1e-3)
    assert not np.array_equal(drawn, scuff.corrupt(picture, _address(entry), other, ids=[place]))


# --- other sizes ----------------------------------------------------------------------------------------------------

AT_32 = {
    "rain": (6, 59),
    "circle": (3, 25),
    "obstruction": (7, 18),
    "border": (1, 7),
    "translation": (2, 9),
    "elastic": (6, 16),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_severities_at_32_pixels(entry: str) -> None:
    """Lengths shrink, and so do shapes, of which there are then fewer; everything else stays."""
    if entry in AT_32:
        seen = SEEN[entry](draw(_address(entry), 3000, (32, 32)))
        assert (seen.min(), seen.max()) == AT_32[entry]
    elif entry not in STAMPED:
        low, high = RANGES[entry]
        rough = ESTIMATED.get(entry, 1e-6)
        seen = SEEN[entry](draw(_address(entry), 1000, (32, 32)))
        if entry in ("gaussian", "salt_pepper"):  # a rough estimate of each image, but a good one of their average
            assert seen.mean() == pytest.approx((low + high) / 2, rel=0.05)
        else:
            assert low * (1 - rough) <= seen.min() < low + 0.2 * (high - low)
            assert high - 0.2 * (high - low) < seen.max() <= high * (1 + rough)


PLUS = {(9, 12), (10, 11), (10, 12), (10, 13), (11, 12)}


@pytest.mark.parametrize("entry", ["rain", "circle"])
def test_a_disc_at_32_pixels_is_a_plus(entry: str) -> None:
    covered = apply(_address(entry), np.zeros((1, 32, 32, 3), np.uint8), _one_stamp(entry, 10, 12))[0, ..., 0] > 0
    assert set(zip(*map(np.ndarray.tolist, covered.nonzero()), strict=True)) == PLUS


SIZES = [(32, 32), (37, 51), (64, 64), (75, 131), (223, 225), (448, 448)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("entry", STAMPED)
def test_stamps_stay_inside_the_picture(entry: str, size: tuple[int, int]) -> None:
    """Whole at all sizes: the first stamp of each image covers as many pixels as one in the middle of the picture."""
    count = 300 if max(size) < 200 else 60
    draws = {name: value[:, :1] for name, value in draw(_address(entry), count, size, seed=6).items()}
    for name in ("grey", "colour"):
        if name in draws:
            draws[name] = np.full_like(draws[name], 0.9)
    black = np.zeros((count, *size, 3), np.uint8)
    found = (apply(_address(entry), black, draws)[..., 0] > 0).sum((1, 2))
    middle = {
        kind: (apply(_address(entry), black[:1], _one_stamp(entry, size[0] // 2, size[1] // 2, kind)) > 0)[..., 0].sum()
        for kind in np.unique(draws["kinds"]).tolist()
    }
    assert found.tolist() == [middle[kind] for kind in draws["kinds"][:, 0].tolist()]


@pytest.mark.parametrize("size", [(32, 32), (64, 64), (75, 131), (448, 448)])
@pytest.mark.parametrize("entry", STAMPED)
def test_the_covered_share_is_that_of_224_pixels(entry: str, size: tuple[int, int]) -> None:
    """Pixels of all stamps over those of the picture, on average; 5 % because counts are whole and small dots merge."""

    def share(size: tuple[int, int]) -> float:
        kinds = draw(_address(entry), 2000, size, seed=8)["kinds"]
        black = np.zeros((1, *size, 3), np.uint8)
        total = 0.0
        for kind in range(kinds.max() + 1):
            stamp = apply(_address(entry), black, _one_stamp(entry, size[0] // 2, size[1] // 2, kind))
            total += (stamp[..., 0] > 0).sum() * (kinds == kind).sum(1).mean()
        return total / (size[0] * size[1])

    assert share(size) == pytest.approx(share((224, 224)), rel=0.05)


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("alias", "entry"), [("low_res", "thumbnail_resize"), ("color_disortion", "color_distortion")])
def test_the_names_of_the_released_code_work(alias: str, entry: str) -> None:
    picture = noise(1, (48, 48))
    assert np.array_equal(scuff.corrupt(picture, _address(alias)), scuff.corrupt(picture, _address(entry)))


def test_twenty_three_candidates_and_two_extras() -> None:
    assert set(ENTRIES) == set(RANGES) == set(LAWS) == set(SEEN)
    assert set(ENTRIES) - set(SUITE.benchmark()) == {"arlequin", "uniform"}
    assert len(SUITE.benchmark()) == 23
    for entry, (low, high) in RANGES.items():
        found = SUITE.severity_range(entry)
        assert (found.low, found.high, type(found.low)) == (low, high, type(low))


def test_imagenet_noc_has_eight_of_them() -> None:
    chosen = scuff.load_suite("imagenet-noc")
    assert set(chosen.entries) == {
        "rain", "quantization", "shear", "brightness", "hue", "vertical_artifacts", "blur", "border",
    }  # fmt: skip
    assert chosen.benchmark() == list(chosen.entries)
    assert all(chosen.entries[entry] == SUITE.entries[entry] for entry in chosen.entries)
    assert chosen.size == SUITE.size == 224
