"""Train a network from scratch on images that fit into memory."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

Progress = Callable[[int, int], None]  # steps done, steps to do


def fit(
    network: nn.Module,
    images: Tensor,
    labels: Tensor,
    *,
    mean: float,
    std: float,
    epochs: int = 4,
    batch_size: int = 128,
    learning_rate: float = 0.2,
    seed: int = 0,
    progress: Progress | None = None,
) -> nn.Module:
    """Minimise the cross-entropy by SGD with Nesterov momentum, the learning rate rising and falling once (one cycle).

    `images` are uint8 (N, C, H, W) and `labels` int64 (N,), both on the network's device; a pixel in 0..1 is normalised
    to (pixel - mean) / std. The order of the images is decided by `seed` alone. The network is changed and returned.
    """
    steps = epochs * (len(images) // batch_size)
    if steps == 0:
        raise ValueError(f"{len(images)} images do not fill one batch of {batch_size}; use a smaller batch")
    optimiser = torch.optim.SGD(network.parameters(), learning_rate, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, learning_rate, total_steps=steps)
    order = torch.Generator().manual_seed(seed)
    network.train()
    done = 0
    for _ in range(epochs):
        shuffled = torch.randperm(len(images), generator=order).to(images.device)
        for chosen in shuffled.split(batch_size)[: len(images) // batch_size]:
            pixels = images[chosen].float().div_(255.0).sub_(mean).div_(std)
            loss = functional.cross_entropy(network(pixels), labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            done += 1
            if progress is not None:
                progress(done, steps)
    return network.eval()
