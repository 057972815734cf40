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
from scuff.training.fit import Training

MOMENTUM = "momentum."


def partial_file(out: Path) -> Path:
    """Where the training that will write `out` keeps itself."""
    return out.with_name(f"{out.stem}.partial.safetensors")


def save_training(training: Training, path: Path, origin: Mapping[str, Any]) -> None:
    """Write weights, momentum and the number of steps, by rename."""
    state = dict(training.network.state_dict())
    for name, parameter in training.network.named_parameters():
        buffer = training.optimiser.state[parameter].get("momentum_buffer")
        if buffer is not None:
            state[MOMENTUM + name] = buffer
    state = {k: v.detach().cpu().clone(memory_format=torch.contiguous_format) for k, v in state.items()}
    metadata = {"step": str(training.step), "origin": json.dumps(origin, sort_keys=True)}
    with write_by_rename(path) as file:
        file.write(safetensors.torch.save(state, metadata))


def resume_training(training: Training, path: Path, origin: Mapping[str, Any]) -> bool:
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
    weights = {key: value for key, value in state.items() if not key.startswith(MOMENTUM)}
    training.network.load_state_dict(weights)
    for name, parameter in training.network.named_parameters():
        if MOMENTUM + name in state:
            buffer = torch.empty_like(parameter).copy_(state[MOMENTUM + name])
            training.optimiser.state[parameter]["momentum_buffer"] = buffer
    training.step = int(metadata["step"])
    return True
