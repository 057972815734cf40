"""Uniform points in balls: noise of a given radius around a point, in any norm from L1 to L-infinity.

A point drawn uniformly in the unit ball of d dimensions is a pattern, divided by its length and pushed out to a random
radius (Schechtman and Zinn 1990; Barthe et al., "A probabilistic approach to the geometry of the l_p^n ball", 2005). A
cube needs no more than d uniform numbers.

===========  =======================================================================  =====================
norm         pattern                                                                  radius
===========  =======================================================================  =====================
L-infinity   uniform in [-1, 1]                                                       as it comes
L2           normal                                                                   U^(1/d)
L1           exponential, with random signs                                           U^(1/d)
any other p  density proportional to exp(-|v|^p): a uniform in [-1, 1] times the      U^(1/d)
             p-th root of a Gamma(1 + 1/p)
===========  =======================================================================  =====================

Draws are keyed as everything is (`scuff.random`): they depend on the point's id, the number of the copy and the seed,
and on neither batch nor device. The radius is no part of the key, so a point moves in the same direction at all radii.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from scuff.metrics.norms import norm_name, parse_norm
from scuff.random import Shape, bernoulli, image_keys, normal, uniform

BOUNDS = ("none", "clip", "truncate")
ATTEMPTS = 6  # at a gamma variate


def sample_ball(
    x: Tensor,
    ids: Tensor,
    radius: float,
    norm: float | str = "inf",
    *,
    copy: int = 0,
    seed: int = 0,
    bounds: str = "none",
    surface: bool = False,
) -> Tensor:
    """One point drawn uniformly in the ball around each point of `x`.

    Parameters
    ----------
    x
        Points (N, ...) of any float type, which is that of the result, too. They are not modified.
    ids
        int64 (N,): what the noise of a point depends on. Points with equal ids get equal offsets, so that zeros for
        all of them give the shared offsets with which the paper's table of 2D data was made.
    radius, norm
        Of the ball. Distances hold to the rounding of the float type. A radius of 0 gives `x`.
    copy, seed
        Another copy of the same points, or another realisation of everything.
    bounds
        "none" lets points leave [0, 1], as in the paper's 2D experiments. "clip" brings back what has left. "truncate"
        draws from the part of the ball that lies in [0, 1], as in the paper's experiments with images; that is simple
        for L-infinity alone, where this part is a box.
    surface
        As in `ball_offsets`.

    Examples
    --------
    >>> x = torch.tensor([[0.5, 0.02], [0.5, 0.02]])
    >>> y = sample_ball(x, torch.tensor([0, 1]), radius=0.1, bounds="truncate")
    >>> bool(((y - x).abs() <= 0.1).all() and (y >= 0).all()), torch.equal(y[0], y[1])
    (True, False)
    """
    p = parse_norm(norm)
    _check(x, ids, radius, p, bounds, surface)
    work = x if x.dtype == torch.float64 else x.float()
    keys = image_keys("ball", copy, ids.to(x.device), seed)
    if radius == 0:
        y = work.clone()
    elif bounds == "truncate":
        low, high = (work - radius).clamp_(0, 1), (work + radius).clamp_(0, 1)
        y = low + (high - low) * uniform(keys, "coordinates", x.shape[1:])
    else:
        y = work + ball_offsets(keys, x.shape[1:], p, surface=surface).mul_(radius)
    if bounds != "none":
        y = y.clamp_(0, 1)
    return y.to(x.dtype)


def ball_offsets(keys: Tensor, shape: Shape, norm: float | str = "inf", *, surface: bool = False) -> Tensor:
    """Points drawn uniformly in the unit ball around 0: float32 (N, *shape), one for each key.

    With `surface` they are pushed out to the surface, along the ray from the centre. That is the uniform distribution
    on the surface for L1, L2 and L-infinity. For any other p it is the cone measure, which gives a little more to the
    parts of the surface that are further from the centre. It is not the distribution on the corners of the cube (all
    coordinates -1 or 1) that some programs call L-infinity noise on the surface.

    >>> offsets = ball_offsets(torch.arange(5), (3, 8, 8), norm=2)
    >>> offsets.shape, bool((offsets.flatten(1).norm(dim=1) <= 1).all())
    (torch.Size([5, 3, 8, 8]), True)
    """
    p, d = parse_norm(norm), math.prod(shape)
    if d == 0:
        raise ValueError(f"points need at least one coordinate, got the shape {tuple(shape)}")
    if d == 1:
        p = math.inf  # all balls of one dimension are the same interval
    pattern = _draw_pattern(keys, d, p)
    if surface or not math.isinf(p):
        length = _lengths(pattern, p)
        # Once in 2**25 draws a normal pair, or a uniform number, is 0. In one or two dimensions that may be all of it.
        pattern[:, 0].masked_fill_(length == 0, 1.0)
        length.masked_fill_(length == 0, 1.0)
        # The root and the quotient in double precision: U is the d-th power of a radius that may be 0.9999.
        reach = 1.0 if surface else torch.exp(torch.log(uniform(keys, "radius").double()) / d)
        pattern.mul_((reach / length)[:, None])
    return pattern.view(len(keys), *shape)


def _draw_pattern(keys: Tensor, d: int, p: float) -> Tensor:
    """What is uniform in the ball once it is scaled: float32 (N, d)."""
    if math.isinf(p):
        return uniform(keys, "coordinates", (d,), -1.0, 1.0)
    if p == 2:
        return normal(keys, "normal", (d,))
    if p == 1:
        size = torch.log_(uniform(keys, "exponential", (d,))).neg_()
        return torch.where(bernoulli(keys, "sign", (d,), probability=0.5), size, -size)
    # |v|^p has to be Gamma(1/p) = Gamma(1 + 1/p) * U^p: the root takes U out, and the sign goes with it.
    # Roots by exp and log: torch rounds powers otherwise at the end of a tensor than in its middle.
    root = torch.exp_(gamma_variates(keys, d, 1 + 1 / p).log_().div_(p))
    return root.mul_(uniform(keys, "coordinates", (d,), -1.0, 1.0))


def gamma_variates(keys: Tensor, d: int, shape: float) -> Tensor:
    """Gamma variates of a shape of at least 1, by Marsaglia and Tsang (2000): float32 (N, d).

    For a smaller shape a, take those of 1 + a times U^(1/a), U uniform. From one key come the same variates at every
    call: they draw from streams of their own.

    A proposal is accepted with probability 0.95 or more. A loop until the last one is would wait for the device again
    and again, so all proposals are made, the last one first, and each that is accepted takes the place of later ones.
    None of six is accepted with probability 1.3e-8: then the mode of the proposals stands in. This changes the
    distribution by less than the 24 bits of a float32 do.

    >>> gamma_variates(torch.arange(2), 1000, 3.0).mean(1).round().tolist()
    [3.0, 3.0]
    """
    if shape < 1:
        raise ValueError(f"gamma variates need a shape of at least 1, got {shape}; use 1 + shape, times U^(1 / shape)")
    scale = shape - 1 / 3
    drawn = torch.ones(len(keys), d, device=keys.device)
    for attempt in reversed(range(ATTEMPTS)):
        z = normal(keys, f"gamma {attempt}", (d,))
        cube = (1 + z / math.sqrt(9 * scale)) ** 3
        limit = z.square_().mul_(0.5).add_(scale * (1 - cube + torch.log(cube)))  # NaN for a cube below 0: refused
        accepted = torch.log_(uniform(keys, f"accept {attempt}", (d,))) < limit
        drawn = torch.where(accepted, cube, drawn)
    return drawn.mul_(scale)


def _lengths(v: Tensor, p: float) -> Tensor:
    """The p-norms of the rows of (N, d), in double precision: (N,)."""
    sizes = v.abs().double()
    largest = sizes.amax(1)
    if math.isinf(p):
        return largest
    if p not in (1, 2):
        # Relative to the largest, so that no power over- or underflows, however large p is.
        ratio = torch.log_(sizes.div_(largest.clamp_min(torch.finfo(torch.float64).tiny)[:, None]))
        return largest * torch.exp(torch.log(_sum_rows(ratio.mul_(p).exp_())) / p)
    return _sum_rows(sizes) if p == 1 else _sum_rows(sizes.square_()).sqrt_()


def _sum_rows(values: Tensor) -> Tensor:
    """Sums of the rows of (N, d), which is overwritten: (N,).

    Halves are added to halves: torch's own sum adds in an order that depends on the batch and on the device.
    """
    while (count := values.shape[1]) > 1:
        half = (count + 1) // 2
        values[:, : count - half] += values[:, half:]
        values = values[:, :half]
    return values[:, 0].clone()


def _check(x: Tensor, ids: Tensor, radius: float, p: float, bounds: str, surface: bool) -> None:
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.ndim == 0:
        raise ValueError(f"expected points as a float tensor (N, ...), got {_describe(x)}; divide bytes by 255")
    if not isinstance(ids, Tensor) or ids.dtype != torch.int64 or ids.shape != x.shape[:1]:
        raise ValueError(f"{len(x)} points need as many ids as an int64 tensor (N,), got {_describe(ids)}")
    if not 0 <= radius < math.inf:
        raise ValueError(f"a radius is a finite number of at least 0, got {radius}")
    if bounds not in BOUNDS:
        raise ValueError(f"bounds must be one of {', '.join(BOUNDS)}, got {bounds!r}")
    if bounds == "truncate" and (surface or not math.isinf(p)):
        what = "the surface of a ball" if surface else f"an {norm_name(p)} ball"
        raise ValueError(f"bounds='truncate' is for the inside of L-infinity balls, got {what}; use 'clip' or 'none'")


def _describe(value: object) -> str:
    return f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
