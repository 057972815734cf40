"""State dicts: the names of their tensors, whatever has been wrapped around the network when it was saved."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

PREFIXES = ("module.", "_orig_mod.")  # of DataParallel and of torch.compile
WRAPPERS = ("state_dict", "model", "model_state_dict", "net")  # under which training scripts save a state dict

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
