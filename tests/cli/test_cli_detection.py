"""`scuff evaluate --task detection` and `scuff corrupt coco:DIR` at the command line."""

import json
import sys

import pytest
from tool_modules import load_tool
from typer.testing import CliRunner

from scuff.cli import app

shapes = load_tool("painted_shapes")

CODE = """
import torch

def find(images):
    box = torch.tensor([[0.0, 0.0, 30.0, 30.0]])
    return [{"boxes": box, "scores": torch.ones(1), "labels": torch.zeros(1).long()} for _ in images]
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    (tmp_path / "detectors_here.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    yield lambda *arguments: CliRunner().invoke(app, list(arguments))
    sys.modules.pop("detectors_here", None)


def test_from_annotations_to_scores(run, tmp_path) -> None:
    shapes.write_coco(tmp_path / "coco", shapes.paint_many(3, sizes=((48, 64),)))
    file = tmp_path / "coco" / "annotations.json"
    content = json.loads(file.read_text())
    content["annotations"][0]["bbox"] = [500, 500, 10, 10]
    file.write_text(json.dumps(content))
    options = ["--task", "detection", "--suite", "coco-c", "--data", "coco:coco", "--out", "runs", "--only", "fog"]
    result = run("evaluate", "detectors_here:find", *options, "--severity", "1,5", "--json", "scores.json")
    assert result.exit_code == 0, result.output
    assert "Of all annotations, 1 were dropped: 1 outside of the picture." in result.stdout
    assert "AP in per cent by corruption and severity" in result.stdout
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert set(scores["scores"]["find"]) == {"P", "mPC", "rPC"}
    refused = run("compare", "runs", "runs")
    assert refused.exit_code != 0
    assert "only classifiers are compared image by image" in refused.stderr
    assert run("corrupt", "coco:coco", "out", "--suite", "coco-c", "--only", "fog", "--severity", "1").exit_code == 0
    assert (tmp_path / "out/fog/1/annotations.json").exists()
