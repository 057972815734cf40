"""A training that was interrupted: everything it must remember, in one safetensors file beside its result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

from scuff.files import write_by_rename
from scuff.training.adversarial_noise import AdversarialTraining
from scuff.training.fit import Training
from scuff.training.treatment import Treatment

MOMENTUM, TREATMENT = "momentum.", "treatment."


def partial_file(out: Path) -> Path:
    """Where the training that will write `out` keeps itself."""
    return out.with_name(f"{out.stem}.partial.safetensors")


def save_training(
    training: Training, path: Path, origin: Mapping[str, Any], treatment: Treatment | None = None
) -> None:
    """Write weights, momentum, the number of steps and what a treatment has learned, by rename."""
    state = dict(training.network.state_dict())
    if isinstance(treatment, AdversarialTraining):
        state |= {TREATMENT + key: value for key, value in treatment.state().items()}
    for name, parameter in training.network.named_parameters():
        buffer = training.optimiser.state[parameter].get("momentum_buffer")
        if buffer is not None:
            state[MOMENTUM + name] = buffer
    state = {k: v.detach().cpu().clone(memory_format=torch.contiguous_format) for k, v in state.items()}
    metadata = {"step": str(training.step), "origin": json.dumps(origin, sort_keys=True)}
    with write_by_rename(path) as file:
        file.write(safetensors.torch.save(state, metadata))


def resume_training(
    training: Training, path: Path, origin: Mapping[str, Any], treatment: Treatment | None = None
) -> bool:
    """Go on with what the file holds, if it is of the same training; say whether that was possible."""
    if not path.is_file():
        return False
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            state = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except safetensors.SafetensorError:
        return False  # damaged: begin again
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
