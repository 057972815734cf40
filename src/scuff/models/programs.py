"""Programs in files: TorchScript, and what torch.export has saved. They bring their own code, and need no class."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import io
import os
import re
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from scuff.failures import ModelError, is_out_of_memory
from scuff.models.classifier import Classifier

UNSAFE = ("constants/custom_obj", "constants/opaque_obj")  # in a torch.export archive: pickles that may run code
DEVICES = re.compile(r': Device = prim::Constant\[value="(\w+)')  # in the code of TorchScript
FORCE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"


class Program(nn.Module):
    """A program as a module. The hash of its file is one of its tensors, because code and constants are no weights.

    A program that was exported for a fixed number of images gets as many; what the last batch lacks is black.
    """

    digest: Tensor

    def __init__(self, inner: nn.Module, content: bytes, batch: int | None = None, is_exported: bool = False) -> None:
        super().__init__()
        self.inner, self.content, self.batch, self.is_exported = _frozen(inner), content, batch, is_exported
        self.training = False
        self.register_buffer("digest", torch.tensor(list(hashlib.blake2b(content, digest_size=16).digest())).byte())

    def to(self, *args: Any, **kwargs: Any) -> Program:
        """On a device. What torch.export has saved names devices in its code, which change too."""
        device = args[0] if args else kwargs.get("device")
        if self.is_exported and isinstance(device, (str, torch.device)):
            from torch.export.passes import move_to_device_pass

            with _silent():
                program = move_to_device_pass(_load_exported(self.content), torch.device(device))
                self.inner = _frozen(program.module())
        return super().to(*args, **kwargs)

    def train(self, mode: bool = True) -> Program:
        """Only noted: programs are saved in evaluation mode, and those of torch.export cannot change it."""
        self.training = mode
        return self

    def __deepcopy__(self, memo: dict) -> Program:
        with _silent():
            return Program(copy.deepcopy(self.inner, memo), self.content, self.batch, self.is_exported)

    def forward(self, images: Tensor) -> Any:
        if self.batch is None:
            with _explaining_devices(self.inner, images.device.type):
                return self.inner(images)
        outputs = []
        for piece in images.split(self.batch):
            black = piece.new_zeros(self.batch - len(piece), *piece.shape[1:])
            output = self.inner(torch.cat([piece, black]))
            outputs.append(getattr(output, "logits", output)[: len(piece)])
        return torch.cat(outputs)


def open_program(path: object, content: bytes) -> Classifier | None:
    """The program in a file; None if it holds something else, such as a state dict."""
    try:
        names = [name.partition("/")[2] for name in zipfile.ZipFile(io.BytesIO(content)).namelist()]
    except Exception:  # of many kinds; whatever the file is, it is no program
        return None
    open_kind = _open_script if "constants.pkl" in names else _open_exported if "archive_format" in names else None
    if open_kind is None:
        return None
    if any(unsafe in name for name in names for unsafe in UNSAFE):
        raise ValueError(f"{path} holds objects besides tensors, and loading them could run code; export without them")
    try:
        return open_kind(content)
    except Exception as error:  # torch raises whatever it pleases on a broken file
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"cannot open {path} as a program of torch: {reason}") from error


def _open_script(content: bytes) -> Classifier:
    with _silent():
        inner = torch.jit.load(io.BytesIO(content), map_location="cpu").eval()
    return Classifier(Program(inner, content))


def _open_exported(content: bytes) -> Classifier:
    program = _load_exported(content)
    inputs = [n for n in program.graph.nodes if n.op == "placeholder" and n.name in program.graph_signature.user_inputs]
    if len(inputs) != 1 or len(inputs[0].meta["val"].shape) != 4:
        shapes = ", ".join(str(tuple(node.meta["val"].shape)) for node in inputs) or "none"
        raise ValueError(f"expected one input of images (N, C, H, W), got {shapes}")
    batch, channels, height, width = (n if type(n) is int else None for n in inputs[0].meta["val"].shape)
    size = height if height == width else None
    return Classifier(Program(program.module(), content, batch, is_exported=True), input_size=size, channels=channels)


def _load_exported(content: bytes) -> torch.export.ExportedProgram:
    with _silent(), _only_tensors():
        return torch.export.load(io.BytesIO(content))


@contextlib.contextmanager
def _explaining_devices(program: nn.Module, device: str) -> Iterator[None]:
    """Say so if a program fails that was traced on another device, whose name has become part of its code."""
    try:
        yield
    except RuntimeError as error:
        named = DEVICES.findall(str(getattr(program, "inlined_graph", "")))
        others = sorted({name for name in named if name != device})
        if not others or is_out_of_memory(error):
            raise
        raise ModelError(
            f"this TorchScript program was traced on {others[0]}, which has become part of its code, and cannot run on "
            f"{device}: use --device {others[0]}, trace it again on {device}, or save it by torch.jit.script"
        ) from error


def _frozen(network: nn.Module) -> nn.Module:
    """Without gradients: copies of TorchScript's parameters would have a history."""
    for parameter in network.parameters():
        parameter.requires_grad_(False)
    return network


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Without torch's remarks on its own fashions, which a user can do nothing about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _only_tensors() -> Iterator[None]:
    """Let torch.load read nothing but tensors in the block, whatever its caller asks it for."""
    before = os.environ.get(FORCE)
    os.environ[FORCE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[FORCE]
        else:
            os.environ[FORCE] = before
