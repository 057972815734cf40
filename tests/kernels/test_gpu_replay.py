"""Calls that are recorded on a CUDA device, and played again. Collected only where there is a device."""

from __future__ import annotations

import threading

import pytest
import torch

import scuff
from scuff import kernels
from scuff.corruptions import registry
from scuff.door import resolve
from scuff.kernels import replay

pytestmark = pytest.mark.cuda

SUITES = ("imagenet-c", "cifar10-c", "c-bar-candidates-32", "noc-candidates", "syn2nat-candidates")
ADDRESSES = [address for suite in SUITES for address in scuff.list_corruptions(suite)]
CALLS = replay.CALLS_BEFORE + 1  # until a call is played


def _pictures(seed: int, count: int = 3, size: int = 40) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    small = torch.rand(count, 3, 5, 5, generator=generator)
    smooth = torch.nn.functional.interpolate(small, (size, size), mode="bilinear")
    noise = torch.rand(count, 3, size, size, generator=generator)
    return (torch.round(255 * (0.8 * smooth + 0.2 * noise)) / 255).cuda()


def _severity(address: str) -> int | None:
    suite, entry = address.split("/")
    return scuff.load_suite(suite).levels(entry)[-1]


def _corrupt(address: str, seed: int, **options) -> torch.Tensor:
    """Of other images, with other ids, for every seed."""
    ids = torch.arange(10 * seed, 10 * seed + 3).cuda()
    return scuff.corrupt(_pictures(seed), address, _severity(address), ids=ids, check=False, **options)


def _as_sent(address: str, seed: int, **options) -> torch.Tensor:
    """Without a recording: nothing is recorded while a back end is chosen."""
    with kernels.use_backend("triton_gpu"):
        return _corrupt(address, seed, **options)


def _played() -> int:
    return sum(recording is not None for lane in replay._lanes.values() for recording in lane.recordings.values())


@pytest.fixture(autouse=True)
def nothing_recorded() -> None:
    replay._lanes.clear()


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_what_is_played_is_what_would_be_sent(address: str) -> None:
    for seed in range(CALLS):
        _corrupt(address, seed)
    assert _played() >= 1
    expected = [_as_sent(address, seed) for seed in range(50, 54)]
    inputs = [(_pictures(seed), torch.arange(10 * seed, 10 * seed + 3).cuda()) for seed in range(50, 54)]
    torch.cuda.set_sync_debug_mode("error")
    try:
        found = [scuff.corrupt(x, address, _severity(address), ids=ids, check=False) for x, ids in inputs]
    finally:
        torch.cuda.set_sync_debug_mode("default")
    for right, result in zip(expected, found, strict=True):
        assert torch.equal(result, right)


@pytest.mark.parametrize("address", ["imagenet-c/glass_blur", "imagenet-c/spatter", "c-bar-candidates-224/blue_noise"])
def test_pieces_of_a_large_batch_are_played(address: str) -> None:
    x = _pictures(0, 130, 224)
    with kernels.use_backend("triton_gpu"):
        right = scuff.corrupt(x, address, _severity(address))
    for _ in range(3):
        assert torch.equal(scuff.corrupt(x, address, _severity(address)), right)
    assert _played() >= 1


def test_recordings_share_their_memory():
    """Between calls they hold the place of one input and what the largest of them needs: the last two add nothing."""
    held = []
    for severity in (1, 2, 3):
        for _ in range(3):  # of three pieces each
            scuff.corrupt(_pictures(0, 256, 224), "imagenet-c/snow", severity, check=False)
        torch.cuda.empty_cache()
        held.append(torch.cuda.memory_reserved())
    assert _played() >= 3
    assert held[2] - held[0] <= 1 << 22  # bytes, of small tables


def test_bytes_and_jpegs_are_kinds_of_their_own():
    x = torch.round(255 * _pictures(1)).to(torch.uint8)
    for as_published in (False, True):
        with kernels.use_backend("triton_gpu"):
            right = scuff.corrupt(x, "imagenet-c/fog", 3, as_published=as_published)
        for _ in range(CALLS + 1):
            assert torch.equal(scuff.corrupt(x, "imagenet-c/fog", 3, as_published=as_published), right)
    assert _played() == 2


def test_every_stream_has_its_own_recordings():
    streams = [torch.cuda.Stream() for _ in range(2)]
    for seed in range(CALLS + 3):
        found = []
        for stream in streams:
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                found.append(_corrupt("imagenet-c/snow", seed))
        torch.cuda.synchronize()
        assert torch.equal(*found)
        assert torch.equal(found[0], _as_sent("imagenet-c/snow", seed))
    assert _played() == 2


def test_threads_take_turns():
    right, found = {}, {}
    for seed in range(40):
        right[seed] = _as_sent("imagenet-c/fog", seed)

    def work(seeds: range) -> None:
        for seed in seeds:
            found[seed] = _corrupt("imagenet-c/fog", seed)

    threads = [threading.Thread(target=work, args=(range(first, 40, 2),)) for first in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(found[seed], right[seed]) for seed in right)


def test_tables_outlast_the_cache_that_made_them():
    address, right = "imagenet-c/gaussian_blur", _as_sent("imagenet-c/gaussian_blur", 0)
    for _ in range(CALLS):
        _corrupt(address, 0)
    parameters = resolve(address, 5).parameters
    for step in range(300):  # more than any cache holds
        other = {**parameters, "sigma": 0.5 + step / 100}
        scuff.corrupt(_pictures(1, 1, 8), "gaussian_blur", parameters=other, check=False)
    rubbish = [torch.full((1 << 12,), float("nan"), device="cuda") for _ in range(2000)]
    assert torch.equal(_corrupt(address, 0), right)
    assert len(rubbish) == 2000


def test_the_oldest_recordings_are_dropped(monkeypatch):
    monkeypatch.setattr(replay, "MOST_RECORDINGS", 2)
    for address in ("imagenet-c/fog", "imagenet-c/snow", "imagenet-c/contrast", "imagenet-c/fog"):
        right = _as_sent(address, 7)
        for _ in range(CALLS + 1):
            assert torch.equal(_corrupt(address, 7), right)
        assert _played() <= 2


def test_nothing_is_recorded_inside_a_recording_of_others():
    x, right = _pictures(3), _as_sent("imagenet-c/contrast", 3)
    ids = torch.arange(30, 33).cuda()
    graph, aside = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    for _ in range(CALLS):
        scuff.corrupt(x, "imagenet-c/contrast", 5, ids=ids, check=False)
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.graph(graph, stream=aside):
        made = scuff.corrupt(x, "imagenet-c/contrast", 5, ids=ids, check=False)
    graph.replay()
    assert torch.equal(made, right)


def test_what_inference_mode_has_recorded_is_played_outside_of_it():
    with torch.inference_mode():
        for seed in range(CALLS):
            _corrupt("imagenet-c/fog", seed)
    assert _played() == 1
    assert torch.equal(_corrupt("imagenet-c/fog", 9), _as_sent("imagenet-c/fog", 9))


def test_corruptions_of_others_are_never_recorded(monkeypatch):
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    calls = []

    @scuff.register(family="light")
    def inverted(x: torch.Tensor) -> torch.Tensor:
        """Counts its calls, as a corruption with a state may."""
        calls.append(len(x))
        return 1.0 - x

    for _ in range(CALLS + 3):
        scuff.corrupt(_pictures(0), "inverted", parameters={}, check=False)
    assert len(calls) == CALLS + 3
