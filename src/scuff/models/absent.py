"""What stands in a classifier for a network whose weights are not in memory, and how they come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scuff.models.classifier import Classifier

PREPROCESSING = ("mean", "std", "input_size", "channels", "probabilities")  # what a fingerprint covers beside weights


def reopen_model(classifier: Classifier) -> Classifier:
    """A closed classifier with its weights; refused if they are no longer those that it was closed with."""
    closed = classifier.model
    opened = replace(classifier, model=closed.open_network(closed.address))
    as_it_was = replace(opened, **dict(zip(PREPROCESSING, closed.preprocessing, strict=True)))
    if as_it_was.fingerprint() != closed.fingerprint:
        raise ValueError(
            f"the model {classifier.name or closed.address} is not what it was when it was opened first: "
            f"{closed.address} has been written anew since; run the same command again"
        )
    return opened


@dataclass(frozen=True)
class Closed:
    """In place of a network: where it is, how it is opened, and what its fingerprint was and covered."""

    address: str
    open_network: Callable[[str], Callable]  # a function of a module, so that it can be sent to other processes
    fingerprint: str
    parameters: int | None
    preprocessing: tuple[Any, ...]

    def __call__(self, images: Any) -> Any:
        raise ValueError(f"the model at {self.address} is closed; call on(device) of its classifier, which opens it")
