"""Sources: every address on files as their makers write them, and refusals of what is broken or dangerous."""

import gzip
import io
import json
import pickle
import struct
from typing import ClassVar

import datasets
import numpy as np
import pytest
import torch
from PIL import Image

import scuff
from scuff.data import ClassMap, CorruptedSource, Source, known_by_stems, open_source
from scuff.data.stored import StoredArray
from scuff.engine import LocalEngine
from scuff.export import export
from scuff.images import ImageError
from scuff.pictures import Cut

IMAGENET = ("n01440764", "n01443537", "n01484850")  # classes 0, 1, 2


def random_images(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def save_picture(path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def pixels_of(source: Source) -> np.ndarray:
    """All images, channels last."""
    return source.read(range(len(source))).permute(0, 2, 3, 1).numpy()


# --- fashion --------------------------------------------------------------------------------------------------------


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


# --- CIFAR-10 -------------------------------------------------------------------------------------------------------


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


# --- npz ------------------------------------------------------------------------------------------------------------


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


# --- folders --------------------------------------------------------------------------------------------------------


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


# --- Hugging Face ---------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    """A dataset on disk, with two splits."""
    pictures = [Image.fromarray(random_images(6, 8, 3, seed=k)) for k in range(5)]
    features = datasets.Features(
        {
            "picture": datasets.Image(),
            "note": datasets.Value("string"),
            "kind": datasets.ClassLabel(names=["ant", "bee"]),
        }
    )
    rows = {"picture": pictures, "note": list("abcde"), "kind": [0, 1, 1, 0, 1]}
    whole = datasets.Dataset.from_dict(rows, features)
    splits = datasets.DatasetDict({"test": whole, "validation": whole.select([3, 1])})
    datasets.disable_progress_bars()
    splits.save_to_disk(str(tmp_path / "saved"))
    return tmp_path / "saved"


def test_hugging_face_columns_are_found_by_type(saved):
    source = open_source(f"hf:{saved}")
    assert (source.labels.tolist(), source.class_names) == ([0, 1, 1, 0, 1], ("ant", "bee"))
    np.testing.assert_array_equal(pixels_of(source), [random_images(6, 8, 3, seed=k) for k in range(5)])
    assert source.ids.tolist() == [0, 1, 2, 3, 4]
    some = source.take([4, 1])
    np.testing.assert_array_equal(pixels_of(some)[0], random_images(6, 8, 3, seed=4))
    assert (some.labels.tolist(), some.ids.tolist()) == ([1, 1], [4, 1])
    assert some.fingerprint() != source.fingerprint()


def test_hugging_face_splits(saved):
    assert open_source(f"hf:{saved}", "validation").labels.tolist() == [0, 1]
    assert open_source(f"hf:{saved / 'validation'}").labels.tolist() == [0, 1]  # one of them, itself a saved dataset
    with pytest.raises(ValueError, match="no split 'train'; it has test, validation"):
        open_source(f"hf:{saved}", "train")


def test_hugging_face_without_classes_is_refused(saved, tmp_path):
    whole = datasets.load_from_disk(str(saved / "test"))
    whole.remove_columns("kind").save_to_disk(str(tmp_path / "other"))
    with pytest.raises(ValueError, match=r"one column of classes .*found 0 among picture \(Image\), note \(Value\)"):
        open_source(f"hf:{tmp_path / 'other'}")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"cannot read .*empty as a saved dataset"):
        open_source(f"hf:{tmp_path / 'empty'}")


# --- published corrupted benchmarks -----------------------------------------------------------------------------------


def write_cifar_c(folder, entries, count: int, levels: int = 5) -> None:
    folder.mkdir()
    for k, entry in enumerate(entries):
        np.save(folder / f"{entry}.npy", random_images(levels * count, 32, 32, 3, seed=k))
    np.save(folder / "labels.npy", np.tile(np.arange(count) % 10, levels))


@pytest.mark.parametrize(
    ("suite", "entries"), [("cifar10-c", ["fog", "jpeg_compression"]), ("cifar10-c-bar", ["sparkles", "lines"])]
)
def test_arrays_as_cifar10_c_was_published(tmp_path, suite, entries):
    write_cifar_c(tmp_path / "c", entries, 12)
    source = open_source(f"{suite}:{tmp_path / 'c'}")
    assert isinstance(source, CorruptedSource)
    assert (source.suite, source.entries) == (suite, dict.fromkeys(entries, (1, 2, 3, 4, 5)))
    content = np.load(tmp_path / "c" / f"{entries[1]}.npy")
    for severity in (1, 4, 5):
        cell = source.cell(entries[1], severity)
        np.testing.assert_array_equal(pixels_of(cell), content[12 * (severity - 1) : 12 * severity])
        assert isinstance(cell.images.array, np.memmap)
        assert cell.labels.tolist() == (np.arange(12) % 10).tolist()
        assert cell.ids.tolist() == list(range(12))
        assert cell.class_names[9] == "truck"


def test_what_corrupt_writes_can_be_opened(tmp_path):
    images = random_images(6, 32, 32, 3)
    np.savez(tmp_path / "clean.npz", images=images, labels=np.arange(6))
    options = {"only": ["contrast"], "engine": LocalEngine(1)}
    export(tmp_path / "clean.npz", tmp_path / "out", "cifar10-c", severities=[2, 5], **options)
    source = open_source(f"cifar10-c:{tmp_path / 'out'}")
    assert source.entries == {"contrast": (2, 5)}
    expected = scuff.corrupt(images, "cifar10-c/contrast", 5)
    np.testing.assert_array_equal(pixels_of(source.cell("contrast", 5)), expected)

    save_picture(tmp_path / "clean" / IMAGENET[1] / "a.png", random_images(224, 224, 3))
    export(tmp_path / "clean", tmp_path / "tree", "imagenet-c", severities=[3], **options)
    cell = open_source(f"imagenet-c:{tmp_path / 'tree'}").cell("contrast", 3)
    clean = open_source(f"folder:{tmp_path / 'clean'}")
    assert cell.ids.tolist() == known_by_stems(clean).ids.tolist()
    expected = scuff.corrupt(random_images(224, 224, 3)[None], "imagenet-c/contrast", 3)
    np.testing.assert_array_equal(pixels_of(cell), expected)

    export(tmp_path / "clean", tmp_path / "levelless", "imagenet-noc", only=["border"], engine=LocalEngine(1))
    source = open_source(f"imagenet-noc:{tmp_path / 'levelless'}")
    assert source.entries == {"border": (None,)}
    assert source.cell("border").labels.tolist() == [1]


@pytest.mark.parametrize("group", ["", "weather"])
def test_trees_as_imagenet_c_was_published(tmp_path, group):
    for severity in range(1, 6):
        for k, name in enumerate([f"{IMAGENET[2]}/x.png", f"{IMAGENET[0]}/y.png"]):
            save_picture(
                tmp_path / group / "fog" / str(severity) / name, random_images(226, 224, 3, seed=10 * severity + k)
            )
    source = open_source(f"imagenet-c:{tmp_path}")
    assert source.entries == {"fog": (1, 2, 3, 4, 5)}
    cell = source.cell("fog", 4)
    assert cell.cut == Cut(None, 224)
    assert cell.labels.tolist() == [0, 2]
    assert cell.ids.tolist() == [scuff.image_id(f"{IMAGENET[0]}/y"), scuff.image_id(f"{IMAGENET[2]}/x")]  # no suffix
    np.testing.assert_array_equal(pixels_of(cell)[1], random_images(226, 224, 3, seed=40)[1:225])
    other = source.cell("fog", 1)
    np.testing.assert_array_equal(pixels_of(other)[1], random_images(226, 224, 3, seed=10)[1:225])
    assert source.cell("fog", 4) is cell


def test_tiny_imagenet_c_numbers_its_own_classes(tmp_path):
    for name in (IMAGENET[2], IMAGENET[1]):
        save_picture(tmp_path / "snow" / "1" / name / "images" / "a.png", random_images(64, 64, 3))
    cell = open_source(f"tiny-imagenet-c:{tmp_path}").cell("snow", 1)
    assert (cell.labels.tolist(), cell.class_names, cell.cut) == ([0, 1], IMAGENET[1:], None)


def test_c_bar_may_be_named_by_its_amounts(tmp_path):
    for amount in ("4.60", "5.80"):  # as the authors' program writes: levels 1 and 3
        save_picture(tmp_path / "perlin_noise" / amount / IMAGENET[0] / "a.png", random_images(224, 224, 3))
    assert open_source(f"imagenet-c-bar:{tmp_path}").entries == {"perlin_noise": (1, 3)}


def test_cells_of_different_pictures_are_refused(tmp_path):
    for severity, name in ((1, "a"), (2, "a"), (2, "b")):
        save_picture(tmp_path / "fog" / str(severity) / IMAGENET[0] / f"{name}.png", random_images(8, 8, 3))
    source = open_source(f"imagenet-c:{tmp_path}")
    source.cell("fog", 1)
    with pytest.raises(ValueError, match=r"differ in 1 pictures \(n01440764/b\.png"):
        source.cell("fog", 2)


def test_impossible_cells_are_refused(tmp_path):
    write_cifar_c(tmp_path / "c", ["fog"], 4)
    source = open_source(f"cifar10-c:{tmp_path / 'c'}")
    with pytest.raises(KeyError, match="holds no snow; it holds fog"):
        source.cell("snow", 1)
    with pytest.raises(ValueError, match="holds fog at severity 1, 2, 3, 4, 5, not 6"):
        source.cell("fog", 6)


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("labels.npy", np.arange(19), "20 images need as many labels"),
        ("labels.npy", np.arange(20), "does not repeat for each of 5 severities"),
        ("fog.npy", random_images(19, 32, 32, 3), "19 images are not 5 severities of as many"),
        ("fog.npy", np.zeros((20, 32, 32, 3)), "expected uint8 pixels"),
    ],
)
def test_impossible_published_arrays_are_refused(tmp_path, file, content, words):
    write_cifar_c(tmp_path / "c", ["fog"], 4)
    np.save(tmp_path / "c" / file, content)
    with pytest.raises(ValueError, match=words):
        open_source(f"cifar10-c:{tmp_path / 'c'}")


def test_a_truncated_published_array_is_refused(tmp_path):
    write_cifar_c(tmp_path / "c", ["fog"], 4)
    file = tmp_path / "c" / "fog.npy"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"cannot read .*fog\.npy as arrays"):
        open_source(f"cifar10-c:{tmp_path / 'c'}")


def test_folders_without_a_corruption_are_refused(tmp_path):
    (tmp_path / "foggy").mkdir()
    with pytest.raises(ValueError, match=r"holds no corruption of imagenet-c; .* found foggy"):
        open_source(f"imagenet-c:{tmp_path}")
    np.save(tmp_path / "labels.npy", np.arange(3))
    with pytest.raises(ValueError, match=r"expected gaussian_noise\.npy"):
        open_source(f"cifar10-c:{tmp_path}")
    with pytest.raises(ValueError, match="suite of sequences"):
        open_source(f"imagenet-p:{tmp_path}")


# --- addresses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("cifar-10:data", r"did you mean cifar10:DIR, .*The forms are fashion, fashion-mnist:DIR"),
        ("imagnet-c:data", "did you mean imagenet-c:DIR"),
        ("whatever", r"no source is addressed by 'whatever'; The forms are"),
        ("cifar10", "cifar10 needs a place: cifar10:DIR"),
        ("npz:", "npz needs a place: npz:FILE"),
        ("fashion:data", "did you mean fashion-mnist:DIR"),
        ("folder:gone", "no file or folder gone"),
        (".", r"before its place, as in folder:\."),
    ],
)
def test_impossible_addresses_are_refused(address, words):
    with pytest.raises(ValueError, match=words):
        open_source(address)


@pytest.mark.parametrize("form", ["folder", "cifar10", "fashion-mnist", "cifar10.1", "imagenet-a", "objectnet", "hf"])
def test_empty_folders_are_refused(tmp_path, form):
    with pytest.raises(ValueError, match=str(tmp_path)):
        open_source(f"{form}:{tmp_path}")


def test_impossible_splits_are_refused(tmp_path):
    with pytest.raises(ValueError, match="splits train and test, got 'val'"):
        open_source("fashion", "val")
    with pytest.raises(ValueError, match="folder has no splits, got 'train'"):
        open_source(f"folder:{tmp_path}", "train")


# --- parts and fingerprints -------------------------------------------------------------------------------------------


def test_take_keeps_labels_ids_and_pixels_together():
    source = open_source("fashion")
    some = source.take([7, 4000, 7])
    assert torch.equal(some.read([0, 1, 2]), source.read([7, 4000, 7]))
    assert some.ids.tolist() == [7, 4000, 7]
    assert some.labels.tolist() == source.labels[[7, 4000, 7]].tolist()
    assert source.take(range(10, 20)).images.array.base is not None  # neighbours are not copied
    assert source.take(np.array([-1])).ids.tolist() == [4999]
    assert len(source.take([])) == 0


def test_a_fingerprint_tells_pixels_labels_and_classes_apart(tmp_path):
    def fingerprint(images, labels):
        np.savez(tmp_path / "a.npz", x=images, y=labels)
        return open_source(f"npz:{tmp_path / 'a.npz'}").fingerprint()

    images, labels = random_images(5, 8, 8, 3), np.array([0, 1, 2, 1, 0])
    other = images.copy()
    other[4, 7, 7, 2] ^= 1
    prints = [fingerprint(*data) for data in ((images, labels), (other, labels), (images, labels[::-1] + 1))]
    prints.append(fingerprint(images[:4], labels[:4]))
    prints.append(fingerprint(images.reshape(5, 4, 16, 3), labels))
    assert len(set(prints)) == 5
    assert fingerprint(images, labels) == prints[0]


def test_a_fingerprint_of_pictures_tells_names_and_sizes_apart(tmp_path):
    save_picture(tmp_path / "a" / "x.png", random_images(8, 8, 3))
    first = open_source(f"folder:{tmp_path}").fingerprint()
    assert open_source(f"folder:{tmp_path}").fingerprint() == first
    with open(tmp_path / "a" / "x.png", "ab") as file:
        file.write(b"more")
    second = open_source(f"folder:{tmp_path}").fingerprint()
    (tmp_path / "a" / "x.png").rename(tmp_path / "a" / "y.png")
    assert len({first, second, open_source(f"folder:{tmp_path}").fingerprint()}) == 3


def test_a_corrupted_source_is_known_by_what_its_cells_share(tmp_path):
    write_cifar_c(tmp_path / "c", ["fog"], 4)
    before = open_source(f"cifar10-c:{tmp_path / 'c'}").fingerprint()
    np.save(tmp_path / "c" / "brightness.npy", random_images(20, 32, 32, 3))
    assert open_source(f"cifar10-c:{tmp_path / 'c'}").fingerprint() == before
    np.save(tmp_path / "c" / "labels.npy", np.tile([1, 2, 3, 4], 5))
    assert open_source(f"cifar10-c:{tmp_path / 'c'}").fingerprint() != before


def test_arrays_are_not_cut():
    with pytest.raises(ValueError, match="fashion is an array"):
        open_source("fashion").read([0], Cut(None, 8))


def test_a_class_map_pairs_outputs_with_classes():
    with pytest.raises(ValueError, match="2 outputs need as many classes, got 1"):
        ClassMap((3, 4), (0,))


def test_labels_of_a_json_file_are_numbers_or_names(tmp_path):
    save_picture(tmp_path / "a.png", random_images(4, 4, 3))
    (tmp_path / "labels.json").write_text(json.dumps({"a.png": 1.5}))
    with pytest.raises(ValueError, match="class index"):
        open_source(f"folder:{tmp_path}")


def test_images_that_are_mapped_from_a_file_are_not_sent_to_other_processes_but_mapped_again(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (100, 4, 4, 3), np.uint8)
    np.save(tmp_path / "images.npy", images)
    mapped = StoredArray(np.load(tmp_path / "images.npy", mmap_mode="r"))
    some = mapped.take(np.arange(30, 70)).take(np.arange(5, 20))
    sent = pickle.dumps(some)
    assert len(sent) < 500
    again = pickle.loads(sent)
    assert again.is_mapped
    assert np.array_equal(again.array, images[35:50])
    scattered = pickle.loads(pickle.dumps(StoredArray(mapped.array[:, :2])))  # not all of a stretch: sent as they are
    assert np.array_equal(scattered.array, images[:, :2])
