"""One step of training: the loss of a batch, its gradient, and the optimiser.

A step of a small network is hundreds of short kernels, which a GPU runs faster than Python can launch them. So on a
GPU the whole step is recorded once, as a CUDA graph, and then replayed. A step that several processes take together is
not recorded: its messages are sent while gradients are still being computed, on streams and by bookkeeping in Python
that a recording would not see; and the large networks it is meant for keep a GPU busy without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scuff.augment.losses import consistency_loss
from scuff.models.classifier import PRECISIONS
from scuff.training.distributed import ALONE, Team
from scuff.training.recipes import Recipe

Step = Callable[[Tensor, Tensor], None]  # levels 0..255 (B, C, H, W) or views (B, 3, C, H, W), labels (B,)
Loss = Callable[[nn.Module, Tensor, Tensor, Tensor, Tensor], Tensor]

WARM_UPS = 3  # steps before the recording: they compile, and let libraries take their memory


def make_step(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    recipe: Recipe,
    normalisation: tuple[Tensor, Tensor],
    consistency: float = 0.0,
    team: Team = ALONE,
) -> Step:
    """A function that changes the network by one batch.

    With a weight of `consistency`, batches hold three views of every image, (B, 3, C, H, W). All processes of a `team`
    call it together, each with its part of the batch.
    """
    device = next(network.parameters()).device
    measure = _loss(recipe.precision, recipe.label_smoothing, consistency, recipe.compile, device)
    wrapped = team.wrap(network)

    def differentiate(batch: Tensor, labels: Tensor) -> None:
        optimiser.zero_grad(set_to_none=True)
        measure(wrapped, batch, labels, *normalisation).backward()

    def step(batch: Tensor, labels: Tensor) -> None:
        differentiate(batch, labels)
        optimiser.step()

    if team.size > 1:
        return _after_a_trial(step, differentiate, network)
    return _Recorded(step, lambda: _state(network, optimiser)) if device.type == "cuda" else step


@lru_cache(maxsize=8)  # so that networks of one architecture, trained one after the other, are compiled once
def _loss(precision: str, label_smoothing: float, consistency: float, compile: bool, device: torch.device) -> Loss:
    on_gpu = device.type == "cuda"
    dtype = PRECISIONS[precision] if on_gpu else None
    layout = torch.channels_last if on_gpu else torch.contiguous_format

    def measure(network: nn.Module, batch: Tensor, labels: Tensor, factor: Tensor, summand: Tensor) -> Tensor:
        if consistency:
            batch = batch.transpose(0, 1).flatten(0, 1)  # all views at once, so that they share batch statistics
        x = torch.addcmul(summand, batch.to(torch.float32), factor).contiguous(memory_format=layout)
        with torch.autocast(device.type, dtype, enabled=dtype is not None, cache_enabled=False):
            logits = network(x).float()
        if consistency:
            return consistency_loss(logits, labels, consistency, label_smoothing)
        return F.cross_entropy(logits, labels, label_smoothing=label_smoothing)

    # Batches have one size for many steps: a second kind of batch is compiled for itself, not for any size.
    return torch.compile(measure, dynamic=False) if compile and on_gpu else measure


def _after_a_trial(step: Step, differentiate: Step, network: nn.Module) -> Step:
    """The step; but before the first one, the gradient is computed once for nothing.

    DistributedDataParallel arranges gradients in another order after the first of them that it has seen, and how a sum
    over processes is rounded depends on that. A training that was interrupted must not differ by its first step.
    """
    is_tried = False

    def act(batch: Tensor, labels: Tensor) -> None:
        nonlocal is_tried
        if not is_tried:
            before = [buffer.clone() for buffer in network.buffers()]
            with torch.random.fork_rng([batch.device] if batch.is_cuda else []):
                differentiate(batch, labels)
            for buffer, value in zip(network.buffers(), before, strict=True):
                buffer.copy_(value)
            is_tried = True
        step(batch, labels)

    return act


def _state(network: nn.Module, optimiser: torch.optim.Optimizer) -> Iterator[Tensor]:
    """Every tensor that a step changes."""
    yield from network.state_dict(keep_vars=True).values()
    for state in optimiser.state.values():
        yield from (value for value in state.values() if isinstance(value, Tensor))


class _Recorded:
    """A step that is recorded when it is first called, and again when batches have another size."""

    def __init__(self, step: Step, state: Callable[[], Iterator[Tensor]]) -> None:
        self._step, self._state = step, state
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: Tensor, labels: Tensor) -> None:
        if self._graph is None or self._batch.shape != batch.shape:
            self._record(batch, labels)
        self._batch.copy_(batch)
        self._labels.copy_(labels)
        assert self._graph is not None
        self._graph.replay()

    def _record(self, batch: Tensor, labels: Tensor) -> None:
        """Try the step until nothing new happens, undo what that changed, and record it."""
        self._graph = None  # which has memory of its own
        self._batch, self._labels = batch.clone(), labels.clone()
        before = [value.detach().clone() for value in self._state()]
        generator = torch.cuda.get_rng_state(batch.device)  # which dropout moves
        aside = torch.cuda.Stream(batch.device)
        aside.wait_stream(torch.cuda.current_stream(batch.device))
        with torch.cuda.stream(aside):
            for _ in range(WARM_UPS):
                self._step(self._batch, self._labels)
        torch.cuda.current_stream(batch.device).wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):  # records, and computes nothing
            self._step(self._batch, self._labels)
        with torch.no_grad():
            for place, value in enumerate(self._state()):
                # What the optimiser has only begun to remember during the trial was nothing before it.
                value.copy_(before[place]) if place < len(before) else value.zero_()
        torch.cuda.set_rng_state(generator, batch.device)
