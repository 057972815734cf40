"""Large pictures are treated a strip at a time, and nothing shows it."""

import pytest
import torch

import scuff
from scuff import kernels
from scuff.kernels import strips as module
from scuff.kernels.numba_cpu import filters
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


BY_STRIPS = ["contrast", "brightness", "saturate", "snow", "spatter", "gaussian_blur", "shot_noise"]


@pytest.mark.parametrize("name", BY_STRIPS)
def test_strips_do_not_show(name, monkeypatch):
    x = torch.randint(0, 256, (1, 3, 600, 640), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for severity in (2, 5):  # of spatter, water and mud
        made = []
        for size in (10**9, 200_000):
            monkeypatch.setattr(module, "STRIP", size)
            made.append(scuff.corrupt(x, f"imagenet-c/{name}", severity))
        assert torch.equal(*made)


@pytest.mark.parametrize("name", ["defocus_blur", "motion_blur", "snow", "glass_blur"])
def test_bands_of_filters_do_not_show(name, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    for height, width in ((400, 301), (67, 350)):
        x = torch.randint(0, 256, (1, 3, height, width), dtype=torch.uint8, generator=generator)
        made = []
        for size in (10**9, 1):  # all rows at once, and as few as may be
            monkeypatch.setattr(filters, "BAND", size)
            with kernels.use_backend("numba_cpu"):
                made.append(scuff.corrupt(x, f"imagenet-c/{name}", 5))
        assert torch.equal(*made)
