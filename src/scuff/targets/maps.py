"""Arrays over the picture that follow a motion: masks, label maps, depth, flow. They are read, never mixed."""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.corruptions.motion import Motion
from scuff.targets.points import move_points


def move_map(values: Tensor, motion: Motion, fill: float) -> Tensor:
    """Values (..., H, W) of the nearest pixels; `fill` where nothing of the picture is seen. The motion is of one."""
    if motion.stays:
        return values.clone()
    height, width = motion.size
    rows, columns = (at[0] for at in motion.sources())
    place = torch.round(rows).clamp(0, height - 1).long() * width + torch.round(columns).clamp(0, width - 1).long()
    read = values.flatten(-2)[..., place.flatten()].unflatten(-1, (height, width))
    return torch.where(motion.filled()[0], torch.full((), fill, dtype=values.dtype, device=values.device), read)


def move_flow(flow: Tensor, motion: Motion, second: Motion | None = None) -> Tensor:
    """Flow (H, W, 2), x and y, from one picture to the next: NaN where the motion says nothing about an end.

    `second` is the motion of the next picture; by default both move alike, as behind one lens.
    """
    if motion.stays and (second is None or second.stays):
        return flow.clone()
    height, width = motion.size
    start = torch.stack([at[0] for at in motion.sources()[::-1]], dim=-1).double()
    here = move_map(flow.permute(2, 0, 1).float(), motion, torch.nan).permute(1, 2, 0).double()
    end = (start + here).view(-1, 2)
    known = end.isfinite().all(1)
    moved, _ = move_points(torch.where(known[:, None], end, -1e6), motion if second is None else second)
    grid = torch.stack(torch.meshgrid(torch.arange(width), torch.arange(height), indexing="xy"), dim=-1).to(moved)
    out = moved.view(height, width, 2) - grid
    return torch.where(known.view(height, width, 1), out, torch.nan).float()
