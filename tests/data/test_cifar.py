"""CIFAR-10 and CIFAR-10.1 as their makers write them, and refusals of what is broken or dangerous."""

import io
import pickle
import struct
from typing import ClassVar

import numpy as np
import pytest
import torch
from made_sources import pixels_of, random_images

from scuff.data import open_source


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 wrote its texts, of which the published files consist."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_bytes(self, content: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(content)

    dispatch[bytes] = save_bytes


def write_batch(path, data: np.ndarray, labels: list[int], pickler=Python2Pickler) -> None:
    file = io.BytesIO()
    batch = {b"batch_label": b"a batch", b"labels": labels, b"data": data, b"filenames": [b"x.png"] * len(labels)}
    pickler(file, protocol=2).dump(batch)
    path.write_bytes(file.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"))


@pytest.fixture
def cifar(tmp_path):
    """A small CIFAR-10 in its folder: four images in each of the six batches."""
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for k, name in enumerate([*(f"data_batch_{k}" for k in range(1, 6)), "test_batch"]):
        write_batch(folder / name, random_images(4, 3072, seed=k), [k, 9, 0, 1])
    return tmp_path


@pytest.mark.parametrize("below", ["", "cifar-10-batches-py"])
def test_cifar10_reads_the_batches_of_the_python_version(cifar, below):
    test = open_source(f"cifar10:{cifar / below}")
    planes = random_images(4, 3072, seed=5).reshape(4, 3, 32, 32)
    np.testing.assert_array_equal(test.read(range(4)), planes)
    assert test.labels.tolist() == [5, 9, 0, 1]
    assert test.class_names[3] == "cat"
    train = open_source(f"cifar10:{cifar / below}", "train")
    assert len(train) == 20
    assert train.labels[::4].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(train.read([19])[0], random_images(4, 3072, seed=4).reshape(4, 3, 32, 32)[3])


def test_cifar10_reads_batches_that_python_3_wrote(cifar):
    write_batch(cifar / "cifar-10-batches-py" / "test_batch", random_images(2, 3072), [1, 2], pickle._Pickler)
    np.testing.assert_array_equal(open_source(f"cifar10:{cifar}").read([1])[0].flatten(), random_images(2, 3072)[1])


def test_pickles_and_npz_of_the_same_images_are_the_same_source(cifar, tmp_path):
    pickled = open_source(f"cifar10:{cifar}")
    arrays = {"x_test": pixels_of(pickled), "y_test": pickled.labels[:, None]}  # labels as Keras has them
    np.savez(tmp_path / "c.npz", **arrays)
    npz = open_source(f"cifar10:{tmp_path / 'c.npz'}")
    assert npz.fingerprint() == pickled.fingerprint()
    assert torch.equal(npz.read(range(4)), pickled.read(range(4)))
    (tmp_path / "folder").mkdir()
    (tmp_path / "c.npz").rename(tmp_path / "folder" / "c.npz")
    assert len(open_source(f"cifar10:{tmp_path / 'folder'}")) == 4
    with pytest.raises(ValueError, match="expected x_train and y_train, found the keys x_test, y_test"):
        open_source(f"cifar10:{tmp_path / 'folder'}", "train")


class Malicious:
    """A pickle that writes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_that_runs_code_is_refused_without_running_it(cifar, tmp_path):
    file = cifar / "cifar-10-batches-py" / "test_batch"
    file.write_bytes(pickle.dumps({b"data": Malicious(tmp_path / "harm"), b"labels": [1]}, protocol=2))
    with pytest.raises(ValueError, match=r"test_batch.*asks for (io|_io|builtins|__builtin__)\.open"):
        open_source(f"cifar10:{cifar}")
    assert not (tmp_path / "harm").exists()
    pickle.loads(file.read_bytes())[b"data"].close()
    assert (tmp_path / "harm").exists()  # it would have


@pytest.mark.parametrize(
    ("data", "labels", "words"),
    [
        (random_images(3, 3072), [1, 2], "3 images need as many labels"),
        (random_images(3, 3071), [1, 2, 3], r"expected data of \(N, 3072\) bytes"),
        (np.zeros((3, 3072), np.float32), [1, 2, 3], r"expected data of \(N, 3072\) bytes"),
        (random_images(3, 3072), [1, 2, 10], "labels 0 to 9, got 10"),
        (random_images(3, 3072), [1, 2, -1], "counted from 0, got -1"),
    ],
)
def test_impossible_batches_are_refused(cifar, data, labels, words):
    write_batch(cifar / "cifar-10-batches-py" / "test_batch", data, labels)
    with pytest.raises(ValueError, match=words):
        open_source(f"cifar10:{cifar}")


@pytest.mark.parametrize("length", [0, 1, 100, 5000])
def test_truncated_batches_are_refused(cifar, length):
    file = cifar / "cifar-10-batches-py" / "test_batch"
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"cannot read .*test_batch as a batch of CIFAR-10"):
        open_source(f"cifar10:{cifar}")


def test_cifar10_1_is_version_6_unless_a_file_is_named(tmp_path):
    for version, count in (("v4", 5), ("v6", 3)):
        np.save(tmp_path / f"cifar10.1_{version}_data.npy", random_images(count, 32, 32, 3))
        np.save(tmp_path / f"cifar10.1_{version}_labels.npy", np.arange(count))
    assert len(open_source(f"cifar10.1:{tmp_path}")) == 3
    source = open_source(f"cifar10.1:{tmp_path / 'cifar10.1_v4_data.npy'}")
    np.testing.assert_array_equal(pixels_of(source), random_images(5, 32, 32, 3))
    assert (source.labels.tolist(), source.class_names[0]) == ([0, 1, 2, 3, 4], "airplane")
    (tmp_path / "cifar10.1_v6_data.npy").unlink()
    with pytest.raises(ValueError, match=r"no .*v6_data\.npy; for version 4"):
        open_source(f"cifar10.1:{tmp_path}")
