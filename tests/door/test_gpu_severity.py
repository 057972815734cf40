"""Severities between levels, and first failures, on a CUDA device. Collected only where there is one."""

from __future__ import annotations

from importlib import resources

import pytest
import torch

import scuff

pytestmark = pytest.mark.cuda

SUITES = ("cifar10-c", "imagenet-c", "cifar10-c-bar", "imagenet-c-bar")
ADDRESSES = [f"{name}/{entry}" for name in SUITES for entry in scuff.load_suite(name).entries]


def pictures(side: int) -> torch.Tensor:
    """Smooth random pictures of whole numbers."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(4, 3, 6, 6, generator=generator)
    fine = torch.nn.functional.interpolate(coarse, (side, side), mode="bicubic").clamp(0, 1)
    return (255 * fine).round().to(torch.uint8)


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_bytes_are_those_of_the_cpu(address: str) -> None:
    x = pictures(scuff.load_suite(address.partition("/")[0]).size)
    for severity in (0.4, 1.0, 2.4, 3.5, 4.9):
        here, there = (scuff.corrupt(x.to(d), address, severity, draws="shared").cpu() for d in ("cpu", "cuda"))
        assert torch.equal(here, there), f"{severity}: {int((here != there).sum())} values differ"


def test_failures_are_those_of_the_cpu(tmp_path) -> None:
    """A network differs in the last digits, so few images fail at another sixteenth of a level."""
    weights = str(resources.files("scuff") / "assets" / "demo" / "standard.safetensors")
    options = {"only": ["gaussian_noise", "fog", "pixelate"], "limit": 500}
    here, there = (
        scuff.studies.survival(weights, "cifar10-c", "fashion-32", tmp_path / device, device=device, **options)
        for device in ("cpu", "cuda")
    )
    assert here["image_id"].equals(there["image_id"])
    assert (here["failure"] == there["failure"]).mean() > 0.98
    areas = (scuff.metrics.survival_scores(rows)["area"] for rows in (here, there))
    torch.testing.assert_close(*(torch.tensor(area.to_numpy()) for area in areas), atol=0.005, rtol=0)
