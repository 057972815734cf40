"""Folders of pictures: numbers of classes, files of labels, broken pictures."""

import numpy as np
import pytest
from made_sources import IMAGENET, pixels_of, random_images, save_picture

import scuff
from scuff.data import open_source
from scuff.images import ImageError
from scuff.pictures import Cut


def test_a_folder_per_class_is_numbered_by_sorted_names(tmp_path):
    for k, name in enumerate(["dog/b.png", "cat/a.png", "dog/old/c.png", "emu/d.png"]):
        save_picture(tmp_path / "pets" / name, random_images(6, 8, 3, seed=k))
    source = open_source(f"folder:{tmp_path / 'pets'}")
    names = ["cat/a.png", "dog/b.png", "dog/old/c.png", "emu/d.png"]
    assert (source.name, source.class_names, source.labels.tolist()) == ("pets", ("cat", "dog", "emu"), [0, 1, 1, 2])
    assert source.ids.tolist() == [scuff.image_id(name) for name in names]  # those that `scuff corrupt` uses
    assert [source.image_name(k) for k in range(4)] == [str(tmp_path / "pets" / name) for name in names]
    np.testing.assert_array_equal(pixels_of(source)[1], random_images(6, 8, 3, seed=0))


def test_wordnet_ids_have_the_numbers_of_imagenet(tmp_path):
    for name in (IMAGENET[2], IMAGENET[0], "n15075141"):
        save_picture(tmp_path / name / "a.png", random_images(4, 4, 3))
    source = open_source(f"folder:{tmp_path}")
    assert source.labels.tolist() == [0, 2, 999]
    assert len(source.class_names) == 1000
    save_picture(tmp_path / "n00000000" / "a.png", random_images(4, 4, 3))  # no class of ImageNet: all count from 0
    assert open_source(f"folder:{tmp_path}").labels.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("labels.json", '{"a.png": 7, "sub/b.png": 2}'),
        ("labels.csv", "file,label\na.png,7\nsub/b.png,2\n"),
        ("labels.csv", "\ufeffsub/b.png, 2\r\na.png, 7\r\n"),
    ],
)
def test_a_file_of_labels_decides(tmp_path, file, content):
    save_picture(tmp_path / "a.png", random_images(4, 4, 3))
    save_picture(tmp_path / "sub" / "b.png", random_images(4, 4, 3))
    (tmp_path / file).write_text(content)
    source = open_source(f"folder:{tmp_path}")
    assert (source.labels.tolist(), len(source.class_names)) == ([7, 2], 8)


def test_a_file_of_labels_may_name_classes(tmp_path):
    for name in "ab":
        save_picture(tmp_path / f"{name}.png", random_images(4, 4, 3))
    (tmp_path / "labels.csv").write_text(f"a.png,{IMAGENET[2]}\nb.png,{IMAGENET[1]}\n")
    assert open_source(f"folder:{tmp_path}").labels.tolist() == [2, 1]
    (tmp_path / "labels.csv").write_text("a.png,zebra\nb.png,ant\n")
    source = open_source(f"folder:{tmp_path}")
    assert (source.labels.tolist(), source.class_names) == ([1, 0], ("ant", "zebra"))


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("labels.json", '{"a.png": 7}', r"no label for 1 of 2 pictures: b\.png"),
        ("labels.json", '{"a.png": 7, "b.png": 1, "c.png": 1}', r"names 1 pictures that are not there: c\.png"),
        ("labels.json", "[7, 7]", "expected"),
        ("labels.json", "{", "not readable as JSON"),
        ("labels.csv", "a.png,7,8\n", "of the form file,label, got 'a.png,7,8'"),
        ("notes.txt", "", r"2 pictures outside of class folders \(a\.png, \.\.\.\)"),
    ],
)
def test_folders_without_labels_are_refused(tmp_path, file, content, words):
    for name in "ab":
        save_picture(tmp_path / f"{name}.png", random_images(4, 4, 3))
    (tmp_path / file).write_text(content)
    with pytest.raises(ValueError, match=words):
        open_source(f"folder:{tmp_path}")


def test_grey_pictures_become_rgb_and_the_cut_applies(tmp_path):
    save_picture(tmp_path / "a" / "grey.png", random_images(30, 40))
    source = open_source(f"folder:{tmp_path}")
    x = source.read([0], Cut(None, 10))
    assert x.shape == (1, 3, 10, 10)
    np.testing.assert_array_equal(x[0], np.stack([random_images(30, 40)[10:20, 15:25]] * 3))


def test_a_broken_picture_is_named(tmp_path):
    save_picture(tmp_path / "a" / "good.png", random_images(8, 8, 3))
    (tmp_path / "a" / "bad.png").write_bytes(b"no picture")
    source = open_source(f"folder:{tmp_path}")
    with pytest.raises(ImageError, match=r"bad\.png: not a picture; replace the file, or take it out"):
        source.read([0])
    with pytest.raises(ImageError, match=r"good\.png: 8 x 8 pixels are too few for a crop of 9"):
        source.read([1], Cut(None, 9))
