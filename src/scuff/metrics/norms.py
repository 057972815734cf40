"""The norms in which distances are measured: ||v||_p for any p from 1 to infinity.

||v||_p = (|v_1|^p + ... + |v_d|^p)^(1/p)        ||v||_inf = max(|v_1|, ..., |v_d|)
"""

from __future__ import annotations

import math

LARGEST = 100  # beyond it, powers of gaps leave the range of double precision, and 'inf' is as good


def parse_norm(norm: float | str) -> float:
    """The p of a norm that is given as a number or by name; `math.inf` for L-infinity.

    >>> parse_norm("inf"), parse_norm("L2"), parse_norm(2.5)
    (inf, 2.0, 2.5)
    """
    try:
        p = float(norm.strip().lower().removeprefix("l-").removeprefix("l") if isinstance(norm, str) else norm)
    except (TypeError, ValueError):
        p = math.nan
    if not (1 <= p <= LARGEST or p == math.inf):
        raise ValueError(
            f"norm must be 'inf' or a number p from 1 to {LARGEST}, as in 'inf', 'L2' or 2.5; got {norm!r}"
        )
    return p


def norm_name(p: float) -> str:
    """What a norm is called.

    >>> norm_name(math.inf), norm_name(2.0), norm_name(2.5)
    ('L-infinity', 'L2', 'L2.5')
    """
    return "L-infinity" if math.isinf(p) else f"L{p:g}"
