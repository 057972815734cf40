"""A small network for small images: Fashion-MNIST and CIFAR-10 on a CPU."""

from __future__ import annotations

from torch import Tensor, nn

WIDTHS = (16, 32, 64)


class SmallCNN(nn.Module):
    """Three blocks of convolution, batch normalisation and ReLU; about 24 000 parameters. Made for 28 or 32 pixels.

    The first block sees every pixel, the others half as many each way; the mean over all places is classified.
    """

    def __init__(self, classes: int, channels: int):
        super().__init__()
        self.block1 = _block(channels, WIDTHS[0])
        self.block2 = _block(WIDTHS[0], WIDTHS[1])
        self.block3 = _block(WIDTHS[1], WIDTHS[2])
        self.pool = nn.MaxPool2d(2, ceil_mode=True)  # so that an image of a single pixel has an answer too
        self.fc = nn.Linear(WIDTHS[2], classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) of any size to logits (N, classes)."""
        x = self.block3(self.pool(self.block2(self.pool(self.block1(x)))))
        return self.fc(x.mean((2, 3)))


def _block(width_in: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(width_in, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
    )
