"""Brightness, contrast, saturation and hue: each image goes once through the loop for what changes in it."""

from __future__ import annotations

from torch import Tensor

from scuff.kernels.dispatch import kernel
from scuff.kernels.numba_cpu.colour_spaces import from_hsv, room_for_parts, to_hsv
from scuff.kernels.numba_cpu.colours import mix_image_with_grey
from scuff.kernels.numba_cpu.compiling import INDEX, compiled, values_of
from scuff.kernels.numba_cpu.filling import fill_pixels
from scuff.kernels.numba_cpu.lookups import through_table


@compiled
def _change_colours(image, way, levels, share, hues, parts, made):
    """`parts` are scratch for hues, saturations and values."""
    pixels, out = values_of(image), values_of(made)
    if way < 2:
        through_table(pixels, levels, out)
    elif way == 2:
        mix_image_with_grey(image, share, made)
    else:
        hue, saturation, value = parts[0], parts[1], parts[2]
        to_hsv(pixels, hue, saturation, value)
        for j in range(INDEX(hue.size)):
            hue[j] = hues[hue[j]]
        from_hsv(hue, saturation, value, out)


@kernel
def change_colours(pixels: Tensor, way: Tensor, levels: Tensor, share: Tensor, hues: Tensor) -> Tensor:
    return fill_pixels(pixels, _change_colours, way, levels, share, hues, scratch=room_for_parts(pixels))
