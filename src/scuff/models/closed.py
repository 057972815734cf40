"""Classifiers without their weights: what a plan of hundreds of models holds, and what is sent to other processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scuff.models.classifier import Classifier

PREPROCESSING = ("mean", "std", "input_size", "channels", "probabilities")  # that a fingerprint tells apart


def close_model(classifier: Classifier) -> Classifier:
    """The same classifier without its weights in memory, if they can be had from its address again.

    `fingerprint` and `parameter_count` still answer, and `on` opens it; nothing else changes. A model that is an object
    of this process is returned as it is, and so is one that is made with other weights every time.
    """
    from scuff.models.open import is_python_address  # which needs classifiers, and these need this file

    if not classifier.is_reopenable or isinstance(classifier.model, Closed):
        return classifier
    closed = Closed(
        _findable(classifier.address),
        classifier.fingerprint(),
        classifier.parameter_count(),
        tuple(getattr(classifier, key) for key in PREPROCESSING),
    )
    if is_python_address(classifier.address):  # what code makes may be different every time
        again = replace(classifier, model=closed.open())
        if again.fingerprint() != closed.fingerprint:
            return classifier
    return replace(classifier, model=closed, device="cpu")


def reopen_model(classifier: Classifier) -> Classifier:
    """A closed classifier with its weights; refused if they are no longer those that it was closed with."""
    closed = classifier.model
    opened = replace(classifier, model=closed.open())
    as_it_was = replace(opened, **dict(zip(PREPROCESSING, closed.preprocessing, strict=True)))
    if as_it_was.fingerprint() != closed.fingerprint:
        raise ValueError(
            f"the model {classifier.name or closed.address} is not what it was when it was opened first: "
            f"{closed.address} has been written anew since; run the same command again"
        )
    return opened


def _findable(address: str) -> str:
    """An address that means the same in another folder."""
    if address.startswith("onnx:"):
        return f"onnx:{os.path.abspath(address.removeprefix('onnx:'))}"
    return os.path.abspath(address) if os.path.isfile(address) else address


@dataclass(frozen=True)
class Closed:
    """In place of a network: where it is, what is found there, and the preprocessing that its fingerprint is of."""

    address: str
    fingerprint: str
    parameters: int | None
    preprocessing: tuple[Any, ...]

    def __call__(self, images: Any) -> Any:
        raise ValueError(f"the model at {self.address} is closed; call on(device) of its classifier, which opens it")

    def open(self) -> Callable:
        """The network itself."""
        from scuff.models.open import open_model

        return open_model(self.address).model
