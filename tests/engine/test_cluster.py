"""Cells on a Ray cluster of several nodes: placed by what they need, done whatever dies, equal to one machine's."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import ray
import torch
from ray.cluster_utils import Cluster
from safetensors.torch import load_file
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.data import open_source
from scuff.engine import CellsFailed, LocalEngine, Needs, RayEngine, Run, cluster, open_engine, read_journals
from scuff.store import Store
from scuff.studies import overlap, read_overlap

# Ray's own threads leave sockets and files to the garbage collector when a node is killed.
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

SMALL = {"num_cpus": 1, "object_store_memory": 80 << 20}


@pytest.fixture(scope="module")
def nodes():
    """A cluster whose head runs no cells, and two nodes that do; the second one has a GPU, as far as Ray can tell."""
    made = Cluster(initialize_head=True, head_node_args={**SMALL, "num_cpus": 0, "include_dashboard": False})
    made.add_node(**SMALL)
    made.add_node(**SMALL, num_gpus=1)
    ray.init(made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


# --- cells ------------------------------------------------------------------------------------------------------------


@dataclass
class Where:
    """Says where it is. Opens something with its first cell, and keeps it."""

    folder: Path
    opened: str | None = None

    def __call__(self, cell, advance):
        if self.opened is None:
            self.opened = str(os.getpid())
            with open(self.folder / self.opened, "a") as file:
                file.write("opened\n")
        for _ in range(600 if cell < 2 else 0):  # the first two wait for each other, so that both workers have one
            if len(list(self.folder.iterdir())) == 2:
                break
            time.sleep(0.1)
        return ray.get_runtime_context().get_node_id(), os.environ.get("CUDA_VISIBLE_DEVICES"), self.opened


def test_cells_are_placed_by_what_they_need_and_workers_keep_what_they_have_opened(nodes, tmp_path):
    with_gpu = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("GPU")]
    with Run(RayEngine()) as run:
        done = dict(run.cells("do", Where(tmp_path), range(20), needs=Needs(cpus=0.5, gpus=0.5)))
    assert set(done) == set(range(20))
    assert {node for node, _, _ in done.values()} == set(with_gpu)
    assert {gpu for _, gpu, _ in done.values()} == {"0"}
    assert {opened for _, _, opened in done.values()} == {path.name for path in tmp_path.iterdir()}
    assert [path.read_text() for path in tmp_path.iterdir()] == ["opened\n"] * 2  # two share the GPU
    with pytest.raises(scuff.files.Stopped, match=r"no machine of the cluster has what a cell needs \(CPU 1, GPU 2\)"):
        list(Run(RayEngine()).cells("do", Where(tmp_path), range(3), needs=Needs(gpus=2)))
    assert RayEngine().find_device(None).type == "cuda"
    assert RayEngine().find_device("cpu").type == "cpu"
    with pytest.raises(ValueError, match="a cluster chooses the GPU itself; use cuda"):
        RayEngine().find_device("cuda:1")


@dataclass(frozen=True)
class FailFirst:
    """Fails on the first node that is asked for a cell, and notes all attempts; an odd cell fails everywhere."""

    folder: Path

    def __call__(self, cell, advance):
        node = ray.get_runtime_context().get_node_id()
        with open(self.folder / str(cell), "a") as file:
            file.write(f"{node}\n")
        first = (self.folder / str(cell)).read_text().splitlines()[0]
        if cell % 2:
            raise ValueError(f"{cell} is odd")
        if node == first:
            raise MemoryError("CUDA out of memory") if cell else OSError("there is no such disk")
        return node


def test_a_cell_that_fails_is_tried_elsewhere_with_a_limit_and_the_reasons_are_kept(nodes, tmp_path):
    (tmp_path / "tried").mkdir()
    store, done = Store(tmp_path), {}

    def run_some():
        with Run(RayEngine(), store) as run:
            done.update(run.cells("do", FailFirst(tmp_path / "tried"), [0, 1, 2]))

    with pytest.raises(CellsFailed) as failed:
        run_some()
    tried = {path.name: path.read_text().splitlines() for path in (tmp_path / "tried").iterdir()}
    assert {cell: len(places) for cell, places in tried.items()} == {"0": 2, "1": 3, "2": 2}
    assert all(places[0] != places[1] for places in tried.values())
    assert set(done) == {0, 2}
    (failure,) = failed.value.failures
    assert (failure.cell, failure.reason, failure.attempts) == ("1", "1 is odd", 3)
    its = read_journals(store)[0]
    assert (its["state"], its["cells"]["do"]["retried"]) == ("failed", 4)
    reasons = {"MemoryError: CUDA out of memory", "OSError: there is no such disk", "1 is odd"}
    assert reasons == {retry["reason"] for retry in its["retries"]}


@dataclass(frozen=True)
class SlowOnce:
    """Takes for ever with the first attempt at cell 0, as on a machine that is ill."""

    folder: Path

    def __call__(self, cell, advance):
        mark = self.folder / "began"
        if cell == 0 and not mark.exists():
            mark.touch()
            time.sleep(600)
        return cell


def test_a_cell_that_takes_far_too_long_is_also_done_elsewhere(nodes, tmp_path, monkeypatch):
    monkeypatch.setattr("scuff.engine.schedule.SLOW_AT_LEAST", 1.0)
    with Run(RayEngine()) as run:
        assert sorted(cell for cell, _ in run.cells("do", SlowOnce(tmp_path), range(4))) == [0, 1, 2, 3]


def test_workers_that_cannot_start_end_the_run_with_the_reason(nodes, tmp_path, monkeypatch):
    class Broken(cluster.Worker):
        def __init__(self, *given):
            raise ImportError("there is no scuff here")

    monkeypatch.setattr(cluster, "Worker", Broken)
    monkeypatch.setattr(cluster, "UNWILLING", 1)
    with pytest.raises(scuff.files.Stopped, match="no worker of the cluster starts: ImportError: there is no scuff"):
        list(Run(RayEngine()).cells("do", Where(tmp_path), range(3)))


def test_a_cluster_that_has_lost_its_machines_is_waited_for_and_one_that_never_had_any_is_not():
    machines = [{"Alive": True, "Resources": {"CPU": 2.0}}]
    actors = object.__new__(cluster._Actors)
    actors._ray, actors._needs, actors._had_room = SimpleNamespace(nodes=lambda: machines), {"CPU": 1}, False
    assert actors._count_slots() == 2
    machines[0]["Alive"] = False
    assert [actors._count_slots(), actors._count_slots()] == [0, 0]
    actors._had_room = False
    with pytest.raises(scuff.files.Stopped, match="no machine of the cluster has what a cell needs"):
        actors._count_slots()


def test_an_address_where_nobody_answers_is_refused_at_once(monkeypatch):
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    for address, reason in (("127.0.0.1:9", "refused"), ("no-such-host.invalid:6379", "")):
        with pytest.raises(ValueError, match=f"cannot reach a Ray cluster at {address}: .*{reason}"):
            RayEngine(address).connect()


@pytest.mark.parametrize("form", ["{}", "ray://{}"])
def test_a_program_that_answers_otherwise_than_ray_is_refused_in_seconds(form, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS_BETWEEN", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = form.format(f"127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ValueError, match=f"cannot reach a Ray cluster at {address}: timed out; without an address"):
            open_engine("ray", address=address)
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(ValueError, match="timed out"):
            open_engine("ray", address="auto")
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = form.format(f"127.0.0.1:{other.getsockname()[1]}")

        def answer():
            with other.accept()[0] as link:
                link.recv(1000)
                link.sendall(b"HTTP/1.1 400 Bad Request\r\n")

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(ValueError, match="what answers there is not Ray; its port is 6379"):
            open_engine("ray", address=address)
        answering.join()


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(
        ValueError, match=r'needs the package ray, which is not installed; run pip install "scuff\[cluster\]"'
    ):
        RayEngine().connect()


# --- an overlap study on Fashion-MNIST --------------------------------------------------------------------------------

NAMES = ("brightness", "contrast", "gaussian_noise")


@pytest.fixture(scope="module")
def fashion(tmp_path_factory):
    """A few hundred images of it, in files."""
    folder = tmp_path_factory.mktemp("fashion")
    for name, split, count in (("train", "train", 256), ("test", "test", 100)):
        source = open_source("fashion", split)
        some = source.take(range(0, count * (len(source) // count), len(source) // count))
        np.savez(folder / f"{name}.npz", images=some.images.array, labels=some.labels)
    return f"npz:{folder / 'train.npz'}", f"npz:{folder / 'test.npz'}"


def study(fashion, out, engine, progress=None):
    train, test = fashion
    options = {"recipe": "fashion", "epochs": 1, "only": NAMES, "test": test, "device": "cpu"}
    return overlap("cifar10-c", train, out, **options, engine=engine, progress=progress)


def command(fashion, out, address):
    """The same study from the command line."""
    train, test = fashion
    words = ["overlap", "cifar10-c", "--only", ",".join(NAMES), "--data", train, "--test", test, "--recipe", "fashion"]
    return [*words, "--epochs", "1", "--device", "cpu", "--out", str(out), "--engine", "ray", "--address", address]


@pytest.fixture(scope="module")
def alone(fashion, tmp_path_factory):
    """The study on one machine."""
    out = tmp_path_factory.mktemp("alone")
    return out, study(fashion, out, LocalEngine(1))


def same_cells(ours, theirs):
    """Every weight, and every answer of every model to every image, is the same."""
    names = sorted(path.relative_to(theirs) for path in theirs.rglob("*.safetensors"))
    assert len(names) == 4
    assert names == sorted(path.relative_to(ours) for path in ours.rglob("*.safetensors"))
    for name in names:
        first, second = (load_file(folder / name) for folder in (ours, theirs))
        assert all(torch.equal(first[key], second[key]) for key in first | second), name
    assert np.array_equal(read_overlap(ours).hits, read_overlap(theirs).hits)


def test_a_study_whose_node_dies_equals_that_of_one_machine_cell_for_cell(nodes, fashion, alone, tmp_path):
    doomed = nodes.add_node(**SMALL)
    killed = []

    def kill(what, done, total):
        if what.startswith("train") and done and not killed:
            killed.append(what)
            nodes.remove_node(doomed, allow_graceful=False)

    found = study(fashion, tmp_path, RayEngine(), kill)
    assert killed
    assert np.array_equal(found.values, alone[1].values, equal_nan=True)
    same_cells(tmp_path, alone[0])
    its = read_journals(Store(tmp_path))[0]
    assert (its["engine"], its["state"]) == ("ray", "finished")
    assert [(kind, each["done"], each["total"]) for kind, each in its["cells"].items()] == [
        ("train", 4, 4),
        ("test", 4, 4),
    ]


def test_a_killed_driver_is_started_again_and_nothing_is_computed_twice(nodes, fashion, alone, tmp_path):
    words = command(fashion, tmp_path, nodes.address)
    driver = subprocess.Popen([sys.executable, "-m", "scuff", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    models = tmp_path / "models"
    for _ in range(3600):
        if list(models.rglob("*.safetensors")) or driver.poll() is not None:
            break
        time.sleep(0.05)
    driver.send_signal(signal.SIGKILL)
    said = driver.communicate()[0]
    time.sleep(1.0)  # its workers hear of it
    before = {path: path.stat().st_mtime_ns for path in models.rglob("*.safetensors")}
    assert before, said
    assert not (tmp_path / "hits.npz").exists()
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 0, again.output
    assert f"Models: 4 (1 seed), {len(before)} trained already" in again.output
    assert all(path.stat().st_mtime_ns == written for path, written in before.items())
    same_cells(tmp_path, alone[0])
    trained = read_journals(Store(tmp_path))[-1]["cells"]["train"]
    assert (trained["there"], trained["done"]) == (len(before), 4 - len(before))
