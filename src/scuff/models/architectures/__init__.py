"""The architectures that come with the package: untrained networks, and what state dicts are recognised by."""

from __future__ import annotations

import difflib

from torch import nn

from scuff.models.architectures.densenet import densenet121, densenet121_32
from scuff.models.architectures.resnet import resnet18, resnet18_32, resnet50, resnet50_32
from scuff.models.architectures.small_cnn import small_cnn
from scuff.models.architectures.wide_dropout import wide_resnet28_10_dropout
from scuff.models.architectures.wide_resnet import wide_resnet28_10, wide_resnet40_2

ARCHITECTURES = {
    "small_cnn": small_cnn,
    "resnet18": resnet18,
    "resnet50": resnet50,
    "densenet121": densenet121,
    "resnet18_32": resnet18_32,
    "resnet50_32": resnet50_32,
    "densenet121_32": densenet121_32,
    "wide_resnet28_10": wide_resnet28_10,
    "wide_resnet28_10_dropout": wide_resnet28_10_dropout,
    "wide_resnet40_2": wide_resnet40_2,
}

MADE_FOR_IMAGENET = ("resnet18", "resnet50", "densenet121")  # 224 pixels


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
        near = difflib.get_close_matches(name, ARCHITECTURES, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(ARCHITECTURES)}"
        raise ValueError(f"no architecture is called {name!r}; {hint}")
    return ARCHITECTURES[name](classes, channels)
