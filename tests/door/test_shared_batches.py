"""A batch is worked on piece by piece, and by several threads, and nobody can tell."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from golden.pictures import pictures_32, pictures_224

import scuff
from scuff import batches
from scuff.corruptions import registry
from scuff.kernels.numba_cpu import sharing

THREADS = 3


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sharing, "LEAST_VALUES", 1)
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("entry", scuff.load_suite("imagenet-c").entries)
@pytest.mark.parametrize("kind", [np.uint8, np.float32])
def test_no_thread_shows(entry: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    x = pictures_224()[:5] if kind is np.uint8 else pictures_224()[:5].astype(np.float32) / 255
    shared = scuff.corrupt(x, f"imagenet-c/{entry}", 3)
    monkeypatch.setitem(batches.CHUNK, "cpu", 224 * 224 * 3)  # pieces of an image or two
    assert np.array_equal(scuff.corrupt(x, f"imagenet-c/{entry}", 3), shared)
    torch.set_num_threads(1)
    assert np.array_equal(scuff.corrupt(x, f"imagenet-c/{entry}", 3), shared)


@pytest.mark.parametrize(("count", "sizes"), [(0, [0]), (1, [1]), (7, [7]), (1764, [1764]), (1765, [885, 880])])
def test_pieces_cover_a_batch_once_and_threads_get_equally_many(count: int, sizes: list[int]) -> None:
    pieces = batches.pieces_of(torch.empty(count, 3, 32, 32), registry.get("fog"))
    assert [len(range(count)[piece]) for piece in pieces] == sizes
    assert [i for piece in pieces for i in range(count)[piece]] == list(range(count))


@pytest.mark.parametrize(("threads", "images"), [(3, 36), (12, 36), (16, 48), (64, 51)])
def test_many_threads_get_larger_pieces(threads: int, images: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three images for each, as long as memory is kept."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    batch = torch.empty(1, 3, 224, 224)
    assert batches.most_at_once(batch, registry.get("fog")) == images


def test_a_corruption_of_others_is_called_in_the_thread_of_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    monkeypatch.setitem(batches.CHUNK, "cpu", 32 * 32)
    seen = []

    @registry.register(family="noise")
    def watched(x: torch.Tensor, *, amount: float) -> torch.Tensor:
        """Counts."""
        seen.append(threading.current_thread())
        return x * amount

    scuff.corrupt(pictures_32(), "watched", parameters={"amount": 0.5})
    assert len(seen) == len(pictures_32())
    assert set(seen) == {threading.main_thread()}


def test_results_of_inference_mode_are_its_own() -> None:
    with torch.inference_mode():
        y = scuff.corrupt(torch.rand(6, 3, 32, 32), "cifar10-c/fog", 3)
    assert y.is_inference()
