"""Encoders for tests of features."""

from __future__ import annotations

from typing import Any

import torch

from scuff.data import Source
from scuff.environment import find_device
from scuff.studies.transform_space.features import Encoder, draw_images, make_encoder
from scuff.training.images import open_training_source


def open_encoder(
    model: Any,
    data: str | Source,
    *,
    images: int = 100,
    seed: int = 0,
    batch: int | None = None,
    precision: str = "float32",
    compile: bool = False,
    device: str | torch.device | None = None,
) -> Encoder:
    """The hidden layer of a model, and `images` of the training images, drawn without replacement by the seed."""
    drawn = draw_images(open_training_source(data), images, seed)
    return make_encoder(model, drawn, batch=batch, precision=precision, compile=compile, device=find_device(device))
