"""Corrupted benchmarks as they were published, in arrays and in trees."""

import numpy as np
import pytest
from made_sources import IMAGENET, pixels_of, random_images, save_picture, write_cifar_c

import scuff
from scuff.data import CorruptedSource, known_by_stems, open_source
from scuff.engine import LocalEngine
from scuff.export import export
from scuff.pictures import Cut


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
