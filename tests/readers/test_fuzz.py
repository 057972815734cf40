"""Readers and `scuff.corrupt` under mutated bytes and odd values: whatever comes, a result or a sentence.

Some minutes in all. The same in every run; another SCUFF_FUZZ, a whole number, tries others.
"""

import contextlib
import io
import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_evaluations import make_evaluation, save_evaluation
from PIL import Image

import scuff
from scuff.arrays import open_arrays
from scuff.corruptions import get, names
from scuff.data import open_points, open_source
from scuff.design.overlap.categories import read_categories
from scuff.engine import read_statuses
from scuff.evaluation.results import read_evaluation
from scuff.models import open_model
from scuff.models.architectures import build
from scuff.models.checkpoint import read_origin, save_model
from scuff.ranges import Range
from scuff.readers import read_json, read_yaml
from scuff.store import Store
from scuff.studies.validity.table import read_mapping
from scuff.suites import load_suite

pytestmark = pytest.mark.slow

SEED = int(os.environ.get("SCUFF_FUZZ", "0"))
MUTANTS = 150  # of each file
LONGEST = 20  # seconds for one of them
WORDS = [b"null", b"[]", b"{}", b"-1", b"0", b"1e999", b"99999999999999999999", b'"', b"\x00", b"\xff", b"&a ", b"*a"]
WORDS += [b"[" * 2000, b"../", b"nan", b": ", b"\n", b","]
ODD = [0, -1, 1, 0.0, -0.5, 1e-9, 1e9, 1e300, 10**30, float("nan"), float("inf"), True, None, "x", (1, 2), (2, 1), []]


@contextlib.contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail instead of hanging."""

    def stop(*_: object) -> None:
        pytest.fail(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def mutate(content: bytes, chance: random.Random) -> bytes:
    """A few bytes changed, left out, repeated or put in; or the end cut off."""
    mutant = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(mutant) + 1)
        stop = min(len(mutant), start + chance.choice((1, 2, 8, 64)))
        match chance.randrange(6):
            case 0:
                mutant[start:stop] = chance.randbytes(stop - start)
            case 1:
                del mutant[start:stop]
            case 2:
                mutant[start:start] = mutant[start:stop] * chance.choice((1, 3, 50))
            case 3:
                mutant[start:stop] = chance.choice(WORDS)
            case 4:
                mutant[start:start] = chance.choice(WORDS)
            case _:
                del mutant[start:]
    return bytes(mutant)


# --- files ------------------------------------------------------------------------------------------------------------


def npz(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def write_files(folder: Path) -> None:
    """One valid file of every kind, each in a folder of its own."""
    images, labels = np.zeros((6, 4, 4, 3), np.uint8), np.arange(6) % 3
    text = {
        "suite/my.yaml": load_suite("cifar10-c").to_yaml(),
        "drawn/my.yaml": load_suite("noc-candidates").to_yaml(),
        "mapping/my.yaml": "clean: val\nunit: percent\nnatural: {a: {accuracy: a, clean: b}}\n"
        "synthetic: {c: 'c.{corruption}.{severity}'}\nfamilies: {x: '^(r+)$'}\nmodels: {include: [r]}\n",
        "categories/my.yaml": "noise: [gaussian_noise, shot_noise]\nblur: [fog]\n",
        "labels/labels.json": '{"a.png": 1, "b.png": 0}',
        "table/labels.csv": "file,label\na.png,cat\nb.png,dog\n",
        "points/my.csv": "size,weight,label\n0.1,0.5,cat\n0.9,0.4,dog\n",
        "published/scuff.json": '{"suite": "cifar10-c", "severities": [1]}',
    }
    for name, content in text.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    for name in ("labels", "table"):
        for picture in "ab":
            Image.new("RGB", (4, 4)).save(folder / name / f"{picture}.png")
    for name in ("fog", "labels"):
        np.save(folder / "published" / f"{name}.npy", images if name == "fog" else labels)
    (folder / "arrays").mkdir()
    (folder / "arrays" / "my.npz").write_bytes(npz(images=images, labels=labels))
    np.save(folder / "arrays" / "my.npy", images)
    (folder / "vectors").mkdir()
    (folder / "vectors" / "my.npz").write_bytes(npz(x=np.eye(6), y=labels))
    (folder / "weights").mkdir()
    network = build("small_cnn", 4, 3)
    save_model(network, folder / "weights" / "my.safetensors", class_names=list("abcd"), mean=[0.5], std=[0.5])
    torch.save(network.state_dict(), folder / "weights" / "my.pt")
    save_evaluation(make_evaluation(folder / "made", images=8, models=("mlp",)), folder / "evaluation")
    cells = {"total": 4, "there": 0, "done": 2, "running": 1, "failed": 0, "retried": 0, "seconds": 3.0}
    journal = {"run": "r", "title": "t", "engine": "local", "state": "running", "seconds": 4.0, "workers": 2}
    journal |= {"started": "2026-01-01T00:00:00+00:00", "updated": "2026-01-01T00:01:40+00:00"}
    journal |= {"cells": {"train": cells}, "failures": [], "retries": [], "timeline": [[1.0, 1, 1]]}
    Store(folder / "runs").write("progress/1.json", json.dumps(journal).encode())


READERS: dict[str, Callable[[Path], object]] = {
    "suite/my.yaml": load_suite,
    "drawn/my.yaml": load_suite,
    "mapping/my.yaml": read_mapping,
    "categories/my.yaml": read_categories,
    "labels/labels.json": lambda file: open_source(f"folder:{file.parent}"),
    "table/labels.csv": lambda file: open_source(f"folder:{file.parent}"),
    "points/my.csv": lambda file: open_points(str(file), scale="none"),
    "published/scuff.json": lambda file: open_source(f"cifar10-c:{file.parent}"),
    "published/fog.npy": lambda file: open_source(f"cifar10-c:{file.parent}"),
    "published/labels.npy": lambda file: open_source(f"cifar10-c:{file.parent}"),
    "arrays/my.npz": lambda file: open_source(f"npz:{file}"),
    "arrays/my.npy": open_arrays,
    "vectors/my.npz": lambda file: open_points(str(file), scale="none"),
    "weights/my.safetensors": lambda file: (read_origin(file), open_model(file)),
    "weights/my.pt": open_model,
    "evaluation/evaluation.json": lambda file: read_evaluation(file.parent),
    "evaluation/models/0.json": lambda file: read_evaluation(file.parent.parent),
    "evaluation/rows/0000.parquet": lambda file: read_evaluation(file.parent.parent),
    "runs/progress/1.json": lambda file: read_statuses(Store(file.parent.parent)),
}


@pytest.fixture(scope="module")
def valid(tmp_path_factory):
    folder = tmp_path_factory.mktemp("valid")
    write_files(folder)
    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", READERS)
def test_a_mutated_file_is_read_or_refused(valid, tmp_path, name):
    shutil.copytree(valid / Path(name).parts[0], tmp_path / Path(name).parts[0])
    file, content = tmp_path / name, (valid / name).read_bytes()
    READERS[name](file)
    chance = random.Random(f"{SEED} {name}")
    for _ in range(MUTANTS):
        mutant = mutate(content, chance)
        file.write_bytes(mutant)
        with within(LONGEST):
            try:
                READERS[name](file)
            except (ValueError, OSError):
                pass
            except Exception as error:
                raise AssertionError(f"{name}: {mutant[:3000]!r}") from error


scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8))
values = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=5), v, max_size=3))


def places(value: object, at: tuple = ()) -> Iterator[tuple]:
    """The keys that lead to every part of a value."""
    yield at
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from places(inner, (*at, key))


@pytest.mark.parametrize("name", [n for n in READERS if n.endswith((".json", ".yaml"))])
@settings(max_examples=MUTANTS, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_value_of_another_kind_is_read_or_refused(valid, tmp_path_factory, name, data):
    top = Path(name).parts[0]
    folder = tmp_path_factory.getbasetemp() / "changed"
    if not (folder / top).exists():
        shutil.copytree(valid / top, folder / top)
    content = (valid / name).read_bytes()
    value = (read_json if name.endswith(".json") else read_yaml)(content, name)
    *way, last = data.draw(st.sampled_from([place for place in places(value) if place]))
    inner = value
    for key in way:
        inner = inner[key]
    inner[last] = data.draw(values)
    (folder / name).write_text(json.dumps(value))
    with within(LONGEST), contextlib.suppress(ValueError, OSError):
        READERS[name](folder / name)
    (folder / name).write_bytes(content)


# --- scuff.corrupt ----------------------------------------------------------------------------------------------------


def at_its_ends(limit: Range) -> list[float]:
    return [limit.low, limit.high, (limit.low + limit.high) // 2 if limit.is_whole else (limit.low + limit.high) / 2]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in names() if not get(name).sequence])
def test_corrupt_gives_an_image_or_a_sentence(name):
    corruption = get(name)
    chance = random.Random(f"{SEED} {name}")
    for height, width in ((1, 1), (1, 9), (7, 3), (20, 33), (1, 300)):
        image = torch.rand(2, chance.choice((1, 3)), height, width)
        for parameters in (
            {p: chance.choice(at_its_ends(limit)) for p, limit in corruption.limits.items()},
            {p: chance.choice(at_its_ends(limit)) for p, limit in corruption.limits.items()},
            {p: chance.choice([*ODD, *at_its_ends(limit)]) for p, limit in corruption.limits.items()},
        ):
            with within(LONGEST):
                try:
                    made = scuff.corrupt(image, name, parameters=parameters)
                except ValueError:
                    continue
                except Exception as error:
                    raise AssertionError(f"{name} {parameters} {tuple(image.shape)}") from error
            assert made.shape == image.shape, parameters
            assert bool(((made >= 0) & (made <= 1)).all()), parameters


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    severity=st.one_of(scalars, st.integers(-2, 7)),
    seed=st.one_of(scalars, st.integers(-(2**70), 2**70)),
    ids=st.one_of(scalars, st.lists(st.integers(-(2**70), 2**70), max_size=3)),
    name=st.one_of(
        st.text(max_size=12), st.sampled_from(["cifar10-c/fog", "noc-candidates/rain", "cifar10-c", "/", ""])
    ),
)
def test_odd_arguments_of_corrupt_are_refused(severity, seed, ids, name):
    with within(LONGEST), contextlib.suppress(ValueError, KeyError):
        scuff.corrupt(torch.rand(2, 3, 8, 8), name, severity, seed=seed, ids=ids)
