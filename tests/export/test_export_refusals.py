"""Exports write nowhere else, and refuse what makes no sense."""

import json

import pytest
from made_exports import FEW, make_picture, tree

import scuff
from scuff.export import export

# --- names and places that lead elsewhere -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../x", "/tmp/scuff-escaped", "a/../../x", "..", ".", "", "a\0b", "a\\..\\b", " "])
def test_no_entry_of_a_suite_leads_outside(pictures, tmp_path, name):
    """A suite file of somebody else's must not write where its reader did not ask for it."""
    entries = {name: {"corruption": "contrast", "gain": [0.5]}}
    file = tmp_path / "theirs.yaml"
    file.write_text(json.dumps({"suite": "theirs", "version": 1, "size": 32, "severities": 1, "entries": entries}))
    with pytest.raises(scuff.SuiteError, match="the name of an entry becomes a folder and must be text without /"):
        export(pictures, tmp_path / "out", file)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["pictures", "theirs.yaml"]


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("s3:x", "did you mean s3://x"),
        ("a::b", "not supported"),
        ("http://localhost:1/x", "nothing can be written to http"),
    ],
)
def test_odd_destinations_are_refused(pictures, tmp_path, monkeypatch, place, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=words):
        export(pictures, place, "imagenet-c", **FEW)
    assert [p.name for p in tmp_path.iterdir()] == ["pictures"]


def test_a_tilde_is_the_home(pictures, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    export(pictures, "~/out", "imagenet-c", **FEW)
    assert (tmp_path / "home" / "out" / "scuff.json").exists()
    assert not (tmp_path / "~").exists()


# --- refusals -------------------------------------------------------------------------------------------------------


def test_two_pictures_of_one_result_are_refused(pictures, tmp_path):
    make_picture(9, 9).save(pictures / "a.png")
    with pytest.raises(ValueError, match=r"a\.bmp and a\.png would both become a\.png"):
        export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("source", "destination", "words"),
    [
        ("gone", "out", "no file or folder"),
        ("empty", "out", "no pictures in"),
        ("pictures/notes.txt", "out", r"expected a folder of pictures, a picture .*, a \.npz or a \.npy"),
        ("pictures", "pictures", "inside each other"),
        ("pictures", "pictures/cats/out", "inside each other"),
        ("pictures/cats", "pictures", "inside each other"),
        ("pictures", "link-to-pictures/out", "inside each other"),
        ("pictures", "pictures/notes.txt", "is a file"),
    ],
)
def test_impossible_places_are_refused(pictures, tmp_path, source, destination, words):
    (tmp_path / "empty").mkdir()
    (tmp_path / "link-to-pictures").symlink_to(pictures)
    before = tree(tmp_path)
    with pytest.raises(ValueError, match=words):
        export(tmp_path / source, tmp_path / destination, "imagenet-c", **FEW)
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"only": ["fgo"]}, "did you mean fog"),
        ({"only": []}, "no corruption"),
        ({"severities": [6]}, "from 1 to 5"),
        ({"severities": []}, "no severity"),
        ({"save": "gif"}, "png or jpeg"),
        ({"layout": "npy"}, "layout folder"),
        ({"resize": 0}, "at least 1"),
        ({"crop": -3}, "at least 1"),
        ({"resize": 8, "crop": 9}, "crop of 9"),
    ],
)
def test_impossible_options_are_refused(pictures, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        export(pictures, tmp_path / "out", "imagenet-c", **{**FEW, **options})
    assert not (tmp_path / "out").exists()
