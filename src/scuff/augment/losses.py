"""The consistency loss of AugMix: an image and two augmentations of it should look alike to the network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

WEIGHT = 12.0  # of the consistency, as published
LEAST_MIXTURE = 1e-7


def jensen_shannon(logits: Sequence[Tensor]) -> Tensor:
    """The Jensen-Shannon divergence of the predictions for several views of each image, the mean over the batch.

    Each view has logits (B, K). The mixture of the predictions is not allowed below 1e-7, as in the original code. The
    divergence is 0 for equal predictions, and for three views log 3 at most.

    >>> same = torch.tensor([[1.0, 2.0]])
    >>> float(jensen_shannon([same, same, same])) < 1e-6
    True
    """
    predictions = torch.stack([F.log_softmax(view.float(), dim=1) for view in logits])
    mixture = predictions.exp().mean(0).clamp(LEAST_MIXTURE, 1.0).log()
    return (predictions.exp() * (predictions - mixture)).sum(2).mean()


def consistency_loss(logits: Tensor, labels: Tensor, weight: float = WEIGHT, label_smoothing: float = 0.0) -> Tensor:
    """Cross-entropy of the images as they are, plus `weight` times the divergence of all three views.

    `logits` (3B, K) are of one forward pass, so that the views share the statistics of the batch: first those of the
    clean images, then those of the first and of the second augmentation. `labels` are int64 (B,).
    """
    if len(logits) != 3 * len(labels):
        raise ValueError(f"{len(labels)} labels need logits of three views each, got {len(logits)} of them")
    views = logits.float().chunk(3)
    return F.cross_entropy(views[0], labels, label_smoothing=label_smoothing) + weight * jensen_shannon(views)
