"""Functions whose last bits machines do not agree on, as compiled loops over the reference's polynomials."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels import portable
from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import INDEX, compiled, inlined
from scuff.kernels.numba_cpu.sharing import share
from scuff.kernels.reference.functions import EXPONENT, HALF_PI, LEAST, MOST, PI, QUARTER_PI, QUARTERS, SPLIT

F64, I64, I32 = np.float64, np.int64, np.int32
PIECE = 1 << 14  # values that a thread takes at a time, at least

_sine, _cosine, _rest = (
    inlined(f) for f in (portable.sine_polynomial, portable.cosine_polynomial, portable.rest_of_quarters)
)
_exponential, _logarithm, _arctangent = (
    inlined(f) for f in (portable.exponential_polynomial, portable.logarithm_polynomial, portable.arctangent_polynomial)
)


@inlined
def _rest_and_quarters(x):
    """A float64 angle as what is left of it after whole quarters of a turn, and these."""
    quarters = np.floor(x * QUARTERS + 0.5)
    return _rest(x, quarters), I32(quarters)


@inlined
def _after(quarters, s, c):
    """The sine after quarters of a turn, from the sine and cosine of the rest."""
    a = c if (quarters & I32(1)) != 0 else s
    return -a if (quarters & I32(2)) != 0 else a


@inlined
def sine_after(quarters, x):
    """The sine of a float64 angle and some quarters of a turn: after one, it is the cosine. See the reference."""
    r, more = _rest_and_quarters(x)
    return _after(I32(more + quarters), _sine(r), _cosine(r))


@inlined
def sine_and_cosine_of(x):
    """Of one float64 angle."""
    r, quarters = _rest_and_quarters(x)
    s, c = _sine(r), _cosine(r)
    return _after(quarters, s, c), _after(I32(quarters + I32(1)), s, c)


@compiled
def _sines(start, stop, x, sine, cosine):
    for k in range(INDEX(start), INDEX(stop)):
        sine[k], cosine[k] = sine_and_cosine_of(F64(x[k]))


@kernel
def sine_and_cosine(x: Tensor) -> tuple[Tensor, Tensor]:
    x = x.contiguous()
    sine, cosine = torch.empty_like(x), torch.empty_like(x)
    share(_sines, x.numel(), *(t.view(-1).numpy() for t in (x, sine, cosine)), least=PIECE)
    return sine, cosine


@compiled
def angles(start, stop, y, x, out):
    """Arctangents of places `start` to `stop`. See the reference."""
    for k in range(INDEX(start), INDEX(stop)):
        v, u = F64(y[k]), F64(x[k])
        steep = abs(v) > abs(u)
        shorter, longer = (abs(u), abs(v)) if steep else (abs(v), abs(u))
        t = shorter / (longer if longer > 0.0 else 1.0)
        far = t > 0.66
        angle = _arctangent((t - 1.0) / (t + 1.0) if far else t)
        angle = QUARTER_PI + angle if far else angle
        angle = HALF_PI - angle if steep else angle
        angle = PI - angle if u < 0.0 else angle
        out[k] = -angle if v < 0.0 else angle


@kernel
def arctangent(y: Tensor, x: Tensor) -> Tensor:
    out = torch.empty(y.shape, dtype=y.dtype)
    share(angles, y.numel(), *(t.contiguous().view(-1).numpy() for t in (y, x, out)), least=PIECE)
    return out


@inlined
def logarithm(x):
    """See the reference."""
    bits = F64(x).view(I64)
    exponent = (bits - I64(SPLIT)) >> I64(EXPONENT)
    return _logarithm(I64(bits - (exponent << I64(EXPONENT))).view(F64) - 1.0, F64(exponent))


@inlined
def exponential(x):
    """See the reference."""
    x = min(max(x, LEAST), MOST)
    twos = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - twos * 6.93147180369123816490e-01) - twos * 1.90821492927058770002e-10
    return _exponential(r) * I64((I64(twos) + I64(1023)) << I64(EXPONENT)).view(F64)


@compiled
def _powers(start, stop, x, exponents, out):
    for k in range(INDEX(start), INDEX(stop)):
        exponent = F64(exponents[k if exponents.size > 1 else INDEX(0)])
        out[k] = exponential(exponent * logarithm(F64(x[k]))) if x[k] > 0.0 else 0.0


@kernel
def power(x: Tensor, exponent: Tensor) -> Tensor:
    out = torch.empty(x.shape, dtype=x.dtype)
    share(_powers, x.numel(), *(t.contiguous().view(-1).numpy() for t in (x, exponent, out)), least=PIECE)
    return out
