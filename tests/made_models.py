"""Small networks and images for them."""

import torch
from torch import nn

from scuff.models import build

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def make_images(count: int = 5, channels: int = 3, height: int = 12, width: int = 12, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, 256, (count, channels, height, width), generator=generator, dtype=torch.uint8)


def network(channels: int = 3, classes: int = 10) -> nn.Module:
    """A small network whose batch normalisation has seen something, so that its two modes differ."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        net = build("small_cnn", classes, channels)
        net(torch.rand(8, channels, 16, 16))
    return net


class Seen:
    """A model that keeps the batch that it was given."""

    def __call__(self, batch):
        self.batch = batch.clone()
        return batch.mean((2, 3))
