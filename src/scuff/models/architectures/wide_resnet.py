"""Wide residual networks: Zagoruyko and Komodakis, Wide Residual Networks, BMVC 2016.

They are networks for images of 32 pixels; they end in a mean over all places, so they take any size. Parameters are
named as in the PyTorch version that AugMix and many others have built upon, so that their state dicts load.

The variant with dropout is the one that the paper on class separation trains on CIFAR-10. It is another network:
convolutions have biases, the second one of a block carries the stride and not the first, the shortcut looks at the raw
input, and the last batch normalisation forgets quickly.
"""

from __future__ import annotations

from collections import OrderedDict

from torch import Tensor, nn
from torch.nn import functional as F

DROPOUT = 0.3
LAST_MOMENTUM = 0.9  # of the last normalisation with dropout: its statistics are almost those of the last batch


def _group(
    block: type[Block] | type[DropoutBlock], depth: int, width_in: int, width: int, stride: int
) -> nn.Sequential:
    """Blocks of one width, the first of which changes width and size; each has two of the network's convolutions."""
    return nn.Sequential(block(width_in, width, stride), *(block(width, width, 1) for _ in range((depth - 4) // 6 - 1)))


class WideResNet(nn.Module):
    """One convolution, three groups of blocks, the mean over all places, a linear classifier."""

    def __init__(self, depth: int, widen: int, classes: int, channels: int):
        super().__init__()
        widths = (16, 16 * widen, 32 * widen, 64 * widen)
        self.conv1 = nn.Conv2d(channels, widths[0], 3, padding=1, bias=False)
        self.block1 = nn.Sequential(OrderedDict(layer=_group(Block, depth, widths[0], widths[1], stride=1)))
        self.block2 = nn.Sequential(OrderedDict(layer=_group(Block, depth, widths[1], widths[2], stride=2)))
        self.block3 = nn.Sequential(OrderedDict(layer=_group(Block, depth, widths[2], widths[3], stride=2)))
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


class WideDropoutNet(nn.Module):
    """The same with biases and dropout; weights begin as torch makes them."""

    def __init__(self, depth: int, widen: int, classes: int, channels: int):
        super().__init__()
        widths = (16, 16 * widen, 32 * widen, 64 * widen)
        self.conv1 = nn.Conv2d(channels, widths[0], 3, padding=1)
        self.layer1 = _group(DropoutBlock, depth, widths[0], widths[1], stride=1)
        self.layer2 = _group(DropoutBlock, depth, widths[1], widths[2], stride=2)
        self.layer3 = _group(DropoutBlock, depth, widths[2], widths[3], stride=2)
        self.bn1 = nn.BatchNorm2d(widths[3], momentum=LAST_MOMENTUM)
        self.linear = nn.Linear(widths[3], classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) of any size to logits (N, classes)."""
        x = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return self.linear(F.relu(self.bn1(x)).mean((2, 3)))


class DropoutBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut, normalisation and ReLU before each, dropout between them."""

    def __init__(self, width_in: int, width: int, stride: int):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(width_in)
        self.conv1 = nn.Conv2d(width_in, width, 3, padding=1)
        self.dropout = nn.Dropout(DROPOUT)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1)
        same = width_in == width and stride == 1
        self.shortcut = nn.Sequential() if same else nn.Sequential(nn.Conv2d(width_in, width, 1, stride))

    def forward(self, x: Tensor) -> Tensor:
        y = self.dropout(self.conv1(F.relu(self.bn1(x))))
        return self.conv2(F.relu(self.bn2(y))) + self.shortcut(x)
