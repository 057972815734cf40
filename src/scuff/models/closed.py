"""Classifiers without their weights: what a plan of hundreds of models holds, and what is sent to other processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import torch

from scuff.models.absent import PREPROCESSING, Closed
from scuff.models.classifier import Classifier
from scuff.models.open import is_python_address, open_model


def close_model(classifier: Classifier) -> Classifier:
    """The same classifier without its weights in memory, if they can be had from its address again.

    `fingerprint` and `parameter_count` still answer, and `on` opens it; nothing else changes. A model that is an object
    of this process is returned as it is, and so is one that is made with other weights every time.
    """
    if not classifier.is_reopenable or isinstance(classifier.model, Closed):
        return classifier
    closed = Closed(
        _findable(classifier.address),
        _open_network,
        classifier.fingerprint(),
        classifier.parameter_count(),
        tuple(getattr(classifier, key) for key in PREPROCESSING),
    )
    if is_python_address(classifier.address):  # what code makes may be different every time
        again = replace(classifier, model=_open_network(closed.address))
        if again.fingerprint() != closed.fingerprint:
            return classifier
    return replace(classifier, model=closed, device=torch.device("cpu"))


def _findable(address: str) -> str:
    """An address that means the same in another folder."""
    if address.startswith("onnx:"):
        return f"onnx:{os.path.abspath(address.removeprefix('onnx:'))}"
    return os.path.abspath(address) if os.path.isfile(address) else address


def _open_network(address: str) -> Callable:
    return open_model(address).model
