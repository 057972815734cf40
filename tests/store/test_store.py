"""Results lie in files that are whole or absent, here or anywhere that fsspec reaches."""

import os
import uuid

import numpy as np
import pytest

from scuff.store import Store, check_settings, read_rows, save_settings, write_rows

CONSTANT = {"model": "net", "source": "fashion", "suite": "cifar10-c", "corruption": "fog"}


def columns(count=5, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "severity": np.int16(3),
        "image_id": rng.integers(-(2**63), 2**63, count),
        "label": rng.integers(0, 10, count),
        "prediction": rng.integers(0, 10, count),
        "confidence": rng.random(count, dtype=np.float32),
    }


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path):
    return Store(tmp_path / "deep" / "down" if request.param == "local" else f"memory://{uuid.uuid4()}/results")


def test_files_come_back_and_are_listed(store):
    assert store.names("rows", ".parquet") == []
    assert not store.exists("rows/net/fog.parquet")
    store.write("rows/net/fog.parquet", b"first")
    store.write("rows/net/fog.parquet", b"second")
    store.write("rows/other/snow.parquet", b"third")
    store.write("rows/other/notes.txt", b"fourth")
    assert store.names("rows", ".parquet") == ["rows/net/fog.parquet", "rows/other/snow.parquet"]
    assert store.read("rows/net/fog.parquet") == b"second"
    assert store.exists("rows/net/fog.parquet")
    assert not store.exists("rows/net")  # a folder is no file


def test_a_file_can_be_removed_and_others_stay(store):
    store.write("a.csv", b"first")
    store.write("b.csv", b"second")
    store.remove("a.csv")
    store.remove("a.csv")  # which is no longer there
    assert not store.exists("a.csv")
    assert store.read("b.csv") == b"second"


def test_rows_come_back_with_their_types(store):
    first, second = columns(5, 0), columns(7, 1)
    write_rows(store, "rows/a.parquet", CONSTANT, first)
    write_rows(store, "rows/b.parquet", {**CONSTANT, "corruption": "snow"}, second)
    rows = read_rows(store, store.names("rows", ".parquet"))
    assert len(rows) == 12
    for column in ("image_id", "label", "prediction", "confidence"):
        assert rows[column].tolist() == [*first[column].tolist(), *second[column].tolist()]
    assert rows["severity"].tolist() == [3] * 12
    assert rows["corruption"].tolist() == ["fog"] * 5 + ["snow"] * 7
    assert all(rows[column].dtype == "category" for column in CONSTANT)
    assert rows["image_id"].dtype == np.int64
    assert rows["confidence"].dtype == np.float32


def test_the_same_rows_are_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_rows(Store(tmp_path), f"{name}.parquet", CONSTANT, columns())
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_fifty_thousand_rows_are_small(tmp_path):
    many = columns(50_000)
    many["image_id"] = np.arange(50_000)
    write_rows(Store(tmp_path), "rows.parquet", CONSTANT, many)
    assert os.path.getsize(tmp_path / "rows.parquet") < 500_000  # 4 bytes of random confidence, 2 x 4 bits of classes


def test_a_damaged_file_is_named(store):
    store.write("rows/net/fog.parquet", b"no parquet at all")
    with pytest.raises(ValueError, match=r"rows/net/fog\.parquet is damaged .* delete it"):
        read_rows(store, ["rows/net/fog.parquet"])


def test_no_rows_is_an_error_that_says_what_to_do(store):
    with pytest.raises(ValueError, match="no cell is finished; run the evaluation"):
        read_rows(store, [])


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    store = Store(tmp_path)
    store.write("cell", b"old")

    def fail(*_):
        raise OSError("no rename")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no rename"):
        store.write("cell", b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["cell"]
    assert store.read("cell") == b"old"


def test_settings_must_stay_the_same(store):
    settings = {"seed": 0, "cut": (256, 224), "scuff": "0.1"}
    assert not check_settings(store, "evaluation.json", settings)
    save_settings(store, "evaluation.json", settings)
    assert check_settings(store, "evaluation.json", {**settings, "scuff": "0.2"})  # worth noting, no reason to refuse
    with pytest.raises(ValueError, match=r"seed was 0, is now 1.*use another folder"):
        check_settings(store, "evaluation.json", {**settings, "seed": 1})


def test_settings_that_are_no_settings_are_refused(store):
    store.write("evaluation.json", b"[1, 2]")
    with pytest.raises(ValueError, match=r"evaluation\.json is not readable as settings"):
        check_settings(store, "evaluation.json", {})


def test_a_place_that_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(ValueError, match="is a file; expected a folder"):
        Store(tmp_path / "file")
    with pytest.raises(ValueError, match="got an empty name"):
        Store("")


def test_an_unknown_kind_of_place_is_refused():
    with pytest.raises(ValueError, match="nowhere://here"):
        Store("nowhere://here")
