"""Shards for WebDataset: what the library reads from them, that their bytes are always the same, what they lack."""

import gc
import hashlib
import json
import tarfile
import warnings

import numpy as np
import pytest
import webdataset
from made_exports import StopAfter, load, make_picture, tree

import scuff
from scuff.engine import LocalEngine
from scuff.export import export, plan_export
from scuff.pictures import UnreadablePictures

FEW = {"only": ["gaussian_noise", "contrast"], "severities": [2, 5], "engine": LocalEngine(1), "layout": "webdataset"}
NAMES = ["cats/a.png", "cats/b.v1.JPEG", "cats/old/c.png", "dogs 1.0/100%.png", "dogs 1.0/d.bmp"]
KEYS = ["cats/a", "cats/b%2Ev1", "cats/old/c", "dogs 1.0/100%25", "dogs 1.0/d"]
LABELS = [0, 0, 0, 1, 1]


@pytest.fixture
def pictures(tmp_path):
    """Two classes, several sizes, names that are not easy."""
    root = tmp_path / "pictures"
    for number, name in enumerate(NAMES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        make_picture(24, 30 if number % 2 else 26, number).save(root / name)
    return root


def read_shards(folder, *decode: str) -> list[dict]:
    """All samples of the shards in a folder, read by the library, which leaves the closing of files to others."""
    dataset = webdataset.WebDataset(sorted(map(str, folder.glob("*.tar"))), shardshuffle=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        samples = list(dataset.decode(*decode) if decode else dataset)
        gc.collect()
    return samples


# --- what is in them ------------------------------------------------------------------------------------------------


def test_the_library_reads_keys_pictures_and_classes(pictures, tmp_path):
    result = export(pictures, tmp_path / "out", "imagenet-c", shard=2, seed=3, **FEW)
    assert (result.written, result.skipped, result.failures) == (12, 0, {})
    cell = tmp_path / "out" / "gaussian_noise" / "5"
    assert sorted(p.name for p in cell.iterdir()) == [f"shard-00000{number}.tar" for number in range(3)]
    read = read_shards(cell, "torchrgb8")
    assert [sample["__key__"] for sample in read] == KEYS
    assert [sample["cls"] for sample in read] == LABELS
    for name, sample in zip(NAMES, read, strict=True):
        clean = np.asarray(load(pictures / name).convert("RGB"))[None]
        expected = scuff.corrupt(clean, "imagenet-c/gaussian_noise", 5, seed=3, ids=[scuff.image_id(name)])[0]
        np.testing.assert_array_equal(sample["png"].numpy().transpose(1, 2, 0), expected)


def test_a_torch_loader_reads_them(pictures, tmp_path):
    import torch

    export(pictures, tmp_path / "out", "imagenet-c", shard=2, resize=16, crop=16, **FEW)
    urls = sorted(map(str, (tmp_path / "out" / "contrast" / "2").glob("*.tar")))
    dataset = webdataset.WebDataset(urls, shardshuffle=False).decode("torchrgb").to_tuple("png", "cls")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        ((images, labels),) = torch.utils.data.DataLoader(dataset, batch_size=5)
        gc.collect()
    assert images.shape == (5, 3, 16, 16)
    assert labels.tolist() == LABELS


def test_jpegs_are_those_of_the_folder_layout(pictures, tmp_path):
    export(pictures, tmp_path / "tree", "imagenet-c", save="jpeg", **{**FEW, "layout": "folder"})
    export(pictures, tmp_path / "out", "imagenet-c", save="jpeg", **FEW)
    read = read_shards(tmp_path / "out" / "contrast" / "5")
    folder = tmp_path / "tree" / "contrast" / "5"
    copies = ["cats/a.jpg", "cats/b.v1.JPEG", "cats/old/c.jpg", "dogs 1.0/100%.jpg", "dogs 1.0/d.jpg"]
    assert [sample["jpg"] for sample in read] == [(folder / name).read_bytes() for name in copies]


def test_without_class_folders_there_are_no_classes(pictures, tmp_path):
    make_picture(9, 9).save(pictures / "loose.png")
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    assert all("cls" not in sample for sample in read_shards(tmp_path / "out" / "contrast" / "2"))
    assert json.loads((tmp_path / "out" / "shards.json").read_text())["classes"] is None


@pytest.mark.parametrize("shape", [(7, 12, 10, 3), (7, 12, 10)])
def test_an_array_becomes_shards(tmp_path, shape):
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.savez(tmp_path / "data.npz", images=images, labels=np.arange(7) * 11)
    export(tmp_path / "data.npz", tmp_path / "out", "cifar10-c", shard=3, **FEW)
    read = read_shards(tmp_path / "out" / "gaussian_noise" / "2", "rgb8" if images.ndim == 4 else "l8")
    assert [sample["__key__"] for sample in read] == [f"{number:08d}" for number in range(7)]
    assert [sample["cls"] for sample in read] == [0, 11, 22, 33, 44, 55, 66]
    batch = images if images.ndim == 4 else images[..., None]
    expected = scuff.corrupt(batch, "cifar10-c/gaussian_noise", 2).reshape(shape)
    np.testing.assert_array_equal(np.stack([sample["png"] for sample in read]), expected)
    assert not (tmp_path / "out" / ".parts").exists()


def test_labels_that_are_no_classes_are_refused(tmp_path):
    np.savez(tmp_path / "data.npz", images=np.zeros((2, 5, 5, 3), np.uint8), labels=np.array([0.5, 1.0]))
    with pytest.raises(ValueError, match="whole number per image"):
        export(tmp_path / "data.npz", tmp_path / "out", "cifar10-c", **FEW)


# --- bytes ----------------------------------------------------------------------------------------------------------


def test_nothing_in_a_shard_tells_when_and_by_whom_it_was_made(pictures, tmp_path):
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    with tarfile.open(tmp_path / "out" / "contrast" / "2" / "shard-000000.tar") as tar:
        members = tar.getmembers()
    assert len(members) == 10
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode) for m in members} == {(0, 0, 0, "", "", 0o644)}


def test_bytes_are_known(tmp_path):
    """Tar files of given contents, for ever: a later version may go on with what an earlier one has begun."""
    from scuff.export.shards import writing_tar

    with open(tmp_path / "a.tar", "wb") as file, writing_tar(file) as add:
        add("cats/a.png", b"picture")
        add("cats/a.cls", b"7")
        add(f"{'long' * 40}/ä.png", b"names")
    digest = hashlib.blake2b((tmp_path / "a.tar").read_bytes(), digest_size=8).hexdigest()
    assert digest == "0d2c4e036d25e5e8"


@pytest.mark.slow
def test_shards_do_not_depend_on_the_number_of_workers(pictures, tmp_path):
    alone = export(pictures, tmp_path / "alone", "imagenet-c", shard=2, **FEW)
    options = {**FEW, "engine": LocalEngine(3)}
    assert export(pictures, tmp_path / "together", "imagenet-c", shard=2, **options) == alone
    assert tree(tmp_path / "together") == tree(tmp_path / "alone")


def test_an_interrupted_run_goes_on(pictures, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        export(pictures, out, "imagenet-c", shard=2, progress=StopAfter(4), **FEW)
    assert not (out / "shards.json").exists()
    result = export(pictures, out, "imagenet-c", shard=2, **FEW)
    assert (result.written, result.skipped) == (8, 4)
    export(pictures, tmp_path / "fresh", "imagenet-c", shard=2, **FEW)
    assert tree(out) == tree(tmp_path / "fresh")


def test_the_index_is_that_of_all_runs(pictures, tmp_path):
    export(pictures, tmp_path / "once", "imagenet-c", shard=2, **FEW)
    for entry in reversed(FEW["only"]):
        export(pictures, tmp_path / "twice", "imagenet-c", shard=2, **{**FEW, "only": [entry]})
    assert tree(tmp_path / "once") == tree(tmp_path / "twice")
    index = json.loads((tmp_path / "once" / "shards.json").read_text())
    assert (index["images"], index["classes"], index["left_out"]) == (5, ["cats", "dogs 1.0"], {})
    cells = [(cell["corruption"], cell["severity"]) for cell in index["shards"]]
    assert cells == [("gaussian_noise", 2), ("gaussian_noise", 5), ("contrast", 2), ("contrast", 5)]
    last = index["shards"][-1]
    assert last["names"] == [f"contrast/5/shard-00000{number}.tar" for number in range(3)]
    assert last["counts"] == [2, 2, 1]
    assert last["bytes"] == [(tmp_path / "once" / name).stat().st_size for name in last["names"]]


def test_a_corruption_without_levels_has_no_folder_for_them(pictures, tmp_path):
    export(pictures, tmp_path / "out", "imagenet-noc", only=["border"], layout="webdataset", engine=LocalEngine(1))
    assert len(read_shards(tmp_path / "out" / "border")) == 5
    (cell,) = json.loads((tmp_path / "out" / "shards.json").read_text())["shards"]
    assert (cell["severity"], cell["names"]) == (None, ["border/shard-000000.tar"])


# --- pictures that cannot be read -----------------------------------------------------------------------------------


def test_what_cannot_be_read_is_left_out_and_said_until_it_can(pictures, tmp_path):
    out, broken = tmp_path / "out", pictures / "cats" / "broken.png"
    broken.write_text("hello")
    with pytest.raises(UnreadablePictures, match=r"broken\.png: not a picture"):
        export(pictures, out, "imagenet-c", shard=3, **FEW)
    first = export(pictures, out, "imagenet-c", shard=3, **FEW, skip_unreadable=True)
    assert (first.written, first.failures) == (8, {"cats/broken.png": "not a picture"})
    assert [sample["__key__"] for sample in read_shards(out / "contrast" / "2")] == KEYS
    index = json.loads((out / "shards.json").read_text())
    assert index["left_out"] == first.failures
    assert index["shards"][0]["counts"] == [2, 3]
    before = tree(out)
    with pytest.raises(UnreadablePictures, match=r"broken\.png: not a picture"):
        export(pictures, out, "imagenet-c", shard=3, **FEW)
    again = export(pictures, out, "imagenet-c", shard=3, **FEW, skip_unreadable=True)
    assert (again.written, again.skipped, again.failures) == (0, 8, first.failures)
    assert tree(out) == before

    make_picture(24, 30, 9).save(broken)
    mended = export(pictures, out, "imagenet-c", shard=3, **FEW)
    assert (mended.written, mended.skipped, mended.failures) == (4, 4, {})
    export(pictures, tmp_path / "fresh", "imagenet-c", shard=3, **FEW)
    assert tree(out) == tree(tmp_path / "fresh")


# --- refusals -------------------------------------------------------------------------------------------------------


def test_other_pictures_are_refused(pictures, tmp_path):
    """They would be in other shards than those that are there."""
    export(pictures, tmp_path / "out", "imagenet-c", **FEW)
    make_picture(9, 9).save(pictures / "cats" / "0.png")
    with pytest.raises(ValueError, match="pictures was"):
        plan_export(pictures, tmp_path / "out", "imagenet-c", layout="webdataset")


def test_other_shards_are_refused(pictures, tmp_path):
    export(pictures, tmp_path / "out", "imagenet-c", shard=2, **FEW)
    with pytest.raises(ValueError, match="shard was 2, is now 500"):
        export(pictures, tmp_path / "out", "imagenet-c", **FEW)


def test_one_key_for_two_pictures_is_refused(pictures, tmp_path):
    make_picture(9, 9).save(pictures / "cats" / "a.jpg")
    with pytest.raises(ValueError, match=r"cats/a\.jpg and cats/a\.png would both become cats/a"):
        export(pictures, tmp_path / "out", "imagenet-c", save="jpeg", **FEW)


@pytest.mark.parametrize(
    ("options", "words"), [({"shard": 0}, "at least 1"), ({"shard": 5, "layout": "folder"}, "only the layout")]
)
def test_impossible_shards_are_refused(pictures, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        export(pictures, tmp_path / "out", "imagenet-c", **{**FEW, **options})
