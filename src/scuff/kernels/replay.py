"""Calls that a GPU has had before, sent as one.

A corruption is tens of small kernels, and for few images Python takes longer to send them than a GPU to run them. So a
call that comes again and again is recorded as a CUDA graph; from then on it costs the host copies of what goes in and
comes out, and one launch. A recording runs the same kernels on the same numbers: results are the same bytes.

Recordings belong to the stream on which they are played, since those of one stream share their memory: a result takes
the place of the first input, and is copied from there before the next recording is played. What they read besides
their inputs are tables of `constants.remembered`, which stay as long as the recording does.
"""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from scuff.kernels import dispatch
from scuff.kernels.constants import noting_tables

CALLS_BEFORE = 3  # of a kind, until it is recorded: compilers and tables have then settled, and more are likely
MOST_VALUES = 20_000_000  # in all that goes in, half a chunk of batches.py: of more, a GPU is the slower part
MOST_RECORDINGS = 128  # of a stream
MOST_COUNTED = 4096  # kinds of calls of a stream

Step = Callable[..., Tensor]


@dataclass
class _Recording:
    graph: torch.cuda.CUDAGraph
    places: list[Tensor]  # of the inputs; the first is then that of the result
    tables: list[Any]


@dataclass
class _Lane:
    """What is recorded for one stream."""

    aside: torch.cuda.Stream  # on which calls are recorded
    pool: Any = field(default_factory=torch.cuda.graph_pool_handle)
    rooms: list[Tensor] = field(default_factory=list)  # bytes, for the inputs of whichever recording is played
    calls: OrderedDict[Hashable, int] = field(default_factory=OrderedDict)
    recordings: OrderedDict[Hashable, _Recording | None] = field(default_factory=OrderedDict)  # None: it cannot be
    turn: threading.Lock = field(default_factory=threading.Lock)


_lanes: dict[tuple[int, int], _Lane] = {}  # by device and stream


def replay(kind: Hashable, step: Step, *inputs: Tensor, out: Tensor | None = None) -> Tensor:
    """`step(*inputs)`, into `out` if that is given, by a recording once there have been some calls of this kind.

    A step also takes `out`: its result may be there already, or somewhere else.

    A kind says all that a call depends on but its inputs; those of the kind None are never recorded. What is inside a
    step must not wait for the device, nor change anything that outlasts it. Recorded are steps whose result is like
    their first input.
    """
    if kind is None or not _can_record(inputs):
        return _kept(step(*inputs, out=out), out)
    lane, kind = _lane(inputs[0].device), (kind, *((x.shape, x.dtype) for x in inputs))
    with lane.turn:
        recording = lane.recordings.get(kind)
        if recording is not None:
            lane.recordings.move_to_end(kind)
            for place, x in zip(recording.places, inputs, strict=True):
                place.copy_(x)
            recording.graph.replay()
            return recording.places[0].clone() if out is None else out.copy_(recording.places[0])
    made = _kept(step(*inputs, out=out), out)
    with lane.turn:
        if kind not in lane.recordings and _count(lane, kind) > CALLS_BEFORE:
            _add(lane, kind, _record(lane, step, inputs))
    return made


def _lane(device: torch.device) -> _Lane:
    name = (device.index, torch.cuda.current_stream(device).cuda_stream)
    return _lanes.get(name) or _lanes.setdefault(name, _Lane(torch.cuda.Stream(device)))


def _can_record(inputs: tuple[Tensor, ...]) -> bool:
    """Few values in the usual order, on a GPU that nobody else records, and by kernels that nobody has chosen."""
    return (
        inputs[0].is_cuda
        and not dispatch.is_forced()
        and 0 < sum(x.numel() for x in inputs) <= MOST_VALUES
        and all(x.is_contiguous() for x in inputs)
        and not torch.cuda.is_current_stream_capturing()
    )


def _kept(made: Tensor, out: Tensor | None) -> Tensor:
    return made if out is None or made is out else out.copy_(made)


def _count(lane: _Lane, kind: Hashable) -> int:
    lane.calls[kind] = lane.calls.pop(kind, 0) + 1
    if len(lane.calls) > MOST_COUNTED:
        lane.calls.popitem(last=False)
    return lane.calls[kind]


@torch.inference_mode(False)  # tensors of that mode could not be written to outside of it
def _record(lane: _Lane, step: Step, inputs: tuple[Tensor, ...]) -> _Recording | None:
    """The step, written down and not run; None if it cannot be, or there is no memory for it."""
    try:
        places = [_room(lane, number, x) for number, x in enumerate(inputs)]
    except torch.OutOfMemoryError:
        return None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(lane.aside), noting_tables() as tables:
        # Other threads may ask the device for what they like meanwhile. `torch.cuda.graph` would wait for the device.
        graph.capture_begin(pool=lane.pool, capture_error_mode="thread_local")
        is_whole = False
        try:
            with contextlib.suppress(RuntimeError):
                result = step(*places)
                places[0].copy_(result)
                is_whole = (result.shape, result.dtype) == (places[0].shape, places[0].dtype)
        finally:
            try:
                graph.capture_end()
            except RuntimeError:
                is_whole = False
    return _Recording(graph, places, tables) if is_whole else None


def _room(lane: _Lane, number: int, x: Tensor) -> Tensor:
    """A place like `x` for an input, in bytes that all recordings of the lane share."""
    if number == len(lane.rooms):
        lane.rooms.append(torch.empty(0, dtype=torch.uint8, device=x.device))
    if lane.rooms[number].numel() < x.nbytes:
        lane.rooms[number] = torch.empty(x.nbytes, dtype=torch.uint8, device=x.device)
    return lane.rooms[number][: x.nbytes].view(x.dtype).view(x.shape)


def _add(lane: _Lane, kind: Hashable, recording: _Recording | None) -> None:
    """Keep a recording, and drop the one that was not played for longest."""
    lane.recordings[kind] = recording
    lane.calls.pop(kind)
    if len(lane.recordings) > MOST_RECORDINGS:
        lane.recordings.popitem(last=False)
