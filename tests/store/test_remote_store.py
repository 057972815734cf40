"""Results that lie elsewhere: a real S3 server, memory, and file systems that can only rename."""

import json
import os
import pickle
import subprocess
import sys
import uuid
from pathlib import Path
from typing import ClassVar

import fsspec
import numpy as np
import pytest
import s3fs
import torch
from fsspec.implementations.memory import MemoryFileSystem
from made_images import bars
from s3_server import forget_connections, s3_server
from typer.testing import CliRunner

from scuff.augment import open_scheme
from scuff.augment.ant import AdversarialNoise, NoiseGenerator, save_generator
from scuff.cli import app
from scuff.engine import LocalEngine
from scuff.models import build, open_model, read_origin, save_model
from scuff.store import Store, Unreachable, find_file, places
from scuff.studies import correlation, mscr, overlap, read_overlap
from scuff.suites import load_suite
from scuff.tensors import read_metadata, read_tensors, write_tensors
from scuff.training import Recipe, train
from scuff.training.run import generator_file

QUICK = Recipe("quick", "small_cnn", epochs=1, batch_size=64, learning_rate=0.1, optimiser="muon")
IMAGES = bars(256)


class Odd(MemoryFileSystem):
    """No object store, as far as anybody knows."""

    protocol = "odd"
    store: ClassVar = {}
    pseudo_dirs: ClassVar = [""]


fsspec.register_implementation("odd", Odd, clobber=True)


@pytest.fixture(scope="module")
def bucket():
    with s3_server() as address:
        yield address


@pytest.fixture(params=["local", "memory", "odd", "s3"])
def store(request, tmp_path):
    if request.param == "local":
        return Store(tmp_path / "deep")
    root = request.getfixturevalue("bucket") if request.param == "s3" else f"{request.param}://"
    return Store(f"{root.rstrip('/') if request.param == 's3' else root}/{uuid.uuid4()}/results")


# --- files ------------------------------------------------------------------------------------------------------------


def test_files_come_back_from_everywhere(store):
    assert store.names("rows", ".txt") == []
    assert not store.exists("rows/a.txt")
    store.write("rows/a.txt", b"first")
    store.write("rows/a.txt", b"second")
    store.write("rows/deep/b.txt", b"third")
    store.write("rows/c.csv", b"fourth")
    assert store.names("rows", ".txt") == ["rows/a.txt", "rows/deep/b.txt"]
    assert store.names("rows", "") == ["rows/a.txt", "rows/c.csv", "rows/deep/b.txt"]
    assert store.exists("rows/a.txt")
    assert not store.exists("rows")
    assert store.read("rows/a.txt") == b"second"
    assert store.read("rows/a.txt", 1, 3) == b"ec"
    assert list(store.read_each(["rows/c.csv", "rows/a.txt"])) == [b"fourth", b"second"]
    assert store.child("rows").names("", ".txt") == ["a.txt", "deep/b.txt"]
    store.remove("rows/a.txt")
    store.remove("rows/a.txt")
    assert store.names("rows", ".txt") == ["rows/deep/b.txt"]
    with pytest.raises(FileNotFoundError):
        store.read("rows/a.txt")


def test_an_address_finds_the_file_again(store):
    store.write("models/a.txt", b"here")
    address = store.address("models/a.txt")
    folder, name = find_file(address)
    assert (folder.read(name), name) == (b"here", "a.txt")
    assert os.path.isabs(address) if store.is_local else address.startswith(store.root)
    assert folder.stamp(name) == store.stamp("models/a.txt")
    with pytest.raises(ValueError, match="expected the address of a file"):
        find_file(f"{store.root}/")


def test_a_relative_folder_is_found_from_another_one(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    store = Store("runs")
    store.write("a.txt", b"here")
    address, sent = store.address("a.txt"), pickle.dumps(store)
    monkeypatch.chdir(tmp_path / "other")
    assert Path(address).read_bytes() == b"here"
    assert pickle.loads(sent).read("a.txt") == b"here"


def test_a_block_that_fails_leaves_all_as_it_was(store):
    store.write("a.bin", b"old")

    def write_half(name):
        with store.writing(name) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    for name in ("a.bin", "new.bin"):
        with pytest.raises(KeyboardInterrupt):
            write_half(name)
    with store.writing("b.bin") as file:
        file.write(b"who")
        file.write(b"le")
    assert store.read("a.bin") == b"old"
    assert store.names("", "") == ["a.bin", "b.bin"]  # no temporary files either
    assert store.read("b.bin") == b"whole"


def test_a_store_can_be_sent_and_reopens_itself(store):
    store.write("a.txt", b"here")
    sent = pickle.loads(pickle.dumps(store))
    assert sent.read("a.txt") == b"here"
    assert sent.is_local == store.is_local
    assert sent.address("a.txt") == store.address("a.txt")


def test_what_others_write_is_seen_at_once(bucket):
    """Although s3fs remembers listings: it is a second client that writes, and the first has looked before."""
    ours, theirs = Store(f"{bucket}/seen"), s3fs.S3FileSystem(skip_instance_cache=True)
    ours.write("rows/a.txt", b"a")
    fsspec.filesystem("s3").ls("bucket/seen/rows")  # which fills its memory
    assert ours.names("rows", ".txt") == ["rows/a.txt"]
    theirs.pipe_file("bucket/seen/rows/b.txt", b"b")
    assert ours.exists("rows/b.txt")
    assert ours.names("rows", ".txt") == ["rows/a.txt", "rows/b.txt"]
    theirs.rm_file("bucket/seen/rows/a.txt")
    assert not ours.exists("rows/a.txt")


def test_an_object_is_uploaded_once_and_neither_copied_nor_renamed(bucket, monkeypatch):
    calls = []
    call = s3fs.S3FileSystem._call_s3

    async def count(self, method, *arguments, **options):
        calls.append(method)
        return await call(self, method, *arguments, **options)

    store = Store(f"{bucket}/once")
    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", count)
    store.write("a.bin", b"content")
    with store.writing("b.bin") as file:
        file.write(b"content")
    assert calls == ["put_object", "put_object"]
    calls.clear()
    assert len(store.names("", ".bin")) == 2
    assert calls == ["list_objects_v2"]


# --- many writers -----------------------------------------------------------------------------------------------------


WRITER = """
import pickle, sys
store, content, times = pickle.load(sys.stdin.buffer)
for number in range(times):
    store.write("cell", content)
    store.write(f"own/{content[:1].decode()}-{number}", content)
"""


def start_writer(*what):
    writer = subprocess.Popen([sys.executable, "-c", WRITER], stdin=subprocess.PIPE)
    writer.stdin.write(pickle.dumps(what))
    writer.stdin.close()
    return writer


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_writers_at_the_same_time_never_mix_and_never_hide_files(kind, tmp_path, bucket):
    store = Store(tmp_path if kind == "local" else f"{bucket}/writers")
    times = 100 if kind == "local" else 8
    contents = [bytes([letter]) * 200_000 for letter in b"ab"]
    store.write("cell", contents[0])
    store.write("own/first", b"")
    writers = [start_writer(store, content, times) for content in contents]
    readings, seen = set(), set()
    while any(writer.poll() is None for writer in writers):
        readings.add(store.read("cell"))
        names = {name for name in store.names("own", "") if not name.endswith(".tmp")}
        assert seen <= names  # what was there once stays visible, whatever comes and goes beside it
        seen = names
    assert [writer.returncode for writer in writers] == [0, 0]
    assert readings <= set(contents)
    assert len(store.names("own", "")) == 2 * times + 1


FORKED = """
import os, sys
from scuff.store import Store
store = Store(sys.argv[1])
store.write("before", b"1")
child = os.fork()
if not child:
    store.write("after", store.read("before") + b"2")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(store.read("after"))
"""


def test_a_forked_process_opens_its_own_connection(bucket):
    run = [sys.executable, "-c", FORKED, f"{bucket}/forked"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "b'12'", done.stderr


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_a_bucket_that_does_not_exist_is_refused_at_once(bucket):
    with pytest.raises(ValueError, match="there is no bucket s3://nowhere; make it first"):
        Store("s3://nowhere/study")
    with pytest.raises(ValueError, match="expected a bucket"):
        Store("s3://")


def test_without_credentials_there_is_one_sentence(bucket, monkeypatch, tmp_path):
    store = Store(f"{bucket}/kept")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    forget_connections()
    with pytest.raises(ValueError, match=r"there are no valid credentials .*; set AWS_ACCESS_KEY_ID"):
        Store(f"{bucket}/study")
    sent = pickle.loads(pickle.dumps(store))
    with pytest.raises(ValueError, match="there are no valid credentials"):
        sent.exists("a")  # and not: it does not exist
    forget_connections()


def test_a_server_that_does_not_answer_is_named(bucket, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")  # sooner told
    forget_connections()
    with pytest.raises(Unreachable, match=r"cannot be reached: .*127\.0\.0\.1:9.*check the address"):
        Store(f"{bucket}/study")
    done = CliRunner().invoke(app, ["report", f"{bucket}/study"])
    assert (done.exit_code, "cannot be reached" in done.output) == (2, True)
    forget_connections()


def test_denied_access_is_told(bucket, monkeypatch):
    store = Store(f"{bucket}/denied")

    async def deny(*_, **__):
        raise PermissionError("Access Denied")

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", deny)
    for question in (lambda: store.exists("a"), lambda: store.read("a"), lambda: store.write("a", b"")):
        with pytest.raises(ValueError, match=r"s3://bucket/denied: access is denied \(Access Denied\); set AWS_"):
            question()


def test_a_missing_package_says_what_to_install(monkeypatch):
    def fail(*_, **__):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", fail)
    with pytest.raises(ValueError, match=r'pip install "scuff\[s3\]"'):
        places.open_place("s3://bucket/study")
    with pytest.raises(ValueError, match="Install s3fs"):
        places.open_place("odd://study")


# --- models -----------------------------------------------------------------------------------------------------------


def test_models_are_saved_and_opened_anywhere(bucket, tmp_path):
    network = build("small_cnn", 10, 1)
    address = f"{bucket}/nets/a=b/net.safetensors"
    made = {"recipe": "none", "seed": 3}
    assert save_model(network, address, mean=(0.5,), std=(0.25,), origin=made) == address
    here = save_model(network, tmp_path / "net.safetensors", mean=(0.5,), std=(0.25,), origin=made)
    assert len(here.read_bytes()) == len(fsspec.filesystem("s3").cat_file(address))
    opened = open_model(f"far={address}")
    assert (opened.name, opened.address, opened.mean) == ("far", address, (0.5,))
    assert opened.fingerprint() == open_model(here).fingerprint()
    assert open_model(address).name == "net"
    assert read_origin(address) == read_origin(here) == made
    torch.save(network.state_dict(), tmp_path / "net.pt")
    Store(bucket).write("net.pt", (tmp_path / "net.pt").read_bytes())
    assert open_model(f"{bucket}/net.pt").fingerprint() == open_model(tmp_path / "net.pt").fingerprint()


def test_models_that_are_not_there_or_damaged_are_named(bucket):
    with pytest.raises(ValueError, match=r"there is no file s3://bucket/none\.safetensors"):
        open_model(f"{bucket}/none.safetensors")
    Store(bucket).write("bad.safetensors", b"no weights at all, whatever its name says")
    for read in (open_model, read_origin):
        with pytest.raises(ValueError, match=r"cannot read s3://bucket/bad\.safetensors as safetensors"):
            read(f"{bucket}/bad.safetensors")


@pytest.mark.parametrize("words", [1, 3000])
def test_metadata_are_read_without_the_tensors(bucket, monkeypatch, words):
    """Of 4 MB the header alone is fetched, also where it is longer than what is asked for first."""
    address, told = f"{bucket}/large.safetensors", {str(number): "x" * 40 for number in range(words)}
    write_tensors(address, {"weight": torch.ones(1000, 1000)}, told)
    fetched, read = [], Store.read

    def count(self, *arguments):
        content = read(self, *arguments)
        fetched.append(len(content))
        return content

    monkeypatch.setattr(Store, "read", count)
    assert read_metadata(address) == told
    assert sum(fetched) < 300_000
    assert torch.equal(read_tensors(address)[0]["weight"], torch.ones(1000, 1000))


def test_a_training_goes_on_from_elsewhere(bucket, tmp_path, monkeypatch):
    """Interrupted, it has left its state in the bucket; the weights in the end are those of a local file."""
    monkeypatch.setattr("scuff.training.run.SECONDS_BETWEEN", 0.0)
    options = {"data": IMAGES, "recipe": QUICK, "epochs": 2, "device": "cpu"}
    whole = train(out=tmp_path / "net.safetensors", **options)

    def stop(done, total):
        if done * 2 > total:
            raise KeyboardInterrupt

    address = f"{bucket}/training/net.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train(out=address, **options, progress=stop)
    assert Store(bucket).names("training", "") == ["training/net.partial.safetensors"]
    seen = []
    assert train(out=address, **options, progress=lambda done, total: seen.append(done)) == address
    assert len(seen) < 8  # batches of two epochs
    assert Store(bucket).names("training", "") == ["training/net.safetensors"]
    assert open_model(address).fingerprint() == open_model(whole).fingerprint()
    tuned = [
        train(IMAGES, QUICK, out, start=start, device="cpu")
        for out, start in ((tmp_path / "tuned.safetensors", whole), (f"{bucket}/tuned.safetensors", address))
    ]
    assert read_origin(tuned[0]) == read_origin(tuned[1])
    with pytest.raises(ValueError, match=r"tuned\.safetensors is there already, and was trained otherwise \(seed"):
        train(IMAGES, QUICK, tuned[1], start=address, device="cpu", seed=1)


def test_learned_noise_is_kept_beside_its_network_anywhere(bucket):
    file = generator_file(f"{bucket}/noise/net.safetensors")
    assert file == f"{bucket}/noise/net.generator.safetensors"
    noise = AdversarialNoise(NoiseGenerator(3), 1.5)
    save_generator(noise, file)
    assert open_scheme(f"ant:{file}").settings() == noise.settings()


def test_a_suite_is_read_from_anywhere(bucket):
    suite = load_suite("cifar10-c")
    Store(bucket).write("mine.yaml", suite.to_yaml().encode())
    assert load_suite(f"{bucket}/mine.yaml") == suite
    with pytest.raises(ValueError, match=r"cannot read the suite file s3://bucket/other\.yaml"):
        load_suite(f"{bucket}/other.yaml")


# --- a study ----------------------------------------------------------------------------------------------------------


def test_a_study_is_interrupted_here_and_finished_by_another_driver(bucket, tmp_path):
    """The first driver dies after one training; another process goes on, and the result is that of a local folder."""
    for name, images in (("train", IMAGES), ("test", bars(100, seed=1))):
        pixels = images.read(range(len(images))).permute(0, 2, 3, 1).numpy()
        np.savez(tmp_path / f"{name}.npz", images=pixels, labels=images.labels)
    choice = {"recipe": "fashion", "epochs": 1, "only": ["brightness", "contrast"], "limit": 50, "device": "cpu"}
    data, choice["test"] = (f"npz:{tmp_path / name}.npz" for name in ("train", "test"))
    out, trained = f"{bucket}/study", []

    def stop(what, done, total):
        trained.extend(Store(out).names("models", ".safetensors"))
        if trained:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        overlap("cifar10-c", data, out, **choice, engine=LocalEngine(1), progress=stop)
    assert 1 <= len(set(trained)) < 3
    before = Store(out).stamp(trained[0])
    with pytest.raises(ValueError, match="is not finished; run the same command again"):
        read_overlap(out)
    options = f"--only brightness,contrast --recipe fashion --epochs 1 --limit 50 --data {data} --test {choice['test']}"
    command = ["overlap", "cifar10-c", *options.split(), "--device", "cpu", "--processes", "1", "--out", out]
    run = [sys.executable, "-m", "scuff", *command]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert Store(out).stamp(trained[0]) == before  # which was not trained again
    overlap("cifar10-c", data, tmp_path / "here", **choice, engine=LocalEngine(1))
    for array in ("hits", "values"):
        assert np.array_equal(getattr(read_overlap(out), array), getattr(read_overlap(tmp_path / "here"), array))
    for name in ("overlap.csv", "accuracies.csv"):
        assert Store(out).read(name) == (tmp_path / "here" / name).read_bytes()
    shown = CliRunner().invoke(app, ["report", out])
    assert (shown.exit_code, shown.output.strip()) == (0, f"Report: {out}/report.html")
    assert b"brightness" in Store(out).read("report.html")
    design = CliRunner().invoke(app, ["design", "nonoverlapping", out])
    assert "cifar10-c/brightness" in design.output  # which is too little trained to choose it
    assert json.loads(Store(out).read("overlap.json"))["limit"] == 50


def test_studies_of_points_and_of_distances_need_no_folder(tmp_path):
    """The other studies: in memory the same files as in a folder, whose arrays and tables are compared byte by byte."""
    draw = np.random.default_rng(0)
    points = draw.random((60, 2)), np.arange(60) % 2
    schemes = {
        "recipe": QUICK,
        "extractor": open_model(build("small_cnn", 4, 1), name="net"),
        "test": IMAGES,
        "limit": 20,
    }
    schemes |= {"images": 4, "samples": 2, "augmentations": 3, "only": ["fog"], "severities": [3], "device": "cpu"}
    places = tmp_path, f"memory://{uuid.uuid4()}"
    for place in places:
        mscr("1-nn", points, f"{place}/points", runs=1, copies=2, train_noise=[0, "1x"], engine=LocalEngine(1))
        correlation("powerset-5", "cifar10-c", IMAGES, f"{place}/near", **schemes, engine=LocalEngine(1))
    here, there = map(Store, places)
    names = here.names("", "")
    assert [name for name in there.names("", "") if "progress/" not in name] == [
        name for name in names if "progress/" not in name
    ]
    compared = [name for name in names if name.endswith((".npz", ".csv", ".parquet"))]
    assert len(compared) > 10
    for name in compared:
        assert here.read(name) == there.read(name), name
    assert not there.is_shared
    assert here.is_shared
