"""Threads share a batch piece by piece, and nobody can tell."""

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
from scuff.kernels.threads import over_pieces, thread_count

THREADS = 3


@pytest.fixture(autouse=True)
def three_threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(batches, "LEAST_PIECE", 1)
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
    monkeypatch.setitem(batches.CHUNK, "cpu", 224 * 224 * 3)  # pieces of one image
    assert np.array_equal(scuff.corrupt(x, f"imagenet-c/{entry}", 3), shared)
    torch.set_num_threads(1)
    assert np.array_equal(scuff.corrupt(x, f"imagenet-c/{entry}", 3), shared)


@pytest.mark.parametrize(("count", "number"), [(0, 1), (1, 1), (2, 2), (3, 3), (4, 2), (7, 3), (5000, 6)])
def test_pieces_cover_a_batch_once_and_no_thread_does_much_more_than_others(count: int, number: int) -> None:
    pieces = batches.pieces_of(torch.empty(count, 3, 32, 32), registry.get("fog"), THREADS)
    assert [i for piece in pieces for i in range(count)[piece]] == list(range(count))
    assert len(pieces) == number


def test_large_pictures_come_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many at once as are allowed at once, however many threads there are."""
    monkeypatch.setitem(batches.CHUNK, "cpu", 2 * 32 * 32)  # for three threads: two pictures
    together, most, lock = 0, 0, threading.Lock()
    step = batches._step

    def watched(*arguments: object, **options: object) -> torch.Tensor:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        made = step(*arguments, **options)  # type: ignore[arg-type]
        with lock:
            together -= 1
        return made

    monkeypatch.setattr(batches, "_step", watched)
    scuff.corrupt(pictures_32(), "cifar10-c/glass_blur", 3)
    assert 1 <= most <= 2


def test_a_corruption_of_others_gets_one_piece_after_the_other_in_the_thread_of_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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


def test_threads_of_ours_use_no_further_threads_and_take_over_the_mode_of_inference() -> None:
    seen: dict[str, tuple] = {}

    def look(piece: slice) -> None:
        facts = torch.get_num_threads(), thread_count(), torch.is_inference_mode_enabled()
        seen[threading.current_thread().name] = facts

    with torch.inference_mode():
        over_pieces(look, [slice(k, k + 1) for k in range(50)], THREADS)
    assert seen
    assert all(name.startswith("scuff") for name in seen)
    assert set(seen.values()) == {(1, 1, True)}
    assert torch.get_num_threads() == thread_count() == THREADS
    with torch.inference_mode():
        y = scuff.corrupt(torch.rand(6, 3, 32, 32), "cifar10-c/fog", 3)
    assert y.is_inference()


def test_after_an_error_the_rest_is_not_begun() -> None:
    begun = []

    def work(piece: slice) -> None:
        begun.append(piece.start)
        if piece.start == 0:
            raise ValueError("a fault")
        over.wait(20)

    over = threading.Event()
    with pytest.raises(ValueError, match="a fault"):
        over_pieces(work, [slice(k, k + 1) for k in range(500)], THREADS)
    over.set()
    assert len(begun) <= THREADS + 1  # the thread that failed takes one more, which waits as those of the others do
