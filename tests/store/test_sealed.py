"""Cells that were damaged are noticed when they are read, and can be made again."""

import os
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_exports import make_picture
from safetensors import SafetensorError, safe_open

import scuff
from scuff.corruptions import register
from scuff.data import open_source
from scuff.digests import ask_files, digest_files
from scuff.engine import LocalEngine
from scuff.export import export
from scuff.files import check_out, file_digest, is_file_name, write_by_rename
from scuff.models import open_model
from scuff.store import Store, read_arrays, read_columns, read_rows, remove_damaged, write_arrays, write_rows
from scuff.tensors import read_metadata, read_tensors, write_tensors
from scuff.training import find_recipe

CONSTANT = {"model": "net", "source": "data", "suite": "mine", "corruption": "fog"}
COLUMNS = {
    "severity": np.int16(3),
    "image_id": np.arange(40),
    "label": np.arange(40) % 7,
    "prediction": np.arange(40) % 5,
    "confidence": np.linspace(0, 1, 40, dtype=np.float32),
}


def damage(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0x10]) + content[place + 1 :]


@pytest.mark.parametrize("name", ["cell.parquet", "cell.npz", "cell.safetensors"])
def test_no_changed_byte_is_believed(name):
    """Wherever it is: either it is noticed, or what is read is what was written."""
    store = Store("memory://sealed")

    def read():
        if name.endswith(".parquet"):
            table = read_rows(store, [name])
            return {column: table[column].to_numpy() for column in table}
        if name.endswith(".npz"):
            return read_arrays(store, name)
        return {key: value.numpy() for key, value in read_tensors(store.address(name))[0].items()}

    if name.endswith(".parquet"):
        write_rows(store, name, CONSTANT, COLUMNS)
    elif name.endswith(".npz"):
        write_arrays(store, name, {"right": np.arange(30), "rows": np.arange(6.0)}, is_compressed=True)
    else:
        write_tensors(store.address(name), {"weight": torch.arange(30.0)}, {"made": "here"})
    content, whole = store.read(name), read()
    noticed, places = 0, range(0, len(content), max(1, len(content) // 300))
    for place in places:
        store.write(name, damage(content, place))
        try:
            found = read()
        except (ValueError, SafetensorError):
            noticed += 1
            continue
        assert found.keys() == whole.keys()
        assert all(np.array_equal(found[key], whole[key]) for key in whole)
    assert noticed > 0.9 * len(places)  # all but the digest's own name


def test_no_stretch_of_zeros_and_no_cut_is_believed(tmp_path):
    store, draw = Store(tmp_path), np.random.default_rng(0)
    write_rows(store, "cell.parquet", CONSTANT, COLUMNS)
    whole, content = read_rows(store, ["cell.parquet"]), store.read("cell.parquet")
    for _ in range(200):
        first, last = sorted(draw.integers(0, len(content), 2))
        for changed in (content[:first] + bytes(last - first) + content[last:], content[:first], content[last:]):
            store.write("cell.parquet", changed)
            try:
                found = read_rows(store, ["cell.parquet"])
            except ValueError:
                continue
            assert found.astype(str).equals(whole.astype(str))


def test_the_error_names_the_cell_and_the_switch(tmp_path):
    store = Store(tmp_path)
    write_rows(store, "rows/net/fog-3.parquet", CONSTANT, COLUMNS)
    content = store.read("rows/net/fog-3.parquet")
    store.write("rows/net/fog-3.parquet", damage(content, 40))
    for read in (lambda n: read_rows(store, [n]), lambda n: read_columns(store, n, ["label"])):
        with pytest.raises(ValueError, match=r"rows/net/fog-3\.parquet is damaged .*not those that were.*--repair"):
            read("rows/net/fog-3.parquet")


def test_damaged_cells_are_removed_and_others_stay(tmp_path):
    store = Store(tmp_path)
    for name in ("good", "bad", "cut"):
        write_rows(store, f"rows/{name}.parquet", CONSTANT, COLUMNS)
        write_arrays(store, f"cells/{name}.npz", {"right": np.arange(9)})
        write_tensors(store.address(f"models/{name}.safetensors"), {"weight": torch.zeros(9)})
    np.savez(tmp_path / "of-an-earlier-version.npz", right=np.arange(9))
    (tmp_path / "notes.txt").write_text("no cell")
    whole = store.names("", "")
    for name in whole:
        if "/bad" in name or "/cut" in name:
            content = store.read(name)
            store.write(name, content[:-60] if "/cut" in name else damage(content, len(content) // 2))
    bad = [name for name in whole if "/bad" in name or "/cut" in name]
    assert remove_damaged(tmp_path, only_look=True) == bad
    assert store.names("", "") == whole
    assert remove_damaged(tmp_path) == bad
    assert store.names("", "") == [name for name in whole if name not in bad]


def test_other_programs_read_our_cells(tmp_path):
    import pandas as pd

    write_rows(Store(tmp_path), "rows.parquet", CONSTANT, COLUMNS)
    write_arrays(Store(tmp_path), "cell.npz", {"right": np.arange(9)})
    assert pd.read_parquet(tmp_path / "rows.parquet")["label"].tolist() == COLUMNS["label"].tolist()
    with np.load(tmp_path / "cell.npz") as file:
        assert file["right"].tolist() == list(range(9))


def test_the_digest_of_weights_is_not_among_their_metadata(tmp_path):
    write_tensors(tmp_path / "a.safetensors", {"weight": torch.zeros(2)}, {"made": "here"})
    assert read_metadata(tmp_path / "a.safetensors") == {"made": "here"}
    assert read_tensors(tmp_path / "a.safetensors")[1] == {"made": "here"}


def test_the_same_weights_are_the_same_bytes(tmp_path):
    metadata = {key: f"\u00e9 {key}" for key in "abcdefgh"}  # eight keys in a random order: 1 in 40 320 is this one
    state = {"weight": torch.arange(3.0)}
    for name in ("one", "other"):
        write_tensors(tmp_path / name, state, metadata)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
    assert read_tensors(tmp_path / "one")[1] == metadata
    with safe_open(tmp_path / "one", framework="pt") as file:
        assert torch.equal(file.get_tensor("weight"), state["weight"])


# --- sources ----------------------------------------------------------------------------------------------------------


def test_a_picture_of_the_same_size_is_another_source(tmp_path):
    (tmp_path / "cats").mkdir()
    make_picture(9, 9, 1).save(tmp_path / "cats" / "a.bmp")
    size = os.path.getsize(tmp_path / "cats" / "a.bmp")
    source = open_source(f"folder:{tmp_path}")
    before = source.fingerprint()
    make_picture(9, 9, 2).save(tmp_path / "cats" / "a.bmp")
    assert os.path.getsize(tmp_path / "cats" / "a.bmp") == size
    assert source.fingerprint() != before
    make_picture(9, 9, 1).save(tmp_path / "cats" / "a.bmp")
    assert source.fingerprint() == before


def test_an_array_that_was_changed_in_place_is_another_source():
    from scuff.data import array_source

    images = np.zeros((3, 8, 8, 3), np.uint8)
    source = array_source("mine", images, np.arange(3))
    before = source.fingerprint()
    images[1, 2, 3] = 7
    assert source.fingerprint() != before


def test_digests_are_remembered_until_a_file_changes(tmp_path, monkeypatch):
    read = []
    monkeypatch.setattr(
        "scuff.digests.file_digest", lambda path: read.append(os.path.basename(path)) or file_digest(path)
    )
    monkeypatch.setattr("scuff.digests.WORTH_IT", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, names = tmp_path / "pictures", [f"{k}.bmp" for k in range(20)]
    folder.mkdir()
    for k, name in enumerate(names):
        (folder / name).write_bytes(bytes([k] * 100))
    first = digest_files(folder, names)
    assert len(set(first.tolist())) == len(read) == 20
    assert np.array_equal(digest_files(folder, names), first)
    (folder / "7.bmp").write_bytes(bytes([99] * 100))
    again = digest_files(folder, names)
    assert np.flatnonzero(again != first).tolist() == [7]
    assert read[20:] == ["7.bmp"]
    next((tmp_path / "cache").rglob("*.npy")).write_bytes(b"no array")
    assert np.array_equal(digest_files(folder, names), again)
    (folder / "7.bmp").unlink()  # whoever needs it will say so
    assert np.flatnonzero(digest_files(folder, names) != again).tolist() == [7]


def test_a_file_that_could_not_be_read_once_is_read_again(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("scuff.digests.WORTH_IT", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.bmp").write_bytes(b"a")
    (tmp_path / "b.bmp").write_bytes(b"b")
    with monkeypatch.context() as patch:
        patch.setattr("scuff.digests.file_digest", lambda path: file_digest(path if "a.bmp" in path else "no/such"))
        assert digest_files(tmp_path, ["a.bmp", "b.bmp"])[1] == 0
    assert digest_files(tmp_path, ["a.bmp", "b.bmp"])[1] != 0


def test_processes_and_threads_digest_alike(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    names = [f"{k}.bmp" for k in range(150)]
    for k, name in enumerate(names[:-1]):  # and one is not there
        (tmp_path / name).write_bytes(bytes([k]) * (10 * k))
    told = {}
    for few in (0, 1000):
        monkeypatch.setattr("scuff.digests.FEW", few)
        told[few] = digest_files(tmp_path, names)
    assert np.array_equal(told[0], told[1000])
    assert len(set(told[0].tolist())) == 150
    assert told[0][-1] == 0
    assert len(digest_files(tmp_path, [])) == 0


def test_a_file_of_several_names_is_read_once(tmp_path, monkeypatch):
    monkeypatch.setattr("scuff.digests.WORTH_IT", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.bmp").write_bytes(b"a")
    (tmp_path / "b.bmp").write_bytes(b"b")
    (tmp_path / "also-a.bmp").symlink_to(tmp_path / "a.bmp")
    (tmp_path / "again-a.bmp").hardlink_to(tmp_path / "a.bmp")
    read, names = [], ["a.bmp", "also-a.bmp", "b.bmp", "again-a.bmp", "gone.bmp"]
    ask = lambda path: read.append(path) or [ord(Path(path).read_text()) if os.path.exists(path) else 0]  # noqa: E731
    for _ in range(2):
        answers = ask_files(tmp_path, names, ["letter"], ask)
        assert answers[:, 0].tolist() == [97, 97, 98, 97, 0]
    assert len(read) == 4  # a, b, and twice what is gone


def test_a_file_that_is_asked_again_is_remembered_once(tmp_path, monkeypatch):
    monkeypatch.setattr("scuff.digests.WORTH_IT", 0)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.bmp").write_bytes(b"a")
    for answer in (5, 6, 7):  # to the other question it has none, and so both are asked every time
        assert ask_files(tmp_path, ["a.bmp"], ["first", "second"], lambda _, told=answer: [told, 0]).tolist() == [
            [answer, 0]
        ]
    (remembered,) = (tmp_path / "cache").rglob("first/*.npy")
    assert np.load(remembered)[:, 1].tolist() == [0, 7]


# --- names and places -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["../x", "/x", "a/b", "a\\b", "C:x", ".", "..", ".x", "", " ", "a ", "a\0", "a\nb", "é" * 80, "\ud800", 3]
)
def test_names_that_could_lead_elsewhere_are_none(name):
    assert not is_file_name(name)


@pytest.mark.parametrize("name", ["fog", "fog-3", "light fog", "Nebel_ü", "a.b", "-a", "é" * 75])
def test_names_that_become_paths(name):
    assert is_file_name(name)


@pytest.mark.parametrize("place", ["s3:x", "memory:x", "a::b", "simplecache::s3://b/x", "https://h/x", "file:x"])
def test_places_that_are_none_are_refused(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"did you mean|not supported|nothing can be written"):
        check_out(place)
    assert not list(tmp_path.iterdir())


def test_a_path_never_becomes_a_folder_of_an_odd_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="no path of this machine"), write_by_rename(Path("s3://bucket/x.png")):
        pass
    assert not list(tmp_path.iterdir())


def test_a_store_never_makes_a_folder_of_an_odd_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for place in ("s3:x", "a::b"):
        with pytest.raises(ValueError, match=r"did you mean|not supported"):
            Store(place)
    assert Store("~/x").root == str(tmp_path / "home" / "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "..", "a\\b", ""])
def test_no_name_of_a_suite_recipe_model_or_plugin_leads_outside(name):
    with pytest.raises(scuff.SuiteError, match="the name must be text without /"):
        scuff.Suite(name, 1, 32, {"fog": {"strength": 1.0, "decay": 2.0}})
    with pytest.raises(ValueError, match="its name must be text without /"):
        replace(find_recipe("fashion"), name=name)
    with pytest.raises(ValueError, match="a model's name"):
        open_model(torch.nn.Flatten(), name=name or "/")
    apply = lambda x: x  # noqa: E731
    apply.__name__ = name
    with pytest.raises(ValueError, match="a corruption needs the name of a function"):
        register(family="noise")(apply)


def test_members_of_a_shard_stay_below_it(tmp_path):
    """Whatever folders and pictures are called, an archive that is unpacked writes into its own folder only."""
    for name in ("..a", "a..", "a b", "-x", "~", "c%2F..%2F"):
        (tmp_path / "pictures" / name).mkdir(parents=True)
        make_picture(9, 9).save(tmp_path / "pictures" / name / f"x{name}.png")
    options = {"only": ["contrast"], "severities": [1], "layout": "webdataset", "engine": LocalEngine(1)}
    export(tmp_path / "pictures", tmp_path / "out", "imagenet-c", **options)
    with tarfile.open(tmp_path / "out" / "contrast" / "1" / "shard-000000.tar") as tar:
        members = tar.getnames()
        tar.extractall(tmp_path / "unpacked", filter="data")
    assert len(members) == 10  # hidden folders are left out
    assert not any(member.startswith("/") or ".." in member.split("/") for member in members)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "pictures", "unpacked"]
