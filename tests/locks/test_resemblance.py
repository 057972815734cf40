"""Published images against ours, by statistics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from made_locks import make_pictures, write_pictures
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.engine import LocalEngine
from scuff.export import export
from scuff.resemblance import resemblance, statistics

ENTRIES = ["gaussian_noise", "contrast"]


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Forty images, and what another seed makes of them."""
    folder = tmp_path_factory.mktemp("alike")
    np.savez(folder / "test.npz", images=make_pictures(40, 32, 32), labels=np.arange(40) % 2)
    export(folder / "test.npz", folder / "theirs", "cifar10-c", only=ENTRIES, seed=9, engine=LocalEngine(1))
    return folder


def test_another_seed_is_like_ours_up_to_chance(place) -> None:
    found = resemblance(f"cifar10-c:{place}/theirs", f"npz:{place}/test.npz")
    assert len(found) == 2 * 5 * 11
    assert found["p_holm"].min() > 0.05
    noise = found[
        (found.corruption == "gaussian_noise") & (found.severity == 3) & (found.statistic == "std_diff")
    ].iloc[0]
    assert 0 < abs(noise.difference) < 2 * noise.chance
    x = np.load(place / "test.npz")["images"]
    ours = statistics(x, scuff.corrupt(x, "cifar10-c/gaussian_noise", 3))["std_diff"]
    assert noise.ours == pytest.approx(ours.mean())
    assert (found[found.corruption == "contrast"].difference == 0).all()  # it draws nothing
    assert (found[found.corruption == "contrast"].p_value == 1).all()


def test_a_weaker_noise_is_found(place, tmp_path) -> None:
    shifted = np.roll(np.load(place / "theirs" / "gaussian_noise.npy"), 40, axis=0)
    np.save(tmp_path / "gaussian_noise.npy", shifted)  # severity 1 is 5, 2 is 1, ...
    np.save(tmp_path / "labels.npy", np.load(place / "theirs" / "labels.npy"))
    arguments = [
        "compare",
        f"cifar10-c:{tmp_path}",
        "--data",
        f"npz:{place}/test.npz",
        "--csv",
        f"{tmp_path}/alike.csv",
    ]
    result = CliRunner().invoke(app, [*arguments, "--limit", "30"])
    assert result.exit_code == 0, result.output
    assert "in 5 of 5 cells (p < 0.05 after Holm's correction); 30 images per cell" in result.output
    cells = pd.read_csv(tmp_path / "alike.csv").set_index(["severity", "statistic"])
    assert cells.loc[(2, "mae"), "p_holm"] < 1e-6
    assert cells.loc[(2, "mae"), "difference"] < -5 * cells.loc[(2, "mae"), "chance"]


def test_jpegs_are_compared_with_jpegs(tmp_path) -> None:
    write_pictures(tmp_path / "val", make_pictures(6, 40, 56))
    options = {"only": ["brightness"], "severities": [2], "resize": 32, "crop": 32, "engine": LocalEngine(1)}
    export(tmp_path / "val", tmp_path / "theirs", "cifar10-c", save="jpeg", **options)
    found = resemblance(f"cifar10-c:{tmp_path}/theirs", f"folder:{tmp_path}/val")
    assert (found.difference == 0).all()


def test_what_cannot_be_compared_is_refused(place, tmp_path) -> None:
    np.savez(tmp_path / "few.npz", images=make_pictures(7, 32, 32), labels=np.arange(7) % 2)
    with pytest.raises(ValueError, match="must hold the images that were corrupted"):
        resemblance(f"cifar10-c:{place}/theirs", f"npz:{tmp_path}/few.npz")
    with pytest.raises(ValueError, match="expected corrupted images"):
        resemblance(f"npz:{tmp_path}/few.npz", f"npz:{tmp_path}/few.npz")
    np.savez(tmp_path / "one.npz", images=make_pictures(1, 32, 32), labels=np.zeros(1, int))
    export(tmp_path / "one.npz", tmp_path / "one", "cifar10-c", only=["brightness"], engine=LocalEngine(1))
    with pytest.raises(ValueError, match="one image says nothing about averages"):
        resemblance(f"cifar10-c:{tmp_path}/one", f"npz:{tmp_path}/one.npz")
    result = CliRunner().invoke(app, ["compare", "a", "b", "--data", f"npz:{tmp_path}/few.npz"])
    assert (result.exit_code, "leave out b" in result.output) == (2, True)
    result = CliRunner().invoke(app, ["compare", "a", "b", "--limit", "3"])
    assert (result.exit_code, "--limit is for images" in result.output) == (2, True)
