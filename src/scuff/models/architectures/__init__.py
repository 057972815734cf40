"""The architectures that come with the package: untrained networks, and what state dicts are recognised by."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch import nn

from scuff.models.architectures.densenet import DenseNet
from scuff.models.architectures.resnet import BasicBlock, Bottleneck, ResNet, WideBottleneck
from scuff.models.architectures.small_cnn import SmallCNN
from scuff.models.architectures.vgg import VGG
from scuff.models.architectures.wide_resnet import WideDropoutNet, WideResNet
from scuff.words import near_names

ARCHITECTURES: dict[str, Callable[[int, int], nn.Module]] = {  # of the numbers of classes and channels
    "small_cnn": SmallCNN,
    "resnet18": partial(ResNet, BasicBlock, (2, 2, 2, 2)),
    "resnet50": partial(ResNet, Bottleneck, (3, 4, 6, 3)),
    "wide_resnet50_2": partial(ResNet, WideBottleneck, (3, 4, 6, 3)),
    "densenet121": DenseNet,
    "vgg19_bn": VGG,
    "resnet18_32": partial(ResNet, BasicBlock, (2, 2, 2, 2), small=True),
    "resnet50_32": partial(ResNet, Bottleneck, (3, 4, 6, 3), small=True),
    "densenet121_32": partial(DenseNet, small=True),
    "vgg19_bn_32": partial(VGG, small=True),
    "wide_resnet28_10": partial(WideResNet, 28, 10),
    "wide_resnet28_10_dropout": partial(WideDropoutNet, 28, 10),
    "wide_resnet40_2": partial(WideResNet, 40, 2),
}

MADE_FOR_IMAGENET = ("resnet18", "resnet50", "wide_resnet50_2", "densenet121", "vgg19_bn")  # 224 pixels


def list_architectures() -> list[str]:
    """The names that `build` knows."""
    return list(ARCHITECTURES)


def build(name: str, classes: int, channels: int = 3) -> nn.Module:
    """An untrained network by name, with as many outputs as there are classes.

    >>> network = build("small_cnn", classes=10, channels=1)
    >>> sum(p.numel() for p in network.parameters())
    24058
    """
    if name not in ARCHITECTURES:
        raise ValueError(f"no architecture is called {name!r}; {near_names(name, ARCHITECTURES, cutoff=0.4)}")
    return ARCHITECTURES[name](classes, channels)
