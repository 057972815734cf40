"""Cubic B-splines: the weights by which a smooth read mixes its four neighbours."""

from __future__ import annotations

from torch import Tensor


def cubic_weights(t: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Weights of pixels -1, 0, 1 and 2 for a read at t in [0, 1); they sum to 1.

    >>> import torch
    >>> [round(float(w), 4) for w in cubic_weights(torch.tensor(0.0))]
    [0.1667, 0.6667, 0.1667, 0.0]
    """
    near = 1.0 - t
    return (
        near**3 / 6.0,
        2.0 / 3.0 - t * t + t**3 / 2.0,
        2.0 / 3.0 - near * near + near**3 / 2.0,
        t**3 / 6.0,
    )
