"""What holds on a CUDA device: the contract, and agreement with the CPU. Collected only where there is a device."""

from __future__ import annotations

import pytest
import torch

import scuff
from scuff import kernels, random
from scuff.kernels.replay import CALLS_BEFORE
from scuff.ops.jpeg import jpeg

pytestmark = pytest.mark.cuda

SUITES = (
    "imagenet-c", "tiny-imagenet-c", "cifar10-c", "c-bar-candidates-32", "noc-candidates", "syn2nat-candidates",
)  # fmt: skip
ADDRESSES = [address for suite in SUITES for address in scuff.list_corruptions(suite)]
FULL_SIZE = [a for s in (*SUITES[:1], "c-bar-candidates-224", *SUITES[-2:]) for a in scuff.list_corruptions(s)]
FILMS = [*scuff.list_corruptions("cifar10-p"), "imagenet-p/motion_blur"]  # the last one meets 60 degrees


def _levels(address: str, *wanted: int) -> list[int | None]:
    """The wanted levels, or None alone for an entry that has no levels."""
    suite, entry = address.split("/")
    levels = scuff.load_suite(suite).levels(entry)
    return [None] if levels == (None,) else list(wanted)


def _pictures(count: int, size: int) -> torch.Tensor:
    i, j = torch.meshgrid(torch.arange(size) / size, torch.arange(size) / size, indexing="ij")
    k = torch.arange(1, count + 1)[:, None, None, None]
    c = torch.arange(1, 4)[:, None, None]
    noise = torch.rand(count, 3, size, size, generator=torch.Generator().manual_seed(1))
    return torch.round(255 * (0.4 + 0.4 * torch.sin(7 * (k * i + c * j)) + 0.2 * noise)) / 255


@pytest.mark.parametrize("address", ADDRESSES)
def test_contract(address: str) -> None:
    if address.endswith("fish_eye"):  # the reference lays a drop at a time: seconds per size
        scuff.check_corruption(address, 3, device="cuda", sizes=[(32, 32), (21, 33)], images=2)
        return
    for severity in _levels(address, 1, 3, 5):
        scuff.check_corruption(address, severity, device="cuda")


@pytest.mark.parametrize("address", FULL_SIZE)
def test_at_most_two_batches_of_memory(address: str) -> None:
    """Beyond the batch itself and what recordings hold; `copies` of a corruption says how many it takes at once."""
    x = _pictures(256, 224).cuda()
    for severity in _levels(address, 1, 3, 5):
        for _ in range(CALLS_BEFORE + 1):
            scuff.corrupt(x, address, severity, check=False)
        base = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        scuff.corrupt(x, address, severity, check=False)
        assert torch.cuda.max_memory_allocated() - base <= 2.05 * x.nbytes


@pytest.mark.parametrize("address", FULL_SIZE)
def test_contract_at_full_size(address: str) -> None:
    for severity in _levels(address, 4):
        scuff.check_corruption(address, severity, device="cuda", sizes=[(224, 224), (131, 300)], images=3)


@pytest.mark.parametrize("address", ADDRESSES)
def test_agrees_with_cpu(address: str) -> None:
    """To the last byte."""
    suite = scuff.load_suite(address.split("/")[0])
    x = _pictures(4, suite.size)
    for severity in _levels(address, 1, 2, 3, 4, 5):
        cpu = scuff.corrupt(x, address, severity)
        gpu = scuff.corrupt(x.cuda(), address, severity).cpu()
        assert torch.equal(cpu, gpu), f"severity {severity}: {int((cpu != gpu).sum())} values differ"


@pytest.mark.parametrize("size", [(5, 3), (21, 33), (40, 25), (131, 300)])
def test_agrees_with_cpu_at_any_size(size: tuple[int, int]) -> None:
    x = torch.round(255 * _pictures(2, 300)[..., : size[0], : size[1]]).to(torch.uint8)
    for address in (*scuff.list_corruptions("imagenet-c"), *scuff.list_corruptions("c-bar-candidates-32")):
        for severity in (1, 5):
            cpu, gpu = scuff.corrupt(x, address, severity), scuff.corrupt(x.cuda(), address, severity).cpu()
            assert torch.equal(cpu, gpu), f"{address} {severity}: {int((cpu != gpu).sum())} values differ"


@pytest.mark.parametrize("quality", [1, 37, 100, 12.3])
def test_jpeg_gives_the_codecs_bytes(quality: float) -> None:
    noise = torch.randint(0, 256, (3, 3, 37, 50), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for pixels in (noise, 255 * (noise > 127).to(torch.uint8)):
        for swapped in (False, True):
            assert torch.equal(jpeg(pixels.cuda(), quality, swapped).cpu(), jpeg(pixels, quality, swapped))


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_the_host_never_waits(address: str) -> None:
    """After a first call has copied its constants, a call with check=False only sends work to the device."""
    x = _pictures(4, 32).cuda()
    for severity in _levels(address, 1, 3, 5):
        scuff.corrupt(x, address, severity, check=False)
    torch.cuda.set_sync_debug_mode("error")
    try:
        for severity in _levels(address, 1, 3, 5):
            scuff.corrupt(x, address, severity, check=False)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("address", FILMS)
def test_contract_of_sequences(address: str) -> None:
    scuff.check_corruption(address, device="cuda", sizes=[(32, 32), (21, 33)], images=2)


@pytest.mark.parametrize("address", scuff.list_corruptions("imagenet-p"))
def test_contract_of_sequences_at_full_size(address: str) -> None:
    scuff.check_corruption(address, device="cuda", sizes=[(224, 224)], images=2)


@pytest.mark.parametrize("address", FILMS)
def test_sequences_agree_with_cpu(address: str) -> None:
    x = _pictures(4, 32)
    cpu, gpu = scuff.sequence(x, address), scuff.sequence(x.cuda(), address).cpu()
    assert torch.equal(cpu, gpu)


@pytest.mark.parametrize("address", FILMS)
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_the_host_never_waits_for_a_frame(address: str) -> None:
    x = _pictures(4, 32).cuda()
    scuff.sequence(x, address, check=False)
    torch.cuda.set_sync_debug_mode("error")
    try:
        scuff.sequence(x, address, check=False)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("count", [1, 2, 5, 4096, 150_001])
def test_integer_draws_are_bit_equal(count: int) -> None:
    pixels = torch.randint(0, 256, (4, 3, 9, count % 50 + 1), dtype=torch.uint8)
    assert torch.equal(random.content_ids(pixels.cuda()).cpu(), random.content_ids(pixels))
    keys = random.image_keys("test/entry", 3, torch.arange(-3, 5) * 10**15)
    assert torch.equal(random.image_keys("test/entry", 3, torch.arange(-3, 5).cuda() * 10**15).cpu(), keys)
    for stream in (0, 1, 0x7FFFFFFF, 0xFFFFFFFF):
        assert torch.equal(kernels.words(keys.cuda(), stream, count).cpu(), kernels.words(keys, stream, count))
        assert torch.equal(kernels.uniform(keys.cuda(), stream, count).cpu(), kernels.uniform(keys, stream, count))
        for low, high in ((0, 0), (1, 1), (-4, 3), (-(2**30), 2**30 - 1)):
            ours, theirs = (kernels.integers(k, stream, count, low, high).cpu() for k in (keys, keys.cuda()))
            assert torch.equal(ours, theirs), (stream, low, high)


def test_more_images_draw_at_once_than_one_axis_of_a_grid_has_room_for():
    keys = random.image_keys("many", None, torch.arange(70_000, device="cuda"))
    drawn = random.uniform(keys, "few", (5,))
    assert torch.equal(drawn[-100:].cpu(), random.uniform(keys[-100:].cpu(), "few", (5,)))
