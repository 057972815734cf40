"""Exports: what is written, that it can be resumed, and that it depends on nothing but images and settings."""

import errno
import io
import json
import os
import shutil
from contextlib import contextmanager

import numpy as np
import pytest
from made_exports import StopAfter, load, make_picture, tree
from PIL import Image

import scuff
from scuff.engine import LocalEngine
from scuff.export import ExportStopped, export, plan_export
from scuff.files import write_by_rename
from scuff.pictures import UnreadablePictures
from scuff.store import Store

FEW = {"only": ["gaussian_noise", "contrast"], "severities": [2, 5], "engine": LocalEngine(1)}


@pytest.fixture
def pictures(tmp_path):
    """A tree of pictures of several sizes and modes."""
    root = tmp_path / "pictures"
    (root / "cats" / "old").mkdir(parents=True)
    make_picture(24, 30, 1).save(root / "a.bmp")
    make_picture(24, 30, 2).save(root / "cats" / "b.JPEG")
    make_picture(33, 21, 3).save(root / "cats" / "old" / "c.png")
    make_picture(24, 30, 4).convert("L").save(root / "cats" / "grey.png")
    (root / "notes.txt").write_text("no picture")
    (root / ".hidden.png").write_text("no picture")
    return root


@pytest.fixture
def arrays(tmp_path):
    """Seven images of 12 x 10 with labels."""
    path = tmp_path / "data.npz"
    images = np.random.default_rng(0).integers(0, 256, (7, 12, 10, 3), dtype=np.uint8)
    np.savez(path, images=images, labels=np.arange(7) * 11)
    return path


# --- labelled data of any kind -------------------------------------------------------------------------------------


class Numbered:
    """A dataset as torch knows it."""

    def __init__(self, path):
        self.content = dict(np.load(path))

    def __len__(self):
        return len(self.content["labels"])

    def __getitem__(self, place):
        return Image.fromarray(self.content["images"][place]), int(self.content["labels"][place])


@pytest.mark.parametrize("layout", ["npy", "npz", "webdataset"])
def test_a_dataset_or_a_pair_gives_the_files_of_its_array(arrays, tmp_path, layout):
    export(arrays, tmp_path / "file", "cifar10-c", layout=layout, **FEW)
    content = np.load(arrays)
    for name, data in (("pair", (content["images"], content["labels"])), ("dataset", Numbered(arrays))):
        export(data, tmp_path / name, "cifar10-c", layout=layout, **{**FEW, "engine": LocalEngine(2)})
        expected, made = tree(tmp_path / "file"), tree(tmp_path / name)
        assert {k: v for k, v in made.items() if k != "scuff.json"} == {
            k: v for k, v in expected.items() if k != "scuff.json"
        }
        again = export(data, tmp_path / name, "cifar10-c", layout=layout, **FEW)
        assert again.written == 0


def test_data_that_changed_is_not_taken_for_the_same(arrays, tmp_path):
    content = np.load(arrays)
    export((content["images"], content["labels"]), tmp_path / "out", "cifar10-c", **FEW)
    with pytest.raises(ValueError, match="source"):
        export((255 - content["images"], content["labels"]), tmp_path / "out", "cifar10-c", **FEW)


def test_data_that_cannot_be_exported_is_explained(arrays, pictures, tmp_path):
    content = np.load(arrays)
    with pytest.raises(ValueError, match="give a folder of yours"):
        plan_export((content["images"], content["labels"]), "memory://bucket/out", "cifar10-c")
    (pictures / "a.bmp").unlink()  # which has no class
    with pytest.raises(ValueError, match="give their folder itself"):
        plan_export(f"folder:{pictures}", tmp_path / "out")
    with pytest.raises(ValueError, match="no file or folder nowhere"):
        plan_export("nowhere", tmp_path / "out")


# --- folders --------------------------------------------------------------------------------------------------------


def test_a_folder_becomes_corruption_severity_tree(pictures, tmp_path):
    result = export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    assert (result.written, result.skipped, result.failures) == (16, 0, {})
    names = {"a.png", "cats/b.png", "cats/grey.png", "cats/old/c.png"}
    expected = {f"{c}/{s}/{n}" for c in FEW["only"] for s in FEW["severities"] for n in names}
    assert set(tree(tmp_path / "out")) == expected | {"scuff.json"}


@pytest.mark.parametrize("name", ["a.bmp", "cats/b.JPEG", "cats/old/c.png", "cats/grey.png"])
def test_pixels_are_those_of_corrupt_with_the_path_as_id(pictures, tmp_path, name):
    export(pictures, tmp_path / "out", "imagenet-c", seed=3, **FEW)
    clean = load(pictures / name)
    expected = scuff.corrupt(
        np.atleast_3d(np.asarray(clean))[None], "imagenet-c/gaussian_noise", 5, seed=3, ids=[scuff.image_id(name)]
    )[0]
    written = load((tmp_path / "out" / "gaussian_noise" / "5" / name).with_suffix(".png"))
    assert written.mode == clean.mode
    np.testing.assert_array_equal(np.atleast_3d(np.asarray(written)), expected)


def test_jpeg_files_have_gone_through_one_jpeg_of_quality_85(pictures, tmp_path):
    export(pictures, tmp_path / "out", "imagenet-c", save="jpeg", **FEW)
    clean = load(pictures / "cats" / "b.JPEG")
    options = {"ids": [scuff.image_id("cats/b.JPEG")]}
    corrupted = scuff.corrupt(np.asarray(clean)[None], "imagenet-c/gaussian_noise", 2, **options)[0]
    file = io.BytesIO()
    Image.fromarray(corrupted).save(file, "JPEG", quality=85, optimize=True)
    path = tmp_path / "out" / "gaussian_noise" / "2" / "cats" / "b.JPEG"  # the name stays
    assert path.read_bytes() == file.getvalue()
    published = scuff.corrupt(np.asarray(clean)[None], "imagenet-c/gaussian_noise", 2, as_published=True, **options)[0]
    np.testing.assert_array_equal(np.asarray(load(path)), published)
    assert (tmp_path / "out" / "contrast" / "2" / "a.jpg").exists()  # no JPEG under the name of another format
    assert load(tmp_path / "out" / "contrast" / "2" / "cats" / "grey.jpg").mode == "L"


def test_resize_then_crop(pictures, tmp_path):
    export(pictures, tmp_path / "out", "imagenet-c", resize=16, crop=12, **FEW)
    clean = load(pictures / "a.bmp").resize((20, 16), Image.Resampling.BILINEAR).crop((4, 2, 16, 14))
    expected = scuff.corrupt(np.asarray(clean)[None], "imagenet-c/contrast", 2)[0]
    np.testing.assert_array_equal(np.asarray(load(tmp_path / "out" / "contrast" / "2" / "a.png")), expected)
    assert load(tmp_path / "out" / "contrast" / "2" / "cats" / "old" / "c.png").size == (12, 12)


def test_palette_alpha_cmyk_become_rgb_and_orientation_is_applied(tmp_path):
    root = tmp_path / "in"
    root.mkdir()
    picture = make_picture(10, 14)
    picture.convert("P").save(root / "palette.png", transparency=b"\x00\x80")
    picture.convert("RGBA").save(root / "alpha.webp", lossless=True)
    picture.save(root / "scan.TIF")
    picture.convert("CMYK").save(root / "cmyk.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    picture.save(root / "turned.jpg", exif=exif)
    assert export(root, tmp_path / "out", "imagenet-c", **FEW).failures == {}
    for name in ("palette", "alpha", "cmyk", "scan", "turned"):
        written = load(tmp_path / "out" / "contrast" / "2" / f"{name}.png")
        assert written.mode == "RGB"
        assert written.size == ((10, 14) if name == "turned" else (14, 10))


def test_a_new_file_changes_no_other(pictures, tmp_path):
    export(pictures, tmp_path / "before", "imagenet-c", **FEW)
    make_picture(24, 30, 9).save(pictures / "0-first.png")
    export(pictures, tmp_path / "after", "imagenet-c", **FEW)
    before, after = tree(tmp_path / "before"), tree(tmp_path / "after")
    assert len(after) == len(before) + 4
    assert {name: after[name] for name in before} == before


def test_results_do_not_depend_on_the_number_of_workers(pictures, tmp_path):
    for number in range(10):  # more than one chunk
        make_picture(24, 30, number).save(pictures / f"extra{number}.png")
    options = {**FEW, "only": ["shot_noise", "fog"]}
    alone = export(pictures, tmp_path / "alone", "imagenet-c", **options)
    together = export(pictures, tmp_path / "together", "imagenet-c", **{**options, "engine": LocalEngine(2)})
    assert alone == together
    assert tree(tmp_path / "alone") == tree(tmp_path / "together")


def test_links_to_folders_are_followed_once(pictures, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    make_picture(9, 9).save(elsewhere / "far.png")
    (pictures / "linked").symlink_to(elsewhere)
    (pictures / "cats" / "loop").symlink_to(pictures)
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    assert (tmp_path / "out" / "contrast" / "2" / "linked" / "far.png").exists()
    assert not (tmp_path / "out" / "contrast" / "2" / "cats" / "loop").exists()


def test_files_that_cannot_be_read_do_not_stop_the_others(pictures, tmp_path):
    (pictures / "text.png").write_text("hello")
    whole = (pictures / "cats" / "b.JPEG").read_bytes()
    (pictures / "cut.jpg").write_bytes(whole[: len(whole) * 3 // 4])
    (pictures / "empty.png").touch()
    (pictures / "dangling.png").symlink_to(pictures / "gone")
    Image.fromarray(np.zeros((8, 8), np.float32)).save(pictures / "deep.tif")
    with pytest.raises(UnreadablePictures, match=r"5 of 9 pictures of .*cannot be read(?s:.*)text.png: not a picture"):
        export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    assert not (tmp_path / "out").exists()
    result = export(pictures, tmp_path / "out", "imagenet-c", **FEW, skip_unreadable=True)
    assert result.written == 16
    assert sorted(result.failures) == ["cut.jpg", "dangling.png", "deep.tif", "empty.png", "text.png"]
    assert result.failures["text.png"] == "not a picture"
    assert "truncated" in result.failures["cut.jpg"]
    assert result.failures["dangling.png"] == "No such file or directory"
    assert "8 bits" in result.failures["deep.tif"]
    assert json.loads((tmp_path / "out" / "scuff.json").read_text())["unreadable"] == result.failures
    again = export(pictures, tmp_path / "out", "imagenet-c", **FEW, skip_unreadable=True)
    assert (again.written, again.skipped, again.failures) == (0, 16, result.failures)


def test_what_was_left_out_is_made_once_it_can_be_read(pictures, tmp_path):
    (pictures / "late.png").write_text("hello")
    export(pictures, tmp_path / "out", "imagenet-c", **FEW, skip_unreadable=True)
    make_picture(9, 9).save(pictures / "late.png")
    assert export(pictures, tmp_path / "out", "imagenet-c", **FEW).written == 4
    export(pictures, tmp_path / "fresh", "imagenet-c", **FEW)
    assert tree(tmp_path / "out") == tree(tmp_path / "fresh")


def test_pictures_are_tried_only_if_something_is_left_to_do(pictures, tmp_path, monkeypatch):
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    monkeypatch.setattr("scuff.export.plan.find_unreadable", None)
    assert export(pictures, tmp_path / "out", "imagenet-c", **FEW).skipped == 16


def test_a_picture_smaller_than_the_crop_is_a_failure_of_that_picture(pictures, tmp_path):
    result = export(pictures, tmp_path / "out", "imagenet-c", crop=22, **FEW)
    assert list(result.failures) == ["cats/old/c.png"]  # 21 pixels wide
    assert "crop of 22" in result.failures["cats/old/c.png"]


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


# --- what is chosen -------------------------------------------------------------------------------------------------


def test_the_benchmark_is_the_default_and_validation_is_asked_for(pictures, tmp_path):
    suite = scuff.load_suite("imagenet-c")
    assert list(plan_export(pictures, tmp_path / "out", suite).levels) == suite.benchmark()
    assert list(plan_export(pictures, tmp_path / "out", suite, validation=True).levels) == list(suite.entries)
    assert list(plan_export(pictures, tmp_path / "out", suite, only=["spatter"]).levels) == ["spatter"]


def test_a_plan_counts_and_writes_nothing(pictures, tmp_path):
    plan = plan_export(pictures, tmp_path / "out", "imagenet-c", severities=[3, 1, 3])
    assert (plan.images, set(plan.levels.values()), plan.missing) == (4, {(1, 3)}, 4 * 15 * 2)
    assert not (tmp_path / "out").exists()


def test_progress_ends_at_the_total(pictures, tmp_path):
    seen = []
    export(pictures, tmp_path / "out", "imagenet-c", progress=lambda *numbers: seen.append(numbers), **FEW)
    assert seen[-1] == (16, 16)
    assert seen == sorted(seen)


# --- arrays ---------------------------------------------------------------------------------------------------------


def test_npy_is_the_layout_of_cifar10_c(arrays, tmp_path):
    result = export(arrays, tmp_path / "out", "cifar10-c", seed=2, **FEW)
    assert (result.written, result.skipped) == (4, 0)
    assert sorted(tree(tmp_path / "out")) == ["contrast.npy", "gaussian_noise.npy", "labels.npy", "scuff.json"]
    images = np.load(arrays)["images"]
    out = np.load(tmp_path / "out" / "gaussian_noise.npy")
    assert out.shape == (14, 12, 10, 3)
    for half, severity in ((out[:7], 2), (out[7:], 5)):
        np.testing.assert_array_equal(half, scuff.corrupt(images, "cifar10-c/gaussian_noise", severity, seed=2))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "labels.npy"), np.tile(np.arange(7) * 11, 2))


def test_npz_keeps_the_keys(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 9), dtype=np.uint8)
    np.savez_compressed(tmp_path / "grey.npz", x=images, y=np.array([5, 6, 7]))
    export(tmp_path / "grey.npz", tmp_path / "out", "cifar10-c", layout="npz", **FEW)
    with np.load(tmp_path / "out" / "contrast" / "5.npz") as file:
        assert sorted(file) == ["x", "y"]
        expected = scuff.corrupt(images[..., None], "cifar10-c/contrast", 5)[..., 0]
        np.testing.assert_array_equal(file["x"], expected)
        np.testing.assert_array_equal(file["y"], [5, 6, 7])
    assert not (tmp_path / "out" / ".parts").exists()


def test_a_bare_array_has_no_labels(tmp_path):
    np.save(tmp_path / "bare.npy", np.full((2, 6, 5, 1), 90, np.uint8))
    export(tmp_path / "bare.npy", tmp_path / "out", "cifar10-c", **FEW)
    assert np.load(tmp_path / "out" / "contrast.npy").shape == (4, 6, 5, 1)
    assert not (tmp_path / "out" / "labels.npy").exists()


def test_arrays_as_published_have_gone_through_a_jpeg(arrays, tmp_path):
    export(arrays, tmp_path / "out", "imagenet-c", save="jpeg", **FEW)
    expected = scuff.corrupt(np.load(arrays)["images"], "imagenet-c/contrast", 2, as_published=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "contrast.npy")[:7], expected)


@pytest.mark.parametrize("piece", [1, 800])
def test_array_results_do_not_depend_on_pieces(arrays, tmp_path, monkeypatch, piece):
    export(arrays, tmp_path / "whole", "cifar10-c", **FEW)
    monkeypatch.setattr("scuff.export.arrays.PIECE", piece)
    export(arrays, tmp_path / "pieces", "cifar10-c", **FEW)
    assert tree(tmp_path / "whole") == tree(tmp_path / "pieces")


@pytest.mark.parametrize("layout", ["npy", "npz"])
def test_an_interrupted_array_goes_on(arrays, tmp_path, layout):
    out, options = tmp_path / "out", {**FEW, "layout": layout}
    with pytest.raises(KeyboardInterrupt):
        export(arrays, out, "cifar10-c", progress=StopAfter(3), **options)
    (out / ".parts" / "contrast").mkdir(parents=True, exist_ok=True)
    (out / ".parts" / "contrast" / ".scuff-0123.tmp").write_bytes(b"of a run that was killed")
    result = export(arrays, out, "cifar10-c", **options)
    assert (result.written, result.skipped) == (1, 3)
    export(arrays, tmp_path / "fresh", "cifar10-c", **options)
    ours = {name: content for name, content in tree(out).items() if not name.endswith(".tmp")}
    assert ours == tree(tmp_path / "fresh")
    assert layout == "npz" or not (out / ".parts").exists()
    assert export(arrays, out, "cifar10-c", **options).skipped == 4


def test_an_array_does_not_depend_on_the_number_of_workers(arrays, tmp_path):
    options = {**FEW, "layout": "npz"}
    export(arrays, tmp_path / "alone", "cifar10-c", **options)
    export(arrays, tmp_path / "together", "cifar10-c", **{**options, "engine": LocalEngine(2)})
    assert tree(tmp_path / "alone") == tree(tmp_path / "together")


def test_severities_of_joined_files_must_stay(arrays, tmp_path):
    export(arrays, tmp_path / "out", "cifar10-c", **FEW)
    with pytest.raises(ValueError, match=r"severities was \[2, 5\], is now \[1\]"):
        export(arrays, tmp_path / "out", "cifar10-c", **{**FEW, "severities": [1]})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"pixels": np.zeros((2, 4, 4, 3), np.uint8)}, "found the keys pixels"),
        ({"images": np.zeros((2, 4, 4, 3), np.float32)}, "expected uint8"),
        ({"images": np.zeros((4, 4, 3), np.uint8)}, "expected images"),
        ({"images": np.zeros((2, 3, 4, 4), np.uint8)}, "expected images"),
        ({"images": np.zeros((0, 4, 4, 3), np.uint8)}, "no pixels"),
        ({"images": np.zeros((2, 4, 4, 3), np.uint8), "labels": np.arange(3)}, "2 images need as many labels"),
        ({"images": np.array([{}, {}])}, "allow_pickle"),
    ],
)
def test_impossible_arrays_are_refused(tmp_path, content, words):
    np.savez(tmp_path / "bad.npz", **content)
    with pytest.raises(ValueError, match=words):
        export(tmp_path / "bad.npz", tmp_path / "out", "cifar10-c", **FEW)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 half a zip"])
@pytest.mark.parametrize("name", ["bad.npz", "bad.npy"])
def test_broken_array_files_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"cannot read .*{name}"):
        export(tmp_path / name, tmp_path / "out", "cifar10-c", **FEW)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"resize": 8}, "for folders"), ({"crop": 8}, "for folders"), ({"layout": "folder"}, "layout npy or npz")],
)
def test_options_for_folders_are_refused_for_arrays(arrays, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        export(arrays, tmp_path / "out", "cifar10-c", **FEW, **options)
