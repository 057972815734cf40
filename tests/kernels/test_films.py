"""Film, palettes, stronger colours: compiled loops give what plain torch does, whatever the colour, overflows too."""

from __future__ import annotations

import pytest
import torch

from scuff import kernels

COLOURS = torch.cartesian_prod(*[torch.arange(0, 256, 5)] * 3).to(torch.uint8).T.reshape(3, -1, 52)
PICTURES = torch.stack((COLOURS, COLOURS.flip(0)))
PALETTE = torch.tensor([[[0, 255, 7], [254, 3, 3], [1, 128, 254], [200, 127, 0], [9, 90, 255]]], dtype=torch.int32)
SMOOTHNESS = torch.tensor([0.25, 0.7])

CALLS = {
    "bleach_bypass": lambda x, share: kernels.bleach_bypass(x, share),
    "technicolor": lambda x, share: kernels.technicolor(x, share),
    "scale_colours": lambda x, share: kernels.scale_colours(x, torch.tensor([share, 1.0 + share])),
    "pseudocolor": lambda x, share: kernels.pseudocolor(x, SMOOTHNESS, PALETTE.repeat(2, 1, 1), share),
}


@pytest.mark.parametrize("share", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("name", CALLS)
def test_loops_give_what_torch_does(name: str, share: float) -> None:
    for x in (PICTURES, PICTURES.contiguous(memory_format=torch.channels_last)):
        with kernels.use_backend("reference"):
            reference = CALLS[name](x, share)
        assert torch.equal(CALLS[name](x, share), reference)


def test_a_colour_by_hand() -> None:
    """Grey 102 is 0.4 of white, so dark: without its bleach, film doubles it and multiplies it by that lightness."""
    grey = torch.full((1, 3, 2, 2), 102, dtype=torch.uint8)
    assert kernels.bleach_bypass(grey, 1.0).unique().tolist() == [int(255 * (204 * 0.4 / 255))]
    assert kernels.technicolor(grey, 1.0).unique().tolist() == [102]  # every matte of grey is 1
    red = torch.tensor([255, 0, 0], dtype=torch.uint8).view(1, 3, 1, 1)
    assert kernels.technicolor(red, 1.0).flatten().tolist() == [int(1.5 * 1.5 * 255) % 256, 0, 0]
    ends = torch.tensor([0, 255], dtype=torch.uint8).expand(1, 3, 1, 2)
    painted = kernels.pseudocolor(ends, SMOOTHNESS[:1], PALETTE, 1.0)
    assert painted[0, :, 0, 0].tolist() == PALETTE[0, 0].tolist()
