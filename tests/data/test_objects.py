"""Data that are Python objects: torch Datasets and DataLoaders, pairs, and functions that make them."""

import sys

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, TensorDataset

import scuff
from scuff.data import array_source, open_points, open_source
from scuff.data.open import has_splits

PIXELS = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 3), np.uint8)
LABELS = np.arange(10) % 4


class Pictures(Dataset):
    """A dataset as torchvision's are: images, labels, names of classes."""

    classes = ("cat", "dog", "owl", "fox")

    def __init__(self, form=Image.fromarray, label=int, count=10):
        self.form, self.label, self.count = form, label, count

    def __len__(self):
        return self.count

    def __getitem__(self, k):
        if not 0 <= k < 10:
            raise IndexError(k)
        return self.form(PIXELS[k]), self.label(LABELS[k])


class Stream(IterableDataset):
    def __iter__(self):
        return iter(Pictures(as_unit))


class StreamOfKnownLength(Stream):
    def __len__(self):
        return 10


def as_chw(pixels):
    return torch.from_numpy(pixels).permute(2, 0, 1)


def as_unit(pixels):
    return as_chw(pixels) / 255


def batch(pairs):
    return [image for image, _ in pairs], [label for _, label in pairs]


SAME = {
    "PIL": Pictures(),
    "uint8 tensors": Pictures(as_chw),
    "float tensors": Pictures(as_unit),
    "arrays": Pictures(np.array),
    "double arrays": Pictures(lambda pixels: pixels / 255),
    "tensor labels": Pictures(label=lambda label: torch.tensor(int(label))),
    "numpy labels": Pictures(label=np.int64),
    "subset": Subset(Pictures(), range(10)),
    "a list": [(Image.fromarray(p), int(label)) for p, label in zip(PIXELS, LABELS, strict=True)],
    "TensorDataset": TensorDataset(torch.stack([as_chw(p) for p in PIXELS]), torch.tensor(LABELS)),
    "loader": DataLoader(Pictures(as_unit), batch_size=4),
    "loader of its own batches": DataLoader(Pictures(), batch_size=3, collate_fn=batch),
    "loader without batches": DataLoader(Pictures(as_unit), batch_size=None),
    "stream with a length": StreamOfKnownLength(),
    "loader of a stream": DataLoader(StreamOfKnownLength(), batch_size=4),
    "pair of arrays": (PIXELS, LABELS),
    "pair of lists": (list(PIXELS), list(LABELS)),
    "pair of tensors": (torch.stack([as_unit(p) for p in PIXELS]), torch.tensor(LABELS)),
}


@pytest.mark.parametrize("data", SAME.values(), ids=SAME)
def test_every_kind_of_object_has_the_same_images_labels_and_ids(data):
    source = open_source(data)
    expected = array_source("arrays", PIXELS, LABELS)
    assert source.fingerprint() == expected.fingerprint()
    assert torch.equal(source.read(range(10)), expected.read(range(10)))
    assert source.ids.tolist() == list(range(10))


def test_names_of_classes_and_of_the_source_are_those_of_the_dataset():
    source = open_source(Pictures())
    assert (source.name, source.class_names) == ("Pictures", ("cat", "dog", "owl", "fox"))
    assert open_source(DataLoader(Pictures(as_unit))).name == "Pictures"
    assert open_source((PIXELS, LABELS)).class_names == ("0", "1", "2", "3")


def test_grey_pairs():
    for grey in (PIXELS[..., 0], torch.from_numpy(PIXELS[..., 0])):
        assert open_source((grey, LABELS)).read([3]).shape == (1, 1, 8, 8)


def test_a_single_wrong_pixel_changes_the_fingerprint():
    other = PIXELS.copy()
    other[7, 0, 0, 0] ^= 1
    assert open_source((other, LABELS)).fingerprint() != open_source((PIXELS, LABELS)).fingerprint()


def normalised(pixels):
    return (as_unit(pixels) - 0.5) / 0.25


def of_many_sizes(pixels):
    return Image.fromarray(pixels).resize((8, 8 + int(pixels[0, 0, 0]) % 2))


def noisy(pixels):
    return as_unit(pixels) * torch.rand(())


REFUSED = {
    "normalised": (Pictures(normalised), r"Pictures: image 0: expected float pixels in \[0, 1\].*normalisation"),
    "sizes": (Pictures(of_many_sizes), "images must have one size, .*; resize and crop them in the dataset"),
    "random": (Pictures(noisy), "another image 0 every time; take random augmentation out"),
    "random in a loader": (DataLoader(Pictures(noisy)), "another image 0 every time"),
    "shuffled": (DataLoader(Pictures(as_unit), shuffle=True), "shuffles, but an image is known by its position"),
    "dropped": (DataLoader(Pictures(as_unit), batch_size=4, drop_last=True), "drops its last batch"),
    "endless": (Stream(), "Stream has no length"),
    "endless loader": (DataLoader(Stream()), "Stream has no length"),
    "empty": ([], "list has no images"),
    "one-hot": (Pictures(label=lambda label: np.eye(4, dtype=int)[label]), "expected one label per image, got 4"),
    "words": (Pictures(label=lambda label: "cat"), "labels must be whole numbers"),
    "fractions": (Pictures(label=float), "labels must be whole numbers"),
    "no labels": ([Image.fromarray(p) for p in PIXELS], r"expected \(image, label\) at 0, got Image"),
    "RGBA": (Pictures(lambda p: Image.fromarray(p).convert("RGBA")), "image 0: .* got RGBA; call image.convert"),
    "channels first": (Pictures(lambda p: p.transpose(2, 0, 1)), "move the channels last"),
    "three": ((PIXELS, LABELS, LABELS), r"expected a pair \(images, labels\), got 3"),
    "unequal": ((PIXELS, LABELS[:9]), "and a label each"),
    "broken": (Pictures(count=12), r"Pictures: image 10 cannot be read: IndexError: 10"),
    "a number": (3, "data must be an address, .* got int; a torch Dataset or DataLoader"),
    "a mapping": ({"x": PIXELS, "y": LABELS}, "dict: image 0 cannot be read: KeyError"),
}


@pytest.mark.parametrize(("data", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_data_is_refused_with_a_sentence(data, words):
    with pytest.raises(ValueError, match=words):
        open_source(data)


def test_a_length_that_is_wrong():
    class Liar(StreamOfKnownLength):
        def __len__(self):
            return self.says

    for says, words in ((11, "says that it has 11 images, but gives 10"), (9, "has 9 images, but gives more")):
        liar = Liar()
        liar.says = says
        with pytest.raises(ValueError, match=words):
            open_source(liar)


def test_more_than_memory_holds_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr("scuff.data.objects.available_memory", lambda: 3000)
    with pytest.raises(ValueError, match=r"all images together take .* or give folder:DIR"):
        open_source(Pictures())


# --- addresses --------------------------------------------------------------------------------------------------------

MODULE = """
import numpy as np
from torch.utils.data import Dataset

X = np.arange(6 * 8 * 8 * 3).reshape(6, 8, 8, 3).astype(np.uint8)
pair = X, np.array([0, 1, 2] * 2)

def make():
    return pair

def divided(split):
    return (X[:4], pair[1][:4]) if split == "train" else (X[4:], pair[1][4:])

def needs(root):
    return pair

def fails():
    raise RuntimeError("no disk")

class Mine(Dataset):
    def __len__(self):
        return 6
    def __getitem__(self, k):
        return X[k], int(pair[1][k])
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "own_images.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("own_images", None)


@pytest.mark.parametrize("name", ["pair", "make", "Mine"])
def test_an_address_of_an_object_a_function_or_a_class(module, name):
    source = open_source(f"own_images:{name}")
    assert (source.name, len(source), source.labels.tolist()) == (name, 6, [0, 1, 2] * 2)


def test_a_function_with_a_parameter_split_has_both(module):
    assert [len(open_source("own_images:divided", split)) for split in ("train", "test")] == [4, 2]
    assert has_splits("own_images:divided")
    assert not has_splits("own_images:make")
    points = open_points("own_images:divided")
    assert points.is_test.tolist() == [False] * 4 + [True] * 2


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("own_images:nothing", "module own_images has no 'nothing'"),
        ("own_images:needs", r"needs needs arguments \(root\); write a function without any"),
        ("own_images:fails", "fails fails: RuntimeError: no disk"),
        (
            "not_there:pair",
            "no source is addressed by .*; nor is there a module not_there, which --plugin",
        ),
    ],
)
def test_addresses_that_lead_nowhere(module, address, words):
    with pytest.raises(ValueError, match=words):
        open_source(address)
    with pytest.raises(ValueError, match=r"no parameter split|has no splits"):
        open_source("own_images:make", "train")


def mean_colour(images):
    return torch.nn.functional.pad(images.mean((2, 3)), (0, 1))


def test_a_dataset_is_evaluated_as_its_array_is():
    results = [
        scuff.evaluate({"m": mean_colour}, "cifar10-c", data, only=["brightness"], severities=[3]).drop(
            columns="source"
        )
        for data in (Pictures(), array_source("same", PIXELS, LABELS))
    ]
    assert results[0].equals(results[1])
    assert len(results[0]) == 20


def test_points_of_a_dataset():
    assert np.array_equal(open_points(Pictures()).x, PIXELS)
