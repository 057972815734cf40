"""Augmentations on a CUDA device are those on the CPU, bit for bit. Collected only where there is a device."""

from __future__ import annotations

import pytest
import torch
from made_operations import FILL, SIZES, VALUES, mixture

from scuff import kernels
from scuff.augment import operations
from scuff.augment.operations import OPERATIONS, operate
from scuff.augment.schemes import open_scheme
from scuff.kernels.affine import cosine_and_sine

pytestmark = pytest.mark.cuda

LARGER = [*SIZES, (3, 3), (40, 31), (96, 224), (1, 600), (513, 1)]
BYTES = ["none", "autoaugment", "autoaugment:imagenet", "randaugment", "randaugment:count=3,level=4"]
REALS = [
    "augmix", "augmix:severity=1,whole=true", "powerset:rotate+equalize",
    "patch-gaussian", "patch-gaussian:varies=true", "gaussian:0.1", "gaussian:0.2,varies=true", "uniform:0.1",
]  # fmt: skip


def _on_both(pixels: torch.Tensor, which: torch.Tensor, values: torch.Tensor, **options):
    gpu = operate(pixels.cuda(), OPERATIONS, which.cuda(), values.cuda(), **options)
    assert gpu.is_cuda
    return operate(pixels, OPERATIONS, which, values, **options), gpu.cpu()


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("resampling", ["bilinear", "nearest"])
@pytest.mark.parametrize(("height", "width"), LARGER)
def test_operations_equal_cpu(height: int, width: int, resampling: str, channels: int) -> None:
    pixels, which, values = mixture(300, height, width, channels)
    cpu, gpu = _on_both(pixels, which, values, resampling=resampling, fill=FILL[:channels])
    off = (cpu != gpu).flatten(1).any(1)
    assert not bool(off.any()), {OPERATIONS[k] for k in which[off].tolist()}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_value_equals_cpu(name: str) -> None:
    values = torch.tensor([float(value) for value in VALUES[name]], dtype=torch.float64)
    pixels = mixture(5, 32, 32)[0].repeat(len(values), 1, 1, 1)
    values, which = values.repeat_interleave(5), torch.full((5 * len(values),), OPERATIONS.index(name))
    for resampling in ("bilinear", "nearest"):
        cpu, gpu = _on_both(pixels, which, values, resampling=resampling)
        assert torch.equal(cpu, gpu)


def test_angles_equal_cpu() -> None:
    degrees = 1000 * torch.rand(50_000, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) - 500
    for ours, theirs in zip(cosine_and_sine(degrees % 360), cosine_and_sine(degrees.cuda() % 360), strict=True):
        assert torch.equal(ours, theirs.cpu())
    pixels = torch.randint(0, 256, (50_000, 1, 6, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    assert torch.equal(operations.rotate(pixels.cuda(), degrees).cpu(), operations.rotate(pixels, degrees))


def test_all_stretches_equal_cpu() -> None:
    """Autocontrast from every lowest to every highest level."""
    low, high = torch.triu_indices(256, 256)
    middle = torch.arange(256).expand(len(low), 256).clamp(low[:, None], high[:, None])
    pixels = middle.to(torch.uint8).view(-1, 1, 16, 16)
    assert torch.equal(operations.autocontrast(pixels.cuda()).cpu(), operations.autocontrast(pixels))


def test_plain_torch_agrees_on_the_device() -> None:
    pixels, which, values = (tensor.cuda() for tensor in mixture(300, 21, 34))
    for resampling in ("bilinear", "nearest"):
        fast = operate(pixels, OPERATIONS, which, values, resampling=resampling)
        with kernels.use_backend("reference"):
            assert torch.equal(operate(pixels, OPERATIONS, which, values, resampling=resampling), fast)


def test_more_images_than_a_grid_is_wide() -> None:
    pixels, which, values = mixture(100, 9, 12)
    many = [tensor.repeat(700, *[1] * (tensor.ndim - 1)) for tensor in (pixels, which, values)]
    gpu = operate(many[0].cuda(), OPERATIONS, many[1].cuda(), many[2].cuda()).cpu()
    assert torch.equal(gpu, operate(pixels, OPERATIONS, which, values).repeat(700, 1, 1, 1))


def test_fewer_operations_do_the_same() -> None:
    """Kernels that none of the operations needs are not started."""
    pixels, _, _ = mixture(60, 32, 32)
    for names, value in ((("rotate", "shear_x"), 0.3), (("color", "identity"), 1.7), (("equalize", "contrast"), 0.4)):
        which, values = torch.arange(60) % 2, torch.full((60,), value, dtype=torch.float64)
        gpu = operate(pixels.cuda(), names, which.cuda(), values.cuda()).cpu()
        assert torch.equal(gpu, operate(pixels, names, which, values))
    assert operate(pixels[:0].cuda(), names, which[:0].cuda(), values[:0].cuda()).shape == (0, 3, 32, 32)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_the_host_never_waits_for_an_operation() -> None:
    pixels, which, values = (tensor.cuda() for tensor in mixture(30, 32, 32))

    def work() -> None:
        operate(pixels, OPERATIONS, which, values)
        operations.rotate(pixels, 12.0)

    work()  # constants are copied to the device on their first use
    torch.cuda.set_sync_debug_mode("error")
    try:
        work()
    finally:
        torch.cuda.set_sync_debug_mode("default")


# --- schemes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", BYTES)
def test_schemes_equal_cpu(address: str) -> None:
    scheme, pixels, ids = open_scheme(address), mixture(200, 32, 32)[0], torch.arange(200)
    assert torch.equal(scheme(pixels.cuda(), ids.cuda(), 1).cpu(), scheme(pixels, ids, 1))


@pytest.mark.parametrize("address", REALS)
def test_real_schemes_agree_with_cpu(address: str) -> None:
    """Levels 0..255 of float32: logarithms of the draws differ by units in the last place, bytes before them do not."""
    scheme, pixels, ids = open_scheme(address), mixture(200, 32, 32)[0], torch.arange(200)
    gpu = scheme(pixels.cuda(), ids.cuda(), 1)
    assert gpu.is_cuda
    assert float((gpu.cpu() - scheme(pixels, ids, 1)).abs().max()) < 2e-3


@pytest.mark.parametrize("address", [*BYTES, *REALS])
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_the_host_never_waits_for_a_scheme(address: str) -> None:
    scheme, pixels, ids = open_scheme(address), mixture(30, 32, 32)[0].cuda(), torch.arange(30, device="cuda")
    scheme(pixels, ids)
    torch.cuda.set_sync_debug_mode("error")
    try:
        scheme(pixels, ids, 1)
    finally:
        torch.cuda.set_sync_debug_mode("default")
