"""Folders as people have them: with pictures that nothing can read, and with some that are seldom seen."""

import json
import os
import sys

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import open_source, readable
from scuff.pictures import UnreadablePictures, read_picture

REASONS = {
    "cat/cut.jpg": "truncated",
    "cat/cut.png": "truncated",
    "cat/empty.jpg": "not a picture",
    "dog/16-bit.png": "expected 8 bits per channel, got a picture of mode I",
    "dog/text.png": "not a picture",
}
GOOD = ["cat/0.png", "cat/film.gif", "dog/1.jpg", "dog/still.gif", "dog/two.gif"]


@pytest.fixture
def messy(tmp_path, monkeypatch):
    """A folder of ten pictures, of which five cannot be read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cli_readable_nets.py").write_text("def net(batch):\n    return batch.mean((2, 3))[:, :2]\n")
    folder = tmp_path / "mess"
    for name in ("cat", "dog"):
        (folder / name).mkdir(parents=True)
    pixels = np.random.default_rng(0).integers(0, 256, (6, 40, 48, 3), np.uint8)
    pictures = [Image.fromarray(each) for each in pixels]
    pictures[0].save(folder / "cat" / "0.png")
    pictures[1].save(folder / "dog" / "1.jpg")
    pictures[2].save(folder / "dog" / "still.gif")
    pictures[3].save(folder / "cat" / "film.gif", save_all=True, append_images=pictures[4:])
    deep = Image.fromarray((pixels[5, ..., 0].astype(np.uint16) << 8) + 200)
    deep.save(folder / "dog" / "16-bit.png")
    pictures[5].save(folder / "dog" / "two.gif")
    for suffix in ("jpg", "png"):
        whole = folder / "cat" / f"cut.{suffix}"
        pictures[4].save(whole)
        whole.write_bytes(whole.read_bytes()[:-600])
    (folder / "cat" / "empty.jpg").touch()
    (folder / "dog" / "text.png").write_text("hello")
    return folder


def test_all_unreadable_pictures_are_named_with_their_reasons(messy):
    source, told = open_source(f"folder:{messy}"), []
    with pytest.raises(UnreadablePictures, match="5 of 10 pictures of mess cannot be read:\n") as error:
        readable(source, progress=lambda *words: told.append(words))
    assert error.value.failures.keys() == REASONS.keys()
    assert all(REASONS[name] in reason for name, reason in error.value.failures.items())
    assert all(f"\n  {name}: " in str(error.value) for name in REASONS)
    assert told[-1] == ("checking pictures", 10, 10)


def test_what_could_be_read_is_not_tried_again(messy, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("scuff.digests.WORTH_IT", 1)
    tried = []
    module = sys.modules["scuff.data.readable"]
    real = module._examine

    def watched(path):
        tried.append(os.path.relpath(path, messy))
        return real(path)

    monkeypatch.setattr(module, "_examine", watched)
    source = open_source(f"folder:{messy}")
    assert readable(source, skip=True).unreadable.keys() == REASONS.keys()
    assert sorted(tried) == sorted([*GOOD, *REASONS])
    tried.clear()
    assert readable(source, skip=True).unreadable.keys() == REASONS.keys()
    assert sorted(tried) == sorted(REASONS)
    (messy / GOOD[0]).write_bytes(b"changed")
    assert GOOD[0] in readable(open_source(f"folder:{messy}"), skip=True).unreadable


def test_what_was_tried_is_not_read_again_for_its_digest(messy, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    expected = readable(open_source(f"folder:{messy}"), skip=True).fingerprint()
    monkeypatch.setattr("scuff.digests.WORTH_IT", 1)
    source = readable(open_source(f"folder:{messy}"), skip=True)
    monkeypatch.setattr("scuff.digests.file_digest", None)
    assert source.fingerprint() == expected


def test_the_others_keep_labels_and_ids(messy):
    source = open_source(f"folder:{messy}")
    rest = readable(source, skip=True)
    assert rest.images.names == GOOD
    assert rest.unreadable.keys() == REASONS.keys()
    assert {*zip(rest.ids, rest.labels, strict=True)} < {*zip(source.ids, source.labels, strict=True)}
    assert readable(rest) is rest  # nobody looks twice
    assert readable(rest.take([0])).unreadable == rest.unreadable


def test_a_folder_without_any_readable_picture_is_refused_in_any_case(messy):
    for name in GOOD:
        (messy / name).unlink()
    with pytest.raises(UnreadablePictures, match="5 of 5 pictures"):
        readable(open_source(f"folder:{messy}"), skip=True)


def test_the_first_frame_of_an_animation_is_read(messy):
    with Image.open(messy / "cat" / "film.gif") as film:
        assert film.n_frames == 3
        first = np.asarray(film.convert("RGB"))
    assert np.array_equal(read_picture(messy / "cat" / "film.gif"), first)


def test_evaluate_lists_them_all_and_goes_on_without_them_if_told_so(messy):
    words = ["evaluate", "cli_readable_nets:net", "--data", "folder:mess", "--suite", "imagenet-c", "--only", "fog"]
    words += ["--severity", "1", "--resize", "32", "--crop", "32", "--out", "out"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    listed = [line.partition(":")[0].strip() for line in result.output.splitlines() if line.startswith("  ")]
    assert listed == [*REASONS]
    assert "--skip-unreadable" in result.output.splitlines()[-1]
    assert not (messy.parent / "out").exists()
    result = CliRunner().invoke(app, [*words, "--skip-unreadable"])
    assert result.exit_code == 0, result.output
    assert "Left out, because they cannot be read: 5 pictures\n  cat/cut.jpg: " in result.output
    settings = json.loads((messy.parent / "out" / "evaluation.json").read_text())
    assert (settings["images"], settings["unreadable"].keys()) == (5, REASONS.keys())
    assert "of which 2 exist already" in CliRunner().invoke(app, [*words, "--skip-unreadable"]).output
    assert CliRunner().invoke(app, ["report", "out"]).exit_code == 0
    page = (messy.parent / "out" / "report.html").read_text()
    assert "without 5 that could not be read" in page
    assert "cat/empty.jpg (not a picture)" in page
    assert "--skip-unreadable" in page
    assert "holds other images" not in page


def test_training_and_studies_refuse_them_before_they_begin(messy):
    data = f"folder:{messy}"
    with pytest.raises(UnreadablePictures, match="5 of 10"):
        scuff.train(data, "fashion", "net.safetensors")
    for study in (
        scuff.studies.OverlapStudy("cifar10-c", data, "out", recipe="fashion", test=data),
        scuff.studies.DistancesStudy("augmix", "cifar10-c", data, "out", recipe="fashion", images=2),
        scuff.studies.SeparationStudy(data, "out", resize=32, crop=32),
    ):
        with pytest.raises(UnreadablePictures, match="5 of 10"):
            study.plan()
    study = scuff.studies.OverlapStudy("cifar10-c", data, "out", recipe="fashion", test=data, skip_unreadable=True)
    assert len(study.plan().settings["unreadable"]) == 5
    study = scuff.studies.SeparationStudy(data, "out", resize=32, crop=32, skip_unreadable=True)
    assert len(study.plan().work.points) == 5
