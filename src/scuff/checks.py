"""One contract for every corruption, ours and yours."""

from __future__ import annotations

import random as python_random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scuff import kernels
from scuff.corruptions.motion import no_motion
from scuff.door import Resolved, corrupt, find_entry, resolve, scaled_parameters
from scuff.random import image_keys
from scuff.sequences import sequence
from scuff.suites import Suite

SIZES = ((1, 1), (2, 3), (32, 32), (33, 47))
LEAST_SIDE = 24  # pixels that it takes to see where things are


def check_corruption(
    name: str,
    severity: float | None = None,
    *,
    suite: Suite | str | None = None,
    parameters: dict[str, Any] | None = None,
    device: str | torch.device = "cpu",
    sizes: Sequence[tuple[int, int]] = SIZES,
    images: int = 3,
) -> None:
    """Hold a corruption against the contract of the package; AssertionError names the first clause that it breaks.

    An image alone equals the image in its batch; any size works, grey or RGB, and a batch of none; the input stays as
    it was; the result is finite, in [0, 1], of the given type; nothing depends on global generators, and those are not
    moved; the fast back end of the device agrees with the reference; pixels come from where the motion says. A warning
    tells of a corruption without a motion that moves the picture. An entry with levels is checked at the middle one
    unless you name another. A sequence must keep all of it in every frame. Run it over your own corruptions too:

    >>> check_corruption("cifar10-c/fog")
    >>> check_corruption("fog", parameters={"strength": 1.0, "decay": 2.0}, sizes=[(20, 31)])
    """
    if severity is None and parameters is None:
        of_suite, entry = find_entry(name, suite)
        levels = of_suite.levels(entry)
        severity = levels[len(levels) // 2]
    options: dict[str, Any] = {"severity": severity, "suite": suite, "parameters": parameters}
    plan = resolve(name, **options)
    for height, width in sizes:
        if min(height, width) >= LEAST_SIDE:
            _check_motion(plan, height, width, torch.device(device))  # which may be worked out on the CPU
        for channels in (1, 3):
            x = _test_images(images, channels, height, width).to(device)
            where = f"{plan.entry} at {channels} x {height} x {width} on {device}"
            with kernels.use_backend(kernels.backend_name(x.device)):
                _check_one(x, name, options, plan, where)


def _test_images(count: int, channels: int, height: int, width: int) -> Tensor:
    """Gradients, blocks and noise, on the 8-bit grid: smooth parts, edges and detail in each picture."""
    i, j = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    c = torch.arange(channels)[:, None, None]
    waves = 0.5 + 0.5 * torch.sin(2 * torch.pi * ((c + 1) * i / height + j / width))
    blocks = ((i // 8 + j // 8 + c) % 2).float()
    generator = torch.Generator().manual_seed(0)
    noise = torch.rand(count, channels, height, width, generator=generator)
    shares = torch.rand(count, 1, 1, 1, generator=generator)
    return torch.round(255.0 * (shares * (0.7 * waves + 0.3 * blocks) + (1.0 - shares) * noise)) / 255.0


def _check_one(x: Tensor, name: str, options: dict[str, Any], plan: Resolved, where: str) -> None:
    ids = torch.arange(5, 5 + len(x), device=x.device)

    def run(images: Tensor, numbers: Tensor) -> Tensor:
        if plan.corruption.sequence:
            where_from = {"suite": options["suite"], "parameters": options["parameters"]}
            return sequence(images, name, plan.level or 1, ids=numbers, **where_from)
        return corrupt(images, name, ids=numbers, **options)

    before, generators = x.clone(), _global_generators()
    y = run(x, ids)
    assert torch.equal(x, before), f"{where}: the input was modified"
    assert generators == _global_generators(), f"{where}: a global random generator was moved"
    frames = y.shape[1:2] if plan.corruption.sequence else ()
    expected = (len(x), *frames, *x.shape[1:])
    assert (y.shape, y.dtype, y.device) == (expected, x.dtype, x.device), f"{where}: {y.shape} {y.dtype} came back"
    assert bool(((y >= 0.0) & (y <= 1.0)).all()), f"{where}: the result is not finite or not in [0, 1]"
    assert torch.equal(y, run(x, ids)), f"{where}: two calls differ"
    for k in range(len(x)):
        alone = run(x[k : k + 1], ids[k : k + 1])
        assert torch.equal(alone[0], y[k]), f"{where}: image {k} depends on its batch"
    backwards = run(x.flip(0), ids.flip(0)).flip(0)
    assert torch.equal(backwards, y), f"{where}: the order of the batch shows"
    as_bytes = run(torch.round(x * 255).to(torch.uint8), ids)
    assert as_bytes.dtype == torch.uint8, f"{where}: uint8 became {as_bytes.dtype}"
    assert torch.equal(as_bytes, torch.round(y * 255).to(torch.uint8)), f"{where}: uint8 and float give other pictures"
    empty = run(x[:0], ids[:0])
    assert empty.shape == y[:0].shape, f"{where}: a batch of none came back as {tuple(empty.shape)}"
    _check_draws(x, plan, where)
    _check_backends(x, run, ids, y, where)


def _check_draws(x: Tensor, plan: Resolved, where: str) -> None:
    """Draws have one row per image, depend on the seed and on the id, and lead to finite pixels."""
    ids = torch.arange(24, device=x.device)  # enough that even a single coin falls both ways

    def draw(seed: int) -> dict[str, Tensor]:
        return plan.corruption.drawn(image_keys(plan.entry, plan.level, ids, seed), x.shape[1:], plan.parameters)

    first, other = draw(0), draw(1)
    for key, value in first.items():
        assert len(value) == len(ids), f"{where}: the draw {key!r} has {len(value)} rows for {len(ids)} images"
    if first and x[0].numel() >= 64:
        assert any(not torch.equal(first[k], other[k]) for k in first), f"{where}: the seed has no effect"
        assert any(not torch.equal(v, v[:1].expand_as(v)) for v in first.values()), f"{where}: images share their draws"
    if plan.corruption.domain != "byte":  # NaN would end as some byte, so look before the door rounds
        keys = image_keys(plan.entry, plan.level, ids[: len(x)])
        y = plan.corruption(x.expand(-1, 3, -1, -1), keys, plan.parameters)
        for frame in y if plan.corruption.sequence else [y]:
            assert bool(torch.isfinite(frame).all()), f"{where}: NaN or infinity before rounding"


def _check_backends(x: Tensor, run, ids: Tensor, y: Tensor, where: str) -> None:
    with kernels.use_backend("reference"):
        plain, alone = run(x, ids), run(x[:1], ids[:1])
    assert torch.equal(alone[0], plain[0]), f"{where}: in the reference back end, an image depends on its batch"
    close = (plain - y).abs() <= 1.001 / 255.0
    share = float(close.float().mean())
    assert share >= 0.999 or int((~close).sum()) <= 3, f"{where}: only {share:.4%} agree with the reference back end"


def _check_motion(plan: Resolved, height: int, width: int, device: torch.device) -> None:
    """Ramps, whose values are the rows and columns, come out as the places at which the motion says pixels are read."""
    corruption, where = plan.corruption, f"{plan.entry} at {height} x {width} on {device}"
    if corruption.motion is None and not corruption.sequence:
        _check_stays(plan, height, width, device, where)
    if corruption.motion in (None, no_motion):
        return
    parameters = scaled_parameters(plan, min(height, width))
    keys = image_keys(plan.entry, plan.level, torch.arange(3, device=device))
    step = max(1.0, 255 // max(height, width)) if corruption.domain == "byte" else 255.0 / max(height, width)
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    planes = torch.stack((0.0 * rows, step * rows, step * columns, torch.full_like(rows, 255).float()))
    x = planes.to(device)[:, None, None].expand(4, len(keys), 3, height, width).flatten(0, 1) / 255.0
    x = torch.round(255.0 * x).to(torch.uint8) if corruption.domain == "byte" else x.contiguous()
    made, motion = corruption(x, keys.repeat(4), parameters), corruption.motion_of(keys, (3, height, width), parameters)
    if corruption.sequence:
        made, motion = list(made)[-1], list(motion)[-1]
    levels = made[:, 0].float() * (1.0 if corruption.domain == "byte" else 255.0)
    black, *ramps, white = levels.unflatten(0, (4, len(keys)))
    motion = motion.to(device)
    if motion.covered is not None:
        hidden = float(((white - black)[motion.covered.expand_as(white)] < 128.0).float().mean())
        assert not hidden < 0.95, f"{where}: {1 - hidden:.0%} of the pixels that should be covered show the picture"
    gain = (white - black) / 255.0
    seen = torch.nn.functional.avg_pool2d(((gain > 0.5) & ~motion.filled(device)).float(), 5, 1) == 1.0
    for axis, read, said in zip(("rows", "columns"), ramps, motion.sources(device), strict=True):
        gap = (read - black) / gain.clamp(min=0.5) / step - said
        gap = torch.nn.functional.avg_pool2d(gap, 5, 1)[seen].abs()  # whole levels, blocks and grains even out
        typical = float(gap.median()) if gap.numel() else 0.0
        assert typical <= MOST_GAP + 1.0 / step, f"{where}: {axis} are read {typical:.2f} pixels from its motion's"


MOST_GAP = 0.5  # pixels


def _check_stays(plan: Resolved, height: int, width: int, device: torch.device, where: str) -> None:
    """Warn if spots on a grey picture move, although there is no motion."""
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    far = (rows - height // 2) ** 2 + (columns - width // 2) ** 2
    grey = torch.full((8, 3, height, width), 0.4, device=device)
    grey[..., 0, 0] = 0.9  # so that the spot is not the brightest place, by which some corruptions scale
    x = torch.cat((grey, grey + 0.35 * torch.exp(-far / 4.5).to(device)))
    keys = image_keys(plan.entry, plan.level, torch.arange(8, device=device)).repeat(2)
    x = torch.round(255.0 * x).to(torch.uint8) if plan.corruption.domain == "byte" else x
    made = plan.corruption(x, keys, scaled_parameters(plan, min(height, width))).float().mean(1)
    spot = (made[8:] - made[:8]).abs().cpu()
    spot = torch.where(spot > 0.5 * spot.amax((1, 2), keepdim=True), spot, 0.0)  # not what changes everywhere
    total = spot.sum((1, 2)).clamp(min=1e-9)
    off = [(spot * (at - side // 2)).sum((1, 2)) / total for at, side in ((rows, height), (columns, width))]
    moved = float(torch.stack(off).abs().amax(0).median())
    if moved > 1.0:
        warnings.warn(
            f"{where}: a spot moves by {moved:.1f} pixels; say where with register(motion=...), or that targets shall "
            "stay with motion=scuff.corruptions.motion.no_motion",
            stacklevel=4,
        )


def _global_generators() -> tuple[Any, ...]:
    numpy_state: Any = np.random.get_state()  # noqa: NPY002  (the global generator is what we watch)
    return python_random.getstate(), numpy_state[1].tobytes(), numpy_state[2], torch.get_rng_state().numpy().tobytes()
