"""Whether a network looks as if it had never been trained: a warning, not a proof."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn

NORMS = (nn.modules.batchnorm._NormBase, nn.LayerNorm, nn.GroupNorm)
LAYERS = (nn.Linear, nn.modules.conv._ConvNd)


def looks_untrained(model: Any) -> bool:
    """Whether all its normalising layers, or without any all its weights, are as torch makes them.

    New normalising layers have weights of 1 and biases of 0. New weights of other layers are uniform between the
    bounds ±1 / sqrt(inputs), which training does not respect.

    >>> looks_untrained(nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8))), looks_untrained(nn.Linear(300, 10))
    (True, True)
    """
    if not isinstance(model, nn.Module):
        return False
    norms = [m for m in model.modules() if isinstance(m, NORMS) and isinstance(m.weight, Tensor)]
    if norms:
        return all(bool((m.weight == 1).all()) and (m.bias is None or not m.bias.any()) for m in norms)
    layers = [m for m in model.modules() if isinstance(m, LAYERS) and m.weight.numel() >= 100]
    return bool(layers) and all(_is_new(layer.weight.detach()) for layer in layers)


def _is_new(weight: Tensor) -> bool:
    bound = 1 / math.sqrt(weight[0].numel())
    is_inside = float(weight.abs().max()) <= bound * (1 + 1e-6)
    return is_inside and abs(float(weight.std()) * math.sqrt(3) / bound - 1) < 0.2
