"""Reports of MSCR and of class separations: which folders become a page, and the command that makes them again."""

import shlex
from pathlib import Path

import pytest
from made_mscr import EPSILON, SECTIONS, made_settings, save_study
from pages import Page, rendered
from typer.testing import CliRunner

from scuff.cli import app
from scuff.report import write_report
from scuff.report.separation.mscr import mscr_page
from scuff.report.separation.separation import (
    Distances,
    separation_page,
)
from scuff.studies import MscrStudy
from scuff.studies.base import again_from


def test_the_folder_of_a_study_becomes_a_page(accuracies, separation, tmp_path):
    folder = save_study(tmp_path / "study", accuracies, separation)
    path = write_report(folder, title="Mine")
    assert path == str(folder / "report.html")
    page = Page(Path(path).read_text(encoding="utf-8"))
    assert page.texts("h1") == ["Mine"]
    assert page.sections() == SECTIONS
    assert "scuff mscr --model" in page.section("settings")


def test_the_folder_of_a_separation_becomes_a_page(separation, tmp_path):
    folder = save_study(tmp_path / "only", None, separation)
    page = Page(Path(write_report(folder)).read_text(encoding="utf-8"))
    assert page.texts("h1") == ["Class separation of points.npz"]
    assert page.texts("p", class_="lead") == ["400 points of 4 classes."]
    assert page.sections() == ["separation", "settings"]
    assert f"scuff separation points.npz --out {folder} --per-class --per-point" in page.section("settings")
    assert "MSCR" not in page.section("settings")


def test_the_command_finds_out_what_a_folder_is(accuracies, separation, tmp_path):
    study = save_study(tmp_path / "study", accuracies, None)
    only = save_study(tmp_path / "only", None, separation)
    for folder, title in ((study, "MSCR of random-forest and 1-nn on"), (only, "Class separation of")):
        result = CliRunner().invoke(app, ["report", str(folder)])
        assert result.exit_code == 0, result.output
        assert result.output.splitlines()[-1] == f"Report: {folder / 'report.html'}"
        assert Page((folder / "report.html").read_text(encoding="utf-8")).texts("h1")[0].startswith(title)
        result = CliRunner().invoke(app, ["report", str(folder), "--data", "fashion"])
        assert result.exit_code == 2
        assert "takes no option" in result.output
    result = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert result.exit_code == 2
    assert all(file in result.output for file in ("mscr.json", "separation.json"))


def test_a_folder_of_nothing_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no .*mscr\.json.* separation\.json"):
        write_report(tmp_path)


@pytest.mark.parametrize("changed", [{"data_fingerprint": "another"}, {"norm": 2.0}])
def test_the_separation_of_other_data_is_not_shown(accuracies, separation, tmp_path, changed):
    folder = save_study(tmp_path / "study", accuracies, (separation[0] | changed, *separation[1:]))
    page = Page(Path(write_report(folder)).read_text(encoding="utf-8"))
    assert page.sections() == [key for key in SECTIONS if key != "separation"]
    assert not [text for text in page.texts("li") if text.startswith("Class separation")]
    assert not [key for key in page.data()["figures"] if key.startswith("distances")]
    assert "a class separation, which is that of other data or in another norm" in page.section("settings")


def again_of(**options):
    return again_from(MscrStudy, {"options": {"models": ["1-nn"], "data": "cifar10:data", **options}}, "runs/my study")


def test_the_command_runs_the_same_study_again():
    models = ["random-forest", "sklearn.svm:SVC", "mine=recipe:cifar-fast", "net=runs/my net.safetensors"]
    noise = [0, 0.01, 0.02, 0.03, 0.05, 0.07, "1x", 0.15]
    again = again_of(
        models=models,
        train_noise=noise,
        test_noise=noise,
        copies=[1, 10],
        runs=list(range(6)),
        norm=2.0,
        test_share=0.3,
        bounds="truncate",
        offsets="shared",
        quantile=0.01,
        label="species",
        keep_originals=True,
    )
    words = shlex.split(again.words)
    assert again.notes == ()
    assert words[:2] == ["scuff", "mscr"]
    assert words[2:10] == [word for model in models for word in ("--model", model)]
    words.remove("--keep-originals")
    assert dict(zip(words[10::2], words[11::2], strict=True)) == {
        "--data": "cifar10:data",
        "--train-noise": "0,0.01,0.02,0.03,0.05,0.07,1x,0.15",
        "--test-noise": "0,0.01,0.02,0.03,0.05,0.07,1x,0.15",
        "--copies": "1,10",
        "--runs": "6",
        "--offsets": "shared",
        "--bounds": "truncate",
        "--test-share": "0.3",
        "--quantile": "0.01",
        "--norm": "2",
        "--label": "species",
        "--out": "runs/my study",
    }


@pytest.mark.parametrize(("options", "there"), [({"train_noise": [0], "test_share": 0.5}, True), ({}, False)])
def test_only_models_that_are_trained_here_have_training_noise_to_say(options, there):
    words = shlex.split(again_of(**options).words)
    assert ("--train-noise" in words) is there
    assert ("--test-share" in words) is there
    if there:
        assert words[words.index("--train-noise") + 1] == "0"


@pytest.mark.parametrize("options", [{"epsilon_min": EPSILON}, {}])
def test_a_radius_that_was_given_is_given_again(accuracies, separation, options):
    settings = made_settings(accuracies)
    settings["options"] |= options
    page = Page(rendered(mscr_page, accuracies, settings, Distances(*separation), directory="x"))
    assert (f"--epsilon-min {EPSILON}" in page.section("settings")) is bool(options)


def test_python_objects_are_named_below_the_command(accuracies):
    settings = made_settings(accuracies)
    settings["options"]["models"] = ["1-nn", {"object": "mine"}]
    section = Page(rendered(mscr_page, accuracies, settings, directory="x")).section("settings")
    assert "scuff mscr --model 1-nn --model mine --data cifar10:data --out x" in section
    assert "Given as Python objects, so put files or addresses in their place: mine." in section


def test_runs_that_are_not_the_first_are_named_by_their_seeds(accuracies):
    assert "--runs 0,2,5" in again_of(runs=[0, 2, 5]).words
    settings = made_settings(accuracies)
    settings["options"]["runs"] = [3, 7]
    assert "--runs 3,7" in Page(rendered(mscr_page, accuracies, settings, directory="x")).section("settings")


def test_a_study_that_does_not_say_what_its_options_were_has_no_command(accuracies):
    settings = made_settings(accuracies)
    settings.pop("options")
    page = Page(rendered(mscr_page, accuracies, settings, directory="x"))
    assert "The same again" not in page.section("settings")


def test_radii_come_back_to_the_last_bit():
    words = shlex.split(
        again_of(
            train_noise=[0.0, "0.25x", "1x", 0.01], test_noise=[0.0, 0.1 + 0.2], epsilon_min=0.004012795259015489
        ).words
    )
    assert words[words.index("--train-noise") + 1] == "0,0.25x,1x,0.01"
    assert words[words.index("--test-noise") + 1] == "0,0.30000000000000004"
    assert words[words.index("--epsilon-min") + 1] == "0.004012795259015489"


def test_the_command_of_a_separation(separation):
    options = {"data": "points.npz", "scale": "minmax", "drop_duplicates": True, "norm": 1.0}
    found, _, _, pairs = separation
    distances = Distances(found | {"options": options}, pairs=pairs)
    assert "scuff separation points.npz --norm 1 --scale minmax --drop-duplicates --out x --per-class" in Page(
        rendered(separation_page, distances, directory="x")
    ).section("settings")
