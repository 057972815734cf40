"""A training that was interrupted: everything it must remember, in one safetensors file beside its result."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch

from scuff.files import as_place
from scuff.tensors import read_tensors, write_tensors
from scuff.training.adversarial_noise import AdversarialTraining
from scuff.training.fit import Training
from scuff.training.treatment import Treatment

MOMENTUM, TREATMENT = "momentum.", "treatment."


def partial_file(out: Path | str) -> Path | str:
    """Where the training that will write `out` keeps itself."""
    return file_beside(out, "partial")


def file_beside(out: Path | str, kind: str) -> Path | str:
    """NAME.KIND.safetensors beside NAME.safetensors.

    >>> file_beside("s3://bucket/net.safetensors", "partial")
    's3://bucket/net.partial.safetensors'
    """
    return as_place(f"{os.fspath(out).removesuffix('.safetensors')}.{kind}.safetensors")


def save_training(
    training: Training, path: Path | str, origin: Mapping[str, Any], treatment: Treatment | None = None
) -> None:
    """Write weights, momentum, the number of steps and what a treatment has learned."""
    state = dict(training.network.state_dict())
    if isinstance(treatment, AdversarialTraining):
        state |= {TREATMENT + key: value for key, value in treatment.state().items()}
    for name, parameter in training.network.named_parameters():
        buffer = training.optimiser.state[parameter].get("momentum_buffer")
        if buffer is not None:
            state[MOMENTUM + name] = buffer
    metadata = {"step": str(training.step), "origin": json.dumps(origin, sort_keys=True)}
    write_tensors(path, state, metadata)


def resume_training(
    training: Training, path: Path | str, origin: Mapping[str, Any], treatment: Treatment | None = None
) -> bool:
    """Go on with what the file holds, if it is of the same training; say whether that was possible."""
    try:
        state, metadata = read_tensors(path)
    except (FileNotFoundError, safetensors.SafetensorError):
        return False  # not there, or damaged: begin at the beginning
    if metadata.get("origin") != json.dumps(origin, sort_keys=True):
        return False
    weights = {key: value for key, value in state.items() if not key.startswith((MOMENTUM, TREATMENT))}
    if isinstance(treatment, AdversarialTraining):
        learned = {key.removeprefix(TREATMENT): value for key, value in state.items() if key.startswith(TREATMENT)}
        treatment.restore(learned)
    training.network.load_state_dict(weights)
    for name, parameter in training.network.named_parameters():
        if MOMENTUM + name in state:
            buffer = torch.empty_like(parameter).copy_(state[MOMENTUM + name])
            training.optimiser.state[parameter]["momentum_buffer"] = buffer
    training.step = int(metadata["step"])
    return True
