"""The fenced blocks of README.md, CONTRIBUTING.md and docs/, and the small data that those in Python run on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import yaml
from made_evaluations import make_evaluation, save_evaluation
from made_overlaps import make_accuracies, save_study
from made_validity import CATEGORIES, make_shifts

import scuff
from scuff.pictures import bundled_picture
from scuff.training import RECIPES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block; `reason` says why it cannot run, if it cannot."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_blocks() -> list[Block]:
    """All blocks of all pages, in order."""
    return [block for page in PAGES for block in _blocks(page)]


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text[: match.start("text")].count("\n")
        yield Block(str(page.relative_to(ROOT)), line, match["language"], match["text"], match["reason"])


def scuff_commands(block: Block) -> list[list[str]]:
    """The arguments of every `scuff ...` in a block of shell lines, without comments; lines end at a backslash."""
    lines = re.sub(r" *\\\n *", " ", block.text).splitlines()
    words = (shlex.split(line, comments=True) for line in lines)
    return [line[line.index("scuff") + 1 :] for line in words if "scuff" in line and line[0] != "pip"]


# --- small data ------------------------------------------------------------------------------------------------------


def make_recipe(name: str) -> None:
    """Let a recipe for a GPU be a small one."""
    RECIPES[name] = replace(RECIPES["fashion"], name=name, epochs=1, batch_size=16)


def _images() -> dict[str, Any]:
    x = torch.rand(8, 3, 40, 40, generator=torch.Generator().manual_seed(0))
    return {"x": x, "images": x, "ids": torch.arange(8), "positions": [3, 1, 4, 15, 9, 2, 6, 5]}


def _network() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, 10))


def _cifar() -> None:
    random = np.random.default_rng(0)
    parts = {"train": 40, "test": 20}
    arrays = {f"x_{part}": random.integers(0, 256, (n, 32, 32, 3), np.uint8) for part, n in parts.items()}
    arrays |= {f"y_{part}": np.arange(n) % 10 for part, n in parts.items()}
    Path("data").mkdir()
    np.savez("data/cifar10.npz", **arrays)
    make_recipe("cifar-fast")


def _points() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    return np.clip(random.normal(0.2 + 0.3 * labels[:, None], 0.03, (60, 2)), 0, 1), labels


def _tables_of_points() -> None:
    x, labels = _points()
    pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "label": labels}).to_csv("points.csv", index=False)
    species = np.array(["ash", "beech", "oak"])[labels]
    pd.DataFrame({"height": 9 * x[:, 0], "girth": x[:, 1], "species": species}).to_csv("table.csv", index=False)


def _shifts() -> None:
    """A table of accuracies with its mapping."""
    shifts = make_shifts(24)
    table = pd.DataFrame({"model": shifts.models, "val": shifts.clean.to_numpy()})
    for name, column in shifts.corrupted.items():
        table[name] = column.to_numpy()
    table["v2"] = shifts.natural.iloc[:, 0].to_numpy()
    table.to_csv("table.csv", index=False)
    names = {name.partition("/")[2]: name for name in shifts.corrupted if name.startswith("made-c/")}
    mapping = {"model": "model", "clean": "val", "synthetic": {"made-c": names}, "natural": {"v2": "v2"}}
    Path("mapping.yaml").write_text(yaml.safe_dump(mapping), encoding="utf-8")


def prepare_augmentations() -> dict[str, Any]:
    labels = torch.arange(100) % 10
    batches = [(torch.randint(0, 256, (100, 3, 32, 32), dtype=torch.uint8), labels)]
    return {
        "loader": batches,
        "criterion": torch.nn.CrossEntropyLoss(),
        "network": _network(),
        "normalise": lambda x: (x - 0.5) / 0.25,
        "labels": labels,
    }


def prepare_corruptions() -> dict[str, Any]:
    suite = next(b for b in read_blocks() if b.page == "docs/corruptions.md" and b.text.startswith("suite: my-suite"))
    Path("my-suite.yaml").write_text(suite.text, encoding="utf-8")
    return _images() | {"x": torch.rand(8, 3, 256, 256, generator=torch.Generator().manual_seed(0))}


def prepare_evaluation() -> dict[str, Any]:
    _cifar()
    return {"net": _network(), "other": _network()}


def prepare_design() -> dict[str, Any]:
    Path("docs").symlink_to(ROOT / "docs")
    return {}


def prepare_metrics() -> dict[str, Any]:
    return {"pd": pd, "rows_of_another_model": scuff.metrics.example_rows("other", seed=2)}


def prepare_models() -> dict[str, Any]:
    return {"names": tuple("0123456789")}


def prepare_points() -> dict[str, Any]:
    _tables_of_points()
    x, labels = _points()
    return {"x": torch.from_numpy(x), "labels": labels, "ids": torch.arange(len(x))}


def prepare_overlap() -> dict[str, Any]:
    table = next(b for b in read_blocks() if b.page == "docs/overlap.md" and b.text.startswith("trained_on,"))
    Path("accuracies.csv").write_text(table.text, encoding="utf-8")
    return {}


def prepare_report() -> dict[str, Any]:
    Path("distances.csv").symlink_to(ROOT / "docs/results/transform-space-cifar10/distances.csv")
    make_shifts(12).to_frame().to_csv("shifts.csv", index=False)
    save_evaluation(make_evaluation(Path.cwd(), images=40), Path("runs/three"))
    save_study(make_accuracies(["cifar10-c"], images=40, most=4), Path("runs/noc"))
    return {}


def prepare_training() -> dict[str, Any]:
    _cifar()
    return {}


def prepare_validity() -> dict[str, Any]:
    _shifts()
    shifts = make_shifts(24)
    Path("runs/groups").mkdir(parents=True)
    shifts.to_frame().to_csv("runs/groups/shifts.csv", index=False)
    return {"categories": CATEGORIES}


def prepare_pictures() -> dict[str, Any]:
    Path("photos").mkdir()
    bundled_picture().save("photos/cat.png")
    return {}


PRELUDES: dict[str, Callable[[], dict[str, Any]]] = {
    "docs/augmentations.md": prepare_augmentations,
    "docs/corruptions.md": prepare_corruptions,
    "docs/design.md": prepare_design,
    "docs/evaluation.md": prepare_evaluation,
    "docs/export.md": prepare_report,
    "docs/metrics.md": prepare_metrics,
    "docs/models.md": prepare_models,
    "docs/mscr.md": prepare_points,
    "docs/overlap.md": prepare_overlap,
    "docs/report.md": prepare_report,
    "docs/separation.md": prepare_points,
    "docs/validity.md": prepare_validity,
    "docs/corrupt.md": prepare_pictures,
    "docs/training.md": prepare_training,
}
