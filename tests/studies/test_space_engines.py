"""Studies of feature space as cells: the same files from any number of processes, failures, and what is sent around."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from scuff.data import array_source, open_source
from scuff.engine import CellsFailed, LocalEngine, read_journals
from scuff.models import build, open_model, save_model
from scuff.ranges import Range
from scuff.store import Store
from scuff.studies import CorrelationStudy, DistancesStudy, correlation, distances, subsets, trainings
from scuff.studies.calibration.bench import plan_bench
from scuff.studies.calibration.study import calibrate_suite
from scuff.studies.transform_space import cells as scheme_cells
from scuff.studies.transform_space.cells import Centres, SchemeDistances
from scuff.studies.transform_space.features import Encoder
from scuff.suites import Suite, load_suite
from scuff.training import find_recipe

SUITE = load_suite("cifar10-c")
FEW = {"images": 4, "samples": 2, "augmentations": 3, "only": ["fog", "contrast"], "severities": [3]}
QUICK = replace(find_recipe("fashion"), epochs=1, batch_size=64)
TRAINED = {"recipe": QUICK, "test": "fashion", "limit": 20, **FEW}
ONE, TWO = LocalEngine(processes=1), LocalEngine(processes=2)


@pytest.fixture(scope="module")
def small():
    return open_source("fashion", "train").take(range(128))


@pytest.fixture(scope="module")
def net(tmp_path_factory):
    """The file of a network."""
    file = tmp_path_factory.mktemp("net") / "net.safetensors"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        save_model(open_model(build("small_cnn", 10, 1).eval(), name="net"), file)
    return str(file)


def contents(folder) -> dict:
    """What a study has computed: arrays, rows, tables as bytes, and of models the weights, without when and where."""
    found = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        if path.suffix in (".npz", ".csv", ".parquet"):
            found[name] = path.read_bytes()
        elif path.suffix == ".safetensors":
            found[name] = {key: value.tobytes() for key, value in load_file(path).items()}
    return found


# --- the same everywhere --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_number_of_processes_makes_no_difference(tmp_path, small):
    for name, engine in (("one", ONE), ("two", TWO)):
        found = correlation(["none", "gaussian:0.1"], SUITE, small, tmp_path / name, engine=engine, **TRAINED)
        assert len(found) == 2
    one, two = (contents(tmp_path / name) for name in ("one", "two"))
    assert one == two
    assert len([name for name in one if name.endswith(".npz")]) == 4  # two entries, two schemes
    assert len([name for name in one if name.endswith(".safetensors")]) == 3
    journal = read_journals(Store(tmp_path / "two"))[-1]
    assert {kind: (its["total"], its["done"]) for kind, its in journal["cells"].items()} == {
        "train": (3, 3),
        "centres": (2, 2),
        "scheme": (2, 2),
        "test": (3, 3),
    }
    assert (journal["title"], journal["state"]) == ("correlation", "finished")


def test_work_is_light_and_the_same_after_a_journey(tmp_path, small, net):
    plan = DistancesStudy("augmix", SUITE, "fashion", tmp_path, extractor=net, resamplings=2, **FEW).plan()
    encoders = plan.work.encoders()
    centres = Centres(plan.store, encoders, {SUITE.name: SUITE}, 2, "independent")
    schemes = SchemeDistances(
        plan.store, encoders, [plan.work.centre_files(r) for r in (0, 1)], plan.work.schemes, {"augmix": 3}
    )
    encoders.open(0)  # what is open here stays here
    sent = pickle.dumps((centres, schemes))
    assert len(sent) < 60_000  # neither the weights nor all images
    centres_there, schemes_there = pickle.loads(sent)
    for cell in plan.work.missing_centres():
        centres_there(cell, lambda *at: None)
    for cell in plan.work.missing_schemes():
        schemes_there(cell, lambda *at: None)
    there = contents(tmp_path)
    distances("augmix", SUITE, "fashion", tmp_path / "here", extractor=net, resamplings=2, **FEW)
    here = contents(tmp_path / "here")
    assert there == {name: here[name] for name in there}
    assert len(there) == 2 * (2 + 1)


def test_a_bench_travels_without_weights(small, net):
    bench = plan_bench(net, small, device=torch.device("cpu"))
    assert bench.open() is bench.open()
    sent = pickle.dumps(bench)
    assert len(sent) < len(pickle.dumps(small)) + 10_000
    again = pickle.loads(sent)
    assert again.settings() == bench.settings()
    assert np.array_equal(again.open().clean, bench.open().clean)


# --- failures -------------------------------------------------------------------------------------------------------


def test_a_scheme_that_fails_is_told_and_done_later(tmp_path, small, net, monkeypatch):
    original, names = scheme_cells.measure_scheme, ["none", "augmix", "gaussian:0.1"]

    def fails(encoder, scheme, *rest):
        if scheme.kind == "augmix":
            raise ValueError("no luck")
        return original(encoder, scheme, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(scheme_cells, "measure_scheme", fails)
        with pytest.raises(CellsFailed, match="scheme augmix: no luck") as caught:
            distances(names, SUITE, small, tmp_path, extractor=net, **FEW)
    assert [failure.cell for failure in caught.value.failures] == ["augmix"]
    assert not (tmp_path / "distances.csv").exists()
    plan = DistancesStudy(names, SUITE, small, tmp_path, extractor=net, **FEW).plan()
    assert [cell.name for cell in plan.work.missing_schemes()] == ["augmix"]
    found = distances(names, SUITE, small, tmp_path, extractor=net, **FEW)
    assert np.array_equal(found.msd, distances(names, SUITE, small, tmp_path / "b", extractor=net, **FEW).msd)


def test_a_resampling_without_a_centre_has_no_distances(tmp_path, small, net, monkeypatch):
    original, calls = Encoder.centres, []

    def fails(encoder, suite, entry, *rest):
        calls.append(entry)
        if len(calls) == 3:  # the first of the second resampling
            raise ValueError("no luck")
        return original(encoder, suite, entry, *rest)

    monkeypatch.setattr(Encoder, "centres", fails)
    with pytest.raises(CellsFailed, match="centres fog 2: no luck"):
        distances("augmix", SUITE, small, tmp_path, extractor=net, resamplings=2, **FEW)
    assert [path.parent.name for path in (tmp_path / "schemes").rglob("*.npz")] == ["0"]
    distances("augmix", SUITE, small, tmp_path, extractor=net, resamplings=2, **FEW)
    assert calls[4:] == ["fog"]


def test_a_training_that_fails_leaves_the_rest_of_a_correlation(tmp_path, small, net, monkeypatch):
    original, names = trainings.train_on, ["none", "gaussian:0.1"]

    def fails(images, recipe, out, *rest, **named):
        if "gaussian" in out:
            raise ValueError("no luck")
        return original(images, recipe, out, *rest, **named)

    options = {"extractor": net, "engine": ONE, **TRAINED}
    with monkeypatch.context() as patched:
        patched.setattr(trainings, "train_on", fails)
        with pytest.raises(CellsFailed, match=r"train gaussian-0\.1-.*: no luck"):
            correlation(names, SUITE, small, tmp_path, **options)
    there = contents(tmp_path)
    assert len([name for name in there if name.startswith("schemes/")]) == 2
    assert len([name for name in there if name.endswith(".parquet")]) == 3  # of the one network
    assert not [name for name in there if name.endswith(".csv")]
    assert len(CorrelationStudy(names, SUITE, small, tmp_path, **options).plan().work.missing()) == 1
    correlation(names, SUITE, small, tmp_path, **options)
    after = contents(tmp_path)
    assert all(after[name] == content for name, content in there.items())
    assert {"errors.csv", "correlations.csv", "distances.csv"} <= after.keys()


def test_subsets_stop_without_an_order_and_go_on(tmp_path, small, net, monkeypatch):
    options = {"recipe": QUICK, "test": "fashion", "limit": 20, "extractor": net, "sizes": (1,), "draws": 4}
    options |= {"kinds": ["closest"], "engine": ONE, **{key: FEW[key] for key in FEW if key != "augmentations"}}
    original = Encoder.centres

    def fails(encoder, suite, entry, *rest):
        if entry == "contrast":
            raise ValueError("no luck")
        return original(encoder, suite, entry, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(Encoder, "centres", fails)
        with pytest.raises(CellsFailed, match="centres contrast: no luck"):
            subsets("augmix", SUITE, small, tmp_path, **options)
    assert set(contents(tmp_path)) == {"centres/0/fog.npz"}
    assert subsets("augmix", SUITE, small, tmp_path, **options)["kind"].tolist() == ["all", "closest"]
    journal = next(one for one in read_journals(Store(tmp_path)) if one["state"] == "finished")
    assert {kind: (its["total"], its["there"], its["done"]) for kind, its in journal["cells"].items()} == {
        "train": (2, 0, 2),
        "test": (3, 0, 3),
        "centres": (2, 1, 1),
        "order": (1, 0, 1),
    }


class Stumbles:
    """A model that can tell black from white, and cannot bear to see a third."""

    is_strict = True

    def __call__(self, images):
        seen = images.flatten(1).mean(1)
        if Stumbles.is_strict and ((seen > 0.35) & (seen < 0.65)).any():
            raise RuntimeError("too grey")
        return torch.stack((0.5 - seen, seen - 0.5), 1)


def test_an_entry_that_fails_is_calibrated_later(tmp_path, monkeypatch):
    images = np.repeat(np.array([0, 255], np.uint8), 20)[:, None, None].repeat(8, 1).repeat(8, 2)
    source = array_source("halves", images, np.repeat([0, 1], 20))
    entries = {
        "noise": {"corruption": "gaussian_noise", "std": Range(0.01, 0.02)},
        "shift": {"corruption": "level_shift", "shift": Range(0.3, 0.6)},
    }
    suite, out = Suite("two", 1, 8, entries), tmp_path / "new.yaml"
    with pytest.raises(CellsFailed, match=r"calibrate shift: .*too grey"):
        calibrate_suite(Stumbles(), suite, source, lower=0.6, out=out)
    assert list(json.loads((tmp_path / "new.calibration.json").read_text())["entries"]) == ["noise"]
    assert not out.exists()
    monkeypatch.setattr(Stumbles, "is_strict", False)
    _, table = calibrate_suite(Stumbles(), suite, source, lower=0.6, out=out)
    assert table["entry"].tolist() == ["noise", "shift"]
