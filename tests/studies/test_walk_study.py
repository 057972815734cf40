"""`scuff stream calibrate`: accuracies under pairs of corruptions, for walks."""

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.studies import WalkStudy, calibrate_walk, read_walks

ENTRIES = ["contrast", "pixelate"]


class Brightest(torch.nn.Module):
    """The class is the tenth of the rows that is brightest; no training needed."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.adaptive_avg_pool2d(x[:, :1], (10, 1)).flatten(1)


@pytest.fixture(scope="module")
def model():
    return scuff.Classifier(Brightest(), name="brightest")


@pytest.fixture(scope="module")
def source(model):
    """Images that the model is right about."""
    fashion = scuff.open_source("fashion").take(np.arange(60))
    pixels = fashion.read(np.arange(60))
    labels = Brightest()(pixels.float() / 255).argmax(1).numpy()
    return scuff.data.array_source("rows", pixels[:, 0].numpy(), labels, list("abcdefghij"))


@pytest.fixture(scope="module")
def folder(model, source, tmp_path_factory):
    out = tmp_path_factory.mktemp("walk")
    calibrate_walk(model, source, out, limit=40, step=1.0, only=ENTRIES, device="cpu")
    return out


def test_the_matrix_has_the_accuracies(folder, model, source):
    table = read_walks(folder)
    assert list(table) == ["first", "second", "severity", "0", "1", "2", "3", "4", "5"]
    assert len(table) == 2 * 6
    assert (table.loc[table["severity"] == 0, "0"] == 100).all()
    alone = table[(table["second"] == "contrast") & (table["severity"] == 0)].iloc[0]
    cell = table[(table["first"] == "contrast") & (table["severity"] == 3)].iloc[0]
    assert cell["0"] == alone["3"]
    chosen = WalkStudy(model, source, folder, limit=40, step=1.0, only=ENTRIES, device="cpu").plan().work.bench.source
    images = chosen.read(np.arange(40))
    for entry, level in (("contrast", 12), ("pixelate", 20)):
        images = scuff.corrupt(images, f"cifar10-ccc/{entry}", level, ids=chosen.ids)
    right = Brightest()(images.float() / 255).argmax(1).numpy() == chosen.labels
    assert (cell["second"], cell["5"]) == ("pixelate", 100 * right.mean())


def test_an_interrupted_study_goes_on(folder, model, source):
    before = (folder / "matrix.csv").read_bytes()
    (folder / "matrix.csv").unlink()
    (folder / "cells" / "contrast-12.json").unlink()
    study = WalkStudy(model, source, folder, limit=40, step=1.0, only=ENTRIES, device="cpu")
    assert study.plan().work.missing() == [("contrast", 12)]
    study.run()
    assert (folder / "matrix.csv").read_bytes() == before
    with pytest.raises(ValueError, match="step"):
        WalkStudy(model, source, folder, limit=40, step=0.5, only=ENTRIES, device="cpu").plan()


def test_a_stream_walks_by_it(folder, source):
    recipe = {
        "stream": "mine",
        "corruptions": ENTRIES,
        "walk": {"target": 50, "matrix": str(folder / "matrix.csv"), "speed": 5, "length": 200, "chain": "keyed"},
        "images": {"order": "fresh", "draws": "position"},
    }
    stream = scuff.stream(source, recipe, suite="cifar10-ccc", device="cpu")
    assert len(stream) == 200
    assert {entry for s in stream.segments for entry, _ in s.steps} == set(ENTRIES)
    assert all(0 <= segment.expected <= 100 for segment in stream.segments)


def test_the_command_says_what_it_would_do(tmp_path, source, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    np.savez(tmp_path / "rows.npz", x=source.images.array[:20], y=source.labels[:20])
    (tmp_path / "walk_net.py").write_text(
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.nn.functional.adaptive_avg_pool2d(x[:, :1], (10, 1)).flatten(1)\n\n\nnet = Net()\n"
    )
    words = [
        "stream",
        "calibrate",
        "walk_net:net",
        "--data",
        f"npz:{tmp_path}/rows.npz",
        "--out",
        str(tmp_path / "out"),
    ]
    options = ["--only", "contrast,pixelate", "--step", "1", "--device", "cpu", "--dry-run"]
    result = CliRunner().invoke(app, [*words, *options], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert "Pairs: 2 of cifar10-ccc at 5 severities each: 61 accuracies" in result.output
    assert "Cells: 11, 0 measured already" in result.output
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"step": 0.3}, "step must be"), ({"suite": "cifar10-c"}, "20 levels"), ({"only": ["fog"]}, "at least two")],
)
def test_mistakes_are_named(model, source, tmp_path, options, reason):
    with pytest.raises(ValueError, match=reason):
        WalkStudy(model, source, tmp_path, device="cpu", limit=10, **options).plan()
