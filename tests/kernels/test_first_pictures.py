"""The first few pictures of a process are made by plain torch, everything after them by compiled kernels."""

import numpy as np
import pytest

import scuff
from scuff.kernels import dispatch

SUITES = ("imagenet-c", "c-bar-candidates-224", "noc-candidates", "syn2nat-candidates")
ENTRIES = [f"{suite}/{entry}" for suite in SUITES for entry in scuff.load_suite(suite).entries]
PICTURE = np.random.default_rng(0).integers(0, 256, (33, 47, 3), dtype=np.uint8)


def corrupted(address: str) -> np.ndarray:
    suite, entry = address.split("/")
    levels = scuff.load_suite(suite).listed_levels(entry)
    return scuff.corrupt(PICTURE, address, levels[-1] if levels else None)


@pytest.fixture
def answers(monkeypatch) -> list[str]:
    """The back ends that have answered, in a process that has done nothing yet."""
    found: list[str] = []
    monkeypatch.setattr(dispatch, "LITTLE", 1 << 20)
    monkeypatch.setattr(dispatch, "_begun", 0)
    load = dispatch._load
    monkeypatch.setattr(dispatch, "_load", lambda backend: (found.append(backend), load(backend)))
    return found


@pytest.mark.parametrize("address", ENTRIES)
def test_both_make_the_same_bytes(address, answers):
    first = corrupted(address)
    dispatch._begun = dispatch.LITTLE
    assert np.array_equal(corrupted(address), first)


def test_pictures_are_counted(answers):
    corrupted("imagenet-c/fog")
    assert answers == []
    batch = np.zeros((8, 224, 224, 3), np.uint8)
    scuff.corrupt(batch, "imagenet-c/brightness", 1)
    assert set(answers) == {"numba_cpu"}
    answers.clear()
    corrupted("imagenet-c/fog")
    assert set(answers) == {"numba_cpu"}


def test_what_is_slow_in_plain_torch_is_compiled_at_once(answers):
    corrupted("imagenet-c/defocus_blur")
    assert answers == []
    scuff.corrupt(np.zeros((224, 224, 3), np.uint8), "imagenet-c/defocus_blur", 5)
    assert answers == ["numba_cpu"]


def test_a_back_end_that_is_asked_for_answers(answers):
    with dispatch.use_backend("numba_cpu"):
        corrupted("imagenet-c/fog")
    assert set(answers) == {"numba_cpu"}
