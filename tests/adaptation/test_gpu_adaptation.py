"""Methods and whole runs on a GPU: as on the CPU, up to rounding."""

import numpy as np
import pytest
import torch

import scuff
from scuff.adaptation import METHODS, Network, ask_method
from scuff.adaptation.cotta import augment
from scuff.models.architectures import build
from scuff.studies import adapt


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return scuff.Classifier(build("small_cnn", classes=10, channels=3).eval(), name="net")


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


def test_augmentation_is_the_same():
    x = torch.rand(5, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    key = torch.tensor([7])
    assert torch.allclose(augment(x, key), augment(x.cuda(), key).cpu(), atol=1e-4)


@pytest.mark.parametrize("name", METHODS)
def test_logits_are_those_of_the_cpu(model, name):
    batches = torch.rand(3, 16, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    logits = []
    for device in ("cpu", "cuda"):
        # Adam's first steps are signs of gradients, which rounding may turn: a small rate keeps that small.
        options = ":rate=0.00001" if "rate" in ask_method(name).options("cifar10") else ""
        method = ask_method(name + options).open(Network(model.on(device)), "cifar10")
        if hasattr(method, "prepare"):
            method.prepare([batches[0].to(device)])
        logits.append(torch.cat([method.adapt(images.to(device)).cpu() for images in batches]))
    assert torch.allclose(*logits, atol=2e-3)


def test_a_run_leaves_the_same_rows(model, tmp_path):
    x = np.random.default_rng(0).integers(0, 256, (40, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "data.npz", x=x, y=np.arange(40) % 10)
    rows = [
        adapt(model, "continual:batch=16", f"npz:{tmp_path}/data.npz", tmp_path / device, methods="bn", device=device)
        for device in ("cpu", "cuda")
    ]
    for column in ("method", "position", "segment", "corruption", "severity", "image_id", "label"):
        assert np.array_equal(rows[0][column], rows[1][column])
    assert np.mean(rows[0]["prediction"].to_numpy() == rows[1]["prediction"].to_numpy()) > 0.98
