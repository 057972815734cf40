"""Exports go on where they were, and notice what is damaged or has changed."""

import errno
import json
import os
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from made_exports import FEW, StopAfter, load, make_picture, tree

import scuff
from scuff.engine import LocalEngine
from scuff.export import ExportStopped, export, plan_export
from scuff.files import write_by_rename
from scuff.store import Store

# --- resuming -------------------------------------------------------------------------------------------------------


def test_what_exists_is_kept_and_the_rest_is_made(pictures, tmp_path):
    out = tmp_path / "out"
    export(pictures, out, "imagenet-c", **FEW)
    whole = tree(out)
    (out / "contrast" / "5" / "a.png").unlink()
    kept = out / "gaussian_noise" / "2" / "cats" / "b.png"
    before = kept.stat()
    result = export(pictures, out, "imagenet-c", **FEW)
    assert (result.written, result.skipped) == (1, 15)
    assert tree(out) == whole
    assert kept.stat() == before


# --- damaged outputs and changed sources ------------------------------------------------------------------------------


def test_a_damaged_output_is_made_again(pictures, tmp_path):
    out = tmp_path / "out"
    export(pictures, out, "imagenet-c", **FEW)
    whole = tree(out)
    cut, changed = out / "contrast" / "5" / "a.png", out / "gaussian_noise" / "2" / "cats" / "b.png"
    cut.write_bytes(cut.read_bytes()[:-9])
    changed.write_bytes(changed.read_bytes()[:-1] + b"?")  # as long as before
    plan = plan_export(pictures, out, "imagenet-c", **FEW)
    assert (plan.missing, plan.work.stale) == (2, 2)
    assert export(pictures, out, "imagenet-c", **FEW).written == 2
    assert tree(out) == whole


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_a_changed_source_picture_is_noticed(pictures, tmp_path, layout):
    out, options = tmp_path / "out", {**FEW, "layout": layout}
    export(pictures, out, "imagenet-c", **options)
    size = (pictures / "a.bmp").stat().st_size
    make_picture(24, 30, 7).save(pictures / "a.bmp")  # as many bytes as before
    assert (pictures / "a.bmp").stat().st_size == size
    assert export(pictures, out, "imagenet-c", **options).written == 4
    export(pictures, tmp_path / "fresh", "imagenet-c", **options)
    assert tree(out) == tree(tmp_path / "fresh")
    assert export(pictures, out, "imagenet-c", **options).written == 0


def test_copies_are_recognised_by_their_contents(pictures, tmp_path, monkeypatch):
    out, copy = tmp_path / "out", tmp_path / "elsewhere" / "out"
    export(pictures, out, "imagenet-c", **FEW)
    shutil.copytree(out, copy)
    shutil.copytree(pictures, tmp_path / "elsewhere" / "pictures")
    assert export(tmp_path / "elsewhere" / "pictures", copy, "imagenet-c", **FEW).skipped == 16
    monkeypatch.setattr("scuff.export.seals.file_digest", None)  # now a glance will do
    assert export(tmp_path / "elsewhere" / "pictures", copy, "imagenet-c", **FEW).skipped == 16


@pytest.mark.parametrize(
    ("layout", "name"), [("npy", "contrast.npy"), ("npz", "contrast/5.npz"), ("npy", "labels.npy")]
)
def test_a_truncated_array_is_made_again(arrays, tmp_path, layout, name):
    out = tmp_path / "out"
    export(arrays, out, "imagenet-c", layout=layout, **FEW)
    whole = tree(out)
    (out / name).write_bytes((out / name).read_bytes()[:-9])
    export(arrays, out, "imagenet-c", layout=layout, **FEW)
    assert tree(out) == whole


def test_an_export_without_seals_is_made_again(pictures, tmp_path):
    out = tmp_path / "out"
    export(pictures, out, "imagenet-c", **FEW)
    whole = tree(out)
    shutil.rmtree(out / "progress")
    assert export(pictures, out, "imagenet-c", **FEW).written == 16
    assert tree(out) == whole
    assert len(list((out / "progress").glob("*.seals"))) == 1


# --- resuming after an end in the middle ------------------------------------------------------------------------------


def test_an_interrupted_run_goes_on(pictures, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        export(pictures, out, "imagenet-c", progress=StopAfter(1), **FEW)
    first = tree(out)
    assert 1 < len(first) < 17
    (out / "contrast" / "2").mkdir(parents=True, exist_ok=True)
    (out / "contrast" / "2" / ".scuff-0123.tmp").write_bytes(b"of a run that was killed")
    export(pictures, out, "imagenet-c", **FEW)
    export(pictures, tmp_path / "fresh", "imagenet-c", **FEW)
    (out / "contrast" / "2" / ".scuff-0123.tmp").unlink()
    assert tree(out) == tree(tmp_path / "fresh")


@pytest.mark.parametrize("is_written", [False, True])
def test_what_is_written_of_an_interrupted_task_counts(pictures, tmp_path, monkeypatch, is_written):
    """Also the last file, if Ctrl-C came after it had been written, and before anything was known of it."""
    out, write, paths = tmp_path / "out", Store.write, []

    def interrupted(store, path, content):
        is_last = len(paths) == 3
        if not is_last or is_written or not path.endswith(".png"):
            write(store, path, content)
        if path.endswith(".png"):
            paths.append(path)
            if is_last:
                raise KeyboardInterrupt

    monkeypatch.setattr(Store, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        export(pictures, out, "imagenet-c", **FEW)
    monkeypatch.setattr(Store, "write", write)
    assert export(pictures, out, "imagenet-c", **FEW).skipped == (4 if is_written else 3)


def test_more_corruptions_and_severities_may_be_added(pictures, tmp_path):
    out = tmp_path / "out"
    export(pictures, out, "imagenet-c", only=["contrast"], severities=[2], engine=LocalEngine(1))
    result = export(pictures, out, "imagenet-c", **FEW)
    assert (result.written, result.skipped) == (12, 4)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "seed was 0, is now 1"),
        ({"resize": 20}, "resize was not set, is now 20"),
        ({"crop": 8}, "crop was not set, is now 8"),
        ({"save": "jpeg"}, "save was png, is now jpeg"),
        ({"suite": "tiny-imagenet-c"}, "suite was imagenet-c, is now tiny-imagenet-c"),
    ],
)
def test_other_settings_are_refused(pictures, tmp_path, change, words):
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    before = tree(tmp_path / "out")
    with pytest.raises(ValueError, match=words):
        export(pictures, tmp_path / "out", **{"suite": "imagenet-c", **FEW, **change})
    assert tree(tmp_path / "out") == before


def test_an_edited_suite_of_the_same_version_is_refused(pictures, tmp_path):
    def save(gain):
        return scuff.Suite("mine", 1, 32, {"contrast": {"gain": [gain]}}, 1).save(tmp_path / "mine.yaml")

    export(pictures, tmp_path / "out", save(0.5), engine=LocalEngine(1))
    with pytest.raises(ValueError, match="suite_content was"):
        export(pictures, tmp_path / "out", save(0.4), engine=LocalEngine(1))


def test_another_source_is_refused(pictures, arrays, tmp_path):
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    pictures.rename(tmp_path / "others")
    with pytest.raises(ValueError, match="source was pictures, is now others"):
        export(tmp_path / "others", tmp_path / "out", "imagenet-c", **FEW)
    export(arrays, tmp_path / "array", "imagenet-c", **FEW)
    np.savez(arrays, images=np.zeros((7, 12, 10, 3), np.uint8), labels=np.arange(7) * 11)
    with pytest.raises(ValueError, match="source was"):
        export(arrays, tmp_path / "array", "imagenet-c", **FEW)


def test_another_version_of_scuff_may_go_on(pictures, tmp_path, monkeypatch):
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    monkeypatch.setattr(scuff, "__version__", "99.0")
    assert export(pictures, tmp_path / "out", "imagenet-c", **FEW).skipped == 16


def test_settings_say_how_the_files_were_made(pictures, tmp_path):
    export(pictures, tmp_path / "out", "imagenet-c", seed=5, resize=20, **FEW)
    settings = json.loads((tmp_path / "out" / "scuff.json").read_text())
    known = {"suite": "imagenet-c", "suite_version": 2, "seed": 5, "resize": 20, "crop": None, "save": "png"}
    assert known.items() <= settings.items()
    assert settings["scuff"] == scuff.__version__


def test_foreign_files_are_not_taken_for_results(pictures, tmp_path):
    path = tmp_path / "out" / "contrast" / "2" / "a.png"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"somebody else's")
    with pytest.raises(ValueError, match=r"no scuff\.json"):
        export(pictures, tmp_path / "out", "imagenet-c", **FEW)


def test_a_broken_settings_file_is_refused(pictures, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scuff.json").write_text("[1, 2")
    with pytest.raises(ValueError, match=r"scuff\.json is not readable"):
        export(pictures, tmp_path / "out", "imagenet-c", **FEW)


def test_a_full_disk_stops_the_run_and_leaves_whole_files(pictures, tmp_path, monkeypatch):
    room = 5

    @contextmanager
    def write_while_there_is_room(path):
        nonlocal room
        room -= path.endswith(".png")
        with write_by_rename(path) as file:
            yield file
            if room < 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("scuff.store.store.write_by_rename", write_while_there_is_room)
    with pytest.raises(ExportStopped, match="full"):
        export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    written = [name for name in tree(tmp_path / "out") if name != "scuff.json"]
    assert len(written) == 5
    whole = {name: (tmp_path / "out" / name).read_bytes() for name in written}
    for name in written:
        load(tmp_path / "out" / name)
    room = 100
    result = export(pictures, tmp_path / "out", "imagenet-c", **FEW)  # of an unfinished task, nothing was sealed
    assert result.written + result.skipped == 16
    assert {name: content for name, content in tree(tmp_path / "out").items() if name in whole} == whole
