"""`scuff.Corrupt` among torchvision's transforms. Collected only where torchvision can be imported."""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

import scuff


def _pictures() -> list[Image.Image]:
    rng = np.random.default_rng(0)
    return [Image.fromarray(rng.integers(0, 256, (40, 50, 3), dtype=np.uint8)) for _ in range(3)]


def test_between_torchvision_transforms() -> None:
    pipeline = v2.Compose(
        [
            v2.Resize(36),
            v2.CenterCrop(32),
            scuff.Corrupt("cifar10-c/gaussian_noise", severity=3),
            v2.PILToTensor(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.25] * 3),
        ]
    )
    first = torch.stack([pipeline(p) for p in _pictures()])
    assert first.shape == (3, 3, 32, 32)
    again = torch.stack([pipeline(p) for p in reversed(_pictures())]).flip(0)
    assert torch.equal(first, again)


def test_tv_tensors_and_batches() -> None:
    x = tv_tensors.Image(torch.stack([v2.functional.pil_to_tensor(p) for p in _pictures()]))
    y = v2.Compose([scuff.Corrupt("imagenet-c/fog", severity=2)])(x)
    assert y.shape == x.shape
    assert y.dtype == torch.uint8
    assert torch.equal(y, scuff.corrupt(torch.as_tensor(x), "imagenet-c/fog", 2, ids="content"))
    assert isinstance(y, tv_tensors.Image)


def test_labels_pass_untouched_and_are_no_ids() -> None:
    x = tv_tensors.Image(torch.stack([v2.functional.pil_to_tensor(p) for p in _pictures()]))
    labels = torch.zeros(3, dtype=torch.int64)
    noise = scuff.Corrupt("cifar10-c/gaussian_noise", severity=3)
    images, same = v2.Compose([noise, v2.Identity()])(x, labels)
    assert same is labels
    assert isinstance(images, tv_tensors.Image)
    assert torch.equal(images, noise(x))
