"""VGG networks: Simonyan and Zisserman, Very Deep Convolutional Networks, ICLR 2015, with batch normalisation.

Parameters are named as torchvision names them, so that its state dicts load.
"""

from __future__ import annotations

from torch import Tensor, nn

WIDTHS, DEPTHS = (64, 128, 256, 512, 512), (2, 2, 4, 4, 4)  # channels and convolutions of each stage of VGG-19
HIDDEN, PLACES = 4096, 7  # width of the classifier; places of the last picture, each way, that it sees


class VGG(nn.Module):
    """Five stages of 3 x 3 convolutions, each of which ends by halving the picture, and a classifier with dropout.

    The small variant, for 32 pixels, has one layer as its classifier: one place is left of such a picture.
    """

    def __init__(self, classes: int, channels: int, small: bool = False):
        super().__init__()
        layers: list[nn.Module] = []
        for width, depth in zip(WIDTHS, DEPTHS, strict=True):
            for _ in range(depth):
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
                channels = width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1 if small else PLACES)
        self.classifier = nn.Sequential(nn.Linear(channels, classes)) if small else _classifier(channels, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
            if isinstance(module, (nn.Conv2d, nn.Linear)) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Images (N, C, H, W) of at least 32 pixels to logits (N, classes)."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def _classifier(channels: int, classes: int) -> nn.Sequential:
    return nn.Sequential(
        *(nn.Linear(channels * PLACES**2, HIDDEN), nn.ReLU(inplace=True), nn.Dropout()),
        *(nn.Linear(HIDDEN, HIDDEN), nn.ReLU(inplace=True), nn.Dropout()),
        nn.Linear(HIDDEN, classes),
    )
