"""JPEG there and back in whole numbers: see the reference.

No bits of a file are written or read, which is where a codec spends half of its time. Down a column the DCT works on all
columns of a row of blocks at once, and goes on to quantise and to come back before it lets go of them.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.compiling import F32, INDEX, compiled, fill_pixels, inlined

I32 = np.int32
ONE, TWO, THREE, EIGHT = INDEX(1), INDEX(2), INDEX(3), INDEX(8)


@inlined
def _shifted(v, bits):
    """v / 2**bits, to the nearest whole number."""
    return (v + (I32(1) << (bits - I32(1)))) >> bits


@inlined
def _forward(a, b, c, d, e, f, g, h, bits):
    """One pass of the islow DCT."""
    t0, t1, t2, t3 = a + h, b + g, c + f, d + e
    t7, t6, t5, t4 = a - h, b - g, c - f, d - e
    s0, s1, s2, s3 = t0 + t3, t1 + t2, t1 - t2, t0 - t3
    shared = (s2 + s3) * I32(4433)
    z5 = (t4 + t6 + t5 + t7) * I32(9633)
    z1, z2 = (t4 + t7) * I32(-7373), (t5 + t6) * I32(-20995)
    z3, z4 = z5 - (t4 + t6) * I32(16069), z5 - (t5 + t7) * I32(3196)
    return (
        _shifted((s0 + s1) * I32(8192), bits),
        _shifted(t7 * I32(12299) + z1 + z4, bits),
        _shifted(shared + s3 * I32(6270), bits),
        _shifted(t6 * I32(25172) + z2 + z3, bits),
        _shifted((s0 - s1) * I32(8192), bits),
        _shifted(t5 * I32(16819) + z2 + z4, bits),
        _shifted(shared - s2 * I32(15137), bits),
        _shifted(t4 * I32(2446) + z1 + z3, bits),
    )


@inlined
def _back(a, b, c, d, e, f, g, h, bits):
    """One pass of its inverse."""
    shared = (c + g) * I32(4433)
    t2, t3 = shared - g * I32(15137), shared + c * I32(6270)
    t0, t1 = (a + e) * I32(8192), (a - e) * I32(8192)
    e0, e3, e1, e2 = t0 + t3, t0 - t3, t1 + t2, t1 - t2
    z5 = (h + d + f + b) * I32(9633)
    z1, z2 = (h + b) * I32(-7373), (f + d) * I32(-20995)
    z3, z4 = z5 - (h + d) * I32(16069), z5 - (f + b) * I32(3196)
    o0, o1 = h * I32(2446) + z1 + z3, f * I32(16819) + z2 + z4
    o2, o3 = d * I32(25172) + z2 + z3, b * I32(12299) + z1 + z4
    return (
        _shifted(e0 + o3, bits),
        _shifted(e1 + o2, bits),
        _shifted(e2 + o1, bits),
        _shifted(e3 + o0, bits),
        _shifted(e3 - o0, bits),
        _shifted(e2 - o1, bits),
        _shifted(e1 - o2, bits),
        _shifted(e0 - o3, bits),
    )


@inlined
def _quantised(v, step, inverse):
    """The nearest multiple of a step, of eight times the DCT. A half more keeps a quotient of float32 off the edges."""
    steps = I32((F32(abs(v) + I32(4) * step) + F32(0.5)) * inverse)
    return (-steps if v < I32(0) else steps) * step


@compiled
def _through_blocks(plane, table, steps, inverses):
    """Quantise the DCT of each 8 x 8 block of levels, int32, in place; sides are multiples of 8.

    `steps` and `inverses` (8, at least the width) are scratch: the table repeated along a row of blocks.
    """
    height, width = plane.shape
    for i in range(8):
        for j in range(width):
            steps[i, j] = table[i, j % 8]
            inverses[i, j] = F32(0.125) / F32(table[i, j % 8])
    for top in range(0, height, 8):
        for i in range(top, top + 8):
            line = plane[i]
            for block in range(INDEX(width // 8)):
                k = EIGHT * block
                (
                    line[k], line[k + ONE], line[k + TWO], line[k + THREE],
                    line[k + INDEX(4)], line[k + INDEX(5)], line[k + INDEX(6)], line[k + INDEX(7)],
                ) = _forward(
                    line[k] - I32(128), line[k + ONE] - I32(128), line[k + TWO] - I32(128), line[k + THREE] - I32(128),
                    line[k + INDEX(4)] - I32(128), line[k + INDEX(5)] - I32(128), line[k + INDEX(6)] - I32(128),
                    line[k + INDEX(7)] - I32(128), I32(11),
                )  # fmt: skip
        r0, r1, r2, r3 = plane[top], plane[top + 1], plane[top + 2], plane[top + 3]
        r4, r5, r6, r7 = plane[top + 4], plane[top + 5], plane[top + 6], plane[top + 7]
        for j in range(width):
            a, b, c, d, e, f, g, h = _forward(r0[j], r1[j], r2[j], r3[j], r4[j], r5[j], r6[j], r7[j], I32(15))
            r0[j], r1[j], r2[j], r3[j], r4[j], r5[j], r6[j], r7[j] = _back(
                _quantised(a, steps[0, j], inverses[0, j]),
                _quantised(b, steps[1, j], inverses[1, j]),
                _quantised(c, steps[2, j], inverses[2, j]),
                _quantised(d, steps[3, j], inverses[3, j]),
                _quantised(e, steps[4, j], inverses[4, j]),
                _quantised(f, steps[5, j], inverses[5, j]),
                _quantised(g, steps[6, j], inverses[6, j]),
                _quantised(h, steps[7, j], inverses[7, j]),
                I32(11),
            )
        for i in range(top, top + 8):
            line = plane[i]
            for block in range(INDEX(width // 8)):
                k = EIGHT * block
                (
                    line[k], line[k + ONE], line[k + TWO], line[k + THREE],
                    line[k + INDEX(4)], line[k + INDEX(5)], line[k + INDEX(6)], line[k + INDEX(7)],
                ) = _back(
                    line[k], line[k + ONE], line[k + TWO], line[k + THREE],
                    line[k + INDEX(4)], line[k + INDEX(5)], line[k + INDEX(6)], line[k + INDEX(7)], I32(18),
                )  # fmt: skip
            for j in range(width):
                line[j] = min(max(line[j] + I32(128), I32(0)), I32(255))


@compiled
def _part(pixels, first, last, y, blues, reds, lines):
    """RGB, with red in channel `first`, to luma and 2 x 2 chroma; what is beyond the picture repeats its edge."""
    height, width = pixels.shape[0], pixels.shape[1]
    blue_sums, red_sums = lines[0], lines[1]
    for i in range(height):
        source, target = pixels[i].reshape(-1), y[i]
        if i % 2 == 0:
            blue_sums[:], red_sums[:] = I32(0), I32(0)
        for t in range(2 if i == height - 1 and i % 2 == 0 else 1):
            for j in range(INDEX(width)):
                k = THREE * j
                red, green, blue = I32(source[k + first]), I32(source[k + ONE]), I32(source[k + last])
                target[j] = (I32(19595) * red + I32(38470) * green + I32(7471) * blue + I32(32768)) >> I32(16)
                offset = I32((128 << 16) + 32767)
                blue_sums[j] += (I32(-11058) * red - I32(21710) * green + I32(32768) * blue + offset) >> I32(16)
                red_sums[j] += (I32(32768) * red - I32(27439) * green - I32(5329) * blue + offset) >> I32(16)
        target[width:] = target[width - 1]
        if i % 2 or i == height - 1:
            for sums, plane in ((blue_sums, blues), (red_sums, reds)):
                sums[width:] = sums[width - 1]
                line = plane[i // 2]
                for j in range(INDEX(line.size // 2)):
                    k = TWO * j
                    line[k] = (sums[TWO * k] + sums[TWO * k + ONE] + I32(1)) >> I32(2)
                    line[k + ONE] = (sums[TWO * k + TWO] + sums[TWO * k + THREE] + I32(2)) >> I32(2)
    y[height:] = y[height - 1]
    half = (height + 1) // 2
    blues[half:], reds[half:] = blues[half - 1], reds[half - 1]


@compiled
def _enlarge(plane, i, half_height, half_width, mixed, line):
    """Row i of the chroma at full size, less 128: 3/4 of the nearer sample, 1/4 of the farther one, each way."""
    near = plane[i // 2]
    if half_width <= 2:  # too narrow for the decoder's filter: it repeats samples
        for j in range(2 * half_width):
            line[j] = near[j // 2] - I32(128)
        return
    far = plane[max(i // 2 - 1, 0) if i % 2 == 0 else min(i // 2 + 1, half_height - 1)]
    for j in range(half_width):
        mixed[j + 1] = I32(3) * near[j] + far[j]
    mixed[0], mixed[half_width + 1] = mixed[1], mixed[half_width]
    for j in range(INDEX(half_width)):
        line[TWO * j] = ((I32(3) * mixed[j + ONE] + mixed[j] + I32(8)) >> I32(4)) - I32(128)
        line[TWO * j + ONE] = ((I32(3) * mixed[j + ONE] + mixed[j + TWO] + I32(7)) >> I32(4)) - I32(128)


@inlined
def _byte(v):
    return np.uint8(min(max(v, I32(0)), I32(255)))


@compiled
def _join(y, blues, reds, first, last, lines, out):
    height, width = out.shape[0], out.shape[1]
    half_height, half_width = (height + 1) // 2, (width + 1) // 2
    blue_line, red_line, mixed = lines[0], lines[1], lines[2]
    for i in range(height):
        _enlarge(blues, i, half_height, half_width, mixed, blue_line)
        _enlarge(reds, i, half_height, half_width, mixed, red_line)
        light, target = y[i], out[i].reshape(-1)
        for j in range(INDEX(width)):
            k, cb, cr, v = THREE * j, blue_line[j], red_line[j], light[j]
            target[k + first] = _byte(v + ((I32(91881) * cr + I32(32768)) >> I32(16)))
            target[k + ONE] = _byte(v + ((I32(-22554) * cb - I32(46802) * cr + I32(32768)) >> I32(16)))
            target[k + last] = _byte(v + ((I32(116130) * cb + I32(32768)) >> I32(16)))


@compiled
def _through_jpeg(pixels, luma, chroma, first, last, y, blues, reds, lines, steps, inverses, out):
    _part(pixels, first, last, y, blues, reds, lines)
    _through_blocks(y, luma, steps, inverses)
    _through_blocks(blues, chroma, steps, inverses)
    _through_blocks(reds, chroma, steps, inverses)
    _join(y, blues, reds, first, last, lines, out)


@kernel
def through_jpeg(pixels: Tensor, luma: Tensor, chroma: Tensor, swapped: bool = False) -> Tensor:
    height, width = pixels.shape[2:]
    tall, wide = -(-height // 16) * 8, -(-width // 16) * 8  # of the chroma, in whole blocks

    def scratch() -> tuple[np.ndarray, ...]:
        y = np.empty((-(-height // 8) * 8, -(-width // 8) * 8), I32)
        lines, steps = np.empty((3, 2 * wide + 2), I32), np.empty((8, 2 * wide), I32)
        return y, np.empty((tall, wide), I32), np.empty((tall, wide), I32), lines, steps, np.empty((8, 2 * wide), F32)

    ends = (INDEX(2), INDEX(0)) if swapped else (INDEX(0), INDEX(2))
    return fill_pixels(pixels, _through_jpeg, luma, chroma, *ends, scratch=scratch)
