"""Wide residual networks: Zagoruyko and Komodakis, Wide Residual Networks, BMVC 2016.

They are networks for images of 32 pixels; they end in a mean over all places, so they take any size. Parameters are
named as in the PyTorch version that AugMix and many others have built upon, so that their state dicts load.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F


def wide_resnet28_10(classes: int = 10, channels: int = 3) -> WideResNet:
    """WideResNet-28-10: 28 layers, ten times as wide as a plain ResNet."""
    return WideResNet(28, 10, classes, channels)


def wide_resnet40_2(classes: int = 10, channels: int = 3) -> WideResNet:
    """WideResNet-40-2: 40 layers, twice as wide as a plain ResNet."""
    return WideResNet(40, 2, classes, channels)


class WideResNet(nn.Module):
    """One convolution, three groups of blocks, the mean over all places, a linear classifier."""

    def __init__(self, depth: int, widen: int, classes: int, channels: int):
        super().__init__()
        count = (depth - 4) // 6  # blocks in a group: each has two convolutions
        widths = (16, 16 * widen, 32 * widen, 64 * widen)
        self.conv1 = nn.Conv2d(channels, widths[0], 3, padding=1, bias=False)
        self.block1 = Group(count, widths[0], widths[1], stride=1)
        self.block2 = Group(count, widths[1], widths[2], stride=2)
        self.block3 = Group(count, widths[2], widths[3], stride=2)
        self.bn1 = nn.BatchNorm2d(widths[3])
        self.fc = nn.Linear(widths[3], classes)
        nn.init.zeros_(self.fc.bias)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) of any size to logits (N, classes)."""
        x = self.block3(self.block2(self.block1(self.conv1(x))))
        return self.fc(F.relu(self.bn1(x), inplace=True).mean((2, 3)))


class Group(nn.Module):
    """Blocks of one width, the first of which changes width and size."""

    def __init__(self, count: int, width_in: int, width: int, stride: int):
        super().__init__()
        first, rest = Block(width_in, width, stride), (Block(width, width, 1) for _ in range(count - 1))
        self.layer = nn.Sequential(first, *rest)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Block(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut, normalisation and ReLU before each.

    Where the width changes, the shortcut is a 1 x 1 convolution, and it too looks at the activated input.
    """

    def __init__(self, width_in: int, width: int, stride: int):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(width_in)
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.convShortcut = None if width_in == width else nn.Conv2d(width_in, width, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        active = F.relu(self.bn1(x), inplace=True)
        y = self.conv2(F.relu(self.bn2(self.conv1(active)), inplace=True))
        return y + (x if self.convShortcut is None else self.convShortcut(active))
