"""Digests that add up, lock files, and commands that keep to them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from made_locks import make_pictures, write_pictures
from PIL import Image
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.engine import LocalEngine
from scuff.export import run_plan
from scuff.export.options import ExportOptions
from scuff.export.plan import plan_of
from scuff.locks import Digest, NotEqual, make_lock, read_lock, verify
from scuff.locks.lock import MOST_BYTES

CELLS = {"only": ["gaussian_noise", "fog", "brightness"], "severities": [1, 3]}


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Twelve images with labels, as an array and as files, and a lock of each."""
    folder = tmp_path_factory.mktemp("locks")
    np.savez(folder / "test.npz", images=make_pictures(12, 32, 32), labels=np.arange(12) % 2)
    write_pictures(folder / "val", make_pictures(8, 40, 56))
    make_lock("cifar10-c", f"npz:{folder}/test.npz", **CELLS).save(folder / "array.yaml")
    make_lock("cifar10-c", f"folder:{folder}/val", **CELLS, resize=36, crop=32).save(folder / "folder.yaml")
    return folder


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


# --- digests ---------------------------------------------------------------------------------------------------------


def test_digests_add_up_and_know_images_by_their_ids() -> None:
    x = make_pictures(5, 16, 20)
    whole = scuff.digest(x)
    assert whole == scuff.digest(x[:2]) + scuff.digest(x[2:], ids=[2, 3, 4])
    assert whole - scuff.digest(x[[4]], ids=[4]) == scuff.digest(x[:4])
    assert scuff.digest(x[::-1].copy()) != whole == scuff.digest(x[::-1].copy(), ids=[4, 3, 2, 1, 0])
    assert Digest.of(str(whole)) == whole
    assert len(str(whole)) == 16


def test_a_digest_is_of_pixels_whatever_holds_them() -> None:
    x = make_pictures(3, 16, 20)
    tensor = torch.from_numpy(x).permute(0, 3, 1, 2)
    same = [
        tensor,
        tensor.float() / 255,
        x / 255,
        [Image.fromarray(image) for image in x],
        tensor.contiguous().half() / 255,
    ]
    assert {scuff.digest(each) for each in same} == {scuff.digest(x)}
    assert scuff.digest(x.reshape(3, 20, 16, 3)) != scuff.digest(x)
    with pytest.raises(ValueError, match="one per image, got 2"):
        scuff.digest(x, ids=[1, 2])


def test_every_byte_counts() -> None:
    x = make_pictures(3, 8, 8)
    for k in range(x.size):
        y = x.copy()
        y.reshape(-1)[k] ^= 1
        assert scuff.digest(y) != scuff.digest(x)


# --- lock files ------------------------------------------------------------------------------------------------------


def test_a_lock_says_what_scuff_makes(place) -> None:
    lock = read_lock(place / "array.yaml")
    x = np.load(place / "test.npz")["images"]
    assert lock.source.pixels.digest == scuff.digest(x)
    assert list(lock.cells) == [(e, s) for e in ("gaussian_noise", "fog", "brightness") for s in (1, 3)]
    for (entry, level), locked in lock.cells.items():
        assert locked.digest == scuff.digest(scuff.corrupt(x, f"cifar10-c/{entry}", level))
    content = yaml.safe_load((place / "array.yaml").read_text())
    assert content["fingerprint"] == scuff.load_suite("cifar10-c").fingerprint()
    assert (content["images"], content["size"], content["decoder"]) == (12, "32x32x3", None)
    of_folder = yaml.safe_load((place / "folder.yaml").read_text())
    assert of_folder["cut"] == {"resize": 36, "crop": 32, "filter": "bilinear", "keeps_ratio": True}
    assert of_folder["decoder"].startswith("Pillow")
    assert of_folder["files"] != of_folder["pixels"][:16]


def test_the_seal_names_the_dataset_and_not_where_it_lies(place, tmp_path) -> None:
    lock = read_lock(place / "folder.yaml")
    for path in (place / "val").rglob("*.png"):  # the same pixels in other files
        copy = tmp_path / "moved" / path.relative_to(place / "val").with_suffix(".bmp")
        copy.parent.mkdir(parents=True, exist_ok=True)
        Image.open(path).save(copy)
    options = {"only": ["brightness"], "severities": [1, 3], "resize": 36, "crop": 32}
    first, second = (make_lock("cifar10-c", f"folder:{f}", **options) for f in (place / "val", tmp_path / "moved"))
    assert first.source.files != second.source.files
    assert first.seal == second.seal != lock.seal
    assert make_lock("cifar10-c", f"folder:{place}/val", **options, seed=1).seal != first.seal


@pytest.mark.parametrize("suite", scuff.list_suites())
def test_every_lock_takes_less_than_10_kb(suite, tmp_path, monkeypatch) -> None:
    from scuff.locks import make
    from scuff.locks.make import Tally
    from scuff.locks.sums import contents

    one = contents(torch.zeros(1, 1, 4, 4, dtype=torch.uint8))[0]

    def pretend(recipe, source, cells, kept, device, progress):
        return {cell: Tally(scuff.digest(np.zeros((4, 4))), dict.fromkeys(kept, one), {"28x28x1"}) for cell in cells}

    monkeypatch.setattr(make, "tally", pretend)
    path = make_lock(suite, "fashion", validation=True).save(tmp_path / "lock.yaml")
    assert path.stat().st_size <= MOST_BYTES
    lock = read_lock(path)
    assert len(lock.sample) >= 2
    assert lock.levels == scuff.load_suite(suite).choose(validation=True)


def test_a_lock_that_would_be_too_large_is_refused_before_the_work(place, monkeypatch) -> None:
    monkeypatch.setattr("scuff.locks.lock.MOST_BYTES", 400)
    monkeypatch.setattr("scuff.locks.make.tally", None)
    with pytest.raises(ValueError, match="a lock of 6 cells would take"):
        make_lock("cifar10-c", f"npz:{place}/test.npz", **CELLS)


def test_a_wrong_lock_gives_a_sentence(place, tmp_path) -> None:
    text, path = (place / "array.yaml").read_text(), tmp_path / "lock.yaml"
    lines = text.splitlines()

    def refused(content: str, words: str) -> None:
        path.write_text(content)
        with pytest.raises(ValueError, match=words) as error:
            read_lock(path)
        assert str(path) in str(error.value)
        code, output = run("verify", path, "--data", f"npz:{place}/test.npz")
        assert (code, output.count("\n")) == (2, 1)

    refused("", "is no lock")
    refused("a: [", "not valid YAML")
    refused("suite: cifar10-c\n", "is no lock")
    refused(text[:700], "valid YAML|damaged|missing|not what was written")
    refused("\n".join(lines[:-1]) + "\n", "changed or cut off")  # a whole entry less is still YAML
    refused("\n".join(lines[:-4]) + "\n", "missing|expected")
    refused(text.replace("lock: 1\n", "lock: 2\n"), "format 2")
    refused(text.replace("seed: 0\n", "seed: 1\n"), "changed or cut off")
    refused(text.replace("seed: 0\n", "seed: zero\n"), "seed: expected a whole number")
    refused(re.sub(r"\nversion: \d+", "\nversion: 77", text), "version 77, and here is version")
    refused(text.replace("fingerprint: ", "fingerprint: a"), "other parameters|another suite")
    refused(text + "more: 1\n", "holds more, which no lock has")
    refused(text.replace("images: 12", "images: -1"), "damaged")
    refused(text.replace("  fog: [", "  fgo: ["), "fgo")
    with pytest.raises(ValueError, match="cannot read the lock"):
        read_lock(tmp_path / "none.yaml")


def test_a_suite_of_ones_own_lies_beside_the_lock(place, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    suite = "suite: mine\nversion: 1\nsize: 32\nseverities: 2\nentries:\n  fog: {strength: [0.5, 1.0], decay: 2.0}\n"
    Path("suites").mkdir()
    Path("suites/mine.yaml").write_text(suite)
    Path("locks").mkdir()
    assert run("lock", "suites/mine.yaml", "--data", f"npz:{place}/test.npz", "--out", "locks/mine.yaml")[0] == 0
    monkeypatch.chdir(place)
    assert verify(tmp_path / "locks/mine.yaml", data=f"npz:{place}/test.npz").is_equal
    (tmp_path / "suites/mine.yaml").write_text(suite.replace("1.0", "1.1"))
    with pytest.raises(ValueError, match="another suite of the same name and version"):
        read_lock(tmp_path / "locks/mine.yaml")


# --- verifying -------------------------------------------------------------------------------------------------------


def test_the_same_data_verify_all_or_in_part(place) -> None:
    code, output = run("verify", place / "array.yaml", "--data", f"npz:{place}/test.npz")
    assert (code, "all 6 cells of 12 images, byte for byte" in output) == (0, True), output
    code, output = run("verify", place / "folder.yaml", "--data", f"folder:{place}/val", "--sample", 3)
    assert (code, "all 6 cells of 3 images of the 8 in the lock" in output) == (0, True), output
    code, output = run("verify", place / "folder.yaml", "--data", f"folder:{place}/val", "--sample", 9)
    assert (code, "at most 8" in output) == (2, True), output
    assert run("verify", place / "folder.yaml")[0] == 2
    code, output = run("verify", place / "folder.yaml", "--data", f"npz:{place}/test.npz")
    assert (code, "known by their names" in output) == (2, True)


def test_films_are_locked_too(place) -> None:
    lock = make_lock("cifar10-p", f"folder:{place}/val", only=["translate", "gaussian_noise"], resize=36, crop=32)
    assert verify(lock, data=f"folder:{place}/val", sample=2).is_equal
    assert lock.size == "36x36x3"
    with pytest.raises(ValueError, match="sequences, which are not written to files"):
        verify(lock, place)


# --- corrupt and evaluate --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "lock", "options"),
    [
        ("test.npz", "array.yaml", []),
        ("test.npz", "array.yaml", ["--layout", "npz"]),
        ("test.npz", "array.yaml", ["--layout", "webdataset", "--shard", 5]),
        ("val", "folder.yaml", []),
        ("val", "folder.yaml", ["--layout", "webdataset", "--suite", "cifar10-c", "--resize", 36]),
    ],
)
def test_corrupt_makes_what_a_lock_says(place, tmp_path, source, lock, options) -> None:
    arguments = ("--lock", place / lock, "--workers", 1, *options)
    code, output = run("corrupt", place / source, tmp_path / "out", *arguments)
    assert (code, "byte for byte" in output) == (0, True), output
    settings = json.loads((tmp_path / "out" / "scuff.json").read_text())
    assert settings["lock"] == read_lock(place / lock).seal
    assert verify(place / lock, tmp_path / "out").is_equal
    assert verify(place / lock, tmp_path / "out", sample=4).is_equal


def test_corrupt_tells_how_far_its_checks_are(place, tmp_path) -> None:
    told: list[tuple[str, int, int]] = []
    asked = ExportOptions(place / "test.npz", tmp_path / "out", lock=place / "array.yaml")
    plan = plan_of(asked, lambda *progress: told.append(progress))
    run_plan(plan, LocalEngine(1), checking=lambda *progress: told.append(progress))
    assert told == [("checking images", 12, 12), *(("checking cells", k, 6) for k in range(6))]


def test_corrupt_refuses_what_a_lock_does_not_say(place, tmp_path) -> None:
    other = tmp_path / "other.npz"
    arrays = np.load(place / "test.npz")
    np.savez(other, images=arrays["images"][..., ::-1], labels=arrays["labels"])
    code, output = run("corrupt", other, tmp_path / "out", "--lock", place / "array.yaml")
    assert (code, "BGR" in output) == (2, True), output
    assert not (tmp_path / "out").exists()
    for option, words in ((("--seed", 1), "says seed 0, not 1"), (("--only", "fog"), "leave out --only")):
        code, output = run("corrupt", place / "test.npz", tmp_path / "out", "--lock", place / "array.yaml", *option)
        assert (code, words in output) == (2, True), output
    with pytest.raises(ValueError, match="on this machine"):
        scuff.export.export(place / "test.npz", "memory://out", lock=place / "array.yaml")


class Constant(torch.nn.Module):
    def __init__(self, classes: int = 2) -> None:
        super().__init__()
        self.classes = classes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(x), self.classes)


@pytest.mark.parametrize(("data", "lock"), [("npz:test.npz", "array.yaml"), ("folder:val", "folder.yaml")])
def test_an_evaluation_records_the_lock_that_it_is_equal_to(place, tmp_path, monkeypatch, data, lock) -> None:
    monkeypatch.chdir(place)
    rows = scuff.evaluate({"net": Constant()}, None, data, tmp_path / "run", lock=lock, workers=0)
    assert len(rows) == read_lock(lock).images * 7
    found = scuff.read_evaluation(tmp_path / "run")
    assert found.settings["lock"] == read_lock(lock).seal
    assert found.settings["cut"] == yaml.safe_load(Path(lock).read_text())["cut"]
    scuff.export.export(data.partition(":")[2], tmp_path / "written", lock=lock, engine=LocalEngine(1))
    classes = 10 if lock == "array.yaml" else 2  # arrays of CIFAR-10-C have its classes
    published = scuff.evaluate({"net": Constant(classes)}, None, f"cifar10-c:{tmp_path}/written", lock=lock)
    assert len(published) == read_lock(lock).images * 6
    with pytest.raises(ValueError, match="says seed 0, not 3"):
        scuff.evaluate({"net": Constant()}, None, data, lock=lock, seed=3)
    with pytest.raises(ValueError, match="leave out limit"):
        scuff.evaluate({"net": Constant()}, None, data, lock=lock, limit=3)


def test_the_usual_seed_is_refused_beside_a_lock_of_another(place, tmp_path) -> None:
    data = f"npz:{place}/test.npz"
    lock = make_lock("cifar10-c", data, only=["contrast"], severities=[1], seed=7)
    lock.save(tmp_path / "seven.yaml")
    with pytest.raises(ValueError, match="says seed 7, not 0"):
        scuff.evaluate({"net": Constant()}, None, data, lock=tmp_path / "seven.yaml", seed=0)
    code, output = run("corrupt", place / "test.npz", tmp_path / "out", "--lock", tmp_path / "seven.yaml", "--seed", 0)
    assert (code, "says seed 7, not 0" in output) == (2, True), output
    rows = scuff.evaluate({"net": Constant()}, None, data, tmp_path / "run", lock=tmp_path / "seven.yaml")
    assert scuff.read_evaluation(tmp_path / "run").settings["seed"] == 7
    assert set(rows["corruption"]) == {"clean", "contrast"}


def test_an_evaluation_of_other_images_is_refused(place, tmp_path) -> None:
    arrays = dict(np.load(place / "test.npz"))
    arrays["images"][3, 0, 0, 0] ^= 1
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(Exception, match="the images are not those of"):
        scuff.evaluate(
            {"net": Constant()}, None, f"npz:{tmp_path}/other.npz", tmp_path / "run", lock=place / "array.yaml"
        )
    assert not list((tmp_path / "run").rglob("*.parquet"))
    arrays["labels"] = 1 - arrays["labels"]
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(NotEqual, match="Labels"):
        scuff.evaluate({"net": Constant()}, None, f"npz:{tmp_path}/other.npz", lock=place / "array.yaml")
