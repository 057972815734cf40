"""A model that is compiled where that pays, which is measured before its first cell and told by a note."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from scuff.failures import is_out_of_memory
from scuff.models import Classifier
from scuff.models.graph import Graph
from scuff.words import show_duration

LEAST = 50_000  # predictions, below which nobody measures whether compiling would pay
# Seconds that a model takes as it is, from which on compiling is tried. On an H200, ResNet-50 was compiled in 7 to
# 20 s, and became 1.7 to 2.5 times as fast: the slowest of these, float32, pays from 20 s / (1 - 1 / 1.7) = 49 s on.
WORTH = 50.0
FEW = 8  # images on which a changed network is held against the original
REPEATED = 3  # batches that are timed

Check = Callable[[int], None]  # of the number of outputs


@dataclass(eq=False)
class Swift:
    """A classifier that answers with ranks in place of logits.

    `compile` None leaves the choice to `settle`, which measures; without that, a model runs as it is. A compiled model
    sees batches of one size, filled up where they are shorter.
    """

    classifier: Classifier
    predictions: int = 0  # of the whole evaluation
    compile: bool | None = False
    note: str = ""
    _graph: Graph | None = field(default=None, init=False)
    _outputs: int = field(default=0, init=False)

    def __call__(self, images: Tensor, counted: Tensor | None, ranks: int, size: int, check: Check) -> Tensor:
        """The best outputs of every image, as `rank` has them; `check` refuses a number of outputs."""
        if self._graph is not None:
            check(self._outputs)
            return self._graph(_filled(images, size), counted, ranks)[: len(images)]
        logits = self.classifier(images)
        self._outputs = logits.shape[1]
        check(self._outputs)
        return rank(logits, counted, ranks)

    @property
    def is_compiled(self) -> bool:
        """Whether it has been compiled."""
        return self._graph is not None

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to decide any more."""
        open_question = self.compile or (self.compile is None and self.predictions >= LEAST)
        return not open_question or not isinstance(self.classifier.model, nn.Module)

    def settle(self, images: Tensor, counted: Tensor | None, ranks: int, check: Check) -> None:
        """Compile if that is asked for, or promises to pay, for batches like `images`; keep it if it is faster."""
        before = self._time(lambda: self(images, counted, ranks, len(images), check))
        expected = before * self.predictions / len(images)
        if not self.compile and expected < WORTH:
            self._stay(f"compiling does not pay for {show_duration(expected)} of work")
            return
        started = time.perf_counter()
        graph = self._compiled(images, counted, ranks)
        if graph is None:
            return
        taken = time.perf_counter() - started
        after = self._time(lambda: graph(images, counted, ranks))
        gain = f"{before / after:.1f} x as fast"
        if after < before:
            self._take(graph, f"in {show_duration(taken)}, and is {gain}")
        else:
            self._stay(f"compiled, it is {gain}")

    def follow(self, twin: Swift, images: Tensor, counted: Tensor | None, ranks: int) -> None:
        """Do as a network of the same architecture that is settled, without measuring again."""
        if not twin.is_compiled:
            self._stay(f"it has the architecture of {twin.classifier.name}")
            return
        graph = self._compiled(images, counted, ranks)
        if graph is not None:
            self._outputs = twin._outputs
            self._take(graph, f"with {twin.classifier.name}, whose architecture it has")

    def _compiled(self, images: Tensor, counted: Tensor | None, ranks: int) -> Graph | None:
        """A graph that has run once; if there can be none, the model stays as it is."""
        try:
            graph = Graph(self.classifier, rank, images[:FEW])
            graph(images, counted, ranks)
        except Exception as error:  # torch.compile raises whatever its many parts do
            if is_out_of_memory(error):
                raise  # still open: again, with fewer images
            self._stay(f"it cannot be compiled ({_first_line(error)})")
            return None
        return graph

    def _take(self, graph: Graph, how: str) -> None:
        self._graph, self.compile = graph, False
        self.note = f"{self._called} was compiled {how}"

    def _stay(self, why: str) -> None:
        self.compile = False
        self.note = f"{self._called} runs as it is: {why}"

    @property
    def _called(self) -> str:
        return self.classifier.name or "the model"

    def _time(self, work: Callable[[], Tensor]) -> float:
        """Seconds of a call, once it is warm."""
        device = self.classifier.device
        wait = torch.cuda.synchronize if device.type == "cuda" else lambda device: None
        work()
        wait(device)
        started = time.perf_counter()
        for _ in range(REPEATED):
            work()
        wait(device)
        return (time.perf_counter() - started) / REPEATED


def rank(logits: Tensor, counted: Tensor | None, ranks: int) -> Tensor:
    """The best outputs, best first, ties by number, and the probability of the first: float64 (N, ranks + 1)."""
    if counted is not None:
        logits = logits[:, counted]
    order = logits.argmax(1, keepdim=True) if ranks == 1 else logits.argsort(dim=1, descending=True, stable=True)
    best = order[:, :ranks]
    confidence = logits.softmax(1).gather(1, best[:, :1])
    return torch.cat([best.double(), confidence.double()], 1)  # float64 holds both exactly, in one transfer


def _filled(images: Tensor, size: int) -> Tensor:
    """A batch of `size` images, the first ones again where there are fewer."""
    if len(images) >= size:
        return images
    return images[torch.arange(size, device=images.device) % len(images)]


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
