"""Failure points: a model whose failures are known, and the curves and scores that follow from them."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import array_source
from scuff.metrics import median_failure, survival, survival_area, survival_differences, survival_scores
from scuff.models import Classifier
from scuff.report.write import read_page
from scuff.studies import SurvivalStudy, read_survival
from scuff.studies.survival import read_other

SHIFTS = [0.0, 0.05, 0.1, 0.15, 0.2, 0.3]  # of cifar10-c/brightness, and of the image itself
GREYS = np.array([100, 120, 130, 140, 150, 160, 170], np.uint8)
BRIGHTEST = 165.5  # beyond which the model is wrong


def _source(greys: np.ndarray = GREYS):
    images = np.broadcast_to(greys[:, None, None, None], (len(greys), 12, 12, 3)).copy()
    return array_source("greys", images, np.zeros(len(greys), np.int64), ("dark", "bright"))


def _model(is_wrong=lambda mean: mean > BRIGHTEST) -> Classifier:
    def forward(images: torch.Tensor) -> torch.Tensor:
        mean = 255.0 * images.float().mean((1, 2, 3))
        wrong = is_wrong(mean).float()
        return torch.stack((1.0 - wrong, wrong), dim=1)

    return Classifier(forward, name="threshold")


def _first_failure(grey: int, grid: int = 16) -> float:
    """By looking at every severity of the grid."""
    for k in range(5 * grid + 1):
        shown = scuff.corrupt(np.full((1, 12, 12, 3), grey, np.uint8), "cifar10-c/brightness", k / grid, draws="shared")
        if shown.mean() > BRIGHTEST:
            return k / grid
    return math.inf


def test_corruptions_may_join_later(tmp_path: Path) -> None:
    for only in (["contrast"], ["brightness"], ["contrast"]):
        rows = SurvivalStudy(_model(), "cifar10-c", _source(), tmp_path, only=only).run()
    assert list(dict.fromkeys(rows["corruption"])) == ["brightness", "contrast"]  # as in the suite
    settings = SurvivalStudy.read_settings(tmp_path)
    assert settings["only"] == settings["options"]["only"] == ["brightness", "contrast"]
    suite = scuff.Suite("two", 1, 32, {e: {"shift": [0.1, 0.2], "corruption": "brightness"} for e in ("a", "b")}, 2)
    for only in (["a"], None):
        SurvivalStudy(_model(), suite, _source(), tmp_path / "two", only=only).run()
    settings = SurvivalStudy.read_settings(tmp_path / "two")
    assert settings["only"] == ["a", "b"]
    assert "only" not in settings["options"]  # all of the benchmark, which is the default


def test_the_first_failure_is_found_and_a_second_run_finds_it_again(tmp_path: Path) -> None:
    study = SurvivalStudy(_model(), "cifar10-c", _source(), tmp_path, only=["brightness", "contrast"])
    rows = study.run()
    found = rows[rows["corruption"] == "brightness"]
    assert found["failure"].tolist() == [_first_failure(int(grey)) for grey in GREYS]
    assert found["failure"].iloc[0] == 4.0 + 10 / 16  # 65 levels brighter
    assert found["failure"].iloc[-1] == 0.0
    assert not found["flips_back"].any()
    still = rows[rows["corruption"] == "contrast"]  # which leaves a grey image as it is
    assert np.isinf(still["failure"].iloc[:-1]).all()
    assert study.plan().work.missing() == []
    (tmp_path / "rows" / "contrast.parquet").unlink()
    assert study.plan().work.missing() == ["contrast"]
    pd.testing.assert_frame_equal(study.run(), rows)
    pd.testing.assert_frame_equal(read_survival(tmp_path), rows)
    assert (tmp_path / "scores.csv").read_text().startswith("model,corruption,n,clean_accuracy,median")


def test_a_model_that_is_right_again_later_flips_back(tmp_path: Path) -> None:
    model = _model(lambda mean: (mean > 150.5) & (mean < 157.5))
    rows = SurvivalStudy(
        model, "cifar10-c", _source(np.array([140, 125, 90], np.uint8)), tmp_path, only="brightness"
    ).run()
    assert rows["flips_back"].tolist() == [True, False, False]  # the second is wrong between levels only
    assert 0 < rows["failure"].iloc[0] <= 1
    assert np.isinf(rows["failure"].iloc[1:]).all()


def test_report_and_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = tmp_path / "greys.npz"
    np.savez(images, x=_source().read(range(len(GREYS))).permute(0, 2, 3, 1).numpy(), y=np.zeros(len(GREYS), np.int64))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "net_of_survival.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        wrong = (255 * x.mean((1, 2, 3)) > 165.5).float()\n"
        "        return torch.stack((1 - wrong, wrong), 1)\n"
        "net = Net()\n"
    )
    out = tmp_path / "out"
    words = [
        "survival",
        "net_of_survival:net",
        "--suite",
        "cifar10-c",
        "--data",
        f"npz:{images}",
        "--only",
        "brightness,fog",
    ]
    words += ["--out", str(out)]
    for more in (["--dry-run"], [], ["--compare-to", str(out)]):
        done = CliRunner().invoke(app, [*words, *more], catch_exceptions=False)
        assert done.exit_code == 0, done.output
    assert "median severity" in done.output
    assert "Area minus that of" in done.output
    page = read_page(str(out))
    assert [section["key"] for section in page.sections if section][:2] == ["scores", "curves"]
    assert "no longer recognised at severity" in page.verdicts[0][1] or "more than half" in page.verdicts[0][1]


def test_only_models_that_were_asked_the_same_are_compared(tmp_path: Path) -> None:
    study = SurvivalStudy(_model(), "cifar10-c", _source(), tmp_path / "a", only=["brightness"])
    rows = study.run()
    pd.testing.assert_frame_equal(read_other(tmp_path / "a", study.plan().settings), rows)
    for options, source, said in (
        ({"seed": 1}, _source(), "seed was 0, is now 1"),
        ({"path": "monotone"}, _source(), "path was levels"),
        ({}, _source(GREYS[::-1].copy()), "images was"),
    ):
        other = SurvivalStudy(_model(), "cifar10-c", source, tmp_path / "b", only=["brightness"], **options).plan()
        with pytest.raises(ValueError, match=said):
            read_other(tmp_path / "a", other.settings)
    with pytest.raises(ValueError, match="not the folder of scuff survival"):
        read_other(tmp_path, study.plan().settings)


def test_what_cannot_be_searched_is_refused(tmp_path: Path) -> None:
    for suite, options, message in (
        ("noc-candidates", {"only": ["rain"]}, "rain has no levels"),
        ("cifar10-c", {"only": ["spatter"], "path": "monotone"}, "no monotone path"),
        ("cifar10-c", {"path": "short"}, "path must be levels or monotone"),
    ):
        with pytest.raises(ValueError, match=message):
            SurvivalStudy(_model(), suite, _source(), tmp_path, **options).plan()


# --- curves and scores of known failures ------------------------------------------------------------------------------


def _rows(failures: list[float], model: str = "a", flips: int = 0) -> pd.DataFrame:
    n = len(failures)
    back = np.arange(n) >= n - flips
    named = {"model": model, "corruption": "fog", "image_id": np.arange(n), "failure": failures}
    return pd.DataFrame({**named, "highest": 5.0, "flips_back": back})


def test_the_curve_the_median_and_the_area_by_hand() -> None:
    rows = _rows([0.0, 1.0, 1.0, 2.5, math.inf])
    curve = survival(rows)
    assert curve["severity"].tolist() == [0.0, 1.0, 2.5, 5.0]
    assert curve["value"].tolist() == pytest.approx([0.8, 0.4, 0.2, 0.2])
    assert median_failure(rows).value == 1.0
    assert survival_area(rows).value == pytest.approx((0 + 1 + 1 + 2.5 + 5) / 25)
    assert math.isinf(median_failure(_rows([1.0, math.inf, math.inf])).value)
    half = math.sqrt(math.log(2 / 0.05) / (2 * 5))
    assert curve["band_low"].iloc[0] == pytest.approx(0.8 - half)
    assert curve["band_high"].tolist() == [1.0, 1.0, pytest.approx(0.2 + half), pytest.approx(0.2 + half)]


def test_flips_back_are_a_share_of_the_failures_of_images_that_are_right_when_clean() -> None:
    scores = survival_scores(_rows([0.0, math.inf, 1.0, 2.0, 3.0, 4.0], flips=1))
    assert scores["flips_back"].tolist() == [0.25]
    assert scores["clean_accuracy"].tolist() == pytest.approx([5 / 6])


def test_models_are_compared_image_by_image() -> None:
    chance = np.random.default_rng(0)
    base = chance.uniform(0, 4, 200)
    better = survival_differences(_rows((base + 0.5).tolist()), _rows(base.tolist(), "b"))["fog"]
    assert better.value == pytest.approx(0.1)
    assert better.p_value < 1e-6
    assert better.interval.startswith("paired")
    with pytest.raises(ValueError, match="the same images"):
        survival_differences(_rows([1.0, 2.0]), _rows([1.0], "b"))


def test_the_interval_of_the_median_covers_as_often_as_it_says() -> None:
    """200 samples of 101 images with a true median of 2: the share lies within three standard errors of 95 %, or above
    (grids and discrete counts only widen the interval)."""
    chance, hits = np.random.default_rng(1), 0
    for _ in range(200):
        score = median_failure(_rows(chance.exponential(2 / math.log(2), 101).tolist()))
        hits += score.low <= 2 <= score.high
    assert 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200) <= hits / 200
