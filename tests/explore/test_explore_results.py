"""What the explorer answers about folders of results: evaluations, overlap studies, and the reports of all others."""

import io
import json

import numpy as np
import pytest
import torch
from made_evaluations import make_evaluation, save_evaluation
from made_explorer import running
from made_overlaps import make_accuracies, save_study
from PIL import Image

import scuff
from scuff import packages
from scuff.data import array_source
from scuff.explore import report
from scuff.explore.corruptions import Turn
from scuff.explore.evaluation import AT_ONCE
from scuff.explore.open import open_explorer
from scuff.models import Classifier

IMAGES = 60


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evaluation")
    made = make_evaluation(folder, "cifar10-c-bar", images=IMAGES)
    save_evaluation(made, folder)
    return made, folder


@pytest.fixture(scope="module")
def client(evaluation):
    with running(open_explorer(str(evaluation[1]))) as client:
        yield client


@pytest.fixture(scope="module")
def rows(evaluation):
    return evaluation[0].rows


CELL = {"model": "resnet20", "entry": "brownish_noise", "severity": 3}


def of_cell(rows, model="resnet20", entry="brownish_noise", severity=3):
    chosen = (rows["model"] == model) & (rows["corruption"] == entry) & (rows["severity"] == severity)
    return rows[chosen].set_index("image_id")


def test_the_heat_map_has_the_error_of_every_cell(client, rows):
    _, start = client.ask("start")
    view = start["views"]["evaluation"]
    assert (view["title"], view["levels"], view["note"]) == ("3 models on cifar10-c-bar", [1, 2, 3, 4, 5], "")
    assert start["suites"][0]["name"] == "cifar10-c-bar"
    assert start["data"]["count"] == IMAGES
    for model, groups in view["maps"].items():
        shown = {
            (row["entry"], place + 1): cell["text"]
            for g in groups
            for row in g["rows"]
            for place, cell in enumerate(row["cells"])
        }
        assert len(shown) == 10 * 5
        for (entry, severity), text in shown.items():
            cell = of_cell(rows, model, entry, severity)
            assert float(text) == pytest.approx(100 * (cell["label"] != cell["prediction"]).mean(), abs=0.051)
    clean = of_cell(rows, entry="clean", severity=0)
    assert view["clean"]["resnet20"] == pytest.approx((clean["label"] != clean["prediction"]).mean())


@pytest.mark.parametrize("kind", ["all", "wrong", "broken", "repaired", "disagree"])
@pytest.mark.parametrize("label", [None, 2])
def test_pictures_of_a_cell_are_those_that_are_asked_for(client, rows, kind, label):
    mine, theirs, clean = of_cell(rows), of_cell(rows, "mlp"), of_cell(rows, entry="clean", severity=0)
    right, was_right = mine["label"] == mine["prediction"], clean["label"] == clean["prediction"]
    wanted = {
        "all": right | True,
        "wrong": ~right,
        "broken": was_right & ~right,
        "repaired": ~was_right & right,
        "disagree": mine["prediction"] != theirs["prediction"],
    }[kind]
    ids = mine.index[wanted & ((mine["label"] == label) if label is not None else True)]
    asked = CELL | {"kind": kind, "other": "mlp"} | ({} if label is None else {"label": label})
    found, first = [], 0
    while True:
        _, answer = client.ask("evaluation/cell", **asked, first=first)
        assert (answer["count"], answer["wrong"], answer["found"]) == (IMAGES, (~right).sum(), len(ids))
        found += answer["cards"]
        first += AT_ONCE
        if first >= answer["found"]:
            break
    assert sorted(int(card["image"]) for card in found) == sorted(ids)
    names = ("disc", "square", "triangle", "ring", "cross", "stripes", "checks", "diamond")
    for card in found:
        row = mine.loc[int(card["image"])]
        assert (card["label"], card["class"]) == (names[row["label"]], names[row["prediction"]])
        assert card["sure"] == pytest.approx(row["confidence"])
        assert card["other"]["class"] == names[theirs.at[int(card["image"]), "prediction"]]
        assert card["clean"]["right"] == was_right[int(card["image"])]
    mistakes = [card["sure"] for card in found if not card["right"]]
    assert mistakes == sorted(mistakes, reverse=True)
    assert [card["right"] for card in found] == sorted(card["right"] for card in found)


def test_a_picture_is_shown_as_the_model_saw_it(client, evaluation):
    clean = np.load(evaluation[1] / "images.npz")["images"][7]
    wanted = scuff.corrupt(clean[None], "cifar10-c-bar/brownish_noise", 3, ids=[7])[0]
    shown = client.picture("evaluation/seen", image=7, entry="brownish_noise", severity=3)
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(shown))), wanted)
    shown = client.picture("evaluation/seen", image=7, entry="clean")
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(shown))), clean)


def test_one_picture_goes_through_all_cells(client, rows):
    _, answer = client.ask("evaluation/through", model="mlp", image=11)
    cells = {(row["entry"], int(level)): cell for row in answer["rows"] for level, cell in row["cells"].items()}
    its = rows[(rows["model"] == "mlp") & (rows["image_id"] == 11)].set_index(["corruption", "severity"])
    assert len(cells) == 50
    assert answer["position"] == 11
    for key, cell in cells.items():
        assert cell["right"] == (its.loc[key, "label"] == its.loc[key, "prediction"])
        assert cell["sure"] == pytest.approx(its.loc[key, "confidence"])


@pytest.mark.parametrize(
    ("path", "words", "message"),
    [
        ("evaluation/cell", CELL | {"model": "none"}, "none was not evaluated on brownish_noise at severity 3"),
        ("evaluation/cell", CELL | {"entry": "../x"}, "resnet20 was not evaluated on ../x at severity 3"),
        ("evaluation/through", {"model": "mlp", "image": 999}, "mlp has not seen an image 999"),
        ("evaluation/seen", {"image": 999, "entry": "brownish_noise", "severity": 3}, "there is no image 999"),
        ("evaluation/seen", {"image": 1, "entry": "../x", "severity": 3}, "there is no image 1 of ../x"),
    ],
)
def test_what_is_not_there_is_refused(client, path, words, message):
    status, answer = client.ask(path, **words)
    assert status == 400
    assert answer["error"].startswith(message)


def test_without_its_images_an_evaluation_still_has_its_predictions(tmp_path):
    folder = tmp_path / "moved"
    save_evaluation(make_evaluation(folder, "cifar10-c-bar", ("mlp",), images=8), folder)
    (folder / "images.npz").rename(tmp_path / "there.npz")
    explorer = open_explorer(str(folder))
    view = explorer.views["evaluation"]
    assert view.start()["note"].startswith("There are no pictures: they could not be opened: ")
    assert view.start()["kinds"].keys() == {"all", "wrong", "broken", "repaired"}  # of one model
    assert explorer.shelf.source is None
    with running(explorer) as client:
        status, answer = client.ask("evaluation/cell", **CELL | {"model": "mlp"})
        assert (status, answer["count"], answer["cards"][0]["name"]) == (200, 8, "")
        assert client.ask("evaluation/seen", image=1, entry="brownish_noise", severity=3)[0] == 400
    again = open_explorer(str(folder), data=f"npz:{tmp_path / 'there.npz'}")
    assert again.views["evaluation"].note == ""


def test_the_matrix_of_an_overlap_study(tmp_path):
    accuracies = make_accuracies(("cifar10-c", "noc-candidates"), images=50, most=4)
    save_study(accuracies, tmp_path)
    with running(open_explorer(str(tmp_path))) as client:
        _, start = client.ask("start")
        view = start["views"]["overlap"]
        names = [f"{each['suite']}/{each['entry']}" for each in view["corruptions"]]
        assert sorted(names) == sorted(accuracies.corruptions)
        overlaps = scuff.metrics.overlaps(accuracies)
        for a, row in zip(names, view["rows"], strict=True):
            for b, cell in zip(names, row, strict=True):
                if a != b and cell["shade"] != "undefined":
                    assert float(cell["text"].replace("\u2212", "-")) == pytest.approx(
                        overlaps.score(a, b).value, abs=0.0051
                    )
        first = view["corruptions"][0]
        turn = {"severity": 2} if first["levels"] else {"seed": 1}
        words = {"picture": "cat", "size": 32, "suite": first["suite"], "entry": first["entry"]}
        assert Image.open(io.BytesIO(client.picture("picture", **words, **turn))).size == (32, 32)


# --- reports ----------------------------------------------------------------------------------------------------------


def greys(count=6):
    """Grey pictures of two classes, and a model that tells them apart by their brightness."""
    shades = np.linspace(90, 170, count).astype(np.uint8)
    images = np.broadcast_to(shades[:, None, None, None], (count, 12, 12, 3)).copy()
    source = array_source("greys", images, (shades > 128).astype(int), ("dark", "bright"))
    return source, Classifier(lambda x: torch.stack((0.5 - (m := x.mean((1, 2, 3))), m - 0.5), 1), name="threshold")


def sequences(folder):
    save_evaluation(make_evaluation(folder, "cifar10-p", ("mlp",), images=4), folder)


def sample(folder):
    source, model = greys()
    scuff.evaluate(model, "cifar10-c", source, folder, passes=20, only=["contrast"], severities=[1, 5])


def survival(folder):
    source, model = greys()
    scuff.studies.survival(model, "cifar10-c", source, folder, only=["contrast"])


def started(folder):
    """A study that has only just begun."""
    run = {"run": "a", "title": "overlap", "engine": "local", "state": "interrupted", "seconds": 1.0, "workers": 1}
    time = dict.fromkeys(("started", "updated"), "2026-01-31T12:00:00+00:00")
    (folder / "progress").mkdir()
    more = {"reason": "", "cells": {}, "failures": [], "retries": [], "timeline": []}
    (folder / "progress" / "0.json").write_text(json.dumps(run | time | more))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (sequences, "mlp on cifar10-p"),
        (sample, "A sample of cifar10-c"),
        (survival, "When threshold fails"),
        (started, "overlap"),
    ],
)
def test_any_results_have_their_report(tmp_path, make, words):
    make(tmp_path)
    with running(open_explorer(str(tmp_path))) as client:
        assert list(client.ask("start")[1]["views"]) == ["report"]
        status, headers, page = client.send(client.below("report"))
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert words in page.decode().partition("<h1")[2].partition("</h1>")[0]
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy  # nothing is loaded, and nobody is asked
    assert "connect-src" not in policy
    assert "sandbox allow-scripts allow-downloads" in policy  # so that its origin is not that of the explorer
    assert (headers["x-frame-options"], headers["cache-control"]) == ("SAMEORIGIN", "no-store")


def test_an_evaluation_has_its_report_beside_its_view(client):
    assert list(client.ask("start")[1]["views"]) == ["evaluation", "report"]


def test_a_report_that_cannot_be_made_says_why(tmp_path):
    sequences(tmp_path)
    with running(open_explorer(str(tmp_path))) as client:
        (tmp_path / "evaluation.json").write_text("{")
        status, _, page = client.send(client.below("report"))
    assert status == 200
    assert "There is no report" in page.decode()
    assert "evaluation.json" in page.decode()


def test_without_what_draws_there_is_no_report(tmp_path, evaluation, monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda name: None)
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    assert list(open_explorer(str(evaluation[1])).views) == ["evaluation"]
    sequences(tmp_path)
    with pytest.raises(ValueError, match=r"a report needs the packages jinja2 and plotly, .* pip install"):
        open_explorer(str(tmp_path))


def test_a_table_of_accuracies_is_an_overlap_study(tmp_path):
    file = tmp_path / "accuracies.csv"
    make_accuracies(("cifar10-c",), images=50, most=3).to_frame().to_csv(file, index=False)
    views = open_explorer(str(file)).views
    assert list(views) == ["overlap", "report"]
    assert len(views["overlap"].start()["corruptions"]) == 3


def test_folders_without_results_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"neither an evaluation nor a study: there is no evaluation\.json in it"):
        open_explorer(str(tmp_path))


# --- suites that are not bundled --------------------------------------------------------------------------------------


def test_the_line_of_python_comes_by_a_suite_of_ones_own(tmp_path):
    suite = scuff.Suite("mine", 1, 32, {"pale": {"shift": [0.1, 0.2], "corruption": "brightness"}}, 2)
    file, folder = suite.save(tmp_path / "mine.yaml"), tmp_path / "run"
    source, model = greys()
    scuff.evaluate(model, suite, source, folder)
    asked = {"picture": "cat", "size": 32, "suite": "mine", "entry": "pale", "severity": 1.5}
    for explorer in (open_explorer(suites=[str(file)]), open_explorer(str(folder))):
        with running(explorer) as client:
            assert client.ask("start")[1]["suites"][0]["name"] == "mine"
            line = client.ask("corrupt", **asked)[1]["line"]
            image = Image.open(io.BytesIO(client.picture("picture", picture="cat", size=32)))
            shown = Image.open(io.BytesIO(client.picture("picture", **asked)))
        names = {"scuff": scuff, "image": image}
        exec(line, names)
        assert np.array_equal(np.asarray(names["corrupted"]), np.asarray(shown))


def test_a_suite_that_only_has_the_name_of_a_bundled_one_is_not_taken_for_it():
    bundled = scuff.load_suite("cifar10-c")
    other = scuff.Suite("cifar10-c", 1, 32, {"fog": {"shift": [0.1], "corruption": "brightness"}}, 1)
    assert Turn(bundled, "fog", 1).line() == 'corrupted = scuff.corrupt(image, "cifar10-c/fog", 1, draws="shared")'
    assert Turn(other, "fog", 1).line() == 'corrupted = scuff.corrupt(image, "fog", 1, draws="shared", suite=suite)'
