"""Severity ranges: the search on curves that are known, and the study with a model whose accuracy is known."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import array_source
from scuff.design.calibration.calibrate import TOLERANCE, calibrate
from scuff.models import open_model
from scuff.ranges import Range
from scuff.studies.calibration.plan import severity_limits
from scuff.studies.calibration.study import CalibrationStudy, calibrate_suite
from scuff.suites import Suite, load_suite


def test_the_search_is_pure():
    code = "import sys, scuff.design.calibration.calibrate\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


# --- the search -----------------------------------------------------------------------------------------------------

SMOOTH = {  # a curve, where to start, limits, and how many measurements are allowed
    "right at once": (lambda s: 1 - s, Range(0.05, 0.5), (0.0, 1.0), 2),
    "parabola": (lambda s: 1 - s * s, Range(0.1, 0.4), (0.0, 1.0), 6),
    "exponential": (lambda s: math.exp(-s), Range(0.05, 0.5), (0.0, 100.0), 5),
    "logistic": (lambda s: 1.02 / (1 + math.exp((s - 0.3) / 0.03)), Range(0.1, 0.4), (0.0, 1.0), 10),
    "forty times too mild": (lambda s: 1 - s / 40, Range(0.05, 0.5), (0.0, 100.0), 12),
    "ten times too severe": (lambda s: 1 / (1 + (s / 0.01) ** 2), Range(0.1, 0.3), (0.0, 1.0), 10),
    "steep, close to the limit": (lambda s: 1 - s**100, Range(0.4, 0.95), (0.0, 1.0), 14),
    "counts": (lambda n: math.exp(-n / 400), Range(12, 120), (1, 2000), 7),
    "fewer levels are worse": (lambda levels: 1 - 1 / levels, Range(3, 8), (1, 255), 7),
    "seen at the limits only": (lambda levels: 1 - 800 / levels**2, Range(200, 250), (30, 255), 11),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_both_ends_are_found_with_few_measurements(name):
    curve, start, limits, most = SMOOTH[name]
    calls = []
    found = calibrate(lambda s: calls.append(s) or curve(s), start, limits)
    assert found.robustness == (curve(found.mildest), curve(found.severest))
    assert found.robustness == pytest.approx((0.95, 0.5), abs=TOLERANCE)
    assert found.reached == (True, True)
    assert found.note == ""
    assert found.range == Range(*sorted((found.mildest, found.severest)))
    assert found.range.is_whole == start.is_whole
    assert calls == list(found.measured)  # nothing is measured twice
    assert all(limits[0] <= s <= limits[1] for s in calls)
    assert len(calls) <= most


def test_other_levels_of_robustness():
    found = calibrate(lambda s: 1 - s, Range(0.3, 0.4), (0.0, 1.0), upper=0.9, lower=0.2, tolerance=0.001)
    assert found.mildest == pytest.approx(0.1, abs=0.001)
    assert found.severest == pytest.approx(0.8, abs=0.001)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("falls", [True, False])
def test_whole_severities_against_all_of_them(seed, falls):
    """Random steps downwards: the answer is known by looking at every severity."""
    draw = np.random.default_rng(seed)
    steps = draw.exponential(size=60) * (draw.random(60) < 0.4)  # many severities change nothing
    values = 1 - np.cumsum(steps) / steps.sum() * draw.uniform(0.6, 1.0)
    values = values if falls else values[::-1]
    low, high = np.sort(draw.choice(np.arange(1, 61), 2, replace=False)).tolist()
    found = calibrate(lambda s: values[s - 1], Range(low, high), (1, 60))
    for severity, target in ((found.mildest, 0.95), (found.severest, 0.5)):
        best = np.abs(values - target).min()
        assert abs(values[severity - 1] - target) <= max(best, TOLERANCE) + 1e-12
    assert found.reached == (values.max() >= 0.95 - TOLERANCE, True)
    assert len(found.measured) <= 20


def test_what_cannot_be_reached_ends_at_the_limit():
    found = calibrate(lambda s: 1 - 0.74 * s, Range(0.05, 0.3), (0.0, 0.5))
    assert (found.severest, found.reached) == (0.5, (True, False))
    assert found.note == "not reached: R = 0.63 at 0.5"
    found = calibrate(lambda s: 1 - 0.058 * s, Range(0.49, 1.0), (0.0, 1.0))  # mild enough at the limit, and no severer
    assert (found.range, found.reached) == (Range(1.0, 1.0), (True, False))
    assert found.note == "not reached: R = 0.94 at 1"
    found = calibrate(lambda s: 1 - s / 10, Range(3, 8), (1, 20))
    assert (found.mildest, found.severest, found.reached) == (1, 5, (False, True))
    assert found.note == "not as mild as wanted: R = 0.90 already at 1"
    found = calibrate(lambda s: 0.2, Range(2, 6), (1, 13))
    assert (found.range, found.reached) == (Range(1, 1), (False, False))
    assert found.note == "not as mild as wanted: R = 0.20 already at 1"


def test_what_does_too_little_has_no_range():
    found = calibrate(lambda s: 1 - 0.03 * s, Range(0.1, 0.4), (0.0, 1.0))
    assert found.range is None
    assert found.note == "too mild: R = 0.97 even at 1"
    found = calibrate(lambda s: 1.0, Range(0.1, 0.4), (0.0, 1.0))
    assert found.range is None
    assert found.note == "no effect: R = 1 from 0 to 1"
    assert len(found.measured) == 4


def test_a_jump_is_said():
    found = calibrate(lambda s: 1.0 if s < 0.31 else 0.1, Range(0.1, 0.4), (0.0, 1.0))
    assert found.range == Range(0.309, 0.31)
    assert found.note == "coarse: R falls from 1.00 at 0.309 to 0.10 at 0.31"
    found = calibrate(lambda s: 1.0 if s == 0 else 0.8 - s, Range(0.1, 0.4), (0.0, 1.0))
    assert found.range.low == 0.0
    assert len(found.measured) <= 14


def test_a_curve_that_rises_again():
    values = [1.0, 0.95, 0.9, 0.8, 0.6, 0.7, 0.72, 0.5, 0.3, 0.2, 0.1, 0.1]
    found = calibrate(lambda s: values[s - 1], Range(3, 5), (1, 12))
    assert (found.mildest, found.severest, found.reached) == (2, 8, (True, True))
    assert found.note == "not monotone: R rises from 0.60 at 5 to 0.72 at 7"


@pytest.mark.parametrize("seed", range(20))
def test_noise(seed):
    """With noise of several tolerances, the search ends, and its answer is one of the noisy curve's."""
    draw = np.random.default_rng(seed)
    found = calibrate(lambda s: 1 - s + 0.03 * draw.standard_normal(), Range(0.1, 0.3), (0.0, 1.0))
    assert found.mildest == pytest.approx(0.05, abs=0.1)  # three deviations of the noise, of a slope of one
    assert found.severest == pytest.approx(0.5, abs=0.1)
    assert found.mildest < found.severest
    assert len(found.measured) <= 20


def test_mistakes_in_a_search():
    def curve(s: float) -> float:
        return 1 - s

    with pytest.raises(ValueError, match=r"expected 0 < lower < upper, as in 0\.5 and 0\.95, got lower 0\.9 and"):
        calibrate(curve, Range(0.1, 0.3), (0.0, 1.0), upper=0.5, lower=0.9)
    with pytest.raises(ValueError, match="tolerance must be above 0"):
        calibrate(curve, Range(0.1, 0.3), (0.0, 1.0), tolerance=0.3)
    with pytest.raises(ValueError, match="two numbers from 0 on, the smaller first"):
        calibrate(curve, Range(0.1, 0.3), (-1.0, 1.0))
    with pytest.raises(ValueError, match=r"range 2 \.\. 3 to start from lies outside of the limits 0 \.\. 1"):
        calibrate(curve, Range(2.0, 3.0), (0.0, 1.0))
    with pytest.raises(ValueError, match=r"must be a number, got nan at the severity 0\.1"):
        calibrate(lambda s: math.nan, Range(0.1, 0.3), (0.0, 1.0))


# --- limits ---------------------------------------------------------------------------------------------------------


def test_limits_hold_the_ranges_of_the_bundled_suites():
    for name in ("noc-candidates", "noc-candidates-early", "imagenet-noc"):
        suite = load_suite(name)
        for entry in suite.entries:
            between = suite.severity_range(entry)
            corruption = scuff.corruptions.get(suite.corruption(entry))
            parameter = next(p for p, v in suite.entries[entry].items() if v is between)
            low, high = severity_limits(corruption, parameter, between, suite.size)
            assert low <= between.low < between.high <= high, entry
            assert isinstance(low, int if between.is_whole else float), entry


def test_limits_of_lengths_and_of_what_is_unknown():
    get = scuff.corruptions.get
    assert severity_limits(get("grey_border"), "thickness", Range(1, 6), 29) == (1, 14)  # one pixel is left
    assert severity_limits(get("obstruction"), "side", Range(6, 16), 28) == (1, 27)
    assert severity_limits(get("thumbnail_resize"), "factor", Range(1.1, 3.25), 28) == (1.0, 28.0)
    assert severity_limits(get("emboss"), "strength", Range(0.2, 0.75), 28) == (0.0, 12.0)


# --- the study ------------------------------------------------------------------------------------------------------

BASE, MOST = 100, 60


class Watchful:
    """Right about an image until it has become lighter or darker by so many levels as the image says itself.

    An image holds three values: 100, 100 plus the levels that it bears, and 100 plus its class. All move together.
    """

    def __init__(self) -> None:
        self.passes = 0

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        self.passes += 1
        moved, bears, label = torch.round(images[:, 0, 0, :3] * 255).long().unbind(1)
        good = (moved - BASE).abs() < bears - moved
        answer = torch.where(good, label - moved, 9)
        return torch.nn.functional.one_hot(answer.clamp(0, 9), 10).float()


def watched_images(per_level: int = 5):
    """Images that bear 1, 2, ..., 60 levels, and a fifth as many that bear nothing, so that clean accuracy is 5/6."""
    bears = np.concatenate([np.repeat(np.arange(1, MOST + 1), per_level), np.zeros(MOST * per_level // 5, int)])
    labels = np.arange(len(bears)) % 5
    images = np.full((len(bears), 8, 8), BASE, np.uint8)
    images[:, 0, 1] += bears.astype(np.uint8)
    images[:, 0, 2] += labels.astype(np.uint8)
    return array_source("watched", images, labels, [str(k) for k in range(10)])


BRIGHTNESS = Suite(
    "mine", 3, 224, {"light": {"corruption": "level_shift", "shift": Range(0.05, 0.2)}}, about="old", reference="me"
)


def test_a_known_model_has_known_severities():
    """R at a shift of k levels is the share of 1..60 above k: 0.95 at 3, 0.5 at 30; a level is 1 / 255."""
    net = Watchful()
    suite, table = calibrate_suite(open_model(net, name="net"), BRIGHTNESS, watched_images(), suite_name="new")
    line = table.iloc[0]
    for end, levels, target in (("mildest", 3, 0.95), ("severest", 30, 0.5)):
        assert line[end] == pytest.approx(levels / 255, abs=0.6 / 255)  # what rounds to so many levels
        assert line[f"robustness_{end}"] == pytest.approx(target, abs=1e-12)
        assert line[f"robustness_{end}_low"] < target < line[f"robustness_{end}_high"]
    assert line["reached"]
    assert line["note"] == ""
    assert line["evaluations"] == net.passes - 1 <= 10  # and one pass over the clean images
    assert suite.entries == {"light": {"corruption": "level_shift", "shift": Range(line["mildest"], line["severest"])}}
    assert (suite.name, suite.version, suite.size, suite.reference) == ("new", 1, 8, "me")
    assert suite.about == (
        "mine, calibrated for net on 360 images of watched (clean accuracy 0.833): every range goes from R = 0.95 to "
        "R = 0.5"
    )


def nearest_mean():
    """A real classifier without a training: the class whose mean image is nearest."""
    source = scuff.open_source("fashion", split="train")
    images = source.read(range(len(source))).float().flatten(1) / 255
    labels = torch.from_numpy(source.labels)
    means = torch.stack([images[labels == k].mean(0) for k in range(10)])
    return lambda x: x.flatten(1) @ means.T - means.square().sum(1) / 2


@pytest.fixture(scope="module")
def real():
    """What a real classifier on real images makes of four entries."""
    net = open_model(nearest_mean(), name="means")
    only = ["blur", "rain", "border", "hue"]
    return net, *calibrate_suite(net, "noc-candidates", "fashion", only=only, limit=300, suite_name="small")


def test_real_images(real):
    _, suite, table = real
    table = table.set_index("entry")
    assert list(suite.entries) == ["blur", "rain", "border"]
    assert suite.size == 28
    rain = table.loc["rain"]
    assert rain["reached"]
    assert (rain["robustness_mildest"], rain["robustness_severest"]) == pytest.approx((0.95, 0.5), abs=0.02)
    assert table.loc["border", "before"] == "1 .. 6"  # 9 .. 46 at 224 pixels
    assert suite.entries["rain"]["scale"] == 28 / 224
    blur = table.loc["blur"]
    assert blur["severest"] == blur["high"] == 1.0  # the limit: nothing but the blurred picture
    assert blur["note"] == f"not reached: R = {blur['robustness_severest']:.2f} at 1"
    assert table.loc["hue", "note"].startswith("left out; no effect: R = 1 from 0 to 0.5; the images are grey:")
    assert math.isnan(table.loc["hue", "mildest"])


def test_the_suite_repeats_what_was_measured(real):
    """At the same severity, images of the new suite draw what they drew in the search."""
    net, suite, table = real
    source = scuff.open_source("fashion")
    source = source.take(np.arange(300) * len(source) // 300)
    images, labels, ids = source.read(range(300)), torch.from_numpy(source.labels), torch.from_numpy(source.ids)
    rain = table.set_index("entry").loc["rain"]
    for end in ("mildest", "severest"):
        rainy = scuff.corrupt(images, "rain", int(rain[end]), suite=suite, ids=ids)
        right = [(net(x).argmax(1) == labels).double().mean().item() for x in (images, rainy)]
        assert right[1] / right[0] == pytest.approx(rain[f"robustness_{end}"], abs=1e-12)


def test_a_calibrated_suite_is_neither_mild_nor_hopeless(real):
    """With severities drawn from the range, robustness lies between those at its ends."""
    net, suite, table = real
    rows = scuff.evaluate(net, suite, "fashion", limit=300)
    for _, line in table[table["low"].notna()].iterrows():
        drawn = float(scuff.metrics.robustness_score(rows, line["entry"], suite=suite))
        assert line["robustness_severest"] <= drawn <= line["robustness_mildest"], line["entry"]


TWO = Suite(
    "mine",
    1,
    8,
    {
        "light": {"corruption": "level_shift", "shift": Range(0.05, 0.2)},
        "more": {"corruption": "level_shift", "shift": Range(0.01, 0.4)},
    },
)


def test_an_interrupted_calibration_goes_on(tmp_path):
    net, whole = Watchful(), tmp_path / "whole" / "new.yaml"
    suite, table = calibrate_suite(net, TWO, watched_images(), out=whole)
    assert load_suite(whole) == suite
    assert suite.name == "new"
    passes = net.passes - 1

    def stop(what: str, done: int, total: int) -> None:
        if what.startswith("calibrate more"):
            raise KeyboardInterrupt

    stopped = tmp_path / "new.yaml"
    with pytest.raises(KeyboardInterrupt):
        calibrate_suite(Watchful(), TWO, watched_images(), out=stopped, progress=stop)
    assert not stopped.exists()
    net = Watchful()
    again, second_table = calibrate_suite(net, TWO, watched_images(), out=stopped)
    assert again == suite
    assert second_table.equals(table)
    assert net.passes - 1 == passes - table.set_index("entry").loc["light", "evaluations"]
    assert stopped.read_text() == whole.read_text()
    kept = json.loads((tmp_path / "new.calibration.json").read_text())
    assert [len(row["measured"]) for row in kept["entries"].values()] == table["evaluations"].tolist()
    with pytest.raises(ValueError, match=r"new\.calibration\.json belongs to .* other settings \(seed\); give"):
        calibrate_suite(Watchful(), TWO, watched_images(), out=stopped, seed=1)


def test_mistakes_in_a_calibration(tmp_path):
    images = watched_images()
    with pytest.raises(ValueError, match=r"imagenet-c has none for fog; no entry of this suite has one"):
        calibrate_suite(Watchful(), "imagenet-c", images, only=["fog"])
    with pytest.raises(ValueError, match=r"has none for rotate, flip, sharpen; choose from affines, perspective"):
        calibrate_suite(Watchful(), "syn2nat-candidates", images, only=["rotate", "flip", "affines", "sharpen"])
    with pytest.raises(ValueError, match=r"is right about 8% of the clean images, and 0\.5 of that is no better than"):
        calibrate_suite(lambda x: torch.eye(10)[9].expand(len(x), 10) * 1.0, TWO, _with_nines(images))
    with pytest.raises(ValueError, match=r"no entry could be calibrated.*hue: left out; no effect"):
        calibrate_suite(Watchful(), "noc-candidates", images, only=["hue"])
    with pytest.raises(ValueError, match=r"a suite is a YAML file, as in my-suite\.yaml; got .*new\.json"):
        calibrate_suite(Watchful(), TWO, images, out=tmp_path / "new.json")
    with pytest.raises(ValueError, match="expected one model, got a, b"):
        calibrate_suite({"a": Watchful(), "b": Watchful()}, TWO, images)
    with pytest.raises(ValueError, match="expected 0 < lower < upper"):
        calibrate_suite(Watchful(), TWO, images, upper=0.4)


def test_a_dry_run_tells_what_is_left_and_writes_nothing(tmp_path):
    """Seven passes over the images per entry that is left."""
    net, out = Watchful(), tmp_path / "new.yaml"
    plan = CalibrationStudy(net, TWO, watched_images(), out=out).plan()
    cost = plan.cost()
    assert [(part.kind, part.name) for part in cost.parts] == [("calibrate", "light"), ("calibrate", "more")]
    assert cost.cells == 2
    assert all(part.seconds_per_cell > 0 for part in cost.parts)
    assert 0 < net.passes < 10_000  # over a few images
    assert not list(tmp_path.iterdir())
    described = list(plan.work.describe())
    assert described[0] == "Entries: 2 of mine, 0 calibrated already"
    calibrate_suite(Watchful(), TWO, watched_images(), out=out, only=["light"])
    left = CalibrationStudy(Watchful(), TWO, watched_images(), out=out).plan()
    assert left.cost().cells == 1
    calibrate_suite(Watchful(), TWO, watched_images(), out=out)
    assert CalibrationStudy(Watchful(), TWO, watched_images(), out=out).plan().cost().cells == 0


def _with_nines(source):
    """The same images, of which one in twelve is of class 9."""
    labels = np.where(np.arange(len(source)) % 12 == 0, 9, source.labels)
    return array_source("nines", source.images.array, labels, source.class_names)


# --- the command ----------------------------------------------------------------------------------------------------

NET = """
from test_calibrate import nearest_mean
net = nearest_mean()
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "calibrate_test_net.py").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield lambda *arguments: CliRunner().invoke(app, ["design", "calibrate", *map(str, arguments)])
    sys.modules.pop("calibrate_test_net", None)


def test_the_command(run, tmp_path):
    arguments = ("calibrate_test_net:net", "--data", "fashion", "--limit", 200, "--out", "new.yaml")
    result = run(*arguments, "--only", "brightness,gray_scale")
    assert result.exit_code == 0, result.output
    between = load_suite(tmp_path / "new.yaml").severity_range("brightness")
    line = next(line for line in result.output.splitlines() if line.strip().startswith("brightness"))
    assert line.split()[:3] == ["brightness", "shift", "0.16"]
    assert f" {between.low:g} " in line
    assert f" {between.high:g} " in line
    assert "gray_scale: left out; no effect: R = 1" in result.output
    assert "Suite: new.yaml, 1 of 2 entries, for images of 28 pixels" in result.output
    wrong = run(*arguments, "--only", "rainbow")
    assert wrong.exit_code == 2
    assert "has no entry 'rainbow'" in wrong.output
