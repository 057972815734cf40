"""Which of our architectures a state dict belongs to, seen by the names and shapes of its tensors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import torch
from torch import Tensor, nn

from scuff.models.architectures import ARCHITECTURES, build, list_architectures

Shapes = dict[str, tuple[int, ...]]

COUNTER = "num_batches_tracked"  # of batch normalisation; old files lack it, and inference has no use for it
MAX_NAMED = 3  # differences that a message names


def recognise(state: Mapping[str, Tensor]) -> tuple[str, int, int] | None:
    """The architecture that fits, with its number of classes and of channels; None if none does."""
    for name in list_architectures():
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

    def shared(name: str) -> int:
        return len(shapes_of(name).keys() & state.keys())

    nearest = max(list_architectures(), key=shared)
    if not shared(nearest):
        return f"none of its tensors ({', '.join(list(state)[:MAX_NAMED])}, ...) is known to {', '.join(ARCHITECTURES)}"
    counts = count_classes_and_channels(nearest, state) or (1000, 3)
    unlike = differences(nearest, state, *counts)
    more = f", and {len(unlike) - MAX_NAMED} more" if len(unlike) > MAX_NAMED else ""
    return f"nearest is {nearest}, but {'; '.join(unlike[:MAX_NAMED])}{more}"


def load_network(name: str, classes: int, channels: int, state: Mapping[str, Tensor]) -> nn.Module:
    """The network with these weights, in evaluation mode, as float32."""
    with torch.device("meta"):  # so that no time is spent on weights which are replaced at once
        network = build(name, classes, channels)
    network = network.to_empty(device="cpu")
    counters = {key: torch.tensor(0) for key in network.state_dict() if key.endswith(COUNTER)}
    network.load_state_dict({**counters, **state})
    return network.eval()


@lru_cache(maxsize=64)
def shapes_of(name: str, classes: int = 1000, channels: int = 3) -> Shapes:
    """The tensors of an architecture, in its own order, made without taking memory for them."""
    with torch.device("meta"):
        state = build(name, classes, channels).state_dict()
    return {key: tuple(value.shape) for key, value in state.items() if not key.endswith(COUNTER)}
