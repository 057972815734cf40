"""Exports of labelled data and of trees of pictures: what is written, and what is chosen."""

import io
import json

import numpy as np
import pytest
from made_exports import FEW, load, make_picture, tree
from PIL import Image

import scuff
from scuff.engine import LocalEngine
from scuff.export import export, plan_export
from scuff.pictures import UnreadablePictures

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
