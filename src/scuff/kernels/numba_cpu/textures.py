"""Fields of numbers, a row at a time: nothing is kept per pixel and corner."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, inlined
from scuff.kernels.numba_cpu.filling import fill
from scuff.kernels.numba_cpu.functions import exponential, logarithm, sine_after
from scuff.kernels.reference.textures import cell_points

F64 = np.float64
LAST = np.int64(255)
SINE, COSINE = np.int32(0), np.int32(1)  # in quarters of a turn


@compiled
def _add_field(planes, fields, scale, out):
    for c in range(len(planes)):
        plane, field, target = planes[c], fields[c if len(fields) > 1 else 0], out[c]
        for j in range(INDEX(target.size)):
            target[j] = plane[j] + field[j] * scale


@kernel
def add_field(x: Tensor, field: Tensor, scale: float) -> Tensor:
    out, fields = torch.empty(x.shape), field[:, None] if field.ndim == 3 else field
    fill(out.flatten(2), _add_field, x.flatten(2), fields.flatten(2), F32(scale))
    return out


@compiled
def _turn(a, kind_of_a, b, kind_of_b):
    """Sines or cosines of two rows of angles, in their place: two chains of sums side by side."""
    for j in range(a.size):
        a[j], b[j] = F32(sine_after(kind_of_a, F64(a[j]))), F32(sine_after(kind_of_b, F64(b[j])))


@inlined
def _pool_place(at, size):
    """A row or column within its repetition, as an angle."""
    turns = F32(at) / size
    return F32(6.28318530718) * (turns - np.floor(turns)) - F32(250.0)


@compiled
def _caustics(time, size, columns, rows, out):
    """Row by row; `columns` (9, W) and `rows` (3, H) are scratch.

    In the first of five rounds, angles depend on the row or on the column alone, so that their sines are few.
    """
    p1, right, left, i0, i1, a, b, c, d = columns
    p0, above, below = rows
    t = time * F32(1.0 - 3.5)
    for i in range(p0.size):
        p0[i] = _pool_place(i, size)
        above[i], below[i] = t - p0[i], t + p0[i]
    for j in range(p1.size):
        p1[j] = _pool_place(j, size)
        left[j], right[j] = t - p1[j], t + p1[j]
    _turn(above, COSINE, below, COSINE)
    _turn(left, SINE, right, SINE)
    for i in range(p0.size):
        y, total = p0[i], out[i]
        for k in range(1, 6):
            t = time * F32(1.0 - 3.5 / k)
            if k == 1:
                for j in range(p1.size):
                    total[j], a[j], b[j], c[j], d[j] = F32(1.0), above[i], right[j], below[i], left[j]
            else:
                for j in range(p1.size):
                    a[j], b[j], c[j], d[j] = t - i0[j], t + i1[j], t + i0[j], t - i1[j]
                _turn(a, COSINE, b, SINE)
                _turn(c, COSINE, d, SINE)
            for j in range(p1.size):
                i0[j], i1[j] = y + a[j] + b[j], p1[j] + d[j] + c[j]
                a[j], b[j] = i0[j] + t, i1[j] + t
            _turn(a, SINE, b, COSINE)
            for j in range(p1.size):
                down, across = F32(0.005) * y / a[j], F32(0.005) * p1[j] / b[j]
                total[j] += F32(1.0) / np.sqrt(down * down + across * across)
        for j in range(p1.size):
            light = F32(1.17) - F32(exponential(F64(F32(1.4)) * logarithm(F64(total[j] / F32(5.0)))))
            light = light * light
            light = light * light
            light = light * light
            total[j] = min(max(light, F32(0.0)), F32(1.0))


@kernel
def caustics(time: Tensor, size: Tensor, height: int, width: int) -> Tensor:
    def scratch() -> tuple[tuple[np.ndarray, ...], ...]:
        return tuple(np.empty((9, width), F32)), tuple(np.empty((3, height), F32))

    return fill(torch.empty(len(time), height, width), _caustics, time, size, scratch=scratch)


@compiled
def _plasma_waves(time, rounds, sharpness, scale, x, y, p, q, out):
    """Row by row; `x`, `y`, `p` and `q` are scratch for one."""
    shift = F32(sine_after(SINE, F64(time)))
    for i in range(out.shape[1]):
        for j in range(x.size):
            x[j], y[j] = F32(j) / scale, F32(i) / scale
        frequency, slowness, damping = 1.0, 1.0, F32(1.0)
        for _ in range(min(rounds, 6)):
            f, t = F32(frequency), time / F32(slowness)
            for j in range(x.size):
                p[j], q[j] = f * y[j] + t, f * x[j] + t
            _turn(p, COSINE, q, SINE)
            for j in range(x.size):
                u, v = p[j] / damping, q[j] / damping
                x[j], y[j] = x[j] + u - F32(0.3) * v, y[j] + v + F32(0.3) * u
            frequency, slowness, damping = 1.93 * frequency, 1.15 * slowness, damping * (F32(2.25) - sharpness)
        red, green, blue = out[0, i], out[1, i], out[2, i]
        for j in range(x.size):
            red[j], blue[j] = x[j] - time, y[j] + time
            green[j] = F32(0.5) * (x[j] + y[j] + shift)
        _turn(red, SINE, blue, SINE)
        _turn(green, SINE, p, SINE)


@kernel
def plasma_waves(time: Tensor, rounds: Tensor, sharpness: Tensor, scale: Tensor, height: int, width: int) -> Tensor:
    def scratch() -> tuple[np.ndarray, ...]:
        return tuple(np.empty((4, width), F32))

    out = torch.empty(len(time), 3, height, width)
    return fill(out, _plasma_waves, time, rounds, sharpness, scale, scratch=scratch)


@compiled
def _perlin(gradients, order, side, cells, shares, across, out):
    """`cells`, `shares` and `across` are scratch: what an octave needs to know about each column."""
    out[:] = F32(0.0)
    down, right = gradients[:, 0], gradients[:, 1]
    for octave in range(5):
        scale = F32(1 << octave)
        for j in range(cells.size):
            at = F32(7.0) * scale * F32(j) / side
            cell = np.floor(at)
            w = at - cell
            cells[j], shares[j], across[j] = np.int64(cell), w, w * w * (F32(3.0) - F32(2.0) * w)
        for i in range(out.shape[0]):
            at = F32(7.0) * scale * F32(i) / side
            row = np.int64(np.floor(at))
            u = at - F32(row)
            along, v = u * u * (F32(3.0) - F32(2.0) * u), u - F32(1.0)
            above, below, line = order[row & LAST], order[(row + 1) & LAST], out[i]
            for j in range(cells.size):
                w, column = shares[j], cells[j]
                z, beside = w - F32(1.0), column + 1
                a, b = INDEX(order[(above + column) & LAST]), INDEX(order[(above + beside) & LAST])
                c, d = INDEX(order[(below + column) & LAST]), INDEX(order[(below + beside) & LAST])
                near, far = down[a] * u + right[a] * w, down[b] * u + right[b] * z
                near += along * (down[c] * v + right[c] * w - near)
                far += along * (down[d] * v + right[d] * z - far)
                line[j] += abs(F32(1.5) * (near + across[j] * (far - near))) / scale


@kernel
def perlin_turbulence(gradients: Tensor, order: Tensor, height: int, width: int) -> Tensor:
    def scratch() -> tuple[np.ndarray, ...]:
        return np.empty(width, np.int64), np.empty(width, F32), np.empty(width, F32)

    out = torch.empty(len(order), height, width)
    return fill(out, _perlin, gradients, order, F32(min(height, width)), scratch=scratch)


@compiled
def _voronoi_cells(points, density, size, out):
    for r in range(out.shape[0]):
        y = F32(r) / size + F32(1.0)
        cell_y = np.int64(y)
        y -= F32(cell_y)
        for c in range(INDEX(out.shape[1])):
            x = F32(c) / size + F32(1.0)
            cell_x = np.int64(x)
            x -= F32(cell_x)
            nearest = F32(1.0)
            for j in range(-1, 2):
                for i in range(-1, 2):
                    dx = F32(i) + points[0, cell_y + j, cell_x + i] - x
                    dy = F32(j) + points[1, cell_y + j, cell_x + i] - y
                    nearest = min(nearest, dy * dy + dx * dx)  # roots have the same order
            t = min(max(np.sqrt(nearest) * density, F32(0.0)), F32(1.0))
            out[r, c] = t * t * (F32(3.0) - F32(2.0) * t) - F32(0.5)


@kernel
def voronoi_cells(twist: Tensor, density: Tensor, size: Tensor, height: int, width: int, smallest: float) -> Tensor:
    points = cell_points(twist, height, width, smallest)
    return fill(torch.empty(len(twist), height, width), _voronoi_cells, points, density, size)
