"""Vectors of planes: as many as a vector of the processor holds, side by side, for loops whose reads jump about.

Numba has no vectors, so what is done to them is written in LLVM's language, by intrinsics that use these helpers.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba.core import config
from numba.core.codegen import get_host_cpu_features

_chosen = config.CPU_FEATURES  # type: ignore[attr-defined]  # by the user, NUMBA_CPU_FEATURES
FEATURES = set((get_host_cpu_features() if _chosen is None else _chosen).split(","))
LANES = 8 if platform.machine().lower() in ("x86_64", "amd64") else 4
WIDEST = 16 if "+avx512f" in FEATURES else LANES  # for loops that compute more than they read
VECTOR = ir.VectorType(ir.FloatType(), LANES)


def vector_at(
    context: Any, builder: ir.IRBuilder, kind: Any, array: ir.Value, place: ir.Value, vector: ir.VectorType = VECTOR
) -> ir.Value:
    """Where the vector at a place of an array lies; `kind` is numba's type of the array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def in_all_lanes(builder: ir.IRBuilder, number: ir.Value, vector: ir.VectorType = VECTOR) -> ir.Value:
    """One number as a vector."""
    one = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
    every = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    return builder.shuffle_vector(one, one, every)
