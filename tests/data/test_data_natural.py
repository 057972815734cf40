"""Natural shifts: class tables, layouts on disk, and the clean reference for a class subset."""

import numpy as np
import pytest
from PIL import Image

from scuff.data import ClassMap, open_source, restrict
from scuff.data.imagenet import objectnet_classes, objectnet_folders, subset, wordnet_ids


def save_pictures(root, names, pixels=None) -> None:
    for k, name in enumerate(names):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((9, 11, 3), k, np.uint8) if pixels is None else pixels).save(root / name)


# --- tables ---------------------------------------------------------------------------------------------------------


def test_the_thousand_classes_are_sorted():
    ids = wordnet_ids()
    assert len(ids) == len(set(ids)) == 1000
    assert list(ids) == sorted(ids)
    assert all(len(i) == 9 and i[0] == "n" and i[1:].isdecimal() for i in ids)
    # Goldfish, tabby, analog clock and toilet tissue: numbers that other lists of the classes show, too.
    assert [ids.index(i) for i in ("n01443537", "n02123045", "n02708093", "n15075141")] == [1, 281, 409, 999]


@pytest.mark.parametrize("name", ["imagenet-a", "imagenet-r"])
def test_subsets_are_200_classes_that_keep_their_numbers(name):
    classes = subset(name)
    assert len(set(classes.outputs)) == 200
    assert list(classes.outputs) == sorted(classes.outputs)
    assert classes.outputs == classes.classes
    assert 0 <= min(classes.outputs) <= max(classes.outputs) <= 999


def test_objectnet_has_113_folders_and_no_class_twice():
    folders, classes = objectnet_folders(), objectnet_classes()
    assert len(folders) == 113
    assert list(folders) == sorted(folders)
    assert len(classes.outputs) == len(set(classes.outputs)) == sum(map(len, folders.values()))
    assert sorted(set(classes.classes)) == list(range(113))
    names = list(folders)
    assert {names[c] for o, c in zip(classes.outputs, classes.classes, strict=True) if o in (409, 530)} == {
        "alarm_clock"
    }


# --- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "indices"), [("imagenet-a", [6, 988]), ("imagenet-r", [1, 988])])
def test_subsets_keep_the_labels_of_imagenet(tmp_path, name, indices):
    save_pictures(tmp_path, [f"{wordnet_ids()[k]}/a.jpg" for k in reversed(indices)])
    (tmp_path / "README.txt").write_text("as in the archive")
    source = open_source(f"{name}:{tmp_path}")
    assert (source.name, source.labels.tolist()) == (name, indices)
    assert source.class_names == wordnet_ids()
    assert source.classes == subset(name)
    save_pictures(tmp_path, [f"{wordnet_ids()[0]}/a.jpg"])  # of neither subset
    with pytest.raises(ValueError, match=rf"1 folders that are no class of {name} \(n01440764"):
        open_source(f"{name}:{tmp_path}")


def test_imagenet_sketch_has_all_classes(tmp_path):
    save_pictures(tmp_path, [f"{wordnet_ids()[k]}/sketch_{k}.JPEG" for k in (0, 500, 999)])
    source = open_source(f"imagenet-sketch:{tmp_path}")
    assert (source.labels.tolist(), source.classes) == ([0, 500, 999], None)


def test_imagenet_v2_folders_are_numbers_and_not_texts(tmp_path):
    save_pictures(tmp_path, [f"{k}/a.jpeg" for k in (0, 2, 10, 999)])
    source = open_source(f"imagenet-v2:{tmp_path}")
    assert source.labels.tolist() == [0, 10, 2, 999]  # the pictures are sorted as texts, the labels are true
    assert source.class_names == wordnet_ids()
    assert source.read([1])[0, 0, 0, 0] == 2
    save_pictures(tmp_path, ["1000/a.jpeg"])
    with pytest.raises(ValueError, match="no class index from 0 to 999"):
        open_source(f"imagenet-v2:{tmp_path}")


@pytest.mark.parametrize("below", ["", "images"])
def test_objectnet_leaves_out_borders_and_unknown_things(tmp_path, below):
    pixels = np.zeros((12, 10, 3), np.uint8)
    pixels[..., 0] = 255
    pixels[2:-2, 2:-2] = np.random.default_rng(0).integers(0, 256, (8, 6, 3))
    save_pictures(tmp_path / below, ["wok/a.png", "air_freshener/a.png", "alarm_clock/b.png", "t-shirt/c.png"], pixels)
    source = open_source(f"objectnet:{tmp_path}")
    assert [source.class_names[k] for k in source.labels] == ["alarm_clock", "t-shirt", "wok"]
    assert source.labels.tolist()[::2] == [0, 112]
    assert source.classes == objectnet_classes()
    np.testing.assert_array_equal(source.read([0])[0].permute(1, 2, 0), pixels[2:-2, 2:-2])


def test_objectnet_without_a_known_thing_is_refused(tmp_path):
    save_pictures(tmp_path, ["air_freshener/a.png"])
    with pytest.raises(ValueError, match="none of ObjectNet's folders, such as alarm_clock"):
        open_source(f"objectnet:{tmp_path}")


# --- clean references -----------------------------------------------------------------------------------------------


@pytest.fixture
def validation(tmp_path):
    """Five classes: 0 is in no subset, 6 in two, 954 in all; 409 and 530 are alarm clocks, 530 also in ImageNet-A."""
    save_pictures(tmp_path / "val", [f"{wordnet_ids()[k]}/a.png" for k in (0, 6, 409, 530, 954)])
    return tmp_path / "val"


@pytest.mark.parametrize(("name", "labels"), [("imagenet-a", [6, 530, 954]), ("imagenet-r", [6, 954])])
def test_the_reference_holds_the_images_of_a_subset(validation, name, labels):
    source = open_source(f"folder:{validation}", classes=name)
    assert source.labels.tolist() == labels
    assert source.classes == subset(name)
    whole = open_source(f"folder:{validation}")
    assert source.ids.tolist() == [i for i, label in zip(whole.ids, whole.labels, strict=True) if label in labels]
    assert source.fingerprint() != whole.take(np.isin(whole.labels, labels)).fingerprint()  # other outputs count


def test_the_reference_of_objectnet_has_its_labels(validation):
    source = restrict(open_source(f"folder:{validation}"), "objectnet")
    assert [source.class_names[k] for k in source.labels] == ["alarm_clock", "alarm_clock", "banana"]
    assert source.classes == objectnet_classes()
    right = dict(zip(source.classes.outputs, source.classes.classes, strict=True))
    assert right[409] == right[530] == source.labels[0]


def test_the_reference_may_be_labelled_by_numbers(tmp_path):
    save_pictures(tmp_path, ["a.png", "b.png"])
    (tmp_path / "labels.json").write_text('{"a.png": 0, "b.png": 954}')
    source = open_source(f"folder:{tmp_path}", classes="imagenet-r")
    assert (source.labels.tolist(), len(source.class_names)) == ([954], 1000)


def test_benchmarks_of_all_classes_restrict_nothing(validation):
    assert open_source(f"folder:{validation}", classes="imagenet-v2").labels.tolist() == [0, 6, 409, 530, 954]


@pytest.mark.parametrize(
    ("address", "classes", "words"),
    [
        ("fashion", "imagenet-a", "does not have ImageNet's classes"),
        ("folder:{}", "imagenet-c", "classes can be those of imagenet-a, imagenet-r"),
        ("imagenet-sketch:{}", "imagenet-x", "got 'imagenet-x'"),
    ],
)
def test_impossible_restrictions_are_refused(validation, address, classes, words):
    with pytest.raises(ValueError, match=words):
        open_source(address.format(validation), classes=classes)


def test_a_reference_without_images_is_refused(tmp_path):
    save_pictures(tmp_path, [f"{wordnet_ids()[0]}/a.png"])
    with pytest.raises(ValueError, match="no image of the classes of imagenet-a"):
        open_source(f"folder:{tmp_path}", classes="imagenet-a")


def test_class_maps_are_values():
    assert ClassMap((1, 2), (0, 0)) == ClassMap((1, 2), (0, 0)) != ClassMap((1, 2), (0, 1))
