"""WideResNet-28-10 with dropout, as the paper on class separation trains it on CIFAR-10.

It is another network than the usual WideResNet-28-10: convolutions have biases, the second one of a block carries the
stride and not the first, the shortcut looks at the raw input, and the last batch normalisation forgets quickly.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

DROPOUT = 0.3
LAST_MOMENTUM = 0.9  # of the last normalisation: its statistics are almost those of the last batch


def wide_resnet28_10_dropout(classes: int = 10, channels: int = 3) -> WideDropoutNet:
    """WideResNet-28-10 with biases and dropout."""
    return WideDropoutNet(blocks=4, widen=10, classes=classes, channels=channels)


class WideDropoutNet(nn.Module):
    """One convolution, three groups of blocks, the mean over all places, a linear classifier."""

    def __init__(self, blocks: int, widen: int, classes: int, channels: int):
        super().__init__()
        widths = (16, 16 * widen, 32 * widen, 64 * widen)
        self.conv1 = nn.Conv2d(channels, widths[0], 3, padding=1)
        self.layer1 = _group(blocks, widths[0], widths[1], stride=1)
        self.layer2 = _group(blocks, widths[1], widths[2], stride=2)
        self.layer3 = _group(blocks, widths[2], widths[3], stride=2)
        self.bn1 = nn.BatchNorm2d(widths[3], momentum=LAST_MOMENTUM)
        self.linear = nn.Linear(widths[3], classes)

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) of any size to logits (N, classes)."""
        x = self.layer3(self.layer2(self.layer1(self.conv1(x))))
        return self.linear(F.relu(self.bn1(x)).mean((2, 3)))


def _group(blocks: int, width_in: int, width: int, stride: int) -> nn.Sequential:
    return nn.Sequential(Block(width_in, width, stride), *(Block(width, width, 1) for _ in range(blocks - 1)))


class Block(nn.Module):
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
