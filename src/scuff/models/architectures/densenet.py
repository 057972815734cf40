"""Densely connected networks: Huang et al., Densely Connected Convolutional Networks, CVPR 2017.

Parameters are named as torchvision names them, so that its state dicts load. The variant for images of 32 pixels begins
with one 3 x 3 convolution, where the other halves the image twice before the first block.
"""

from __future__ import annotations

from collections import OrderedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scuff.models.architectures.resnet import stem

GROWTH = 32  # channels that every layer adds
BOTTLENECK = 4 * GROWTH  # channels between the two convolutions of a layer
DEPTHS = (6, 12, 24, 16)  # layers of each block of DenseNet-121


class DenseNet(nn.Module):
    """A stem, four dense blocks with transitions between them, the mean over all places, a linear classifier."""

    def __init__(self, classes: int, channels: int, small: bool = False):
        super().__init__()
        width = 2 * GROWTH
        convolution, pool = stem(channels, width, small)
        self.features = nn.Sequential(
            OrderedDict(conv0=convolution, norm0=nn.BatchNorm2d(width), relu0=nn.ReLU(inplace=True), pool0=pool)
        )
        for number, depth in enumerate(DEPTHS, start=1):
            self.features.add_module(f"denseblock{number}", DenseBlock(depth, width))
            width += depth * GROWTH
            if number < len(DEPTHS):  # half as many channels, half the size
                convolution, pool = nn.Conv2d(width, width // 2, 1, bias=False), nn.AvgPool2d(2)
                steps = OrderedDict(norm=nn.BatchNorm2d(width), relu=nn.ReLU(inplace=True), conv=convolution, pool=pool)
                self.features.add_module(f"transition{number}", nn.Sequential(steps))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, classes)
        nn.init.zeros_(self.classifier.bias)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W), of at least 29 pixels, or 8 for the small variant, to logits (N, classes)."""
        return self.classifier(F.relu(self.features(x), inplace=True).mean((2, 3)))


class DenseBlock(nn.ModuleDict):
    """Layers of which each sees the outputs of all before it."""

    def __init__(self, depth: int, width: int):
        super().__init__({f"denselayer{n + 1}": DenseLayer(width + n * GROWTH) for n in range(depth)})

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.values():
            x = torch.cat((x, layer(x)), dim=1)
        return x


class DenseLayer(nn.Module):
    """A 1 x 1 convolution to a fixed width and a 3 x 3 one, normalisation and ReLU before each."""

    def __init__(self, width_in: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(width_in)
        self.conv1 = nn.Conv2d(width_in, BOTTLENECK, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(BOTTLENECK)
        self.conv2 = nn.Conv2d(BOTTLENECK, GROWTH, 3, padding=1, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(F.relu(self.norm1(x), inplace=True))
        return self.conv2(F.relu(self.norm2(x), inplace=True))
