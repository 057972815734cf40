"""Exports of arrays."""

import numpy as np
import pytest
from made_exports import FEW, StopAfter, tree

import scuff
from scuff.engine import LocalEngine
from scuff.export import export


def test_npy_is_the_layout_of_cifar10_c(arrays, tmp_path):
    result = export(arrays, tmp_path / "out", "cifar10-c", seed=2, **FEW)
    assert (result.written, result.skipped) == (4, 0)
    assert sorted(tree(tmp_path / "out")) == ["contrast.npy", "gaussian_noise.npy", "labels.npy", "scuff.json"]
    images = np.load(arrays)["images"]
    out = np.load(tmp_path / "out" / "gaussian_noise.npy")
    assert out.shape == (14, 12, 10, 3)
    for half, severity in ((out[:7], 2), (out[7:], 5)):
        np.testing.assert_array_equal(half, scuff.corrupt(images, "cifar10-c/gaussian_noise", severity, seed=2))
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "labels.npy"), np.tile(np.arange(7) * 11, 2))


def test_npz_keeps_the_keys(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (3, 8, 9), dtype=np.uint8)
    np.savez_compressed(tmp_path / "grey.npz", x=images, y=np.array([5, 6, 7]))
    export(tmp_path / "grey.npz", tmp_path / "out", "cifar10-c", layout="npz", **FEW)
    with np.load(tmp_path / "out" / "contrast" / "5.npz") as file:
        assert sorted(file) == ["x", "y"]
        expected = scuff.corrupt(images[..., None], "cifar10-c/contrast", 5)[..., 0]
        np.testing.assert_array_equal(file["x"], expected)
        np.testing.assert_array_equal(file["y"], [5, 6, 7])
    assert not (tmp_path / "out" / ".parts").exists()


def test_a_bare_array_has_no_labels(tmp_path):
    np.save(tmp_path / "bare.npy", np.full((2, 6, 5, 1), 90, np.uint8))
    export(tmp_path / "bare.npy", tmp_path / "out", "cifar10-c", **FEW)
    assert np.load(tmp_path / "out" / "contrast.npy").shape == (4, 6, 5, 1)
    assert not (tmp_path / "out" / "labels.npy").exists()


def test_arrays_as_published_have_gone_through_a_jpeg(arrays, tmp_path):
    export(arrays, tmp_path / "out", "imagenet-c", save="jpeg", **FEW)
    expected = scuff.corrupt(np.load(arrays)["images"], "imagenet-c/contrast", 2, as_published=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "contrast.npy")[:7], expected)


@pytest.mark.parametrize("piece", [1, 800])
def test_array_results_do_not_depend_on_pieces(arrays, tmp_path, monkeypatch, piece):
    export(arrays, tmp_path / "whole", "cifar10-c", **FEW)
    monkeypatch.setattr("scuff.export.arrays.PIECE", piece)
    export(arrays, tmp_path / "pieces", "cifar10-c", **FEW)
    assert tree(tmp_path / "whole") == tree(tmp_path / "pieces")


@pytest.mark.parametrize("layout", ["npy", "npz"])
def test_an_interrupted_array_goes_on(arrays, tmp_path, layout):
    out, options = tmp_path / "out", {**FEW, "layout": layout}
    with pytest.raises(KeyboardInterrupt):
        export(arrays, out, "cifar10-c", progress=StopAfter(3), **options)
    (out / ".parts" / "contrast").mkdir(parents=True, exist_ok=True)
    (out / ".parts" / "contrast" / ".scuff-0123.tmp").write_bytes(b"of a run that was killed")
    result = export(arrays, out, "cifar10-c", **options)
    assert (result.written, result.skipped) == (1, 3)
    export(arrays, tmp_path / "fresh", "cifar10-c", **options)
    ours = {name: content for name, content in tree(out).items() if not name.endswith(".tmp")}
    assert ours == tree(tmp_path / "fresh")
    assert layout == "npz" or not (out / ".parts").exists()
    assert export(arrays, out, "cifar10-c", **options).skipped == 4


def test_an_array_does_not_depend_on_the_number_of_workers(arrays, tmp_path):
    options = {**FEW, "layout": "npz"}
    export(arrays, tmp_path / "alone", "cifar10-c", **options)
    export(arrays, tmp_path / "together", "cifar10-c", **{**options, "engine": LocalEngine(2)})
    assert tree(tmp_path / "alone") == tree(tmp_path / "together")


def test_severities_of_joined_files_must_stay(arrays, tmp_path):
    export(arrays, tmp_path / "out", "cifar10-c", **FEW)
    with pytest.raises(ValueError, match=r"severities was \[2, 5\], is now \[1\]"):
        export(arrays, tmp_path / "out", "cifar10-c", **{**FEW, "severities": [1]})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"pixels": np.zeros((2, 4, 4, 3), np.uint8)}, "found the keys pixels"),
        ({"images": np.zeros((2, 4, 4, 3), np.float32)}, "expected uint8"),
        ({"images": np.zeros((4, 4, 3), np.uint8)}, "expected images"),
        ({"images": np.zeros((2, 3, 4, 4), np.uint8)}, "expected images"),
        ({"images": np.zeros((0, 4, 4, 3), np.uint8)}, "no pixels"),
        ({"images": np.zeros((2, 4, 4, 3), np.uint8), "labels": np.arange(3)}, "2 images need as many labels"),
        ({"images": np.array([{}, {}])}, "allow_pickle"),
    ],
)
def test_impossible_arrays_are_refused(tmp_path, content, words):
    np.savez(tmp_path / "bad.npz", **content)
    with pytest.raises(ValueError, match=words):
        export(tmp_path / "bad.npz", tmp_path / "out", "cifar10-c", **FEW)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 half a zip"])
@pytest.mark.parametrize("name", ["bad.npz", "bad.npy"])
def test_broken_array_files_are_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"cannot read .*{name}"):
        export(tmp_path / name, tmp_path / "out", "cifar10-c", **FEW)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"resize": 8}, "for folders"), ({"crop": 8}, "for folders"), ({"layout": "folder"}, "layout npy or npz")],
)
def test_options_for_folders_are_refused_for_arrays(arrays, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        export(arrays, tmp_path / "out", "cifar10-c", **FEW, **options)
