"""Mathematics that has the same bits on every machine.

Sums, products, quotients and square roots of floating-point numbers are rounded correctly by every processor (IEEE
754), as are fused multiply-adds and conversions. So a function that is made of these, in a fixed order, cannot differ
between devices, compilers and libraries. Everything else can: exponentials, sines and powers; sums whose order a
library chooses; a product and a sum that a compiler fuses; a square root of Intel's vector library; a quotient by a
number, which CUDA's torch replaces by a product with its inverse. Nothing that decides about pixels uses those.

What is here serves all back ends. Polynomials are plain functions of sums, products and quotients, which torch
evaluates on tensors and numba and Triton compile; `kernels/reference/functions.py` has the functions made from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.constants import constant

# --- tensors --------------------------------------------------------------------------------------------------------


def divide(x: Tensor, number: float) -> Tensor:
    """x / number for float tensors, rounded correctly; x / 3.0 would be x * (1 / 3.0) on a GPU.

    >>> divide(torch.tensor([5.0]), 3.0) == torch.tensor([5.0]) / torch.tensor([3.0])
    tensor([True])
    """
    return x / constant((float(number),), x.device, x.dtype)


def square_root(x: Tensor) -> Tensor:
    """Rounded correctly, which torch's own is not on processors with Intel's vector library."""
    return torch.from_numpy(np.sqrt(x.numpy())) if x.device.type == "cpu" else torch.sqrt(x)


def length(dy: Tensor, dx: Tensor) -> Tensor:
    """The length of (dy, dx)."""
    return square_root(dy * dy + dx * dx)


def mix(a: Tensor, b: Tensor, share: Tensor) -> Tensor:
    """a + share * (b - a); `torch.lerp` fuses its product and its sum, on some devices."""
    return (b - a).mul_(share).add_(a)


def fused(a: Tensor | float, b: Tensor, c: Tensor | float) -> Tensor:
    """a * b + c, rounded once: the fused multiply-add of float32 numbers, which torch does not offer.

    In float64 the product is exact. Its sum with c is rounded to an odd last bit if it is not exact, so that rounding
    it again to float32 is rounding the exact value.

    >>> a, c = torch.tensor([1.0 + 2.0**-12]), torch.tensor([-1.0 - 2.0**-11])
    >>> fused(a, a, c).item() == 2.0**-24, (a * a + c).item()
    (True, 0.0)
    """
    product = (a.double() if isinstance(a, Tensor) else float(np.float32(a))) * b.double()
    term = c.double() if isinstance(c, Tensor) else torch.full_like(product, float(np.float32(c)))
    total = product + term
    part = total - product
    lost = (product - (total - part)) + (term - part)
    bits = total.contiguous().view(torch.int64)
    outward = torch.where((lost > 0) == (total > 0), 1, -1)
    odd = torch.where((lost != 0) & (bits & 1 == 0), bits + outward, bits)
    return odd.view(torch.float64).float()


# --- sums in any order ----------------------------------------------------------------------------------------------


def whole(x: Tensor, bits: int) -> Tensor:
    """x in units of 2**-bits, rounded down, as whole numbers in float64.

    Sums and products of whole numbers are exact while they stay below 2**53, so their order, which libraries choose
    for themselves, cannot show.
    """
    return (x.double() * 2.0**bits).floor_()


# --- numbers on the host --------------------------------------------------------------------------------------------
# Mathematical libraries differ between systems in last bits; decimals do not.


def _by_decimals(series: Callable[[Decimal], Decimal]) -> Callable[[float], float]:
    @lru_cache(maxsize=4096)
    def function(x: float) -> float:
        with localcontext() as context:
            context.prec = 40
            return float(series(Decimal(float(x))))

    return function


TURN = Decimal("6.283185307179586476925286766559005768394338798750211641949889")


def turning_series(power: int, x: Decimal) -> Decimal:
    """The sine (power 1) or the cosine (power 0) of an angle in radians: the series that begins with that power."""
    x = x.remainder_near(TURN) if abs(x) > TURN else x
    term = total = x if power else Decimal(1)
    while abs(term) > Decimal("1e-40"):
        term *= -x * x / ((power + 1) * (power + 2))
        total, power = total + term, power + 2
    return total


exp = _by_decimals(Decimal.exp)
cos, sin = (_by_decimals(partial(turning_series, power)) for power in (0, 1))


def gaussian(t: float, sigma: float) -> float:
    """exp(-t^2 / 2 sigma^2)."""
    return exp(-0.5 * ((t / sigma) * (t / sigma)))


def scaled_to_one(values: list[float]) -> list[float]:
    """Divided by their exact sum."""
    total = math.fsum(values)
    return [value / total for value in values]


# --- polynomials and their quotients in float64, for torch, numba and Triton ------------------------------------------


def sine_polynomial(r):
    """sin r for |r| up to an eighth of a turn."""
    z = r * r
    p = ((1.58969099521155010221e-10 * z - 2.50507602534068634195e-08) * z + 2.75573137070700676789e-06) * z
    p = ((p - 1.98412698298579493134e-04) * z + 8.33333333332248946124e-03) * z - 1.66666666666666324348e-01
    return r + r * z * p


def cosine_polynomial(r):
    """cos r for |r| up to an eighth of a turn."""
    z = r * r
    p = ((-1.13596475577881948265e-11 * z + 2.08757232129817482790e-09) * z - 2.75573143513906633035e-07) * z
    p = ((p + 2.48015872894767294178e-05) * z - 1.38888888888741095749e-03) * z + 4.16666666666666019037e-02
    return 1.0 - (0.5 * z - z * z * p)


def rest_of_quarters(x, quarters):
    """x less a whole number of quarters of a turn, which are taken away in three pieces: exact below a million."""
    r = (x - quarters * 1.57079632673412561417e00) - quarters * 6.07710050630396597660e-11
    return r - quarters * 2.02226624879595063154e-21


def exponential_polynomial(r):
    """exp r for |r| up to log(2) / 2."""
    p = ((r * 2.08767569878681e-09 + 2.505210838544172e-08) * r + 2.755731922398589e-07) * r + 2.7557319223985893e-06
    p = ((p * r + 2.48015873015873e-05) * r + 1.984126984126984e-04) * r + 1.3888888888888889e-03
    p = ((p * r + 8.333333333333333e-03) * r + 4.1666666666666664e-02) * r + 1.6666666666666666e-01
    return ((p * r + 0.5) * r + 1.0) * r + 1.0


def logarithm_polynomial(f, exponent):
    """log((1 + f) 2^exponent) for 1 + f between the square roots of 1/2 and 2."""
    s = f / (2.0 + f)
    z = s * s
    p = ((1.479819860511658591e-01 * z + 1.531383769920937332e-01) * z + 1.818357216161805012e-01) * z
    p = ((p + 2.222219843214978396e-01) * z + 2.857142874366239149e-01) * z + 3.999999999940941908e-01
    p = (p * z + 6.666666666666735130e-01) * z
    half = 0.5 * f * f
    rest = s * (half + p) + exponent * 1.90821492927058770002e-10
    return exponent * 6.93147180369123816490e-01 - ((half - rest) - f)


def arctangent_polynomial(t):
    """atan t for |t| up to 0.66."""
    z = t * t
    p = ((-8.750608600031904122785e-1 * z - 1.615753718733365076637e1) * z - 7.500855792314704667340e1) * z
    p = (p - 1.228866684490136173410e2) * z - 6.485021904942025371773e1
    q = ((z + 2.485846490142306297962e1) * z + 1.650270098316988542046e2) * z + 4.328810604912902668951e2
    q = (q * z + 4.853903996359136964868e2) * z + 1.945506571482613964425e2
    return t + t * (z * p / q)


def stirling_series(k):
    """What is left of log k! after Stirling's formula."""
    square = k * k
    return (0.08333333333333333 - (0.002777777777777778 - 0.0007936507936507937 / square) / square) / k
