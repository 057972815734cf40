"""Nothing, and statistics: what is gained without learning any weight.

Schneider et al., Improving robustness against common corruptions by covariate shift adaptation, NeurIPS 2020; Nado et
al., Evaluating prediction-time batch normalization for robustness under covariate shift, 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from scuff.adaptation.method import Method, norms_of, use_batch_statistics

Statistics = tuple[Tensor, Tensor]  # mean and variance of each channel


class Source(Method):
    """The network as it is: the statistics of its training, and nothing is learned."""

    @torch.no_grad()
    def adapt(self, images: Tensor) -> Tensor:
        return self.network(images)


class BatchNorm(Source):
    """BN-1: every normalisation takes the statistics of the batch; nothing is carried over to the next one."""

    def __init__(self, network: nn.Module) -> None:
        use_batch_statistics(network)
        super().__init__(network)


class PriorNorm(Source):
    """BN with a prior: the network's own statistics count as those of `prior` images beside the batch's.

    Mean and variance are (1 - a) source + a batch with a = B / (B + prior), or with a fixed `share` a.
    """

    def __init__(self, network: nn.Module, prior: float = 16.0, share: float = 0.0) -> None:
        if prior < 0 or not 0 <= share <= 1:
            raise ValueError(f"a prior is at least 0 images, and a share between 0 and 1; got {prior} and {share}")
        for norm in norms_of(network):
            rule = partial(_mix_with_source, statistics_of(norm), prior, share)
            norm.register_forward_pre_hook(partial(_set_statistics, rule))
        super().__init__(network)


class RunningNorm(Source):
    """BN-EMA: statistics start as the network's own and move on: (1 - momentum) old + momentum batch, then predict."""

    def __init__(self, network: nn.Module, momentum: float = 0.1) -> None:
        self.momentum, self._moves = momentum, False
        for norm in norms_of(network):
            norm.register_forward_pre_hook(partial(_set_statistics, self._move))
        super().__init__(network)

    def adapt(self, images: Tensor) -> Tensor:
        self._moves = True  # which a prediction without adaptation does not
        logits = super().adapt(images)
        self._moves = False
        return logits

    def _move(self, norm: nn.BatchNorm2d, count: int, batch: Statistics) -> Statistics:
        return _mix(statistics_of(norm), batch, self.momentum if self._moves else 0.0)


def statistics_of(norm: nn.BatchNorm2d) -> Statistics:
    """A copy of those that a normalisation has learned."""
    if norm.running_mean is None or norm.running_var is None:
        raise ValueError(
            "the network keeps no statistics of its training, so they cannot be mixed with those of a batch"
        )
    return norm.running_mean.clone(), norm.running_var.clone()


def _set_statistics(
    rule: Callable[[nn.BatchNorm2d, int, Statistics], Statistics], norm: nn.Module, given: tuple
) -> None:
    """Before a normalisation sees its input: give it what the rule makes of the input's statistics."""
    variance, mean = torch.var_mean(given[0].float(), (0, 2, 3))  # unbiased
    assert isinstance(norm, nn.BatchNorm2d)
    norm.running_mean, norm.running_var = rule(norm, len(given[0]), (mean, variance))


def _mix_with_source(
    source: Statistics, prior: float, share: float, norm: nn.BatchNorm2d, count: int, batch: Statistics
) -> Statistics:
    return _mix(source, batch, share or count / (count + prior))


def _mix(before: Statistics, batch: Statistics, share: float) -> Statistics:
    mean, variance = ((1 - share) * old + share * new for old, new in zip(before, batch, strict=True))
    return mean, variance
