"""Perturbation sequences: every law of ImageNet-P against a computation of its own, the door, and the contract."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from golden.pictures import pictures_32, pictures_224
from laws import half_gaussian_motion
from PIL import Image
from scipy import ndimage
from skimage import filters

import scuff
from scuff import batches, random
from scuff.corruptions import blur, get, noise, registry, weather
from scuff.pictures import crop_centre
from scuff.sheets import GAP, MARGIN, corruption_sheet

SUITES = {"imagenet-p": 224, "tiny-imagenet-p": 64, "cifar10-p": 32}
NOISE = ("gaussian_noise", "shot_noise", "speckle_noise")
STILL = {"imagenet-p": {"translate": 20, "scale": 24}, "cifar10-p": {"translate": 7, "scale": 15}}


def _pictures(suite: str, count: int = 2) -> np.ndarray:
    if suite == "cifar10-p":
        return pictures_32()[:count]
    return np.ascontiguousarray(pictures_224()[:count, : SUITES[suite], : SUITES[suite]])


def _nchw(pictures: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(pictures).permute(0, 3, 1, 2)


def _assert_close(ours: np.ndarray, theirs: np.ndarray, exact: float) -> None:
    """Never more than a level apart, and equal in a share `exact` of the values; the rest are float32 ties."""
    difference = np.abs(ours.astype(int) - theirs.astype(int))
    assert difference.max() <= 1, f"{(difference > 1).mean():.5%} differ by more than a level"
    assert (difference == 0).mean() >= exact, f"only {(difference == 0).mean():.5%} are equal"


def _out(y: np.ndarray) -> np.ndarray:
    return (np.clip(y, 0, 1) * 255).astype(np.uint8)


# --- the table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUITES)
def test_suites(name: str) -> None:
    suite = scuff.load_suite(name)
    assert (suite.size, suite.severities, suite.version) == (SUITES[name], 3, 2)
    assert suite.benchmark() == [
        "gaussian_noise", "shot_noise", "motion_blur", "zoom_blur", "snow",
        "brightness", "translate", "rotate", "tilt", "scale",
    ]  # fmt: skip
    assert suite.validation == ("speckle_noise", "gaussian_blur", "spatter", "shear")
    assert suite.compare_to_first == tuple(entry for entry in suite.entries if "noise" in entry)
    for entry in suite.entries:
        assert suite.levels(entry) == ((1, 2, 3) if entry in NOISE else (None,))
        assert get(suite.corruption(entry)).sequence
    moving = {entry for entry in suite.entries if get(suite.corruption(entry)).before_crop}
    assert moving == {"translate", "rotate", "tilt", "scale", "shear"}


@pytest.mark.parametrize("name", SUITES)
def test_numbers_of_frames(name: str) -> None:
    others = {("imagenet-p", "translate"): 41, ("cifar10-p", "translate"): 16, ("cifar10-p", "motion_blur"): 21}
    x = _pictures("cifar10-p", 1)
    for entry in scuff.load_suite(name).entries:
        frames = others.get((name, entry), 31)
        assert scuff.sequence(x, f"{name}/{entry}").shape == (1, frames, 32, 32, 3), entry


# --- noise ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SUITES)
def test_noise_is_fresh_in_every_frame_and_of_its_strength(name: str) -> None:
    x = torch.full((2, 3, 48, 48), 0.5)
    for entry, parameter in (("gaussian_noise", "std"), ("speckle_noise", "std"), ("shot_noise", "photons")):
        for difficulty in (1, 2, 3):
            value = scuff.load_suite(name).parameters(entry, difficulty)[parameter]
            std = {"gaussian_noise": value, "speckle_noise": 0.5 * value, "shot_noise": math.sqrt(0.5 / value)}[entry]
            y = scuff.sequence(x, f"{name}/{entry}", difficulty) - 127 / 255
            assert torch.equal(y[:, 0], torch.zeros_like(x))  # 0.5 lies between two bytes and is truncated
            rounding = 1 / 255 / math.sqrt(12)  # of the truncation; photon counts beat with it, hence 2 %
            assert float(y[:, 1:].std()) == pytest.approx(math.hypot(std, rounding), rel=0.02)
            films = y[:, 1:].flatten(2).double()
            films = films - films.mean(-1, keepdim=True)
            correlation = torch.corrcoef(films.flatten(0, 1)) - torch.eye(60)
            assert float(correlation.abs().max()) < 0.07  # five deviations of a correlation over 6912 values


def test_noise_frames_are_the_plain_noise() -> None:
    pictures = _pictures("cifar10-p")
    y = scuff.sequence(pictures, "cifar10-p/shot_noise", 3, ids=[4, 9], seed=2)
    assert np.array_equal(y[:, 0], pictures)
    keys = random.image_keys("cifar10-p/shot_noise", 3, torch.tensor([4, 9]), 2)
    for k in (1, 30):
        u = random.uniform(keys, f"frame {k}", (3, 32, 32))
        plain = noise.shot_noise(_nchw(pictures) / 255, u, photons=200)
        assert np.array_equal(_nchw(y[:, k]), (plain.clamp(0, 1) * 255).to(torch.uint8))


# --- blur -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "radius", "sigma", "angles"),
    [
        ("imagenet-p", 10, 3.0, {0: -120, 15: -60, 16: -56, 30: 0}),
        ("tiny-imagenet-p", 4, 0.857, {0: -150, 18: -60, 30: 0}),
        ("cifar10-p", 6, 1.8, {0: -180, 10: -90, 20: 0}),
    ],
)
def test_motion_blur(name: str, radius: int, sigma: float, angles: dict[int, float]) -> None:
    pictures = _pictures(name)
    y = scuff.sequence(pictures, f"{name}/motion_blur")
    for frame, angle in angles.items():
        for n in range(2):
            expected = half_gaussian_motion(pictures[n].astype(float), angle, radius, sigma)
            _assert_close(y[n, frame], expected, 0.999)


def test_motion_blur_is_the_plain_filter_at_every_angle() -> None:
    pictures = _nchw(_pictures("cifar10-p"))
    for k, frame in enumerate(scuff.frames(pictures, "cifar10-p/motion_blur")):
        assert torch.equal(frame, blur.motion_blur(pictures, torch.full((2,), 9.0 * (k - 20)), radius=6, sigma=1.8))


def _pillow(picture: np.ndarray, a: float, b: float, d: float, e: float) -> np.ndarray:
    """Pillow's affine map about the centre of the generator's library of 2018: half a pixel off the middle."""
    height, width = picture.shape[:2]
    cx, cy = width / 2 + 0.5, height / 2 + 0.5
    matrix = (a, b, cx - a * cx - b * cy, d, e, cy - d * cx - e * cy)
    bilinear = Image.Resampling.BILINEAR
    return np.asarray(Image.fromarray(picture).transform((width, height), Image.Transform.AFFINE, matrix, bilinear))


@pytest.mark.parametrize("name", ["imagenet-p", "cifar10-p"])
def test_zoom_blur_is_a_running_mean_of_zooms(name: str) -> None:
    pictures = _pictures(name)
    y = scuff.sequence(pictures, f"{name}/zoom_blur")
    assert np.array_equal(y[:, 0], pictures)
    for frame in (1, 12, 30):
        factors = [1 + 0.004 * k for k in range(frame + 1)]
        for n in range(2):
            zooms = [_pillow(pictures[n], 1 / z, 0, 0, 1 / z).astype(float) for z in factors]
            _assert_close(y[n, frame], np.floor(np.mean(zooms, axis=0) + 1e-9), 0.98)


@pytest.mark.parametrize(("name", "law"), [("imagenet-p", (0.25, 0.035, 6)), ("cifar10-p", (0.3, 0.015, 7))])
def test_gaussian_blur(name: str, law: tuple[float, float, float]) -> None:
    pictures = _pictures(name)
    y = scuff.sequence(pictures, f"{name}/gaussian_blur")
    for frame in (0, 11, 30):
        for n in range(2):
            sigma = law[0] + law[1] * frame
            expected = filters.gaussian(pictures[n] / 255.0, sigma=sigma, truncate=law[2], channel_axis=-1)
            _assert_close(y[n, frame], _out(expected), 0.97)


# --- weather --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "step"), [("imagenet-p", 0.02), ("cifar10-p", 0.015)])
def test_brightness(name: str, step: float) -> None:
    pictures = _pictures(name)
    y = scuff.sequence(pictures, f"{name}/brightness")
    assert np.array_equal(y[:, 15], pictures)
    for frame in (0, 7, 30):
        plain = scuff.corrupt(pictures, "brightness", parameters={"shift": round(step * (frame - 15), 9)})
        assert np.array_equal(y[:, frame], plain)


@pytest.mark.parametrize("name", SUITES)
def test_snow_blows_the_same_flakes_in_a_turning_wind(name: str) -> None:
    pictures = _pictures(name)
    p = scuff.load_suite(name).parameters("snow")
    keys = random.image_keys(f"{name}/snow", None, torch.arange(2))
    drawn = get("snow_frames").drawn(keys, (3, SUITES[name], SUITES[name]), p)
    assert drawn["layer"].std() == pytest.approx(p["std"], rel=0.1)
    rest = {key: p[key] for key in ("zoom", "threshold", "radius", "sigma", "keep")}
    y = scuff.sequence(_nchw(pictures), f"{name}/snow")
    for frame in (1, 15, 29):  # at the first and the last, sin 30 degrees = 1/2 depends on its last bit
        angle = torch.full((2,), 4.0 * frame - 150)
        plain = weather.snow(_nchw(pictures) / 255, drawn["layer"], angle, **rest)
        assert torch.equal(y[:, frame], (plain.clamp(0, 1) * 255).to(torch.uint8))


@pytest.mark.parametrize(("name", "taps"), [("imagenet-p", (0.05, 0.1, 0.15, 0.7)), ("cifar10-p", (0, 0.2, 0.8, 0))])
def test_spatter_runs_down(name: str, taps: tuple[float, ...]) -> None:
    size = SUITES[name]
    pictures, p = _pictures(name), scuff.load_suite(name).parameters("spatter")
    keys = random.image_keys(f"{name}/spatter", None, torch.arange(2))
    layer = get("spatter_frames").drawn(keys, (3, size, size), p)["layer"]
    layer = weather.liquid(layer, p["sigma"], p["threshold"])
    drift = sum(tap * torch.diag(torch.ones(size - abs(k)), k) for tap, k in zip(taps, (1, 0, -1, -2), strict=True))
    y = scuff.sequence(_nchw(pictures), f"{name}/spatter")
    for frame in (0, 1, 5, 30):
        moved = torch.linalg.matrix_power(drift.double(), frame) @ layer.double()
        wet = weather.wetted(_nchw(pictures) / 255, moved.float(), 0.6)
        close = (y[:, frame].int() - (wet.clamp(0, 1) * 255).int()).abs() <= 1
        assert float(close.float().mean()) > 0.999


# --- the view moves --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "still"), [("imagenet-p", 20), ("tiny-imagenet-p", 15), ("cifar10-p", 7)])
def test_translate_is_an_exact_shift(name: str, still: int) -> None:
    pictures = _pictures(name)
    y = scuff.sequence(pictures, f"{name}/translate")
    for frame in range(y.shape[1]):
        right, expected = frame - still, np.zeros_like(pictures)
        if right > 0:
            expected[:, :, right:] = pictures[:, :, :-right]
        else:
            expected[:, :, : expected.shape[2] + right] = pictures[:, :, -right:]
        assert np.array_equal(y[:, frame], expected)


def _rotation(k: int) -> tuple[float, ...]:
    a = math.radians(k - 15)
    return math.cos(a), math.sin(a), -math.sin(a), math.cos(a)


def _shear(k: int) -> tuple[float, ...]:
    a = math.radians(k - 15)
    return 1.0, math.tan(a), 0.0, 1 / math.cos(a)


def _scaling(first: float, step: float):
    return lambda k: (1 / (first + step * k), 0.0, 0.0, 1 / (first + step * k))


@pytest.mark.parametrize(
    ("address", "law"),
    [
        ("imagenet-p/rotate", _rotation),
        ("cifar10-p/rotate", _rotation),
        ("imagenet-p/shear", _shear),
        ("cifar10-p/shear", _shear),
        ("imagenet-p/scale", _scaling(0.4, 0.025)),
        ("cifar10-p/scale", _scaling(0.7, 0.02)),
    ],
)
def test_affine_maps_are_those_of_pillow(address: str, law) -> None:
    """At a scale of 0.8 many reads are whole levels but for the last bit, which Pillow truncates away."""
    pictures = _pictures(address.split("/")[0])
    y = scuff.sequence(pictures, address)
    for frame in (0, 4, 14, 16, 30):
        for n in range(2):
            _assert_close(y[n, frame], _pillow(pictures[n], *law(frame)), 0.96)


def _tilted(x: float, y: float, angle: float, height: int, width: int) -> tuple[float, float]:
    """One point, step by step."""
    c, s, f = math.cos(angle), math.sin(angle), math.hypot(width, height)
    p1, p2, p3 = x - width / 2, y - height / 2, 1.0
    p1, p3 = c * p1 - s * p3, s * p1 + c * p3
    p2, p3 = c * p2 - s * p3, s * p2 + c * p3
    p3 += f
    return f * p1 / p3 + width / 2, f * p2 / p3 + height / 2


@pytest.mark.parametrize(("name", "step"), [("imagenet-p", 1.0), ("cifar10-p", 0.75)])
def test_tilt_is_a_homography(name: str, step: float) -> None:
    """The map back is solved from four points; the reads are scipy's. OpenCV, which the original used, rounds."""
    pictures = np.ascontiguousarray(_pictures(name)[:, :, :-6])  # not square
    height, width = pictures.shape[1:3]
    rows, columns = np.mgrid[:height, :width]
    y = scuff.sequence(pictures, f"{name}/tilt")
    for frame in (0, 9, 15, 30):
        equations, values = [], []
        for px, py in ((0, 0), (width, 0), (0, height), (width, height)):
            qx, qy = _tilted(px, py, math.radians(step * (frame - 15)), height, width)
            equations += [[qx, qy, 1, 0, 0, 0, -px * qx, -px * qy], [0, 0, 0, qx, qy, 1, -py * qx, -py * qy]]
            values += [px, py]
        back = np.append(np.linalg.solve(equations, values), 1.0).reshape(3, 3)
        across, down, depth = np.tensordot(back, (columns, rows, np.ones_like(rows)), 1)
        for n in range(2):
            reads = [
                ndimage.map_coordinates(
                    pictures[n, ..., c].astype(float), (down / depth, across / depth), order=1, mode="grid-constant"
                )
                for c in range(3)
            ]
            _assert_close(y[n, frame], np.floor(np.stack(reads, -1) + 0.5), 0.99)


def test_a_frame_that_stands_still_is_the_picture() -> None:
    for name in ("imagenet-p", "cifar10-p"):
        pictures = _pictures(name, 1)
        for entry in ("rotate", "shear", "scale", "translate"):
            still = STILL[name].get(entry, 15)
            y = scuff.sequence(pictures, f"{name}/{entry}")
            assert np.array_equal(y[:, still], pictures)
            assert not np.array_equal(y[:, still + 1], pictures)


def test_a_flat_picture_stays_flat_inside() -> None:
    x = np.full((1, 32, 32, 3), 201, np.uint8)
    for entry in ("rotate", "scale", "shear"):
        assert set(np.unique(scuff.sequence(x, f"cifar10-p/{entry}"))) <= {0, 201}
    assert np.unique(scuff.sequence(x, "cifar10-p/zoom_blur")).tolist() == [201]


# --- the door -------------------------------------------------------------------------------------------------------


def test_every_kind_of_image_comes_back_as_it_was_given() -> None:
    pictures = _pictures("cifar10-p", 3)
    whole = scuff.sequence(pictures, "cifar10-p/snow")
    assert (whole.shape, whole.dtype) == ((3, 31, 32, 32, 3), np.uint8)
    tensor = scuff.sequence(_nchw(pictures), "cifar10-p/snow")
    assert tensor.shape == (3, 31, 3, 32, 32)
    assert np.array_equal(tensor.permute(0, 1, 3, 4, 2).numpy(), whole)
    floats = scuff.sequence((pictures / 255).astype(np.float32), "cifar10-p/snow")
    assert floats.dtype == np.float32
    assert np.array_equal(np.rint(255 * floats), whole)
    assert np.array_equal(scuff.sequence(pictures[0], "cifar10-p/snow", ids=[0]), whole[0])
    assert scuff.sequence(_nchw(pictures)[0], "cifar10-p/snow").shape == (31, 3, 32, 32)
    assert scuff.sequence(pictures[0, ..., 0], "cifar10-p/spatter").shape == (31, 32, 32)
    film = scuff.sequence(Image.fromarray(pictures[0]), "cifar10-p/snow", ids=[0])
    assert np.array_equal(np.stack([np.asarray(frame) for frame in film]), whole[0])
    both = scuff.sequence([pictures[0], Image.fromarray(pictures[1])], "cifar10-p/snow")
    assert np.array_equal(both[0], whole[0])
    assert np.array_equal(np.asarray(both[1][7]), whole[1, 7])
    assert scuff.sequence([], "cifar10-p/snow") == []


def test_frames_come_one_at_a_time_and_belong_to_the_caller() -> None:
    pictures = _pictures("cifar10-p")
    for entry in scuff.load_suite("cifar10-p").entries:
        x = pictures.copy()
        whole = scuff.sequence(x, f"cifar10-p/{entry}")
        for k, frame in enumerate(scuff.frames(x, f"cifar10-p/{entry}")):
            assert np.array_equal(frame, whole[:, k]), entry
            frame[...] = 7
        assert np.array_equal(x, pictures), entry


def test_a_film_is_made_only_as_far_as_it_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    made = []

    @scuff.register(family="test", sequence=True)
    def countdown(x: torch.Tensor, *, frames: int):
        """Ever darker, and remembered."""
        for k in range(frames):
            made.append(k)
            yield x / (k + 1)

    film = scuff.frames(torch.ones(1, 3, 4, 4), "countdown", parameters={"frames": 9})
    assert made == []
    next(film)
    next(film)
    assert made == [0, 1]
    scuff.check_corruption("countdown", parameters={"frames": 3})


def test_seed_id_and_batch() -> None:
    pictures = np.repeat(_pictures("cifar10-p", 1), 3, axis=0)
    y = scuff.sequence(pictures, "cifar10-p/gaussian_noise")
    assert not np.array_equal(y[0], y[1])
    assert np.array_equal(y[2], scuff.sequence(pictures[:1], "cifar10-p/gaussian_noise", ids=[2])[0])
    assert not np.array_equal(y, scuff.sequence(pictures, "cifar10-p/gaussian_noise", seed=1))
    by_content = scuff.sequence(pictures, "cifar10-p/gaussian_noise", ids="content")
    assert np.array_equal(by_content[0], by_content[2])


def test_a_long_batch_is_cut_without_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = _pictures("cifar10-p", 7)
    whole = scuff.sequence(pictures, "cifar10-p/snow")
    monkeypatch.setitem(batches.CHUNK, "cpu", 3 * 3 * 32 * 32)
    assert np.array_equal(scuff.sequence(pictures, "cifar10-p/snow"), whole)


def test_difficulty_is_the_strength_of_noise_and_nothing_else() -> None:
    pictures = _pictures("cifar10-p")
    for entry in ("tilt", "snow"):
        films = [scuff.sequence(pictures, f"cifar10-p/{entry}", d) for d in (1, 2, 3)]
        assert np.array_equal(films[0], films[1])
        assert np.array_equal(films[0], films[2])
    noisy = [scuff.sequence(pictures, "cifar10-p/gaussian_noise", d)[:, 1] for d in (1, 2, 3)]
    spread = [(frame - pictures.astype(float)).std() for frame in noisy]
    assert spread == sorted(spread)


def test_crop_is_cut_after_the_view_has_moved_and_before_all_else() -> None:
    large = pictures_224()[:2, :96, :75]
    cut = np.stack([np.asarray(crop_centre(Image.fromarray(p), 64)) for p in large])
    for entry in ("rotate", "tilt", "scale", "shear", "translate"):
        options = {"scale": False} if entry == "translate" else {}  # its lengths are those of the crop
        whole = scuff.sequence(large, f"tiny-imagenet-p/{entry}", **options)
        y = scuff.sequence(large, f"tiny-imagenet-p/{entry}", crop=64)
        assert np.array_equal(y, whole[:, :, 16:80, 6:70])
        assert not np.array_equal(y, scuff.sequence(cut, f"tiny-imagenet-p/{entry}"))
    for entry in ("gaussian_noise", "motion_blur", "zoom_blur", "snow", "brightness", "spatter", "gaussian_blur"):
        y = scuff.sequence(large, f"tiny-imagenet-p/{entry}", crop=64)
        assert np.array_equal(y, scuff.sequence(cut, f"tiny-imagenet-p/{entry}"))


def test_a_panned_crop_shows_what_was_outside() -> None:
    x = np.broadcast_to((np.arange(320) // 2).astype(np.uint8)[:, None], (1, 256, 320, 3))
    y = scuff.sequence(x, "imagenet-p/translate", crop=224)
    assert y.shape == (1, 41, 224, 224, 3)
    for frame in (0, 20, 40):
        assert np.array_equal(y[0, frame, 0, :, 0], (np.arange(224) + 48 - (frame - 20)) // 2)


def test_lengths_follow_the_image() -> None:
    x = np.tile(pictures_32()[:1], (1, 2, 2, 1))
    y = scuff.sequence(x, "cifar10-p/translate")
    assert np.array_equal(y[:, 10, :, 6:], x[:, :, :-6])  # three steps of two pixels
    assert np.array_equal(scuff.sequence(x, "cifar10-p/translate", scale=False)[:, 10, :, 3:], x[:, :, :-3])
    small = scuff.sequence(x[:, :4, :4], "cifar10-p/translate", scale=False)
    assert not small[:, 0].any()  # moved out of sight


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("imagenet-c/fog",), {}, "imagenet-c/fog is no sequence of frames; make it with scuff.corrupt"),
        (("fog",), {"parameters": {"strength": 1.0, "decay": 2.0}}, "fog is no sequence"),
        (("imagenet-p/tilt", 4), {}, "difficulty must be a whole number from 1 to 3, got 4"),
        (("imagenet-p/tilt", 0), {}, "difficulty must be a whole number from 1 to 3, got 0"),
        (("imagenet-p/shot_noise", 4), {}, "difficulty must be a whole number from 1 to 3, got 4"),
        (("imagenet-p/shot_noise", True), {}, "difficulty must be a whole number from 1 to 3, got True"),
        (("imagenet-p/shot_noise", 1.0), {}, "difficulty must be a whole number"),
        (("imagenet-p/tlit",), {}, "did you mean tilt"),
        (("tilt",), {}, "expected suite/name"),
        (("tilt_frames",), {"parameters": {"frames": 3}}, "missing: first, step"),
        (("imagenet-p/tilt",), {"crop": 33}, "32 x 32 pixels are too few for a crop of 33"),
        (("imagenet-p/tilt",), {"crop": 0}, "crop must be a whole number of pixels, at least 1, got 0"),
        (("imagenet-p/tilt",), {"ids": [1, 2]}, "ids must be 1 whole numbers"),
    ],
)
def test_wrong_requests_are_refused_before_the_first_frame(arguments: tuple, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scuff.frames(pictures_32()[:1], *arguments, **options)


def test_corrupt_refuses_sequences() -> None:
    with pytest.raises(ValueError, match=r"imagenet-p/tilt is a sequence of frames; make it with scuff.sequence"):
        scuff.corrupt(pictures_32()[:1], "imagenet-p/tilt")


def test_a_sequence_without_a_suite() -> None:
    x = pictures_32()[:1]
    y = scuff.sequence(x, "rotate_frames", parameters={"frames": 3, "first": -90, "step": 90})
    assert np.array_equal(y[:, 1], x)
    assert np.array_equal(y[0, 0, 1:], np.rot90(x[0])[:-1])  # counterclockwise, about a centre half a pixel off
    assert not y[0, 0, 0].any()


def test_a_suite_file_knows_what_is_compared_to_the_first_frame(tmp_path) -> None:
    suite = scuff.load_suite("cifar10-p")
    again = scuff.load_suite(suite.save(tmp_path / "mine.yaml"))
    assert again.compare_to_first == NOISE
    path = tmp_path / "bad.yaml"
    path.write_text((tmp_path / "mine.yaml").read_text().replace("compare_to_first: [", "compare_to_first: [haze, "))
    with pytest.raises(scuff.SuiteError, match="compare_to_first names 'haze', which is no entry"):
        scuff.load_suite(path)


def test_a_sheet_shows_frames_from_the_first_to_the_last() -> None:
    suite, picture = scuff.load_suite("cifar10-p"), Image.fromarray(pictures_32()[0])
    sheet = corruption_sheet(suite, ["translate"], picture)
    side = 4 * 32
    top, film = sheet.height - MARGIN - side, scuff.sequence(picture, "cifar10-p/translate")
    for column, tile in enumerate([picture, *(film[k] for k in (0, 4, 8, 11, 15))]):
        left = MARGIN + (side + GAP) * column
        shown = sheet.crop((left, top, left + side, top + side))
        assert shown.tobytes() == tile.resize((side, side), Image.Resampling.NEAREST).tobytes()
    assert corruption_sheet(suite, ["translate", "shot_noise"], picture).width > 5 * side


# --- the contract ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", scuff.list_corruptions("cifar10-p"))
def test_contract(address: str) -> None:
    scuff.check_corruption(address, sizes=[(1, 1), (32, 32), (21, 33)], images=2)


@pytest.mark.parametrize("address", scuff.list_corruptions("tiny-imagenet-p") + scuff.list_corruptions("imagenet-p"))
def test_contract_of_the_larger_suites(address: str) -> None:
    scuff.check_corruption(address, sizes=[(13, 20)], images=2)


def _forgets_a_frame(x: torch.Tensor):
    yield from (x for _ in range(2 + len(x)))


def _mixes_frames(x: torch.Tensor):
    yield x
    yield x - x.mean() + 0.5


def _yields_nan(x: torch.Tensor):
    yield x
    yield x / 0.0 * 0.0


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        (_forgets_a_frame, "depends on its batch|came back|must match"),
        (_mixes_frames, "depends on its batch"),
        (_yields_nan, "NaN or infinity before rounding"),
    ],
)
def test_the_checker_notices_in_sequences_too(monkeypatch: pytest.MonkeyPatch, apply, message: str) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    registry.register(family="test", sequence=True)(apply)
    with pytest.raises(AssertionError, match=message):
        scuff.check_corruption(apply.__name__, parameters={}, sizes=[(16, 16)])


@pytest.mark.slow
@pytest.mark.parametrize("address", scuff.list_corruptions("imagenet-p"))
def test_contract_at_full_size(address: str) -> None:
    scuff.check_corruption(address, sizes=[(224, 224)], images=2)
