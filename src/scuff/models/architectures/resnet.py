"""Residual networks: He et al., Deep Residual Learning for Image Recognition, CVPR 2016.

Parameters are named as torchvision names them, so that its state dicts load. As there, a bottleneck block takes its
stride in the 3 x 3 convolution. The variants for images of 32 pixels begin with one 3 x 3 convolution, where the others
halve the image twice before the first block.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

WIDTHS = (64, 128, 256, 512)


class ResNet(nn.Module):
    """A stem, four groups of residual blocks, the mean over all places, a linear classifier."""

    def __init__(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        depths: tuple[int, int, int, int],
        classes: int,
        channels: int,
        small: bool = False,
    ):
        super().__init__()
        self.conv1, self.maxpool = stem(channels, WIDTHS[0], small)
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        width_in = WIDTHS[0]
        for number, (width, depth) in enumerate(zip(WIDTHS, depths, strict=True), start=1):
            blocks = []
            for place in range(depth):
                blocks.append(block(width_in, width, stride=2 if number > 1 and place == 0 else 1))
                width_in = width * block.expansion
            self.add_module(f"layer{number}", nn.Sequential(*blocks))
        self.fc = nn.Linear(width_in, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) of any size to logits (N, classes)."""
        x = self.maxpool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        for number in range(1, len(WIDTHS) + 1):
            x = self.get_submodule(f"layer{number}")(x)
        return self.fc(x.mean((2, 3)))


def stem(channels: int, width: int, small: bool) -> tuple[nn.Conv2d, nn.Module]:
    """The first convolution and the pooling after it."""
    if small:
        return nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.Identity()
    return nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False), nn.MaxPool2d(3, stride=2, padding=1)


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(self, width_in: int, width: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(width_in, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _shortcut(width_in, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.downsample(x), inplace=True)


class Bottleneck(nn.Module):
    """A 3 x 3 convolution between two 1 x 1 ones, the last of which is four times as wide, beside a shortcut."""

    expansion = 4
    widen = 1  # the inner width, as a multiple of the usual one

    def __init__(self, width_in: int, width: int, stride: int):
        super().__init__()
        width_out, width = width * self.expansion, width * self.widen
        self.conv1 = nn.Conv2d(width_in, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, width_out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(width_out)
        self.downsample = _shortcut(width_in, width_out, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        return F.relu(self.bn3(self.conv3(y)) + self.downsample(x), inplace=True)


class WideBottleneck(Bottleneck):
    """The same with a 3 x 3 convolution of twice the width."""

    widen = 2


def _shortcut(width_in: int, width_out: int, stride: int) -> nn.Module:
    """The input as it is, or brought to the shape of the output by a 1 x 1 convolution."""
    if stride == 1 and width_in == width_out:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(width_in, width_out, 1, stride, bias=False), nn.BatchNorm2d(width_out))
