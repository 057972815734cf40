"""Two streams of work on a GPU: the next images are corrupted beside the models that look at these."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator

import torch
from torch import Tensor

AHEAD = 2  # batches that may be corrupted before the first of them has been looked at


class Lanes:
    """On a CPU, one thing after the other. Nothing here waits for the device: its streams wait for each other."""

    def __init__(self, device: torch.device) -> None:
        self._models = self._images = None
        if device.type == "cuda":
            self._models, self._images = torch.cuda.current_stream(device), torch.cuda.Stream(device)
        self._seen: deque[torch.cuda.Event] = deque(maxlen=AHEAD)

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """What is done with images, until it comes to the models."""
        if self._images is None:
            yield
            return
        self._images.wait_stream(self._models)  # what has been begun for them, such as copies to the device
        with torch.cuda.stream(self._images):
            yield

    @contextlib.contextmanager
    def looking(self, images: Tensor) -> Iterator[None]:
        """What models do with images that were made beside them."""
        if self._images is None or self._models is None:
            yield
            return
        images.record_stream(self._models)  # whose memory is not to be used again before they are done
        self._models.wait_stream(self._images)
        with torch.cuda.stream(self._models):
            yield
            self._seen.append(self._models.record_event())
        if len(self._seen) == AHEAD:
            self._images.wait_event(self._seen[0])
