"""Large pictures are treated a strip at a time, and nothing shows it."""

import pytest
import torch

import scuff
from scuff.kernels import strips as module
from scuff.kernels.strips import in_strips, strips


@pytest.mark.parametrize("shape", [(1, 3, 2000, 3000), (2, 1, 9000, 500), (1, 3, 7, 5), (0, 3, 8, 8), (1, 3, 3, 10**7)])
@pytest.mark.parametrize("axis", [2, 3])
def test_strips_cover_an_axis_once(shape, axis):
    x = torch.empty(shape, device="meta")
    covered = [k for part in strips(x, axis) for k in range(shape[axis])[part]]
    assert covered == list(range(shape[axis]))
    assert (len(strips(x, axis)) > 1) == (x[0].numel() > module.STRIP if len(x) else False)


def test_rows_of_other_arguments_come_along(monkeypatch):
    monkeypatch.setattr(module, "STRIP", 30)
    sizes = []

    @in_strips
    def add(x, y, number):
        sizes.append(x.shape[2])
        return x + number * y

    x, y = torch.rand(2, 3, 10, 7), torch.rand(2, 1, 10, 7)
    assert torch.equal(add(x, y, 3.0), x + 3.0 * y)
    assert sizes == [1] * 10


@pytest.mark.parametrize("name", ["contrast", "brightness", "saturate", "snow", "spatter", "gaussian_blur"])
def test_strips_do_not_show(name, monkeypatch):
    x = torch.randint(0, 256, (1, 3, 600, 640), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for severity in (2, 5):  # of spatter, water and mud
        made = []
        for size in (10**9, 200_000):
            monkeypatch.setattr(module, "STRIP", size)
            made.append(scuff.corrupt(x, f"imagenet-c/{name}", severity))
        assert torch.equal(*made)
