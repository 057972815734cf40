"""Functions whose last bits machines do not agree on, made of sums and products in a fixed order.

They are evaluated in float64 and rounded to the type of their argument: in float32 to the nearest number, except for
rare values that lie almost exactly between two. `scuff.kernels.portable` says why no machine can differ.
"""

from __future__ import annotations

import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel

__all__ = ["arctangent", "power", "sine_and_cosine"]

QUARTERS = 0.6366197723675814  # quarters of a turn in a radian
EXPONENT, SPLIT = 52, 0x3FE6A09E667F3BCD  # where a float64 has its exponent; the bits of the square root of 1/2
LEAST, MOST = -708.0, 709.0  # what exponentials are limited to
HALF_PI, QUARTER_PI, PI = 1.5707963267948966, 0.7853981633974483, 3.141592653589793


@kernel
def sine_and_cosine(x: Tensor) -> tuple[Tensor, Tensor]:
    """Of angles in radians, below a million: of a float tensor, in its type.

    Exactly rounded operations of float64 in a fixed order: a whole number of quarter turns is taken away, and two
    polynomials do the rest.
    """
    wide = x.double()
    quarters = torch.floor(wide * QUARTERS + 0.5)
    r = portable.rest_of_quarters(wide, quarters)
    s, c = portable.sine_polynomial(r), portable.cosine_polynomial(r)
    quarter = quarters.to(torch.int32)
    swap = quarter & 1 != 0
    sine, cosine = torch.where(swap, c, s), torch.where(swap, s, c)
    sine = torch.where(quarter & 2 != 0, -sine, sine)
    cosine = torch.where((quarter + 1) & 2 != 0, -cosine, cosine)
    return sine.to(x.dtype), cosine.to(x.dtype)


@kernel
def arctangent(y: Tensor, x: Tensor) -> Tensor:
    """The angle of (x, y) in [-pi, pi], 0 for (0, 0): of two float tensors of one shape and type.

    The quotient of the shorter side by the longer one, and a quotient of two polynomials of it: exactly rounded
    operations of float64 in a fixed order.
    """
    v, u = y.double(), x.double()
    steep = v.abs() > u.abs()
    shorter, longer = torch.where(steep, u.abs(), v.abs()), torch.where(steep, v.abs(), u.abs())
    t = shorter / torch.where(longer > 0.0, longer, 1.0)
    far = t > 0.66
    angle = portable.arctangent_polynomial(torch.where(far, (t - 1.0) / (t + 1.0), t))
    angle = torch.where(far, QUARTER_PI + angle, angle)
    angle = torch.where(steep, HALF_PI - angle, angle)
    angle = torch.where(u < 0.0, PI - angle, angle)
    return torch.where(v < 0.0, -angle, angle).to(y.dtype)


@kernel
def power(x: Tensor, exponent: Tensor) -> Tensor:
    """x^exponent for x >= 0, where 0 stays 0: float tensors of one type; `exponent` has the shape of x, or (1,).

    exp(exponent * log(x)) by two polynomials and the bits of exponents: exactly rounded operations of float64 in a
    fixed order.
    """
    wide = exponential(exponent.double() * logarithm(torch.where(x > 0, x, 1.0)))
    return torch.where(x > 0, wide, 0.0).to(x.dtype)


def logarithm(x: Tensor) -> Tensor:
    """The natural logarithm of positive numbers, float64."""
    bits = x.double().contiguous().view(torch.int64)
    exponent = (bits - SPLIT) >> EXPONENT
    f = (bits - (exponent << EXPONENT)).view(torch.float64) - 1.0
    return portable.logarithm_polynomial(f, exponent.double())


def exponential(x: Tensor) -> Tensor:
    """exp x of float64 numbers, limited to what float64 can hold without losing bits."""
    x = x.clamp(LEAST, MOST)
    twos = torch.floor(x * 1.4426950408889634 + 0.5)
    r = (x - twos * 6.93147180369123816490e-01) - twos * 1.90821492927058770002e-10
    scale = ((twos.long() + 1023) << EXPONENT).view(torch.float64)
    return portable.exponential_polynomial(r) * scale
