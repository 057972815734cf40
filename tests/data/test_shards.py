"""Shards as sources: tars of anybody, tars that `scuff corrupt` wrote, streams of Hugging Face's datasets."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import fsspec
import numpy as np
import pytest
import torch
import webdataset
from PIL import Image
from torch import nn

import scuff
from scuff.data import CorruptedSource, load_pixels, open_source, readable
from scuff.data.shards import expand_braces
from scuff.engine import LocalEngine
from scuff.export import export
from scuff.models import Classifier
from scuff.pictures import Cut, UnreadablePictures

SIDE = 32
NAMES = ["ant/a.png", "ant/b.v1.png", "bee/c.png", "bee/old/d.png", "bee/100%.png"]
FEW = {"only": ["contrast", "gaussian_noise"], "severities": [2]}
CPU = {"device": "cpu", "workers": 0}


def picture(number: int) -> Image.Image:
    return Image.fromarray(np.random.default_rng(number).integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8))


def encoded(number: int) -> bytes:
    file = io.BytesIO()
    picture(number).save(file, "png")
    return file.getvalue()


def write_tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    for number, name in enumerate(NAMES):
        (tmp_path / "val" / name).parent.mkdir(parents=True, exist_ok=True)
        picture(number).save(tmp_path / "val" / name)
    return tmp_path / "val"


@pytest.fixture
def classifier() -> Classifier:
    torch.manual_seed(0)
    return Classifier(nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 2)), name="linear", cut=Cut(None, SIDE))


# --- anybody's ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 2])
def test_a_folder_in_tars_is_that_folder(folder, tmp_path, classifier, workers):
    for number in range(2):
        with tarfile.open(tmp_path / f"val-{number:03d}.tar", "w") as tar:
            for name in sorted(NAMES)[3 * number : 3 * number + 3]:
                tar.add(folder / name, f"./{name}")
    source, same = open_source(f"folder:{folder}"), open_source(f"wds:{tmp_path}/val-{{000..001}}.tar")
    assert same.name == "val"
    assert same.class_names == source.class_names
    for key in ("ids", "labels"):
        np.testing.assert_array_equal(getattr(same, key), getattr(source, key))
    read, expected = (load_pixels(s, workers=workers).images for s in (same, source))
    assert torch.equal(read, expected)
    rows, plain = (scuff.evaluate(classifier, "cifar10-c", s, **FEW, **CPU) for s in (same, source))
    assert rows.drop(columns="source").equals(plain.drop(columns="source"))


def test_samples_that_the_library_wrote(tmp_path, classifier):
    with webdataset.ShardWriter(str(tmp_path / "s-%06d.tar"), maxcount=2, verbose=0) as writer:
        for number in range(5):
            sample = {"__key__": f"{number:06d}", "png": encoded(number), "cls": str(number % 2).encode()}
            writer.write({**sample, "json": json.dumps({"label": 7}).encode(), "txt": b"a caption"})
    source = open_source(f"wds:{tmp_path}")
    assert source.labels.tolist() == [0, 1, 0, 1, 0]
    assert source.ids.tolist() == [scuff.image_id(f"{number:06d}.png") for number in range(5)]
    assert torch.equal(source.read([3])[0], torch.from_numpy(np.asarray(picture(3)).copy()).permute(2, 0, 1))
    assert open_source(f"wds:{tmp_path}/s-*.tar").fingerprint() == source.fingerprint()
    assert source.take([4, 0]).fingerprint() != source.take([0, 4]).fingerprint()
    rows = scuff.evaluate(classifier, "cifar10-c", f"wds:{tmp_path}", tmp_path / "out", **FEW, **CPU)
    again = scuff.evaluate(classifier, "cifar10-c", f"wds:{tmp_path}", tmp_path / "out", **FEW, **CPU)
    assert rows.equals(again)
    assert len(rows) == 3 * 5


def test_labels_in_json_and_keys_that_begin_anew(tmp_path):
    for number in range(2):
        about = json.dumps({"label": number, "caption": "..."}).encode()
        write_tar(tmp_path / f"s{number}.tar", {"0.png": encoded(number), "0.json": about})
    source = open_source(f"wds:{tmp_path}/s{{0,1}}.tar")
    assert source.labels.tolist() == [0, 1]
    assert source.ids.tolist() == [scuff.image_id("s0/0.png"), scuff.image_id("s1/0.png")]


def test_tars_that_are_elsewhere(tmp_path, classifier):
    here = write_tar(tmp_path / "s.tar", {"0.png": encoded(0), "0.cls": b"1", "1.png": encoded(1), "1.cls": b"0"})
    fsspec.filesystem("memory").pipe("/shards/s-00.tar", here.read_bytes())
    source, far = open_source(f"wds:{here}"), open_source("wds:memory://shards/s-{00..00}.tar")
    assert far.fingerprint() == source.fingerprint()
    assert torch.equal(far.read([1, 0]), source.read([1, 0]))
    assert open_source("wds:memory://shards").fingerprint() == source.fingerprint()
    assert len(scuff.evaluate(classifier, None, "wds:memory://shards/*.tar", **CPU)) == 2
    with pytest.raises(ValueError, match="there are no tars memory://shards/no"):
        open_source("wds:memory://shards/no*.tar")


def test_pictures_that_cannot_be_read_are_named_or_left_out(tmp_path, classifier):
    members = {"a.png": encoded(0), "a.cls": b"0", "b.png": encoded(1)[:99], "b.cls": b"1", "c.png": b"", "c.cls": b"1"}
    tar = write_tar(tmp_path / "s.tar", members)
    with pytest.raises(UnreadablePictures, match=r"2 of 3 pictures of s cannot be read") as raised:
        scuff.evaluate(classifier, None, f"wds:{tar}", **CPU)
    assert list(raised.value.failures) == [f"{tar}: b.png", f"{tar}: c.png"]
    rows = scuff.evaluate(classifier, None, f"wds:{tar}", skip_unreadable=True, **CPU)
    assert rows["image_id"].tolist() == [scuff.image_id("a.png")]


def test_many_pictures_are_hashed_and_tried_by_processes(tmp_path, monkeypatch):
    members = {f"{k:03}.png": encoded(k % 7) if k % 50 else b"no" for k in range(150)}
    tar = write_tar(tmp_path / "s.tar", members | {name.replace("png", "cls"): b"0" for name in members})
    source, told = open_source(f"wds:{tar}"), {}
    for few in (100, 0):
        monkeypatch.setattr("scuff.digests.FEW", few)
        told[few] = source.fingerprint(), list(readable(source, skip=True).unreadable)
    assert told[0] == told[100]
    assert told[0][1] == [f"{tar}: {k:03}.png" for k in (0, 50, 100)]


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"a.png": b"x"}, "1 of 1 pictures have no class"),
        ({"a.png": b"x", "a.cls": b"cat"}, "the class of a.png must be a whole number, counted from 0, got 'cat'"),
        ({"a.png": b"x", "a.cls": b"1", "b.png": b"x"}, "1 of 2 pictures have no class"),
        ({"a.txt": b"x"}, "there are no pictures in 1 tars"),
    ],
)
def test_tars_that_are_no_labelled_pictures(tmp_path, members, words):
    with pytest.raises(ValueError, match=words):
        open_source(f"wds:{write_tar(tmp_path / 's.tar', members)}")


def test_broken_tars_are_named(tmp_path):
    whole = write_tar(tmp_path / "s.tar", {"a.cls": b"1", "a.png": encoded(0)}).read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:2000])
    (tmp_path / "packed.tar").write_bytes(gzip.compress(whole))
    (tmp_path / "text.tar").write_bytes(b"no tar at all")
    for name in ("cut", "packed", "text"):
        with pytest.raises(ValueError, match=rf"cannot read .*{name}\.tar as a tar: .*is it complete"):
            open_source(f"wds:{tmp_path / name}.tar")
    with pytest.raises(ValueError, match=r"there is no file or folder .*missing-000.tar"):
        open_source(f"wds:{tmp_path}/missing-{{000..003}}.tar")


def test_braces():
    assert expand_braces("{a,b}-{8..10}") == ["a-8", "a-9", "a-10", "b-8", "b-9", "b-10"]
    assert expand_braces("plain") == ["plain"]


# --- our own ----------------------------------------------------------------------------------------------------------


def test_what_scuff_corrupt_wrote_is_what_it_writes_into_folders(folder, tmp_path, classifier):
    options = {**FEW, "engine": LocalEngine(1), "seed": 3}
    export(folder, tmp_path / "tree", "cifar10-c", layout="folder", **options)
    export(folder, tmp_path / "tars", "cifar10-c", layout="webdataset", shard=2, **options)
    tars = open_source(f"wds:{tmp_path / 'tars'}")
    assert isinstance(tars, CorruptedSource)
    assert tars.entries == {"gaussian_noise": (2,), "contrast": (2,)}
    assert tars.cell("contrast", 2).class_names == ("ant", "bee")
    answers = {}
    for address in (f"cifar10-c:{tmp_path / 'tree'}", f"cifar10-c:{tmp_path / 'tars'}", f"wds:{tmp_path / 'tars'}"):
        rows = scuff.evaluate(classifier, None, address, clean=f"folder:{folder}", **CPU)
        answers[address] = rows.sort_values(["corruption", "image_id"]).reset_index(drop=True)
    first, *others = answers.values()
    assert len(first) == 3 * 5
    assert all(other.equals(first) for other in others)
    with pytest.raises(ValueError, match="was made by the suite cifar10-c, not by imagenet-c"):
        open_source(f"imagenet-c:{tmp_path / 'tars'}")
    one_cell = open_source(f"wds:{tmp_path / 'tars'}/contrast/2")
    assert len(one_cell) == 5


def test_shards_of_an_array_are_known_by_positions(tmp_path, classifier):
    images = np.stack([np.asarray(picture(number)) for number in range(5)])
    np.savez(tmp_path / "clean.npz", images=images, labels=np.arange(5) % 2)
    export(tmp_path / "clean.npz", tmp_path / "tars", "cifar10-c", layout="webdataset", engine=LocalEngine(1), **FEW)
    clean = f"npz:{tmp_path / 'clean.npz'}"
    rows = scuff.evaluate(classifier, None, f"wds:{tmp_path / 'tars'}", clean=clean, **CPU)
    ours = scuff.evaluate(classifier, "cifar10-c", clean, **FEW, **CPU)
    order = ["corruption", "image_id"]
    columns = [*order, "severity", "label", "prediction", "confidence"]
    rows, ours = (table.sort_values(order)[columns].reset_index(drop=True) for table in (rows, ours))
    assert rows.equals(ours)


# --- streams --------------------------------------------------------------------------------------------------------


def write_parquet(folder: Path, split: str, **columns) -> None:
    import datasets

    kinds = {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(names=["ant", "bee"]),
        "y": datasets.Value("int64"),
    }
    features = datasets.Features({name: kinds[name] for name in columns})
    folder.mkdir(exist_ok=True)
    datasets.disable_progress_bars()
    datasets.Dataset.from_dict(columns, features).to_parquet(str(folder / f"{split}-00000-of-00001.parquet"))


def test_a_dataset_is_read_as_a_stream(tmp_path, classifier):
    pytest.importorskip("datasets")
    pictures = [picture(number) for number in range(4)]
    write_parquet(tmp_path / "stream", "test", image=pictures, label=[0, 1, 1, 0])
    write_parquet(tmp_path / "stream", "validation", image=pictures[:1], label=[1])
    source = open_source(f"hf:{tmp_path / 'stream'}")
    assert (source.labels.tolist(), source.class_names) == ([0, 1, 1, 0], ("ant", "bee"))
    assert source.ids.tolist() == [0, 1, 2, 3]
    expected = torch.from_numpy(np.stack([np.asarray(one) for one in pictures])).permute(0, 3, 1, 2)
    assert torch.equal(source.read(range(4)), expected)
    assert torch.equal(source.take([2]).read([0]), expected[2:3])
    assert open_source(f"hf:{tmp_path / 'stream'}", "validation").labels.tolist() == [1]
    with pytest.raises(ValueError, match="cannot stream the split 'train' of"):
        open_source(f"hf:{tmp_path / 'stream'}", "train")
    rows = scuff.evaluate(classifier, "cifar10-c", f"hf:{tmp_path / 'stream'}", **FEW, **CPU)
    plain = scuff.evaluate(classifier, "cifar10-c", (expected, source.labels), **FEW, **CPU)
    assert rows["confidence"].tolist() == plain["confidence"].tolist()


def test_streams_without_named_classes_or_without_room(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    write_parquet(tmp_path / "stream", "test", image=[picture(0), picture(1)], y=[3, 0])
    source = open_source(f"hf:{tmp_path / 'stream'}")
    assert (source.labels.tolist(), source.class_names) == ([3, 0], ("0", "1", "2", "3"))
    monkeypatch.setattr("scuff.data.huggingface.available_memory", lambda: 2 * len(encoded(0)))
    with pytest.raises(ValueError, match="do not fit into half of the free memory"):
        open_source(f"hf:{tmp_path / 'stream'}")
    with pytest.raises(ValueError, match=r"there is no folder \./missing"):
        open_source("hf:./missing")
