"""Exports of large datasets: planned at little cost, made in parts, anywhere, with an estimate before."""

import contextlib
import pickle

import numpy as np
import pytest
from made_exports import StopAfter, make_picture, tree

import scuff
from scuff.engine import LocalEngine
from scuff.export import estimate, export, plan_export, run_plan
from scuff.export.folder import Chunk
from scuff.store import Store

FEW = {"only": ["gaussian_noise", "contrast"], "severities": [2, 5]}
HERE = LocalEngine(1)


@pytest.fixture
def pictures(tmp_path):
    """Nineteen pictures: two chunks and a bit."""
    root = tmp_path / "pictures"
    for number in range(19):
        path = root / f"class{number % 3}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        make_picture(12, 14, number).save(path)
    return root


@pytest.fixture
def images(tmp_path):
    """A hundred images of 8 x 8 with labels."""
    images = np.random.default_rng(0).integers(0, 256, (100, 8, 8, 3), dtype=np.uint8)
    np.savez(tmp_path / "data.npz", images=images, labels=np.arange(100) % 10)
    return images


# --- plans ----------------------------------------------------------------------------------------------------------


def test_a_plan_lists_every_cell_once_and_asks_for_no_file(pictures, tmp_path, monkeypatch):
    out = tmp_path / "out"
    export(pictures, out, "imagenet-c", **{**FEW, "severities": [2]}, engine=HERE)
    listed, asked = [], []
    names, exists = Store.names, Store.exists
    monkeypatch.setattr(Store, "names", lambda self, *below: listed.append(below[0]) or names(self, *below))
    monkeypatch.setattr(Store, "exists", lambda self, name: asked.append(name) or exists(self, name))
    plan = plan_export(pictures, out, "imagenet-c", **FEW)
    assert sorted(listed) == ["contrast/2", "contrast/5", "gaussian_noise/2", "gaussian_noise/5", "progress"]
    assert asked == ["scuff.json"]
    assert (plan.missing, plan.tasks) == (38, 6)


def test_tasks_are_made_when_they_are_needed_and_know_what_is_missing(pictures, tmp_path):
    out = tmp_path / "out"
    export(pictures, out, "imagenet-c", **FEW, engine=HERE)
    for name in ("contrast/2/class0/0.png", "contrast/5/class0/0.png", "contrast/5/class2/8.png"):
        (out / name).unlink()
    plan = plan_export(pictures, out, "imagenet-c", **FEW)
    tasks = plan.work.tasks()
    assert iter(tasks) is tasks
    first, last = tasks
    assert isinstance(first, Chunk)
    assert first.missing == ((2, 0b10000000), (5, 0b10000000))  # the first of eight
    assert last.names[-1] == "class2/8.png"
    assert last.missing == ((5, 0b00100000),)  # the third of three
    assert (plan.missing, plan.tasks, first.outputs, last.outputs) == (3, 2, 2, 1)
    left = plan.work.left["contrast"]
    assert (left.images, left.reads) == (3, 2)
    assert run_plan(plan, HERE).written == 3
    assert export(pictures, out, "imagenet-c", **FEW, engine=HERE).skipped == 76


# --- arrays in parts --------------------------------------------------------------------------------------------------


def test_a_joined_array_is_that_of_one_call(images, tmp_path, monkeypatch):
    monkeypatch.setattr("scuff.export.arrays.PART", 3000)  # 15 images
    result = export(tmp_path / "data.npz", tmp_path / "out", "cifar10-c", **FEW, engine=HERE)
    assert (result.written, result.skipped) == (28, 0)
    for entry in FEW["only"]:
        whole = [scuff.corrupt(images, f"cifar10-c/{entry}", severity) for severity in (2, 5)]
        np.save(tmp_path / "expected.npy", np.concatenate(whole))
        assert (tmp_path / "out" / f"{entry}.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()
    monkeypatch.undo()
    export(tmp_path / "data.npz", tmp_path / "at-once", "cifar10-c", **FEW, engine=HERE)
    assert tree(tmp_path / "out") == tree(tmp_path / "at-once")


def test_an_array_goes_on_in_the_middle_of_a_corruption(images, tmp_path, monkeypatch):
    monkeypatch.setattr("scuff.export.arrays.PART", 3000)
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        export(tmp_path / "data.npz", out, "cifar10-c", **FEW, engine=HERE, progress=StopAfter(10))
    assert len(list((out / ".parts" / "gaussian_noise").iterdir())) == 10
    result = export(tmp_path / "data.npz", out, "cifar10-c", **FEW, engine=HERE)
    assert (result.written, result.skipped) == (18, 10)
    export(tmp_path / "data.npz", tmp_path / "fresh", "cifar10-c", **FEW, engine=HERE)
    assert tree(out) == tree(tmp_path / "fresh")
    assert not (out / ".parts").exists()


# --- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["folder", "npy", "npz", "webdataset"])
def test_a_destination_elsewhere_holds_the_same(pictures, images, tmp_path, layout):
    source = pictures if layout == "folder" else tmp_path / "data.npz"
    options = {**FEW, "layout": layout, "engine": HERE}
    address = f"memory://test-export-large/{layout}"
    with pytest.raises(KeyboardInterrupt):
        export(source, address, "cifar10-c", progress=StopAfter(2), **options)
    result = export(source, address, "cifar10-c", **options)
    assert result.skipped > 0
    export(source, tmp_path / "out", "cifar10-c", **options)
    store = Store(address)
    there = {name: store.read(name) for name in store.names("", "") if not name.startswith("progress/")}
    assert there == tree(tmp_path / "out")


def test_a_bucket_holds_the_same(pictures, tmp_path):
    from s3_server import s3_server

    options = {**FEW, "layout": "webdataset", "engine": HERE}
    export(pictures, tmp_path / "out", "imagenet-c", **options)
    with s3_server("exports") as bucket:
        with pytest.raises(KeyboardInterrupt):
            export(pictures, f"{bucket}/out", "imagenet-c", progress=StopAfter(2), **options)
        assert export(pictures, f"{bucket}/out", "imagenet-c", **options).skipped > 0
        store, shard = Store(f"{bucket}/out"), "contrast/5/shard-000000.tar"
        store.write(shard, store.read(shard)[:-1] + b"?")  # as long as before: its tag tells
        plan = plan_export(pictures, f"{bucket}/out", "imagenet-c", **options)
        assert (plan.missing, plan.work.stale) == (1, 1)
        assert export(pictures, f"{bucket}/out", "imagenet-c", **options).written == 1
        there = {name: store.read(name) for name in store.names("", "") if not name.startswith("progress/")}
    assert there == tree(tmp_path / "out")


def test_a_source_elsewhere_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be a folder or file of this machine, got s3://bucket/val"):
        plan_export("s3://bucket/val", tmp_path / "out", "imagenet-c")


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
@pytest.mark.parametrize(("gone", "words"), [("pictures", "the source"), ("out", "scuff.json of this export")])
def test_a_worker_that_does_not_see_the_places_says_so(pictures, tmp_path, layout, gone, words):
    plan = plan_export(pictures, tmp_path / "out", "imagenet-c", **FEW, layout=layout)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scuff.json").write_text("{}")
    (tmp_path / gone).rename(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match=f"does not find {words}.* under the same paths"):
        plan.work.do(next(plan.work.tasks()), lambda done, total: None)
    assert not list(tmp_path.glob("out/*/*"))


def test_paths_may_be_relative_to_where_a_run_began(pictures, tmp_path, monkeypatch):
    """A worker on a cluster is in another folder."""
    monkeypatch.chdir(tmp_path)
    plan = plan_export("pictures", "out", "imagenet-c", **FEW)
    assert plan.destination == "out"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "scuff.json").write_text("{}")
    with contextlib.chdir(pictures):
        do = pickle.loads(pickle.dumps(plan.work.do))
        assert [do(task, lambda done, total: None).written for task in plan.work.tasks()] == [16, 16, 16, 16, 6, 6]
    assert len(tree(tmp_path / "out")) == 76 + 1
    assert not (pictures / "out").exists()


# --- costs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["folder", "webdataset"])
def test_an_estimate_is_near_what_is_made(pictures, tmp_path, layout):
    plan = plan_export(pictures, tmp_path / "out", "imagenet-c", **FEW, layout=layout)
    cost = estimate(plan)
    assert not (tmp_path / "out").exists()
    assert [(part.cells, part.how) for part in cost.parts] == [(plan.tasks, "measured now on 4 images")]
    run_plan(plan, HERE)
    made = sum(len(content) for name, content in tree(tmp_path / "out").items() if name.count("/") > 1)
    # All pictures are alike, so their files are; in a tar they have headers of a kilobyte, which are not counted.
    headers = 19 * 4 * 2 * 1024 + 4 * 10240 if layout == "webdataset" else 0
    assert made - headers - 20_000 < cost.bytes < made * 1.05
    assert cost.cpu_hours > 0
    nothing = estimate(plan_export(pictures, tmp_path / "out", "imagenet-c", **FEW, layout=layout))
    assert (nothing.cells, nothing.bytes, nothing.cpu_hours) == (0, 0, 0)


def test_the_bytes_of_arrays_are_known(images, tmp_path):
    cost = estimate(plan_export(tmp_path / "data.npz", tmp_path / "out", "cifar10-c", **FEW))
    assert (cost.cells, cost.bytes) == (4, images.nbytes * 4)


def test_an_estimate_looks_for_pictures_that_can_be_read(pictures, tmp_path):
    for number in range(1, 19):
        (pictures / f"class{number % 3}" / f"{number}.png").write_text("hello")
    (part,) = estimate(plan_export(pictures, tmp_path / "out", "imagenet-c", **FEW, skip_unreadable=True)).parts
    assert part.how == "measured now on 1 image"
