"""The separation of a dataset in a folder, and `scuff separation`."""

from __future__ import annotations

import importlib
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import open_points
from scuff.studies.base import again
from scuff.studies.separation.distances import (
    NEAREST,
    PAIRS,
    SEPARATION,
    read_is_test,
    read_neighbours,
    read_pairs,
    read_separation,
)
from scuff.studies.separation.study import SeparationStudy, separation

study = importlib.import_module(
    "scuff.studies.separation.distances"
)  # whose name the function has taken in its package

X = np.array([[0.0, 0.0], [0.125, 0.5], [1.0, 1.0], [0.75, 0.625], [0.0, 1.0]])
CLASSES = ["safe", "safe", "bad", "unsure", "safe"]
TABLE = pd.DataFrame({"width": X[:, 0], "height": X[:, 1], "class": CLASSES})
ALL = {"per_class": True, "per_point": True}


def distances(x: np.ndarray, p: float) -> np.ndarray:
    return np.linalg.norm(x[:, None] - x[None], p, axis=2)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    TABLE.to_csv(path, index=False)
    return path


@pytest.fixture
def counted(monkeypatch):
    """How often each search is started."""
    calls = dict.fromkeys(("class_separation", "class_separations", "nearest_other_class"), 0)

    def count(name):
        original = getattr(study, name)

        def counting(*arguments, **options):
            calls[name] += 1
            return original(*arguments, **options)

        monkeypatch.setattr(study, name, counting)

    for name in calls:
        count(name)
    return calls


def measure(*data_out, **options):
    plan = SeparationStudy(*data_out, **options).plan()
    plan.run()
    return plan.work


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["separation", *map(str, words)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


# --- the study ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("norm", "p"), [("inf", math.inf), (2, 2.0), ("L1", 1.0)])
def test_a_folder_holds_everything(table, tmp_path, norm, p):
    out = tmp_path / "out"
    found = separation(table, out, norm=norm, **ALL)
    between = distances(X, p)
    assert (found.rows, found.labels, found.points, found.norm) == ((2, 3), (0, 2), 5, p)
    assert found.distance == pytest.approx(between[2, 3], rel=1e-15)
    about = read_separation(out)
    expected = {
        "distance": found.distance,
        "epsilon_min": found.distance / 2,
        "rows": [2, 3],
        "labels": [0, 2],
        "points": 5,
        "dropped": [],
        "class_names": ["bad", "safe", "unsure"],
        "is_image": False,
        "data": str(table),
        "label": None,
        "scale": None,
        "norm": "inf" if p == math.inf else p,
        "drop_duplicates": False,
        "data_fingerprint": open_points(TABLE).fingerprint(),
        "scuff": scuff.__version__,
    }
    assert {name: about[name] for name in expected} == expected
    assert about["seconds"] >= 0
    assert "python" in about["environment"]
    pairs = read_pairs(out)
    assert list(pairs.columns) == ["label_a", "label_b", "distance", "row_a", "row_b"]
    assert pairs[["label_a", "label_b"]].to_numpy().tolist() == [[0, 1], [0, 2], [1, 2]]
    for pair in pairs.itertuples():
        assert pair.distance == pytest.approx(between[pair.row_a, pair.row_b], rel=1e-15)
    neighbours = read_neighbours(out)
    labels = np.array([1, 1, 0, 2, 1])
    nearest = np.where(labels[:, None] == labels, np.inf, between).min(axis=1)
    np.testing.assert_allclose(neighbours.distances, nearest, rtol=1e-15)
    np.testing.assert_allclose(between[neighbours.points, neighbours.rows], nearest, rtol=1e-15)
    assert neighbours.points.tolist() == [0, 1, 2, 3, 4]
    assert (neighbours.norm, neighbours.distances.dtype, neighbours.rows.dtype) == (p, np.float64, np.int64)
    assert read_is_test(out) is None


def test_what_is_there_is_not_computed_again(table, tmp_path, counted):
    out = tmp_path / "out"
    first = separation(table, out)
    assert list(counted.values()) == [1, 0, 0]
    assert separation(table, out, **ALL) == first  # what was left out joins
    assert list(counted.values()) == [1, 1, 1]
    before = {name: (out / name).read_bytes() for name in (SEPARATION, PAIRS, NEAREST)}
    again = measure(open_points(TABLE), out, **ALL)  # the same data from elsewhere
    assert list(counted.values()) == [1, 1, 1]
    assert again.separation == first
    assert sorted(path.name for path in out.iterdir()) == sorted(before)  # and no temporary files
    assert {name: (out / name).read_bytes() for name in before} == before
    fresh = measure(open_points(TABLE), **ALL)
    pd.testing.assert_frame_equal(again.pairs, fresh.pairs, check_dtype=False)
    np.testing.assert_array_equal(again.neighbours.distances, fresh.neighbours.distances)


def test_an_interrupted_search_goes_on(table, tmp_path, monkeypatch, counted):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(study, "nearest_other_class", interrupt)
        with pytest.raises(KeyboardInterrupt):
            separation(table, tmp_path / "out", **ALL)
    assert read_neighbours(tmp_path / "out") is None
    separation(table, tmp_path / "out", **ALL)
    assert list(counted.values()) == [1, 1, 1]


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (TABLE, {"norm": 2}, "made with other settings: norm was inf, is now 2.0. Repeat those, or use another folder"),
        (TABLE, {"drop_duplicates": True}, "drop_duplicates was False, is now True"),
        (TABLE.assign(width=1 - TABLE["width"]), {}, "data_fingerprint was"),
        (TABLE, {"scale": "minmax"}, None),  # changes nothing here: these features reach from 0 to 1
    ],
)
def test_a_folder_belongs_to_one_separation(tmp_path, data, options, words):
    separation(TABLE, tmp_path)
    if words is None:
        separation(data, tmp_path, **options)
        return
    with pytest.raises(ValueError, match=words):
        separation(data, tmp_path, **options)


def test_files_without_their_separation_are_refused(tmp_path):
    separation(TABLE, tmp_path, **ALL)
    (tmp_path / SEPARATION).unlink()
    with pytest.raises(ValueError, match=r"holds pairs\.csv without the separation\.json it belongs to"):
        separation(TABLE, tmp_path)


def test_a_folder_may_be_damaged_or_empty(tmp_path):
    with pytest.raises(ValueError, match=r"there is no separation\.json in .*; scuff separation DATA --out"):
        read_separation(tmp_path)
    assert read_pairs(tmp_path) is None
    assert read_neighbours(tmp_path) is None
    assert read_is_test(tmp_path) is None
    separation(TABLE, tmp_path, **ALL)
    (tmp_path / NEAREST).write_bytes((tmp_path / NEAREST).read_bytes()[:-50])
    with pytest.raises(ValueError, match=r"nearest\.npz is damaged .*--repair"):
        read_neighbours(tmp_path)
    (tmp_path / SEPARATION).write_text("{")
    with pytest.raises(ValueError, match=r"separation\.json is not readable"):
        separation(TABLE, tmp_path)


def test_splits_are_kept(tmp_path):
    data = {"x_train": X[:3], "y_train": [0, 0, 1], "x_test": X[3:], "y_test": [1, 0]}
    np.savez(tmp_path / "b.npz", **data)
    separation(tmp_path / "b.npz", tmp_path / "out", per_point=True)
    assert read_is_test(tmp_path / "out").tolist() == [False, False, False, True, True]


def test_points_may_be_given_and_results_kept_anywhere(counted):
    points = open_points((X, CLASSES))
    out = "memory://test_separation_command"
    found = separation(points, out)
    assert read_separation(out)["data"] == "points"
    assert separation(points, out) == found
    assert counted["class_separation"] == 1
    with pytest.raises(ValueError, match="label, scale, resize, crop are for data that are not opened yet"):
        separation(points, scale="none")


def test_progress_counts_pairs():
    seen = []
    separation(TABLE, progress=lambda what, done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0
    assert all(done <= total for done, total in seen)


def test_impossible_norms_and_devices_are_refused():
    with pytest.raises(ValueError, match="p from 1 to 100"):
        separation(TABLE, norm=0.5)
    with pytest.raises(ValueError, match="no device is called 'gpu'"):
        separation(TABLE, device="gpu")


# --- the command ------------------------------------------------------------------------------------------------------


def test_the_command_says_what_it_found(table):
    code, output = run(table)
    assert code == 0
    assert output.splitlines() == [
        "Data: table, 5 points (2), 3 classes",
        "Classes: column class",
        "Separation 2r = 0.375 (L-infinity)",
        "epsilon_min = r = 0.1875",
        "Nearest points: row 2 (class bad) and row 3 (class unsure); they differ most in height: 1 and 0.625",
        f"Next: scuff mscr --model random-forest --data {table} --out runs/table",
    ]


def test_a_column_that_was_named_is_not_named_again(table):
    code, output = run(table, "--label", "class")
    assert code == 0
    assert "Classes:" not in output
    assert "--label class" in output.splitlines()[-1]


def test_ctrl_c_promises_nothing(table, monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(study, "class_separation", interrupt)
    result = CliRunner().invoke(app, ["separation", str(table)])
    assert (result.exit_code, result.stderr) == (130, "Interrupted.\n")


def test_the_command_tells_pairs_and_quantiles(table, tmp_path):
    code, output = run(table, "--per-class", "--quantiles", "0.5", "--norm", "1", "--out", tmp_path / "out")
    assert code == 0
    lines = [line.split() for line in output.splitlines()]
    assert ["bad", "unsure", "0.625", "2", "3"] in lines
    assert ["0.5", "quantile", "0.75", "0.375"] in lines
    assert ["smallest", "0.625", "0.3125"] in lines
    assert ["mean", "0.875", "0.4375"] in lines
    assert f"scuff report {tmp_path / 'out'}" in output
    assert "scuff mscr" in output.splitlines()[-2]
    assert "--norm 1" in output.splitlines()[-2]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted([SEPARATION, PAIRS, NEAREST])
    assert run(table, "--per-class", "--quantiles", "0.5", "--norm", "1", "--out", tmp_path / "out") == (0, output)


def test_many_pairs_are_not_all_printed(tmp_path):
    x = np.arange(10)[:, None] / 16
    np.savez(tmp_path / "ten.npz", x=x, y=np.arange(10))
    _, output = run(tmp_path / "ten.npz", "--per-class")
    assert "The 20 nearest of 45 pairs of classes; --out DIR keeps all of them in pairs.csv" in output
    assert sum(len(line.split()) == 5 and line.split()[2].startswith("0.") for line in output.splitlines()) == 20


def test_pixels_are_counted_in_steps_of_255(tmp_path):
    x = np.zeros((3, 4, 5, 3), np.uint8)
    x[1], x[2] = 80, 160
    x[1, 2, 3, 1] = 7  # 153 from the other class there, and 80 elsewhere
    np.savez(tmp_path / "images.npz", images=x, labels=[0, 1, 0])
    code, output = run(tmp_path / "images.npz")
    assert code == 0
    assert "Separation 2r = 80/255 = 0.31372549 (L-infinity)" in output
    assert "epsilon_min = r = 40/255 = 0.15686275" in output
    assert "row 0 (class 0) and row 1 (class 1); they differ most in pixel (0, 0, 0): 0 and 80" in output
    assert "--model MODEL" in output


def test_duplicates_are_an_error_or_dropped(tmp_path):
    x = np.concatenate([X, X[:1]])
    np.savez(tmp_path / "b.npz", x=x, y=[0, 0, 1, 1, 0, 1])
    result = CliRunner().invoke(app, ["separation", str(tmp_path / "b.npz")])
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("Error: ")
    assert "0" in result.stderr
    assert "5" in result.stderr
    code, output = run(tmp_path / "b.npz", "--drop-duplicates", "--out", tmp_path / "out")
    assert code == 0
    assert "Left out: 2 points that coincide with points of another class: rows 0, 5" in output
    assert json.loads((tmp_path / "out" / SEPARATION).read_text())["dropped"] == [0, 5]
    assert "--drop-duplicates" in output.splitlines()[-2]


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        ("a,class\n0,x\n1,x\n", [], "expected at least two classes"),
        ("a,class\n0,x\n,y\n", [], "row 1 (counted from 0), column a, is empty"),
        ("a,class\n0,x\n7,y\n", [], "--scale minmax (in Python scale='minmax') brings every feature there"),
        ("a,b,class\n0,1,x\n7,1,y\n", ["--scale", "minmax"], "constant features"),
        ("a,class\n0,x\n1,y\n", ["--scale", "z"], "scale must be minmax or none"),
        ("a,class\n0,x\n1,y\n", ["--label", "b"], "no column 'b'"),
        ("a,class\n0,x\n1,y\n", ["--norm", "0.5"], "p from 1 to 100"),
        ("a,class\n0,x\n1,y\n", ["--quantiles", "2"], "--quantiles takes numbers from 0 to 1"),
        ("a,class\n0,x\n1,y\n", ["--quantiles", "some"], "--quantiles takes numbers separated by commas"),
        ("a,class\n0,x\n1,y\n", ["--crop", "8"], "resize and crop are for pictures"),
        ("a,class\n0,x\n1,y\n", ["--device", "gpu"], "no device is called 'gpu'"),
        ("a,class\n0,x\n1,y\n", ["--out", "table.csv"], "is a file; expected a folder"),
    ],
)
def test_mistakes_get_one_line(tmp_path, monkeypatch, content, options, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text(content)
    code, output = run("table.csv", *options)
    assert code == 2
    assert len(output.strip().splitlines()) == 1
    assert output.startswith("Error: ")
    assert words in output


def test_a_file_that_is_not_there_gets_one_line():
    code, output = run("gone.csv")
    assert (code, output) == (2, "Error: there is no file gone.csv\n")


def test_help_teaches():
    code, output = run("--help")
    assert code == 0
    assert "Exit codes:" in CliRunner().invoke(app, ["--help"]).output  # the same for all commands
    for word in ("epsilon_min", "scuff mscr", "--drop-duplicates", "Examples:"):
        assert word in output


def test_a_dry_run_tells_costs_and_keeps_nothing(table, tmp_path):
    words = (table, "--per-class", "--per-point", "--out", tmp_path / "out")
    code, output = run(*words, "--dry-run")
    assert code == 0
    assert "measured now on all points" in " ".join(output.split())
    assert [line.split()[:2] for line in output.splitlines() if line.split()[:1] == ["search"]] == [["search", "3"]]
    assert not (tmp_path / "out").exists()
    run(*words)
    assert "To compute: nothing;" in run(*words, "--dry-run")[1]


def test_long_searches_are_timed_on_some_of_the_pairs(monkeypatch):
    monkeypatch.setattr(study, "TRIAL_SECONDS", -1.0)
    random = np.random.default_rng(0)
    data = (random.random((4000, 8)), np.arange(4000) % 4)
    (part,) = SeparationStudy(data, device="cpu").plan().cost().parts
    assert part.seconds_per_cell > 0
    assert re.fullmatch(r"measured now on \d+% of the pairs, and taken to grow in proportion", part.how)
    assert not part.how.startswith("measured now on 100%")


def test_options_are_kept_for_the_same_again(table, tmp_path):
    separation(table, tmp_path / "out", norm=2, scale="minmax", per_class=True)
    options = read_separation(tmp_path / "out")["options"]
    line = again(SeparationStudy, options, "out")
    assert line.words == f"scuff separation {table} --norm 2 --scale minmax --out out --per-class"
    separation((X, CLASSES), tmp_path / "arrays", norm=math.inf)
    line = again(SeparationStudy, read_separation(tmp_path / "arrays")["options"], "out")
    assert line.words == "scuff separation points --out out"
    assert line.notes == ("Given as Python objects, so put files or addresses in their place: points.",)
