"""Sources: addresses, parts, and fingerprints."""

import json
import pickle

import numpy as np
import pytest
import torch
from made_sources import random_images, save_picture, write_cifar_c

from scuff.data import ClassMap, open_source
from scuff.data.stored import StoredArray
from scuff.pictures import Cut

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
