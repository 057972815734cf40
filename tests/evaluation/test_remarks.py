"""What an evaluation says of normalisation and size, and what it warns of, as a user meets it."""

import logging
import sys

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

import scuff
from scuff.cli import app
from scuff.models.architectures import build
from scuff.models.untrained import looks_untrained

NETS = """
import torch
from torch import nn

PATTERNS = torch.rand(10, 3 * 16 * 16, generator=torch.Generator().manual_seed(0))

def good(batch):
    return -torch.cdist(batch.flatten(1), PATTERNS)

def bad(batch):
    return -torch.cdist(1 - batch.flatten(1), PATTERNS)

class New(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(1568, 10))

    def forward(self, x):
        return self.net(x)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run `scuff evaluate` in a folder with models, and images that are noisy copies of ten patterns."""
    (tmp_path / "remark_nets.py").write_text(NETS)
    monkeypatch.chdir(tmp_path)
    patterns = torch.rand(10, 3 * 16 * 16, generator=torch.Generator().manual_seed(0)).reshape(10, 3, 16, 16)
    labels = np.arange(40) % 10
    images = (255 * patterns[labels]).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
    np.savez(tmp_path / "images.npz", images=images, labels=labels)

    def invoke(model, suite="cifar10-c", *more):
        arguments = ("--suite", suite, "--data", "npz:images.npz", "--out", "out", "--only", "fog", "--severity", "1")
        return CliRunner().invoke(app, ["evaluate", model, *arguments, *more])

    yield invoke
    sys.modules.pop("remark_nets", None)


def test_normalisation_and_size_are_printed(run):
    result = run("remark_nets:good")
    assert result.exit_code == 0, result.output
    assert "Model: good; images of 16 pixels; not normalised: the model sees values from 0 to 1" in result.output
    assert "Warning" not in result.output
    result = run("remark_nets:good", "cifar10-c", "--mean", "0.5,0.5,0.5", "--std", "0.25,0.25,0.25", "--out", "other")
    assert "normalised by mean 0.5, 0.5, 0.5 and std 0.25, 0.25, 0.25" in result.output


def test_accuracy_near_chance_is_a_warning(run):
    result = run("remark_nets:bad")
    assert result.exit_code == 0, result.output
    assert (
        "Warning: the clean accuracy of bad, 0.0 %, is near chance (10.0 %). Check its normalisation" in result.stderr
    )


def test_an_untrained_module_and_a_suite_of_another_size_are_warnings(run):
    result = run("remark_nets:New", "imagenet-c", "--dry-run")
    assert result.exit_code == 0, result.output
    assert "Warning: New looks untrained: its weights are as torch makes them. Were they loaded?" in result.stderr
    assert "Warning: imagenet-c is made for images of 224 pixels, and these have 16." in result.stderr


def test_other_data_have_no_mce(run):
    result = run("remark_nets:good", "imagenet-c")
    assert result.exit_code == 0, result.output
    assert "mCE %" not in result.output
    assert "Nothing is relative to AlexNet, whose errors were measured on 1000 classes at 224 pixels" in result.output
    assert "mean error %" in result.output


def test_python_logs_the_same(run, caplog):
    sys.path.insert(0, ".")
    try:
        with caplog.at_level(logging.WARNING, "scuff"):
            scuff.evaluate("remark_nets:New", "imagenet-c", "npz:images.npz", only=["fog"], severities=[1])
    finally:
        sys.path.remove(".")
    said = " ".join(record.message for record in caplog.records)
    for words in ("looks untrained", "224 pixels, and these have 16", "near chance"):
        assert words in said


@pytest.mark.parametrize("name", ["small_cnn", "resnet18_32", "wide_resnet40_2"])
def test_our_networks_look_untrained_until_they_are_trained(name):
    torch.manual_seed(0)
    network = build(name, 10)
    assert looks_untrained(network)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    assert not looks_untrained(network)


def test_what_cannot_be_judged_is_not_suspected():
    assert not looks_untrained(lambda batch: batch)
    assert not looks_untrained(nn.Flatten())
