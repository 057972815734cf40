"""Arrays with labels in one npz."""

import numpy as np
import pytest
from made_sources import pixels_of, random_images

from scuff.data import open_source


@pytest.mark.parametrize(("images_key", "labels_key"), [("images", "labels"), ("x", "y"), ("data", "labels")])
def test_npz(tmp_path, images_key, labels_key):
    images = random_images(4, 6, 5, 3)
    np.savez_compressed(tmp_path / "mine.npz", **{images_key: images, labels_key: np.array([2, 0, 1, 2], np.uint8)})
    source = open_source(f"npz:{tmp_path / 'mine.npz'}")
    np.testing.assert_array_equal(pixels_of(source), images)
    assert (source.name, source.labels.tolist(), source.class_names) == ("mine", [2, 0, 1, 2], ("0", "1", "2"))
    assert source.labels.dtype == source.ids.dtype == np.int64


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"x": random_images(2, 4, 4, 3)}, "has no labels; expected them under labels or y"),
        ({"x": random_images(2, 4, 4, 3), "y": np.arange(3)}, "2 images need as many labels"),
        ({"x": random_images(2, 4, 4, 3), "y": np.array([0.5, 1])}, "whole numbers, got float64"),
        ({"x": random_images(2, 4, 4, 3), "y": np.eye(2, dtype=int)}, "one label per image, got 2"),
        ({"x": np.zeros((2, 4, 4, 3)), "y": np.arange(2)}, "expected uint8 pixels, got float64"),
    ],
)
def test_impossible_npz_are_refused(tmp_path, content, words):
    np.savez(tmp_path / "bad.npz", **content)
    with pytest.raises(ValueError, match=words):
        open_source(f"npz:{tmp_path / 'bad.npz'}")


def test_a_damaged_npz_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=random_images(9, 9, 9, 3), y=np.arange(9))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    (tmp_path / "a.npz").write_bytes(content[:-30])
    with pytest.raises(ValueError, match=r"cannot read .*a\.npz as arrays"):
        open_source(f"npz:{tmp_path / 'a.npz'}")
    content[200:240] = bytes(40)  # whole, but for some bytes of the compressed pixels
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot read .*a\.npz as arrays"):
        open_source(f"npz:{tmp_path / 'a.npz'}")
