"""State dicts: the tensors in what others have saved, and which of our architectures they belong to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn

from scuff.models.architectures import ARCHITECTURES, build

PREFIXES = ("module.", "_orig_mod.")  # of DataParallel and of torch.compile
WRAPPERS = ("state_dict", "model", "model_state_dict", "net")  # under which training scripts save a state dict

COUNTER = "num_batches_tracked"  # of batch normalisation; old files lack it, and inference has no use for it

# torchvision's published DenseNets have two names in the form norm.1 that no module can have today.
_OLD_DENSE_LAYER = re.compile(r"(denselayer\d+\.(?:norm|conv))\.([12]\.)")


def plain_name(name: str) -> str:
    """A tensor's name without what a wrapper has put before it.

    >>> plain_name("module._orig_mod.conv1.weight")
    'conv1.weight'
    """
    while name.startswith(PREFIXES):
        name = name.partition(".")[2]
    return _OLD_DENSE_LAYER.sub(r"\1\2", name)


def find_state(content: Any) -> dict[str, Tensor]:
    """The tensors in what a training script has saved, by their plain names; empty if there are none."""
    while isinstance(content, Mapping):
        inner = next((content[key] for key in WRAPPERS if isinstance(content.get(key), Mapping)), None)
        if inner is None:
            return {plain_name(str(name)): value for name, value in content.items() if isinstance(value, Tensor)}
        content = inner
    return {}


def recognise(state: Mapping[str, Tensor]) -> tuple[str, int, int] | None:
    """The architecture that fits, with its number of classes and of channels; None if none does."""
    for name in ARCHITECTURES:
        counts = count_classes_and_channels(name, state)
        if counts is not None and not differences(name, state, *counts):
            return name, *counts
    return None


def count_classes_and_channels(name: str, state: Mapping[str, Tensor]) -> tuple[int, int] | None:
    """How many classes and channels a state dict has, if it has the first and last weights of an architecture."""
    weights = [key for key, shape in shapes_of(name).items() if len(shape) > 1]
    if not all(key in state and state[key].ndim > 1 for key in (weights[0], weights[-1])):
        return None
    return state[weights[-1]].shape[0], state[weights[0]].shape[1]


def differences(name: str, state: Mapping[str, Tensor], classes: int, channels: int) -> list[str]:
    """What keeps a state dict from fitting an architecture; empty if it fits."""
    wanted = shapes_of(name, classes, channels)
    given = {key: tuple(value.shape) for key, value in state.items() if not key.endswith(COUNTER)}
    wrong = [f"{k} is {given[k]} instead of {s}" for k, s in wanted.items() if k in given and given[k] != s]
    return [
        *wrong,
        *(f"{k} is missing" for k in wanted if k not in given),
        *(f"{k} is unknown" for k in given if k not in wanted),
    ]


def explain_strangeness(state: Mapping[str, Tensor]) -> str:
    """The nearest architecture, and some of what differs."""
    shared = {name: len(shapes_of(name).keys() & state.keys()) for name in ARCHITECTURES}
    nearest = max(shared, key=shared.__getitem__)
    if not shared[nearest]:
        return f"none of its tensors ({', '.join(list(state)[:3])}, ...) is known to {', '.join(ARCHITECTURES)}"
    unlike = differences(nearest, state, *(count_classes_and_channels(nearest, state) or (1000, 3)))
    more = f", and {len(unlike) - 3} more" if len(unlike) > 3 else ""
    return f"nearest is {nearest}, but {'; '.join(unlike[:3])}{more}"


def load_network(name: str, classes: int, channels: int, state: Mapping[str, Tensor]) -> nn.Module:
    """The network with these weights, in evaluation mode, as float32."""
    with torch.device("meta"):  # so that no time is spent on weights which are replaced at once
        network = build(name, classes, channels)
    network = network.to_empty(device="cpu")
    counters = {key: torch.tensor(0) for key in network.state_dict() if key.endswith(COUNTER)}
    network.load_state_dict({**counters, **state})
    return network.eval()


@lru_cache(maxsize=64)
def shapes_of(name: str, classes: int = 1000, channels: int = 3) -> dict[str, tuple[int, ...]]:
    """The tensors of an architecture, in its own order, made without taking memory for them."""
    with torch.device("meta"):
        state = build(name, classes, channels).state_dict()
    return {key: tuple(value.shape) for key, value in state.items() if not key.endswith(COUNTER)}
