"""Severities between the levels: no jump, no new scene, and the published bytes at every level."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from golden.pictures import pictures_32, pictures_224
from pillow_jpeg import pillow_jpeg

import scuff
from scuff.batches import from_pixels, to_pixels
from scuff.corruptions import get
from scuff.door import resolve
from scuff.metrics import vif_distance
from scuff.ops.jpeg import jpeg
from scuff.random import image_keys
from scuff.suites import Suite
from scuff.suites.paths import PATHS, between, stretch

BOTH = ("level", "shared")
SMALL = ("cifar10-c", "cifar10-c-bar")
ENTRIES = [f"{suite}/{entry}" for suite in SMALL for entry in scuff.load_suite(suite).entries]
COARSE = {  # how many levels of 255 a picture may change by on average, where sides are whole or cells appear at once
    "pixelate": 7.0,
    "checkerboard_cutout": 20.0,
    "transverse_chromatic_abberation": 12.0,
    "snow": 4.0,
}


def _pictures(count: int = 4) -> np.ndarray:
    return pictures_32()[:count]


@pytest.mark.parametrize("address", ENTRIES)
def test_a_level_is_what_the_benchmark_has(address: str) -> None:
    x, ids = torch.from_numpy(_pictures(2)).permute(0, 3, 1, 2), torch.arange(2)
    suite, entry = scuff.load_suite(address.partition("/")[0]), address.partition("/")[2]
    corruption = get(suite.corruption(entry))
    for level in (1, 4):
        made = corruption(from_pixels(corruption, x), image_keys(address, level, ids), suite.parameters(entry, level))
        expected = to_pixels(corruption, x, made)
        for severity in (level, float(level)):
            assert torch.equal(scuff.corrupt(x, address, severity, ids=ids), expected)


@pytest.mark.parametrize("address", ENTRIES)
def test_no_severity_is_the_image_itself_and_nothing_jumps(address: str) -> None:
    x = _pictures()
    entry = address.partition("/")[2]
    none = scuff.corrupt(x, address, 0)
    assert np.array_equal(none, x)
    assert none is not x
    most = COARSE.get(entry, 2.0)
    for severity in (0.99, 1.0, 1.5, 2.0, 3.0, 3.99):
        low, high = (scuff.corrupt(x, address, s, draws="shared").astype(float) for s in (severity, severity + 0.01))
        assert np.abs(high - low).mean() <= most, f"{severity}: {np.abs(high - low).mean()}"


@pytest.mark.parametrize("address", ENTRIES)
def test_the_contract_holds_between_levels(address: str) -> None:
    scuff.check_corruption(address, severity=2.4, sizes=[(1, 1), (17, 23)], images=2)
    scuff.check_corruption(address, severity=0.4, sizes=[(32, 32)], images=2)


def test_floats_come_back_as_they_were() -> None:
    x = torch.rand(2, 3, 8, 8)
    assert torch.equal(scuff.corrupt(x, "cifar10-c/fog", 0), x)
    assert not torch.equal(scuff.corrupt(x, "cifar10-c/fog", 0, as_published=True), x)


def test_impulses_are_nested_and_keep_their_colours() -> None:
    x = np.full((1, 64, 64, 3), 100, np.uint8)
    milder, stronger = (scuff.corrupt(x, "imagenet-c/impulse_noise", s) for s in (2.5, 4.5))
    hit = milder != 100
    assert np.array_equal(milder[hit], stronger[hit])
    assert 0.06 < hit.mean() < 0.09 < (stronger != 100).mean() < 0.27
    assert 0.45 < (milder[hit] == 255).mean() < 0.55


@pytest.mark.parametrize("address", ["cifar10-c/snow", "cifar10-c-bar/inverse_sparkles", "cifar10-c/zoom_blur"])
def test_below_the_first_level_the_error_is_its_share(address: str) -> None:
    x = _pictures().astype(float)
    first = scuff.corrupt(_pictures(), address, 1, draws="shared") - x
    part = scuff.corrupt(_pictures(), address, 0.3, draws="shared") - x
    assert np.abs(part - 0.3 * first).max() <= 1.0


def test_shared_draws_have_the_law_of_the_levels() -> None:
    """Other draws, alike on average; and the same picture where nothing is drawn."""
    x = pictures_32()[:16]
    for entry in ("impulse_noise", "glass_blur", "gaussian_noise", "fog"):
        own, shared = (scuff.corrupt(x, f"cifar10-c/{entry}", 4, draws=draws).astype(float) for draws in BOTH)
        assert not np.array_equal(own, shared)
        spread = [np.abs(made - x).mean() for made in (own, shared)]
        assert spread[0] == pytest.approx(spread[1], rel=0.06)
    own, shared = (scuff.corrupt(x, "cifar10-c/contrast", 4, draws=draws) for draws in BOTH)
    assert np.array_equal(own, shared)


def test_glass_reaches_as_far_as_a_fraction_says() -> None:
    draw = get("glass_blur").sharing_draws().draw
    drawn = draw(torch.arange(4), (3, 40, 40), reach=2.25, passes=1.5)
    assert drawn["dx"].shape == (4, 2, 40, 40)
    inside = drawn["dx"][:, :, 6:-6, 6:-6]
    assert int(inside.min()) == -3
    assert int(inside.max()) == 2
    assert float((inside[:, 0] == -3).float().mean()) == pytest.approx(0.25 / 6, abs=0.01)
    still = (drawn["dx"] == 0) & (drawn["dy"] == 0)
    assert float(still[:, 1, 6:-6, 6:-6].float().mean()) == pytest.approx(0.5 + 0.5 / 17.8, abs=0.02)
    assert bool(still[:, :, :3].all())
    assert bool(still[:, :, -1:].all())


def test_the_disk_does_not_jump_where_the_original_brightens() -> None:
    """Radius 8 is level 4: its kernel sums to 1.013, and the next ones differ from it by little."""
    x = pictures_224()[:1]
    at, after = (scuff.corrupt(x, "imagenet-c/defocus_blur", s, draws="shared").astype(float) for s in (4, 4.01))
    assert np.abs(after - at).mean() < 0.1


def test_pixelate_avoids_sides_at_which_boxes_tie() -> None:
    assert {n for n in range(1, 224) if (n // math.gcd(224, n)) % 2 == 0} == {64, 128, 192}
    ((_, found),) = between("pixelate", {"fraction": 0.6}, {"fraction": 0.5}, 6 / 22, 224)  # 134 to 112 pixels
    assert found is not None
    assert int(224 * found["fraction"]) == 129


@pytest.mark.parametrize("quality", [3.5, 12.3, 25.0, 50.0, 71.7, 100.0])
def test_a_real_quality_scales_the_tables_as_the_codec_would(quality: float) -> None:
    x = torch.from_numpy(pictures_32()[:4]).permute(0, 3, 1, 2)
    assert torch.equal(jpeg(x, quality), pillow_jpeg(x, quality))
    if quality.is_integer():  # of which all scales are whole
        assert torch.equal(jpeg(x, quality), jpeg(x, int(quality)))


def test_whole_numbers_are_averaged_and_listed_values_stay() -> None:
    lower, upper = {"radius": 1.5, "softness": 0.1}, {"radius": 2.5, "softness": 0.3}
    (a, first), (b, second) = between("defocus_blur", lower, upper, 0.75, 64)
    assert (first, second) == ({"radius": 2, "softness": 0.25}, {"radius": 2.5, "softness": 0.25})
    assert (a, b) == pytest.approx((0.5, 0.5))
    assert between("defocus_blur", {"radius": 0.5, "softness": 0.6}, lower, 0.5, 64) == [
        (0.5, {"radius": 0.5, "softness": 0.6}),
        (0.5, lower),
    ]
    assert between("lines", None, {"amount": 0.5}, 0.25, 32) == [(0.75, None), (0.25, {"amount": 0.5})]


def test_a_suite_of_your_own_has_paths_too() -> None:
    """Numbers move as they are, whole ones by averages, and below level 1 the image fades into it."""
    suite = Suite("mine", 1, 32, {"blocks": {"corruption": "posterize", "bits": [6, 3]}}, severities=2)
    x = _pictures()
    made = {s: scuff.corrupt(x, "blocks", s, suite=suite).astype(float) for s in (0.5, 1, 1.5, 2)}
    assert np.abs(made[0.5] - 0.5 * (x + made[1])).max() <= 0.5
    between_them = [scuff.corrupt(x, "posterize", parameters={"bits": bits}).astype(float) for bits in (4, 5)]
    assert np.abs(made[1.5] - 0.5 * sum(between_them)).max() <= 0.5


def test_monotone_paths_skip_levels_that_come_back() -> None:
    suite = scuff.load_suite("imagenet-c")
    assert stretch(suite, "saturate", 1.5, "monotone") == (0, 3, 0.5)
    assert stretch(suite, "fog", 1.5, "monotone") == (1, 2, 0.5)
    x = _pictures()
    assert np.array_equal(*(scuff.corrupt(x, "cifar10-c/saturate", 4, path=path) for path in ("levels", "monotone")))
    grid = [0.5 * k for k in range(11)]
    for entry in suite.monotone:
        if entry == "spatter":
            with pytest.raises(ValueError, match="cifar10-c/spatter has no monotone path"):
                scuff.corrupt(x, "cifar10-c/spatter", 1.5, path="monotone")
            continue
        far = [
            vif_distance(x, scuff.corrupt(x, f"cifar10-c/{entry}", s, path="monotone", draws="shared")) for s in grid
        ]
        assert (np.diff(np.mean(far, axis=1)) > -0.003).all()


@pytest.mark.parametrize("entry", ["gaussian_noise", "defocus_blur", "motion_blur", "frost", "fog", "contrast"])
def test_the_distance_grows_along_the_path(entry: str) -> None:
    x = _pictures(8)
    far = [vif_distance(x, scuff.corrupt(x, f"cifar10-c/{entry}", 0.5 * k, draws="shared")).mean() for k in range(11)]
    assert (np.diff(far) > -1e-3).all()
    assert far[-1] > 0.4


@pytest.mark.parametrize(
    ("severity", "options", "message"),
    [
        (2.5, {"path": "straight"}, "path must be levels or monotone, got 'straight'"),
        (2.5, {"draws": "new"}, "draws must be level or shared, got 'new'"),
        (math.nan, {}, "needs a severity from 0 to 5, got nan"),
        (True, {}, "needs a severity from 0 to 5, got True"),
    ],
)
def test_wrong_requests(severity: float, options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scuff.corrupt(_pictures(1), "cifar10-c/fog", severity, **options)


@pytest.mark.parametrize("levels", [[1, 2], [2, 1, 5], ["a"], 5, [0, 5]])
def test_a_wrong_monotone_path_is_refused(levels: object) -> None:
    with pytest.raises(ValueError, match="levels in rising order, up to the last one"):
        Suite("mine", 1, 8, {"fog": {"strength": [1.0] * 5, "decay": 2.0}}, severities=5, monotone={"fog": levels})
    with pytest.raises(ValueError, match="which is no entry"):
        Suite("mine", 1, 8, {"contrast": {"gain": 0.5}}, monotone={"fog": []})


def test_the_table_of_paths_names_parameters_that_exist() -> None:
    for name, moves in PATHS.items():
        assert set(moves) <= set(get(name).parameters), name
    assert resolve("imagenet-c/fog", 2.4).level is None
