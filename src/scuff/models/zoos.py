"""Models of torchvision and timm, with the preprocessing that comes with their weights."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from scuff.models.classifier import Classifier
from scuff.models.onnx_file import import_package
from scuff.pictures import Cut

RANDOM = "random"  # NAME@random: untrained, always with the same weights


def open_torchvision(name: str) -> Classifier:
    """`NAME` with the best weights that torchvision has, `NAME@IMAGENET1K_V1` with certain ones, or `NAME@random`."""
    models = import_package("torchvision.models", f"torchvision:{name}")
    name, _, tag = name.partition("@")
    weights = find_weights(models, models, name, tag, "classifier")
    module = make_network(
        f"torchvision:{name}", tag, lambda trained: models.get_model(name, weights=weights if trained else None)
    )
    steps = weights.transforms()
    size = getattr(module, "image_size", steps.crop_size[0])  # vision transformers insist on theirs
    cut = Cut(max(size, steps.resize_size[0]), size, steps.interpolation.value)
    names = weights.meta["categories"]
    return Classifier(module, mean=steps.mean, std=steps.std, input_size=size, channels=3, class_names=names, cut=cut)


def find_weights(models: Any, module: Any, name: str, tag: str, kind: str) -> Any:
    """The weights that a tag means, for a model of torchvision itself, or of its detection or segmentation."""
    known = models.list_models(module=module)
    if name not in known:
        raise ValueError(f"torchvision has no {kind} called {name!r}{_near(name, known)}")
    choices = models.get_model_weights(name)
    if tag not in ("", RANDOM) and tag not in choices.__members__:
        names = ", ".join([*choices.__members__, RANDOM])
        raise ValueError(f"torchvision has no weights {tag!r} for {name}; there are {names}")
    return choices["DEFAULT" if tag in ("", RANDOM) else tag]


def open_timm(name: str) -> Classifier:
    """`NAME` or `NAME.TAG` with timm's weights, or `NAME@random`."""
    timm = import_package("timm", f"timm:{name}")
    name, _, tag = name.partition("@")
    if tag not in ("", RANDOM):
        raise ValueError(f"expected timm:NAME, timm:NAME.TAG or timm:NAME@random, got timm:{name}@{tag}")
    if ":" not in name and not timm.is_model(name):  # with a colon it is a place like hf-hub:timm/resnet18.a1_in1k
        raise ValueError(f"timm has no model called {name!r}{_near(name, timm.list_models())}")
    module = make_network(f"timm:{name}", tag, lambda trained: timm.create_model(name, pretrained=trained))
    data = timm.data.resolve_model_data_config(module)
    channels, size, _ = data["input_size"]
    filter = data["interpolation"] if data["interpolation"] in ("bicubic", "lanczos", "nearest") else "bilinear"
    cut = Cut(math.floor(size / data["crop_pct"]), size, filter)
    return Classifier(module, mean=data["mean"], std=data["std"], input_size=size, channels=channels, cut=cut)


def make_network(address: str, tag: str, make: Callable[[bool], nn.Module]) -> nn.Module:
    """The network, in evaluation mode: trained, or with the same random weights every time."""
    if tag == RANDOM:
        with torch.random.fork_rng(devices=[]):  # the caller's generator is not moved
            torch.manual_seed(0)
            return make(False).eval()
    try:
        return make(True).eval()
    except (OSError, RuntimeError) as error:
        raise ValueError(
            f"cannot get the weights of {address}: {error}; without a network, put them into the cache first, or try "
            f"{address}@random for a model that has learned nothing"
        ) from error


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"; did you mean {', '.join(near)}?" if near else ""
