"""Fashion-MNIST: the embedded images, and the files of the whole of it."""

import gzip
import struct

import numpy as np
import pytest
from made_sources import pixels_of, random_images

from scuff.data import open_source


@pytest.mark.parametrize(("split", "each"), [("train", 1000), ("test", 500)])
def test_the_embedded_images_are_balanced(split, each):
    source = open_source("fashion", split)
    assert np.bincount(source.labels).tolist() == [each] * 10
    assert len(source.class_names) == 10
    assert source.classes is None
    assert source.read([3, 0]).shape == (2, 1, 28, 28)
    np.testing.assert_array_equal(source.ids, np.arange(10 * each))


def test_the_embedded_images_are_not_all_alike():
    pixels = pixels_of(open_source("fashion"))
    assert len(np.unique(pixels.reshape(len(pixels), -1), axis=0)) > 4990
    # Bags fill most of the frame, sandals little of it: labels that were shuffled would not show it.
    means = [pixels[open_source("fashion").labels == c].mean() for c in range(10)]
    assert means[8] > 2 * means[5]


def idx_bytes(array: np.ndarray) -> bytes:
    """As yann.lecun.com describes the format."""
    return bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.mark.parametrize("packed", [True, False])
def test_fashion_mnist_reads_idx_files(tmp_path, packed):
    images, labels = random_images(7, 28, 28), np.arange(7, dtype=np.uint8)
    for name, array in (("t10k-images-idx3-ubyte", images), ("t10k-labels-idx1-ubyte", labels)):
        content = idx_bytes(array)
        (tmp_path / f"{name}{'.gz' if packed else ''}").write_bytes(gzip.compress(content) if packed else content)
    source = open_source(f"fashion-mnist:{tmp_path}")
    np.testing.assert_array_equal(pixels_of(source)[..., 0], images)
    np.testing.assert_array_equal(source.labels, labels)
    with pytest.raises(ValueError, match="neither train-images-idx3-ubyte"):
        open_source(f"fashion-mnist:{tmp_path}", "train")


@pytest.mark.parametrize(
    ("images", "labels", "words"),
    [
        (idx_bytes(random_images(7, 28, 28))[:-1], idx_bytes(np.zeros(7, np.uint8)), "should hold 7 x 28 x 28 bytes"),
        (idx_bytes(random_images(7, 28, 28)), idx_bytes(np.zeros(6, np.uint8)), "7 images need as many labels, got 6"),
        (idx_bytes(np.zeros(7, np.uint8)), idx_bytes(np.zeros(7, np.uint8)), "no idx file of bytes in 3 dimensions"),
        (b"\0\0\x08\x03\0", idx_bytes(np.zeros(7, np.uint8)), "no idx file"),
        (idx_bytes(random_images(7, 28, 28)), idx_bytes(np.full(7, 10, np.uint8)), "labels 0 to 9, got 10"),
    ],
)
def test_broken_idx_files_are_refused(tmp_path, images, labels, words):
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(images)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(labels)
    with pytest.raises(ValueError, match=words):
        open_source(f"fashion-mnist:{tmp_path}")


def test_a_truncated_gzip_is_refused(tmp_path):
    content = gzip.compress(idx_bytes(random_images(7, 28, 28)))
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(content[:-20])
    with pytest.raises(ValueError, match=r"cannot unpack .*ubyte\.gz"):
        open_source(f"fashion-mnist:{tmp_path}")
